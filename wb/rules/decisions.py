"""Decisions of a person about sentences: one YAML file beside the policy, `decisions.yaml`.

    decisions:
      - id: "3f2a90c1b7de"
        text: Session notes must be deleted within 24 hours.
        decision: waive            # or: not a constraint, reject, rule
        why: the archive deletes them
      - id: "0b51c2aa93f4"
        text: Refunds over $100 need a manager.
        decision: rule
        why: written by hand
        predicates:                # as in a rule file
          refund: {kind: action, tools: [refund_order]}
          manager: {kind: state, test: state.role == "manager"}
        rules:
          - {formula: ALWAYS (refund IMPLIES manager), modality: permit_only_if}

A draft holds what was read of an open sentence as well, under `read`, as predicates and rules, and above them what they
say, made from the formulas and tests alone, unless an act in it has no tool or it says the opposite
(`sentences.offered`): `decision: accept` takes
these for a person's own, unchanged; every other decision leaves them aside.  `part: WORDS` waives these
words of the sentence alone: beside `waive` the rules that account for the rest stay in force, beside `accept` and
`rule` those that are written, but for the ones of `read` that lack a tool or a field for words of the part alone.

An entry without a decision changes nothing; one that rejects what was read leaves its sentence open.  The id is made
of the words and of what they are read with, titles, list openings, row and columns, and what an answer, a step or a
word that points back follows: a decision whose sentence was changed, or moved under others, is stale, and has no
effect either.  The id may be left out where the text is that of exactly one sentence; such a decision does not notice
other titles or another opening.  A state predicate without a test is the boolean field of its name.

Beside the decisions, `struck` names examples that a model wrote from a sentence (`wb.guards.scenes`) and that are
wrong: they are tests no more and speak against no rule.

    struck:
      - id: "5be2a0f4c913"
        text: Refunds over $100 need a manager.
        why: in the example the manager himself asks
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Protocol

import pydantic

from wb import paths
from wb.domain.clauses import named, pieces
from wb.domain.document import Sentence
from wb.domain.policy import Policy
from wb.domain.tools import Field, Toolbox, schemas
from wb.logic import cel, facts, formula, syntax, types
from wb.logic.formula import windows
from wb.rules import accounting, called, operators, rulefile, words
from wb.rules.rule import Predicate, RuleSet, rename
from wb.rules.rulefile import Form, Loc, PredicateForm, RuleForm, Written, decoded, read

ACCEPTED = "accepted as it was read"


class DecisionError(ValueError):
    """A file is not one of decisions; the message says on which line, what was required and what was got."""


class Reading(Form):
    """What was read of a sentence: predicates and rules as in a rule file, what the reader left undecided beside them,
    and their digest as a draft wrote them."""

    predicates: dict[str, PredicateForm] = {}
    rules: list[RuleForm] = []
    undecided: list[str] = []
    digest: str = ""

    def drafted(self, id: str, text: str) -> str:
        """The digest of what stands here, as read of that sentence."""
        said = self.model_dump(mode="json", exclude={"digest"} if self.undecided else {"digest", "undecided"})
        return paths.digest(json.dumps([id, _folded(text), said], sort_keys=True))[:12]


class Ruling(Form):
    """What a person decided about one sentence, or about a `part` of it, and why; `predicates` and `rules` as in a rule
    file, `read` as a draft offers it, word for word."""

    id: str = pydantic.Field(default="", pattern=r"^[0-9a-f]{12}(-[2-9]|-[1-9]\d+)?$")
    text: str = pydantic.Field(min_length=1)
    decision: Literal["waive", "not a constraint", "reject", "rule", "accept"] | None = None
    why: str | None = None
    part: str | None = pydantic.Field(default=None, min_length=1)
    predicates: dict[str, PredicateForm] = {}
    rules: list[RuleForm] = []
    read: Reading | None = None

    def speaks_of(self, text: str) -> bool:
        """Whether the decision was made about these words, blanks folded."""
        return self.text.split() == text.split()

    @property
    def partly(self) -> bool:
        """Whether a part of the sentence is waived, and the rest stands as it was read."""
        return self.decision == "waive" and self.part is not None

    def taken(self) -> Ruling:
        """The same with the rules that are accepted as its own; of a sentence that is waived in part, without those
        that lack a tool or a field for words of that part alone."""
        if self.decision != "accept" or self.read is None:
            return self
        kept = [rule for rule in self.read.rules if self.part is None or not self._of_part(rule)]
        names = {name for rule in kept for name in _names(rule)}
        own = {name: row for name, row in self.read.predicates.items() if self.part is None or name in names}
        new = {"decision": "rule", "why": self.why or ACCEPTED, "predicates": own, "rules": kept, "read": None}
        return self.model_copy(update=new)

    def _of_part(self, rule: RuleForm) -> bool:
        """Whether a rule lacks a tool or a field, and whatever lacks one is called by words of the part alone."""
        rows = {name: self.read.predicates.get(name) for name in _names(rule)}
        lacking = [name for name, row in rows.items() if row and not (row.tools if row.kind == "action" else row.test)]
        return within(self.part or "", self.text, lacking)


def within(part: str, text: str, names: Iterable[str]) -> bool:
    """Whether there are names, and what each has of the words of a sentence stands in that part of it, and some of them
    nowhere else."""
    before, _, behind = _folded(text).partition(_folded(part))
    mine, others = set(words.stems(part)), {*words.stems(before), *words.stems(behind)}
    called = [set(words.stems(name)) & (mine | others) for name in names]
    return bool(called) and all(those <= mine and those - others for those in called)


def _names(rule: RuleForm) -> tuple[str, ...]:
    """The predicates of a rule; none where its formula cannot be read, which is told elsewhere."""
    try:
        return formula.predicates(syntax.parse(rule.formula))
    except syntax.FormulaError:
        return ()


class Struck(Form):
    """An example that a person struck, by its id, with the words of the sentence that it rests on, and why."""

    id: str = pydantic.Field(pattern=r"^[0-9a-f]{12}$")
    text: str = pydantic.Field(min_length=1)
    why: str


class _File(Form):
    decisions: list[Any] = []  # each a `Ruling`
    words: list[Any] = []  # each a `wording.Word`
    struck: list[Any] = []  # each a `Struck`


class Read(Protocol):
    """What a draft says of a sentence (`sentences.Account`)."""

    id: str
    text: str
    start: int
    place: str
    cls: str
    reason: str
    tools: tuple[str, ...]


def place(policy: Path) -> Path:
    """Where the decisions about a policy stand: in its folder, or beside its single document."""
    return paths.decisions(policy)


def load(path: Path, policy: Policy) -> tuple[Ruling, ...]:
    """The decisions of a file about a policy; none where there is no file.

    Raises:
        DecisionError: it cannot be read, is not of the form, or speaks of what the policy does not have.
    """
    return loads(decoded(path, DecisionError), policy, source=path.name) if path.exists() else ()


def loads(text: str, policy: Policy, *, source: str = "decisions.yaml") -> tuple[Ruling, ...]:
    """The decisions of a text that are made, each with its id: entries without a decision are left out.

    Raises:
        DecisionError: with all mistakes, a line each.
    """
    written = read(text, source, DecisionError)
    if written.data is None:
        return ()
    texts, wrong = named(policy), []
    every = dict(zip(texts, pieces(policy), strict=True))
    found: dict[int, Ruling] = {}
    for i, row in enumerate(written.checked(_File).decisions):
        one, mistakes = written.form(Ruling, row, ("decisions", i))
        if one is not None:
            one, mistakes = _identified(one, texts, written, ("decisions", i))
            mistakes += [f"{written.where(('decisions', i))}: {lacking}" for lacking in _unexplained(one)]
            mistakes += [f"{written.where(('decisions', i))}: {odd}" for odd in _unaccepted(one)]
            mistakes += [f"{written.where(('decisions', i))}: {why}" for why in _unfit(one, every, policy.toolbox)]
            one = one.taken()
            mistakes += _mistakes(one, policy, texts, written, ("decisions", i))
            if one.id and one.id in {other.id for other in found.values()}:
                mistakes.append(
                    f"{written.where(('decisions', i))}: one decision a sentence was required; got {one.id!r} again"
                )
            found[i] = one
        wrong += mistakes
    wrong += _struck(written)[1]
    if wrong:
        raise DecisionError("\n".join(wrong))
    return tuple(one for one in found.values() if one.decision is not None)


def struck(path: Path) -> tuple[Struck, ...]:
    """The examples that a person struck in a file of decisions; none where there is no file.

    Raises:
        DecisionError: it cannot be read, or is not of the form.
    """
    if not path.exists():
        return ()
    found, wrong = _struck(read(decoded(path, DecisionError), path.name, DecisionError))
    if wrong:
        raise DecisionError("\n".join(wrong))
    return tuple(found)


def _struck(written: Written) -> tuple[list[Struck], list[str]]:
    """The struck examples of a file, and what is wrong with its entries."""
    found, wrong = [], []
    for i, row in enumerate(written.checked(_File).struck if written.data is not None else ()):
        one, mistakes = written.form(Struck, row, ("struck", i))
        wrong += mistakes
        if one is None:
            continue
        at = written.where(("struck", i))
        if not any(letter.isalnum() for letter in one.why):
            wrong.append(f"{at}: a reason 'why' was required for a struck example; got none")
        if one.id in {other.id for other in found}:
            wrong.append(f"{at}: one entry an example was required; got {one.id!r} again")
        found.append(one)
    return found, wrong


FORM = """\
# Copy what you decide into decisions.yaml beside the policy. Each entry needs a decision and a reason why:
#     decision: waive              # it stays a constraint, but no guard keeps it: say who does
#     decision: not a constraint   # it demands nothing of any call
#     decision: reject             # what was read of it is wrong: it stays open until its rule is written
#     decision: accept             # what stands under `read`, unchanged, is what it says; needs no reason
#     decision: rule               # then write it, as in a rule file:
#     predicates:
#       does_it: {kind: action, tools: [...]}
#       may_do_it: {kind: state, test: state.age >= 18}
#     rules:
#       - {formula: ALWAYS (does_it IMPLIES may_do_it), modality: permit_only_if}
# With `part: WORDS` of the sentence beside waive, accept or rule, these words alone are waived.
# A test is CEL over state.FIELD and call.ARGUMENT, nested as they are: limits, lists, sums, times and text.
# `read as` is what stands under `read` in English, made from its formulas and tests: compare it with the sentence.
"""


def draft(
    readings: Iterable[Read], toolbox: Toolbox, read: Mapping[str, RuleSet] = {}, words: Sequence[str] = ()
) -> str:
    """The open sentences as a file of decisions to fill in, those that block most tools first.

    `read` is what was read of some, by their ids; `words` are the lines of `wording.lines`, each commented out.  It is
    a valid file that decides nothing.  Write it beside the artifacts, never over a person's file.
    """
    waiting = sorted((r for r in readings if r.cls == "open"), key=lambda r: (-len(r.tools), r.start))
    total = len(toolbox.tools)
    head = f"# {len(waiting)} sentences are open: a tool that one of them bears on is not allowed.\n{FORM}"
    head += "\n".join(("words:", *(f"  # {line}" for line in words), "")) if words else ""
    if not waiting:
        return f"{head}decisions: []\n"
    return f"{head}decisions:\n" + "\n".join(_entry(r, total, read.get(r.id)) for r in waiting)


def _entry(reading: Read, total: int, read: RuleSet | None) -> str:
    """One open sentence of the draft: what it blocks, why, where it stands, what is to be filled in, what was read."""
    import yaml  # here, not above: whoever loads guards writes no draft

    from wb.rules import understood

    said = " ".join(reading.text.split())
    quoted = yaml.safe_dump(said, default_style='"', allow_unicode=True, width=10**9).strip()
    notes = [
        f"blocks all {total} tools"
        if len(reading.tools) == total
        else f"blocks {len(reading.tools)} of {total} tools: {', '.join(reading.tools) or 'none'}",
        f"open because: {reading.reason}",
        *([f"stands {reading.place}"] if reading.place else []),
        *([f"read as: {understood.words(rule, read)}" for rule in read.rules] if read is not None else []),
    ]
    toolless = _toolless(read) if read is not None else []
    notes += _without_field(said, read) if read is not None and not toolless else []
    notes += (
        [f"read, but to be accepted it needs a tool that does {', '.join(map(repr, toolless))}"] if toolless else []
    )
    if read is not None and read.rules and not toolless:
        notes += [f"to accept the rest, {_left(said, one.reason)}: {one.reason}" for one in read.undecided]
    rows = [f"  # {''.join(c if c.isprintable() else ' ' for c in ' '.join(note.split()))}" for note in notes]
    rows += [f'  - id: "{reading.id}"', f"    text: {quoted}", "    decision:", "    why:"]
    if read is not None and read.rules and not toolless:
        offered = rulefile.written({"read": offer(read, reading.id, reading.text)})
        rows += [f"    {line}" for line in offered.rstrip("\n").split("\n")]
    return "\n".join(rows) + "\n"


def _without_field(said: str, read: RuleSet) -> list[str]:
    """What it takes to accept rules with facts that no field decides: a part that holds the words of these facts, and
    rules beside them; or that none will do."""
    from wb.rules import understood

    untold = _untold(read)
    lacking = {rule.id: names for rule in read.rules if (names := [n for n in rule.predicates if n in untold])}
    notes = []
    for rule in read.rules:
        if rule.id in lacking:
            part = holding(said, lacking[rule.id]) if len(lacking) < len(read.rules) else ""
            how = f"accepted with a `part` that holds “{part}”, no guard keeps this"
            other = "`accept` leaves it open: declare such a field, write the rule or waive the sentence"
            notes.append(
                f"no field decides {', '.join(map(repr, lacking[rule.id]))}: {how if part else other}: "
                f"{understood.words(rule, read)}"
            )
    return notes


def holding(text: str, names: Iterable[str]) -> str:
    """The shortest words of a sentence that a waived part has to hold so that facts of these names are of it alone
    (`within`); empty where no part will do."""
    names, said = list(names), _folded(text)
    wanted = {one for name in names for one in words.stems(name)} & {*words.stems(said)}
    tokens = [(*m.span(), {*words.stems(m.group())}) for m in re.finditer(r"[^\s.,;:]+(?:[.,;:][^\s.,;:]+)*", said)]
    found = []
    for i, (start, _, mine) in enumerate(tokens):
        left, end = set(wanted) if mine & wanted else set(), start
        for _, behind, own in tokens[i:] if left else ():
            left, end = left - own, behind
            if not left:
                break
        part = "" if left else said[start:end]
        rest = words.stems(said.replace(part, " ")) if part else ()
        if rest and within(part, said, names) and not _unaccepted(Ruling(text=said, decision="waive", part=part)):
            found.append(part)
    return min(found, key=len, default="")


def acceptable(read: RuleSet) -> bool:
    """Whether the one word `accept` brings what was read into force: it has a rule, each act of it is a tool's, a field
    decides each fact, and nothing was left undecided."""
    return bool(read.rules) and not (_toolless(read) or _untold(read) or read.undecided)


def counted(read: Mapping[str, RuleSet], decided: Iterable[Ruling]) -> dict[str, int]:
    """How many sentences that nobody decided have a reading that one word accepts (`read`), and how many one whose acts
    are all a tool's, but which lacks a field or leaves a part undecided (`lacking`)."""
    names = {one.id for one in decided}
    waiting = [one for name, one in read.items() if name not in names and one.rules and not _toolless(one)]
    found = sum(map(acceptable, waiting))
    return {"read": found, "lacking": len(waiting) - found}


