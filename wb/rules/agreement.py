"""Whether independent readings of a sentence say the same, decided exactly, and a run on which they part.

Two readings agree if they allow the same runs, whatever the facts, of every tool: their formulas that a call can break
are equivalent under what follows from the bindings (`physical`).  Rules about objects are decided for `OBJECTS`
objects, and then the agreement is *bounded*.  Where the decision is too large there is none.  Two readings that both
forbid nothing agree that no call can break the sentence; two rules that can never fire do not agree: nobody meant that.

What agrees is in force; of what differs, the calls that *every* well-formed reading allows, or denies, are known
(`assumed`): a rule with an unknown proposition that says which reading is meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from wb.domain.tools import Toolbox
from wb.logic import decide, objects
from wb.logic import formula as f
from wb.logic.automaton import AutomatonError
from wb.logic.decide import Word
from wb.logic.formula import Formula
from wb.logic.syntax import render
from wb.rules import binding, physical, residual
from wb.rules.readers import Reading
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.vocabulary import Vocabulary

OBJECTS = 2  # that rules about objects are decided for
Outcome = Literal["agreed", "differ", "unusable", "doubted"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the readings of one sentence come to.

    `agreed` readings are numbered by `by` (positions); `formulas` are those of the first of them.  `bounded`: decided
    for few objects, or over entries whose tests were compared on part of all values.  `apart` is a shortest run that
    one of two readings, `parts`, allows and the other does not; `reason` says in words why there is no agreement.
    `judged` is on how many such runs judges ruled out all other readings (`judges`).
    """

    outcome: Outcome
    formulas: tuple[Formula, ...] = ()
    by: tuple[int, ...] = ()
    readings: int = 0
    bounded: bool = False
    apart: Word | None = None
    parts: tuple[int, int] | None = None
    reason: str = ""
    judged: int = 0

    @property
    def grade(self) -> str:
        """`agreed 2 of 2`, `agreed 2 of 3`, `agreed 2 of 2 (bounded)`, `agreed by judges`; else the outcome."""
        if self.outcome != "agreed":
            return self.outcome
        if self.judged:
            return "agreed by judges" + " (bounded)" * self.bounded
        return f"agreed {len(self.by)} of {self.readings}" + " (bounded)" * self.bounded


def settle(readings: Sequence[Reading], vocabulary: Vocabulary) -> Agreement:
    """Whether most of the readings of a sentence agree; with two, both must, with three, two.

    A reading that cannot be used agrees with none.  An entry that is disputed makes every reading that needs it
    unusable.
    """
    count = len(readings)
    usable = {k: one for k, one in enumerate(readings) if not problem(one, vocabulary)}
    if len(usable) < 2 or 2 * len(usable) <= count:
        why = next((problem(one, vocabulary) for one in readings if problem(one, vocabulary)), "one reading alone")
        return Agreement("unusable", readings=count, reason=why)
    first: Agreement | None = None
    alike: dict[int, set[int]] = {k: {k} for k in usable}
    for i, j in combinations(usable, 2):
        found = compare(usable[i], usable[j], vocabulary)
        if found.outcome == "agreed":
            alike[i].add(j)
            alike[j].add(i)
        elif first is None:
            first = Agreement(found.outcome, readings=count, apart=found.apart, parts=(i, j), reason=found.reason)
    best = max(alike.values(), key=len)
    if len(best) < 2 or 2 * len(best) <= count:
        return first or Agreement("unusable", readings=count, reason="no two readings could be compared")
    chosen = usable[min(best)]
    bounded = any(f.variables(one) for one in chosen.formulas) or any(
        vocabulary.entry(name).by.endswith("(bounded)") for name in chosen.acts
    )
    alone = guarding(chosen.formulas, vocabulary)
    rest = [
        tuple(one for one in usable[k].formulas if one not in guarding(usable[k].formulas, vocabulary)) for k in best
    ]
    same = all(_equal(one, rest[0], vocabulary) for one in rest)
    formulas = tuple(one for one in chosen.formulas if same or one in alone)
    return Agreement("agreed", formulas, tuple(sorted(best)), count, bounded)


def _equal(one: Sequence[Formula], other: Sequence[Formula], vocabulary: Vocabulary) -> bool:
    """Whether formulas that guard nothing, such as duties, say the same."""
    try:
        return bool(_same(one, other, vocabulary))
    except AutomatonError:
        return False


def problem(reading: Reading, vocabulary: Vocabulary) -> str:
    """Why a reading cannot be used; empty where it can."""
    disputed = vocabulary.disputed
    names = dict.fromkeys(name for one in reading.formulas for name in f.predicates(one))
    used = [f"{name}: {disputed[name]}" for name in names if name in disputed]
    return reading.problem or (f"an entry of the vocabulary is disputed ({used[0]})" if used else "")


