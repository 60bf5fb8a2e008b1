"""Refinement of a rule set (ShieldAgent, Alg. 2): verifiability refinement and redundancy pruning in turn.

Each round asks the model about the vaguest rules first (`refine_predicates`) and then about groups of related
predicates (`merge_predicates`); every proposal passes an exact check (`certify`) or is refused on the record.
Two settlements: the budget counts rules *per round* (counted over all rounds the first would spend it, and pruning
would never see its effect), and the clustering of pruning is by connected components: predicates that sound alike,
share a field, or share a tool.

Vagueness (Sec. 3.2.3, Eq. 3) is how hard a predicate is to tell from its neighbours: the mean cosine of its k
nearest predicates of the same kind, higher is vaguer; a rule is as vague as its vaguest predicate.  The printed
index runs from m to n; it is read as the k largest, the predicate itself left out.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pydantic

from wb.domain.tools import Toolbox
from wb.logic import cel, syntax
from wb.logic.formula import conjunction
from wb.models.client import LLM, Unanswered
from wb.models.embeddings import Encoder
from wb.rules import certify, physical
from wb.rules.certify import Change
from wb.rules.check import Blame, conflicts
from wb.rules.rule import Predicate, Rule, RuleSet

TOGETHER = 4  # rules a question: what they share is sent once


def describe(predicate: Predicate) -> str:
    """The text that stands for a predicate when it is embedded: its name in words, its description.

    A final full stop is left out: it moves a sentence embedding and says nothing.
    """
    words, said = predicate.name.replace("_", " "), predicate.description.strip().rstrip(".")
    return f"{words}: {said}" if said else words


def scores(vectors: np.ndarray, kinds: Sequence[str], k: int = 5, *, chunk: int = 1024) -> np.ndarray:
    """V_p of every predicate (Eq. 3): mean of its k largest cosines within its kind, in -1..1.

    `vectors` has shape (n, d) with rows of norm 1; `kinds` names the kind of each row.  k is capped
    at the number of other predicates of the kind; a predicate alone in its kind scores 0, since
    there is nothing to mistake it for.  Memory is chunk × n; time O(n² d).
    """
    vectors = np.asarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(kinds):
        raise ValueError(f"one vector a kind was required; got shape {vectors.shape} for {len(kinds)} kinds")
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}")
    if len(vectors) and not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3):
        raise ValueError("rows of norm 1 were required; normalise the vectors first")
    found = np.zeros(len(vectors), dtype=np.float64)
    for kind in dict.fromkeys(kinds):
        rows = np.flatnonzero([other == kind for other in kinds])
        found[rows] = _nearest_mean(vectors[rows], k, chunk)
    return found


def _nearest_mean(vectors: np.ndarray, k: int, chunk: int) -> np.ndarray:
    n = len(vectors)
    k = min(k, n - 1)
    found = np.zeros(n, dtype=np.float64)
    if k == 0:
        return found
    for start in range(0, n, chunk):
        cosines = vectors[start : start + chunk] @ vectors.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf
        found[start : start + chunk] = np.partition(cosines, n - k, axis=1)[:, n - k :].mean(axis=1, dtype=np.float64)
    return found


def of_predicates(predicates: Sequence[Predicate], encoder, k: int = 5) -> dict[str, float]:
    """V_p of every predicate by name, with vectors from `encoder.encode(texts)`."""
    if not predicates:
        return {}
    vectors = encoder.encode([describe(p) for p in predicates])
    found = scores(vectors, [p.kind for p in predicates], k)
    return {p.name: float(score) for p, score in zip(predicates, found, strict=True)}


def of_rules(ruleset: RuleSet, of: Mapping[str, float]) -> dict[str, float]:
    """V_r of every rule by id: the largest V_p among its predicates (Sec. 3.2.3); 0 for a rule without any."""
    return {rule.id: max((of[name] for name in rule.predicates), default=0.0) for rule in ruleset.rules}


def vaguest(of: Mapping[str, float], count: int) -> tuple[str, ...]:
    """The `count` highest-scoring names, highest first (the heap of Alg. 2); ties in their given order."""
    order = {name: i for i, name in enumerate(of)}
    return tuple(heapq.nsmallest(count, of, key=lambda name: (-of[name], order[name])))


class Part(pydantic.BaseModel):
    """One requirement of a rule, as a rule of its own."""

    text: str
    formula: str


class Wording(pydantic.BaseModel):
    """Other words for a predicate."""

    name: str
    new_name: str
    description: str


class Refined(pydantic.BaseModel):
    """What `refine_predicates` says of one rule, by its id."""

    id: str
    verifiable: bool
    rules: list[Part] = []
    predicates: list[Wording] = []
    reason: str = ""


class Refinements(pydantic.BaseModel):
    """Reply to `refine_predicates`."""

    answers: list[Refined]


class Pair(pydantic.BaseModel):
    """Two predicates said to mean the same, or the opposite."""

    keep: str
    drop: str
    negated: bool = False
    reason: str = ""


class Repetition(pydantic.BaseModel):
    """A rule said to add nothing to others."""

    rule: str
    because: list[str]
    reason: str = ""


class Merged(pydantic.BaseModel):
    """Reply to `merge_predicates`."""

    merges: list[Pair] = []
    redundant: list[Repetition] = []


@dataclass(frozen=True, slots=True)
class Round:
    """The rule set after one round (0: as extracted), the vagueness of its predicates by name, and what was tried.

    `conflicts` are the rules that can never fire while the others are kept; both sides stay rules.  `refined` is the
    round's middle: the rule set after refinement, before pruning.
    """

    number: int
    ruleset: RuleSet
    vagueness: Mapping[str, float]
    changes: tuple[Change, ...] = ()
    conflicts: tuple[Blame, ...] = ()
    refined: Round | None = None

    def measures(self) -> dict[str, object]:
        """The point of a curve: counts, mean and largest V_r, mean V_p."""
        of_each = list(of_rules(self.ruleset, self.vagueness).values())
        return {
            "rules": len(self.ruleset.rules),
            "predicates": len(self.ruleset.predicates),
            "vagueness": float(np.mean(of_each)) if of_each else 0.0,
            "vagueness_max": max(of_each, default=0.0),
            "vagueness_predicates": float(np.mean(list(self.vagueness.values()))) if self.vagueness else 0.0,
        }

    def row(self) -> dict[str, object]:
        """The round as JSON: its measures after refinement and at its end, the changes with their certificates."""
        tried = {name: [asdict(each) for each in getattr(self, name)] for name in ("conflicts", "changes")}
        middle = self.refined and self.refined.measures()
        return json.loads(json.dumps({"round": self.number, **self.measures(), "refined": middle, **tried}))


@dataclass(frozen=True, slots=True)
class Setting:
    """What refinement needs beside the rules: model, encoder, toolbox, Eq. 3's k, and the cosine of kinship."""

    llm: LLM
    encoder: Encoder
    toolbox: Toolbox
    k: int
    similarity: float