def _untold(read: RuleSet) -> set[str]:
    """The facts that no field decides."""
    return {p.name for p in read.predicates if p.kind == "state" and p.test is None}


def _toolless(read: RuleSet) -> list[str]:
    """The acts that no tool performs."""
    return [p.name for p in read.predicates if p.kind == "action" and not p.tools]


def form(ruleset: RuleSet) -> dict[str, object]:
    """Predicates and rules as an entry says them."""
    return {
        "predicates": {p.name: _said(p) for p in ruleset.predicates},
        "rules": [{"formula": syntax.render(one.formula), "modality": one.modality} for one in ruleset.rules],
    }


def offer(ruleset: RuleSet, id: str, text: str) -> dict[str, object]:
    """Predicates and rules as a draft says what was read of a sentence: with their digest, so that they are accepted as
    they were."""
    said = form(ruleset)
    said |= {"undecided": [one.reason for one in ruleset.undecided]} if ruleset.undecided else {}
    return {**said, "digest": Reading(**said).drafted(id, text)}


def _said(one: Predicate) -> dict[str, object]:
    said: dict[str, object] = {"kind": one.kind}
    said |= {"tools": list(one.tools)} if one.tools else {}
    said |= {"test": cel.render(one.test)} if one.test is not None else {}
    return said | ({"objects": [cel.render(path) for path in one.objects]} if one.objects else {})