def compare(one: Reading, other: Reading, vocabulary: Vocabulary) -> Agreement:
    """Whether two usable readings allow the same runs, and leave the guard of each tool the same."""
    found = _compared(one, other, vocabulary)
    if found.outcome != "agreed":
        return found
    try:
        tools = mentioned([one, other], vocabulary)
        tool = next((tool for tool in tools if _kept_apart(one, other, tool, vocabulary)), "")
    except AutomatonError as error:
        return Agreement("differ", reason=f"whether the readings agree is too large to decide: {error}")
    return (
        Agreement("differ", reason=f"they say the same of whole steps, and not of a call of {tool}") if tool else found
    )


def _kept_apart(one: Reading, other: Reading, tool: str, vocabulary: Vocabulary) -> bool:
    """Whether the guard of a tool keeps of one reading what it does not of the other: what is left at its call."""
    left, right = (_left(reading, tool, vocabulary) for reading in (one, other))
    if left == right or left is None or right is None:  # of objects what is left depends on the call
        return False
    return not _same([f.Always(left)], [f.Always(right)], vocabulary)


def _compared(one: Reading, other: Reading, vocabulary: Vocabulary) -> Agreement:
    mine, others = (guarding(reading.formulas, vocabulary) for reading in (one, other))
    if not mine and not others:
        return Agreement("agreed", by=(0, 1), readings=2)
    try:
        idle = [one for part in (mine, others) for one in part if _idle(part, vocabulary)] if mine and others else []
        if idle:
            return Agreement("differ", reason=f"a reading can never be broken: {render(idle[0])}")
        if all(any(_same([one], [two], vocabulary) for two in others) for one in mine) and all(
            any(_same([one], [two], vocabulary) for two in mine) for one in others
        ):
            return Agreement("agreed", mine, (0, 1), 2)  # formula by formula, which is quick
        found = _same(mine, others, vocabulary)
    except AutomatonError as error:
        return Agreement("differ", reason=f"whether the readings agree is too large to decide: {error}")
    if found:
        return Agreement("agreed", mine, (0, 1), 2)
    if found.witness is None:
        return Agreement("differ", reason="they count otherwise, and may part where one step has several calls")
    return Agreement("differ", apart=found.witness, reason="the readings part on a run")


def plainer(one: Reading, other: Reading, vocabulary: Vocabulary) -> Word | None:
    """A shortest run on which two readings part with at most one act at a step; None where there is none."""
    mine, others = (guarding(reading.formulas, vocabulary) for reading in (one, other))
    left, right = (f.conjunction(copies(f.conjunction(formulas))) for formulas in (mine, others))
    known = {p.name: p for p in vocabulary.predicates}
    acts = dict.fromkeys(n for n in (*f.atoms(left), *f.atoms(right)) if known[f.Atom(n).predicate].kind == "action")
    pairs = tuple(f.Not(f.And(f.Atom(a), f.Atom(b))) for a, b in combinations(acts, 2))
    given = f.And(_given(vocabulary, left, right), f.Always(f.conjunction(pairs)))
    try:
        return decide.equivalent(left, right, given).witness
    except AutomatonError:
        return None


@dataclass(frozen=True, slots=True)
class Partly:
    """What readings that differ agree on, tool by tool: `formulas` of tools of which most say the same, and the `tools`
    of which they do not."""

    formulas: tuple[Formula, ...]
    tools: tuple[str, ...]


def by_tool(readings: Sequence[Reading], vocabulary: Vocabulary) -> Partly:
    """What is agreed of each tool by most of the readings, all of which have to be usable, where they differ as wholes.

    What is left of a reading at a call of one tool (`residual.bearing`) is compared.  It can be put in force for that
    tool alone where an act of the vocabulary is done by just this tool, and nothing is said of objects.
    """
    entries = [e.predicate for e in vocabulary.entries if e.predicate.kind == "action" and e.usable]
    acts = {p.tools: p.name for p in sorted(entries, key=lambda p: not p.objects)}  # one without objects where there is
    formulas: list[Formula] = []
    held: list[str] = []
    for tool in mentioned(readings, vocabulary):
        left = [_left(reading, tool, vocabulary) for reading in readings]
        agreed = next((one for one in left if one is not None and _votes(one, left, vocabulary) * 2 > len(left)), None)
        if agreed == f.TRUE:
            continue
        if agreed is None or (tool,) not in acts or f.variables(agreed) or _idle((f.Always(agreed),), vocabulary):
            held.append(tool)
        else:
            formulas.append(f.Always(f.Implies(f.Atom(acts[tool,]), agreed)))
    return Partly(tuple(formulas), tuple(held))


