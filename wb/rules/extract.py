"""Policies and rules out of a document, by whatever engine answers (ShieldAgent, Sec. 3.2.2).

Two roles: `extract_policies` picks the constraints of a section, verbatim; `extract_rules` turns one of
them into formulas over predicates.  What an engine replies is checked here: a quotation must stand in
the document, a formula must parse and name its predicates, a rule must bear on an action.  A sentence
with the words of a constraint that ends in no rule is reported as undecided, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import pydantic

from wb.domain import document
from wb.domain.clauses import clause_of, near, occurrences, sections
from wb.domain.policy import Clause, Policy, PolicyError
from wb.domain.tools import Field, Tool, Toolbox, schemas
from wb.logic import cel, facts, syntax, types
from wb.logic.facts import (
    Comparison,
    Conjunction,
    Disjunction,
    Fact,
    Negation,
    Node,
    OneOf,
    Operand,
    Path,
    Scalar,
    Size,
)
from wb.logic.formula import And, Atom, Formula, Iff, Implies, Not, Or, Xor, children, windows
from wb.logic.formula import predicates as named
from wb.logic.types import Schema, Type
from wb.models.ledger import Unanswered
from wb.rules import accounting, called, operators, shapes, words
from wb.rules.rule import (
    Kind,
    Modality,
    Predicate,
    Rule,
    RuleDraft,
    RuleSet,
    RuleType,
    Undecided,
    collect,
)

if TYPE_CHECKING:
    from wb.models.client import LLM

_DEFINITION = re.compile(
    r"\bmeans?\b|\bis defined as\b|\brefers? to\b|\bdenotes?\b|\bcounts? as\b|"
    r"\A\W*(?:an? |the )?[\"“][^\"”]+[\"”] (?:is|are|includes?|covers?)\b|"
    r"\A(?:an? )?[\w-]+(?: [\w-]+)? (?:is|are) (?:an? |any )?(?:users?|persons?|people|customers?) "
    r"(?:who|whose|that|under|over|aged|with|without)\b",
    re.I,
)
Constrains = Callable[[Clause], bool]
LEVELS, WITHIN = 4, 120  # of what lies within a field: how deep it is told, and how many names and values at most
TOGETHER = 4  # statements a question: neighbours tell what is meant, tools and fields are sent once
NOTHING = "the model finds no demand in it, and gives no reason"
_SCOPE = re.compile(r"\b(?:applies|apply) (?:only )?(?:to|when|where|if|from|in)\b", re.I)


class PolicyReply(pydantic.BaseModel):
    """One policy of a section: its description word for word, its definitions, when it applies."""

    description: str
    definitions: list[str] = []
    scope: str | None = None


class PoliciesReply(pydantic.BaseModel):
    """The reply to `extract_policies`."""

    policies: list[PolicyReply]


class PredicateReply(pydantic.BaseModel):
    """One predicate of a rule; `test` is CEL over `state`, `call` and what stands within them, as a rule file has it,
    where fields decide a state predicate; `objects` are the arguments of its calls that tell which object it is of."""

    name: str
    kind: Kind
    description: str = ""
    keywords: list[str] = []
    tools: list[str] = []
    test: str | None = None
    objects: list[str] = []

    @pydantic.model_serializer(mode="wrap")
    def _without_none(self, whole: Callable[[PredicateReply], dict[str, object]]) -> dict[str, object]:
        """As a question repeats it: without objects where it has none."""
        said = whole(self)
        return {name: value for name, value in said.items() if name != "objects" or value}


class RuleReply(pydantic.BaseModel):
    """One rule of a policy."""

    text: str
    formula: str
    modality: Modality
    type: RuleType = "action"
    predicates: list[PredicateReply] = []


class RulesReply(pydantic.BaseModel):
    """The reply to `correct_rules`: the rules, and what of the policy could not be turned into any."""

    rules: list[RuleReply] = []
    undecided: list[str] = []


class StatementReply(RulesReply):
    """The same about one of several statements, by its id."""

    id: str


class StatementsReply(pydantic.BaseModel):
    """The reply to `extract_rules`."""

    statements: list[StatementReply]


class Accounted(NamedTuple):
    """The clauses of a policy, and what the replies did not account for: pass `lost` on to `rules`."""

    clauses: tuple[Clause, ...]
    lost: tuple[Undecided, ...]


def clauses(policy: Policy, llm: LLM, constrains: Constrains) -> tuple[Clause, ...]:
    """The clauses of `policies` alone, for an engine that loses nothing."""
    return policies(policy, llm, constrains).clauses


def policies(policy: Policy, llm: LLM, constrains: Constrains, *, corrections: int = 1) -> Accounted:
    """The constraints of a policy in the order of the document, each with its verbatim span.

    `constrains` tells the words of a constraint: where a quotation stands in several places, such a sentence is meant.

    What is quoted and not there, or given as a scope and not said, is asked once more with `corrections` 1, not with 0.
    What was lost is said: each sentence of a section that got no reply, and each quotation that is not in
    the document, as the sentence of its section that has most of its words.

    Raises:
        PolicyError: no sentence of the document states a constraint.
        ModelError: a request failed.
        ValueError: `corrections` is neither 0 nor 1.
    """
    _once_at_most(corrections)
    glossary = [s.said for s in policy.sentences if s.kind != "heading" and _DEFINITION.search(s.said)]
    scopes = [s.said for s in policy.sentences if s.kind != "heading" and _SCOPE.search(s.said)]
    parts, seen = sections(policy), policy.seen
    batch = [
        {"policy": policy.name, "section": seen.text[start:end], "glossary": glossary, "scopes": scopes}
        for start, end in parts
    ]
    replies = llm.ask_all("extract_policies", PoliciesReply, batch)
    wrong = [() if isinstance(r, Unanswered) else _strange(r, policy, p) for r, p in zip(replies, parts, strict=True)]
    asked = [k for k, problems in enumerate(wrong) if problems and corrections]
    corrected = llm.ask_all(
        "correct_policies", PoliciesReply, [{**batch[k], "problems": list(wrong[k])} for k in asked]
    )
    again = {k: r for k, r in zip(asked, corrected, strict=True) if isinstance(r, PoliciesReply)}
    whole = {(s.start, s.end): s for s in policy.sentences}
    weight = cache(lambda place: _weight(whole.get(place), constrains))
    found: dict[tuple[int, int], Clause] = {}
    unanswered: list[str] = []
    lost: list[Undecided] = []
    for k, ((start, end), reply) in enumerate(zip(parts, replies, strict=True)):
        section = seen.span(start, end)
        if isinstance(reply, Unanswered):
            unanswered.append(reply.reason)
            lost += [
                Undecided("", s.text, f"no reply for its section: {reply.reason}")
                for s in policy.sentences
                if section[0] <= s.start < section[1] and s.kind != "heading"
            ]
            continue
        missing: list[Undecided] = []
        second: set[tuple[int, int]] = set()
        for correcting, item in (*((False, i) for i in reply.policies), *((True, i) for i in _of(again.get(k)))):
            said = _places(item.description, policy, (start, end))
            places = said if correcting else [span for span in said if span not in found]
            if places:
                span = places[0] if len(places) == 1 else min(places, key=lambda place: (weight(place), place))
                if span not in found or not _scoped(found[span].scope, policy):  # what was right is not corrected
                    found[span] = _clause(policy, span, item)
                second |= {span} if correcting else set()
            elif not said:
                missing.append(_misquoted(item.description, policy, section))
        mended = {one.text for one in policy.sentences if any(a < one.end and one.start < b for a, b in second)}
        lost += [u for u in dict.fromkeys(missing) if u.quote not in mended]
    lost += [Undecided("", *_unscoped(policy, c)) for c in found.values() if not _scoped(c.scope, policy)]
    found = {span: c if _scoped(c.scope, policy) else replace(c, scope="") for span, c in found.items()}
    if not found and unanswered:
        raise PolicyError(
            f"{policy.source}: clauses from {len(parts)} sections were asked of {llm.name!r}; "
            f"got no reply for {len(unanswered)}: {unanswered[0]}"
        )
    bearing = words.Bearing(policy.toolbox)
    if not found and all(s.kind == "heading" or words.verdict(s.said, bearing)[1] for s in policy.sentences):
        raise PolicyError(
            f"{policy.source}: a policy that forbids, demands or restricts something was required; "
            f"got {len(policy.sentences)} sentences and no such one among them (model {llm.name!r})"
        )
    ordered = sorted(found.values(), key=lambda c: (c.start, c.end))
    numbered = tuple(replace(c, id=f"c{i}") for i, c in enumerate(ordered, 1))
    return Accounted(numbered, tuple(lost))


def _of(reply: PoliciesReply | None) -> list[PolicyReply]:
    return reply.policies if reply else []


def _strange(reply: PoliciesReply, policy: Policy, part: tuple[int, int]) -> tuple[str, ...]:
    """What a reply quotes and the document does not say, as it is told to the model; empty if it says all of it."""
    return (
        *(
            f"this description is not in the section, word for word: {item.description}"
            for item in reply.policies
            if not _places(item.description, policy, part)
        ),
        *(
            f"this scope is no sentence of the document: {item.scope} (given for: {item.description})"
            for item in reply.policies
            if not _scoped(item.scope or "", policy)
        ),
    )


def _scoped(scope: str, policy: Policy) -> bool:
    """Whether a scope is said by the document; none is."""
    text = policy.seen.text
    told = occurrences(scope, text, 0, len(text)) or near(scope, text, 0, len(text))
    return not scope.strip() or bool(told) or any(scope == s.said for s in policy.sentences)


def _unscoped(policy: Policy, clause: Clause) -> tuple[str, str]:
    """The sentence of a clause whose scope was invented, and why it is open."""
    home = next((s for s in policy.sentences if s.start <= clause.start < s.end), None)
    return home.text if home else clause.text, f"the reply gives a scope that is not in the document: {clause.scope!r}"


def _places(quote: str, policy: Policy, part: tuple[int, int]) -> list[tuple[int, int]]:
    """The spans of the document that a quotation stands for: word for word, else with other blanks, marks or case.

    A list marker, a label or a title that is quoted with a sentence is read with it anyway and no part of its span.
    """
    text = policy.seen.text
    spans = occurrences(quote, text, *part) or near(quote, text, *part)
    found = [_from_sentence(policy.seen.span(*span), policy) for span in spans]
    return list(dict.fromkeys(found))


def _from_sentence(span: tuple[int, int], policy: Policy) -> tuple[int, int]:
    start, end = span
    inside = [s for s in policy.sentences if s.start < end and start < s.end and s.kind != "heading"]
    return (max(start, inside[0].start), end) if inside else span


def _misquoted(quote: str, policy: Policy, section: tuple[int, int]) -> Undecided:
    """A quotation that is not in the document, as the sentence that it may stand for."""
    said = set(re.findall(r"\w+", quote.lower()))
    near = [s for s in policy.sentences if section[0] <= s.start < section[1] and s.kind != "heading"]
    shares = {s.start: len(said & set(re.findall(r"\w+", s.said.lower()))) for s in near}
    best = max(near, key=lambda s: shares[s.start], default=None)
    meant = best.text if best and 2 * shares[best.start] >= len(said) else quote
    return Undecided("", meant, f"the reply quotes what is not in the document: {quote!r}")


def rules(
    clauses: Sequence[Clause],
    policy: Policy,
    llm: LLM,
    constrains: Constrains,
    lost: Sequence[Undecided] = (),
    *,
    corrections: int = 1,
) -> RuleSet:
    """The rules of the clauses, and every constraint that became none, with the reason.

    `lost` is what `policies` could not account for; it is undecided too.  With `corrections` 1, a rule that cannot be
    used and a sentence that its rules do not account for are asked about once more, with what is wrong; the second
    answer is the last one, but where it mended rules that could not be used, so that only now can be seen what they
    leave out: that is asked as well, and the third answer is the last one.  With 0 nothing is.

    Raises:
        ModelError: a request failed in a way that all further ones would.
        ValueError: `corrections` is neither 0 nor 1.
    """
    _once_at_most(corrections)
    described = {
        "tools": [tool_row(tool) for tool in policy.toolbox.tools],
        "state": [field_row(field) for field in policy.toolbox.state],
    }
    groups = [clauses[k : k + TOGETHER] for k in range(0, len(clauses), TOGETHER)]
    batch = [{**described, "statements": [_statement(c) for c in group]} for group in groups]
    answers: dict[str, RulesReply | Unanswered | None] = {}
    for group, reply in zip(groups, llm.ask_all("extract_rules", StatementsReply, batch), strict=True):
        answers |= {c.id: _answer(c, reply) for c in group}
    first = {c.id: _Read(c, answers[c.id], policy.toolbox) for c in clauses}
    mixed = {name: why for group in groups for name, why in _mixed([first[c.id] for c in group], policy).items()}
    wrong = mixed | _faults(first, policy) if corrections else {}
    for name, why in mixed.items() if not corrections else ():
        first[name].undecided.append(Undecided(name, first[name].clause.text, why[0]))
    unusable = {name for name in wrong if first[name].faults and name not in mixed}
    last = _corrected(first, answers, wrong, described, policy, llm, "second")
    if unusable:
        mended = {name for name in unusable if not last[name].faults and last[name].drafts}
        left = {name: why for name, why in _faults(last, policy).items() if name in mended}
        last = _corrected(last, answers, left, described, policy, llm, "third")
    drafts = [draft for read in last.values() for draft in read.drafts]
    undecided = [one for read in last.values() for one in read.undecided]
    said = {" ".join(u.quote.split()) for u in lost}
    left = [u for u in missed(clauses, policy, constrains) if " ".join(u.quote.split()) not in said]
    return collect(drafts, (*undecided, *lost, *left))


def _corrected(
    read: Mapping[str, _Read],
    answers: dict[str, RulesReply | Unanswered | None],
    wrong: Mapping[str, Sequence[str]],
    described: Mapping[str, object],
    policy: Policy,
    llm: LLM,
    which: str,
) -> dict[str, _Read]:
    """What was read, with new answers where something is wrong; `answers` are those that came last, by clause."""
    asked = [one.clause for name, one in read.items() if name in wrong]
    batch = [
        {
            **described,
            "statement": _statement(c),
            "answer": (answers[c.id] or RulesReply()).model_dump(exclude={"id"}),
            "faults": list(wrong[c.id]),
        }
        for c in asked
    ]
    found = dict(read)
    for clause, reply in zip(asked, llm.ask_all("correct_rules", RulesReply, batch), strict=True):
        if isinstance(reply, RulesReply):
            found[clause.id] = _again(clause, reply, read[clause.id], wrong[clause.id], policy.toolbox)
            answers[clause.id] = reply
        else:
            found[clause.id].undecided.append(Undecided(clause.id, clause.text, f"no {which} reply: {reply.reason}"))
    return found


def _again(clause: Clause, reply: RulesReply, before: _Read, faults: Sequence[str], toolbox: Toolbox) -> _Read:
    """What was made of a further reply; one that keeps the rules and says why leaves out no part of the statement: it
    doubts what was found, which opens the sentence."""
    read = _Read(clause, reply, toolbox)
    if before.drafts and not before.faults and before.said() == read.said():
        found = "; ".join(faults)
        why = [f"the model disputes what was found ({found}): {reason}" for reason in reply.undecided]
        read.undecided[: len(why)] = [Undecided(clause.id, clause.text, reason) for reason in why]
    return read


class _Read:
    """What was made of the answer for one clause: drafts of rules, and what is undecided with the reason."""

    def __init__(self, clause: Clause, answer: RulesReply | Unanswered | None, toolbox: Toolbox) -> None:
        self.clause, self.drafts, self.faults = clause, [], []
        self.undecided: list[Undecided] = []
        if not isinstance(answer, RulesReply):
            why = f"no reply: {answer.reason}" if answer else "one answer for this statement was required"
            self.undecided.append(Undecided(clause.id, clause.text, why))
            self.faults += [] if answer else [why]
            return
        self.undecided += [Undecided(clause.id, clause.text, reason, part=True) for reason in answer.undecided]
        for item in answer.rules:
            draft = _draft(clause, item, toolbox)
            if isinstance(draft, RuleDraft):
                self.drafts.append(draft)
            else:
                self.undecided.append(draft)
                self.faults += [] if answer.undecided else [f"{item.formula}: {draft.reason}"]  # a doubt stands
        if not answer.rules and not answer.undecided:
            self.undecided.append(Undecided(clause.id, clause.text, NOTHING))

    def said(self) -> frozenset[tuple[object, ...]]:
        """What the drafts say: their formulas, with the tools, tests and objects of their predicates."""
        return frozenset(
            (one.rule.formula, frozenset((p.name, p.kind, p.tools, p.test, p.objects) for p in one.predicates))
            for one in self.drafts
        )


def _answer(clause: Clause, reply: StatementsReply | Unanswered) -> RulesReply | Unanswered | None:
    """What a reply says of one statement; None where it leaves it out, or answers it twice."""
    if isinstance(reply, Unanswered):
        return reply
    mine = [one for one in reply.statements if one.id == clause.id]
    return mine[0] if len(mine) == 1 else None


def _statement(clause: Clause) -> dict[str, object]:
    """A clause as a model sees it."""
    return {
        "id": clause.id,
        "clause": clause.said,
        "headings": list(clause.headings),
        "context": list(clause.context),
        "definitions": list(clause.definitions),
        "scope": clause.scope,
    }


def _faults(read: Mapping[str, _Read], policy: Policy) -> dict[str, tuple[str, ...]]:
    """What is wrong with the answers, by clause: rules that cannot be used, and what of a sentence they leave out or
    add; nothing where another answer could not help, as beside a test that only a person can hold against its sentence,
    or where the model itself said that it cannot tell."""
    homes: dict[object, list[_Read]] = {}
    found = {name: tuple(one.faults) for name, one in read.items() if one.faults}
    for one in read.values():
        homes.setdefault(_home(one.clause, policy), []).append(one)
    for home, those in homes.items():
        drafts = [draft for one in those for draft in one.drafts]
        helpless = operators.unreadable(*_read_with(home)) or shapes.wider(p for d in drafts for p in d.predicates)
        if drafts and not any(one.undecided for one in those) and not helpless:
            left = _left(drafts, home, policy)
            found |= {one.clause.id: left for one in those if left}
    return found


def _mixed(asked: Sequence[_Read], policy: Policy) -> dict[str, tuple[str, ...]]:
    """Which statements of one question have an answer that would do for another one of them too, and says something
    else than what that one got: they may have been taken for each other."""
    found = {}
    for one, other in permutations(asked, 2):
        home = _home(other.clause, policy)
        if one.undecided or not one.drafts or _partial(one.drafts) or home == _home(one.clause, policy):
            continue
        if _left(one.drafts, home, policy):
            continue
        both = collect([*one.drafts, *other.drafts], ()).rules
        mine, theirs = ({r.formula for r in both if r.clause == each.clause.id} for each in (one, other))
        if mine != theirs:
            why = f"the answer may be meant for a statement that was asked about beside it: {other.clause.said!r}"
            found[one.clause.id] = (why,)
    return found


def _home(clause: Clause, policy: Policy) -> document.Sentence | Clause:
    """The sentence that a clause begins in."""
    return next((s for s in policy.sentences if s.start <= clause.start < s.end), clause)


def _read_with(home: document.Sentence | Clause) -> tuple[str, tuple[str, ...]]:
    """What a sentence says, and what it is read with."""
    told = (*home.stems, *(cell for _, cell in home.row)) if isinstance(home, document.Sentence) else ()
    return home.said, told


def _left(drafts: Sequence[RuleDraft], home: document.Sentence | Clause, policy: Policy) -> tuple[str, ...]:
    """Why the rules of the drafts do not account for a sentence; empty if they do."""
    rules, partial = collect(drafts, ()), _partial(drafts)
    told = *_read_with(home), rules.rules, rules.predicates, policy.toolbox
    untested = called.untested(rules.predicates, policy.toolbox) if partial else ()
    return accounting.unaccounted(*told, headings=home.headings, partial=partial) or untested


def _partial(drafts: Sequence[RuleDraft]) -> bool:
    """Whether the rules lack a tool or a field."""
    used = [p for draft in drafts for p in draft.predicates]
    return any(not p.tools if p.kind == "action" else p.test is None for p in used)


def _once_at_most(corrections: int) -> None:
    if corrections not in (0, 1):
        raise ValueError(f"corrections must be 0 or 1: a second answer is the last one; got {corrections}")


def missed(clauses: Sequence[Clause], policy: Policy, constrains: Constrains) -> tuple[Undecided, ...]:
    """The sentences with the words of a constraint that no clause covers."""
    covered = [(c.start, c.end) for c in clauses]
    left = [
        s
        for s in policy.sentences
        if s.kind not in ("heading", "stem") and not any(a < s.end and s.start < b for a, b in covered)
    ]
    return tuple(
        Undecided("", s.text, "no clause was extracted for this sentence") for s in left if constrains(clause_of(s))
    )


def tool_row(tool: Tool) -> dict[str, object]:
    """A tool as a model sees it."""
    row = {"name": tool.name, "description": tool.description}
    return {**row, "arguments": [field_row(a) for a in tool.arguments]} if tool.arguments else row


def field_row(field: Field) -> dict[str, object]:
    """A field as a model sees it, with what its schema says of the values within it: as deep as `WITHIN` names and
    values tell, at most `LEVELS` deep."""
    row = {"name": field.name, "type": field.type, "description": field.description, "values": list(field.values)}
    told = (_within(types.of_schema(field.schema, ""), levels) for levels in range(LEVELS, 0, -1))
    row |= next((one for one in told if _parts(one) <= WITHIN), {})
    return {name: value for name, value in row.items() if value}


def _within(of: Type, levels: int) -> dict[str, object]:
    """What a value holds: its `properties`, its `items`, and what stands under `others` of its names."""
    if not levels:
        return {}
    fields = {name: _inner(schema, levels - 1) for name, schema in (of.fields or {}).items()}
    row = {"properties": fields, "items": of.items and _inner(of.items, levels - 1)}
    return row | {"others": of.others and _inner(of.others, levels - 1)}


def _inner(schema: Schema, levels: int) -> dict[str, object]:
    """A value within another one, as a model sees it."""
    of = types.of_schema(schema, "")
    said = schema.get("description")
    row = {"type": of.json, "description": said if isinstance(said, str) else "", "values": list(of.values)}
    return {name: value for name, value in (row | _within(of, levels)).items() if value}


def _parts(row: object) -> int:
    """How many names and values a row tells."""
    if isinstance(row, Mapping):
        return len(row) + sum(map(_parts, row.values()))
    return len(row) if isinstance(row, list) else 0


def _weight(sentence: document.Sentence | None, constrains: Constrains) -> int:
    """Which of several places of one quotation is meant: a whole sentence that constrains, then any whole sentence."""
    return 2 if sentence is None else 0 if constrains(clause_of(sentence)) else 1


def _clause(policy: Policy, span: tuple[int, int], item: PolicyReply) -> Clause:
    """The clause at a span: the structure from the document, definitions and scope from the reply."""
    start, end = span
    home = next((s for s in policy.sentences if s.start <= start < s.end), None)
    frame = clause_of(home) if home else Clause("", "", start, end)
    text, seen = policy.text[start:end], policy.seen
    quoted = tuple(d for d in item.definitions if occurrences(d, seen.text, 0, len(seen.text)))
    begin, stop = seen.within(start, end)
    said = home.said if home and (home.start, home.end) == (start, end) else seen.text[begin:stop]
    return Clause("", text, start, end, frame.headings, frame.context, quoted, item.scope or "", said)


def _draft(clause: Clause, item: RuleReply, toolbox: Toolbox) -> RuleDraft | Undecided:
    """A checked rule, or the clause as undecided with what was wrong with the reply."""
    try:
        formula = syntax.parse(item.formula)
        predicates = tuple(_predicate(row, toolbox) for row in item.predicates)
        rule = Rule("", item.text, formula, item.modality, item.type, clause.id, clause.text)
        used = _bearing(formula, item, predicates)
        RuleSet(used, (rule,))  # its objects are those that its predicates have
        return RuleDraft(rule, used)
    except ValueError as error:
        return Undecided(clause.id, clause.text, f"the reply's rule cannot be used: {error}", part=True)


def _bearing(formula: Formula, item: RuleReply, predicates: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
    """The predicates, after checking that the formula names them and constrains an action."""
    known = {p.name: p for p in predicates}
    if twice := sorted({p.name for p in predicates if known[p.name] != p}):
        raise ValueError(f"a predicate must be described once; got two descriptions of {twice}")
    used = named(formula)
    missing = [name for name in used if name not in known]
    if missing:
        raise ValueError(f"every predicate of a formula must be described; got none for {missing}")
    actions = [name for name in used if known[name].kind == "action"]
    if windows(formula):
        raise ValueError(f"a rule without windows in time was required; got {syntax.render(formula)}")
    if now := _now(formula):
        raise ValueError(
            f"a rule must hold at every step, ALWAYS (...); {syntax.render(formula)} speaks of {now[0]!r} at the first"
        )
    if item.type == "action" and not actions:
        raise ValueError("an action rule must hold at least one action predicate; got none")
    if item.type == "action" and item.modality != "oblige" and not any(negative(formula, name) for name in actions):
        raise ValueError(
            "a rule that restricts must fail when its action happens; "
            f"{syntax.render(formula)} never does (the converse was written)"
        )
    return tuple(known[name] for name in used)


def _now(formula: Formula) -> tuple[str, ...]:
    """The predicates that a formula speaks of at the first step alone, outside every temporal operator."""
    if isinstance(formula, Atom):
        return (formula.name,)
    if isinstance(formula, (And, Iff, Implies, Not, Or, Xor)):
        return tuple(name for child in children(formula) for name in _now(child))
    return ()


def negative(formula: Formula, name: str, sign: bool = True) -> bool:
    """Whether the truth of a predicate can make the formula fail: it stands under an odd number of negations."""
    match formula:
        case Atom():
            return formula.predicate == name and not sign
        case Not(body):
            return negative(body, name, not sign)
        case Implies(left, right):
            return negative(left, name, not sign) or negative(right, name, sign)
        case Iff() | Xor():
            return any(negative(child, name, s) for child in children(formula) for s in (True, False))
    return any(negative(child, name, sign) for child in children(formula))


def _predicate(row: PredicateReply, toolbox: Toolbox) -> Predicate:
    """The predicate of a reply; its tools and the fields of its test must exist, and the test must fit them."""
    for tool in row.tools:
        try:
            toolbox.tool(tool)
        except KeyError as error:
            raise ValueError(error.args[0]) from None
    tools, test = tuple(row.tools), cel.parse(row.test) if row.test else None
    if test is not None and row.kind == "state":
        if not facts.paths(test):
            raise ValueError(f"a test must read a field of the toolbox; got {cel.render(test)}")
        tools = tools or _having(test, toolbox)
        for name in tools or ("",):
            fields = {path: _field(path, name, toolbox) for path in facts.paths(test)}
            if _flat(test):
                _fits(test, fields)
                continue
            declared = schemas(toolbox.state), schemas(toolbox.tool(name).arguments) if name else None
            if wrong := types.mistakes(test, *declared):
                raise ValueError(f"a test must fit what tools.json declares; got {cel.render(test)}: {wrong[0]}")
    objects = tuple(_object(text, tools, toolbox) for text in row.objects)
    return Predicate(row.name, row.kind, row.description, tuple(row.keywords), tools, test, objects)


def _object(text: str, tools: Sequence[str], toolbox: Toolbox) -> Path:
    """The argument that tells an object; each of the predicate's tools must have it."""
    path = cel.parse(text)
    if not isinstance(path, Path) or path.names[0] != "call":
        raise ValueError(f"an object is told by an argument such as call.id; got {text!r}")
    for name in tools or ("",):
        _field(path, name, toolbox)
    return path


