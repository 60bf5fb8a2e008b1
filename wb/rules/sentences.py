"""Every sentence of a document has one class, and an open one bears on tools: nothing passes in silence.

ShieldAgent extracts policies from a document (Sec. 3.2.2) and says nothing of what it did not read.  Here
each sentence ends as one of five: *rule* (read completely), *open* (undecided, unread, or grounded in part),
*not a constraint* (for a reason that can be seen in its words), *duty* (read completely, but no call can
break it), *waived* (by a person).  Both engines share this: only the document, the clauses, the rules and
the undecided are looked at, and the closed lists of English words for force, exception and limit in `words`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Literal, get_args

from wb.domain import visible
from wb.domain.clauses import identities, named, pieces, standing
from wb.domain.document import Sentence
from wb.domain.policy import Clause, Policy
from wb.domain.tools import Toolbox
from wb.domain.visible import HIDDEN
from wb.logic import automaton, decide
from wb.logic import formula as f
from wb.logic.syntax import render
from wb.rules import accounting, called, operators, partial, physical, residual, shapes, wording, words
from wb.rules.decisions import Ruling, clause_id, quotes
from wb.rules.extract import negative
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.wording import Word
from wb.rules.words import Bearing

Class = Literal["rule", "open", "not a constraint", "duty", "waived"]
CLASSES: tuple[Class, ...] = get_args(Class)
_NO = re.compile(r"\A\W*(?:no|n|x|✗|✘|❌|🚫|⛔|none|nobody)\W*\Z|[❌✗✘🚫⛔]", re.I)
_YES = re.compile(r"\A\W*(?:yes|y|true|always|all|applies|applicable|mandatory|[✓✔☑✅●•+*])\W*\Z|[✓✔☑✅]", re.I)
_MARKED = re.compile(r"\A\W*(?:(?P<upper>[A-Z])|(?P<lower>[a-z]{1,4})|(?P<number>\d{1,2}))[.)]\s")  # "(a) …", "2. …"
_LATER = re.compile(r"\b(?:before|prior to|until)\b(.*)", re.I | re.S)
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
class Account:
    """What became of one sentence: `policy.text[start:end] == text`.

    `id` names the sentence by its text and what it is read with (`clauses.identities`): twelve hexadecimal digits,
    "-2" for the second of the same words in the same context.  `place` says in words where it stands.  `reason` says
    why it is in its class.  `tools` are, for `open`, those that the sentence bears on; for `rule` those that its rules
    can forbid; for `duty` those that it asks for.  `part` is what of its words a person waived, while the rest stands.
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
    part: str = ""


def classify(
    policy: Policy,
    clauses: Sequence[Clause],
    ruleset: RuleSet,
    decisions: Sequence[Ruling] = (),
    lines: Sequence[Word] = (),
) -> tuple[Account, ...]:
    """The class of every sentence of the document, in order.

    The rule set may be as extracted or refined: a rule counts for the clauses of its parents too.  A
    decision counts for the sentence of its id if the text is the same; its own rules must have been joined
    (`decisions.join`).  `lines` say which words a person lets sentences use of
    a tool or a field.
    """
    every = pieces(policy)
    ids = identities(every)
    decided = {d.id: d for d in decisions}
    of_words = {name: [one for one in lines if name in one.of] for line in lines for name in line.of}
    of_clause = _by_clause(clauses, ruleset)
    bearing = Bearing(policy.toolbox)
    lost: dict[str, list[str]] = {}
    for undecided in ruleset.undecided:
        if not undecided.clause:
            lost.setdefault(" ".join(undecided.quote.split()), []).append(undecided.reason)
    ruled = {
        k for k, (i, s) in enumerate(zip(ids, every, strict=True)) if i in decided and decided[i].speaks_of(s.text)
    }
    seen = [k for k, s in enumerate(every) if not _hidden(s)]
    shown = [every[k] for k in seen]
    mine = dict(zip(seen, _covering(shown, clauses), strict=True))
    behind = {k: _behind(every[k], every[j]) for k, j in pairwise(seen)}
    first = [
        replace(_decided(decided[ids[k]], of_clause, ruleset, policy.toolbox), decided=True)
        if k in ruled and decided[ids[k]].decision != "reject" and not decided[ids[k]].partly
        else _gap(s)
        if k not in mine
        else _read(
            s,
            mine[k],
            of_clause,
            bearing,
            lost.get(" ".join(s.text.split()), ()),
            of_words.get(ids[k], ()),
            behind.get(k, ""),
        )
        for k, s in enumerate(every)
    ]
    for k in ruled:
        if decided[ids[k]].decision == "reject":
            first[k] = _rejected(first[k], decided[ids[k]])
        elif decided[ids[k]].partly and k in mine:
            first[k] = _partly(every[k], decided[ids[k]], mine[k], of_clause, bearing, of_words.get(ids[k], ()))
    rows = _labels(shown, _rows(shown, [first[k] for k in seen]), bearing)
    rows = _answers(shown, _under(shown, _enumerated(shown, rows)), bearing)
    told = dict(zip(seen, _stems(shown, rows), strict=True))
    fates = [told.get(k, fate) for k, fate in enumerate(first)]
    readings = [
        Account(
            i,
            s.text,
            s.start,
            s.end,
            s.headings,
            fate.cls,
            fate.reason + _left_out(s),
            () if fate.refused else tuple(r.id for r in fate.rules),
            place=standing(s),
            part=(decided[i].part or "") if k in ruled and fate.cls != "open" else "",
        )
        for k, (i, s, fate) in enumerate(zip(ids, every, fates, strict=True))
    ]
    return _with_tools(readings, every, fates, bearing)


