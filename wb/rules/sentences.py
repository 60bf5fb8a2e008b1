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

from wb.domain import visible
from wb.domain.clauses import following, identities, named, pieces, standing
from wb.domain.document import Sentence
from wb.domain.policy import Clause, Policy
from wb.domain.tools import Toolbox
from wb.domain.visible import HIDDEN
from wb.rules import accounting, fates, neighbours, operators, wording, words
from wb.rules.decisions import Ruling
from wb.rules.extract import negative
from wb.rules.fates import CLASSES, Class, Fate
from wb.rules.rule import RuleSet
from wb.rules.wording import Word
from wb.rules.words import Bearing

_LATER = re.compile(r"\b(?:before|prior to|until)\b(.*)", re.I | re.S)


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
    of_clause = fates.by_clause(clauses, ruleset)
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
        replace(fates.decided(decided[ids[k]], of_clause, ruleset, policy.toolbox), decided=True)
        if k in ruled and decided[ids[k]].decision != "reject" and not decided[ids[k]].partly
        else fates.gap(s)
        if k not in mine
        else fates.read(
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
            first[k] = fates.rejected(first[k], decided[ids[k]])
        elif decided[ids[k]].partly and k in mine:
            first[k] = fates.partly(every[k], decided[ids[k]], mine[k], of_clause, bearing, of_words.get(ids[k], ()))
    rows = neighbours.labels(shown, neighbours.rows(shown, [first[k] for k in seen]), bearing)
    rows = neighbours.answers(shown, neighbours.under(shown, neighbours.enumerated(shown, rows)), bearing)
    told = dict(zip(seen, neighbours.stems(shown, rows), strict=True))
    final = [told.get(k, fate) for k, fate in enumerate(first)]
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
            place=standing(s, before),
            part=(decided[i].part or "") if k in ruled and fate.cls != "open" else "",
        )
        for k, (i, s, fate, before) in enumerate(zip(ids, every, final, following(every), strict=True))
    ]
    return _with_tools(readings, every, final, bearing)


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


def refused(
    policy: Policy, clauses: Sequence[Clause], ruleset: RuleSet, readings: Iterable[Account]
) -> dict[str, RuleSet]:
    """What was read of each open sentence, in force or not: its rules with their predicates and the parts that
    the reader left undecided beside them, by its id."""
    every = pieces(policy)
    of_clause, ids = fates.by_clause(clauses, ruleset), identities(every)
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
        and not fates.turning_down(said.said, read.rules, read.predicates)
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
        if not fates.incomplete(read.predicates)
    ]
    draft = wording.lines(unread, policy.toolbox)
    if not draft.lines:
        return draft
    after = classify(policy, clauses, ruleset, decisions, (*lines, *wording.taken(draft)))
    brought = {one.id for one in after if one.cls in ("rule", "duty")} & set(draft.brought)
    return wording.lines([one for one in unread if one.id in brought], policy.toolbox)


def _with_tools(
    readings: Sequence[Account], every: Sequence[Sentence], final: Sequence[Fate], bearing: Bearing
) -> tuple[Account, ...]:
    """The readings with the tools they bear on.

    An open sentence bears on the tools whose acts it names and on all that share a word with it.  One that forbids or
    limits an act that no tool is known by may mean what any tool does: it bears on all that change something.  A
    heading bears on all that the sentences below it bear on.
    """
    rows = zip(readings, every, final, following(every), strict=True)
    own = [_own(reading, sentence, fate, bearing, before) for reading, sentence, fate, before in rows]
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


def _own(reading: Account, sentence: Sentence, fate: Fate, bearing: Bearing, before: str = "") -> tuple[str, ...]:
    """The tools that a sentence itself names, by its rules, its words and those that it is not understood without; none
    for an open one of no known act, and all that change something beside such as only tell what shares its words."""
    used = [(rule, p) for rule in fate.rules for p in fate.predicates if p.name in rule.predicates]
    acts = [(rule, p) for rule, p in used if p.kind == "action"]
    restricted = {
        tool for rule, p in acts if reading.cls != "rule" or negative(rule.formula, p.name) for tool in p.tools
    }
    if reading.cls != "open":
        return bearing.ordered(restricted)
    text = " ".join((before, sentence.said, *sentence.stems, sentence.label, *(cell for _, cell in sentence.row)))
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
    found = {*restricted, *named, *bearing.touching(text), *shaped}
    telling = not named and not restricted and found.isdisjoint(bearing.mutating())
    return bearing.ordered({*found, *bearing.mutating()} if found and telling else found)
