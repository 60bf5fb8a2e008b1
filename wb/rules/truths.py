"""What a step tells of the predicates of rules: true, false or unknown; of a step of several calls, too.

The calls of a step have no order here: what two of them did to the same objects, one since the other, is unknown, and
what is counted is counted call by call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from types import MappingProxyType

from wb.domain.tools import DeclaredValues
from wb.domain.trace import Call, Step, Value
from wb.logic import evaluation, facts, objects
from wb.logic.facts import Path
from wb.logic.formula import And, Atom, Formula, Since, atoms, bodies, subformulas
from wb.logic.objects import NOBODY, Among
from wb.rules.rule import Predicate, called

NOTHING: Mapping[str, Value] = MappingProxyType({})
Reader = Callable[[Step, Call | None], bool | None]


AmongReader = Callable[[Step, Call | None], Among]


def reader(predicate: Predicate, enumerations: DeclaredValues = MappingProxyType({})) -> Reader:
    """The predicate as a function of a step and the call that is asked about (None where none is): `truth`, compiled.

    An action predicate is closed-world over the step's calls: what was not called was not done; without a tool it is
    unknown, for nobody can see it done.  A test of arguments reads the call that is asked about, else all calls of the
    step: where one is of no tool of its own, or they differ, it is unknown (`asked`).  `enumerations` names the values
    that a field may have, by owner and name: the test of any other value is unknown.
    """
    if predicate.kind == "action":
        tools = predicate.tools
        if not tools:
            return lambda step, call: None

        def done(step: Step, call: Call | None) -> bool:
            for one in step.calls:
                if one.tool in tools:
                    return True
            return False

        return done
    if predicate.test is None:
        name = predicate.name

        def told(step: Step, call: Call | None) -> bool | None:
            known = step.state.get(name)
            return known if isinstance(known, bool) else None

        return told
    test = predicate.test
    return asked(facts.paths(test), predicate.tools, enumerations, lambda declared: evaluation.compiled(test, declared))


def among(predicate: Predicate, enumerations: DeclaredValues = MappingProxyType({})) -> AmongReader:
    """A predicate with objects as a function of a step and the call that is asked about: of which it is true.

    It is false of objects that no call of its tools names.  A test is of the call that names the object: of the one
    that is asked about where it names it, else of all that do, and unknown where these differ.  A call that does not
    tell its objects may have named any.
    """
    tools, where = predicate.tools, [evaluation.reading(path) for path in predicate.objects]
    test = predicate.test
    tests = {tool: evaluation.compiled(test, declared(facts.paths(test), enumerations, tool)) for tool in tools if test}

    def read(step: Step, call: Call | None) -> Among:
        named: dict[objects.Key, bool | None] = {}
        strange: set[bool | None] = set()  # the truths of calls that do not tell their objects
        some, mine = False, None
        for one in step.calls:
            if one.tool not in tools:
                continue
            true = tests[one.tool](step.state, one.arguments) if tests else True
            some = True if True in (some, true) else None if None in (some, true) else False
            key = tuple([objects.identity(read(step.state, one.arguments)) for read in where])
            if None in key:
                strange.add(true)
            elif one is call or key not in named:
                named[key] = true
                mine = key if one is call else mine
            elif named[key] is not true:
                named[key] = None
        for key, true in named.items() if strange else ():
            named[key] = true if key == mine or strange == {true} else None
        others = False if strange <= {False} else None
        if len(named) == 1 and not strange and some is True and named.get(key) is True:
            return objects.only(key)
        return Among(named, others, some) if named or strange else NOBODY

    return read


def counting(formula: Formula, predicates: Mapping[str, Predicate]) -> frozenset[str]:
    """The tools whose calls a formula counts; none of what it counts only where two calls of one step come together."""
    counted = [body for body in bodies(formula) if not _together(body, predicates)]
    names = {Atom(name).predicate for body in counted for name in atoms(body)}
    return frozenset(tool for p in _made(names, predicates) for tool in p.tools)


def _together(body: Formula, predicates: Mapping[str, Predicate]) -> bool:
    """Whether a formula asks two things of one step that no one call makes true."""
    for node in subformulas(body):
        if isinstance(node, And):
            names = [[Atom(name).predicate for name in atoms(part)] for part in (node.left, node.right)]
            left, right = ({tool for p in _made(some, predicates) for tool in p.tools} for some in names)
            if left and right and not left & right:
                return True
    return False


def _made(names: Iterable[str], predicates: Mapping[str, Predicate]) -> list[Predicate]:
    """Those of the predicates that calls make true."""
    return [p for name in names if (p := predicates[name]).kind == "action" or p.reads_call]


def one_by_one(step: Step, tools: frozenset[str]) -> tuple[Step, ...]:
    """The step as one for each call of the tools that are counted, the other calls with the last of them; itself where
    there are fewer than two."""
    if len(step.calls) < 2 or not tools:
        return (step,)
    mine = [one for one in step.calls if one.tool in tools]
    if len(mine) < 2:
        return (step,)
    rest = tuple([one for one in step.calls if not any(one is other for other in mine[:-1])])
    return (*[replace(step, calls=(one,)) for one in mine[:-1]], replace(step, calls=rest))


Sides = tuple[
    tuple[str, tuple[str, ...]], ...
]  # predicates that calls make true, and what a formula calls their objects


def sides(formula: Formula, predicates: Mapping[str, Predicate]) -> Sides:
    """The predicates that calls make true in the parts of a formula that say what happened since what."""
    since = [node for node in subformulas(formula) if isinstance(node, Since)]
    read = dict.fromkeys((a.predicate, a.objects) for node in since for a in map(Atom, atoms(node)))
    made = {p.name for p in _made([name for name, _ in read], predicates)}
    return tuple([(name, terms) for name, terms in read if name in made])


def unordered(
    step: Step, told: Mapping[str, bool | Among | None], every: Iterable[Sides], readers: Mapping[str, Callable]
) -> Mapping[str, bool | Among | None]:
    """What a step of several calls tells a formula that says what happened since what: the calls of a step have no
    order, so that two things that two of them did of the same objects are unknown."""
    if len(step.calls) < 2:
        return told
    found = dict(told)
    for names in every:
        done = [_done(replace(step, calls=(call,)), names, readers) for call in step.calls]
        for some, others in combinations(done, 2):
            for (one, key, mine), (other, its, yours) in product(some, others):
                if one != other and all(yours.get(term, value) == value for term, value in mine.items()):
                    found |= {one: _blurred(found[one], key), other: _blurred(found[other], its)}
    return found


def _done(
    step: Step, names: Sides, readers: Mapping[str, Callable]
) -> list[tuple[str, objects.Key | None, dict[str, object]]]:
    """What the one call of a step may make true: a predicate, and its objects by what the formula calls them."""
    found: list[tuple[str, objects.Key | None, dict[str, object]]] = []
    for name, terms in names:
        truth = readers[name](step, None)
        if type(truth) is Among and terms and truth.others is False:
            keys = [key for key, true in truth.named.items() if true is not False]
            found += [(name, key, dict(zip(terms, key, strict=True))) for key in keys]
        elif (truth.some if type(truth) is Among else truth) is not False:
            found.append((name, None, {}))
    return found


def _blurred(truth: bool | Among | None, key: objects.Key | None) -> bool | Among | None:
    """The truth, unknown of the key's objects, or of all that are named, where it is not false."""
    if type(truth) is not Among:
        return False if truth is False else None
    named = {one: None if true and key in (None, one) else true for one, true in truth.named.items()}
    return truth._replace(named=named, some=None if truth.some else truth.some)


