"""The shield: ShieldAgent's online decision (Alg. 1) over circuits, weights and epsilon.

Action predicates are read off a step, their circuits retrieved, every rule followed through the
conversation by its LTLf automaton, and Eq. 5 decides.  A session runs the shielding operations
that assign predicates (`wb.domain.operations`): a predicate that neither the step nor they tell is
unknown, and where an unknown could change the decision it is undecided, which does not permit.

Two options are a user's own.  With a `channel` what is read of the state is soft evidence: the expectation of P1 - P0
decides, and a call may run though a fact was not read that no hard rule needs.  A `zone` has bounds proved of calls in
place of epsilon's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any

from wb.domain import judging, validation
from wb.domain.session import Session
from wb.domain.tools import Toolbox, enumerations
from wb.domain.trace import Call, Quoted, Step, Trace, Verdict
from wb.domain.validation import Validator
from wb.logic import decide
from wb.logic.formula import PAST, Eventually, Formula, conjunction, predicates, subformulas
from wb.logic.objects import Among, Slices, Told, all_of
from wb.logic.syntax import render
from wb.rules import rulefile
from wb.rules.residual import bearing, each_step
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.truths import (
    AmongReader,
    Reader,
    Sides,
    among,
    counting,
    heeded,
    one_by_one,
    reader,
    sides,
    source,
    told_by,
    unordered,
)
from wb.shield import circuit, conformal
from wb.shield.channel import Channel, covered
from wb.shield.circuit import HARD, Circuit, Factor, Inference, Monitor
from wb.shield.conformal import NOWHERE, Bound, Zone
from wb.shield.elimination import WIDTH

KEPT = 4096
LONGEST = 300  # characters of what a rule asks of a denied call
TRIED = 6  # unknown predicates of a circuit whose every completion is tried to tell which of them matter


@dataclass(frozen=True)
class Shield:
    """A guard that denies an action where P1 - P0 of its circuit stays below `epsilon` (-1..1; lower tolerates more).

    A name that is not in the toolbox is denied; without a toolbox the tools of the predicates are those that are
    known, and no enumeration is.  `open` holds the open sentences that bear on each tool: with one, what would be
    allowed is undecided.  `zone` (`calibrated`) denies in epsilon's place, and allows nothing that epsilon does not;
    `channel` says how likely what is read is so.
    """

    predicates: tuple[Predicate, ...]
    circuits: Mapping[str, Circuit]
    epsilon: float = 0.0
    machines: Mapping[str, Monitor | None] | None = None
    name: str = "shieldagent"
    toolbox: Toolbox | None = None
    open: Mapping[str, Sequence[Quoted]] = field(default_factory=dict)
    zone: Zone = NOWHERE
    channel: Channel | None = None
    readers: Mapping[str, Reader] = field(init=False, repr=False, compare=False)
    about: Mapping[str, Reader | AmongReader] = field(init=False, repr=False, compare=False)
    followed: Mapping[str, circuit.Followed] = field(init=False, repr=False, compare=False)
    counted: Mapping[str, frozenset[str]] = field(init=False, repr=False, compare=False)
    sides: Mapping[str, Sides] = field(init=False, repr=False, compare=False)
    rules: Mapping[str, Rule] = field(init=False, repr=False, compare=False)
    made: Mapping[str, tuple[Predicate, ...]] = field(init=False, repr=False, compare=False)
    does: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    places: Mapping[str, int] = field(init=False, repr=False, compare=False)
    compiled: Mapping[tuple[str, str], circuit.Compiled] = field(init=False, repr=False, compare=False)
    hard: frozenset[str] = field(init=False, repr=False, compare=False)
    strict: frozenset[str] = field(init=False, repr=False, compare=False)  # acts whose circuits have hard rules
    looks_back: bool = field(init=False, repr=False, compare=False)
    tools: frozenset[str] = field(init=False, repr=False)
    validator: Validator = field(init=False, repr=False, compare=False)
    _reads: Mapping[str, frozenset[str]] = field(init=False, repr=False, compare=False)
    _minded: frozenset[str] | None = field(init=False, repr=False, compare=False)
    _evidence: dict[str, str] = field(init=False, repr=False, compare=False, default_factory=dict)
    _seen: dict[tuple, Verdict | tuple] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not -1 <= self.epsilon <= 1:
            raise ValueError(f"epsilon bounds a difference of probabilities and must be in -1..1; got {self.epsilon}")
        rules = {rule.id: rule for c in self.circuits.values() for rule in (*c.rules, *c.laws)}
        box, spoken = self.toolbox, {tool for p in self.predicates if p.kind == "action" for tool in p.tools}
        followed = {i: circuit.Followed(r.formula) for i, r in rules.items() if circuit.objects(r.formula)}
        used = {name for i in followed for name in rules[i].predicates}
        listed = enumerations(box) if box is not None else {}
        values = {
            at: (None,) for at, of in listed.items() if None in of
        }  # other values were held against theirs before
        alone = {p.name: reader(p, values) for p in self.predicates}
        about = alone | {p.name: among(p, values) for p in self.predicates if p.objects}
        made = {t: tuple([p for p in self.predicates if _made(p, t)]) for t in spoken}
        known, places = {p.name: p for p in self.predicates}, {rule: i for i, rule in enumerate(rules)}
        machines = circuit.automata(rules.values()) if self.machines is None else self.machines
        vars(self).update(  # as `object.__setattr__` would
            machines=machines,
            places=places,
            rules=rules,
            validator=Validator(box),
            readers=alone,
            about={name: read for name, read in about.items() if name in used},
            followed=followed,
            made={tool: acts for tool, acts in made.items() if len(acts) > 1},
            does={t: tuple([a for a, c in self.circuits.items() if _concerns(c, known, t)]) for t in spoken},
            hard=frozenset(
                r.id for c in self.circuits.values() for r, w in zip(c.rules, c.weights, strict=True) if w == HARD
            ),
            strict=frozenset(action for action, c in self.circuits.items() if HARD in c.weights),
            looks_back=any(_beyond(rule.formula) for rule in rules.values()),
            counted={i: tools for i, r in rules.items() if (tools := counting(r.formula, known))},
            sides={i: names for i, r in rules.items() if (names := sides(r.formula, known))},
            tools=frozenset(t.name for t in box.tools) if box is not None else frozenset(spoken),
            _minded=heeded(self.predicates),
        )
        vars(self)["_reads"] = self._needed(known, spoken)
        vars(self)["compiled"] = {
            (action, tool): circuit.Compiled(c, machines, places, left if action in left else {})
            for tool, actions in self.does.items()
            for left in [_left(self.made.get(tool, ()), ())]
            for action in actions
            for c in [self.circuits[action]]
            if followed.keys().isdisjoint(rule.id for rule in (*c.rules, *c.laws))
        }

    def decide(self, trace: Trace) -> Verdict:
        """The verdict on the last step: deny if any call is denied, allow if all are allowed."""
        return judging.decide(self, trace)

    def _needed(self, known: Mapping[str, Predicate], spoken: Iterable[str]) -> dict[str, frozenset[str]]:
        """By tool, the fields that the rules of its circuits read, with what rules read that look beyond a step; under
        "" these alone."""

        def fields(names: Iterable[str]) -> frozenset[str]:
            return frozenset(told for name in names if name in known for told in told_by(known[name]))

        by_tool: dict[str, list[Rule]] = {tool: [] for tool in spoken}
        for action, one in self.circuits.items():
            for tool in known[action].tools if action in known else ():
                by_tool[tool] += (*one.rules, *one.laws)
        back = [r.predicates if i in self.followed else _beyond(r.formula) for i, r in self.rules.items()]
        always = fields({name for names in back for name in names})
        read = {tool: fields({name for rule in rules for name in rule.predicates}) for tool, rules in by_tool.items()}
        return {"": always, **{tool: always | names for tool, names in read.items()}}

    def reads(self, tool: str, before: Collection[str] = ()) -> frozenset[str]:
        """The fields of the state that its rules read when the tool is called after others in a step."""
        return frozenset().union(*[self._reads.get(name, self._reads[""]) for name in (tool, *before)])

    def minds(self, tool: str) -> bool:
        """Whether its rules speak of calls of the tool."""
        return self._minded is None or tool in self._minded

    def ordered(self, tool: str, other: str) -> bool:
        """Whether a rule of what the tool does looks back, and speaks of calls of the other."""
        circuits = [self.circuits[action] for action in self.does.get(tool, ())]
        back = {name for c in circuits for r in (*c.rules, *c.laws) for name in _beyond(r.formula)}
        tools = heeded(p for p in self.predicates if p.name in back)
        return tools is None or other in tools

    def session(self, **options: Any) -> Session:
        """A conversation under this shield; options as of `Session`."""
        return Session(self, **options)

    def watch(self) -> ShieldWatch:
        """A watch on a conversation that has not begun."""
        return ShieldWatch(self)

    def evidence(self, tool: str) -> str:
        """The digest of the rules, weights and bound that judge the tool; empty where no circuit does."""
        if tool not in self._evidence:
            if tool not in self.tools:
                return ""
            mine = [self.circuits[p.name] for p in self.predicates if tool in p.tools and p.name in self.circuits]
            said = [
                [c.action, _rendered(c.rules), [str(w) for w in c.weights], *map(_rendered, c.laws and [c.laws])]
                for c in mine
            ]
            text = json.dumps([self.epsilon, *said, *_options(self).values()])
            self._evidence[tool] = hashlib.sha256(text.encode()).hexdigest() if mine else ""
        return self._evidence[tool]

    def trusted(self, tool: str) -> tuple[str, ...]:
        """All that its circuits for the tool read of the state and of arguments, for nothing of a shield is proved."""
        rules = [
            r
            for p in self.predicates
            if tool in p.tools and p.name in self.circuits
            for r in (*self.circuits[p.name].rules, *self.circuits[p.name].laws)
        ]
        read = {name for rule in rules for name in rule.predicates}
        return tuple(dict.fromkeys(source(p) for p in self.predicates if p.kind == "state" and p.name in read))

    def required(self, tool: str, violated: Collection[str]) -> tuple[str, ...]:
        """What each of the broken rules asks of a call of the tool, in their order, each text once: what would comply.

        It is said in English from the formula and its tests.  Empty where no call of the tool can meet them all, as
        formulas tell it, or where a text is over `LONGEST`.
        """
        from wb.rules import understood  # at the first refusal, so that a shield is there sooner

        ruleset = RuleSet(self.predicates, tuple(self.rules.values()))
        parts = [bearing(self.rules[rule], tool, ruleset) for rule in violated]
        if None in parts or not decide.satisfiable(Eventually(conjunction(tuple(parts)))):
            return ()
        texts = [understood.asked(part, ruleset).removesuffix(f" in the call of {tool}") for part in parts]
        return tuple(dict.fromkeys(texts)) if all(len(text) <= LONGEST for text in texts) else ()

    def infer(self, trace: Trace, likely: Mapping[str, float] = circuit.NONE) -> dict[str, Inference]:
        """What each circuit says whose action the trace's last call takes, by action (Alg. 1, lines 1 to 15).

        `likely` is soft evidence of what is not known (`circuit.infer`); decisions are made without it.
        """
        return self._watched(trace).infer(self.validator.step(trace.steps[-1]), likely)

    def bounds(self, trace: Trace) -> tuple[float, float]:
        """The least and the largest P1 - P0 that the trace's last step may have: of its circuits the one that is
        lowest, 0 where none speaks of it (SPEC section 4, b)."""
        found = self.infer(trace).values()
        return min([one.low for one in found], default=0.0), min([one.high for one in found], default=0.0)

    def calibrated(self, traces: Iterable[Trace], *, alpha: float = 0.0, beta: float = 0.0, seed: int = 0) -> Shield:
        """The same with bounds that labelled calls prove, none of them learned from (`wb.shield.conformal`).

        Args:
            alpha: what part of safe calls may be denied, 0..1; 0: no bound.
            beta: what part of unsafe calls may be allowed, 0..1; 0: no bound.
            seed: draws one safe and one unsafe call of each run.

        Raises:
            ValueError: a rate is out of range.
            TooFew: there are too few calls of a kind for its bound.
        """
        known = {trace.id: trace for trace in traces}

        def bound(rate: float, kind: str) -> Bound | None:
            unsafe = kind == "unsafe"
            names = [name for name, one in known.items() if one.denied is unsafe] if rate else []
            scores = [self.bounds(known[name])[0 if unsafe else 1] for name in conformal.drawn(names, seed)]
            return Bound.of(scores, rate, kind, largest=unsafe) if rate else None

        return replace(self, zone=Zone(bound(alpha, "safe"), bound(beta, "unsafe")))

    def safe(self, inference: Inference) -> bool | None:
        """Eq. 5 of one circuit (`circuit.safe`), by its epsilon and its zone."""
        return circuit.safe(inference, self.epsilon, self.zone)

    def verdicts(self, trace: Trace) -> dict[str, bool | None]:
        """By id of every rule of the circuits in play: whether it is kept, None where not known (V_s of Eq. 1)."""
        watch, step = self._watched(trace), self.validator.step(trace.steps[-1])
        told = watch.read(step)
        found: dict[str, list[bool | None]] = {}  # of each action, whose faring is of the objects that it concerns
        for action in watch.infer(step):
            for rule in self.circuits[action].rules:
                fares = watch.faring(rule.id, action, told, step)
                taken = {o.taken for o in (fares.outcomes if isinstance(fares, Factor) else fares)}
                found.setdefault(rule.id, []).append(taken.pop() if len(taken) == 1 else None)
        return {rule: all_of(truths) for rule, truths in found.items()}

    def _watched(self, trace: Trace) -> ShieldWatch:
        watch = self.watch()
        for step in trace.steps[:-1]:
            watch.remember(self.validator.step(step))
        return watch


class ShieldWatch:
    """What a shield remembers of one conversation: where each rule's automaton may be, of each object it is about.

    What was worked out of that and of a step's truths is kept in the shield, at most `KEPT` results, for next time.
    """

    def __init__(self, shield: Shield) -> None:
        self.shield = shield
        self._at: tuple[frozenset[int], ...] = (circuit.START,) * len(shield.rules)
        self._slices = {i: Slices(shield.rules[i].formula, one) for i, one in shield.followed.items()}

    def fork(self) -> ShieldWatch:
        """Another watch that remembers the same, to be followed further apart from this one."""
        other = ShieldWatch.__new__(ShieldWatch)
        other.__dict__.update(self.__dict__)
        other._slices = {rule: slices.fork() for rule, slices in self._slices.items()}
        return other

    @property
    def states(self) -> dict[str, frozenset[int]]:
        """Where each rule's automaton may be, by rule."""
        return dict(zip(self.shield.rules, self._at, strict=True))

    def judge(self, step: Step, together: bool = False) -> Verdict:
        """Deny where some circuit surely does, else undecided where some circuit may, else allow; with the reasons.

        The circuits are those of the actions of which a rule speaks that the last call may break, its own arguments
        being read: what a rule says of the step's other calls alone was judged with them.  What looks back is read of
        the step's calls together and one after the other; where the two differ it is not known (`together`: is not).
        """
        shield, call = self.shield, step.calls[-1]
        tool = call.tool
        if tool not in shield.tools:
            return Verdict("deny", validation.stranger(tool, shield.tools))
        if step.calls[1:] and shield.looks_back and not (together or step.each):
            return self._in_order(step)
        told = self.read(step)
        key = self._at, tuple(told.values()), tool
        key = (*key, *self._left(step).items()) if step.calls[1:] else key
        alike = not self._slices and not self._minds(step)
        verdict = shield._seen.get(key) if alike else None
        if verdict is None:
            inferred = self._inferred(told, step)
            verdict = self._verdict(told, inferred, step) if inferred else self._unruled()
            if alike:
                self._keep(key, verdict)
        return judging.held(verdict, tool, shield.open[tool]) if tool in shield.open else verdict

    def _in_order(self, step: Step) -> Verdict:
        """The verdict on the last call where it is the same with the calls before it over, and in one step with it."""
        one, after = self.judge(step, together=True), self.fork()
        after.remember(replace(step, calls=step.calls[:-1]))
        other = after.judge(replace(step, calls=step.calls[-1:]))
        if one.decision == other.decision or "undecided" in (one.decision, other.decision):
            return one if one.decision != "allow" else other
        return Verdict("undecided", f"in one step with the calls before it: {one.reason}; after them: {other.reason}")

    def remember(self, step: Step) -> None:
        """Take in a step that is over: its calls were done."""
        told, alike = self._read(step, None), not self._minds(step)
        key = (None, self._at, tuple(told.values()))
        after = self.shield._seen.get(key) if alike else None
        if after is None:
            after = tuple([self._advanced(rule, told, step) for rule in self.shield.rules])
            if alike:
                self._keep(key, after)
        self._at = after
        if self._slices:
            about = self._told(step, None)
            for rule, slices in self._slices.items():
                for part in self._parts(rule, step):
                    slices.step(self._of(rule, part, about if part is step else self._told(part, None)))

    def _minds(self, step: Step) -> bool:
        """Whether it may matter which of the step's calls came first, or how many did the same."""
        return len(step.calls) > 1 and bool(self.shield.counted or self.shield.sides)

    def _parts(self, rule: str, step: Step) -> tuple[Step, ...]:
        return one_by_one(step, self.shield.counted.get(rule, frozenset()))

    def _of(self, rule: str, step: Step, told: Told) -> Told:
        """What a step tells one rule."""
        readers = self.shield.about if rule in self._slices else self.shield.readers
        return unordered(step, told, (self.shield.sides[rule],), readers) if rule in self.shield.sides else told

    def _advanced(self, rule: str, told: Told, step: Step) -> frozenset[int]:
        """Where the rule's automaton may be after a step of which `told` is what it tells."""
        at, machine = self._at[self.shield.places[rule]], self.shield.machines[rule]
        for part in self._parts(rule, step):
            now = told if part is step else self._read(part, None)
            at = circuit.advanced(machine, at, self._of(rule, part, now))
        return at

    def _keep(self, key: tuple, found: Verdict | tuple) -> None:
        if len(self.shield._seen) >= KEPT:
            self.shield._seen.clear()
        self.shield._seen[key] = found

    def infer(self, step: Step, likely: Mapping[str, float] = circuit.NONE) -> dict[str, Inference]:
        """What each circuit says whose action the last call takes, by action; `likely` as of `Shield.infer`."""
        return self._inferred(self.read(step), step, likely)

    def read(self, step: Step) -> dict[str, bool | None]:
        """The truth of every predicate at the step; the last call tells its own arguments alone."""
        return self._read(step, step.calls[-1] if step.calls else None)

    def _read(self, step: Step, call: Call | None) -> dict[str, bool | None]:
        return {name: read(step, call) for name, read in self.shield.readers.items()}

    def faring(self, rule: str, action: str, told: Mapping[str, bool | None], step: Step) -> circuit.Fares:
        """How a rule may fare by its id when the action is taken, or left, at the step of which `told` is `read`."""
        left = self._left(step)
        left = left if action in left else {}
        call, (*parts, last) = step.calls[-1] if step.calls else None, self._parts(rule, step)
        if rule in self._slices:
            slices = self._slices[rule].fork() if parts else self._slices[rule]
            for part in parts:
                slices.step(self._of(rule, part, self._told(part, None)))
            now = self._of(rule, last, self._told(last, call))
            return self.shield.followed[rule].faring({action, *left}, slices, now)
        at, machine = self._at[self.shield.places[rule]], self.shield.machines[rule]
        for part in parts:
            at = circuit.advanced(machine, at, self._read(part, None))
        now = self._read(last, call) if parts else told
        return circuit.faring(machine, action, at, self._of(rule, last, now), left)

    def _left(self, step: Step) -> dict[str, bool | None]:
        """`_left` of the judged call; empty where it does one thing alone."""
        made = self.shield.made.get(step.calls[-1].tool, ()) if step.calls else ()
        return _left(made, step.calls[:-1])

    def _told(self, step: Step, call: Call | None) -> dict[str, bool | Among | None]:
        return {name: read(step, call) for name, read in self.shield.about.items()}

    def _inferred(
        self, told: Mapping[str, bool | None], step: Step, likely: Mapping[str, float] = circuit.NONE
    ) -> dict[str, Inference]:
        mine = self.shield.does.get(step.calls[-1].tool, ()) if step.calls else ()
        circuits = {name: self.shield.circuits[name] for name in mine if told.get(name)}
        if self.shield.channel is None or likely:
            return {action: self._circuit(c, told, step, likely) for action, c in circuits.items()}
        softened, likely = self.shield.channel.soften(told)
        found = {action: self._circuit(c, softened, step, likely) for action, c in circuits.items()}
        read = {action: self._circuit(c, told, step) for action, c in circuits.items()}
        for action, one in found.items():  # what is read says which rules are broken, and which hard ones may be
            sure = read[action]
            low = sure.low if sure.low == -1 and action in self.shield.strict else one.low
            found[action] = replace(one, low=low, violated=sure.violated, unknown=sure.unknown)
        return found

    def _unruled(self) -> Verdict:
        """The verdict on a call that no circuit speaks of: P1 - P0 is 0."""
        said = "no rule speaks of what it does"
        ran = self.shield.safe(Inference(0.0, 0.0, "indecisive"))
        return Verdict("allow", said) if ran else Verdict("undecided", f"{said}; {self.shield.zone}")

    def _circuit(
        self, c: Circuit, told: Mapping[str, bool | None], step: Step, likely: Mapping[str, float] = circuit.NONE
    ) -> Inference:
        compiled = self.shield.compiled.get((c.action, step.calls[-1].tool)) if len(step.calls) == 1 else None
        if compiled:
            return compiled.infer(self._at, told, likely)
        fares = {r.id: self.faring(r.id, c.action, told, step) for r in (*c.rules, *c.laws)}
        return circuit.infer(c, fares, likely)

    def _verdict(self, told: Mapping[str, bool | None], inferred: Mapping[str, Inference], step: Step) -> Verdict:
        safe = {action: self._safe(action, one) for action, one in inferred.items()}
        margins = self._margins(inferred)
        denied = [inferred[action] for action, answer in safe.items() if answer is False]
        if denied:
            violated = tuple(dict.fromkeys(rule for inference in denied for rule in inference.violated))
            either = self._sentences(dict.fromkeys(rule for one in denied for rule in one.unknown))
            broken = self._sentences(violated) or (f"one of {either}" if either else "no rule in favour")
            reason = f"{margins}; broken: {broken}"
            quotes = tuple([self._quote(rule) for rule in violated])
            return Verdict("deny", reason, violated, quotes=quotes)
        unsure = [action for action, answer in safe.items() if answer is None]
        if not unsure:
            against = dict.fromkeys(rule for one in inferred.values() for rule in one.violated)
            return Verdict("allow", f"{margins}; against it: {self._sentences(against)}" if against else margins)
        rules = dict.fromkeys(name for action in unsure for name in inferred[action].unknown)
        facts = tuple(dict.fromkeys(fact for action in unsure for fact in self._deciding(action, told, step)))
        said = f"; it depends on what is not known: {', '.join(facts)}" if facts else ""
        clash = any(inferred[action].state == "contradictory" for action in unsure)
        why = "hard or physical rules contradict what is known or each other" if clash else ""
        between = all(inferred[action].low == inferred[action].high for action in unsure)
        why = why or (f"between the bounds: {self.shield.zone}" if between else f"not known: {self._sentences(rules)}")
        wide = any(inferred[action].wide for action in unsure)
        said += f"; more than {WIDTH} unknown facts hang together, so the bounds may be too wide" if wide else ""
        return Verdict("undecided", f"{margins}; {why}{said}", missing=facts)

    def _safe(self, action: str, inference: Inference) -> bool | None:
        """`Shield.safe` of an action: what hard rules forbid is denied, and what they may forbid is undecided, whatever
        epsilon, bounds and channel say."""
        if self.shield.hard and not self.shield.hard.isdisjoint(inference.violated):
            return False
        answer = self.shield.safe(inference)
        return None if answer and inference.low == -1 and action in self.shield.strict else answer

    def _deciding(self, action: str, told: Mapping[str, bool | None], step: Step) -> tuple[str, ...]:
        """The unknown facts of a circuit that matter: for some truths of the others, another truth is another answer.

        All of them where there are more than `TRIED`, or physical rules leave no other truth of one alone; none where
        only what was done before is unknown.
        """
        c = self.shield.circuits[action]
        rules = (*c.rules, *c.laws)
        names = [n for n in dict.fromkeys(n for r in rules for n in r.predicates) if told.get(n) is None]
        if len(names) <= TRIED:
            tried = {
                point: self._circuit(c, {**told, **dict(zip(names, point, strict=True))}, step)
                for point in product((False, True), repeat=len(names))
            }
            answers = {p: self._safe(action, one) for p, one in tried.items() if not one.impossible}
            alone = [
                name
                for i, name in enumerate(names)
                if any(answers.get((*p[:i], not p[i], *p[i + 1 :]), given) != given for p, given in answers.items())
            ]
            names = alone or (names if len(set(answers.values())) > 1 else [])
        sources = {p.name: source(p, step.state) for p in self.shield.predicates if p.name in names}
        return tuple(dict.fromkeys(sources[name] for name in names))

    def _margins(self, inferred: Mapping[str, Inference]) -> str:
        shown = (
            f"{action}: {_interval(i)}{', no rule is decisive' * (i.state == 'indecisive')}"
            for action, i in inferred.items()
        )
        return f"P1 - P0 against {self.shield.epsilon:g}: " + "; ".join(shown)

    def _sentences(self, names: Sequence[str] | Mapping[str, None]) -> str:
        return "; ".join([f"“{self._quote(name)}” ({name})" for name in names])

    def _quote(self, name: str) -> str:
        return self.shield.rules[name].quote or self.shield.rules[name].text or name