def settled(policy: Policy, decisions: Sequence[Ruling]) -> tuple[tuple[Ruling, ...], tuple[Ruling, ...]]:
    """The decisions about sentences as they now are, and the stale ones, whose sentence is gone or was changed."""
    texts = named(policy)
    current = tuple(d for d in decisions if d.id in texts and d.speaks_of(texts[d.id]))
    return current, tuple(d for d in decisions if d not in current)


def questioned(
    readings: Iterable[Account], questions: Mapping[str, str], decisions: Sequence[Ruling], toolbox: Toolbox
) -> tuple[Account, ...]:
    """The readings, open where a rule of theirs has a question (`check.questions`) and no person decided the sentence.

    Its rules stay in force.
    """
    settled = {decision.id for decision in decisions if not decision.partly}
    bearing, found = Bearing(toolbox), []
    for reading in readings:
        asked = [questions[name] for name in reading.rules if name in questions]
        if asked and reading.cls in ("rule", "duty") and reading.id not in settled:
            why = f"it was read, and has to be decided: {'; '.join(dict.fromkeys(asked))}"
            reading = replace(reading, cls="open", reason=why, tools=reading.tools or bearing.mutating())
        found.append(reading)
    return tuple(found)


def open_on(readings: Iterable[Account]) -> dict[str, tuple[Account, ...]]:
    """The open sentences that bear on each tool, in the order of the document; tools without any are absent."""
    found: dict[str, list[Account]] = {}
    for reading in readings:
        for tool in reading.tools if reading.cls == "open" else ():
            found.setdefault(tool, []).append(reading)
    return {tool: tuple(those) for tool, those in found.items()}


def refined(readings: Iterable[Account], ruleset: RuleSet) -> tuple[Account, ...]:
    """The readings with the rules that a refinement made of theirs: those that they are parents of, or stayed.

    A sentence none of whose rules is left is open.
    """
    heirs: dict[str, list[str]] = {}
    for rule in ruleset.rules:
        for name in dict.fromkeys((rule.id, *rule.parents)):
            heirs.setdefault(name, []).append(rule.id)
    found = []
    for reading in readings:
        rules = tuple(dict.fromkeys(new for old in reading.rules for new in heirs.get(old, ())))
        gone = reading.rules and not rules and reading.cls in ("rule", "duty")
        kept = replace(reading, cls="open", reason="none of its rules is left after refinement") if gone else reading
        found.append(replace(kept, rules=rules))
    return tuple(found)