def _left(reading: Reading, tool: str, vocabulary: Vocabulary) -> Formula | None:
    """What a reading asks of a call of a tool, `true` for nothing; None where it is about objects."""
    known, found = {p.name: p for p in vocabulary.predicates}, []
    for one in reading.formulas:
        ruleset = RuleSet(tuple(known[name] for name in f.predicates(one)), (Rule("r", "", one, "oblige"),))
        part = residual.bearing(ruleset.rules[0], tool, ruleset)
        if part is not None and (f.variables(one) or any(f.Atom(name).objects for name in f.atoms(part))):
            return None
        found += [part] if part is not None else []
    return f.conjunction(tuple(found))


def _votes(one: Formula, left: Sequence[Formula | None], vocabulary: Vocabulary) -> int:
    try:
        return sum(other is not None and bool(_same([f.Always(one)], [f.Always(other)], vocabulary)) for other in left)
    except AutomatonError:
        return 1


def _same(one: Sequence[Formula], other: Sequence[Formula], vocabulary: Vocabulary) -> decide.Answer:
    """Whether two lists of formulas, each all together, hold on the same runs of the vocabulary."""
    left, right = f.conjunction(tuple(one)), f.conjunction(tuple(other))
    given = _given(vocabulary, left, right)
    return decide.counting_calls(decide.equivalent, f.conjunction(copies(left)), f.conjunction(copies(right)), given)


def _idle(formulas: Sequence[Formula], vocabulary: Vocabulary) -> bool:
    """Whether formulas can never be broken, all together."""
    whole = f.conjunction(tuple(formulas))
    return bool(decide.valid(f.conjunction(copies(whole)), _given(vocabulary, whole)))


def _given(vocabulary: Vocabulary, *formulas: Formula) -> Formula:
    names = {name for one in formulas for name in f.predicates(one)}
    firm = [e.predicate for e in vocabulary.entries if e.name in names and not e.disputed]  # what all bindings say
    return background(firm, vocabulary.toolbox, *formulas)


def guarding(formulas: Sequence[Formula], vocabulary: Vocabulary) -> tuple[Formula, ...]:
    """The formulas that a call of some tool can break: what words alone do, or what must follow, guards nothing."""
    return tuple(one for one in formulas if residual.guards(one, vocabulary.predicates, vocabulary.toolbox))


def background(used: Sequence[Predicate], toolbox: Toolbox, *formulas: Formula) -> Formula:
    """What holds of the predicates on every run because of their bindings."""
    rows = physical.rules(used, toolbox)
    parts = [physical.relevant(rows, *formulas), *physical.enumerated(used, toolbox)]
    if any(map(f.variables, formulas)):
        parts += [rule.formula for rule in physical.about(used, [str(k + 1) for k in range(OBJECTS)])]
    return f.conjunction(tuple(parts))


def copies(formula: Formula) -> tuple[Formula, ...]:
    """The formula about each choice of a few objects; itself where it is about none."""
    return tuple(
        copy
        for part in decide.conjuncts(formula)
        for copy in (objects.instances(part, OBJECTS) if f.variables(part) else (part,))
    )


def assumed(readings: Sequence[Sequence[Formula]], name: str) -> tuple[tuple[Formula, ...], Predicate]:
    """Rules that deny what all readings deny and allow what all allow; on the rest they are unknown, for their
    predicate `name`, which says which reading is meant, is never known.

    What each reading asks of a step, in past form, is joined to (all of them) or (name and any of them): with name
    unknown this is true, false or unknown just so.  A reading without formulas asks for nothing.  Readings of other
    forms have no such joint, and no rule.
    """
    meant = Predicate(name, "state", "the first of the readings is meant", test=binding.UNKNOWN)
    asked = [[residual.each_step(one) for one in reading] for reading in readings]
    if any(None in steps for steps in asked):
        return (), meant
    each = tuple(f.conjunction(tuple(steps)) for steps in asked)
    if f.TRUE in each:
        rest = tuple(one for one in each if one != f.TRUE)
        whole = f.Always(f.Or(f.conjunction(rest), f.Atom(name))) if rest else f.TRUE
    else:
        whole = f.Always(f.Or(f.conjunction(each), f.And(f.Atom(name), f.disjunction(each))))
    return () if whole == f.TRUE or objects.unsafe(whole) else (whole,), meant


def mentioned(readings: Sequence[Reading], vocabulary: Vocabulary) -> Mapping[str, None]:
    """The tools that any of the readings is about: those that its acts are done by, or whose calls its facts read."""
    known = {p.name: p for p in vocabulary.predicates}
    return dict.fromkeys(tool for one in readings for name in one.acts if name in known for tool in known[name].tools)
