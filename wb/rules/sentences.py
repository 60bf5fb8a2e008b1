"""Every sentence of a document has one class, and an open one holds the tools that it is about.

ShieldAgent extracts policies from a document (Sec. 3.2.2) and says nothing of what it did not read.  Here each one
ends as one of five: *rule* (in force), *open* (readers differ, or none could read it), *not a constraint* (readers
agree that no call can break it), *duty* (it asks for something later), *waived* (by a person).  What a person decides
of a sentence wins over all readers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from wb.domain.policy import Policy, following, identities, named, pieces, standing
from wb.domain.tools import Toolbox
from wb.logic import automaton, decide
from wb.logic import formula as f
from wb.logic.syntax import render
from wb.logic.wording import shortened
from wb.rules import decisions, extract, physical, residual, understood
from wb.rules.decisions import DecisionError, Offer, Ruling
from wb.rules.extract import CLASSES, MODEL, PERSON, Class, Extract, Extracted
from wb.rules.rule import Rule, RuleSet, toolbox


@dataclass(frozen=True, slots=True)
class Account:
    """What became of one sentence: `policy.text[start:end] == text`.

    `id` names the sentence by its text and what it is read with (`clauses.identities`): twelve hexadecimal digits,
    "-2" for the second of the same words in the same context.  `place` says in words where it stands.  `reason` says
    why it is in its class, `grade` what that rests on: *parsed*, *agreed 2 of 2*, *read once*, *assumed*, *person*,
    *assumed by a model* (then `tools` are also those that the sentence would hold if it were open).
    `tools` are, for `open`, those that the sentence holds, all that change something where it is `unknown` which it is
    about; for `rule` those that its rules can forbid; for `duty` those that it asks for.  `apart` is, in words, a run
    on which two readings part.
    """

    id: str
    text: str
    start: int
    end: int
    headings: tuple[str, ...]
    cls: Class
    reason: str
    rules: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    place: str = ""
    grade: str = ""
    apart: tuple[str, ...] = ()
    unknown: bool = False


class Classified(NamedTuple):
    """The class of every sentence of a document, in order, and the rules in force."""

    accounts: tuple[Account, ...]
    ruleset: RuleSet


def classify(policy: Policy, found: Extracted, rulings: Sequence[Ruling] = ()) -> Classified:
    """What becomes of every sentence, by a person's decision about it, else by what was extracted.

    A decision counts for the sentence of its id if the text is the same; a model's, if it is open besides.
    """
    every = pieces(policy)
    made = {one.id: one for one in rulings}
    rows, rules = [], []
    ruleset = RuleSet(found.predicates)
    for k, (name, piece, before) in enumerate(zip(identities(every), every, following(every), strict=True)):
        clause, one = found.clauses[k], found.extracts[k]
        ruling = made.get(name)
        held: tuple[str, ...] | None = ()  # by an assumption
        if ruling is not None and ruling.speaks_of(piece.text) and (ruling.by == "person" or one.cls == "open"):
            held = _opened(one, found).tools if ruling.by == "model" else ()
            one, own = _decided(one, ruling, clause.id, found)
            ruleset, fresh = decisions.joined(ruleset, own, found.toolbox)
        else:
            fresh = extract.rules_of(one.formulas, clause)
        rules += fresh
        place = standing(piece, before)
        row = Account(name, piece.text, piece.start, piece.end, piece.headings, one.cls, one.reason, place=place)
        apart = _apart(one, found)
        rows.append((replace(row, rules=tuple(r.id for r in fresh), grade=one.grade, apart=apart), one.tools, held))
    whole = RuleSet(ruleset.predicates, tuple(rules)).without_unused()
    box = toolbox(found.toolbox, whole)
    accounts = [(_with_tools(row, tools, whole, box), held) for row, tools, held in rows]
    return Classified(tuple(_resting(row, mutating(box) if held is None else held) for row, held in accounts), whole)


def _resting(row: Account, held: Iterable[str]) -> Account:
    """The account with those tools as well, where it rests on an assumption of a model."""
    return replace(row, tools=tuple(dict.fromkeys((*row.tools, *held)))) if row.grade == MODEL else row


def offered(policy: Policy, found: Extracted, accounts: Sequence[Account]) -> dict[str, list[Offer]]:
    """The readings that a person may choose from for each open sentence, by its id; each is tried, as if it were
    accepted, so that one says why it would leave its sentence open."""
    made: dict[str, list[Offer]] = {}
    for account, clause, one in zip(accounts, found.clauses, found.extracts, strict=True):
        if account.cls != "open":
            continue
        choices = one.choices or ((extract.Choice(one.grade, one.formulas),) if one.formulas else ())
        for choice in choices:
            whole = RuleSet(found.predicates, tuple(extract.rules_of(choice.formulas, clause))).without_unused()
            try:
                taken = decisions.decide(account, "rule", decisions.ACCEPTED, decisions.to_text(whole), policy)
                tried, _ = _decided(one, taken, clause.id, found)
                idle = tried.reason if tried.cls == "open" else ""
            except DecisionError as error:
                idle = str(error)
            made.setdefault(account.id, []).append(Offer(choice.by, whole, idle))
    return made


def _decided(one: Extract, ruling: Ruling, clause: str, found: Extracted) -> tuple[Extract, RuleSet]:
    """What a person made of a sentence, or a model that stands in for one, and the rules written or chosen for it."""
    model = ruling.by == "model"
    grade, who = (MODEL, "a model") if model else (PERSON, "a person")
    why = (
        f"{MODEL}: {ruling.assumption} ({ruling.why})"
        if model
        else f"decided by a person: {ruling.why or decisions.ACCEPTED}"
    )
    if ruling.decision == "waive":
        return Extract("waived", ruling.why or "", PERSON), RuleSet()
    if ruling.decision == "not a constraint":
        return Extract("not a constraint", why, grade), RuleSet()
    if ruling.decision == "reject":
        why = f"what was read of it is wrong, as {who} says: {ruling.why}"
        return replace(_opened(one, found), reason=why, grade=grade), RuleSet()
    own = decisions.own([ruling], found.toolbox)
    box = toolbox(found.toolbox, own)
    if idle := _idle(own, box):
        tools = [tool for p in own.predicates for tool in p.tools]
        opened = _opened(one, found, tools)
        return replace(opened, reason=f"{who}'s rule for it guards nothing: {idle}", grade=grade), RuleSet()
    cls: Class = "rule" if any(_guards(rule, own, box) for rule in own.rules) else "duty"
    return Extract(cls, why, grade), own


def _opened(one: Extract, found: Extracted, more: Iterable[str] = ()) -> Extract:
    """What was read, no more in force: it holds the tools that its rules were about."""
    names = {name for formula in one.formulas for name in f.predicates(formula)}
    about = [tool for p in found.predicates if p.name in names for tool in p.tools]
    tools = tuple(dict.fromkeys((*(one.tools or ()), *about, *more)))
    if one.tools is None and not about:
        tools = tuple(dict.fromkeys((*mutating(found.toolbox), *tools))) if tools else None
    return replace(one, cls="open", grade="", formulas=(), tools=tools)


def _idle(own: RuleSet, box: Toolbox) -> str:
    """Why some of a person's rules does nothing for its sentence; empty where each guards, or asks for what follows."""
    for one in own.predicates:
        if not one.tools if one.kind == "action" else one.test is None:
            return f"no tool performs {one.name!r}" if one.kind == "action" else f"no field decides {one.name!r}"
    unguarded = {one.rule: one.reason for one in residual.unguarded(box, own)}
    for rule in own.rules:
        if isinstance(rule.formula, f.Implies | f.Or | f.Iff | f.Xor) and isinstance(rule.formula.left, f.Always):
            return "it asks something only where its left side always holds; write ALWAYS ( … ) around the whole"
        if _always(rule, own, box):
            return f"{render(rule.formula)} holds whatever happens"
        if rule.id in unguarded and _breakable(rule):
            return unguarded[rule.id]
    return ""


