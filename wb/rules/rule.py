"""Rules: LTLf formulas over predicates, each tied to the sentence it came from.

ShieldAgent's rule tuple r = [P_r, T_r, phi_r, t_r] (Sec. 3.1) with the sentence's modality and its
verbatim span beside it; a rule set with its predicates is the paper's ASPM (P, R, ·), Eq. 2.
Rules are read and written as text, YAML that a person edits and JSON, in `rulefile`.

A predicate has a positive snake_case name, a description and keywords (Sec. 3.1).  An *action* predicate is true
when the agent calls one of its tools, a *state* predicate is a fact about the user, the session or the arguments.
With a test (`logic.facts`) it is *grounded*: its truth follows from fields of the state and arguments of calls.
Without one it is unknown unless the step's state holds it by name.  One with *objects* is true of those that the
calls of its tools name: `cancel(r)` of what the argument `id` says, where `objects` is `call.id`.  Rules from many
clauses are joined into one set over one vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from types import MappingProxyType
from typing import Literal

from wb.domain.tools import DeclaredValues
from wb.domain.trace import Call, Step
from wb.logic import evaluation, facts, formula, objects
from wb.logic.facts import Fact, Path, Size
from wb.logic.formula import And, Atom, Formula, Since, atoms, bodies, predicates, subformulas, substitute, variables
from wb.logic.objects import NOBODY, Among

Kind = Literal["action", "state"]
VARIABLES = 3  # of one rule


@dataclass(frozen=True, slots=True)
class Predicate:
    """One proposition of a rule set, true, false or unknown at each step.

    `tools` are those that carry out an action predicate.  Of a state predicate they say whose calls its test reads as
    `call`; without any, it reads the call that is judged, whatever its tool.  `objects` are the arguments of those
    calls that tell which objects the predicate is true of, in the order in which a rule names them.
    """

    name: str
    kind: Kind
    description: str
    keywords: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    test: Fact | None = None
    objects: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if not formula.NAME.match(self.name):
            raise ValueError(f"a predicate name must match [a-z][a-z0-9_]*; got {self.name!r}")
        if self.kind not in ("action", "state"):
            raise ValueError(f"kind must be 'action' or 'state'; got {self.kind!r}")
        if self.test is not None and not isinstance(self.test, Fact):
            raise ValueError(f"a test is a fact, such as cel.parse('state.age >= 18'); got {self.test!r:.80}")
        if self.kind == "action" and self.test is not None:
            raise ValueError(f"an action predicate is tested by its tools alone; {self.name!r} has a test as well")
        if self.kind == "state" and self.tools and not self.reads_call:
            raise ValueError(f"a state predicate has tools only if its test reads call; {self.name!r} has {self.tools}")
        strange = [called(path) for path in self.objects if path.names[0] != "call"]
        if strange:
            raise ValueError(f"an object is told by an argument, such as call.id; {self.name!r} has {strange}")
        if self.objects and not self.tools:
            raise ValueError(f"a predicate with objects needs the tools whose calls name them; {self.name!r} has none")

    @property
    def reads_call(self) -> bool:
        """Whether its test reads the arguments of a call."""
        return self.test is not None and any(path.names[0] == "call" for path in facts.paths(self.test))

    @property
    def term(self) -> Path | Size | None:
        """The one path or size that its test measures; None where it has no test or measures several."""
        measured = facts.terms(self.test) if self.test is not None else ()
        return measured[0] if len(measured) == 1 else None


Reader = Callable[[Step, Call | None], bool | None]
AmongReader = Callable[[Step, Call | None], Among]


def reader(predicate: Predicate, enumerations: DeclaredValues = MappingProxyType({})) -> Reader:
    """The predicate as a function of a step and the call that is asked about (None where none is): `truth`, compiled.

    An action predicate is closed-world over the step's calls: what was not called was not done; without a tool it is
    unknown, for nobody can see it done.  A test of arguments reads the call that is asked about where that is a call
    of its tools, else the step's calls of them: where they differ, it is unknown.  `enumerations` names the values
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

    Arguments are those of the call that is asked about where its tool is one of `tools` (with none: any tool), else of
    the step's calls of them (with none: of those that have the arguments), which must tell the same.  `compiled` gives
    the function of `state` and `call` for the enumerations of one tool.
    """
    names = [path.names[1] for path in paths if path.names[0] == "call"]
    other = compiled(declared(paths, enumerations, ""))
    if not names:
        return lambda step, call: other(step.state, None)
    owners = tools or dict.fromkeys(owner for owner, _ in enumerations)
    by_tool = {tool: compiled(declared(paths, enumerations, tool)) for tool in owners}

    def told(step: Step, call: Call) -> Told | None:
        return by_tool.get(call.tool, other)(step.state, call.arguments)

    def argument(step: Step, call: Call | None) -> Told | None:
        if call is not None and (not tools or call.tool in tools):
            return told(step, call)
        mine = [
            c for c in step.calls if (c.tool in tools if tools else all(name in (c.arguments or ()) for name in names))
        ]
        found = [told(step, one) for one in mine]
        return found[0] if found and found.count(found[0]) == len(found) else None

    return argument


def declared(paths: Sequence[Path], enumerations: DeclaredValues, tool: str) -> evaluation.Enumerations:
    """The enumerations of the paths, `call` being a call of that tool."""
    owners = {"state": "state", "call": tool}
    found = {path: enumerations.get((owners[path.names[0]], path.names[1])) for path in paths if len(path.names) == 2}
    return {path: values for path, values in found.items() if values}


def truth(predicate: Predicate, step: Step, call: Call | None = None) -> bool | None:
    """Whether the predicate holds at the step; None where the step does not tell."""
    return reader(predicate)(step, call)


def heeded(predicates: Iterable[Predicate]) -> frozenset[str] | None:
    """The tools whose calls the predicates' truths depend on; None where it may be any."""
    found = tuple(predicates)
    if any(one.kind == "state" and one.reads_call and not one.tools for one in found):
        return None
    return frozenset(tool for one in found for tool in one.tools)


