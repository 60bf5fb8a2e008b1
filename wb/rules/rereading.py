"""Changes of what a rule means: made where a sentence, read again by blind readers, says so, and nowhere else.

ShieldAgent (Sec. 3.2.3) has one model correct, rebind and merge.  Here such a proposal is only a reason to ask again:
its new words go into the vocabulary as any entry does (bound twice, blind), and readers who see neither the proposal
nor the old reading read the sentence over it (`extract.again`).  What they agree on settles a sentence that was open;
of one in force they have to agree on exactly what was proposed, and of a merge this holds for all sentences that had
the name that goes.  What a person decided is no more asked about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from wb.domain.events import Asked, Run
from wb.domain.policy import Policy
from wb.domain.tools import Toolbox
from wb.logic import formula as f
from wb.logic.decide import Word
from wb.logic.formula import Formula
from wb.models.client import LLM
from wb.rules import agreement, certify, decisions, extract, sentences, understood, vocabulary
from wb.rules.agreement import Agreement
from wb.rules.certify import Change
from wb.rules.extract import ASSUMED, MODEL, PARTLY, PERSON, Extract, Extracted, Panel
from wb.rules.readers import Reading
from wb.rules.rule import Predicate, Rule, RuleSet, toolbox
from wb.rules.sentences import Account
from wb.rules.vocabulary import Entries, Entry, NamedAct, NamedFact, Row, Vocabulary


@dataclass(frozen=True, slots=True)
class State:
    """The rules in force and, where the readings are at hand, what was read and became of every sentence."""

    ruleset: RuleSet
    found: Extracted | None = None
    accounts: tuple[Account, ...] = ()

    @property
    def of_clause(self) -> dict[str, tuple[Account, Extract]]:
        """Account and extract of each sentence, by its clause."""
        if self.found is None:
            return {}
        every = zip(self.found.clauses, self.accounts, self.found.extracts, strict=True)
        return {clause.id: (account, one) for clause, account, one in every}

    @property
    def open(self) -> dict[str, tuple[Account, Extract]]:
        """The sentences whose reading is open: not those that a person left so, nor those whose rule has a question."""
        readable = ("", PARTLY, ASSUMED)
        return {k: one for k, one in self.of_clause.items() if one[0].cls == "open" and one[0].grade in readable}

    @property
    def waiting(self) -> RuleSet:
        """The first reading of each open sentence as rules, which are not in force."""
        rules = tuple(
            Rule(f"{clause}?{k}", account.text, formula, "oblige", "action", clause, account.text)
            for clause, (account, one) in self.open.items()
            for k, formula in enumerate(one.choices[0].formulas if one.choices else (), 1)
        )
        return RuleSet(self.found.words.predicates, rules).without_unused() if self.found and rules else RuleSet()

    @property
    def whole(self) -> RuleSet:
        """The rules in force and, after them, those that wait."""
        names, more = {p.name for p in self.ruleset.predicates}, self.waiting
        fresh = tuple(p for p in more.predicates if p.name not in names)
        return RuleSet((*self.ruleset.predicates, *fresh), (*self.ruleset.rules, *more.rules))

    @property
    def known(self) -> tuple[Predicate, ...]:
        """The predicates of the rules in force and those of the vocabulary."""
        return _joined(self.found.words.enforced if self.found else (), self.ruleset.predicates)

    def demanded(self, clause: str) -> tuple[Formula, ...]:
        """What the rules in force of a sentence say."""
        return tuple(rule.formula for rule in self.ruleset.rules if rule.clause == clause)

    def free(self, clause: str) -> bool:
        """Whether the reading of a sentence may be replaced: nobody decided it, and pruning has not shared it out."""
        account = self.of_clause[clause][0] if clause in self.of_clause else None
        if account is None or account.grade in (PERSON, MODEL) or account.cls == "waived":
            return False
        own = [rule for rule in self.ruleset.rules if rule.clause == clause]
        names = {name for rule in own for name in (rule.id, *rule.parents)}
        strangers = [name for name in names if name.rsplit(".", 1)[0] != clause]
        return not strangers and names >= {*account.rules}


@dataclass(frozen=True, slots=True)
class Proposal:
    """Another reading of a sentence, or one name in place of another in several.

    `wanted` are, of sentences in force, the formulas that readers have to agree on; a merge takes the second name of
    `before` out of the vocabulary, for the first is said in its place, or its negation.
    """

    kind: Literal["correct", "settle", "merge"]
    before: tuple[str, ...]
    clauses: tuple[str, ...]
    wanted: Mapping[str, tuple[Formula, ...]]
    reason: str = ""
    negated: bool = False

    @property
    def drop(self) -> str:
        """The name that is said no more; empty but for a merge."""
        return self.before[1] if self.kind == "merge" else ""


def merged(state: State, keep: str, drop: str, negated: bool, reason: str) -> Proposal | None:
    """The proposal to say `keep`, or its negation, wherever `drop` is said; None where it cannot be put to readers."""
    known = {p.name: p for p in state.whole.predicates}
    if state.found is None or not {keep, drop} <= known.keys() or keep == drop:
        return None
    one, other = known[keep], known[drop]
    entries = {entry.name for entry in state.found.words.entries}
    if one.kind != other.kind or len(one.objects) != len(other.objects) or not {keep, drop} <= entries:
        return None
    own = dict.fromkeys(rule.clause for rule in state.ruleset.rules if drop in rule.predicates)
    wanted = {name: tuple(_said(part, keep, drop, negated) for part in state.demanded(name)) for name in own}
    if not (own or using(state, [drop])) or not all(map(state.free, own)):
        return None
    return Proposal("merge", (keep, drop), tuple(dict.fromkeys((*own, *using(state, [drop])))), wanted, reason, negated)


def _names(formulas: Iterable[Formula]) -> set[str]:
    return {name for one in formulas for name in f.predicates(one)}


def _said(formula: Formula, keep: str, drop: str, negated: bool) -> Formula:
    atoms = [f.Atom(name) for name in f.atoms(formula)]
    new = {atom: f.Atom(keep + atom.name.removeprefix(drop)) for atom in atoms if atom.predicate == drop}
    signed = {atom: f.Not(one) if negated else one for atom, one in new.items()}
    return certify.affirmative(f.substitute(formula, signed))


def rebound(state: State, rows: Iterable[Row], writers: Sequence[LLM]) -> tuple[State, list[Change]]:
    """The state with new entries of the vocabulary, and others in place of those that nothing tells or that are told in
    two ways, where a blind writer binds them alike; a predicate in force that nothing told is then told so.

    A name that is known keeps its words, which the blind writer is shown; none of a person's rules is bound anew."""
    words = state.found.words
    idle = {p.name for p in words.predicates if p.kind == "state" and p.test is None}
    settled = {entry.name for entry in words.entries if not entry.disputed} - idle
    settled |= {name for rule in state.ruleset.rules if not state.free(rule.clause) for name in rule.predicates}
    known = {e.name: {"description": e.predicate.description} for e in words.entries}
    fresh = {row.name: row.model_copy(update=known.get(row.name)) for row in rows if row.name not in settled}
    if not fresh:
        return state, []
    asked = {e.name for e in words.entries if e.predicate.question} & fresh.keys()
    box = replace(words.toolbox, state=tuple(field for field in words.toolbox.state if field.name not in asked))
    rest = tuple(entry for entry in words.entries if entry.name not in fresh)
    acts = [row for row in fresh.values() if isinstance(row, NamedAct)]
    facts = [row for row in fresh.values() if isinstance(row, NamedFact)]
    wanted = Entries(acts=acts, facts=facts)
    made = vocabulary.join(Vocabulary(rest, vocabulary.in_session(box)), wanted, writers)
    taken = {e.name: e for e in made.entries if e.name in fresh and not e.disputed}
    old = {entry.name for entry in words.entries}
    came = {entry.name: entry.disputed or entry.by for entry in made.entries}
    changes = [
        Change("bind", (name,), (name,), name in taken, f"bound blind: {came.get(name, 'a free name was required')}")
        for name in fresh
    ]
    kept = tuple(taken.get(entry.name, entry) for entry in words.entries)
    added = tuple(entry for name, entry in taken.items() if name not in old)
    words = vocabulary.of_entries((*kept, *added), words.toolbox if asked else made.toolbox)
    predicates = _joined(words.enforced, state.found.predicates)
    told = toolbox(words.toolbox, RuleSet(predicates))
    idle = {p.name for p in state.ruleset.predicates if not p.tools and p.test is None}
    by = {p.name: p for p in words.enforced if p.name in idle and p.name in taken}
    found = replace(state.found, vocabulary=words, predicates=predicates, toolbox=told)
    return replace(state, ruleset=certify.exchange(state.ruleset, by), found=found), changes


