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

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from wb.domain.tools import AGENT, NAME, SESSION, Toolbox, with_questions
from wb.logic import facts, formula, objects
from wb.logic.facts import Fact, Path, Size
from wb.logic.formula import Atom, Formula, atoms, predicates, substitute, variables
from wb.logic.syntax import CONSTANTS

if TYPE_CHECKING:
    from wb.domain.policy import Policy

Kind = Literal["action", "state"]
VARIABLES = 3  # of one rule


@dataclass(frozen=True, slots=True)
class Predicate:
    """One proposition of a rule set, true, false or unknown at each step.

    `tools` are those that carry out an action predicate.  Of a state predicate they say whose calls its test reads as
    `call`; without any, it reads the call that is judged, whatever its tool.  `objects` are the arguments of those
    calls that tell which objects the predicate is true of, in the order in which a rule names them.  A `question` about
    what the `speakers` said in the conversation tells the field of its name where nothing else does (`toolbox`).
    """

    name: str
    kind: Kind
    description: str
    keywords: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    test: Fact | None = None
    objects: tuple[Path, ...] = ()
    question: str = ""
    speakers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not formula.NAME.match(self.name) or self.name in CONSTANTS:
            wanted = " and be no constant of formulas" if self.name in CONSTANTS else ""
            raise ValueError(f"a predicate name must match [a-z][a-z0-9_]*{wanted}; got {self.name!r}")
        if self.kind not in ("action", "state"):
            raise ValueError(f"kind must be 'action' or 'state'; got {self.kind!r}")
        if self.question:
            if self.kind == "action" or self.test not in (None, Path(("state", self.name))):
                raise ValueError(
                    f"a question tells a state predicate without a test; {self.name!r} has a test or is an act"
                )
            object.__setattr__(self, "test", Path(("state", self.name)))
            object.__setattr__(self, "speakers", self.speakers or ("user",))
            if own := [one for one in self.speakers if one in AGENT or not one]:
                raise ValueError(f"speakers other than the agent, whose calls are judged, were required; got {own}")
        if self.test is not None and not isinstance(self.test, Fact):
            raise ValueError(f"a test is a fact, such as cel.parse('state.age >= 18'); got {self.test!r:.80}")
        if self.kind == "action" and self.test is not None:
            raise ValueError(f"an action predicate is tested by its tools alone; {self.name!r} has a test as well")
        if self.kind == "state" and self.tools and not self.reads_call:
            raise ValueError(f"a state predicate has tools only if its test reads call; {self.name!r} has {self.tools}")
        strange = [called(path) for path in self.objects if path.names[0] != "call"]
        if strange:
            raise ValueError(f"an object is told by an argument, such as call.id; {self.name!r} has {strange}")
        odd = [called(path) for path in self.objects if not all(map(NAME.match, path.names))]
        if odd:
            raise ValueError(f"an object is told by names of letters, digits and _; {self.name!r} has {odd}")
        if self.objects and not self.tools:
            raise ValueError(f"a predicate with objects needs the tools whose calls name them; {self.name!r} has none")

    def under(self, name: str) -> Predicate:
        """The same under another name; a question then fills the field of that name."""
        return replace(self, name=name, test=None if self.question else self.test)

    @property
    def reads_call(self) -> bool:
        """Whether its test reads the arguments of a call."""
        return self.test is not None and any(path.names[0] == "call" for path in facts.paths(self.test))

    @property
    def term(self) -> Path | Size | None:
        """The one path or size that its test measures; None where it has no test or measures several."""
        measured = facts.terms(self.test) if self.test is not None else ()
        return measured[0] if len(measured) == 1 else None


def called(path: Path, tools: Sequence[str] = ()) -> str:
    """What a person calls a path: `state.NAME`, or `TOOL.ARGUMENT` for an argument of the calls of one tool."""
    root, *names = path.names
    return ".".join((tools[0] if root == "call" and len(tools) == 1 else root, *names))


