"""How a tool guard judges a call at run time: parameter values from the step, answers from the code.

The proof covers the guard's code alone.  What surrounds it is here and is part of the trusted base: filling the
parameters, refusing values of another type (a bool is no int) or outside their enumeration, trying out unknown
ones, and denying wherever there is no accepted guard or it breaks.
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

from wb.domain import judging, validation
from wb.domain.session import Session
from wb.domain.tools import DeclaredValues, Toolbox, enumerations
from wb.domain.trace import Call, Grade, Quoted, Step, Trace, Verdict
from wb.domain.validation import Validator
from wb.guards import loops, parts, sandbox
from wb.guards.contract import Contract, Parameter, function
from wb.guards.parts import Part
from wb.guards.sandbox import Program, TooMany, UnsafeSource
from wb.logic import cel, evaluation, facts
from wb.logic.formula import PAST, TIME, Atom, Formula, Since, atoms, bodies, instance, subformulas
from wb.logic.objects import Slices, Told, identity
from wb.logic.semantics import LOST, Past, clock
from wb.logic.syntax import render
from wb.rules.rule import RuleSet
from wb.rules.truths import (
    AmongReader,
    Reader,
    Sides,
    among,
    asked,
    counting,
    declared,
    heeded,
    one_by_one,
    reader,
    sides,
    source,
    told_by,
    unordered,
)

POINTS = 4096  # ways to fill in what is not known that are tried one by one
FREE = "no rule concerns it"
DISPUTED = "its author disputes what is asked:"  # how the reason of a guard begins whose author disagrees
UNSETTLED = "a person has to decide:"  # how the reason of a guard begins against which something was found
WORTH = ("proved", "bounded", "tested")
KINDS = (*(f"{grade}{part}" for grade in WORTH for part in ("", " in part")), "error", "no rule", "free")
TOLD_BY, NOW = "state.now", evaluation.typed(facts.NOW, int)  # what tells the time of a step
BACKWARDS = "time has run backwards, and from then on windows tell of the present step alone"
ACCEPTED: dict[str, frozenset[Grade]] = {
    "veriguard": frozenset({"proved"}),
    "toolguard": frozenset({"tested", "bounded", "proved"}),
}
PYTHON = {"int": int, "bool": bool, "str": str}
Own = Callable[[object, object], sandbox.Argument | None]  # of the state and the arguments of the call that is judged
Other = Callable[[Step, Call], sandbox.Argument | None]
Named = tuple[tuple[str, evaluation.Read], ...]  # what a formula calls an object, and what tells it at the judged call


@dataclass(frozen=True, slots=True)
class Guarded:
    """One tool's guard: the source that was judged, how well (`grade`), why not better, its policy items, each with a
    grade of its own, and what a second reading of its sentences says (`reading.second`), empty where there is none."""

    contract: Contract
    source: str
    grade: Grade
    reason: str = ""
    parts: tuple[Part, ...] = ()
    second: str = ""


def claimed(entry: Guarded, open: int) -> str:
    """What may be said of a tool's guard, given how many open sentences bear on the tool: `claim`."""
    return claim(entry.grade, len(entry.contract.items), open, entry.parts, entry.reason.startswith(UNSETTLED))


def claim(grade: str, rules: int, open: int, items: Iterable[Part] = (), unsettled: bool = False) -> str:
    """What may be said of a tool's guard of that grade, given how many rules and open sentences bear on the tool, its
    policy items where they are known, and whether something was found that a person has to decide.

    *proved* (*bounded*, *tested*) only if it has rules and no open sentence bears on it; *free* where neither does;
    *no rule* where only open sentences do, or what has to be decided.  A guard that is neither is what its grade says,
    such as *error*.
    """
    if grade not in WORTH:
        return grade
    if not rules:
        return "no rule" if open or unsettled else "free"
    if not open:
        return grade
    of_each = f": {said}" if (said := parts.said(items)) else ""
    return f"{grade} for {rules} rule{'s' * (rules != 1)}, {open} sentence{'s' * (open != 1)} open{of_each}"


def counted(claims: Iterable[str]) -> dict[str, int]:
    """How many tools each kind of claim is made of; *in part* where sentences are open beside the rules."""
    kinds = Counter(f"{said.partition(' ')[0]} in part" if " for " in said else said for said in claims)
    return {kind: kinds[kind] for kind in dict.fromkeys((*KINDS, *kinds))}