def _having(test: Fact, toolbox: Toolbox) -> tuple[str, ...]:
    """The tools that have every argument which a test reads; none where it reads none."""
    given = {path.names[1] for path in facts.paths(test) if path.names[0] == "call"}
    return tuple(t.name for t in toolbox.tools if given and given <= {a.name for a in t.arguments})


def _field(path: Path, tool: str, toolbox: Toolbox) -> Field:
    """The field of the toolbox that a path reads, in calls of that tool."""
    root, name, *_ = path.names
    mine = next((t.arguments for t in toolbox.tools if t.name == tool), ())
    known = {field.name: field for field in (toolbox.state if root == "state" else mine)}
    if name not in known:
        owner = "the state" if root == "state" else tool or "no tool"
        raise ValueError(
            f"a test must read a field of the toolbox; got {cel.render(path)!r}, where {owner} has {list(known)[:12]}"
        )
    return known[name]


def _flat(node: Node) -> bool:
    """Whether a test compares fields and their sizes with each other and with literals, and nothing else."""
    match node:
        case Path(names):
            return len(names) == 2
        case Scalar(type=kind):
            return kind != "null"
        case Size(of):
            return isinstance(of, Path) and len(of.names) == 2
        case Comparison() | OneOf() | Negation() | Conjunction() | Disjunction():
            return all(map(_flat, facts.children(node)))
    return False


