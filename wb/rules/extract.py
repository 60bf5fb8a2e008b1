"""What each sentence of a document demands, by independent readers or by the one grammar of the offline engine.

ShieldAgent extracts policies and rules in one pass of one model (Sec. 3.2.2).  Here `readers` read every sentence blind
over one vocabulary, and what they agree on is decided (`agreement`); the offline engine is one reader, believed where
its grammar consumed every word.  What comes of a sentence is an `Extract`: its rules, the choices that a person has, or
the reason why nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from text_to_num import alpha2digit

from wb.domain.policy import Clause, clause_of, pieces
from wb.domain.tools import Toolbox
from wb.domain.visible import HIDDEN
from wb.logic import cel
from wb.logic import formula as f
from wb.logic.decide import Word
from wb.logic.formula import Formula
from wb.logic.syntax import render
from wb.rules import agreement, bounds, judges, readers, vocabulary
from wb.rules.agreement import Agreement
from wb.rules.bounds import Bound
from wb.rules.readers import FORMS, Reader, Reading
from wb.rules.residual import modality
from wb.rules.rule import Predicate, Rule, RuleDraft, RuleSet, collect, toolbox
from wb.rules.vocabulary import Entry, Vocabulary

if TYPE_CHECKING:
    from wb.domain.document import Sentence
    from wb.domain.policy import Policy
    from wb.models.client import LLM

Class = Literal["rule", "open", "not a constraint", "duty", "waived"]
CLASSES: tuple[Class, ...] = get_args(Class)
Trust = Literal["person", "agreed", "assumed", "read"]
TRUST: tuple[Trust, ...] = get_args(Trust)
PARSED, READ, PERSON, ASSUMED, PARTLY = "parsed", "read once", "person", "assumed", "agreed in part"
MODEL = "assumed by a model"


@dataclass(frozen=True, slots=True)
class Choice:
    """One reading of a sentence as a person may choose it: who read it so, and its formulas."""

    by: str
    formulas: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Extract:
    """What came of one sentence.

    `formulas` are in force, by `grade`: *parsed*, *agreed 2 of 2*, *agreed in part* (of some tools),
    *read once* or *assumed*.  Where `cls` is open,
    `choices` are the readings that a person may choose from, `tools` those that any reader takes it to be about (None
    where that is not known), and `apart` a shortest run on which two choices part.
    """

    cls: Class
    reason: str
    grade: str = ""
    formulas: tuple[Formula, ...] = ()
    choices: tuple[Choice, ...] = ()
    tools: tuple[str, ...] | None = None
    apart: Word | None = None


@dataclass(frozen=True, slots=True)
class Extracted:
    """What came of every piece of a document, in the order of `clauses.pieces`, over one set of predicates.

    `toolbox` has a field for each question.  `vocabulary` is None for the offline engine; `readings` are by reader, and
    `binding` says what binds statements, by their ids.
    """

    extracts: tuple[Extract, ...]
    predicates: tuple[Predicate, ...]
    toolbox: Toolbox
    clauses: tuple[Clause, ...]
    vocabulary: Vocabulary | None = None
    readings: Mapping[str, Mapping[str, Reading]] | None = None
    agreements: Mapping[str, Agreement] | None = None
    binding: Mapping[str, Bound] = MappingProxyType({})

    @property
    def words(self) -> Vocabulary:
        """The vocabulary; of the offline engine, what its rules use."""
        return self.vocabulary or vocabulary.of_entries([Entry(p) for p in self.predicates], self.toolbox)

    @property
    def ruleset(self) -> RuleSet:
        """The rules in force, each of the clause of its sentence, with their predicates."""
        made = []
        for clause, extract in zip(self.clauses, self.extracts, strict=True):
            made += rules_of(extract.formulas, clause)
        return RuleSet(self.predicates, tuple(made)).without_unused()


def rules_of(formulas: Iterable[Formula], clause: Clause) -> list[Rule]:
    """Formulas as rules of a clause, numbered within it, each called by what its formula is."""
    text, quote = " ".join(clause.said.split()), clause.text
    return [
        Rule(f"{clause.id}.{k}", text, one, modality(one) or "oblige", "action", clause.id, quote)
        for k, one in enumerate(formulas, 1)
    ]


def clauses(policy: Policy) -> tuple[Clause, ...]:
    """Every piece of a document as a clause, with the ids of `readers.statements`."""
    return tuple(clause_of(piece, f"s{number}") for number, piece in enumerate(pieces(policy), 1))


def unread(piece: Sentence) -> Extract | None:
    """What comes of a piece that no reader is asked about; None for a statement."""
    if piece.kind == "stem":
        return Extract("not a constraint", "the opening of a list, read with its items")
    if piece.kind != "gap":
        return None
    if piece.label.startswith(HIDDEN):
        return Extract("not a constraint", f"{piece.label}: no reader of the document sees it")
    return Extract("not a constraint", f"{piece.label or 'markup'}: nothing that is read")


# ---- by models ----------------------------------------------------------------------------------


class Panel(NamedTuple):
    """Who takes part: writers of the vocabulary (the second and third bind again), readers, and judges of runs."""

    writers: Sequence[LLM]
    readers: Sequence[LLM]
    judges: Sequence[LLM]


JUDGES = 2  # at most: more models than that do not judge


def panel(models: Sequence[LLM]) -> Panel:
    """The same models for all parts, in turns where they are fewer than the parts."""
    return Panel(models, models, models[:JUDGES])


def asked(
    policy: Policy,
    models: Sequence[LLM] | Panel,
    *,
    count: int = 3,
    trust: Trust = "agreed",
    own: Vocabulary | None = None,
) -> Extracted:
    """What `count` blind readers make of every sentence: the k-th reads in the k-th form, by the k-th of the models (in
    turns, where they are fewer).  With 3, the third is asked about the sentences alone on which two differ, and where
    they still do, judges about the runs on which they part.  `own` are a person's entries of the vocabulary.

    Raises:
        ModelError: the vocabulary could not be asked for, or a request failed in a way that all further ones would.
        ValueError: no such number of readers or level of trust.
    """
    if not 1 <= count <= len(FORMS):
        raise ValueError(f"readers: a number from 1 to {len(FORMS)} was required; got {count}")
    if trust not in TRUST:
        raise ValueError(f"trust: one of {list(TRUST)} was required; got {trust!r}")
    part = models if isinstance(models, Panel) else panel(models)
    words = vocabulary.write(policy, readers.statements(policy), part.writers)
    words = vocabulary.merged(words, own) if own is not None else words
    who = [Reader(part.readers[k % len(part.readers)], FORMS[k]) for k in range(count)]
    binding = bounds.read(policy, part.readers[:2])
    bound = _shown(binding)
    by = {one.name: readers.read(policy, words, one, None, bound) for one in who[:2]}
    for _ in range(vocabulary.ROUNDS):
        lacking = [m for reading in by.values() for one in reading.values() for m in one.missing]
        longer = vocabulary.add(words, lacking, part.writers)
        if len(longer.entries) == len(words.entries):
            break
        words = longer
        again = {name for reading in by.values() for name, one in reading.items() if one.missing}
        by = {one.name: by[one.name] | readers.read(policy, words, one, again, bound) for one in who[:2]}
    by, found = heard(policy, words, part, who, by, bound)
    return settled(policy, words, by, found, trust, binding)


def heard(
    policy: Policy,
    words: Vocabulary,
    part: Panel,
    who: Sequence[Reader],
    by: Mapping[str, Mapping[str, Reading]],
    bound: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> tuple[dict[str, Mapping[str, Reading]], dict[str, Agreement]]:
    """The readings, by reader, with those of a third where two differ, and what they come to, judges heard.

    Raises:
        ModelError: a request failed in a way that all further ones would.
    """
    by = dict(by)
    found = {name: agreement.settle([by[one.name][name] for one in who[:2]], words) for name in by[who[0].name]}
    if len(who) > 2 and (apart := [name for name, one in found.items() if one.outcome != "agreed"]):
        by[who[2].name] = readers.read(policy, words, who[2], apart, bound)
        found |= {name: agreement.settle([by[one.name][name] for one in who], words) for name in apart}
        found = judges.settled(policy, words, list(by.values()), found, part.judges, bound)
    return by, judges.doubted(policy, words, found, part.judges, bound)


def again(
    policy: Policy,
    words: Vocabulary,
    part: Panel,
    only: Collection[str],
    binding: Mapping[str, Bound] = MappingProxyType({}),
) -> dict[str, Extract]:
    """What blind readers make of some statements over a vocabulary, as if they were read for the first time.

    Raises:
        ModelError: a request failed in a way that all further ones would.
    """
    who = [Reader(part.readers[k % len(part.readers)], form) for k, form in enumerate(FORMS)]
    bound = _shown(binding)
    by = {one.name: readers.read(policy, words, one, only, bound) for one in who[:2]}
    by, found = heard(policy, words, part, who, by, bound)
    unheard = {clause.id: found.get(clause.id, Agreement("unusable")) for clause in clauses(policy)}
    made = settled(policy, words, by, unheard, "agreed", binding)
    return {c.id: one for c, one in zip(made.clauses, made.extracts, strict=True) if c.id in found}


def bound_clauses(policy: Policy, binding: Mapping[str, Bound]) -> tuple[Clause, ...]:
    """Every piece of the document, with what binds it."""
    return tuple(binding[one.id].clause(one) if one.id in binding else one for one in clauses(policy))


def _shown(binding: Mapping[str, Bound]) -> dict[str, Mapping[str, object]]:
    """What readers are shown beside each statement that others bind."""
    return {name: one.row for name, one in binding.items() if one.row}


def settled(
    policy: Policy,
    words: Vocabulary,
    by: Mapping[str, Mapping[str, Reading]],
    found: Mapping[str, Agreement],
    trust: Trust,
    binding: Mapping[str, Bound] = MappingProxyType({}),
) -> Extracted:
    """What readings and agreements of all statements come to at a level of trust; `binding` is what binds some."""
    extracts, extra = [], []
    every = bound_clauses(policy, binding)
    for clause, piece in zip(every, pieces(policy), strict=True):
        if (none := unread(piece)) is not None:
            extracts.append(none)
            continue
        readings = {who: reading[clause.id] for who, reading in by.items() if clause.id in reading}
        made = _extract(piece, readings, found[clause.id], words, trust)
        if (bound := binding.get(clause.id)) and bound.missing and (made.formulas or piece.kind != "heading"):
            choices = made.choices or (Choice(made.grade, made.formulas),) * bool(made.formulas)
            made = Extract("open", bound.missing, "", (), choices, _about(readings, words))
        made = replace(made, formulas=tuple(map(words.meant, made.formulas)))
        made = replace(made, reason="; ".join((made.reason, *_first_bindings(made.choices, words))))
        if made.grade == ASSUMED:
            each = [[words.meant(one) for one in reading.formulas] for reading in _usable(readings, words).values()]
            whole, meant = agreement.assumed(each, f"{clause.id}__first")
            held = () if whole else made.tools  # a rule that is unknown where the readings part holds by itself
            made = replace(made, formulas=whole, grade=ASSUMED if whole else "", tools=held)
            extra += [meant] if whole else []
        extracts.append(made)
    predicates = (*words.enforced, *extra)
    box = toolbox(words.toolbox, RuleSet(predicates))
    return Extracted(tuple(extracts), predicates, box, every, words, by, found, binding)


def _extract(
    piece: Sentence, readings: Mapping[str, Reading], found: Agreement, words: Vocabulary, trust: Trust
) -> Extract:
    usable = _usable(readings, words)
    choices = _distinct(usable)
    about = _about(readings, words)
    if trust == "read":
        first = next(iter(readings.values()))
        why = agreement.problem(first, words)
        return Extract("open", why, "", (), choices, about) if why else _in_force(first.formulas, READ, READ, words)
    if found.outcome == "agreed":
        numbers = numbers_of(piece, found.formulas, words.predicates)
        if trust == "person" or numbers.swapped:
            why = numbers.swapped or f"{found.grade}: a person has to accept it"
            return Extract("open", why, "", (), choices, about)
        return _in_force(found.formulas, found.grade, "; ".join(filter(None, (found.grade, numbers.note))), words)
    if trust in ("agreed", "assumed") and found.outcome == "differ" and len(usable) == len(readings):
        partly = agreement.by_tool(list(usable.values()), words)
        swapped = numbers_of(piece, partly.formulas, words.predicates).swapped
        if partly.formulas and not swapped:
            reason = f"{found.reason}; of {', '.join(_tools_of(partly.formulas, words))} they agree"
            return Extract("open", reason, PARTLY, partly.formulas, choices, partly.tools, found.apart)
        about = partly.tools if about is not None and not swapped else about
    if trust == "assumed" and found.outcome == "differ" and len(usable) > 1:
        return Extract("open", f"readings differ: {found.reason}", ASSUMED, (), choices, about, found.apart)
    return Extract("open", found.reason, "", (), choices, about, found.apart)


def _about(readings: Mapping[str, Reading], words: Vocabulary) -> tuple[str, ...] | None:
    """The tools that any reader takes a sentence to be about; None where one does not know."""
    strange = {e.name for e in words.entries if e.predicate.kind == "action" and not e.usable}  # done by no known tool
    known = all(one.acts and not strange & set(one.acts) for one in readings.values())
    return tuple(agreement.mentioned(list(readings.values()), words)) if known else None


def _first_bindings(choices: Iterable[Choice], words: Vocabulary) -> list[str]:
    """What a person's choice takes of facts whose bindings differ: the first one, which the reading does not show."""
    names = dict.fromkeys(name for one in choices for formula in one.formulas for name in f.predicates(formula))
    differing = [e.predicate for e in words.entries if e.name in names and e.others and e.disputed]
    return [
        f"writers tell {p.name} differently, and a choice takes it as {cel.render(p.test) if p.test else p.question}"
        for p in differing
    ]