@dataclass(frozen=True)
class CallGuard:
    """A guard over all tools: each call is judged by its tool's code.

    Only sources of an accepted grade are run; a tool without one is denied, and so is a name that is not in the
    toolbox.  Without a toolbox the guarded tools are those that are known, and no enumeration is.  `open` holds the
    open sentences that bear on each tool: with one, what would be allowed is undecided.
    """

    name: str
    ruleset: RuleSet
    guarded: tuple[Guarded, ...]
    accepted: frozenset[Grade]
    toolbox: Toolbox | None = None
    open: Mapping[str, Sequence[Quoted]] = field(default_factory=dict)
    programs: Mapping[str, Program] = field(init=False, repr=False)
    loaded: Mapping[str, Loaded] = field(init=False, repr=False, compare=False)
    tools: frozenset[str] = field(init=False, repr=False)
    validator: Validator = field(init=False, repr=False, compare=False)
    _reads: Mapping[str, frozenset[str]] = field(init=False, repr=False, compare=False)
    _minded: frozenset[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        box = self.toolbox
        known = {tool.name for tool in box.tools} if box is not None else {g.contract.tool for g in self.guarded}
        values = enumerations(box) if box is not None else {}
        loaded = {}
        for entry in reversed(self.guarded):  # of several guards for a tool the first counts
            reason = _refused(entry, self.accepted)
            waiting = len(self.open.get(entry.contract.tool, ()))
            loaded[entry.contract.tool] = Loaded(entry, reason, self.ruleset, values, waiting)
        parameters = {tool: one.entry.contract.parameters for tool, one in loaded.items()}
        back = (p for listed in parameters.values() for p in listed if p.past is not None)
        always = frozenset(name for p in back for name in _read(p, self.ruleset))
        reads = {tool: always.union(fields(one.entry.contract, self.ruleset)) for tool, one in loaded.items()}
        programs = {tool: one.program for tool, one in loaded.items() if one.program}
        made = {"loaded": loaded, "programs": programs, "tools": frozenset(known), "validator": Validator(box)}
        made |= {"_reads": {**reads, "": always}, "_minded": heeded(self.ruleset.predicates)}
        vars(self).update(made)  # as `object.__setattr__` would

    def decide(self, trace: Trace) -> Verdict:
        """The verdict on the last step: deny if any call is denied, allow if all are allowed."""
        return judging.decide(self, trace)

    def session(self, **options: Any) -> Session:
        """A conversation under this guard; options as of `Session`."""
        return Session(self, **options)

    def watch(self) -> CallWatch:
        """A watch on a conversation that has not begun."""
        return CallWatch(self)

    def evidence(self, tool: str) -> str:
        """The digest of the source that judges the tool; empty where none does."""
        one = self.loaded.get(tool)
        return one.evidence if one is not None else ""

    def trusted(self, tool: str) -> tuple[str, ...]:
        """What the tool's contract takes on trust: truths that are told, or that an evaluator computes, of the call and
        of the steps before where it looks back."""
        one = self.loaded.get(tool)
        return one.trusted if one is not None else ()

    def reads(self, tool: str, before: Collection[str] = ()) -> frozenset[str]:
        """The fields of the state that its rules read at a call of the tool, or remember of one."""
        return self._reads.get(tool, self._reads[""])

    def minds(self, tool: str) -> bool:
        """Whether its rules speak of calls of the tool."""
        return self._minded is None or tool in self._minded

    def ordered(self, tool: str, other: str) -> bool:
        """Whether what the tool's guard reads of earlier steps speaks of calls of the other."""
        mine = self.loaded[tool].entry.contract.parameters if tool in self.loaded else ()
        spoken = [a for p in mine if p.past is not None for a in atoms(p.past)]
        tools = heeded(self.ruleset.predicate(Atom(one).predicate) for one in spoken)
        return tools is None or other in tools

    @property
    def unguarded(self) -> frozenset[str]:
        """The tools every call of which is denied, because there is no code for them of an accepted grade."""
        return self.tools - self.programs.keys()

    def claims(self) -> dict[str, str]:
        """What may be said of each tool's guard: `claim`."""
        return {tool: one.grade for tool, one in self.loaded.items()}


def accepting(
    name: Literal["veriguard", "toolguard"],
    ruleset: RuleSet,
    guards: Sequence[Guarded],
    toolbox: Toolbox | None = None,
    open: Mapping[str, Sequence[Quoted]] | None = None,
) -> CallGuard:
    """The guard of that name: *veriguard* runs proved code alone, *toolguard* also bounded and tested code, and both
    deny the rest; `toolbox` and `open` as in `CallGuard`."""
    return CallGuard(name, ruleset, tuple(guards), ACCEPTED[name], toolbox, open or {})


class CallWatch:
    """What a guard remembers of one conversation: the truths of the past subformulas of its contracts."""

    def __init__(self, guard: CallGuard) -> None:
        self._guard = guard
        self._readers: dict[str, Reader] = {}
        self._pasts: dict[tuple[Formula, ...], Past] = {}  # one for all tools that look back in the same way
        self._by_tool: dict[str, Past] = {}
        self._about: dict[str, Reader | AmongReader] = {}
        self._slices: dict[Formula, Slices] = {}
        self._sliced: dict[str, list[tuple[Slices, Named]]] = {}
        self._counted: dict[Formula, frozenset[str]] = {}
        self._ordered: dict[int, Any] = {}  # what has read a step's calls one after the other, where that differs
        self._ahead: dict[int, tuple[tuple[Step, ...], Any]] = {}
        self._sides = frozenset([names for one in guard.loaded.values() for names in one.sides])
        for tool, one in guard.loaded.items():
            if one.past is not None:
                self._readers |= one.facts
                self._by_tool[tool] = self._pasts.setdefault(one.past.formulas, one.past.fresh())
            if one.slices:
                self._about |= one.about
                self._counted |= one.counted
                self._sliced[tool] = [(self._followed(slices), named) for slices, named in one.slices]

    def _followed(self, slices: Slices) -> Slices:
        return self._slices.setdefault(slices.formula, slices.fresh())

    def fork(self) -> CallWatch:
        """Another watch that remembers the same, to be followed further apart from this one."""
        other = CallWatch.__new__(CallWatch)
        other.__dict__.update(self.__dict__)
        other._ahead = {}
        other._pasts = {formulas: past.fork() for formulas, past in self._pasts.items()}
        other._by_tool = {tool: other._pasts[past.formulas] for tool, past in self._by_tool.items()}
        other._slices = {formula: slices.fork() for formula, slices in self._slices.items()}
        pairs = [(one, other._pasts[key]) for key, one in self._pasts.items()]
        pairs += [(one, other._slices[key]) for key, one in self._slices.items()]
        other._ordered = {id(new): self._ordered[id(one)].fork() for one, new in pairs if id(one) in self._ordered}
        other._sliced = {
            tool: [(other._slices[slices.formula], named) for slices, named in found]
            for tool, found in self._sliced.items()
        }
        return other

    def judge(self, step: Step) -> Verdict:
        """The verdict on the step's last call, given those of the step before it and the steps remembered."""
        call, guard = step.calls[-1], self._guard
        tool = call.tool
        if tool not in guard.tools:
            return Verdict("deny", validation.stranger(tool, guard.tools))
        one = guard.loaded.get(tool)
        if one is None:
            return Verdict("deny", f"{call.tool}: there is no guard for this tool")
        if one.program is None:
            return Verdict("deny", f"{tool}: {one.reason}", grade=one.grade)
        known = self._read(one, step)
        verdict = one.judge(known)
        if step.each is not None or (verdict.decision == "allow" and (len(step.calls) > 1 or self._ordered)):
            verdict = self._in_order(one, known, step, verdict)
        if verdict.decision == "undecided" and self._backwards(one, step):
            verdict = replace(verdict, reason=f"{verdict.reason}; {TOLD_BY}: {BACKWARDS}")
        return judging.held(verdict, tool, guard.open[tool]) if tool in guard.open else verdict

    def inputs(self, step: Step) -> dict[str, sandbox.Argument | None]:
        """What the guard's function is given at the step's last call, by parameter; None for what is not known, and
        nothing where no guard of the call runs."""
        one = self._guard.loaded.get(step.calls[-1].tool)
        if one is None or one.program is None:
            return {}
        return dict(zip(one.names, one._ordered(self._read(one, step)), strict=True))

    def _read(self, one: Loaded, step: Step) -> list[sandbox.Argument | None]:
        """What a guard is given at the step's last call: of `own`, of `others`, of `past` and of `slices`, in this
        order."""
        call, tool = step.calls[-1], one.entry.contract.tool
        state, given = step.state, call.arguments
        known = [read(state, given) for read in one.own]
        known += [read(step, call) for read in one.others]
        if one.past is not None:
            known += self._by_tool[tool].peek({name: read(step, call) for name, read in one.facts.items()})
        if one.slices:
            told = one.tell(step, call)
            for slices, named in self._sliced[tool]:
                *parts, last = one_by_one(step, one.counted[slices.formula])
                slices = slices.fork() if parts else slices
                for part in parts:
                    slices.step(one.tell(part, None))
                now = one.tell(last, call) if parts else told
                known.append(slices.peek(now, _objects(named, step)))
        return known

    def _in_order(self, one: Loaded, known: Sequence[Any], step: Step, together: Verdict) -> Verdict:
        """The verdict on a call where what its step's calls say of the past together and one after the other differs:
        that is unknown."""
        tool, last = one.entry.contract.tool, replace(step, calls=step.calls[-1:])
        (call,), found = last.calls, []
        if one.past is not None:
            past = self._after(self._by_tool[tool], step, lambda part: _told(one.facts, part))
            found += past.peek({name: read(last, call) for name, read in one.facts.items()})
        of_slices = known[len(known) - len(one.slices) :]
        for (slices, named), here in zip(self._sliced.get(tool, ()), of_slices, strict=True):
            if not any(isinstance(node, PAST) for node in subformulas(slices.formula)):
                found.append(here)  # it asks of this step alone
                continue
            slices = self._after(slices, step, lambda part: one.tell(part, None))
            found.append(slices.peek(one.tell(last, call), _objects(named, step)))
        here, back = known[: len(known) - len(found)], known[len(known) - len(found) :]
        if list(back) == found:
            return together
        agreed = [said if said is other else None for said, other in zip(back, found, strict=True)]
        verdict = one.judge([*here, *agreed])
        if verdict.decision != "undecided":
            return verdict
        why = "the calls of this step do not say it one after the other as together"
        return replace(verdict, reason=f"{verdict.reason}; {why}")

    def _after[Followed: (Past, Slices)](self, followed: Followed, step: Step, tell: Callable[[Step], Any]) -> Followed:
        """What follows a formula, having read the step's earlier calls one after the other."""
        base, parts = self._ordered.get(id(followed), followed), step.in_order[:-1]
        if not parts:
            return base
        before, ahead = self._ahead.get(id(followed), ((), None))
        if ahead is None or not _begins(parts, before):
            before, ahead = (), base.fork()
        for part in parts[len(before) :]:
            ahead.step(tell(part))
        self._ahead[id(followed)] = parts, ahead
        return ahead

    def _backwards(self, one: Loaded, step: Step) -> bool:
        """Whether time has run backwards for a window of the guard, up to this step."""
        tool = one.entry.contract.tool
        followed = [self._by_tool[tool]] if one.past is not None else []
        followed += [slices for slices, _ in self._sliced.get(tool, ())]
        return any(each.timed and clock(time(step, None), each.last)[0] == LOST for each in followed)

    def remember(self, step: Step) -> None:
        """Take in a step that is over: its calls were done."""
        self._ahead, parts = {}, step.in_order
        if parts != (step,):
            self._since, self._wait = 0, 1  # steps since there is `_ordered`, and after how many it is compared again
        if not self._ordered and parts != (step,):
            self._ordered = {id(one): one.fork() for one in (*self._pasts.values(), *self._slices.values())}
        for part in parts if self._ordered else ():
            told, about = _told(self._readers, part), self._tell(part)
            for past in self._pasts.values():
                self._ordered[id(past)].step(told)
            for slices in self._slices.values():
                self._ordered[id(slices)].step(about)
        told, about = _told(self._readers, step), self._tell(step)
        for past in self._pasts.values():
            past.step(told)
        for formula, slices in self._slices.items():
            for part in one_by_one(step, self._counted[formula]):
                slices.step(about if part is step else self._tell(part))
        if self._ordered:
            self._join()

    def _join(self) -> None:
        """Forget what has read the calls one after the other once it remembers the same; looked at ever more rarely, so
        that it costs a step the same however much is remembered."""
        self._since += 1
        if self._since < self._wait:
            return
        if all(one.alike(self._ordered[id(one)]) for one in (*self._pasts.values(), *self._slices.values())):
            self._ordered = {}
        self._wait *= 2

    def _tell(self, step: Step) -> Told:
        told = {name: read(step, None) for name, read in self._about.items()}
        return unordered(step, told, self._sides, self._about)


class Loaded:
    """A tool's guard made ready: what fills its parameters, its code, and each rule's condition, all compiled once.

    `program` is None where the guard may not run, with the `reason`.
    """

    def __init__(self, entry: Guarded, reason: str, ruleset: RuleSet, values: DeclaredValues, waiting: int = 0) -> None:
        self.entry, self.reason, contract = entry, reason, entry.contract
        self.program: Program | None = None
        self.grade = claimed(entry, waiting)
        self.evidence = digest(entry.source)
        before = {atom.partition("(")[0] for p in contract.parameters if p.past is not None for atom in atoms(p.past)}
        looked = [p.name for p in ruleset.predicates if p.kind == "state" and p.name in before]
        self.trusted = tuple(dict.fromkeys([*(said for one in contract.trusted for said in one.trusts), *looked]))
        quotes = {rule.id: rule.quote or rule.text for rule in ruleset.rules}
        self.quotes = {item.rule: quotes.get(item.rule) or item.text or item.rule for item in contract.items}
        self.conditions: dict[str, Program] = {}  # by rule
        self.whole: Callable[..., tuple] = dict  # all of them at once
        self.verdicts: dict[object, Verdict] = {}  # those given where all was known, by what the code said
        self.own: tuple[Own, ...] = ()  # what reads the state and the call that is judged
        self.others: tuple[Other, ...] = ()  # what reads other calls of the step
        self.facts: dict[str, Reader] = {}  # what its past subformulas are over
        self.about: dict[str, Reader | AmongReader] = {}  # and those that speak of objects
        self.past: Past | None = None
        self.slices: tuple[tuple[Slices, Named], ...] = ()  # its formulas about objects, and what names these
        self.counted: dict[Formula, frozenset[str]] = {}  # the tools whose calls of a step each counts one by one
        self.sides: tuple[Sides, ...] = ()  # what has no order within a step
        self.said = {p.name: _fact(p, ruleset) for p in contract.parameters}
        self.loose = frozenset(p.name for p in contract.parameters if p.loose)
        if reason:
            return
        try:
            self.program, self.conditions, self.whole = _load(entry)
        except UnsafeSource as error:
            self.reason, self.grade = f"its guard cannot be run: {error}", "error"
            return
        here = [p for p in contract.parameters if p.past is None]
        back = [p for p in contract.parameters if p.past is not None]
        plain, about = ([p for p in back if _followed_apart(p.past) is of] for of in (False, True))
        own = {p.name: read for p in here if (read := _own(p, contract.tool, ruleset, values)) is not None}
        own |= {p.name: _looped(p, own[p.name], contract.tool, values) for p in contract.looped}
        others = {p.name: _other(p, ruleset, values) for p in here if p.name not in own}
        names = [*own, *others, *[p.name for p in (*plain, *about)]]
        order = [p.name for p in contract.parameters]
        self.names, at = tuple(order), tuple(names.index(name) for name in order)
        self._ordered = operator.itemgetter(*at) if len(at) > 1 else tuple
        self.own, self.others = tuple(own.values()), tuple(others.values())
        if plain:
            self.past = Past(*[p.past for p in plain])
            self.facts = {name: reader(ruleset.predicate(name), values) for name in self.past.names}
            self.facts |= {TIME: time} if self.past.timed else {}
        self.slices = tuple([_sliced(p.past) for p in about])
        known = {p.name: p for p in ruleset.predicates}
        self.counted = {one.formula: counting(one.formula, known) for one, _ in self.slices}
        self.sides = tuple(filter(None, [sides(one.formula, known) for one, _ in self.slices]))
        for name in (name for one, _ in self.slices for name in one.predicates):
            predicate = ruleset.predicate(name)
            self.about[name] = among(predicate, values) if predicate.objects else reader(predicate, values)
        self.about |= {TIME: time} if any(one.timed for one, _ in self.slices) else {}

    def tell(self, step: Step, call: Call | None) -> Told:
        """What a step tells of the predicates of its formulas about objects, at a call."""
        told = {name: read(step, call) for name, read in self.about.items()}
        return unordered(step, told, self.sides, self.about)

    def judge(self, read: Sequence[sandbox.Argument | None]) -> Verdict:
        """The verdict that the code gives: *deny* only if it denies whatever the unknown values are.

        What was read are the values of `own`, of `others`, of `past` and of `slices`, in this order.
        """
        known = self._ordered(read)
        try:
            return self._unsure(dict(zip(self.names, known, strict=True))) if None in known else self._sure(known)
        except (TypeError, NameError, ValueError) as error:
            tool = self.entry.contract.tool
            return Verdict("deny", f"{tool}: its guard broke: {type(error).__name__}: {error}", grade="error")

    def _sure(self, known: Sequence[sandbox.Argument]) -> Verdict:
        """The verdict where every value is known; equal ones are made once."""
        allowed, said = _answer(self.program.run(*known))
        if allowed:
            key: tuple = (True, said)
        else:
            conditions = self.whole(*known)[0]
            key = (said, *conditions)
        verdict = self.verdicts.get(key)
        if verdict is None:
            tool = self.entry.contract.tool
            if allowed:
                verdict = Verdict("allow", f"{tool}: {said if self.conditions else FREE}", (), self.grade)
            else:
                broken = [rule for rule, kept in zip(self.conditions, conditions, strict=True) if not kept]
                verdict = self._denied(broken, (), (said,))
            if len(self.verdicts) < POINTS:
                self.verdicts[key] = verdict
        return verdict

    def _unsure(self, known: Mapping[str, sandbox.Argument | None]) -> Verdict:
        """The verdict where some values are unknown: every way to fill them in that the code can tell is tried."""
        tool, grade, program = self.entry.contract.tool, self.grade, self.program
        unknown = {n: program.points[n] for n, v in known.items() if v is None}
        told = {n: v for n, v in known.items() if v is not None}
        answers: dict[bool, str] = {}
        read: dict[str, None] = {}
        try:
            for chosen, outcome in sandbox.completions(program.run, told, unknown):
                allowed, reason = _answer(outcome)
                answers.setdefault(allowed, reason)
                read |= dict.fromkeys(chosen)
        except TooMany as error:
            if len(answers) < 2:
                return Verdict("undecided", f"{tool}: {error}", grade=grade, missing=self._named(unknown))
            read |= dict.fromkeys(unknown)
        sure = len(answers) == 1 and read.keys() <= program.exact - self.loose
        if True not in answers:
            outcomes = {rule: _outcomes(one, told, known, self.loose) for rule, one in self.conditions.items()}
            broken = [rule for rule, found in outcomes.items() if True not in found]
            if sure or broken:
                possible = [rule for rule, found in outcomes.items() if len(found) == 2]
                return self._denied(broken, possible, answers.values())
        elif sure:
            return Verdict("allow", f"{tool}: {answers[True]}", (), grade)
        ignored = {n: points[0] for n, points in unknown.items() if n not in read}
        facts = self._named(_deciding(program, told | ignored, {n: unknown[n] for n in read}, self.loose))
        why = f"it depends on what is not known: {', '.join(facts)}"
        return Verdict("undecided", f"{tool}: {why}", grade=grade, missing=facts)

    def _denied(self, broken: Sequence[str], possible: Sequence[str], said: Iterable[str]) -> Verdict:
        """A denial with every rule that the call breaks; `possible` are those that it may break."""
        tool, quotes = self.entry.contract.tool, tuple([self.quotes[rule] for rule in broken])
        why = "; ".join([f"“{quote}” ({rule})" for rule, quote in zip(broken, quotes, strict=True)])
        if not why and possible:
            named = "; ".join([f"“{self.quotes[rule]}” ({rule})" for rule in possible])
            why = f"whatever is not known, one of {named}"
        why = why or f"its guard says {'; '.join(said)}"
        return Verdict("deny", f"{tool}: {why}", tuple(broken), self.grade, quotes)

    def _named(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.said[name] for name in names))