def _always(rule: Rule, own: RuleSet, box: Toolbox) -> bool:
    """Whether nothing can ever break a rule, by its form and by what its predicates' tests say; no where unknown."""
    fixed = {p.name: value for p in own.predicates if (value := physical.constant(p, box)) is not None}
    known = [f.Always(f.Atom(name) if value else f.Not(f.Atom(name))) for name, value in fixed.items()]
    try:
        between = physical.relevant(physical.rules(own.predicates, box), rule.formula)
        return bool(decide.valid(rule.formula, f.conjunction((*known, between))))
    except automaton.AutomatonError:
        return False


def _guards(rule: Rule, ruleset: RuleSet, box: Toolbox) -> bool:
    return any(residual.bearing(rule, tool.name, ruleset) is not None for tool in box.tools)


def _breakable(rule: Rule) -> bool:
    """Whether some steps break the rule for ever, so that a call can be the one that does; yes where unknown."""
    try:
        return False in automaton.compile(rule.formula).settled
    except automaton.AutomatonError:
        return True


def _apart(one: Extract, found: Extracted) -> tuple[str, ...]:
    """The run on which two readings part, a text for each step."""
    if one.apart is None:
        return ()
    formulas = [formula for choice in one.choices for formula in choice.formulas]
    return understood.steps(one.apart, formulas, RuleSet(found.predicates))