def refine(
    ruleset: RuleSet,
    llm: LLM,
    encoder: Encoder,
    *,
    max_rounds: int = 5,
    budget: int = 20,
    toolbox: Toolbox | None = None,
    similarity: float = 0.6,
    k: int = 5,
    tell: Callable[[int, int], object] = lambda done, of: None,
) -> tuple[Round, ...]:
    """Alg. 2: the rounds of refinement, round 0 first; it ends when nothing changes or after `max_rounds`.

    `budget` is how many rules are refined in a round, the vaguest first.  A rule found verifiable is
    not asked about again until something changes it; the parts of a split and the rules touched by a
    merge are (Alg. 2, lines 15 and 27).  `similarity` is the cosine from which two predicates are
    asked about together; the toolbox sharpens what is known of the predicates' fields.  `tell` is told
    how many rounds are done, and of how many.
    """
    words = Setting(llm, encoder, toolbox or Toolbox(), k, similarity)
    if max_rounds < 0 or budget < 0:
        raise ValueError(f"max_rounds and budget must be 0 or more; got {max_rounds} and {budget}")
    rounds = [_measured(0, ruleset.without_unused(), words)]
    waiting = {rule.id for rule in ruleset.rules if rule.type == "action"}
    refused: set[tuple] = set()
    for number in range(1, max_rounds + 1):
        tell(number - 1, max_rounds)
        before = rounds[-1]
        verified, asked, tried = verify(before, waiting, words, budget)
        seen = asked | _touched(before.ruleset, verified)
        pruned, more = prune(replace(before, ruleset=verified), words, seen, refused)
        changes = tuple(c for c in (*tried, *more) if c.accepted or _key(c) not in refused)
        refused |= {_key(c) for c in changes if not c.accepted}
        middle = Round(number, kept := verified.without_unused(), _vagueness(kept, words))
        rounds.append(replace(_measured(number, pruned.without_unused(), words), changes=changes, refined=middle))
        waiting = (waiting - asked) | _touched(before.ruleset, rounds[-1].ruleset)
        waiting &= {rule.id for rule in rounds[-1].ruleset.rules if rule.type == "action"}
        if not (waiting and asked) and not any(c.accepted for c in changes):
            break
    tell(len(rounds) - 1, len(rounds) - 1)
    return tuple(rounds)