def enforced(ruleset: RuleSet, readings: Iterable[Account]) -> RuleSet:
    """The rules in force: without those of waived sentences, of no constraints and of readings that were refused; an
    open sentence keeps those that only lack a tool or a field, if they may be all that it says (`partial.withheld`).
    Rules of no clause stay."""
    named = {rule for reading in readings for rule in reading.rules}
    rules = tuple(r for r in ruleset.rules if r.type == "physical" or not r.clause or r.id in named)
    return replace(ruleset, rules=rules).without_unused()


def counted(readings: Iterable[Account]) -> dict[str, int]:
    """How many sentences are in each class, all classes named."""
    found = Counter(reading.cls for reading in readings)
    return {cls: found[cls] for cls in CLASSES}


def to_json(readings: Iterable[Account]) -> list[dict[str, object]]:
    """Readings as JSON values, for `sentences.json`."""
    return [{**asdict(r), **{k: list(getattr(r, k)) for k in ("headings", "rules", "tools")}} for r in readings]


def from_json(rows: Iterable[Mapping[str, object]]) -> tuple[Account, ...]:
    """Readings from what `to_json` gave."""
    lists = ("headings", "rules", "tools")
    return tuple(Account(**{k: tuple(v) if k in lists else v for k, v in row.items()}) for row in rows)


@dataclass(frozen=True, slots=True)
class _Fate:
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
class _Clausal:
    """What was made of one clause: its rules, the predicates in them, and the reasons why something is undecided."""

    rules: tuple[Rule, ...]
    predicates: tuple[Predicate, ...]
    reasons: tuple[str, ...]


def _by_clause(clauses: Sequence[Clause], ruleset: RuleSet) -> dict[str, _Clausal]:
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
        name: _Clausal(
            tuple(rules.get(name, ())),
            tuple(known[n] for n in dict.fromkeys(n for r in rules.get(name, ()) for n in r.predicates)),
            tuple(reasons.get(name, ())),
        )
        for name in {c.id for c in clauses} | rules.keys() | reasons.keys()
    }


def _covering(every: Sequence[Sentence], clauses: Sequence[Clause]) -> list[list[Clause]]:
    """The clauses that share characters with each sentence."""
    found: list[list[Clause]] = [[] for _ in every]
    ends = [s.end for s in every]
    for clause in clauses:
        k = bisect_right(ends, clause.start)
        while k < len(every) and every[k].start < clause.end:
            found[k].append(clause)
            k += 1
    return found


def _hidden(piece: Sentence) -> bool:
    """Whether no reader sees the piece: it is told, and changes nothing of what is said of the others."""
    return piece.kind == "gap" and piece.label.startswith(HIDDEN)


def _behind(piece: Sentence, following: Sentence) -> str:
    """The words of the piece behind another one where it goes on from there: under the same headings, no new item."""
    apart = following.headings != piece.headings or following.kind in ("heading", "cell", "gap")
    return "" if apart or following.row else following.said


def _left_out(sentence: Sentence) -> str:
    """What of a sentence is not seen and was not read, as an addition to its reason."""
    if sentence.said == sentence.text:
        return ""
    kinds = dict.fromkeys(edit.reason for edit in visible.read(sentence.text, markup=False).left)
    return f"; read without what is not seen in it ({', '.join(kinds)})" if kinds else ""


def _decided(decision: Ruling, of_clause: Mapping[str, _Clausal], ruleset: RuleSet, toolbox: Toolbox) -> _Fate:
    """The fate that a person gave a sentence; open where the person's rules do not do what rules are for."""
    if decision.decision == "waive":
        return _Fate("waived", decision.why)
    if decision.decision == "not a constraint":
        return _Fate("not a constraint", f"decided by a person: {decision.why}")
    own = of_clause.get(clause_id(decision.id))
    if own is None or not own.rules:
        return _Fate("open", "a person's rules for this sentence were required in the rule set; got none of them")
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
        return _Fate("open", said, own.rules, own.predicates)
    told = [f"no call can break {render(rule.formula)}" for rule in duties]
    said = f"the rules of a person: {decision.why}{f' ({"; ".join(told)})' if told else ''}"
    said += f"; a part is waived by a person: {decision.part!r}" if decision.part else ""
    return _Fate("duty" if len(duties) == len(own.rules) else "rule", said, own.rules, own.predicates)