def using(state: State, names: Iterable[str]) -> set[str]:
    """The clauses of open sentences some reading of which says one of the names."""
    wanted = set(names)
    return {k for k, (_, one) in state.open.items() if any(_names(c.formulas) & wanted for c in one.choices)}


def blocked(state: State, runs: Iterable[Run]) -> dict[str, int]:
    """How many calls of recorded runs each reading may block: an open sentence those of the tools that it holds, by its
    clause, and a rule those that the rules of its sentence can forbid, by its id."""
    calls = Counter(event.what.call.tool for run in runs for event in run.events if isinstance(event.what, Asked))
    many = {clause: sum(calls[tool] for tool in one.tools) for clause, (one, _) in state.of_clause.items()}
    return many | {rule.id: many.get(rule.clause, 0) for rule in state.ruleset.rules}


def missing(state: State, clause: str) -> list[str]:
    """What readers of a sentence found no name for."""
    every = (some[clause] for some in (state.found.readings or {}).values() if clause in some) if state.found else ()
    return list(dict.fromkeys(f"{m.kind}: {m.description}" for one in every for m in one.missing))


def reread(state: State, proposals: Sequence[Proposal], policy: Policy, panel: Panel) -> tuple[State, list[Change]]:
    """The state after blind readers have read the sentences of the proposals over the vocabulary, without the names
    that merges drop: with what they agree on where it settles an open sentence, or was proposed of one in force.

    Raises:
        ModelError: a request failed in a way that all further ones would.
    """
    asked = list(dict.fromkeys(clause for one in proposals for clause in one.clauses))
    if not asked or state.found is None:
        return state, []
    words, predicates, box = state.found.words, state.found.predicates, state.found.toolbox
    drops = {one.drop for one in proposals} - {""}
    shown = words._replace(entries=tuple(entry for entry in words.entries if entry.name not in drops))
    heard = extract.again(policy, shown, panel, asked, state.found.binding)
    judged = {name: _judged(state, name, heard[name], proposals, predicates, box) for name in asked if name in heard}
    good = {name for name, (yes, _) in judged.items() if yes}
    refused = {k for k, one in enumerate(proposals) if not good.issuperset(one.clauses)}
    while True:  # a sentence is taken as a whole: with a merge that is refused goes all that its sentences were told
        good -= {name for k in refused if proposals[k].kind == "merge" for name in proposals[k].clauses}
        more = {k for k, one in enumerate(proposals) if not good.issuperset(one.clauses)}
        if more == refused:
            break
        refused = more
    gone = {one.drop for k, one in enumerate(proposals) if k not in refused and one.drop}
    words = words._replace(entries=tuple(entry for entry in words.entries if entry.name not in gone))
    clauses = [clause.id for clause in state.found.clauses]
    extracts = tuple(heard[n] if n in good else e for n, e in zip(clauses, state.found.extracts, strict=True))
    found = replace(state.found, extracts=extracts, vocabulary=words)
    after = _taken(state, found, policy, good)
    changes = []
    for k, one in enumerate(proposals):
        why = "; ".join(dict.fromkeys(judged[name][1] for name in one.clauses if name in judged))
        if k in refused and all(judged.get(name, (False,))[0] for name in one.clauses):
            why = "refused with a merge that a sentence of it would need"
        ids = one.before[:1] if one.drop else tuple(r.id for r in after.ruleset.rules if r.clause in one.clauses)
        changes.append(Change(one.kind, one.before, () if k in refused else ids, k not in refused, why, one.reason))
    return after, changes


