"""What a rule set says as a whole, and where it says something else than it seems: `wb check RULES`.

The physical rules (those of the file, and those that follow from the predicates' tests) hold on every
trace.  Under them: does any trace keep all rules; which rules can never fire or hold whatever
happens; which two say the same, imply or exclude each other; which rules together make a trigger of
one of them impossible; which rules the others imply (removed one after the other, the last first, so
that what is left still says all).  A rule that has to be repaired anyway, because it contradicts another,
forbids always or has the wrong polarity, takes no part in the last two.  `lint` adds what each sentence
should have said.

Of windows in time a decision is exact where it is made (`decide`); a trace that shows it names the times of its steps.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import inf
from typing import Literal

from wb.logic import decide, pairs
from wb.logic import formula as F
from wb.logic.automaton import AutomatonError
from wb.logic.decide import Word
from wb.logic.formula import Formula
from wb.logic.objects import grounded, instances
from wb.logic.sat import Bounded, OutOfTime
from wb.rules import lint, physical, understood
from wb.rules.lint import Finding
from wb.rules.rule import Rule, RuleSet

MAX_UNDECIDED = 20  # questions too large to decide after which no more are asked
SECONDS = 45.0  # after which no more are asked
SHARE = 30  # of many questions about all rules, one may take this part of the time that is left
OBJECTS = 2  # that rules with variables are tried on
MOST = 8  # names in a line of text
Tell = Callable[[str, int, int], None]


def _silent(what: str, done: int, of: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Blame:
    """One rule, and the rules (by id; physical ones by their text) that settle its fate together.

    `sentences` are those of the rule and of the others, in that order, where they are asked for.
    """

    rule: str
    by: tuple[str, ...]
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The decisions about a rule set; rules are named by id.

    `satisfiable` is None where that is too large to decide; `witness` is then absent too.  `core` is a
    minimal set of rules that no trace keeps.  `implied` holds (stronger, weaker) pairs.  `conflicts`
    are rules whose trigger can never hold when the rules in `by` are kept; `redundant` rules are
    implied by those in `by`.  What could not be decided is in `undecided`, with its reason.  Rules with variables are
    decided for that many `objects`, as if there were no others; 0 where no rule has any.
    """

    rules: int
    predicates: int
    physical: int
    satisfiable: bool | None
    witness: Word | None
    core: tuple[str, ...]
    vacuous: tuple[str, ...]
    equivalent: tuple[tuple[str, str], ...]
    implied: tuple[tuple[str, str], ...]
    contradictory: tuple[tuple[str, str], ...]
    conflicts: tuple[Blame, ...]
    redundant: tuple[Blame, ...]
    findings: tuple[Finding, ...]
    undecided: tuple[tuple[str, str], ...] = ()
    objects: int = 0

    @property
    def clean(self) -> bool:
        """Whether there is nothing to repair: some trace keeps all rules, and no rule stands out."""
        return bool(self.satisfiable) and not (
            self.vacuous or self.contradictory or self.conflicts or self.redundant or self.findings or self.undecided
        )


def check(ruleset: RuleSet, tell: Tell = _silent, seconds: float = SECONDS) -> Report:
    """Every set decision and lint of a rule set; what is not settled within `seconds` is among what is undecided.

    `tell` is called with what is being decided, how much of it is done, and of how much.
    """
    said = tuple(rule for rule in ruleset.rules if rule.type == "action")
    tried, rules, background = _grounded(ruleset, physical.rules(ruleset.predicates))
    fires = _fires(said, tried)
    given = tuple(dict.fromkeys(part for rule in background for part in decide.conjuncts(rule.formula)))
    names = {rule.formula: rule.text for rule in background} | {rule.formula: rule.id for rule in reversed(rules)}
    asking = _Asking(tell, time.monotonic() + seconds, seconds)
    findings = _findings(ruleset, said, given, asking)
    vacuous = {finding.rules[0] for finding in findings if finding.kind == "never_fires"}
    living = [rule for rule in rules if rule.id not in vacuous]
    related = _related(living, given, asking)
    apart = {name for pair in related["contradictory"] for name in pair}
    apart |= {finding.rules[0] for finding in findings if finding.kind in ("forbids_always", "polarity")}
    with Bounded(asking.until) as solver:
        asking.tell("whether some trace keeps all rules", 0, 1)
        satisfiable, witness, core = _joint(rules, given, solver, names, asking)
        sound = [rule for rule in living if rule.id not in apart]
        found, left = _exclusive(sound, given, solver, names, asking)
        found += _conflicts(left, fires, given, solver, names, asking)
        conflicts = tuple(_quoted(blame, ruleset) for blame in found)
        caught = {name for blame in conflicts for name in (blame.rule, *blame.by)}
        left = [rule for rule in sound if rule.id not in caught]
        redundant = _redundant(left, given, related["implied"], solver, names, asking)
    return Report(
        len(rules),
        len(ruleset.predicates),
        len(given),
        satisfiable,
        witness,
        core,
        tuple(rule.id for rule in rules if rule.id in vacuous),
        **related,
        conflicts=conflicts,
        redundant=redundant,
        findings=findings,
        undecided=tuple(asking.undecided),
        objects=tried,
    )


