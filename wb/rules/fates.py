"""What becomes of one sentence, by what was read of it, by its words, or by what a person decided: its fate.

A fate is a class with the reason for it.  It is told of the sentence alone; what it takes from the pieces around it, a
row, a list, a heading, is in `neighbours`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from wb.domain import visible
from wb.domain.document import Sentence
from wb.domain.policy import Clause
from wb.domain.tools import Toolbox
from wb.domain.visible import HIDDEN
from wb.logic import automaton, decide
from wb.logic import formula as f
from wb.logic.syntax import render
from wb.rules import accounting, called, operators, partial, physical, residual, shapes, wording, words
from wb.rules.decisions import Ruling, clause_id, quotes, without
from wb.rules.extract import negative
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.wording import Word
from wb.rules.words import Bearing

Class = Literal["rule", "open", "not a constraint", "duty", "waived"]
CLASSES: tuple[Class, ...] = get_args(Class)
_NO = re.compile(r"\A\W*(?:no|n|x|✗|✘|❌|🚫|⛔|none|nobody)\W*\Z|[❌✗✘🚫⛔]", re.I)
_YES = re.compile(r"\A\W*(?:yes|y|true|always|all|applies|applicable|mandatory|[✓✔☑✅●•+*])\W*\Z|[✓✔☑✅]", re.I)
_LIMITS = re.compile(r"(?:limit(?:s|ations?)|restrictions?|constraints?|bounds|boundaries|only)", re.I)
_RELATIVE = re.compile(
    r"\b(?:who|that|which|whose)\s(?:\w+ly )?\w+\b(?:(?!\b(?:is|are|must|may|can|shall|should|cannot)\b)[^,;.])*", re.I
)
_ACT = re.compile(r"\W*(?:(?:not|never|the) )?[a-z]{2,}ing\b(?! (?:is|are|must|may|can|shall|should|has|have)\b)", re.I)
_EMPTY = {
    "label": "a label, read with the sentence behind it",
    "column title": "the title of a column, read with its cells",
    "image": "an image: what it shows is not read",
    "script": "a script: what it would write is not read",
    "style sheet": "a style sheet, applied to what it hides",
}
_OF_THE_WORLD = (
    "what was read is of type 'physical', a fact of the world that no agent can break, and no guard keeps it; a person "
    "may write it as a rule: {}"
)
_UNSEEN = {
    HIDDEN + what for what in ("comment", "page title", "tag characters", "declaration", "script", "style sheet")
}
_WRITING = {HIDDEN + "script", HIDDEN + "style sheet"}  # what writes on a page


@dataclass(frozen=True, slots=True)
class Fate:
    """A class with its reason, the rules that it is about, the predicates in them, and whether words alone or a person
    told it, and whether what was read is all there is to know: rules of a reading that was refused are not in force."""

    cls: Class
    reason: str
    rules: tuple[Rule, ...] = ()
    predicates: tuple[Predicate, ...] = ()
    worded: bool = False
    decided: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Clausal:
    """What was made of one clause: its rules, the predicates in them, and the reasons why something is undecided."""

    rules: tuple[Rule, ...]
    predicates: tuple[Predicate, ...]
    reasons: tuple[str, ...]


def by_clause(clauses: Sequence[Clause], ruleset: RuleSet) -> dict[str, Clausal]:
    rules: dict[str, list[Rule]] = {}
    for rule in ruleset.rules:
        if rule.type == "action":
            owners = (rule.clause, *(parent.rpartition(".")[0] for parent in rule.parents))
            for owner in dict.fromkeys(owners):
                rules.setdefault(owner, []).append(rule)
    reasons: dict[str, list[str]] = {}
    for undecided in ruleset.undecided:
        reasons.setdefault(undecided.clause, []).append(undecided.reason)
    for rule in ruleset.rules:
        if rule.type == "physical" and rule.clause and rule.clause not in rules:
            reasons.setdefault(rule.clause, []).append(_OF_THE_WORLD.format(render(rule.formula)))
    known = {p.name: p for p in ruleset.predicates}
    return {
        name: Clausal(
            tuple(rules.get(name, ())),
            tuple(known[n] for n in dict.fromkeys(n for r in rules.get(name, ()) for n in r.predicates)),
            tuple(reasons.get(name, ())),
        )
        for name in {c.id for c in clauses} | rules.keys() | reasons.keys()
    }


def decided(decision: Ruling, of_clause: Mapping[str, Clausal], ruleset: RuleSet, toolbox: Toolbox) -> Fate:
    """The fate that a person gave a sentence; open where the person's rules do not do what rules are for."""
    if decision.decision == "waive":
        return Fate("waived", decision.why)
    if decision.decision == "not a constraint":
        return Fate("not a constraint", f"decided by a person: {decision.why}")
    own = of_clause.get(clause_id(decision.id))
    if own is None or not own.rules:
        return Fate("open", "a person's rules for this sentence were required in the rule set; got none of them")
    idle = {one.rule: one.reason for one in residual.unguarded(toolbox, replace(ruleset, rules=own.rules))}
    futile = {rule.id for rule in own.rules if _holds_always(rule, own.predicates, toolbox)}
    unbroken = [rule for rule in own.rules if rule.id in idle.keys() - futile and not _breakable(rule)]
    duties = [rule for rule in unbroken if not _unbracketed(rule.formula)]
    reasons = [
        *incomplete(own.predicates),
        *(
            f"{render(rule.formula)} forbids nothing: it holds whatever happens"
            if rule.id in futile
            else f"{render(rule.formula)} guards nothing: {_idle(rule, idle)}"
            for rule in own.rules
            if rule.id in futile or (rule.id in idle and rule not in duties)
        ),
    ]
    if reasons:
        said = f"a person's rules do not guard it: {'; '.join(reasons)}"
        return Fate("open", said, own.rules, own.predicates)
    told = [f"no call can break {render(rule.formula)}" for rule in duties]
    said = f"the rules of a person: {decision.why}{f' ({"; ".join(told)})' if told else ''}"
    said += f"; a part is waived by a person: {decision.part!r}" if decision.part else ""
    return Fate("duty" if len(duties) == len(own.rules) else "rule", said, own.rules, own.predicates)