def _begins(parts: Sequence[Step], before: Sequence[Step]) -> bool:
    """Whether steps begin with those, of the same calls in the same states."""
    return len(before) <= len(parts) and all(
        a.state is b.state and len(a.calls) == len(b.calls) and all(map(operator.is_, a.calls, b.calls))
        for a, b in zip(before, parts, strict=False)
    )


def _told(readers: Mapping[str, Reader], step: Step) -> dict[str, bool | None]:
    """What a step tells that is over."""
    return {name: read(step, None) for name, read in readers.items()}


def _objects(named: Named, step: Step) -> dict[str, Any]:
    """What the judged call names, by what a formula calls it."""
    return {term: identity(read(step.state, step.calls[-1].arguments)) for term, read in named}


def condition(contract: Contract, expression: str) -> Program:
    """A condition of the contract as a program over the same parameters."""
    return sandbox.load(function(contract, expression))


def digest(source: str) -> str:
    """SHA-256 of a guard's source, in hex."""
    return hashlib.sha256(source.encode(errors="surrogatepass")).hexdigest()


def _load(entry: Guarded) -> tuple[Program, dict[str, Program], Callable[..., tuple]]:
    """The guard's program, each rule's condition, and all of these at once; `UnsafeSource` where one cannot be run."""
    program, contract = sandbox.load(entry.source), entry.contract
    if program.types != tuple((p.name, p.type) for p in contract.parameters):
        raise UnsafeSource("it has other parameters")
    by_text = {text: condition(contract, text) for text in contract.conditions}
    whole = condition(contract, f"({''.join(f'{item.condition}, ' for item in contract.items)})")
    return program, {item.rule: by_text[item.condition] for item in contract.items}, whole.run