DECIDED = "decided-"


def clause_id(sentence: str) -> str:
    """The clause that a person's rules for a sentence are of."""
    return f"{DECIDED}{sentence}"


def decided(clause: str) -> bool:
    """Whether a clause is one of a person's rules."""
    return clause.startswith(DECIDED)


def join(ruleset: RuleSet, decisions: Iterable[Ruling], toolbox: Toolbox) -> RuleSet:
    """The rule set with the rules that a person wrote, each quoting its sentence.

    Predicates of the same name and binding are one; another of a name that is taken gets a number.
    """
    for decision in decisions:
        if decision.decision == "rule":
            ruleset = _joined(ruleset, decision, toolbox)
    return ruleset


def _joined(ruleset: RuleSet, decision: Ruling, toolbox: Toolbox) -> RuleSet:
    own = fragment(decision)
    predicates, names = list(ruleset.predicates), {}
    for p in (_told(p, toolbox) for p in own.predicates):
        same = next((q for q in predicates if q.name == p.name and _binding(q) == _binding(p)), None)
        if same is None:
            name, number = p.name, 2
            while any(q.name == name for q in predicates):
                name, number = f"{p.name}_{number}", number + 1
            predicates.append(replace(p, name=name))
            names[p.name] = name
    rules = tuple(replace(rule, formula=rename(rule.formula, names)) for rule in own.rules)
    return replace(ruleset, predicates=tuple(predicates), rules=(*ruleset.rules, *rules))