def _partly(
    sentence: Sentence,
    decision: Ruling,
    mine: Sequence[Clause],
    of_clause: Mapping[str, _Clausal],
    bearing: Bearing,
    said_of: Sequence[Word],
) -> _Fate:
    """The fate of a sentence of which a person waived a part: what was read stays in force where the rest is accounted
    for by rules that have all their tools and fields and speak of nothing that only the part says.

    What a reader could not tell of the part, in its words, does not count any more.
    """
    part = " ".join(decision.part.split())
    told = f"a part is waived by a person: {part!r} ({decision.why})"
    rest = replace(sentence, said=" ".join(" ".join(sentence.said.split()).replace(part, " ").split()))
    if rest.said == sentence.said:
        return _Fate("open", f"the part that is waived is not in the words that are read: {part!r}")
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
        left[clause.id] = _Clausal(rules, tuple(p for p in made.predicates if p.name in used), reasons)
    fate = _read(rest, mine, left, bearing, (), said_of)
    return replace(fate, reason=f"{fate.reason}; {told}", decided=True)


def _speaks_of(reason: str, part: str) -> bool:
    """Whether a reason is about words of the part alone: it quotes some, and none that are not in it."""
    quoted = quotes(reason)
    return bool(quoted) and all(said.lower() in part.lower() for said in quoted)


def _rejected(fate: _Fate, decision: Ruling) -> _Fate:
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


def _read(
    sentence: Sentence,
    mine: Sequence[Clause],
    of_clause: Mapping[str, _Clausal],
    bearing: Bearing,
    lost: Sequence[str],
    said_of: Sequence[Word] = (),
    after: str = "",
) -> _Fate:
    """The fate of one sentence by its clauses and by what was `lost` of it, or by its words where it has neither.

    `said_of` are the words that a person lets it say of things; `after` is the sentence behind it.
    """
    if not mine and lost:
        return _Fate("open", "; ".join(lost))
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
    if reasons or missing:
        if (
            not lost
            and not any(_grounded(r, predicates) for r in rules)
            and not operators.bans(sentence.said)
            and not any(map(words.conditional, sentence.stems))
            and (reason := words.harmless(sentence.said))
        ):
            return _Fate("not a constraint", reason)
        return _Fate("open", "; ".join((*reasons, *missing)), rules, predicates, refused=bool(reasons))
    said, context, headings, toolbox = wording.worded(
        sentence.said, context, sentence.headings, bearing.toolbox, said_of
    )
    read = said, context, rules, predicates, toolbox
    left = "; ".join(accounting.unaccounted(*read, headings=headings))
    left = "; ".join(filter(None, (left, *partial.goes_on(after), *partial.in_order(sentence, rules))))
    accepted = ", ".join(dict.fromkeys(f"{one.say!r}" for one in said_of))
    complete = f"read completely, with words that a person accepted: {accepted}" if accepted else "read completely"
    if not any(_breakable(rule) for rule in rules):
        around = (
            sentence.label,
            *sentence.stems,
            *sentence.headings[-1:],
            *(word for pair in sentence.row for word in pair),
        )
        banned = operators.bans(sentence.said, *around) or words.limit(sentence.said)
        banned = banned or ", ".join(filter(None, map(words.titled, around)))
        if banned:
            why = f"it restricts ({banned}), and no call can break what was read from it"
            return _Fate("open", why, rules, predicates, refused=True)
        if shapes.narrowed(rules):
            why = "it says how something is done: to do it otherwise may be forbidden"
            return _Fate("open", why, rules, predicates, refused=True)
        if left:
            return _Fate("open", left, rules, predicates, refused=True)
        if turned := _turning_down(rules, predicates):
            return _Fate("open", turned, rules, predicates, refused=True)
        return _Fate("duty", f"{complete}; no call can break it", rules, predicates)
    if shapes.past(rules, predicates):
        why = "it asks for a fact that was so once: whether it must be so now is not said"
        return _Fate("open", why, rules, predicates, refused=True)
    if left:
        return _Fate("open", left, rules, predicates, refused=True)
    idle = {one.rule: one.reason for one in residual.unguarded(bearing.toolbox, RuleSet(predicates, rules))}
    if loose := [idle[rule.id] for rule in rules if rule.id in idle and _breakable(rule)]:
        return _Fate("open", f"no guard can decide its rule: {loose[0]}", rules, predicates, refused=True)
    if turned := _turning_down(rules, predicates):
        return _Fate("open", turned, rules, predicates, refused=True)
    return _Fate("rule", complete, rules, predicates)