def _grounded(ruleset: RuleSet, known: Sequence[Rule]) -> tuple[int, tuple[Rule, ...], tuple[Rule, ...]]:
    """How many objects are tried, the action rules about these, and what is known of them; rules as they are for none.

    `known` are the physical rules beside those of the rule set.
    """
    tried = OBJECTS if any(F.variables(rule.formula) for rule in ruleset.rules) else 0
    objects = [str(i + 1) for i in range(tried)]
    about = physical.about(ruleset.without_unused().predicates, objects) if tried else ()
    rules = [
        replace(rule, formula=grounded(rule.formula, tried)) if F.variables(rule.formula) else rule
        for rule in ruleset.rules
    ]
    actions = tuple(rule for rule in rules if rule.type == "action")
    return tried, actions, (*(rule for rule in rules if rule.type == "physical"), *known, *about)


def _fires(rules: Iterable[Rule], tried: int) -> dict[str, Formula]:
    """That a rule fires, for one of the objects that are tried, by the id of each rule with a trigger."""
    triggers = {rule.id: what for rule in rules if (what := decide.trigger(rule.formula)) is not None}
    return {
        name: F.Eventually(F.disjunction(instances(what, tried)) if F.variables(what) else what)
        for name, what in triggers.items()
    }


@dataclass(frozen=True, slots=True)
class Suspected:
    """What a person has to decide about a rule: of which kind, the reason in words, and the run on which its sentence
    and the rule part, a text for each step; empty where no run does."""

    rule: str
    kind: Literal["ambiguity", "contradiction", "logic error"]
    reason: str
    run: tuple[str, ...] = ()


def suspected(report: Report, ruleset: RuleSet) -> tuple[Suspected, ...]:
    """What a person has to decide about rules: a suspicion that one says something else than its sentence, or rules
    that cannot all be kept.  Rules that say the same as others, or follow from them, are no question; nor is a ban that
    a wider one leaves nothing of, where a permission would be."""
    bans = {rule.id for rule in ruleset.rules if rule.modality == "forbid"}
    follows = {weaker for _, weaker in report.implied} & bans
    found: list[Suspected] = []
    for one in report.findings:
        if one.kind != "undecided":
            meant = f" (perhaps {one.suggestion} was meant)" if one.suggestion else ""
            why = f"{one.predicate + ': ' if one.predicate else ''}{one.message}{meant}"
            kind = "ambiguity" if one.kind in ("negative_name", "two_meanings") else "logic error"
            found += [Suspected(name, kind, why, _steps(one, ruleset)) for name in one.rules]
    for first, second in report.contradictory:
        why = f"{first} and {second} contradict each other: no trace keeps both"
        found += [Suspected(name, "contradiction", why) for name in (first, second)]
    for blame in (one for one in report.conflicts if one.rule not in follows):
        together = dict(zip((blame.rule, *blame.by), blame.sentences, strict=True))
        for name in together:
            others = ", ".join(f"“{said}”" for other, said in together.items() if other != name)
            why = f"together with {others} it leaves nothing that {blame.rule} speaks of" if others else told(blame)
            found.append(Suspected(name, "contradiction", why))
    if report.satisfiable is False and not found:
        why = f"no trace keeps all of {', '.join(report.core)}"
        found += [Suspected(name, "contradiction", why) for name in report.core]
    return tuple(found)


def _steps(one: Finding, ruleset: RuleSet) -> tuple[str, ...]:
    """The trace of a finding in English, a text for each step."""
    rules = {rule.id: rule.formula for rule in ruleset.rules}
    formulas = [rules[name] for name in one.rules if name in rules]
    return understood.steps(one.trace, formulas, ruleset) if one.trace is not None and formulas else ()