def _told(predicate: Predicate, toolbox: Toolbox) -> Predicate:
    """The predicate with the field of its name as its test, where it has none and the state has that field."""
    field = next((one for one in toolbox.state if one.name == predicate.name), None)
    if predicate.kind != "state" or predicate.test is not None or field is None or field.type != "boolean":
        return predicate
    return replace(predicate, test=facts.Path(("state", field.name)))


def fragment(decision: Ruling, written: Written | None = None, loc: Loc = ()) -> RuleSet:
    """The rules of a decision as a rule set of their own; `DecisionError` where they are none, at its place."""
    clause = clause_id(decision.id)
    written = written or Written(None, {}, f"sentence {decision.id}", DecisionError)
    rules = []
    for i, row in enumerate(decision.rules):
        rule = written.rule(row, f"{clause}.{i + 1}", (*loc, "rules", i))
        text, quote = rule.text or decision.text, rule.quote or decision.text
        rules.append(replace(rule, clause=clause, text=text, quote=quote))
    predicates = written.predicates(decision.predicates, loc)
    try:
        return RuleSet(predicates, tuple(rules))
    except ValueError as error:
        written.refuse(loc, error)


def decide(
    reading: Read,
    decision: str | None,
    why: str,
    rules: str,
    policy: Policy,
    *,
    source: str = "the rule",
    part: str = "",
) -> Ruling:
    """A decision about a sentence, or beside a `part` of it that is waived; `rules` is a text as of an entry, with its
    keys `predicates` and `rules`, or empty.

    Raises:
        DecisionError: it could not stand in a file of decisions about the policy; the lines are those of `rules`.
    """
    written = read(rules, source, DecisionError)
    given = {} if written.data is None else written.data
    if not isinstance(given, dict) or given.keys() - {"predicates", "rules"}:
        got = sorted(given.keys() - {"predicates", "rules"}) if isinstance(given, dict) else type(given).__name__
        raise DecisionError(f"{source}: a mapping with the keys ['predicates', 'rules'] was required; got {got}")
    row = {"id": reading.id, "text": reading.text, "why": why or None, **given}
    row |= {"decision": decision} if decision is not None else {}
    row |= {"part": part} if part else {}
    one, wrong = written.form(Ruling, row)
    if one is not None:
        wrong += [*_unexplained(one), *_unaccepted(one), *_mistakes(one, policy, named(policy), written, ())]
    if wrong:
        raise DecisionError("\n".join(wrong))
    return one