def _refused(entry: Guarded, accepted: frozenset[Grade]) -> str:
    """Why a guard may not run; empty where it may be tried."""
    if entry.grade in accepted:
        return ""
    wanting = parts.failed(entry.parts, accepted)
    failed = [f"its item {one.name!r} is {one.grade}: “{' '.join(one.sentences)}”" for one in wanting]
    why = f"its guard is {entry.grade}, {' or '.join(sorted(accepted))} was required"
    return "; ".join((f"{why} ({entry.reason or 'no reason kept'})", *failed))


def _own(parameter: Parameter, tool: str, ruleset: RuleSet, values: DeclaredValues) -> Own | None:
    """What fills a parameter from the state and a call of the tool alone; None where it reads more than these."""
    if parameter.fact is not None:
        predicate = ruleset.predicate(parameter.fact)
        if predicate.kind == "action" or (predicate.tools and tool not in predicate.tools):
            return None
        test = facts.Path(("state", predicate.name)) if predicate.test is None else predicate.test
        return evaluation.compiled(test, declared(facts.paths(test), {} if predicate.test is None else values, tool))
    term, owner = _term(parameter)
    if owner not in ("state", tool):
        return None
    return evaluation.typed(term, PYTHON[parameter.type], declared(facts.paths(term), values, tool))