def verify(state: Round, waiting: Iterable[str], words: Setting, budget: int) -> tuple[RuleSet, set[str], list[Change]]:
    """Refinement of the `budget` vaguest waiting rules: the rule set after it, the ids asked about, the changes."""
    scores = of_rules(state.ruleset, state.vagueness)
    asked = vaguest({i: s for i, s in scores.items() if i in set(waiting)}, budget)
    rules = {rule.id: rule for rule in state.ruleset.rules}
    rows = _rows(state, words)
    groups = [asked[k : k + TOGETHER] for k in range(0, len(asked), TOGETHER)]
    batch = [
        {
            "rules": [{**_rule_row(rules[i]), "predicates": list(rules[i].predicates)} for i in group],
            "predicates": [rows[name] for name in dict.fromkeys(n for i in group for n in rules[i].predicates)],
        }
        for group in groups
    ]
    answers = words.llm.ask_all("refine_predicates", Refinements, batch)
    replies = {i: _of(i, reply) for group, reply in zip(groups, answers, strict=True) for i in group}
    changes = [
        Change("split", (i,), (i,), False, f"no reply: {r.reason}")
        for i, r in replies.items()
        if isinstance(r, Unanswered)
    ]
    replies = {i: r for i, r in replies.items() if isinstance(r, Refined) and not r.verifiable}
    ruleset, known = state.ruleset, physical.rules(state.ruleset.predicates, words.toolbox)
    for name, reply in replies.items():
        if reply.rules:
            ruleset, change = certify.split(
                ruleset, rules[name], [(p.text, p.formula) for p in reply.rules], known, reply.reason
            )
            changes.append(change)
    wordings = {(w.name, w.new_name, w.description): w for reply in replies.values() for w in reply.predicates}
    for wording in wordings.values():
        ruleset, found = _clarified(ruleset, wording, words)
        changes.extend(found)
    return ruleset, set(asked), changes


def _of(rule: str, reply: Refinements | Unanswered) -> Refined | Unanswered:
    """What a reply says of one rule; no reply where it leaves it out or speaks of it twice."""
    mine = [one for one in reply.answers if one.id == rule] if isinstance(reply, Refinements) else []
    if len(mine) == 1:
        return mine[0]
    return reply if isinstance(reply, Unanswered) else Unanswered("refine_predicates", "one answer a rule was required")