def _binding(predicate: Predicate) -> tuple:
    return predicate.kind, predicate.tools, predicate.test, predicate.objects


def _identified(one: Ruling, texts: Mapping[str, str], written: Written, loc: Loc) -> tuple[Ruling, list[str]]:
    """The decision with the id of the one sentence of its text, where it names none."""
    if one.id or one.decision is None:
        return one, []
    found = [name for name, text in texts.items() if one.speaks_of(text)]
    if len(found) == 1:
        return one.model_copy(update={"id": found[0]}), []
    got = f"several, {found}" if found else f"none that says {one.text[:80]!r}"
    return one, [
        f"{written.where((*loc, 'text'))}: without an id, the words of exactly one sentence were required; got {got}"
    ]


def _unexplained(one: Ruling) -> list[str]:
    """That a decision has no reason, if it has none."""
    explained = one.decision in (None, "accept") or any(letter.isalnum() for letter in one.why or "")
    return [] if explained else [f"a reason 'why' was required for {one.decision!r}; got none"]


def _unaccepted(one: Ruling) -> list[str]:
    """What of the reading or the part that an entry names does not go with its decision."""
    wrong = []
    if one.decision == "accept" and (one.read is None or not one.read.rules):
        wrong.append("what was read was required under 'read' for 'accept'; got no rules")
    if one.decision == "accept" and (one.rules or one.predicates):
        wrong.append("no rules beside 'read' were required for 'accept'; got some: write 'rule' to use them")
    if one.decision == "accept" and one.read is not None and one.read.rules:
        if one.read.digest != one.read.drafted(one.id, one.text):
            wrong.append(
                "what stands under 'read' was required as a draft wrote it of this sentence, with its digest; it was "
                "changed: write 'rule' with a reason for rules of your own"
            )
        if not one.taken().rules:
            wrong.append("with this part nothing is left of what was read: write 'rule' with what the rest says")
    if one.part is None:
        return wrong
    if one.decision not in ("waive", "accept", "rule"):
        wrong.append(f"a part goes with 'waive', 'accept' or 'rule'; got {one.decision!r}")
    elif len(standing := _places(one.part, one.text)) != 1:
        several = f", which stand there {len(standing)} times" if standing else ""
        wrong.append(f"a part was required in the words of the sentence, once; got {one.part!r}{several}")
    elif _folded(one.part).strip(" .,;:") == _folded(one.text).strip(" .,;:"):
        wrong.append("less than the whole sentence was required as a part; waive it without one")
    elif signs := operators.loose(_folded(one.part), _folded(one.text)):
        wrong.append(f"a part that negates or excepts was required to be a clause with its verb; got {signs!r} alone")
    return wrong