def _usable(readings: Mapping[str, Reading], words: Vocabulary) -> dict[str, Reading]:
    return {who: one for who, one in readings.items() if not agreement.problem(one, words)}


def _tools_of(formulas: Iterable[Formula], words: Vocabulary) -> list[str]:
    known = {p.name: p for p in words.predicates}
    acts = dict.fromkeys(name for one in formulas for name in f.predicates(one) if known[name].kind == "action")
    return sorted({tool for name in acts for tool in known[name].tools})


def _in_force(formulas: Sequence[Formula], grade: str, reason: str, words: Vocabulary) -> Extract:
    guarding = agreement.guarding(formulas, words)
    if guarding:
        return Extract("rule", reason, grade, tuple(formulas))
    if formulas:
        return Extract("duty", f"{reason}: no call can break it", grade, tuple(formulas))
    return Extract("not a constraint", f"{reason}: it demands nothing of what a tool does", grade)


def _distinct(usable: Mapping[str, Reading]) -> tuple[Choice, ...]:
    """The readings of a sentence, those with the same formulas once."""
    seen: dict[tuple[Formula, ...], str] = {}
    for who, one in usable.items():
        if one.formulas:
            seen.setdefault(one.formulas, who)
    return tuple(Choice(who, formulas) for formulas, who in seen.items())