def _looped(parameter: Parameter, otherwise: Own, tool: str, values: DeclaredValues) -> Own:
    """What fills a parameter by its proved loops; `otherwise` where something that they read is not known."""
    read = [path for one in parameter.loop.inputs for path in facts.paths(one.node)]
    return loops.reading(parameter.loop, otherwise, declared(read, values, tool))


def _other(parameter: Parameter, ruleset: RuleSet, values: DeclaredValues) -> Other:
    """What fills a parameter that does not look back, as a function of the step and the call that is asked about."""
    if parameter.fact is not None:
        return reader(ruleset.predicate(parameter.fact), values)
    term, owner = _term(parameter)
    kind = PYTHON[parameter.type]
    return asked(facts.paths(term), (owner,), values, lambda given: evaluation.typed(term, kind, given))


def _term(parameter: Parameter) -> tuple[facts.Node, str]:
    """What a parameter with a field or a term measures, and whose it is: `state`, or the tool of the argument."""
    if parameter.term is not None:
        return parameter.term, parameter.tool or "state"
    owner, _, name = parameter.field.partition(".")
    path = facts.Path(("state" if owner == "state" else "call", name))
    return (facts.Size(path) if parameter.measure == "count" else path), owner


def fields(contract: Contract, ruleset: RuleSet) -> tuple[str, ...]:
    """The fields of the state that fill the parameters of a tool's guard, each once."""
    return tuple(dict.fromkeys(name for one in contract.parameters for name in _read(one, ruleset)))