def _turning_down(rules: Sequence[Rule], predicates: Iterable[Predicate]) -> str:
    """Why rules that ask to turn something down do not say all that their sentence does: none of them forbids what
    would let it happen.  Empty where none asks, or one forbids."""
    acts = {p.name: " ".join((p.name, *p.tools)) for p in predicates if p.kind == "action"}
    used = [(rule, name) for rule in rules for name in rule.predicates if name in acts]
    if any(negative(rule.formula, name) and not words.refuses(acts[name]) for rule, name in used):
        return ""
    asked = [name for rule, name in used if words.refuses(acts[name]) and not negative(rule.formula, name)]
    why = "what must then not be done is not said; a person may write it as a ban"
    return f"it asks for {asked[0]!r}: {why}" if asked else ""


def refused(
    policy: Policy, clauses: Sequence[Clause], ruleset: RuleSet, readings: Iterable[Account]
) -> dict[str, RuleSet]:
    """What was read of each open sentence, in force or not: its rules with their predicates and the parts that
    the reader left undecided beside them, by its id."""
    every = pieces(policy)
    of_clause, ids = _by_clause(clauses, ruleset), identities(every)
    waiting = {one.id for one in readings if one.cls == "open"}
    found = {}
    for name, mine in zip(ids, _covering(every, clauses), strict=True):
        made = [of_clause[c.id] for c in mine] if name in waiting else []
        if rules := tuple(dict.fromkeys(r for m in made for r in m.rules)):
            predicates = tuple(dict.fromkeys(p for m in made for p in m.predicates))
            left = tuple(u for u in ruleset.undecided if u.part and u.clause in {c.id for c in mine})
            found[name] = RuleSet(predicates, rules, left)
    return found


def offered(
    policy: Policy, clauses: Sequence[Clause], ruleset: RuleSet, readings: Iterable[Account]
) -> dict[str, RuleSet]:
    """What a draft offers a person to accept: what was read of each open sentence, but for what says its opposite or
    has its acts in another order (`accounting.turned`), or asks to turn something down and forbids nothing."""
    texts = dict(zip(identities(pieces(policy)), pieces(policy), strict=True))
    return {
        name: read
        for name, read in refused(policy, clauses, ruleset, readings).items()
        for said in [texts[name]]
        for around in [(*said.stems, *(cell for _, cell in said.row))]
        if not accounting.turned(said.said, around, read.rules, read.predicates, policy.toolbox)
        and not _turning_down(read.rules, read.predicates)
    }


def drafted(
    policy: Policy,
    clauses: Sequence[Clause],
    ruleset: RuleSet,
    readings: Sequence[Account],
    decisions: Sequence[Ruling] = (),
    lines: Sequence[Word] = (),
) -> wording.Draft:
    """The lines of words that a person may accept, each about sentences that all of them together bring into force."""
    texts = dict(zip(identities(pieces(policy)), pieces(policy), strict=True))
    unread = [
        wording.Unread(
            name,
            texts[name].said,
            (*texts[name].stems, *(cell for _, cell in texts[name].row)),
            texts[name].headings,
            read.predicates,
        )
        for name, read in refused(policy, clauses, ruleset, readings).items()
        if not incomplete(read.predicates)
    ]
    draft = wording.lines(unread, policy.toolbox)
    if not draft.lines:
        return draft
    after = classify(policy, clauses, ruleset, decisions, (*lines, *wording.taken(draft)))
    brought = {one.id for one in after if one.cls in ("rule", "duty")} & set(draft.brought)
    return wording.lines([one for one in unread if one.id in brought], policy.toolbox)


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