def _judged(
    state: State,
    clause: str,
    made: Extract,
    proposals: Sequence[Proposal],
    predicates: Sequence[Predicate],
    box: Toolbox,
) -> tuple[bool, str]:
    """Whether what readers made of a sentence is taken, and why, with the run that tells it from what was in force."""
    own = [one for one in proposals if clause in one.clauses]
    before = state.demanded(clause)
    if made.cls == "open":
        return False, f"blind readers: {made.reason}"
    apart = same(before, made.formulas, predicates, box)
    told = _run(apart.apart, (*before, *made.formulas), predicates)
    taken = f"blind readers: {made.grade or made.reason}" + f"; before and after part: {told}" * bool(told)
    if clause in state.open:
        whole = same((*before, *made.formulas), made.formulas, predicates, box).outcome == "agreed"
        return whole, taken if whole else "blind readers leave out what is in force of it"
    merging = any(one.drop for one in own)
    if apart.outcome == "agreed" and not merging and len(before) == len(made.formulas):
        return False, "blind readers agree on what is in force"
    wanted = next((one.wanted[clause] for one in own if one.kind == "correct"), None)
    for one in (one for one in own if one.kind == "merge"):
        wanted = tuple(_said(part, *one.before, one.negated) for part in wanted or before)
    if same(wanted, made.formulas, predicates, box).outcome != "agreed":
        return False, f"blind readers agree on neither what is in force nor what was proposed; they part: {told}"
    return True, taken