def partly(
    sentence: Sentence,
    decision: Ruling,
    mine: Sequence[Clause],
    of_clause: Mapping[str, Clausal],
    bearing: Bearing,
    said_of: Sequence[Word],
) -> Fate:
    """The fate of a sentence of which a person waived a part: what was read stays in force where the rest is accounted
    for by rules that have all their tools and fields and speak of nothing that only the part says.

    What a reader could not tell of the part, in its words, does not count any more.
    """
    part = " ".join(decision.part.split())
    told = f"a part is waived by a person: {part!r} ({decision.why})"
    rest = replace(sentence, said=without(sentence.said, part))
    if rest.said == " ".join(sentence.said.split()):
        return Fate("open", f"the part that is waived is not in the words that are read: {part!r}")
    left = {}
    for clause in mine:
        made = of_clause[clause.id]
        lacking = {p.name for p in made.predicates if incomplete([p])}
        rules = tuple(r for r in made.rules if not lacking & set(r.predicates))
        _, only = called.unnamed(rest.said, made.predicates, bearing.toolbox, sentence.headings)
        beside = {
            p.name
            for p in made.predicates
            if set(only) & set(called.fields(p, bearing.toolbox))
            and not called.unnamed(sentence.said, [p], bearing.toolbox, sentence.headings)[1]
        }
        rules = tuple(r for r in rules if not beside & set(r.predicates))
        used = {name for r in rules for name in r.predicates}
        reasons = tuple(why for why in made.reasons if not _speaks_of(why, part))
        left[clause.id] = Clausal(rules, tuple(p for p in made.predicates if p.name in used), reasons)
    fate = read(rest, mine, left, bearing, (), said_of)
    return replace(fate, reason=f"{fate.reason}; {told}", decided=True)


def _speaks_of(reason: str, part: str) -> bool:
    """Whether a reason is about words of the part alone: it quotes some, and none that are not in it."""
    quoted = quotes(reason)
    return bool(quoted) and all(said.lower() in part.lower() for said in quoted)


def rejected(fate: Fate, decision: Ruling) -> Fate:
    """The fate of a sentence whose reading a person rejected: open, for all that it was read to bear on."""
    why = f"what was read is rejected by a person: {decision.why}"
    return replace(fate, cls="open", reason=why, worded=False, decided=True, refused=True)