def _unfit(one: Ruling, every: Mapping[str, Sentence], toolbox: Toolbox) -> list[str]:
    """Why a reading that is accepted does not say its sentence: it says half of it, or the opposite."""
    said = every.get(one.id)
    if one.decision != "accept" or one.read is None or said is None or not one.speaks_of(said.text):
        return []
    try:
        own = fragment(one.taken())
    except DecisionError:
        return []  # its mistakes are told elsewhere
    around = (*said.stems, *(cell for _, cell in said.row))
    why = accounting.turned(said.said, around, own.rules, own.predicates, toolbox) if own.rules else ()
    wrong = [f"a reading that a draft offers was required for 'accept'; got one that is turned round: {w}" for w in why]
    return [*unsettled(said.said, one.read.undecided, one.part, own, toolbox), *wrong]


def unsettled(text: str, undecided: Iterable[str], part: str | None, read: RuleSet, toolbox: Toolbox) -> list[str]:
    """What keeps a reading of half a sentence from being accepted: what was left undecided, unless a part is waived
    that holds all words of the sentence that the reason for it quotes, and some that no rule carries.  No part does
    where the reason quotes none."""
    said, mine = _folded(text).lower(), _folded(part or "")
    beside = called.unspent(words.plain(mine), called.carried(read.predicates, toolbox))
    return [
        "a `part` of the sentence that holds what the reader left undecided was required to accept the rest; got "
        f"{repr(part) if part else 'none'}: {why}; waive that part, or write 'rule' with all that the sentence says"
        for why in undecided
        for told in [_quoted(said, why)]
        if not told or not beside or any(quoted not in mine.lower() for quoted in told)
    ]


