"""Refinement of what was read (ShieldAgent, Alg. 2): verifiability refinement and redundancy pruning in turn.

The queue holds all readings, those that are open before those in force.  Each round asks the model about its first
(`refine_predicates`), which labels them and may propose others, and then about groups of related predicates
(`merge_predicates`).  What is proved to be equal goes through (`certify`); what changes a meaning needs what a first
reading needs (`rereading`), or is refused on the record.  Without readers there are proofs alone.
Two settlements: the budget counts readings *per round* (counted over all rounds the first would spend it, and pruning
would never see its effect), and the clustering of pruning is by connected components: predicates that sound alike,
share a field, or share a tool.

Vagueness (Sec. 3.2.3, Eq. 3) is how hard a predicate is to tell from its neighbours: the mean cosine of its k
nearest predicates of the same kind, higher is vaguer; a rule is as vague as its vaguest predicate.  The printed
index runs from m to n; it is read as the k largest, the predicate itself left out.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pydantic

from wb.domain.tools import Toolbox
from wb.logic import cel, syntax
from wb.logic.formula import conjunction, predicates
from wb.models.client import LLM, Unanswered
from wb.models.embeddings import Encoder
from wb.rules import binding, certify, physical, readers, rereading
from wb.rules.certify import Change
from wb.rules.check import Blame, conflicts
from wb.rules.extract import Panel
from wb.rules.rereading import Proposal, State
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.vocabulary import FactForm, NamedAct, NamedFact, Row

if TYPE_CHECKING:
    from wb.domain.policy import Policy

TOGETHER = 12  # readings a question: what they share is sent once
PACKED = 40  # predicates of groups that are asked about in one question


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


class Wording(FactForm):
    """Other words for a predicate; of a `kind`, what it is to be bound to, anew or as a new one."""

    name: str
    new_name: str = ""
    kind: Literal["act", "fact"] | None = None

    def entry(self) -> Row | None:
        """The entry of the vocabulary that is proposed; None where only words are."""
        own = self.model_dump(include={"name", "description", "tools", "objects"})
        if self.kind == "act":
            return NamedAct(**own)
        told = {"test": self.test, "question": self.question, "of": self.of}
        return NamedFact(**own, **told) if self.kind == "fact" else None


Label = Literal["good", "needs refinement", "redundant", "cannot be verified"]


class Refined(pydantic.BaseModel):
    """What `refine_predicates` says of one reading, by its id."""

    id: str
    label: Label
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
class Labelled:
    """What was said of one reading: the id of its rule or the clause of its open sentence, its words, and why."""

    id: str
    text: str
    label: Label
    reason: str


@dataclass(frozen=True, slots=True)
class Round:
    """What was read after one round (0: as extracted), the vagueness of its predicates by name, and what was tried.

    `ruleset` are the rules in force; `read` is the state with what is open, where the readings are at hand.
    `conflicts` are the rules that can never fire while the others are kept; both sides stay rules.  `refined` is the
    round's middle: after refinement, before pruning.  `labels` are those of the readings that were asked about.
    """

    number: int
    ruleset: RuleSet
    vagueness: Mapping[str, float]
    changes: tuple[Change, ...] = ()
    conflicts: tuple[Blame, ...] = ()
    refined: Round | None = None
    read: State | None = None
    labels: tuple[Labelled, ...] = ()

    @property
    def state(self) -> State:
        """The rules in force and what is open."""
        return self.read or State(self.ruleset)

    def measures(self) -> dict[str, object]:
        """The point of a curve: counts of readings, of those in force and of decisions left to a person; mean and
        largest V_r, mean V_p."""
        whole = self.state.whole
        of_each = list(of_rules(whole, self.vagueness).values())
        return {
            "rules": len(whole.rules),
            "in_force": len(self.ruleset.rules),
            "open": sum(one.cls == "open" for one in self.state.accounts),
            "predicates": len(whole.predicates),
            "unbound": sum(not _binds(p) for p in whole.predicates),
            "vagueness": float(np.mean(of_each)) if of_each else 0.0,
            "vagueness_max": max(of_each, default=0.0),
            "vagueness_predicates": float(np.mean(list(self.vagueness.values()))) if self.vagueness else 0.0,
        }

    def row(self) -> dict[str, object]:
        """The round as JSON: its measures after refinement and at its end, the changes with their certificates."""
        tried = {name: [asdict(each) for each in getattr(self, name)] for name in ("conflicts", "changes", "labels")}
        middle = self.refined and self.refined.measures()
        return json.loads(json.dumps({"round": self.number, **self.measures(), "refined": middle, **tried}))


def _binds(predicate: Predicate) -> bool:
    """Whether something tells a predicate: tools, a test or a question."""
    return bool(predicate.tools) if predicate.kind == "action" else predicate.test not in (None, binding.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Setting:
    """What refinement needs beside the rules: model, encoder, toolbox, Eq. 3's k, the cosine of kinship; the policy and
    the panel by which sentences are read again, without one none is; and how many recorded calls each reading blocks.
    """

    llm: LLM
    encoder: Encoder
    toolbox: Toolbox
    k: int
    similarity: float
    policy: Policy | None = None
    panel: Panel | None = None
    blocked: Mapping[str, int] = field(default_factory=dict)


def refine(
    read: RuleSet | State,
    llm: LLM,
    encoder: Encoder,
    *,
    max_rounds: int = 5,
    budget: int = 20,
    toolbox: Toolbox | None = None,
    similarity: float = 0.6,
    k: int = 5,
    policy: Policy | None = None,
    panel: Panel | None = None,
    blocked: Mapping[str, int] | None = None,
    tell: Callable[[int, int], object] = lambda done, of: None,
) -> tuple[Round, ...]:
    """Alg. 2: the rounds of refinement, round 0 first; it ends when nothing changes or after `max_rounds`.

    `budget` is how many readings are refined in a round, the first of the queue (`queue`).  One that was asked about is
    not asked about again until something changes it; the parts of a split and the rules touched by a
    merge are (Alg. 2, lines 15 and 27).  `similarity` is the cosine from which two predicates are
    asked about together; the toolbox sharpens what is known of the predicates' fields.  With a state of the `policy`
    and a `panel`, sentences are read again where a proposal changes what they say.  `blocked` counts recorded calls by
    the rule or the clause that blocks them.  `tell` is told how many rounds are done, and of how many.
    """
    words = Setting(llm, encoder, toolbox or Toolbox(), k, similarity, policy, panel, blocked or {})
    if max_rounds < 0 or budget < 0:
        raise ValueError(f"max_rounds and budget must be 0 or more; got {max_rounds} and {budget}")
    state = read if isinstance(read, State) else State(read)
    rounds = [_measured(0, replace(state, ruleset=state.ruleset.without_unused()), words)]
    waiting = _items(state)
    refused: set[tuple] = set()
    for number in range(1, max_rounds + 1):
        tell(number - 1, max_rounds)
        before = rounds[-1]
        verified, labels, tried = verify(before, waiting, words, budget, refused)
        asked = {one.id for one in labels}
        verified = replace(verified, ruleset=verified.ruleset.without_unused())
        middle = Round(number, verified.ruleset, _vagueness(verified.whole, words), read=verified)
        seen = asked | _touched(before.ruleset, verified.ruleset)
        pruned, more = prune(middle, words, seen, refused)
        changes = tuple(c for c in (*tried, *more) if c.accepted or _key(c) not in refused)
        refused |= {_key(c) for c in changes if not c.accepted}
        pruned = replace(pruned, ruleset=pruned.ruleset.without_unused())
        last = _measured(number, pruned, words)
        rounds.append(replace(last, changes=changes, refined=middle, labels=labels))
        waiting = ((waiting - asked) | _touched(before.ruleset, last.ruleset)) & _items(pruned)
        if not (waiting and asked) and not any(c.accepted for c in changes):
            break
    tell(len(rounds) - 1, len(rounds) - 1)
    return tuple(rounds)


def _items(state: State) -> set[str]:
    """What can be asked about: the rules in force, but of sentences that are open, and these sentences."""
    return {r.id for r in state.ruleset.rules if r.type == "action" and r.clause not in state.open} | {*state.open}


def queue(state: Round, waiting: Collection[str], blocked: Mapping[str, int]) -> tuple[str, ...]:
    """The ids of readings in the order in which they are refined: open ones first, then by the recorded calls that they
    block, then by V_r, the vaguest first (the heap of Alg. 2)."""
    near, whole = of_rules(state.state.whole, state.vagueness), state.state
    vague = {rule.id: near[rule.id] for rule in whole.ruleset.rules} | dict.fromkeys(whole.open, 0.0)
    for rule in whole.waiting.rules:
        vague[rule.clause] = max(vague[rule.clause], near[rule.id])
    rank = {name: (name not in whole.open, -blocked.get(name, 0), -vague[name]) for name in vague if name in waiting}
    return tuple(sorted(rank, key=rank.__getitem__))


def verify(
    before: Round, waiting: Collection[str], words: Setting, budget: int, refused: set[tuple]
) -> tuple[State, tuple[Labelled, ...], list[Change]]:
    """Refinement of the first `budget` waiting readings: the state after it, their labels, and the changes."""
    state = before.state
    rows = _reading_rows(queue(before, waiting, words.blocked)[:budget], state, words)
    replies = _replies(rows, before, words)
    labels = tuple(
        Labelled(i, str(rows[i]["quote"]), r.label if isinstance(r, Refined) else "needs refinement", r.reason)
        for i, r in replies.items()
    )
    changes = [
        Change("split", (i,), (i,), False, f"no reply: {r.reason}")
        for i, r in replies.items()
        if isinstance(r, Unanswered)
    ]
    wrong = {i: r for i, r in replies.items() if isinstance(r, Refined) and r.label != "good"}
    ruleset, made = _proved(state.ruleset, wrong, words)
    state = replace(state, ruleset=ruleset)
    if words.panel is None or words.policy is None or state.found is None:
        return state, labels, [*changes, *made]
    entries = [entry for reply in wrong.values() for one in reply.predicates if (entry := one.entry()) is not None]
    state, bound = rereading.rebound(state, entries, [words.llm, *words.panel.writers])
    names = {change.after[0] for change in bound if change.accepted}
    proposals = _corrections(state, wrong, [one for one in made if not one.accepted], refused)
    told = {
        i: r for i, r in replies.items() if isinstance(r, Refined) and (r.label == "good" or r.rules or r.predicates)
    }
    for name in (name for name in state.open if name in {*told, *rereading.using(state, names)}):
        reason = told[name].reason if name in told else "a predicate of it was bound"
        proposals.append(Proposal("settle", (name,), (name,), {}, reason))
    state, read = rereading.reread(state, proposals, words.policy, words.panel)
    again = {proposal.before for proposal in proposals}
    made = [one for one in made if one.accepted or one.before not in again]
    return state, labels, [*changes, *made, *bound, *read]


def _replies(
    rows: Mapping[str, Mapping[str, object]], before: Round, words: Setting
) -> dict[str, Refined | Unanswered]:
    """What the model says of each reading."""
    known, asked = _rows(before, words), list(rows)
    groups = [asked[k : k + TOGETHER] for k in range(0, len(asked), TOGETHER)]
    tools = binding.described(words.policy.toolbox) if words.panel and words.policy else {"tools": [], "state": []}
    batch = [
        {
            **tools,
            "rules": [rows[i] for i in group],
            "predicates": [known[name] for name in dict.fromkeys(n for i in group for n in rows[i]["predicates"])],
        }
        for group in groups
    ]
    answers = words.llm.ask_all("refine_predicates", Refinements, batch)
    return {i: _of(i, reply) for group, reply in zip(groups, answers, strict=True) for i in group}


def _proved(ruleset: RuleSet, wrong: Mapping[str, Refined], words: Setting) -> tuple[RuleSet, list[Change]]:
    """The rule set with those proposals that mean the same, and what came of each."""
    rules, known = {rule.id: rule for rule in ruleset.rules}, physical.rules(ruleset.predicates, words.toolbox)
    changes = []
    for name, reply in wrong.items():
        if name in rules and reply.rules:
            parts = [(part.text, part.formula) for part in reply.rules]
            ruleset, change = certify.split(ruleset, rules[name], parts, known, reply.reason)
            changes.append(change)
    wordings = {(w.name, w.new_name, w.description): w for reply in wrong.values() for w in reply.predicates}
    for wording in (one for one in wordings.values() if one.kind is None):
        new = wording.name if words.panel else wording.new_name or wording.name  # readers share the names
        ruleset, made = _clarified(ruleset, wording.model_copy(update={"new_name": new}), words)
        changes.extend(made)
    return ruleset, changes


def _corrections(
    state: State, wrong: Mapping[str, Refined], unproved: Sequence[Change], refused: Collection[tuple]
) -> list[Proposal]:
    """The readings that replies propose of sentences in force and that are not proved to be equal, each of a sentence
    as a whole, that readers can be asked about: in names that there are, and new."""
    ids = {change.before[0] for change in unproved if change.kind == "split"}
    known, made = {p.name for p in state.known}, []
    rules = {rule.id: rule for rule in state.ruleset.rules}
    for clause in dict.fromkeys(rules[name].clause for name in wrong if name in ids):
        own = [rule for rule in rules.values() if rule.clause == clause]
        before = tuple(rule.id for rule in own if rule.id in ids)
        try:
            parts = [[syntax.parse(p.formula) for p in wrong[r.id].rules] if r.id in ids else [r.formula] for r in own]
        except syntax.FormulaError:
            continue
        wanted = tuple(part for some in parts for part in some)
        strange = {name for one in wanted for name in predicates(one)} - known
        fresh = {*wanted} != {*state.demanded(clause)} and ("correct", before, ()) not in refused
        if fresh and not strange and state.free(clause):
            made.append(Proposal("correct", before, (clause,), {clause: wanted}, wrong[before[0]].reason))
    return made


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


def prune(middle: Round, words: Setting, seen: set[str], refused: set[tuple]) -> tuple[State, list[Change]]:
    """Redundancy pruning, asked for group by group: merges of predicates and removal of rules; state and changes.

    Only groups with a reading among those `seen` by this round's refinement are asked about, so that a
    round costs what its budget says.  A merge that was refused before is not proposed again.  One that is not proved
    goes to the readers of the sentences that it changes (`rereading.merged`).
    """
    state, ruleset = middle.state, middle.ruleset
    known = physical.rules(state.whole.predicates, words.toolbox)
    groups = _groups(middle, words, known, seen, refused)
    several = [row for row in groups if len(row["predicates"]) > 1]
    answers = iter(words.llm.ask_all("merge_predicates", Merged, several))
    said = [next(answers) if len(row["predicates"]) > 1 else _repeated(row) for row in groups]
    replies = [reply for reply in said if isinstance(reply, Merged)]
    changes = [
        Change("merge", names, names, False, f"no reply: {reply.reason}")
        for row, reply in zip(groups, said, strict=True)
        if isinstance(reply, Unanswered) and (names := tuple(p["name"] for p in row["predicates"]))
    ]
    unproved: list[Pair] = []
    for pair in (pair for reply in replies for pair in reply.merges):
        change = None
        if {pair.keep, pair.drop} <= {p.name for p in ruleset.predicates}:
            ruleset, change = certify.merge(ruleset, pair.keep, pair.drop, pair.negated, known, pair.reason)
        if change is not None and (change.accepted or words.panel is None):
            changes.append(change)
        elif words.panel is not None and _pair_key(pair) not in refused:
            unproved.append(pair)
    state = replace(state, ruleset=ruleset)
    if unproved and words.panel is not None and words.policy is not None and state.found is not None:
        offered = [rereading.merged(state, p.keep, p.drop, p.negated, p.reason) for p in unproved]
        changes += [
            Change("merge", (p.keep, p.drop), (), False, "no reader can be asked: a person decided, or others imply it")
            for p, one in zip(unproved, offered, strict=True)
            if one is None
        ]
        proposals = [one for one in offered if one is not None]
        state, read = rereading.reread(state, proposals, words.policy, words.panel)
        changes += read
    ruleset = state.ruleset
    known = physical.rules(ruleset.predicates, words.toolbox)
    for repetition in (r for reply in replies for r in reply.redundant):
        rules = {rule.id: rule for rule in ruleset.rules}
        if {repetition.rule, *repetition.because} <= rules.keys():
            because = [rules[i] for i in repetition.because]
            ruleset, change = certify.prune(ruleset, rules[repetition.rule], because, known, repetition.reason)
            changes.append(change)
    return replace(state, ruleset=ruleset), changes


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

    whole = state.state.whole
    predicates = {p.name: p for p in whole.predicates}
    order, cosines = list(predicates), _cosines(whole.predicates, words)
    similar = [
        (order[i], order[j], round(float(cosines[i, j]), 3))
        for i, j in np.argwhere(np.triu(cosines >= words.similarity))
    ]
    graph = networkx.Graph()
    graph.add_nodes_from(predicates)
    graph.add_edges_from((a, b) for a, b, _ in similar)
    graph.add_edges_from(rule.predicates for rule in known)
    rows, batch, waiting = _rows(state, words), [], {*state.state.open}
    for group in networkx.connected_components(graph):
        names = [n for n in predicates if n in group]
        rules = [r for r in whole.rules if r.type == "action" and group & set(r.predicates)]
        if (len(names) > 1 or len(rules) > 1) and seen & {name for r in rules for name in (r.id, r.clause)}:
            inside = {n for r in rules for n in r.predicates} | group
            batch.append(
                {
                    "predicates": [rows[n] for n in names],
                    "rules": [_rule_row(r) | ({"open": True} if r.clause in waiting else {}) for r in rules],
                    "similar": [
                        [a, b, c] for a, b, c in similar if a in group and ("merge", frozenset((a, b))) not in refused
                    ],
                    "background": [syntax.render(r.formula) for r in known if inside.issuperset(r.predicates)],
                }
            )
    return _packed(batch) if words.panel else batch


def _packed(groups: Sequence[dict[str, list]]) -> list[dict[str, object]]:
    """Groups joined to questions of at most `PACKED` predicates, or of one group: each says what it is about."""
    made: list[dict[str, list]] = []
    for group in groups:
        if made and len(made[-1]["predicates"]) + len(group["predicates"]) <= PACKED:
            made[-1] = {key: [*some, *(row for row in group[key] if row not in some)] for key, some in made[-1].items()}
        else:
            made.append(group)
    return made


def _cosines(predicates: Sequence[Predicate], words: Setting) -> np.ndarray:
    """The cosine of every pair, shape (n, n); -1 between kinds and on the diagonal, which are no pairs."""
    if not predicates:
        return np.zeros((0, 0), dtype=np.float32)
    vectors = words.encoder.encode([describe(p) for p in predicates])
    kinds = np.array([p.kind for p in predicates])
    table = np.where(kinds[:, None] == kinds[None, :], vectors @ vectors.T, -1)
    np.fill_diagonal(table, -1)
    return table


def _measured(number: int, state: State, words: Setting) -> Round:
    found = conflicts(state.ruleset, physical.rules(state.ruleset.predicates, words.toolbox))
    return Round(number, state.ruleset, _vagueness(state.whole, words), conflicts=found, read=state)


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


def _pair_key(pair: Pair) -> tuple:
    return "merge", frozenset((pair.keep, pair.drop))


def _rule_row(rule: Rule) -> dict[str, object]:
    return {"id": rule.id, "text": rule.text, "quote": rule.quote, "formula": syntax.render(rule.formula)}


def _reading_rows(names: Sequence[str], state: State, words: Setting) -> dict[str, dict[str, object]]:
    """Readings as a model is shown them: a rule in force by its id, or what was read of an open sentence by its clause,
    with what the sentence stands under."""
    context = {str(row.pop("id")): row for row in readers.statements(words.policy)} if words.policy else {}
    rules, waits, waiting = {rule.id: rule for rule in state.ruleset.rules}, state.open, state.waiting.rules
    rows = {}
    for name in names:
        if name in rules:
            own = [rules[name]]
            row = {**context.get(rules[name].clause, {}), **_rule_row(rules[name])}
        else:
            account, one = waits[name]
            own = [rule for rule in (*rules.values(), *waiting) if rule.clause == name]
            readings = [[syntax.render(formula) for formula in choice.formulas] for choice in one.choices]
            told = {"id": name, "text": account.text, "quote": account.text, "open": account.reason}
            told |= {"readings": readings, "apart": list(account.apart), "missing": rereading.missing(state, name)}
            row = {**context.get(name, {}), **told}
        rows[name] = {**row, "predicates": list(dict.fromkeys(n for rule in own for n in rule.predicates))}
    return rows


def _rows(state: Round, words: Setting) -> dict[str, dict[str, object]]:
    """Every predicate as a model is shown it: words, vagueness, neighbours, and what it is bound to."""
    whole = state.state.whole
    predicates = whole.predicates
    disputed = state.read.found.words.disputed if state.read and state.read.found else {}
    nearest = np.argsort(-_cosines(predicates, words), axis=1, kind="stable")[:, :3]
    near = {
        p.name: [predicates[j].name for j in row if predicates[j].kind == p.kind and predicates[j] is not p]
        for p, row in zip(predicates, nearest, strict=True)
    }
    uses: dict[str, dict[str, None]] = {}
    for rule in whole.rules:
        for name in rule.predicates:
            uses.setdefault(name, {}).update(dict.fromkeys(a.name.replace("_", " ") for a in whole.actions(rule)))
    return {
        p.name: {
            "name": p.name,
            "kind": p.kind,
            "description": p.description,
            "vagueness": round(state.vagueness[p.name], 3),
            "neighbours": near[p.name],
            "used_by": list(uses.get(p.name, ())),
            "meaning": _meaning(p, words.toolbox),
            **({"disputed": disputed[p.name]} if p.name in disputed else {}),
        }
        for p in predicates
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
    if predicate.question:
        return {"question": predicate.question, "of": list(predicate.speakers)}
    if predicate.test is None:
        return {}
    known = physical.bound(predicate, toolbox)
    return {
        "test": cel.render(predicate.test),
        "field": {"type": known[0].type, "description": known[0].description} if known else {},
    }