def questions(found: Iterable[Suspected]) -> dict[str, str]:
    """The first reason of each rule that a person has to decide about, by its id."""
    return {one.rule: one.reason for one in reversed(tuple(found))}


def to_json(report: Report) -> dict:
    """The report as JSON values; traces are lists of sorted lists of names."""
    return {**json.loads(json.dumps(asdict(report), default=_listed)), "clean": report.clean}


def render(report: Report) -> str:
    """The report as text for a person."""
    state = {
        True: "some trace keeps all rules",
        False: f"no trace keeps all rules: {', '.join(report.core)} exclude each other",
        None: "whether some trace keeps all rules is undecided",
    }[report.satisfiable]
    lines = [f"{report.rules} rules over {report.predicates} predicates, {report.physical} physical rules: {state}"]
    lines += [
        f"{first} and {second} contradict each other: no trace keeps both" for first, second in report.contradictory
    ]
    lines += [told(blame) for blame in report.conflicts]
    lines += [f"{first} and {second} say the same" for first, second in report.equivalent]
    lines += [f"{blame.rule} is implied by {', '.join(blame.by)}" for blame in report.redundant]
    for finding in report.findings:
        lines.append(
            f"{', '.join(finding.rules) or 'no rule'}: "
            f"{finding.predicate + ': ' if finding.predicate else ''}{finding.message}"
        )
        if finding.trace is not None:
            lines.append(f"    expected to be {finding.expected or 'told apart'}: {shown(finding.trace)}")
        if finding.suggestion:
            lines.append(f"    perhaps: {finding.suggestion}")
    late: dict[str, list[str]] = {}
    for name, reason in report.undecided:
        late.setdefault(reason, []).append(name)
    for reason, undecided in late.items():
        more = f" and {len(undecided) - MOST} more" if len(undecided) > MOST else ""
        lines.append(f"{', '.join(undecided[:MOST])}{more}: undecided: {reason}")
    if report.objects:
        lines[0] += f"; rules with variables are decided for {report.objects} objects"
    return "\n".join([*lines, "nothing to repair"] if report.clean else lines)


def told(conflict: Blame) -> str:
    """A conflict as text, with the sentences that are in it."""
    names = (conflict.rule, *conflict.by)
    lines = [f"{conflict.rule} can never fire while {', '.join(conflict.by)} {'is' if len(names) == 2 else 'are'} kept"]
    return "\n".join([*lines, *(f"    {n}: {s}" for n, s in zip(names, conflict.sentences, strict=False) if s)])


def conflicts(ruleset: RuleSet, background: Sequence[Rule] | None = None) -> tuple[Blame, ...]:
    """The rules that can fire, but not while the others are kept, each with the sentences of all.

    `background` are the physical rules, computed from the tests where not given.  Rules that no trace keeps
    together are one conflict; what is too large to decide is left out (`check` names it).
    """
    known = physical.rules(ruleset.predicates) if background is None else background
    tried, rules, known = _grounded(ruleset, known)
    fires = _fires((rule for rule in ruleset.rules if rule.type == "action"), tried)
    given = tuple(dict.fromkeys(part for rule in known for part in decide.conjuncts(rule.formula)))
    names = {rule.formula: rule.text for rule in known} | {rule.formula: rule.id for rule in reversed(rules)}
    asking = _Asking()
    with Bounded() as solver:
        found, left = _exclusive(rules, given, solver, names, asking)
        found += [
            blame
            for blame in _conflicts(left, fires, given, solver, names, asking)
            if {rule.id for rule in left} & set(blame.by) - {blame.rule}
        ]
    return tuple(_quoted(blame, ruleset) for blame in found)


def _quoted(blame: Blame, ruleset: RuleSet) -> Blame:
    said = {rule.id: rule.quote or rule.text for rule in ruleset.rules}
    return Blame(blame.rule, blame.by, tuple(said.get(name, name) for name in (blame.rule, *blame.by)))


def shown(trace: Word) -> str:
    """A trace as text: its steps, each the predicates that are true in it."""
    return " ; ".join("{" + ", ".join(sorted(step)) + "}" for step in trace)