def _quoted(said: str, why: str) -> list[str]:
    """The words of a sentence that a reason quotes."""
    return [quoted for quoted in map(str.lower, quotes(why)) if quoted in said.lower()]


def _left(said: str, why: str) -> str:
    """What has to be done about what was left undecided of a sentence, for that reason."""
    if _quoted(said, why):
        return "name the `part` that holds what is undecided"
    return "write its rules: it is not said of which words it is undecided"


def _places(part: str, text: str) -> list[re.Match[str]]:
    """Where a part stands in a text, blanks folded, each as whole words."""
    return list(re.finditer(rf"(?:\b|(?=\W)){re.escape(_folded(part))}(?:\b|(?<=\W))", _folded(text)))


def without(text: str, part: str) -> str:
    """A text without a part of it, blanks folded; the same where the part does not stand in it as whole words."""
    found = _places(part, text)
    said = _folded(text)
    return _folded(f"{said[: found[0].start()]} {said[found[0].end() :]}") if found else said


def quotes(reason: str) -> tuple[str, ...]:
    """The words that a reason quotes, blanks folded."""
    return tuple(map(_folded, re.findall(r"(?<!\w)['\"“]([^'\"“”]{2,})['\"”](?!\w)", reason)))


def _folded(text: str) -> str:
    return " ".join(text.split())


def _mistakes(one: Ruling, policy: Policy, texts: Mapping[str, str], written: Written, loc: Loc) -> list[str]:
    """What an entry lacks that its decision needs, or has and cannot use; of a stale one only what its form tells."""
    if one.decision is None:
        return []
    wrong = []
    if (one.decision == "rule") != bool(one.rules):
        need = "at least one rule" if one.decision == "rule" else "no rules"
        wrong.append(f"{written.where(loc)}: {need} was required for {one.decision!r}; got {len(one.rules)}")
    if one.predicates and not one.rules:
        wrong.append(f"{written.where(loc)}: rules over the predicates were required; got none")
    if others := {rule.type for rule in one.rules} - {"action"}:
        wrong.append(f"{written.where(loc)}: rules of type 'action' were required; got {sorted(others)}")
    broken = [*_unreadable(one, written, loc)]
    if not broken and one.decision == "rule":
        try:
            own = fragment(one, written, loc)
        except DecisionError as error:
            return [*wrong, str(error)]
        if one.id in texts and one.speaks_of(texts[one.id]):
            broken += _undeclared(own, policy.toolbox, written, loc)
    return wrong + broken


def _unreadable(one: Ruling, written: Written, loc: Loc) -> Iterator[str]:
    """The predicates and rules of an entry that cannot be read."""
    parts = [partial(written.predicates, {name: row}, loc) for name, row in one.predicates.items()]
    parts += [partial(written.rule, row, "", (*loc, "rules", i)) for i, row in enumerate(one.rules)]
    for part in parts:
        try:
            part()
        except DecisionError as error:
            yield str(error)


_CLOCK = ', which is declared as {"name": "now", "type": "string", "from": "clock"}'