def _read(parameter: Parameter, ruleset: RuleSet) -> tuple[str, ...]:
    """The fields of the state that fill a parameter."""
    if parameter.past is not None:
        told = [name for one in atoms(parameter.past) for name in told_by(ruleset.predicate(Atom(one).predicate))]
        return (*told, *[path.names[1] for path in facts.paths(facts.NOW)]) if parameter.timed else tuple(told)
    if parameter.fact is not None:
        return told_by(ruleset.predicate(parameter.fact))
    return tuple(path.names[1] for path in facts.paths(_term(parameter)[0]) if path.names[0] == "state")


def _followed_apart(formula: Formula) -> bool:
    """Whether a formula is about objects, or minds the order of a step's calls or how many they are, so that it is
    followed for itself."""
    minds = bodies(formula) or any(isinstance(node, Since) for node in subformulas(formula))
    return bool(minds) or any("(" in name for name in atoms(formula))


def _sliced(formula: Formula) -> tuple[Slices, Named]:
    """A formula about objects as it is followed, and what reads those that the judged call names.

    Formulas that differ only in what they call their objects are followed as one.
    """
    terms = dict.fromkeys(term for name in atoms(formula) for term in Atom(name).objects)
    called = {term: f"x{i}" for i, term in enumerate(terms, 1)}
    named = {name: facts.Path(tuple(term.split("."))) for term, name in called.items() if "." in term}
    read = tuple([(name, evaluation.reading(path)) for name, path in named.items()])
    return Slices(instance(formula, called)), read