# ---- numbers of a sentence and of its rules ------------------------------------------------------

_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})+(?:\.\d+)?(?!\w)|\d+(?:\.\d+)?")
_ORDINAL = re.compile(r"\A\W*(?:\(?\d+[.)]|\(\w\))\s|\(\d{1,2}\)|\b\d+(?:st|nd|rd|th)\b")
# § 12.3 and 640.4(e) name a place of a document
_REFERENCE = re.compile(r"§+\s*\d[\d.–-]*(?:\(\w{1,3}\))*|\b\d+(?:\.\d+)*(?:\(\w{1,3}\))+")
FACTORS = (1, 7, 12, 24, 30, 60, 100, 168, 365, 1000, 1440, 3600, 86400)  # between units of time, money and weight
SPANS = ((28, 32), (28 * 24, 32 * 24), (365, 367), (365 * 24, 367 * 24))  # a month and a year in days and hours


@cache
def quantities(text: str, least: int = 3) -> frozenset[float]:
    """The quantities of a text, in digits or words (`text2num`); no ordinal of a list ("(2)", "3.") is one.

    Words below `least` count in a larger number alone, for "one" and "two" are often none.
    """
    digits = alpha2digit(_ORDINAL.sub(" ", _REFERENCE.sub(" ", text)), "en", least)
    return frozenset(float(found.replace(",", "")) for found in _NUMBER.findall(digits))