def _holds_always(rule: Rule, predicates: Sequence[Predicate], toolbox: Toolbox) -> bool:
    """Whether nothing can ever break the rule, by its form and by what its predicates' tests say; no where unknown."""
    fixed = {p.name: value for p in predicates if (value := physical.constant(p, toolbox)) is not None}
    known = [f.Always(f.Atom(name) if value else f.Not(f.Atom(name))) for name, value in fixed.items()]
    between = physical.relevant(physical.rules(predicates, toolbox), rule.formula)
    try:
        return bool(decide.valid(rule.formula, f.conjunction((*known, between))))
    except automaton.AutomatonError:
        return False


def read(
    sentence: Sentence,
    mine: Sequence[Clause],
    of_clause: Mapping[str, Clausal],
    bearing: Bearing,
    lost: Sequence[str],
    said_of: Sequence[Word] = (),
    after: str = "",
) -> Fate:
    """The fate of one sentence by its clauses and by what was `lost` of it, or by its words where it has neither.

    `said_of` are the words that a person lets it say of things; `after` is the sentence behind it.
    """
    if not mine and lost:
        return Fate("open", "; ".join(lost))
    if not mine:
        return _by_words(sentence, bearing)
    made = [of_clause[c.id] for c in mine]
    rules = tuple(dict.fromkeys(r for m in made for r in m.rules))
    predicates = tuple(dict.fromkeys(p for m in made for p in m.predicates))
    missing = incomplete(predicates)
    context = (*sentence.stems, *(cell for _, cell in sentence.row))
    reasons = [*dict.fromkeys(reason for m in made for reason in m.reasons), *lost, *_unread(sentence, mine)]
    if missing and rules and not reasons:
        used = sentence.said, context, rules, predicates, bearing.toolbox
        reasons += accounting.unaccounted(*used, headings=sentence.headings, partial=True) or partial.withheld(
            sentence, after, rules, predicates, bearing.toolbox
        )
    if not rules and not reasons:
        reasons = ["no rule was read from it, and no reason was given"]
    headed = _headed(sentence) if rules and not shapes.banning(rules) else ""
    if reasons or missing:
        if (
            not lost
            and not any(_grounded(r, predicates) for r in rules)
            and not operators.bans(sentence.said)
            and not any(map(words.conditional, sentence.stems))
            and (reason := words.harmless(sentence.said))
        ):
            return Fate("not a constraint", reason)
        why = "; ".join(filter(None, (*reasons, headed, *missing)))
        return Fate("open", why, rules, predicates, refused=bool(reasons or headed))
    if headed:
        return Fate("open", headed, rules, predicates, refused=True)
    said, context, headings, toolbox = wording.worded(
        sentence.said, context, sentence.headings, bearing.toolbox, said_of
    )
    used = said, context, rules, predicates, toolbox
    left = "; ".join(accounting.unaccounted(*used, headings=headings))
    left = "; ".join(filter(None, (left, *partial.goes_on(after), *partial.in_order(sentence, rules))))
    accepted = ", ".join(dict.fromkeys(f"{one.say!r}" for one in said_of))
    complete = f"read completely, with words that a person accepted: {accepted}" if accepted else "read completely"
    if not any(_breakable(rule) for rule in rules):
        why = _restricting(sentence, rules) or left or _in_vain(sentence.said, rules, predicates)
        if why := why or turning_down(sentence.said, rules, predicates):
            return Fate("open", why, rules, predicates, refused=True)
        return Fate("duty", f"{complete}; no call can break it", rules, predicates)
    if shapes.past(rules, predicates):
        why = "it asks for a fact that was so once: whether it must be so now is not said"
        return Fate("open", why, rules, predicates, refused=True)
    if why := left or _in_vain(sentence.said, rules, predicates):
        return Fate("open", why, rules, predicates, refused=True)
    idle = {one.rule: one.reason for one in residual.unguarded(bearing.toolbox, RuleSet(predicates, rules))}
    if loose := [idle[rule.id] for rule in rules if rule.id in idle and _breakable(rule)]:
        return Fate("open", f"no guard can decide its rule: {loose[0]}", rules, predicates, refused=True)
    if turned := turning_down(sentence.said, rules, predicates):
        return Fate("open", turned, rules, predicates, refused=True)
    return Fate("rule", complete, rules, predicates)