def _left(made: Iterable[Predicate], others: Collection[Call]) -> dict[str, bool | None]:
    """What is another truth where a call is left, beside others: acts that only it does, and tests of it."""
    return {p.name: any(one.tool in p.tools for one in others) if p.kind == "action" else None for p in made}


def _beyond(formula: Formula) -> set[str]:
    """The predicates of a formula whose truth at one step may matter at another."""
    body = each_step(formula)
    parts = [formula] if body is None else [node for node in subformulas(body) if isinstance(node, PAST)]
    return {name for part in parts for name in predicates(part)}


def _concerns(c: Circuit, known: Mapping[str, Predicate], tool: str) -> bool:
    """Whether the tool does the circuit's action, or a rule of that speaks of what a call of the tool may change."""
    spoken = [c.action, *(name for rule in c.rules if c.action in rule.predicates for name in rule.predicates)]
    return any(_made(known[name], tool) for name in spoken if name in known)


def _made(predicate: Predicate, tool: str) -> bool:
    """Whether a call of the tool may change the predicate's truth."""
    return tool in predicate.tools or (predicate.kind == "state" and predicate.reads_call and not predicate.tools)


def to_json(shield: Shield) -> dict[str, object]:
    """The shield as JSON values: rules, for each action the weight of each rule and its physical rules, epsilon, as
    `from_json` reads them."""
    rules = {rule.id: rule for c in shield.circuits.values() for rule in (*c.rules, *c.laws)}
    laws = {action: [rule.id for rule in c.laws] for action, c in shield.circuits.items() if c.laws}
    weights = {
        action: {r.id: "hard" if w == HARD else w for r, w in zip(c.rules, c.weights, strict=True)}
        for action, c in shield.circuits.items()
    }
    return {
        "epsilon": shield.epsilon,
        "circuits": weights,
        "laws": laws,
        "rules": rulefile.to_json(RuleSet(shield.predicates, tuple(rules.values()))),
        **_options(shield),
    }