def same(one: Sequence[Formula], other: Sequence[Formula], predicates: Sequence[Predicate], box: Toolbox) -> Agreement:
    """Whether two lists of formulas leave the guard of each tool the same, and else a run that tells them apart."""
    words = vocabulary.of_entries([Entry(p) for p in predicates], box)
    return agreement.compare(Reading(tuple(one)), Reading(tuple(other)), words)


def _run(run: Word | None, formulas: Sequence[Formula], predicates: Sequence[Predicate]) -> str:
    return "; then ".join(understood.steps(run, formulas, RuleSet(tuple(predicates)))) if run else ""


def _joined(first: Iterable[Predicate], second: Iterable[Predicate]) -> tuple[Predicate, ...]:
    return tuple({p.name: p for p in (*second, *first)}.values())


def _taken(state: State, found: Extracted, policy: Policy, clauses: set[str]) -> State:
    """The state with the new readings of some sentences; a rule that they replace is a parent of those in its place,
    and gives them its force, of several the strongest: a reading says nothing of that."""
    if not clauses:
        return replace(state, found=found)
    classed = sentences.classify(policy, found)
    fresh = [rule for rule in classed.ruleset.rules if rule.clause in clauses]
    old = [rule for rule in state.ruleset.rules if rule.clause in clauses]
    kept = [rule for rule in state.ruleset.rules if rule.clause not in clauses]
    names = {name for rule in fresh for name in rule.predicates}
    own = RuleSet(tuple(p for p in classed.ruleset.predicates if p.name in names), tuple(fresh))
    held = {name for rule in kept for name in rule.predicates}
    base = RuleSet(tuple(p for p in state.ruleset.predicates if p.name in held), tuple(kept))
    joined, fresh = decisions.joined(base, own, found.toolbox)
    parents: dict[str, tuple[str, ...]] = {}
    for rule in old:
        parents[rule.clause] = (*parents.get(rule.clause, ()), rule.id, *rule.parents)
    force = {rule.clause: rule.force for rule in sorted(old, key=lambda rule: certify.FORCES.index(rule.force))[::-1]}
    fresh = [replace(r, force=force.get(r.clause, r.force)) for r in fresh]
    fresh = [replace(r, parents=tuple(n for n in dict.fromkeys(parents.get(r.clause, ())) if n != r.id)) for r in fresh]
    order = {clause.id: k for k, clause in enumerate(found.clauses)}
    rules = sorted((*kept, *fresh), key=lambda rule: order.get(rule.clause, len(order)))
    accounts = tuple(
        new if clause.id in clauses else was
        for clause, new, was in zip(found.clauses, classed.accounts, state.accounts, strict=True)
    )
    return State(RuleSet(joined.predicates, tuple(rules), state.ruleset.undecided), found, accounts)