def _by_words(sentence: Sentence, bearing: Bearing) -> _Fate:
    """The fate of a sentence that no clause covers."""
    if sentence.kind == "gap":
        return _gap(sentence)
    if hidden := operators.characters(sentence.said, whole=False):
        return _Fate("open", "; ".join(hidden))
    if sentence.kind == "heading":
        marks = words.forced(sentence.said) or operators.bans(sentence.said) or words.titled(sentence.said)
        if marks and not sentence.said.rstrip().endswith("?"):
            return _Fate("open", f"a heading with the words of a constraint ({marks})")
        return _Fate("not a constraint", "a heading")
    if sentence.kind == "cell" and (said := operators.bans(sentence.said) or _NO.search(sentence.said)):
        return _Fate("open", f"a cell that forbids something ({said if isinstance(said, str) else said.group()})")
    if sentence.kind == "cell" and (yes := _YES.search(sentence.said)):
        return _Fate("open", f"a cell that says of its row what the title of its column says ({yes.group()})")
    reason, plain = words.verdict(
        sentence.said,
        bearing,
        opening=next(iter(sentence.stems[::-1]), ""),
        title=" / ".join(_titles(sentence)),
        label=sentence.label,
        fragment=sentence.kind in ("item", "step", "cell") or bool(sentence.stems),
    )
    return _Fate("not a constraint" if plain else "open", reason, worded=True)


def _titles(sentence: Sentence) -> list[str]:
    """The innermost title of a sentence, behind those around it, and its column's, that forbid by their head alone."""
    outer = (*sentence.headings[:-1], sentence.column)
    return [*(title for title in outer if words.forbids(title)), *sentence.headings[-1:]]


def _phrases(gap: Sentence) -> tuple[str, ...]:
    """What of a text that is not seen may be said on its own: of markup what stands between its marks, of a style sheet
    or a script the strings that it would write."""
    if gap.label in _WRITING:
        strings = re.findall(r"\"([^\"\n]*)\"|'([^'\n]*)'|`([^`]*)`", gap.text)
        written = [text for found in strings for text in found if len(text.split()) > 1]
        return tuple(written) if "script" in gap.label or "content" in gap.text else ()
    return (gap.text, *re.split(r"[<>\[\](){}\"“”=\n]+|(?<!\w)'|'(?!\w)", gap.text))


def _gap(gap: Sentence) -> _Fate:
    """The fate of what is in no sentence, by the reason why it was skipped."""
    found = [word for phrase in _phrases(gap) for word in words.forced(phrase).split(", ") if word]
    marks = ", ".join(dict.fromkeys(found))
    if gap.label in _UNSEEN and not (marks and gap.label in _WRITING):
        return _Fate("not a constraint", f"{gap.label}: no reader of the document sees it")
    if gap.label in _EMPTY and not marks:
        return _Fate("not a constraint", _EMPTY[gap.label])
    if gap.label and gap.text:
        return _Fate(
            "open" if marks else "not a constraint", f"{gap.label}{f' with the words {marks}' if marks else ''}"
        )
    return _Fate("open", f"{gap.label or 'no sentence'}: what the reader of documents skipped is not known")


def _labels(every: Sequence[Sentence], fates: Sequence[_Fate], bearing: Bearing) -> list[_Fate]:
    """A label that names what a tool does, before words that are no constraint ("Check the badge: “May I see it?”"),
    may be an order: it is open."""
    found = list(fates)
    for k, gap in enumerate(every):
        mere = all(fate.cls == "not a constraint" for fate in fates[k : k + 2])  # it, and what stands behind it
        if gap.kind == "gap" and gap.label == "label" and mere and (acts := bearing.named(gap.text, whole=False)):
            found[k] = _Fate("open", f"a label that may say to do what {', '.join(acts)} does", worded=True)
    return found


def _enumerated(every: Sequence[Sentence], fates: Sequence[_Fate]) -> list[_Fate]:
    """Paragraphs marked "(a)", "(b)" behind one that ends in "if:" are the conditions that it announces, like the items
    of a list: none is a statement by its own words.  They end where the next one is marked in another way."""
    found, within, style = list(fates), "", None
    for k, piece in enumerate(every):
        marked = _MARKED.match(piece.said)
        mine = marked.lastgroup if marked and piece.kind == "prose" else None
        if within and mine is not None and style in (None, mine):
            style = mine
            if fates[k].cls == "not a constraint" and not fates[k].decided:
                found[k] = _Fate("open", f"a paragraph behind an opening that sets a condition ({within})", worded=True)
        else:
            style, within = None, words.conditional(piece.said) if piece.said.rstrip().endswith(":") else ""
    return found


