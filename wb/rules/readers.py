"""Blind readers: each says, over one vocabulary, what every sentence of a policy asks of the calls of tools.

Three forms, so that two readers of one model do not copy one mistake: *formulas* (ShieldAgent's rules, Sec. 3.2.2),
*cases* (a decision table: per act the cases in which the sentence forbids or allows it, in order; the first that fits
counts) and *conditions* (per act the condition under which the sentence allows it).  Whatever the form, a reading is
executed into formulas that a call can break; what a form cannot hold, and a name that the vocabulary does not have, is
said with its reason and makes the sentence open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

import pydantic

from wb.domain.policy import pieces
from wb.logic import formula as f
from wb.logic import syntax
from wb.logic.formula import Formula
from wb.models.ledger import Unanswered
from wb.rules import residual
from wb.rules.rule import Rule, RuleSet
from wb.rules.vocabulary import Missing, Vocabulary

if TYPE_CHECKING:
    from wb.domain.document import Sentence
    from wb.domain.policy import Policy
    from wb.models.client import LLM

Form = Literal["formulas", "cases", "conditions"]
FORMS: tuple[Form, ...] = ("formulas", "cases", "conditions")
BATCH = 12  # statements a question: a reply of them stays short, and its neighbours are seen in the document


class Answer(pydantic.BaseModel):
    """What any form says of one statement beside its rules: the acts it is about, demanded or not, entries that are
    missing, and what it does not understand."""

    id: str
    about: list[str] = []
    missing: list[Missing] = []
    unclear: str = ""


class FormulasAnswer(Answer):
    """The rules of a statement as formulas."""

    rules: list[str] = []


class Case(pydantic.BaseModel):
    """One row of a decision table: for calls of `act` at which all of `when` holds."""

    act: str
    when: list[str] = []
    verdict: Literal["forbidden", "allowed", "must follow"]


class CasesAnswer(Answer):
    """The decision table of a statement."""

    cases: list[Case] = []


class Condition(pydantic.BaseModel):
    """The condition under which a statement allows calls of an act."""

    act: str
    allowed_if: str


class ConditionsAnswer(Answer):
    """The conditions of a statement, and what must follow what."""

    conditions: list[Condition] = []
    must_follow: list[Case] = []


class Formulas(pydantic.BaseModel):
    """The reply to `read_formulas`."""

    statements: list[FormulasAnswer]


class Cases(pydantic.BaseModel):
    """The reply to `read_cases`."""

    statements: list[CasesAnswer]


class Conditions(pydantic.BaseModel):
    """The reply to `read_conditions`."""

    statements: list[ConditionsAnswer]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reader says of one sentence.

    `formulas` are what it demands, none where it demands nothing; `about` the acts that it speaks of either way.
    `problem` says why the reading cannot be used, such as a name that is not in the vocabulary; `missing` what the
    reader asked to be added.  `refused`: its form was wrong, so that the reader is asked once more.
    """

    formulas: tuple[Formula, ...] = ()
    about: tuple[str, ...] = ()
    problem: str = ""
    missing: tuple[Missing, ...] = ()
    refused: bool = False

    @property
    def acts(self) -> tuple[str, ...]:
        """The names of all predicates that the reading speaks of."""
        return tuple(dict.fromkeys((*(name for one in self.formulas for name in f.predicates(one)), *self.about)))


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: a model, in one of the forms."""

    llm: LLM
    form: Form

    @property
    def name(self) -> str:
        """The model and the form, as a table names them."""
        return f"{self.llm.name} ({self.form})"


def read(
    policy: Policy,
    vocabulary: Vocabulary,
    reader: Reader,
    only: Iterable[str] | None = None,
    bound: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> dict[str, Reading]:
    """What a reader says of each statement, by the statement's id (`statements`); of `only` some where it is given.

    The second and third form see the statements in another order, last ones first.  `bound` has what may bind a
    statement (`bounds`), which is then shown beside it and asked about apart from those that nothing binds.

    Raises:
        ModelError: a request failed in a way that all further ones would.
    """
    wanted = None if only is None else {*only}
    rows = [row for row in statements(policy) if wanted is None or row["id"] in wanted]
    rows = rows if reader.form == "formulas" else rows[::-1]
    told, document = vocabulary.rows(), [f"{row['id']}: {row['text']}" for row in statements(policy)]
    if reader.form != "formulas":
        told = {kind: entries[::-1] for kind, entries in told.items()}
    reply_type, prompt, _ = _FORMS[reader.form]

    def asked(rows: Sequence[Mapping[str, object]]) -> dict[str, Reading]:
        groups = batches(rows, bound, BATCH)
        batch = [{**told, **group.shown, "document": around(document, group.rows)} for group in groups]
        return {
            name: reading(name, reply, reader.form, vocabulary)
            for group, reply in zip(groups, reader.llm.ask_all(prompt, reply_type, batch), strict=True)
            for name in group.names
        }

    found = asked(rows)
    again = asked([{**row, "refused": found[row["id"]].problem} for row in rows if found[row["id"]].refused])
    return found | {name: one for name, one in again.items() if not one.refused}


class Batch(NamedTuple):
    """The rows of one question, the ids of the statements whose answers count, and whether others bind these."""

    rows: Sequence[Mapping[str, object]]
    names: Sequence[str]
    bound: bool

    @property
    def shown(self) -> dict[str, object]:
        """The inputs of a question about the statements."""
        return {"statements": self.rows, "bound": self.bound}


def batches(rows: Sequence[Mapping[str, object]], bound: Mapping[str, Mapping[str, object]], size: int) -> list[Batch]:
    """The questions about statements, a number of them each; those that are bound by others are asked about with what
    binds them, in questions of their own, so that a question about the others is the same whether or not they are."""
    tied = [{**row, **bound[str(row["id"])]} for row in rows if row["id"] in bound]
    found = []
    for some, apart in ((rows, False), (tied, True)):
        for group in (some[k : k + size] for k in range(0, len(some), size)):
            found.append(Batch(group, [str(row["id"]) for row in group if (row["id"] in bound) == apart], apart))
    return [batch for batch in found if batch.names]


WINDOW = 24  # statements around those asked about that a reader sees of a long document


def around(document: Sequence[str], group: Sequence[Mapping[str, object]]) -> str:
    """The statements asked about and those near them, of a document that may be long."""
    places = [k for k, line in enumerate(document) if any(line.startswith(f"{row['id']}:") for row in group)]
    first, last = max(0, min(places) - WINDOW), max(places) + WINDOW + 1
    return "\n".join(document[first:last])


def statements(policy: Policy) -> list[dict[str, object]]:
    """Every sentence of a document as a reader sees it, numbered s1, s2, … in the order of `clauses.pieces`: what opens
    a list is read with its items, and what no reader of the document sees is none."""
    found = []
    for number, piece in enumerate(pieces(policy), 1):
        if piece.kind in ("gap", "stem"):
            continue
        kind = {"kind": "title"} if piece.kind == "heading" else {}
        found.append({"id": f"s{number}", "text": " ".join(piece.said.split()), **kind, **_context(piece)})
    return found


def _context(piece: Sentence) -> dict[str, object]:
    around = {
        "headings": list(piece.headings),
        "opening": list(piece.stems),
        "label": piece.label,
        "column": piece.column,
        "row": [f"{title}: {cell}" if title else cell for title, cell in piece.row],
    }
    return {key: value for key, value in around.items() if value}


# ---- a reply, executed --------------------------------------------------------------------------


class _Unusable(ValueError):
    """An answer that cannot be executed, and why."""


def reading(name: str, reply: pydantic.BaseModel | Unanswered, form: Form, vocabulary: Vocabulary) -> Reading:
    """What a reply, in one of the forms, says of the statement of that name (an id of `statements`)."""
    if isinstance(reply, Unanswered):
        return Reading(problem=f"no reply: {reply.reason}")
    answers = [one for one in reply.statements if one.id == name]
    if len(answers) != 1:
        return Reading(problem=f"one answer for this statement was required; got {len(answers)}", refused=True)
    (answer,) = answers
    known = {p.name for p in vocabulary.predicates}
    about = tuple(one for one in dict.fromkeys(answer.about) if one in known)
    if answer.missing:
        return Reading((), about, "the vocabulary lacks what it needs", tuple(answer.missing))
    if answer.unclear:
        return Reading((), about, f"not understood: {answer.unclear}")
    try:
        whole = [_of_the_call(one, vocabulary) for one in _FORMS[form][2](answer, vocabulary)]
        made = tuple(dict.fromkeys(part for one in whole for part in _parts(one)))
        for formula in made:
            declared(formula, vocabulary)
            _unmixed(formula, vocabulary)
    except ValueError as error:
        return Reading((), about, f"the reply cannot be used: {error}", refused=True)
    return Reading(made, about)


def _of_the_call(formula: Formula, vocabulary: Vocabulary) -> Formula:
    """The formula without objects of facts, which are about the call that is judged."""
    facts = {p.name for p in vocabulary.predicates if p.kind == "state" and not p.objects}
    named = [atom for atom in map(f.Atom, f.atoms(formula)) if atom.objects and atom.predicate in facts]
    return f.substitute(formula, {atom: f.Atom(atom.predicate) for atom in named})


def declared(formula: Formula, vocabulary: Vocabulary) -> None:
    """Refuse a formula that names what the vocabulary does not have, or that no step decides."""
    known = {p.name: p for p in vocabulary.predicates}
    if unknown := [name for name in f.predicates(formula) if name not in known]:
        raise _Unusable(f"names of the vocabulary were required; got {unknown}")
    if f.windows(formula):
        raise _Unusable("a rule without windows in time was required")
    used = tuple(known[name] for name in f.predicates(formula))
    RuleSet(used, (Rule("r", "", formula, "oblige"),))  # its objects are those that its predicates have


def _parts(formula: Formula) -> tuple[Formula, ...]:
    """The formula; what it asks of a call and what it asks for later apart, where they stand side by side."""
    if residual.each_step(formula) is not None:
        return (formula,)
    match formula:
        case f.And(left, right):
            return (*_parts(left), *_parts(right))
        case f.Always(f.Implies(left, f.And(one, other))):
            return tuple(part for side in (one, other) for part in _parts(f.Always(f.Implies(left, side))))
    return (formula,)


def _unmixed(formula: Formula, vocabulary: Vocabulary) -> None:
    """Refuse a formula that a call can break and that asks for what comes later as well: a guard keeps the first part
    alone, so that what readers are compared by would not be what is kept."""
    if residual.each_step(formula) is not None:
        return
    if residual.guards(formula, vocabulary.predicates, vocabulary.toolbox):
        raise _Unusable("a rule of what holds at a call, or one of what must follow, was required; got both in one")


def parsed(text: str) -> Formula:
    """A formula of a reply; `ValueError` says what is wrong with it."""
    return syntax.parse(text)


def _formulas(answer: FormulasAnswer, vocabulary: Vocabulary) -> Iterable[Formula]:
    for text in answer.rules:
        formula = parsed(text)
        if not isinstance(formula, f.Always | f.Eventually | f.Until | f.WeakUntil | f.Not | f.And | f.Or):
            raise _Unusable(f"a rule must hold at every step, ALWAYS (…); got {text!r}")
        if now := _unscoped(formula):
            raise _Unusable(f"a rule must hold at every step, ALWAYS (…); {text!r} speaks of {now[0]!r} at the first")
        yield formula


def _unscoped(formula: Formula) -> tuple[str, ...]:
    """The predicates that a formula speaks of at the first step alone, outside every temporal operator."""
    if isinstance(formula, f.Atom):
        return (formula.name,)
    if isinstance(formula, f.And | f.Iff | f.Implies | f.Not | f.Or | f.Xor):
        return tuple(name for child in f.children(formula) for name in _unscoped(child))
    return ()


def _cases(answer: CasesAnswer, vocabulary: Vocabulary) -> Iterable[Formula]:
    """Per act: calls are forbidden where the first case that fits forbids them; where none fits they are not."""
    yield from _owed([case for case in answer.cases if case.verdict == "must follow"])
    tables: dict[Formula, list[tuple[Formula, bool]]] = {}
    for case in answer.cases:
        if case.verdict != "must follow":
            tables.setdefault(_act(case.act), []).append((_all(case.when), case.verdict == "forbidden"))
    for act, rows in tables.items():
        allowed: Formula = f.TRUE
        for when, denies in reversed(rows):
            if denies:
                allowed = residual.both(residual.negated(when), allowed)
            elif allowed != f.TRUE:
                allowed = residual.either(when, allowed)
        if allowed != f.TRUE:
            yield f.Always(f.Not(act) if allowed == f.FALSE else f.Implies(act, allowed))


def _conditions(answer: ConditionsAnswer, vocabulary: Vocabulary) -> Iterable[Formula]:
    yield from _owed(answer.must_follow)
    for row in answer.conditions:
        allowed = _present(parsed(row.allowed_if))
        if allowed != f.TRUE:
            yield f.Always(f.Not(_act(row.act)) if allowed == f.FALSE else f.Implies(_act(row.act), allowed))


def _owed(rows: Iterable[Case]) -> Iterable[Formula]:
    """What must follow where something holds: no call breaks it."""
    for row in rows:
        yield f.Always(f.Implies(_all(row.when), f.Eventually(_act(row.act))))


def _act(text: str) -> Formula:
    act = parsed(text)
    if not isinstance(act, f.Atom):
        raise _Unusable(f"the name of one act was required; got {text!r}")
    return act


def _all(texts: Sequence[str]) -> Formula:
    """The conjunction of conditions; `true` for none."""
    return f.conjunction(tuple(_present(parsed(text)) for text in texts))


def _present(condition: Formula) -> Formula:
    """A condition, which speaks of now and earlier alone."""
    if any(isinstance(node, f.FUTURE) for node in f.subformulas(condition)):
        raise _Unusable(f"a condition of now and earlier was required; got {syntax.render(condition)}")
    return condition


_FORMS: Mapping[Form, tuple[type[pydantic.BaseModel], str, Callable[..., Iterable[Formula]]]] = {
    "formulas": (Formulas, "read_formulas", _formulas),
    "cases": (Cases, "read_cases", _cases),
    "conditions": (Conditions, "read_conditions", _conditions),
}