class Numbers(NamedTuple):
    """Numbers of a sentence that its rules do not have, and numbers of their tests that stand nowhere near it.

    A number counts as said by a rule if it stands in a test, a count, a name, a description or a question of its
    predicates, as it is or converted by one of a few units (days to hours, dollars to cents).
    """

    lost: tuple[float, ...] = ()
    added: tuple[float, ...] = ()

    @property
    def swapped(self) -> str:
        """Why the rules may say another number than the sentence; empty where they may not.

        One of the two alone is seldom a mistake: a year is counted in hours, a share of a hundred; a number names a
        section, or how many things are listed.
        """
        if not self.lost or not self.added:
            return ""
        return f"its rules were required to hold the number {self.lost[0]:g}; a test has {self.added[0]:g}"

    @property
    def note(self) -> str:
        """What a person may want to look at; empty for nothing."""
        said = [f"no test has its number {number:g}" for number in self.lost[:1]]
        return "; ".join(said + [f"a test has {number:g}, which it does not say" for number in self.added[:1]])


def numbers_of(piece: Sentence, formulas: Sequence[Formula], predicates: Iterable[Predicate]) -> Numbers:
    """The numbers of a sentence beside those of its rules; none where there are no rules."""
    if not formulas:
        return Numbers()
    tested, named = _of_rules(formulas, predicates)
    around = " ".join((piece.said, *piece.stems, piece.label, *piece.headings, *(cell for _, cell in piece.row)))
    lost = sorted(number for number in quantities(piece.said) if not _among(number, tested | named))
    added = sorted(number for number in tested - {0.0, 1.0} if not _among(number, quantities(around, 0) | named))
    return Numbers(tuple(lost), tuple(added))