Modality = Literal["forbid", "permit_only_if", "oblige"]
Force = Literal["hard", "learned", "soft"]
RuleType = Literal["action", "physical"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `clause` names the clause it was read from, `quote` is that clause's verbatim text,
    `parents` the rules that a refinement made it from.

    `force` says what a breach of it weighs for a shield: *hard* more than anything, whatever is learned; *learned* at
    first 1; *soft*, of a sentence that advises, begins so light that it denies with another one alone and others
    outweigh it (`circuit.FIRST`).  Guards of code keep every rule.
    """

    id: str
    text: str
    formula: Formula
    modality: Modality
    type: RuleType = "action"
    clause: str = ""
    quote: str = ""
    parents: tuple[str, ...] = ()
    force: Force = "learned"

    @property
    def predicates(self) -> tuple[str, ...]:
        """The names of the predicates in the rule's formula (P_r)."""
        return predicates(self.formula)


@dataclass(frozen=True, slots=True)
class Undecided:
    """A clause that states a constraint which no rule could be read from, and why; or a `part` of one, beside rules
    that say the rest."""

    clause: str
    quote: str
    reason: str
    part: bool = False


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


def toolbox(given: Toolbox, ruleset: RuleSet) -> Toolbox:
    """The toolbox with a field of the state for each question of the rule set's predicates, and for what they ask of
    the present step.

    An answer needs a quotation where it may let a call through: of a fact that all rules need to be so, only a yes.
    """
    own = {p.name: p for p in ruleset.predicates if p.question}
    kept = tuple(
        one for one in given.state if one.name not in own or one.source is None or one.source.kind != "question"
    )
    known = {field.name for field in kept}
    read = {path.names[1] for p in ruleset.predicates if p.test is not None for path in facts.paths(p.test)}
    helping = helpful(rule.formula for rule in ruleset.rules)
    elsewhere = {path.names[1] for p in ruleset.predicates if p.test and not p.question for path in facts.paths(p.test)}
    helping = {name: signs for name, signs in helping.items() if name not in elsewhere}  # other tests may turn it round
    rows = [question(p, helping.get(name, ())) for name, p in own.items() if name not in known]
    rows += [row for row in SESSION if row["name"] in read - known]
    return with_questions(replace(given, state=kept), rows)


def helpful(formulas: Iterable[Formula]) -> dict[str, frozenset[bool]]:
    """By predicate, which of its truths may help the formulas to hold."""
    found: dict[str, set[bool]] = {}

    def walk(node: Formula, helps: bool, either: bool) -> None:
        match node:
            case Atom():
                found.setdefault(node.predicate, set()).update((True, False) if either else (helps,))
            case formula.Not(body):
                walk(body, not helps, either)
            case formula.Implies(left, right):
                walk(left, not helps, either)
                walk(right, helps, either)
            case formula.Iff() | formula.Xor() | formula.Recently():
                for child in formula.children(node):
                    walk(child, helps, True)
            case _:
                for child in formula.children(node):
                    walk(child, helps, either)

    for one in formulas:
        walk(one, True, False)
    return {name: frozenset(signs) for name, signs in found.items()}


def asking(policy: Policy, ruleset: RuleSet) -> Policy:
    """The policy with the rule set's questions among the fields of its toolbox."""
    return replace(policy, toolbox=toolbox(policy.toolbox, ruleset))


def question(predicate: Predicate, permits: Collection[bool] = ()) -> dict[str, object]:
    """The field of the state that a question tells, as `tools.json` has it: whether it is so; which answers may let a
    call through, where that is known."""
    asked: dict[str, object] = {"question": predicate.question, "of": list(predicate.speakers)}
    asked |= {"permits": sorted(permits)} if len(permits) == 1 else {}
    return {"name": predicate.name, "type": "boolean", "description": predicate.description, "from": asked}


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
        (predicate.test, tools, about, predicate.question, predicate.speakers)
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
        known[key] = predicate.under(name)
    return known[key]