def _undeclared(own: RuleSet, toolbox: Toolbox, written: Written, loc: Loc) -> Iterator[str]:
    """What a person's predicates name that the policy's tools do not have: tools, state fields, arguments."""
    tools = {tool.name: tool.arguments for tool in toolbox.tools}
    called = [tool for p in own.predicates if p.kind == "action" for tool in p.tools]
    for p in own.predicates:
        at = written.where((*loc, "predicates", p.name))
        if strange := sorted(set(p.tools) - set(tools)):
            yield f"{at}: tools of {sorted(tools)} were required; got {strange}"
            continue
        told = False
        own_paths = (*(facts.paths(p.test) if p.test is not None else ()), *p.objects)
        listed = [tool for tool in p.tools or called if tool in tools]
        telling = {tool: _telling(own_paths, toolbox, tools[tool]) for tool in listed}
        for path, told_by in dict.fromkeys((*((path, "") for path in own_paths), *chain(*telling.values()))):
            if path.names[0] == "state":
                owners = [("a field of the state", toolbox.state)]
            else:
                readers = [tool for tool in listed if not told_by or (path, told_by) in telling[tool]]
                owners = [(f"an argument of {tool}", tools[tool]) for tool in readers]
            missing = [(what, fields) for what, fields in owners if not _declares(fields, path.names[1:])]
            if missing and (p.tools or len(missing) == (len(listed) if told_by else len(owners))):
                what, fields = missing[0]
                hint = _CLOCK * (path == facts.NOW.arguments[0])
                yield f"{at}: {what} that tools.json declares was required, one of {[f.name for f in fields]}; " + (
                    f"got {'.'.join(path.names[1:])!r}{hint}{told_by}"
                )
                told = True
        if not told:
            yield from (f"{at}: {wrong}" for wrong in _mistyped(p, toolbox))
    for i, rule in enumerate(own.rules):
        if windows(rule.formula) and not any(field.name == "now" for field in toolbox.state):
            got = [field.name for field in toolbox.state]
            yield f"{written.where((*loc, 'rules', i))}: a field now of the state, the time, was required; got {got}"


def _telling(paths: Iterable[facts.Path], toolbox: Toolbox, own: Sequence[Field]) -> dict[tuple[facts.Path, str], None]:
    """What the calls of a tool with those arguments must tell for fields of the state that come from elsewhere, and
    which field that is."""
    sources = {field.name: field.source for field in toolbox.state if field.source is not None}
    waiting = [path.names[1] for path in paths if path.names[0] == "state"]
    found: dict[tuple[facts.Path, str], None] = {}
    for name in waiting:
        nodes = [node for _, node in sources[name].arguments] if name in sources else []
        for path in dict.fromkeys(path for node in nodes for path in _read_of(node, own)):
            if path.names[0] == "call":
                found[path, f", which tells state.{name}"] = None
            elif path.names[1] not in waiting:
                waiting.append(path.names[1])
    return found


def _read_of(node: facts.Node, own: Sequence[Field]) -> Iterator[facts.Path]:
    """The paths that a value reads at a call with those arguments: of `has(call.x) ? a : b` those of the side that is
    taken, of both where `x` may be there or not."""
    match node:
        case facts.Path():
            yield node
        case facts.Choice(facts.Has(facts.Path(("call", name))), then, otherwise):
            field = next((one for one in own if one.name == name), None)
            sides = (otherwise,) if field is None else (then,) if field.required else (then, otherwise)
            yield from (path for side in sides for path in _read_of(side, own))
        case _:
            yield from (path for child in facts.children(node) for path in _read_of(child, own))


def _mistyped(predicate: Predicate, toolbox: Toolbox) -> tuple[str, ...]:
    """What a predicate's test asks of values that tools.json declares to be of another type, of calls of each tool."""
    if predicate.test is None:
        return ()
    state = schemas(toolbox.state)
    calls = [schemas(tool.arguments) for tool in toolbox.tools if tool.name in predicate.tools] or [None]
    return tuple(dict.fromkeys(wrong for call in calls for wrong in types.mistakes(predicate.test, state, call)))


def _declares(fields: Iterable[Field], names: Sequence[str]) -> bool:
    """Whether one of the fields has the name, and, where its schema lists what it holds, the names below it."""
    field = next((one for one in fields if one.name == names[0]), None)
    if field is None:
        return False
    schema: object = field.schema
    for name in names[1:]:
        inside = schema.get("properties") if isinstance(schema, Mapping) else None
        if not isinstance(inside, Mapping) or not inside:
            return True
        if name not in inside:
            return False
        schema = inside[name]
    return True