def _of_rules(
    formulas: Sequence[Formula], predicates: Iterable[Predicate]
) -> tuple[frozenset[float], frozenset[float]]:
    """The numbers of the formulas and of their predicates' tests, and those of names, descriptions and questions."""
    used = {name for one in formulas for name in f.predicates(one)}
    own = [p for p in predicates if p.name in used]
    tested = " ".join([*map(render, formulas), *(cel.render(p.test) for p in own if p.test is not None)])
    named = " ".join(f"{p.name.replace('_', ' ')} {p.description} {p.question}" for p in own)
    return quantities(tested), quantities(named)


def _among(number: float, others: Iterable[float]) -> bool:
    """Whether a number is one of others, in some unit."""
    return any(
        abs(number - other * k) < 1e-9 or abs(number * k - other) < 1e-9 for other in others for k in FACTORS
    ) or any(
        low * a <= b <= high * a for x in others for a, b in ((number, x), (x, number)) for low, high in SPANS if a
    )


# ---- by the offline engine ----------------------------------------------------------------------


class Parse(NamedTuple):
    """What the offline engine read of one piece: its class and the reason, drafts of its rules, and the tools that an
    open one may speak of."""

    cls: Class
    reason: str
    drafts: Sequence[RuleDraft] = ()
    tools: tuple[str, ...] = ()


def parsed(policy: Policy, found: Sequence[Parse], trust: Trust = "agreed") -> Extracted:
    """What the offline engine's reader made of every piece of a document."""
    every = clauses(policy)
    named = [
        [replace(draft, rule=replace(draft.rule, clause=clause.id)) for draft in one.drafts]
        for clause, one in zip(every, found, strict=True)
    ]
    whole = collect([draft for drafts in named for draft in drafts], ())
    of_clause: dict[str, list[Formula]] = {}
    for rule in whole.rules:
        of_clause.setdefault(rule.clause, []).append(rule.formula)
    known = {p.name: p for p in whole.predicates}
    extracts = []
    for clause, one in zip(every, found, strict=True):
        formulas = tuple(of_clause.get(clause.id, ()))
        names = dict.fromkeys(name for formula in formulas for name in f.predicates(formula))
        tools = (*one.tools, *(tool for name in names for tool in known[name].tools))
        choices = (Choice("the grammar", formulas),) if formulas else ()
        if one.cls == "open" or (trust == "person" and formulas):
            why = one.reason if one.cls == "open" else f"{PARSED}: a person has to accept it"
            extracts.append(Extract("open", why, "", (), choices, tuple(dict.fromkeys(tools)) or None))
        else:
            extracts.append(Extract(one.cls, one.reason, PARSED if formulas else "", formulas))
    return Extracted(tuple(extracts), whole.predicates, policy.toolbox, every)