def turning_down(said: str, rules: Sequence[Rule], predicates: Iterable[Predicate]) -> str:
    """Why rules that turn something down do not say all that their sentence does: it asks for that, and none of them
    forbids what would let it happen.  Empty where it does not ask, or one forbids."""
    acts = {p.name: " ".join((p.name, *p.tools)) for p in predicates if p.kind == "action"}
    used = [(rule, name) for rule in rules for name in rule.predicates if name in acts]
    down = [(rule, name) for rule, name in used if words.refuses(acts[name])]
    if any(negative(rule.formula, name) and (rule, name) not in down for rule, name in used):
        return ""
    why = "what must then not be done is not said; a person may write it as a ban"
    for rule, name in down:
        if not negative(rule.formula, name):
            return f"it asks for {name!r}: {why}"
    asks = down and words.refuses(said) and not (operators.bans(said) or words.limit(said))
    return f"it asks to turn something down, and its rule says when that may be done: {why}" if asks else ""


def incomplete(predicates: Iterable[Predicate]) -> tuple[str, ...]:
    """What the predicates lack: actions that no tool performs, facts that no field decides."""
    return tuple(
        f"no tool performs {p.name!r}" if p.kind == "action" else f"no field decides {p.name!r}"
        for p in predicates
        if (not p.tools if p.kind == "action" else p.test is None)
    )


def _grounded(rule: Rule, predicates: Iterable[Predicate]) -> bool:
    """Whether a tool performs an action of the rule."""
    return any(p.name in rule.predicates and p.kind == "action" and p.tools for p in predicates)


def _idle(rule: Rule, reasons: Mapping[str, str]) -> str:
    """Why a person's rule guards nothing."""
    if _unbracketed(rule.formula):
        return "it asks something only where its left side always holds; write ALWAYS ( … ) around the whole"
    return reasons[rule.id]


def _unbracketed(formula: f.Formula) -> bool:
    """Whether a formula asks something only where a thing is always so, as it reads where brackets were left out."""
    return isinstance(formula, f.Implies | f.Or | f.Iff | f.Xor) and isinstance(formula.left, f.Always)


def _breakable(rule: Rule) -> bool:
    """Whether some steps break the rule for ever, so that a call can be the one that does; yes where unknown."""
    try:
        return False in automaton.compile(rule.formula).settled
    except automaton.AutomatonError:
        return True


def _unread(sentence: Sentence, clauses: Sequence[Clause]) -> list[str]:
    """Reasons for the parts of a sentence that no clause covers and that have the words of a constraint."""
    left, at = [], sentence.start
    for clause in sorted(clauses, key=lambda c: c.start):
        left.append(sentence.text[max(at - sentence.start, 0) : max(clause.start - sentence.start, 0)])
        at = max(at, clause.end)
    left.append(sentence.text[max(at - sentence.start, 0) :])
    parts = [visible.read(part, markup=False).text for part in left]
    return [f"a part was not read: {' '.join(part.split())!r}" for part in parts if words.forced(part)]


def _by_words(sentence: Sentence, bearing: Bearing) -> Fate:
    """The fate of a sentence that no clause covers."""
    if sentence.kind == "gap":
        return gap(sentence)
    if hidden := operators.characters(sentence.said, whole=False):
        return Fate("open", "; ".join(hidden))
    if sentence.kind == "heading":
        marks = words.forced(sentence.said) or operators.bans(sentence.said) or words.titled(sentence.said)
        if marks and not sentence.said.rstrip().endswith("?"):
            return Fate("open", f"a heading with the words of a constraint ({marks})")
        return Fate("not a constraint", "a heading")
    if sentence.kind == "cell" and (said := operators.bans(sentence.said) or _NO.search(sentence.said)):
        return Fate("open", f"a cell that forbids something ({said if isinstance(said, str) else said.group()})")
    if sentence.kind == "cell" and (yes := _YES.search(sentence.said)):
        return Fate("open", f"a cell that says of its row what the title of its column says ({yes.group()})")
    reason, plain = words.verdict(
        sentence.said,
        bearing,
        opening=next(iter(sentence.stems[::-1]), ""),
        title=" / ".join(_titles(sentence)),
        label=sentence.label,
        fragment=sentence.kind in ("item", "step", "cell") or bool(sentence.stems),
    )
    return Fate("not a constraint" if plain else "open", reason, worded=True)


def _titles(sentence: Sentence) -> list[str]:
    """The innermost title of a sentence, behind those around it, and its column's, that forbid by their head alone."""
    outer = (*sentence.headings[:-1], sentence.column)
    return [*(title for title in outer if words.forbids(title)), *sentence.headings[-1:]]