def source(predicate: Predicate) -> str:
    """What tells the predicate's truth: the fields and arguments that its test reads, else its own name."""
    if predicate.test is None:
        return predicate.name
    return ", ".join(dict.fromkeys(called(path, predicate.tools) for path in facts.paths(predicate.test)))


def told_by(predicate: Predicate) -> tuple[str, ...]:
    """The fields of the state that its truth depends on."""
    if predicate.test is None:
        return (predicate.name,) if predicate.kind == "state" else ()
    return tuple(dict.fromkeys(path.names[1] for path in facts.paths(predicate.test) if path.names[0] == "state"))


def called(path: Path, tools: Sequence[str] = ()) -> str:
    """What a person calls a path: `state.NAME`, or `TOOL.ARGUMENT` for an argument of the calls of one tool."""
    root, *names = path.names
    return ".".join((tools[0] if root == "call" and len(tools) == 1 else root, *names))


def valuation(predicates: tuple[Predicate, ...], step: Step, call: Call | None = None) -> dict[str, bool | None]:
    """The truth of every predicate at one step, by name."""
    return {predicate.name: truth(predicate, step, call) for predicate in predicates}


Modality = Literal["forbid", "permit_only_if", "oblige"]
RuleType = Literal["action", "physical"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `clause` names the clause it was read from, `quote` is that clause's verbatim text,
    `parents` the rules that a refinement made it from."""

    id: str
    text: str
    formula: Formula
    modality: Modality
    type: RuleType = "action"
    clause: str = ""
    quote: str = ""
    parents: tuple[str, ...] = ()

    @property
    def predicates(self) -> tuple[str, ...]:
        """The names of the predicates in the rule's formula (P_r)."""
        return predicates(self.formula)


@dataclass(frozen=True, slots=True)
class Undecided:
    """A clause that states a constraint which no rule could be read from, and why."""

    clause: str
    quote: str
    reason: str


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Predicates, the rules over them, and what stayed undecided."""

    predicates: tuple[Predicate, ...] = ()
    rules: tuple[Rule, ...] = ()
    undecided: tuple[Undecided, ...] = ()

    def __post_init__(self) -> None:
        names = [p.name for p in self.predicates]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"every predicate needs a name of its own; got {twice} more than once")
        ids = [r.id for r in self.rules]
        if len(set(ids)) < len(ids):
            raise ValueError(
                f"every rule needs an id of its own; got {sorted({i for i in ids if ids.count(i) > 1})} more than once"
            )
        known = set(names)
        for rule in self.rules:
            missing = [n for n in rule.predicates if n not in known]
            if missing:
                raise ValueError(f"rule {rule.id!r} uses predicates that are not declared: {missing}")
            self._about_objects(rule)

    def _about_objects(self, rule: Rule) -> None:
        """Refuse a rule whose objects are not those of its predicates, or that nothing could keep."""
        for atom in map(Atom, atoms(rule.formula)):
            declared = self.predicate(atom.predicate).objects
            if atom.objects and len(atom.objects) != len(declared):
                wanted = f"{len(declared)} object{'s' * (len(declared) != 1)} of {atom.predicate}"
                raise ValueError(f"rule {rule.id!r}: {wanted} were required, as its `objects` say; got {atom.name}")
            if not atom.objects and declared and self.predicate(atom.predicate).kind == "state":
                raise ValueError(f"rule {rule.id!r}: the objects of {atom.name} were required, as in {atom.name}(r)")
            if len(set(atom.objects)) < len(atom.objects):
                raise ValueError(f"rule {rule.id!r}: a variable for each object was required; got {atom.name}")
            if strange := [one for one in atom.objects if not formula.NAME.match(one)]:
                raise ValueError(f"rule {rule.id!r}: variables such as r were required in {atom.name}; got {strange}")
        if len(variables(rule.formula)) > VARIABLES:
            raise ValueError(
                f"rule {rule.id!r}: at most {VARIABLES} variables; got {', '.join(variables(rule.formula))}"
            )
        if unbound := objects.unsafe(rule.formula):
            raise ValueError(
                f"rule {rule.id!r} demands something of every {unbound[0]} there could be, named or not, and can never "
                f"be kept: say when it bites, such as ALWAYS (act({unbound[0]}) IMPLIES …), or leave {unbound[0]} out "
                "for any object"
            )

    def predicate(self, name: str) -> Predicate:
        """The predicate of that name; `KeyError` when there is none."""
        for predicate in self.predicates:
            if predicate.name == name:
                return predicate
        raise KeyError(f"no predicate {name!r} in this rule set")

    def actions(self, rule: Rule) -> tuple[Predicate, ...]:
        """The action predicates of a rule."""
        found = (self.predicate(name) for name in rule.predicates)
        return tuple(p for p in found if p.kind == "action")

    def without_unused(self) -> RuleSet:
        """The same rules with only the predicates that they use."""
        used = {name for rule in self.rules for name in rule.predicates}
        return replace(self, predicates=tuple(p for p in self.predicates if p.name in used))


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """A rule without its id, and the predicates it names."""

    rule: Rule
    predicates: tuple[Predicate, ...]


def collect(drafts: Sequence[RuleDraft], undecided: Sequence[Undecided]) -> RuleSet:
    """One rule set: predicates that say the same are one, and no two share a name.

    Two predicates say the same if both have the same test and tools, or, without either, the same kind
    and name. Rules are numbered within their clause: c4.1, c4.2.
    """
    known: dict[object, Predicate] = {}
    names: set[str] = set()
    rules: list[Rule] = []
    counts: dict[str, int] = {}
    for draft in drafts:
        renamed = {p.name: _shared(p, known, names) for p in draft.predicates}
        formula = rename(draft.rule.formula, {old: new.name for old, new in renamed.items()})
        if any(r.formula == formula and r.clause == draft.rule.clause for r in rules):
            continue
        counts[draft.rule.clause] = counts.get(draft.rule.clause, 0) + 1
        rules.append(replace(draft.rule, id=f"{draft.rule.clause}.{counts[draft.rule.clause]}", formula=formula))
    return RuleSet(tuple(known.values()), tuple(rules), tuple(undecided))


def rename(formula: Formula, names: Mapping[str, str]) -> Formula:
    """The formula with its predicates renamed; a name that is not listed stays."""
    used = (Atom(name) for name in atoms(formula))
    return substitute(
        formula,
        {a: Atom(names[a.predicate] + a.name[len(a.predicate) :]) for a in used if a.predicate in names},
    )


def _shared(predicate: Predicate, known: dict[object, Predicate], names: set[str]) -> Predicate:
    """The predicate of the set that says the same, else this one under a free name."""
    tools = frozenset(predicate.tools)
    about = predicate.objects
    key = (
        (predicate.test, tools, about)
        if predicate.test
        else (tools, about)
        if tools
        else (predicate.kind, predicate.name)
    )
    if key not in known:
        name, number = predicate.name, 2
        if name in names and len(tools) == 1 and predicate.test is not None:
            name = f"{predicate.tools[0].lower()}_{name}"
        base = name
        while name in names:
            name, number = f"{base}_{number}", number + 1
        names.add(name)
        known[key] = replace(predicate, name=name)
    return known[key]