def _fact(parameter: Parameter, ruleset: RuleSet) -> str:
    """What a person calls the parameter: its field, its predicate, or the formula that looks back."""
    if parameter.past is not None:
        return render(parameter.past) + (f" by {TOLD_BY}" if parameter.timed else "")
    if parameter.fact is not None:
        return source(ruleset.predicate(parameter.fact))
    if parameter.term is not None:
        return cel.render(parameter.term)
    return f"size({parameter.field})" if parameter.measure == "count" else parameter.field


def time(step: Step, call: Call | None) -> int | None:
    """The time of a step, in nanoseconds; None where its state does not tell it."""
    return NOW(step.state, call)


def _outcomes(
    program: Program, told: Mapping[str, sandbox.Argument], known: Mapping[str, object], loose: frozenset[str]
) -> set[bool]:
    """What a condition may be, over the unknown values; both where these cannot all be tried."""
    unknown = {n: program.points[n] for n, v in known.items() if v is None}
    try:
        found = tuple(sandbox.completions(program.run, told, unknown))
    except TooMany:
        return {False, True}
    tried = all(chosen.keys() <= program.exact - loose for chosen, _ in found)
    return {bool(outcome[0]) for _, outcome in found} if tried else {False, True}


def _deciding(
    program: Program,
    told: Mapping[str, sandbox.Argument],
    unknown: Mapping[str, tuple[sandbox.Argument, ...]],
    loose: frozenset[str],
) -> tuple[str, ...]:
    """The unknown parameters that matter: for some values of the others, another value of this one is another answer.

    All of them where there are more than `POINTS` ways to fill them in, or where the code computes with them.
    """
    names = tuple(unknown)
    if not unknown.keys() <= program.exact - loose or math.prod(map(len, unknown.values())) > POINTS:
        return names
    points = product(*unknown.values())
    answers = {point: bool(program.run(**told, **dict(zip(names, point, strict=True)))[0]) for point in points}
    found = []
    for i, name in enumerate(names):
        rows: dict[tuple, bool] = {}
        if any(rows.setdefault(point[:i] + point[i + 1 :], answer) != answer for point, answer in answers.items()):
            found.append(name)
    return tuple(found)


def _answer(outcome: object) -> sandbox.Answered:
    if type(outcome) is tuple and len(outcome) == 2 and type(outcome[0]) is bool and type(outcome[1]) is str:
        return outcome
    raise ValueError(f"a guard answers (bool, str); got {outcome!r}")