_CLASSES = {"boolean": "a boolean", "integer": "a number", "number": "a number", "string": "a text"}
_LITERALS = {"bool": "a boolean", "int": "a number", "double": "a number", "string": "a text"}


def _fits(test: Fact, fields: dict[Path, Field]) -> None:
    """Refuse a test that no value of its fields can ever pass, or that compares them with something else."""
    match test:
        case Path() if fields[test].type != "boolean":
            raise ValueError(f"{cel.render(test)} is of type {fields[test].type}: compare it with a value")
        case Comparison(op, left, right):
            kinds = {_class(left, fields), _class(right, fields)}
            if len(kinds) > 1:
                raise ValueError(
                    f"values of one type are compared; got {cel.render(test)}: {' and '.join(sorted(map(str, kinds)))}"
                )
            if kinds == {"a boolean"} and op not in ("==", "!="):
                raise ValueError(f"a boolean is compared with == or !=; got {cel.render(test)}")
            if test.limit is not None:
                term, op, limit = test.limit
                _possible(term, (limit,) if op in ("==", "!=") else (), fields)
                if isinstance(term, Size) and limit.type != "int":
                    raise ValueError(f"a size is a whole number; got {cel.render(test)}")
        case OneOf(item, options):
            kinds = {_class(side, fields) for side in (item, *options)}
            if len(kinds) > 1 or not options:
                raise ValueError(
                    f"values of one type are compared; got {cel.render(test)}: {' and '.join(sorted(map(str, kinds)))}"
                )
            _possible(item, options, fields)
        case _:
            for part in facts.children(test):
                _fits(part, fields)


def _possible(term: Operand, values: Sequence[Scalar], fields: dict[Path, Field]) -> None:
    """Refuse values outside the field's enumeration, such as one in another case."""
    listed = fields[term].values if isinstance(term, Path) else ()
    strange = [v.value for v in values if listed and str(v.value) not in listed]
    if strange:
        raise ValueError(f"{cel.render(term)} has the values {list(listed)}; got {strange}")


def _class(operand: Operand, fields: dict[Path, Field]) -> str:
    match operand:
        case Scalar(type=kind):
            return _LITERALS[kind]
        case Size(of):
            if fields[of].type != "array":
                raise ValueError(f"a size is of a list; {cel.render(of)} is of type {fields[of].type}")
            return "a number"
        case Path():
            if fields[operand].type not in _CLASSES:
                raise ValueError(
                    f"a list is compared by its size; {cel.render(operand)} is of type {fields[operand].type}"
                )
            return _CLASSES[fields[operand].type]