def _clarified(ruleset: RuleSet, wording: Wording, words: Setting) -> tuple[RuleSet, list[Change]]:
    """Other words for a predicate where they make it less vague; none where it is gone or says so already."""
    old = next((p for p in ruleset.predicates if p.name == wording.name), None)
    if old is None or (old.name, old.description) == (wording.new_name, wording.description):
        return ruleset, []
    after, change = certify.clarify(ruleset, wording.name, wording.new_name, wording.description)
    if not change.accepted:
        return ruleset, [change]
    was = of_predicates(ruleset.predicates, words.encoder, words.k)[wording.name]
    now = of_predicates(after.predicates, words.encoder, words.k)[wording.new_name]
    reason = f"vagueness {was:.3f} would become {now:.3f}: {wording.description}"
    if now >= was:
        return ruleset, [replace(change, accepted=False, certificate="not clearer", reason=reason)]
    return after, [replace(change, reason=reason.replace("would become", "became"))]


def prune(state: Round, words: Setting, seen: set[str], refused: set[tuple]) -> tuple[RuleSet, list[Change]]:
    """Redundancy pruning, asked for group by group: merges of predicates and removal of rules; rule set and changes.

    Only groups with a rule among those `seen` by this round's refinement are asked about, so that a
    round costs what its budget says.  A merge that was refused before is not proposed again.
    """
    ruleset = state.ruleset
    known = physical.rules(ruleset.predicates, words.toolbox)
    state = replace(state, vagueness=of_predicates(ruleset.predicates, words.encoder, words.k))
    groups = _groups(state, words, known, seen, refused)
    several = [row for row in groups if len(row["predicates"]) > 1]
    answers = iter(words.llm.ask_all("merge_predicates", Merged, several))
    said = [next(answers) if len(row["predicates"]) > 1 else _repeated(row) for row in groups]
    replies = [reply for reply in said if isinstance(reply, Merged)]
    changes = [
        Change("merge", names, names, False, f"no reply: {reply.reason}")
        for row, reply in zip(groups, said, strict=True)
        if isinstance(reply, Unanswered) and (names := tuple(p["name"] for p in row["predicates"]))
    ]
    for pair in (pair for reply in replies for pair in reply.merges):
        if {pair.keep, pair.drop} <= {p.name for p in ruleset.predicates}:
            ruleset, change = certify.merge(ruleset, pair.keep, pair.drop, pair.negated, known, pair.reason)
            changes.append(change)
    for repetition in (r for reply in replies for r in reply.redundant):
        rules = {rule.id: rule for rule in ruleset.rules}
        if {repetition.rule, *repetition.because} <= rules.keys():
            because = [rules[i] for i in repetition.because]
            ruleset, change = certify.prune(ruleset, rules[repetition.rule], because, known, repetition.reason)
            changes.append(change)
    return ruleset, changes


def _repeated(group: Mapping[str, object]) -> Merged:
    """What there is to say of a group of one predicate without asking: the rules that another one implies, of equals
    the later one."""
    given = conjunction(tuple(syntax.parse(text) for text in group["background"]))
    formulas = {row["id"]: syntax.parse(row["formula"]) for row in group["rules"]}
    gone = certify.redundant(formulas, given)
    return Merged(
        redundant=[Repetition(rule=w, because=[s], reason=f"already required by {s}") for w, s in gone.items()]
    )


def _groups(
    state: Round, words: Setting, known: Sequence[Rule], seen: set[str], refused: set[tuple]
) -> list[dict[str, object]]:
    """One request a component of related predicates with a rule that was seen and something to merge or drop."""
    import networkx

    predicates = {p.name: p for p in state.ruleset.predicates}
    order, cosines = list(predicates), _cosines(state.ruleset.predicates, words)
    similar = [
        (order[i], order[j], round(float(cosines[i, j]), 3))
        for i, j in np.argwhere(np.triu(cosines >= words.similarity))
    ]
    graph = networkx.Graph()
    graph.add_nodes_from(predicates)
    graph.add_edges_from((a, b) for a, b, _ in similar)
    graph.add_edges_from(rule.predicates for rule in known)
    rows, batch = _rows(state, words), []
    for group in networkx.connected_components(graph):
        names = [n for n in predicates if n in group]
        rules = [r for r in state.ruleset.rules if r.type == "action" and group & set(r.predicates)]
        if (len(names) > 1 or len(rules) > 1) and seen & {r.id for r in rules}:
            inside = {n for r in rules for n in r.predicates} | group
            batch.append(
                {
                    "predicates": [rows[n] for n in names],
                    "rules": [_rule_row(r) for r in rules],
                    "similar": [
                        [a, b, c] for a, b, c in similar if a in group and ("merge", frozenset((a, b))) not in refused
                    ],
                    "background": [syntax.render(r.formula) for r in known if inside.issuperset(r.predicates)],
                }
            )
    return batch