def _restricting(sentence: Sentence, rules: Sequence[Rule]) -> str:
    """Why rules that no call can break do not say a sentence: it, or what it is read with, forbids or limits."""
    around = (
        sentence.label,
        *sentence.stems,
        *sentence.headings[-1:],
        *(word for pair in sentence.row for word in pair),
    )
    banned = operators.bans(sentence.said, *around) or words.limit(sentence.said)
    if banned := banned or ", ".join(filter(None, map(words.titled, around))):
        return f"it restricts ({banned}), and no call can break what was read from it"
    return "it says how something is done: to do it otherwise may be forbidden" if shapes.narrowed(rules) else ""


def _in_vain(said: str, rules: Sequence[Rule], predicates: Sequence[Predicate]) -> str:
    """Why a rule that no call can break may not be what a sentence says: it restricts, or asks for what none does."""
    vain = [rule for rule in rules if not _breakable(rule)]
    if later := shapes.brought_about(vain, predicates):
        return f"it asks for {', '.join(map(repr, later))} at some time, which no call is known to bring about"
    acts = {p.name for p in predicates if p.kind == "action"}
    if any(len(acts & set(rule.predicates)) > 1 for rule in vain) and not words.supposed(said):
        return "of two acts it is not said when the one asks for the other"
    two = operators.demands(said) or operators.BOTH_WAYS.search(said)
    needs = (
        words.requires(said)
        or words.sequenced(said)
        or (len(vain) < len(rules) and not two and (operators.bans(said) or words.limit(said)))
    )
    return f"it restricts ({needs}), and no call can break {render(vain[0].formula)}" if vain and needs else ""


def _headed(sentence: Sentence) -> str:
    """Why a sentence without force of its own is told by no sign: it stands under a title, a label or a column that
    forbids, or only names what is done ("Leasing a boat that is leaking"), which may be forbidden or asked for."""
    said = _RELATIVE.sub(" ", sentence.said)  # "guests who are barred" forbids nothing
    if words.forced(said) or words.permissive(said):
        return ""
    limits = operators.bans(sentence.said) or words.limit(sentence.said)
    for title in (*sentence.headings, sentence.label, sentence.column, *(title for title, _ in sentence.row)):
        found = operators.bans(title) or (words.against(title) if len(title.split()) <= 6 else "")
        if found and not (limits and _LIMITS.fullmatch(found)):
            return f"it stands under words that forbid ({found}): whether it says what is forbidden is not told"
    around = (*sentence.stems, *(cell for pair in sentence.row for cell in pair))
    force = (words.forced, words.permissive, operators.bans, words.limit, words.requires)
    if _ACT.match(said) and not any(tells(text) for text in around for tells in force):
        return "it names an act, and neither it nor what it is read with says whether that is forbidden or asked for"
    return ""


def _phrases(gap: Sentence) -> tuple[str, ...]:
    """What of a text that is not seen may be said on its own: of markup what stands between its marks, of a style sheet
    or a script the strings that it would write."""
    if gap.label in _WRITING:
        strings = re.findall(r"\"([^\"\n]*)\"|'([^'\n]*)'|`([^`]*)`", gap.text)
        written = [text for found in strings for text in found if len(text.split()) > 1]
        return tuple(written) if "script" in gap.label or "content" in gap.text else ()
    return (gap.text, *re.split(r"[<>\[\](){}\"“”=\n]+|(?<!\w)'|'(?!\w)", gap.text))


def gap(piece: Sentence) -> Fate:
    """The fate of what is in no sentence, by the reason why it was skipped."""
    found = [word for phrase in _phrases(piece) for word in words.forced(phrase).split(", ") if word]
    marks = ", ".join(dict.fromkeys(found))
    if piece.label in _UNSEEN and not (marks and piece.label in _WRITING):
        return Fate("not a constraint", f"{piece.label}: no reader of the document sees it")
    if piece.label in _EMPTY and not marks:
        return Fate("not a constraint", _EMPTY[piece.label])
    if piece.label and piece.text:
        return Fate(
            "open" if marks else "not a constraint", f"{piece.label}{f' with the words {marks}' if marks else ''}"
        )
    return Fate("open", f"{piece.label or 'no sentence'}: what the reader of documents skipped is not known")
