"""Rules about objects evaluated by the book: every choice of values is tried, and the trace is walked back each time.

It reads calls and states itself and shares nothing with the readers, monitors and automata of `wb` but the syntax tree
and a rule set's declarations.  Truths are 0, 1 and 1/2 for unknown.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import product

from wb.domain.trace import Call, Step
from wb.logic import formula as F
from wb.rules.rule import Predicate, RuleSet

UNKNOWN = 0.5
OTHER = object()  # a value that nothing names
TESTS = {"big": lambda state, call: compared(call.get("n"), 2), "p": lambda state, call: told(state.get("p"))}


def compared(value: object, limit: int) -> float:
    return float(value >= limit) if type(value) in (int, float) else UNKNOWN


def told(value: object) -> float:
    return float(value) if type(value) is bool else UNKNOWN


def same(one: object, other: object) -> bool:
    """Whether two values are one object: the same value of the same type, a number being a number."""
    numbers = (int, float)
    alike = type(one) is type(other) or (type(one) in numbers and type(other) in numbers)
    return one is other or (alike and one == other)


def named(predicate: Predicate, call: Call) -> tuple | None:
    """The objects that a call names; None where one of them is not told."""
    values = tuple(call.arguments.get(path.names[1]) for path in predicate.objects)
    return None if any(type(value) not in (str, int, float, bool) for value in values) else values


def event(predicate: Predicate, step: Step, call: Call) -> float:
    """Whether a call is one of the predicate's."""
    if call.tool not in predicate.tools:
        return 0.0
    return 1.0 if predicate.kind == "action" else TESTS[predicate.name](step.state, call.arguments)


def atom(predicate: Predicate, objects: Sequence[object], step: Step, judged: Call | None) -> float:
    """An atom's truth at one step: what some call made true, the judged one before others of the same object."""
    if not predicate.objects:
        if predicate.kind == "state":
            return TESTS[predicate.name](step.state, {})
        return float(any(call.tool in predicate.tools for call in step.calls))
    calls = [call for call in step.calls if call.tool in predicate.tools]
    if not objects:
        return max([event(predicate, step, call) for call in calls], default=0.0)
    strange = {event(predicate, step, call) for call in calls if named(predicate, call) is None}
    mine = [
        call for call in calls if (values := named(predicate, call)) is not None and all(map(same, values, objects))
    ]
    if any(call is judged for call in mine):
        return event(predicate, step, judged)
    found = {event(predicate, step, call) for call in mine} or {0.0}
    return found.pop() if len(found) == 1 and strange <= found else UNKNOWN


