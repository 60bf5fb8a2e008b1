"""The shield: ShieldAgent's online decision (Alg. 1) over circuits, weights and epsilon.

Action predicates are read off the trace's last step, their circuits retrieved, every rule followed
through the trace by its LTLf automaton, and Eq. 5 decides.  The paper's plan of shielding operations
that assigns predicates by asking models is not here: a predicate that the trace does not tell stays
unknown, and where an unknown could change the decision it is undecided, which does not permit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wb.domain.trace import Trace, Verdict
from wb.logic.automaton import Automaton
from wb.rules import rulefile
from wb.rules.rule import Predicate, RuleSet, valuation
from wb.shield import circuit
from wb.shield.circuit import HARD, Circuit, Inference


@dataclass(frozen=True)
class Shield:
    """A guard that denies an action where P1 - P0 of its circuit stays below `epsilon` (-1..1; lower tolerates more)."""

    predicates: tuple[Predicate, ...]
    circuits: Mapping[str, Circuit]
    epsilon: float = 0.0
    machines: Mapping[str, Automaton | None] | None = None
    name: str = "shieldagent"

    def __post_init__(self) -> None:
        if not -1 <= self.epsilon <= 1:
            raise ValueError(f"epsilon bounds a difference of probabilities and must be in -1..1; got {self.epsilon}")
        if self.machines is None:
            rules = {rule.id: rule for c in self.circuits.values() for rule in c.rules}
            object.__setattr__(self, "machines", circuit.automata(rules.values()))

    def infer(self, trace: Trace) -> dict[str, Inference]:
        """What each circuit says whose action the trace's last step takes, by action (Alg. 1, lines 1 to 15)."""
        steps = [valuation(self.predicates, step) for step in trace.steps]
        return {
            action: circuit.infer(c, {r.id: circuit.outcomes(self.machines[r.id], action, steps) for r in c.rules})
            for action, c in self.circuits.items()
            if steps[-1].get(action)
        }

    def decide(self, trace: Trace) -> Verdict:
        """Deny where some circuit surely does, else undecided where some circuit may, else allow; with the reasons."""
        inferred = self.infer(trace)
        if not inferred:
            return Verdict("allow", "no rule speaks of what this step does")
        safe = {action: circuit.safe(inference, self.epsilon) for action, inference in inferred.items()}
        denied = [inferred[action] for action, answer in safe.items() if answer is False]
        if denied:
            violated = tuple(dict.fromkeys(rule for inference in denied for rule in inference.violated))
            return Verdict("deny", self._because(inferred, violated), violated)
        if None in safe.values():
            open_ = [name for action, answer in safe.items() if answer is None for name in inferred[action].unknown]
            return Verdict(
                "undecided",
                f"{self._margins(inferred)}; not known: {self._sentences(open_) or 'hard rules contradict each other'}",
            )
        return Verdict("allow", self._margins(inferred))

    def verdicts(self, trace: Trace) -> dict[str, bool | None]:
        """For every rule of every circuit in play: whether it is kept, broken, or not known to be, by id (V_s of Eq. 1)."""
        steps = [valuation(self.predicates, step) for step in trace.steps]
        found: dict[str, bool | None] = {}
        for action in self.infer(trace):
            for rule in self.circuits[action].rules:
                taken = {o.taken for o in circuit.outcomes(self.machines[rule.id], action, steps)}
                found[rule.id] = taken.pop() if len(taken) == 1 else None
        return found

    def _because(self, inferred: Mapping[str, Inference], violated: tuple[str, ...]) -> str:
        return f"{self._margins(inferred)}; broken: {self._sentences(violated) or 'no rule in favour'}"

    def _margins(self, inferred: Mapping[str, Inference]) -> str:
        shown = (
            f"{action}: {_interval(i)}{', no rule is decisive' * (i.state == 'indecisive')}"
            for action, i in inferred.items()
        )
        return f"P1 - P0 against {self.epsilon:g}: " + "; ".join(shown)

    def _sentences(self, names: list[str] | tuple[str, ...]) -> str:
        texts = {rule.id: rule.quote or rule.text for c in self.circuits.values() for rule in c.rules}
        return " / ".join(dict.fromkeys(texts[name] for name in names))


def to_json(shield: Shield) -> dict[str, object]:
    """The shield as JSON values: its rules, for each action the weight of each rule, epsilon; `from_json` gives it back."""
    rules = {rule.id: rule for c in shield.circuits.values() for rule in c.rules}
    weights = {
        action: {r.id: "hard" if w == HARD else w for r, w in zip(c.rules, c.weights, strict=True)}
        for action, c in shield.circuits.items()
    }
    return {
        "epsilon": shield.epsilon,
        "circuits": weights,
        "rules": rulefile.to_json(RuleSet(shield.predicates, tuple(rules.values()))),
    }


def from_json(value: Mapping[str, object]) -> Shield:
    """The shield that `to_json` described.

    Raises:
        ValueError: an entry is missing, or a circuit names a rule that is not there.
    """
    missing = [key for key in ("epsilon", "circuits", "rules") if key not in value]
    if missing:
        raise ValueError(f"a shield has the entries epsilon, circuits and rules; {missing} are missing")
    ruleset = rulefile.from_json(value["rules"])
    weights = {
        action: {name: HARD if w == "hard" else float(w) for name, w in row.items()}
        for action, row in value["circuits"].items()
    }
    strange = sorted({name for row in weights.values() for name in row} - {rule.id for rule in ruleset.rules})
    if strange:
        raise ValueError(f"circuits may name only the shield's rules; got {strange}")
    circuits = circuit.build(ruleset, {action: tuple(row) for action, row in weights.items()}, weights)
    return Shield(ruleset.predicates, circuits, float(value["epsilon"]))


def _interval(inference: Inference) -> str:
    return f"{inference.low:.3f}" if inference.low == inference.high else f"{inference.low:.3f} to {inference.high:.3f}"