def asked[Told](
    paths: Sequence[Path],
    tools: Sequence[str],
    enumerations: DeclaredValues,
    compiled: Callable[[evaluation.Enumerations], Callable[[object, object], Told | None]],
) -> Callable[[Step, Call | None], Told | None]:
    """What is read of those paths, as a function of a step and the call that is asked about (None where none is).

    Arguments are those of the call that is asked about, else of all calls of the step, which must tell the same; one of
    another tool than `tools` (with none: of any) tells nothing, for a rule may mean what it does.  `compiled` gives the
    function of `state` and `call` for the enumerations of one tool.
    """
    other = compiled(declared(paths, enumerations, ""))
    if not any(path.names[0] == "call" for path in paths):
        return lambda step, call: other(step.state, None)
    owners = tools or dict.fromkeys(owner for owner, _ in enumerations)
    by_tool = {tool: compiled(declared(paths, enumerations, tool)) for tool in owners}

    def told(step: Step, call: Call) -> Told | None:
        return by_tool.get(call.tool, other)(step.state, call.arguments)

    def argument(step: Step, call: Call | None) -> Told | None:
        if call is not None:
            return told(step, call) if not tools or call.tool in tools else None
        found = [told(step, one) if not tools or one.tool in tools else None for one in step.calls]
        return found[0] if found and found.count(found[0]) == len(found) else None

    return argument


def declared(paths: Sequence[Path], enumerations: DeclaredValues, tool: str) -> evaluation.Enumerations:
    """The enumerations of the paths, `call` being a call of that tool."""
    owners = {"state": "state", "call": tool}
    found = {path: enumerations.get((owners[path.names[0]], path.names[1])) for path in paths if len(path.names) == 2}
    return {path: values for path, values in found.items() if values}


def heeded(predicates: Iterable[Predicate]) -> frozenset[str] | None:
    """The tools whose calls the predicates' truths depend on; None where it may be any."""
    found = tuple(predicates)
    if any(one.kind == "state" and one.reads_call and not one.tools for one in found):
        return None
    return frozenset(tool for one in found for tool in one.tools)


def source(predicate: Predicate, state: Mapping[str, Value] = NOTHING) -> str:
    """What tells the predicate's truth: the fields and arguments that its test reads, else its own name; without the
    fields that the state tells, unless it tells them all."""
    if predicate.test is None:
        return predicate.name
    paths = tuple(facts.paths(predicate.test))
    left = [one for one in paths if one.names[0] != "state" or not _told(one.names[1:], state)] or paths
    return ", ".join(dict.fromkeys(called(path, predicate.tools) for path in left))


def _told(names: Sequence[str], state: Value) -> bool:
    """Whether there is a value under these names."""
    for name in names:
        state = state.get(name) if isinstance(state, Mapping) else None
    return state is not None


def told_by(predicate: Predicate) -> tuple[str, ...]:
    """The fields of the state that its truth depends on."""
    if predicate.test is None:
        return (predicate.name,) if predicate.kind == "state" else ()
    return tuple(dict.fromkeys(path.names[1] for path in facts.paths(predicate.test) if path.names[0] == "state"))


def readers(predicates: Iterable[Predicate]) -> dict[str, Reader]:
    """What reads each predicate's truth, by its name, made ready once for many steps."""
    return {predicate.name: reader(predicate) for predicate in predicates}