def times(steps: Sequence[Step]) -> list[Fraction | None]:
    """The times of steps in seconds since 1970, None where a step does not tell it."""
    told = [step.state.get("now") for step in steps]
    begin = datetime.fromisoformat("1970-01-01T00:00:00Z")
    gone = [None if one is None else datetime.fromisoformat(one) - begin for one in told]
    return [None if one is None else Fraction(one // timedelta(microseconds=1), 10**6) for one in gone]


def backwards(found: Sequence[Fraction | None]) -> bool:
    """Whether time ran backwards."""
    known = [one for one in found if one is not None]
    return known != sorted(known)


def near(found: Sequence[Fraction | None], step: int, within: Fraction) -> float:
    """Whether a step lies at most so long before the last one: no step lies before one that came earlier."""
    if step == len(found) - 1:
        return 1.0
    earlier = [one for one in found[: step + 1] if one is not None]
    later = [one for one in found[step:] if one is not None]
    if later and max(one for one in found if one is not None) - min(later) > within:
        return 0.0
    return 1.0 if earlier and found[-1] is not None and found[-1] - max(earlier) <= within else UNKNOWN


def recently(often: int, within: int, body: Sequence[float], steps: Sequence[Step]) -> float:
    """Whether something held at so many of the steps that lie so long before the last; `body` is what held at each."""
    found = times(steps)
    if backwards(found):
        return 1.0 if often == 1 and body[-1] == 1.0 else UNKNOWN
    counts = [min(one, near(found, i, Fraction(within, 10**9))) for i, one in enumerate(body)]
    sure, possible = counts.count(1.0), len(counts) - counts.count(0.0)
    return 1.0 if sure >= often else 0.0 if possible < often else UNKNOWN


def holds(
    formula: F.Formula,
    steps: Sequence[Step],
    at: int,
    objects: Mapping[str, object],
    rules: RuleSet,
    judged: Call | None = None,
) -> float:
    """A formula's truth at a step for a choice of objects; `judged` is a call of the last step."""

    def of(part: F.Formula, where: int = at) -> float:
        return holds(part, steps, where, objects, rules, judged)

    match formula:
        case F.Constant(value):
            return float(value)
        case F.Atom():
            which = [objects[name] for name in formula.objects]
            last = judged if at == len(steps) - 1 else None
            return atom(rules.predicate(formula.predicate), which, steps[at], last)
        case F.Not(body):
            return 1 - of(body)
        case F.And(left, right):
            return min(of(left), of(right))
        case F.Or(left, right):
            return max(of(left), of(right))
        case F.Implies(left, right):
            return max(1 - of(left), of(right))
        case F.Iff(left, right):
            return min(max(1 - of(left), of(right)), max(1 - of(right), of(left)))
        case F.Xor(left, right):
            return max(min(of(left), 1 - of(right)), min(1 - of(left), of(right)))
        case F.Previously(body):
            return of(body, at - 1) if at else 0.0
        case F.Once(body):
            return max(of(body, i) for i in range(at + 1))
        case F.Historically(body):
            return min(of(body, i) for i in range(at + 1))
        case F.Recently(body, often, within):
            return recently(often, within, [of(body, i) for i in range(at + 1)], steps[: at + 1])
        case F.Since(left, right):
            return max(min([of(right, i), *(of(left, j) for j in range(i + 1, at + 1))]) for i in range(at + 1))
    raise TypeError(type(formula))


def choices(formula: F.Formula, steps: Sequence[Step]) -> Iterator[dict[str, object]]:
    """Every choice of values for the variables: those that some argument has, and one that none has."""
    values: list[object] = [OTHER]
    for value in (value for step in steps for call in step.calls for value in call.arguments.values()):
        if type(value) in (str, int, float, bool) and not any(same(value, other) for other in values):
            values.append(value)
    names = F.variables(formula)
    return (dict(zip(names, chosen, strict=True)) for chosen in product(values, repeat=len(names)))


def everywhere(body: F.Formula, steps: Sequence[Step], rules: RuleSet) -> float:
    """The body of a rule at the last step, for all objects."""
    return min(holds(body, steps, len(steps) - 1, objects, rules) for objects in choices(body, steps))


def in_order(steps: Sequence[Step]) -> list[Step]:
    """The calls as steps of their own."""
    return [part for step in steps for part in ([Step((c,), step.state) for c in step.calls] or [step])]


def pasts(formula: F.Formula) -> set[F.Formula]:
    """The largest parts that say what was."""
    return {formula} if isinstance(formula, F.PAST) else set().union(*map(pasts, F.children(formula)), set())


def ambiguous(body: F.Formula, steps: Sequence[Step], rules: RuleSet) -> bool:
    """Whether what was says another thing of the calls of each step one after the other than together."""
    one, other, call = steps, in_order(steps), steps[-1].calls[-1]
    return any(
        holds(part, one, len(one) - 1, objects, rules, call) != holds(part, other, len(other) - 1, objects, rules, call)
        for objects in choices(body, steps)
        for part in pasts(body)
    )


def at_call(body: F.Formula, steps: Sequence[Step], rules: RuleSet, ordered: bool = False) -> float:
    """The body at the last call of the last step, for all objects for which the call is what the rule speaks of; if
    `ordered`, what was is told by the calls of each step one after the other."""
    call = steps[-1].calls[-1]
    then = in_order(steps)

    def told(part: F.Formula, objects: Mapping[str, object]) -> F.Formula:
        if isinstance(part, F.PAST):
            return F.Constant(holds(part, then, len(then) - 1, objects, rules, call))  # any of the three truths
        if isinstance(part, F.Atom | F.Constant):
            return part
        return type(part)(*[told(child, objects) for child in F.children(part)])

    own = [a for a in present(body) if call.tool in rules.predicate(a.predicate).tools]
    own = [a for a in own if rules.predicate(a.predicate).kind == "action"]
    found = [1.0]
    for objects in choices(body, steps):
        if any(meant(a, objects, rules.predicate(a.predicate), call) for a in own):
            asked = told(body, objects) if ordered else body
            found.append(holds(asked, steps, len(steps) - 1, objects, rules, call))
    return min(found)


def meant(a: F.Atom, objects: Mapping[str, object], predicate: Predicate, call: Call) -> bool:
    """Whether an atom of chosen objects may be about the call."""
    values = named(predicate, call)
    return not a.objects or values is None or all(same(objects[n], v) for n, v in zip(a.objects, values, strict=True))


def present(formula: F.Formula) -> set[F.Atom]:
    """The atoms that are read at the present step."""
    if isinstance(formula, F.Atom):
        return {formula}
    return set() if isinstance(formula, F.PAST) else set().union(*map(present, F.children(formula)))


def completed(steps: Sequence[Step], values: Sequence[object], holes: int = 3) -> Iterator[tuple[Step, ...]]:
    """The steps with every way to fill in what is not known of them: `p` either way, an object any of the values."""
    places = [(i, None, "p") for i, step in enumerate(steps) if "p" not in step.state]
    dated = any("now" in step.state for step in steps)
    if backwards(times(steps)):
        return
    if dated:
        places += [(i, None, "now") for i, step in enumerate(steps) if "now" not in step.state]
        moments = sorted({step.state["now"] for step in steps if "now" in step.state})
        moments = sorted({later(one, by) for one in moments for by in (-3, -1, 0, 1, 2, 3, 5, 6)})
    for i, step in enumerate(steps):
        wanted = {"ta": ("x", "n"), "tb": ("x",), "tc": ("x", "y")}
        places += [(i, j, key) for j, c in enumerate(step.calls) for key in wanted[c.tool] if key not in c.arguments]
    if len(places) > holes:
        return
    choices = {"p": [True, False], "n": [1, 2]} | ({"now": moments} if dated else {})
    for filled in product(*[choices.get(key, values) for *_, key in places]):
        states = [dict(step.state) for step in steps]
        calls = [[Call(c.tool, dict(c.arguments)) for c in step.calls] for step in steps]
        for (i, j, key), value in zip(places, filled, strict=True):
            (states[i] if j is None else calls[i][j].arguments)[key] = value
        whole = tuple(Step(tuple(made), state) for made, state in zip(calls, states, strict=True))
        if not backwards(times(whole)):
            yield whole


def later(moment: str, seconds: int) -> str:
    """The time so many seconds after another."""
    return (datetime.fromisoformat(moment) + timedelta(seconds=seconds)).isoformat()