def _options(shield: Shield) -> dict[str, object]:
    """The zone and the channel as JSON values, where there are any."""
    zone = {"zone": asdict(shield.zone)} if shield.zone != NOWHERE else {}
    return zone | ({"channel": {n: list(row) for n, row in shield.channel.chances.items()}} if shield.channel else {})


def from_json(
    value: Mapping[str, object], toolbox: Toolbox | None = None, open: Mapping[str, Sequence[Quoted]] | None = None
) -> Shield:
    """The shield that `to_json` described, over the tools and open sentences of today.

    Raises:
        ValueError: an entry is missing, or circuits and channel are none that the rules give (`circuit.placed`).
    """
    missing = [key for key in ("epsilon", "circuits", "rules") if key not in value]
    if missing:
        raise ValueError(f"a shield has the entries epsilon, circuits and rules; {missing} are missing")
    ruleset = rulefile.from_json(value["rules"])
    weights = {
        action: {name: HARD if w == "hard" else float(w) for name, w in row.items()}
        for action, row in value["circuits"].items()
    }
    laws = {action: tuple(row) for action, row in value.get("laws", {}).items()}
    circuits = circuit.placed(ruleset, weights, laws)
    zone = Zone(**{side: Bound(**row) for side, row in value.get("zone", {}).items() if row})
    channel = Channel({n: tuple(row) for n, row in value["channel"].items()}) if "channel" in value else None
    if strange := channel.chances.keys() - covered(ruleset.predicates) if channel else ():
        raise ValueError(f"a channel of predicates that the state tells was required; got one of {sorted(strange)}")
    epsilon, options = float(value["epsilon"]), {"zone": zone, "channel": channel}
    return Shield(ruleset.predicates, circuits, epsilon, toolbox=toolbox, open=open or {}, **options)


def _rendered(rules: Iterable[Rule]) -> list[tuple[str, str]]:
    return [(r.id, render(r.formula)) for r in rules]


def _interval(inference: Inference) -> str:
    return f"{inference.low:.3f}" if inference.low == inference.high else f"{inference.low:.3f} to {inference.high:.3f}"