def _under(every: Sequence[Sentence], fates: Sequence[_Fate]) -> list[_Fate]:
    """Items behind a short line that forbids by its head alone ("Don'ts") are what it forbids: none is a thing that is
    merely named.  They end where something else stands.  Such a line may be an item of three words too: what is nested
    in it and what stands beside it are not told apart."""
    found, within = list(fates), ""
    for k, piece in enumerate(every):
        if piece.kind in ("item", "step"):
            if within and fates[k].worded and fates[k].cls == "not a constraint":
                found[k] = _Fate("open", f"an item under a line that may forbid it ({within})", worded=True)
            elif not within and len(piece.said.split()) <= 3:
                within = words.forbids(piece.said)
        else:
            short = piece.kind == "prose" and len(piece.said.split()) <= 8 and not re.search(r"[.;]\s*\Z", piece.said)
            within = words.forbids(piece.said) if short else ""
    return found


def _answers(every: Sequence[Sentence], fates: Sequence[_Fate], bearing: Bearing) -> list[_Fate]:
    """What stands behind a question of whether, how long or who may, about what a tool does or handles, answers it: it
    may demand or forbid what the question names."""
    found = list(fates)
    for k, (asks, said) in enumerate(pairwise(every), 1):
        if fates[k].worded and fates[k].cls == "not a constraint" and said.kind != "heading" and words.asked(asks.said):
            if not re.search(r"[:?]\W*\Z", said.said) and bearing.handled(f"{asks.said} {said.said}"):
                found[k] = _Fate("open", "the answer to a question of what may or has to be", worded=True)
    return found


def _rows(every: Sequence[Sentence], fates: Sequence[_Fate]) -> list[_Fate]:
    """A cell that words alone tell of goes with the cells of its row that were read; a person decides one cell only."""
    found = list(fates)
    for k, cell in enumerate(every):
        if cell.kind == "cell" and fates[k].worded:
            read = [fates[j] for j in _beside(every, k) if not (fates[j].worded or fates[j].decided)]
            if read:
                found[k] = replace(_joined(read), reason="a cell, read with the rest of its row")
        elif cell.kind == "cell" and fates[k].cls == "duty":
            if unread := [every[j].said for j in _beside(every, k) if fates[j].cls == "open" and not fates[j].rules]:
                why = f"another cell of its row was not read: {unread[0]!r:.40}"
                found[k] = replace(fates[k], cls="open", reason=why, refused=True)
    return found


def _beside(every: Sequence[Sentence], k: int) -> list[int]:
    """The places of the other cells of a cell's row: they stand next to it, one cell after the other."""
    found = []
    for step in (-1, 1):
        j = k + step
        while 0 <= j < len(every) and every[j].kind == "cell":
            same = _same_row(every[k], every[j])
            if not same and every[j].row != every[k].row:
                break
            found += [j] if same else []
            j += step
    return sorted(found)


def _same_row(cell: Sentence, other: Sentence) -> bool:
    """Whether two cells stand in one row: each is among the other's cells."""
    mine, theirs = (tuple(c for _, c in s.row) for s in (cell, other))
    return any(other.said in c for c in mine) and any(cell.said in c for c in theirs)


def _stems(every: Sequence[Sentence], fates: Sequence[_Fate]) -> list[_Fate]:
    """The opening of a list goes with its items, the innermost first; items that say one thing are open together."""
    found = list(fates)
    for k in reversed(range(len(every))):
        if every[k].kind != "stem":
            continue
        said = f"{every[k].said.rstrip(' ,–—-:')}:"
        under = [j for j in range(k + 1, len(every)) if any(u.endswith(said) for u in every[j].stems)]
        direct = [j for j in under if every[j].stems[-1].endswith(said)]
        if why := operators.together(said, (every[j].said for j in direct)):
            for j in direct:
                if not found[j].decided:
                    found[j] = replace(found[j], cls="open", reason=why, refused=True)
        if under and found[k].worded:
            items = [found[j] for j in under]
            found[k] = replace(_joined(items), reason=f"the opening of a list of {len(under)}, read with its items")
    return found