def _cosines(predicates: Sequence[Predicate], words: Setting) -> np.ndarray:
    """The cosine of every pair, shape (n, n); -1 between kinds and on the diagonal, which are no pairs."""
    if not predicates:
        return np.zeros((0, 0), dtype=np.float32)
    vectors = words.encoder.encode([describe(p) for p in predicates])
    kinds = np.array([p.kind for p in predicates])
    table = np.where(kinds[:, None] == kinds[None, :], vectors @ vectors.T, -1)
    np.fill_diagonal(table, -1)
    return table


def _measured(number: int, ruleset: RuleSet, words: Setting) -> Round:
    found = conflicts(ruleset, physical.rules(ruleset.predicates, words.toolbox))
    return Round(number, ruleset, _vagueness(ruleset, words), conflicts=found)


def _vagueness(ruleset: RuleSet, words: Setting) -> dict[str, float]:
    return of_predicates(ruleset.predicates, words.encoder, words.k)


def _key(change: Change) -> tuple:
    """What makes a proposal the same one: merges are symmetric, words are not compared."""
    return (
        (change.kind, frozenset(change.before))
        if change.kind == "merge"
        else (change.kind, change.before, change.after)
    )


def _touched(before: RuleSet, after: RuleSet) -> set[str]:
    """The ids of the rules whose formula is new."""
    formulas = {rule.id: rule.formula for rule in before.rules}
    return {rule.id for rule in after.rules if formulas.get(rule.id) != rule.formula}


def _rule_row(rule: Rule) -> dict[str, str]:
    return {"id": rule.id, "text": rule.text, "quote": rule.quote, "formula": syntax.render(rule.formula)}


def _rows(state: Round, words: Setting) -> dict[str, dict[str, object]]:
    """Every predicate as a model is shown it: words, vagueness, neighbours, and what it is bound to."""
    predicates = state.ruleset.predicates
    nearest = np.argsort(-_cosines(predicates, words), axis=1, kind="stable")[:, :3]
    near = {
        p.name: [predicates[j].name for j in row if predicates[j].kind == p.kind and predicates[j] is not p]
        for p, row in zip(predicates, nearest, strict=True)
    }
    uses: dict[str, dict[str, None]] = {}
    for rule in state.ruleset.rules:
        for name in rule.predicates:
            uses.setdefault(name, {}).update(
                dict.fromkeys(a.name.replace("_", " ") for a in state.ruleset.actions(rule))
            )
    return {
        p.name: {
            "name": p.name,
            "kind": p.kind,
            "description": p.description,
            "vagueness": round(state.vagueness[p.name], 3),
            "neighbours": near[p.name],
            "used_by": list(uses.get(p.name, ())),
            "meaning": _meaning(p, words.toolbox),
        }
        for p in state.ruleset.predicates
    }


def _meaning(predicate: Predicate, toolbox: Toolbox) -> dict[str, object]:
    """The tools of an action predicate, or the test and field of a state predicate, as the toolbox describes them."""
    if predicate.kind == "action":
        tools = [t for t in toolbox.tools if t.name in predicate.tools]
        return {
            "tools": [
                {"name": t.name, "description": t.description, "arguments": [a.name for a in t.arguments]}
                for t in tools
            ]
        }
    if predicate.test is None:
        return {}
    known = physical.bound(predicate, toolbox)
    return {
        "test": cel.render(predicate.test),
        "field": {"type": known[0].type, "description": known[0].description} if known else {},
    }