def _with_tools(row: Account, tools: tuple[str, ...] | None, ruleset: RuleSet, box: Toolbox) -> Account:
    """The account with its tools; an open sentence of which nobody says what it is about holds all that change
    something."""
    if row.cls == "open":
        return replace(row, tools=mutating(box) if tools is None else tools, unknown=tools is None)
    own = [rule for rule in ruleset.rules if rule.id in row.rules]
    if row.cls == "rule":
        bound = dict.fromkeys(
            tool.name for rule in own for tool in box.tools if residual.bearing(rule, tool.name, ruleset) is not None
        )
        return replace(row, tools=tuple(bound))
    asked = dict.fromkeys(tool for rule in own for act in ruleset.actions(rule) for tool in act.tools)
    return replace(row, tools=tuple(asked))


def mutating(box: Toolbox) -> tuple[str, ...]:
    """The tools that change something, as far as is known: all but those that are declared not to."""
    return tuple(tool.name for tool in box.tools if tool.mutating is not False)


def settled(policy: Policy, rulings: Sequence[Ruling]) -> tuple[tuple[Ruling, ...], tuple[Ruling, ...]]:
    """The decisions about sentences as they now are, and the stale ones, whose sentence is gone or was changed."""
    texts = named(policy)
    current = tuple(d for d in rulings if d.id in texts and d.speaks_of(texts[d.id]))
    return current, tuple(d for d in rulings if d not in current)


def questioned(
    accounts: Iterable[Account], questions: Mapping[str, str], rulings: Sequence[Ruling], box: Toolbox
) -> tuple[Account, ...]:
    """The accounts, open where a rule of theirs has a question (`check.questions`) and no person decided the sentence.

    Its rules stay in force.
    """
    decided, found = {ruling.id for ruling in rulings if ruling.by == "person"}, []
    for account in accounts:
        asked = [questions[name] for name in account.rules if name in questions]
        if asked and account.cls in ("rule", "duty") and account.id not in decided:
            why = f"it was read, and has to be decided: {'; '.join(dict.fromkeys(asked))}"
            account = replace(
                account, cls="open", reason=why, tools=account.tools or mutating(box), unknown=not account.tools
            )
        found.append(account)
    return tuple(found)


def assumptions(accounts: Iterable[Account], bearing: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """What a model assumed that each tool rests on, to be decided by a person; `bearing` are the rules of each tool."""
    found: dict[str, tuple[str, ...]] = {}
    for one in (one for one in accounts if one.grade == MODEL):
        for tool in (tool for tool, rules in bearing.items() if tool in one.tools or {*rules} & {*one.rules}):
            found[tool] = (*found.get(tool, ()), f"“{shortened(one.text, 80)}” is {one.reason}")
    return found


def open_on(accounts: Iterable[Account]) -> dict[str, tuple[Account, ...]]:
    """The open sentences that hold each tool, in the order of the document; tools without any are absent."""
    found: dict[str, list[Account]] = {}
    for account in accounts:
        for tool in account.tools if account.cls == "open" else ():
            found.setdefault(tool, []).append(account)
    return {tool: tuple(rows) for tool, rows in found.items()}


def refined(accounts: Iterable[Account], ruleset: RuleSet) -> tuple[Account, ...]:
    """The accounts with the rules that a refinement made of theirs: those that they are parents of, or stayed.

    A sentence none of whose rules is left is open.
    """
    heirs: dict[str, list[str]] = {}
    for rule in ruleset.rules:
        for name in dict.fromkeys((rule.id, *rule.parents)):
            heirs.setdefault(name, []).append(rule.id)
    found = []
    for account in accounts:
        rules = tuple(dict.fromkeys(new for old in account.rules for new in heirs.get(old, ())))
        gone = account.rules and not rules and account.cls in ("rule", "duty")
        left = replace(account, cls="open", reason="none of its rules is left after refinement") if gone else account
        found.append(replace(left, rules=rules))
    return tuple(found)


def counted(accounts: Iterable[Account]) -> dict[str, int]:
    """How many sentences are in each class, all classes named."""
    found = Counter(account.cls for account in accounts)
    return {cls: found[cls] for cls in CLASSES}


def titles(rows: Iterable[tuple[str, Sequence[str]]]) -> int:
    """How many sentences are a heading of others, each given by its text and the headings over it."""
    kept = tuple(rows)
    over = {title for _, above in kept for title in above}
    return sum(text in over for text, _ in kept)


LISTS = ("headings", "rules", "tools", "apart")


def to_json(accounts: Iterable[Account]) -> list[dict[str, object]]:
    """Accounts as JSON values, for `sentences.json`."""
    return [{**asdict(one), **{k: list(getattr(one, k)) for k in LISTS}} for one in accounts]


def from_json(rows: Iterable[Mapping[str, object]]) -> tuple[Account, ...]:
    """Accounts from what `to_json` gave."""
    return tuple(Account(**{k: tuple(v) if k in LISTS else v for k, v in row.items()}) for row in rows)