def _joined(fates: Sequence[_Fate]) -> _Fate:
    """The fate of what several share: open if one is, else a rule, a duty, waived, no constraint."""
    order: tuple[Class, ...] = ("open", "rule", "duty", "waived", "not a constraint")
    cls = min((fate.cls for fate in fates), key=order.index)
    return _Fate(
        cls,
        "",
        tuple(dict.fromkeys(r for fate in fates if not fate.refused for r in fate.rules)),
        tuple(dict.fromkeys(p for fate in fates for p in fate.predicates)),
    )


def _with_tools(
    readings: Sequence[Account], every: Sequence[Sentence], fates: Sequence[_Fate], bearing: Bearing
) -> tuple[Account, ...]:
    """The readings with the tools they bear on.

    An open sentence bears on the tools whose acts it names and on all that share a word with it.  One that forbids or
    limits an act that no tool is known by may mean what any tool does: it bears on all that change something.  A
    heading bears on all that the sentences below it bear on.
    """
    own = [
        _own(reading, sentence, fate, bearing) for reading, sentence, fate in zip(readings, every, fates, strict=True)
    ]
    by_section: dict[tuple[str, ...], set[str]] = {}
    for reading, sentence, tools in zip(readings, every, own, strict=True):
        if reading.cls != "not a constraint" and not _hidden(sentence):
            by_section.setdefault(reading.headings, set()).update(tools)
    found = []
    for reading, sentence, tools in zip(readings, every, own, strict=True):
        if reading.cls == "open" and sentence.kind == "heading":  # what it says of those below may be a ban
            here = (*reading.headings, reading.text)
            below = {tool for title, those in by_section.items() if title[: len(here)] == here for tool in those}
            tools = bearing.ordered({*tools, *below})
        found.append(replace(reading, tools=tools or bearing.mutating() if reading.cls == "open" else tools))
    return tuple(found)


def _own(reading: Account, sentence: Sentence, fate: _Fate, bearing: Bearing) -> tuple[str, ...]:
    """The tools that a sentence itself names, by its rules or by its words; none for an open one of no known act."""
    used = [(rule, p) for rule in fate.rules for p in fate.predicates if p.name in rule.predicates]
    acts = [(rule, p) for rule, p in used if p.kind == "action"]
    restricted = {
        tool for rule, p in acts if reading.cls != "rule" or negative(rule.formula, p.name) for tool in p.tools
    }
    if reading.cls != "open":
        return bearing.ordered(restricted)
    text = " ".join((sentence.said, *sentence.stems, sentence.label, *(cell for _, cell in sentence.row)))
    named = bearing.named(text, whole=False)
    known = acts and all(p.tools for _, p in acts)
    meant = any(not p.tools and negative(rule.formula, p.name) for rule, p in acts)  # an act that no tool is known by
    if not acts and (later := _LATER.search(words.plain(sentence.said))):  # what comes first may be all that is named
        meant = bool(words.stems(later[1])) and not bearing.named(later[1], whole=False)
    if words.refuses(text):  # what is turned down is what another tool may do
        down = [tool for _, p in acts for tool in p.tools if words.refuses(tool)]
        others = () if known else bearing.touching(text)
        return bearing.ordered({*(bearing.beside(down) or bearing.mutating()), *restricted, *named, *others})
    fact = fate.worded and bearing.tested(sentence.said)  # a fact of no tool may be asked for by any
    if meant or (not named and not known and (fact or operators.bans(text) or words.limit(text))):
        return bearing.ordered({*bearing.mutating(), *restricted, *named, *bearing.touching(text)})
    shaped = bearing.sharing(" ".join(" ".join((p.name.replace("_", " "), *p.keywords)) for p in fate.predicates))
    return bearing.ordered({*restricted, *named, *bearing.touching(text), *shaped})