@dataclass(slots=True)
class _Asking:
    """The questions of one check: until when any is asked, and what became of those that have no answer."""

    tell: Tell = _silent
    until: float = inf
    seconds: float = inf
    undecided: list[tuple[str, str]] = field(default_factory=list)
    large: int = 0  # how many of them were too large

    def share(self, until: float, left: int) -> float:
        """Until when one of so many questions may take, so that a hard one leaves time for others."""
        now = time.monotonic()
        return now + (until - now) / min(left, SHARE)

    def tried[T](self, name: str, decision: Callable[[], T]) -> T | None:
        """The decision, or None with a note of why there is none."""
        if self.large > MAX_UNDECIDED:
            return None
        if self.large == MAX_UNDECIDED:
            self.large += 1
            reason = f"{MAX_UNDECIDED} questions were too large to decide: the others were not asked"
            self.undecided.append(("", reason))
            return None
        try:
            if time.monotonic() > self.until:
                raise OutOfTime
            return decision()
        except OutOfTime:
            note = (name, f"not settled in the time for it, {self.seconds:.0f} s for all questions")
            if note not in self.undecided[-1:]:
                self.undecided.append(note)
        except AutomatonError as error:
            self.large += 1
            self.undecided.append((name, str(error)))
        return None


def _findings(
    ruleset: RuleSet, rules: Sequence[Rule], given: Sequence[Formula], asking: _Asking
) -> tuple[Finding, ...]:
    """What `lint` finds of each rule and of all of them."""
    found: list[Finding] = []
    for i, rule in enumerate(rules):
        asking.tell("what each rule says", i, len(rules))
        named = F.variables(rule.formula)
        laws = physical.about(replace(ruleset, rules=(rule,)).without_unused().predicates, named, all=False)
        known = (*given, *(law.formula for law in laws)) if named else given
        found += asking.tried(f"what {rule.id} says", partial(lint.of_rule, ruleset, rule, known)) or ()
    return (*found, *lint.negative_names(ruleset), *lint.two_meanings(ruleset))


def _listed(value: object) -> list:
    return sorted(value) if isinstance(value, frozenset) else list(value)


def _joint(rules: Sequence[Rule], given: Sequence[Formula], solver: Bounded, names: dict, asking: _Asking) -> tuple:
    """Whether some trace keeps all rules: (yes, the trace, no rules) or (no, no trace, a minimal core)."""
    found = asking.tried("all rules", lambda: _shown_by((*(rule.formula for rule in rules), *given), solver))
    if found is None:
        return None, None, ()
    trace, core = found
    return trace is not None, trace, _named(core, names)


def _shown_by(formulas: Sequence[Formula], solver: Bounded) -> tuple[Word | None, tuple[Formula, ...]]:
    """A shortest trace of the formulas, or a minimal part of them that has none."""
    trace, part = decide.shortest(formulas, solver)
    return trace, () if trace is not None else decide.core(part, solver)


def _exclusive(
    rules: Sequence[Rule], given: Sequence[Formula], solver: Bounded, names: dict, asking: _Asking
) -> tuple[list[Blame], list[Rule]]:
    """Rules that no trace keeps together, each time as few as possible, and the rules that are left without them."""
    found, left = [], list(rules)
    while (together := _joint(left, given, solver, names, asking))[0] is False:
        core = tuple(name for name in together[2] if any(rule.id == name for rule in left))
        if not core:
            break
        found.append(Blame(core[0], core[1:]))
        left = [rule for rule in left if rule.id not in core]
        asking.tell("rules that exclude each other", len(rules) - len(left), len(rules))
    return found, left


def _related(
    rules: Sequence[Rule], given: Sequence[Formula], asking: _Asking
) -> dict[str, tuple[tuple[str, str], ...]]:
    """The related pairs of rules: without the physical rules at once, and with them where they bear on a pair."""
    asking.tell("how every two rules relate", 0, 1)
    found = pairs.relations([rule.formula for rule in rules])
    sets = {
        "equivalent": set(found.equivalent),
        "implied": set(found.implied),
        "contradictory": set(found.contradictory),
    }
    bound = {i: lint.bearing(given, rule.formula) for i, rule in enumerate(rules)} if given else {}
    left = _worth_a_look(rules, bound, found)
    for number, (i, j) in enumerate(left):
        asking.tell("how every two rules relate", number, len(left))
        if not {(i, j), (j, i)} & (sets["equivalent"] | sets["contradictory"]):
            background = F.conjunction(tuple(dict.fromkeys((*bound.get(i, ()), *bound.get(j, ())))))
            asking.tried(
                f"{rules[i].id}, {rules[j].id}",
                partial(_relate, rules[i].formula, rules[j].formula, background, (i, j), sets),
            )
    return {kind: tuple((rules[i].id, rules[j].id) for i, j in sorted(those)) for kind, those in sets.items()}


def _worth_a_look(rules: Sequence[Rule], bound: dict[int, tuple], found: pairs.Relations) -> list[tuple[int, int]]:
    """Pairs that `pairs` did not settle: bound by a physical rule, or with a rule over many predicates."""
    words = [
        set(F.atoms(rule.formula)) | {name for one in bound.get(i, ()) for name in F.atoms(one)}
        for i, rule in enumerate(rules)
    ]
    special = set(found.undecided) | {i for i, by in bound.items() if by}
    return [
        (i, j)
        for i in range(len(rules))
        for j in range(i + 1, len(rules))
        if (i in special or j in special) and words[i] & words[j]
    ]


def _relate(one: Formula, two: Formula, given: Formula, pair: tuple[int, int], sets: dict[str, set]) -> None:
    there, back = bool(decide.implies(one, two, given)), bool(decide.implies(two, one, given))
    if there and back:
        sets["equivalent"].add(pair)
        sets["implied"] -= {pair, pair[::-1]}
    elif there or back:
        sets["implied"].add(pair if there else pair[::-1])
    if decide.contradictory(one, two, given):
        sets["contradictory"].add(pair)


def _conflicts(
    rules: Sequence[Rule],
    fires: Mapping[str, Formula],
    given: Sequence[Formula],
    solver: Bounded,
    names: dict,
    asking: _Asking,
) -> list[Blame]:
    """Rules that can fire alone, but not while all rules are kept."""
    everything = (*(rule.formula for rule in rules), *given)
    fires = {rule.id: fires[rule.id] for rule in rules if rule.id in fires}
    asking.tell("rules that can never fire", 0, len(fires))
    can = asking.tried("", partial(decide.together, tuple(fires.values()), everything, solver)) or frozenset()
    left = [name for name, wanted in fires.items() if wanted not in can]
    found, half = [], (time.monotonic() + asking.until) / 2  # the other half is for `_redundant`
    for i, name in enumerate(left):
        solver.until = asking.share(half, len(left) - i)
        asking.tell("rules that can never fire", len(fires) - len(left) + i, len(fires))
        answer = asking.tried(f"whether {name} can fire", partial(_shown_by, (fires[name], *everything), solver))
        if answer and answer[0] is None:
            found.append(Blame(name, tuple(other for other in _named(answer[1], names) if other)))
    return found


def _redundant(
    rules: Sequence[Rule],
    given: Sequence[Formula],
    implied: Iterable[tuple[str, str]],
    solver: Bounded,
    names: dict,
    asking: _Asking,
) -> tuple[Blame, ...]:
    """Rules that those before them, and those after them that are no such rules, imply; `implied` are pairs known."""
    kept, found = {rule.id: rule.formula for rule in rules}, []
    stronger: dict[str, list[str]] = {}
    for strong, weak in implied:
        stronger.setdefault(weak, []).append(strong)
    for i, rule in enumerate(reversed(rules)):
        asking.tell("rules that the others imply", i, len(rules))
        one = next((name for name in stronger.get(rule.id, ()) if name in kept), None)
        if one is not None:
            answer = (None, (kept[one],))
        else:
            rest = (*(formula for name, formula in kept.items() if name != rule.id), *given)
            solver.until = asking.share(asking.until, len(rules) - i)
            answer = asking.tried(f"whether others imply {rule.id}", partial(_implying, rule.formula, rest, solver))
        if answer and answer[0] is None:
            del kept[rule.id]
            found.append(Blame(rule.id, tuple(name for name in _named(answer[1], names) if name)))
    return tuple(reversed(found))


def _implying(formula: Formula, rest: Sequence[Formula], solver: Bounded) -> tuple[Word | None, tuple[Formula, ...]]:
    """A trace of the rest that breaks the formula, or a minimal part of them that shows there is none."""
    broken = F.Not(formula)
    if decide.together((broken,), rest, solver, 1):
        return (frozenset(),), ()
    return _shown_by((broken, *rest), solver)


def _named(formulas: Iterable[Formula], names: dict[Formula, str]) -> tuple[str, ...]:
    return tuple(names.get(formula, "") for formula in formulas)
