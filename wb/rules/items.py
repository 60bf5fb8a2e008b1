"""Policy items: which sentences are policy of which tool, and which say one thing together (ToolGuard, Sec. 3.1).

For people and for measuring.  It never decides what blocks a call: that is `sentences`, where an open sentence bears on
every tool that it could mean.  Here a sentence that names no tool, in words or by where it stands, is in no item.

A passage is policy of the tools that its sentence was read for; else of those that its title names, narrowed by its
label, and those that it names itself; where no title names any, of what its section opens with or its paragraph names.
What points back to what was said before ("Only after that …"), a table with its opening, a list with its stem, and
a paragraph of a section that is about no tool are one item.  What holds for every call alike ("one call at a time")
is no tool's own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from wb.domain.clauses import identities, near, occurrences, pieces
from wb.domain.document import Sentence
from wb.domain.policy import Policy
from wb.domain.tools import Tool
from wb.rules import words
from wb.rules.naming import Naming
from wb.rules.passages import Passage, passages
from wb.rules.sentences import Account

_BACK = re.compile(
    r"\A\W*(?:"
    r"(?:in|for) (?:all |any |every )?(?:the )?(?:others?|such|that|this|these|those) (?:\w+ )?(?:cases?|events?)|"
    r"otherwise|else|(?:only )?(?:after|before) (?:that|this|which)|(?:only )?then|this|that (?:is|does|means)|"
    r"these (?:are|rules|limits)|the same (?:goes|holds|applies)|(?:you|they|we) may then|go ahead|"
    r"if so|if not|afterwards)\b|"
    r"\b(?:here|beyond that|(?:any|all|none|some|each|much) of (?:this|that|these))\b",
    re.I,
)
_ALL = re.compile(
    r"\b(?:any|every|each|all|before \w+ing(?: any)?)\b(?: \w+){0,2} (?:changes?|actions|updates?|modifications?)\b"
    r"(?! (?:of|to) the)|\b(?:any|every|each) action\b|"
    r"\bat the (?:beginning|start) of (?:the|each|every|any) (?:conversation|chat|session|call)\b",
    re.I,
)
_ACTION_ON = re.compile(
    r"\bactions? on (?:[\w-]+ ){0,5}?(?P<what>[\w-]+)(?=[.,;:]|\Z| (?:if|when|that|unless|only)\b)", re.I
)
_ALSO = re.compile(
    r"\b(?:this|that|the same|it) (?:also |too )?(?:goes|holds|applies) (?:also )?(?:for|to) "
    r"(?:(?:the|all|any|an?) )?(?P<what>\w+)",
    re.I,
)
_CHECK = re.compile(r"\b(?:check|verify|make sure|see to)\b[^.;]*\byourself\b|\byou have to\W*\Z", re.I)
_HISTORY = re.compile(
    r"\b(?:asks?|asked|confirm\w*|says?|said|told|tell|yes|request\w*|agree\w*|consent\w*|before|after)\b", re.I
)


NAME, DESCRIPTION = 120, 4_000  # characters of each, at most
Maker = Literal["reading", "model", "person"]


@dataclass(frozen=True, slots=True)
class Reference:
    """A span of the document: `policy.text[start:end] == text`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Item:
    """One policy item of one tool.

    `references` are what the document says of it, word for word; `rules` the ids of the rules that its sentences
    became, perhaps none.  `archived` says why no guard of a call can hold to it, empty otherwise: what was said or
    done before is in the history, so that an item about it stays.  `compliance` and `violations` are examples, where
    there are any.  `by` is who says that it is policy of the tool: what was read of the sentences, a model, or a person
    who added or edited it.
    """

    tool: str
    name: str
    description: str
    references: tuple[Reference, ...]
    rules: tuple[str, ...] = ()
    archived: str = ""
    compliance: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    by: Maker = "reading"

    @property
    def spans(self) -> frozenset[tuple[int, int]]:
        """The places of its references."""
        return frozenset((one.start, one.end) for one in self.references)

    def __post_init__(self) -> None:
        if not self.references:
            raise ValueError(f"an item rests on at least one reference; {self.name!r} of {self.tool!r} has none")


PERSON = "decided by a person"


@dataclass(frozen=True, slots=True)
class _Mapped:
    """A passage that binds, with its tools, whether its section is about some, and the number of its item."""

    passage: Passage
    tools: frozenset[str]
    scoped: bool
    group: int = -1


def items(policy: Policy, accounts: Sequence[Account]) -> tuple[Item, ...]:
    """The policy items of each tool, tools in the order of the toolbox, items in that of the document.

    Raises:
        ValueError: the accounts are not those of the sentences of this policy.
    """
    ids = identities(pieces(policy))
    if tuple(one.id for one in accounts) != ids:
        raise ValueError(
            f"the accounts of the {len(ids)} sentences of {policy.name!r} were required; got {len(accounts)} "
            "of others: classify the sentences of this policy first"
        )
    naming, every = Naming(policy.toolbox), passages(policy, accounts)
    mapped = _defined(_grouped(_scoped(every, naming)), every)
    found = []
    for tool in policy.toolbox.tools:
        mine = _apart((one.group, one.passage) for one in mapped if tool.name in one.tools)
        same = _apart((words.stems(" ".join(o.said for o in group)), o) for group in mine for o in group)
        found += [_item(tool, group, policy, naming) for group in same]
    return tuple(found)


def references(quote: str, policy: Policy) -> tuple[Reference, ...]:
    """The places of the document that a quotation stands for: word for word, else with other blanks, marks or case.

    List markers and table signs around what is quoted are no part of it; each sentence or row is a reference.  What
    stands in several places means all of them if it is whole sentences or rows, and must be told apart otherwise.

    Raises:
        ValueError: it stands nowhere, or in too many places, or is no sentence.
    """
    text, every = policy.seen.text, pieces(policy)
    if not any(c.isalnum() for c in quote):
        raise ValueError(f"words of the document were required; got {quote[:80]!r}")
    seen = occurrences(quote, text, 0, len(text)) or near(quote, text, 0, len(text))
    places = [policy.seen.span(*span) for span in seen] or occurrences(quote, policy.text, 0, len(policy.text))
    if not places:
        raise ValueError(f"words that stand in the document, one after the other, were required; got {quote[:300]!r}")
    found, whole = [], True
    for start, end in places:
        inside = [one for one in every if one.start < end and start < one.end]
        said = [one for one in inside if one.kind not in ("heading", "gap") or one.label == "column title"]
        if not said:
            raise ValueError(f"a sentence of the document was required, and not a title alone; got {quote[:80]!r}")
        whole &= start <= said[0].start and said[-1].end <= end
        found.append(tuple((max(start, a), min(end, b)) for a, b in _whole(said, policy.text)))
    if len(set(found)) > 1 and not whole:
        raise ValueError(f"words that stand in one place were required: quote more of it; got {quote[:80]!r}")
    return tuple(Reference(policy.text[a:b], a, b) for a, b in dict.fromkeys(span for those in found for span in those))


def _whole(said: Sequence[Sentence], text: str) -> list[tuple[int, int]]:
    """Where sentences and rows of tables stand: the cells of a row are one."""
    found: list[tuple[int, int]] = []
    for one in said:
        cell = one.kind == "cell" or one.label == "column title"
        if cell and found and "\n" not in text[found[-1][1] : one.start]:
            found[-1] = found[-1][0], one.end
        else:
            found.append((one.start, one.end))
    return found


def misnamed(name: str, description: str) -> str:
    """Why an item cannot be called and told so; empty where it can."""
    for what, said, most in (("name", name, NAME), ("description", description, DESCRIPTION)):
        if not said.strip() or len(said) > most or not all(c.isprintable() or c in "\n\t" for c in said):
            return f"a {what} of 1 to {most} characters that can be read was required; got {said[:80]!r}"
    return f"a name on one line was required; got {name[:80]!r}" if len(name.splitlines()) > 1 else ""


def behind(item: Item, accounts: Iterable[Account]) -> tuple[Account, ...]:
    """The sentences that an item's references have a part of."""
    return tuple(one for one in accounts if any(r.start < one.end and one.start < r.end for r in item.references))


def informed(item: Item, accounts: Iterable[Account]) -> Item:
    """The item with the rules that its sentences became."""
    return replace(item, rules=tuple(dict.fromkeys(rule for one in behind(item, accounts) for rule in one.rules)))


def held(item: Item, accounts: Iterable[Account], guarding: Collection[str] | None = None) -> bool:
    """Whether the item's tool is held to its sentences: a rule of one guards the tool, or one is open on it, and every
    other one that was read as a rule, or is open, is so, too.

    `guarding` are the rules in the tool's contract; without it the readings say which tools a rule guards.
    """
    counted, freed = [], False
    for one in behind(item, accounts):
        if one.cls == "waived" or (one.cls == "not a constraint" and one.reason.startswith(PERSON)):
            freed = True  # by a person: it demands nothing of any tool
            continue
        guards = one.cls == "rule" and item.tool in one.tools if guarding is None else bool({*one.rules} & {*guarding})
        if one.cls in ("rule", "open") or guards:
            counted.append(guards or (one.cls == "open" and item.tool in one.tools))
    return all(counted) if counted else freed


def unmapped(policy: Policy, accounts: Sequence[Account], found: Iterable[Item]) -> tuple[Passage, ...]:
    """The passages that say how to act, and are in no item of any tool."""
    spans = {span for one in found for span in one.spans}
    return tuple(
        one
        for one in passages(policy, accounts)
        if one.binds and not any(start < one.end and one.start < end for start, end in spans)
    )


def staying(item: Item, policy: Policy, accounts: Sequence[Account]) -> str:
    """Why an item may not be archived, empty where it may: what a rule of its tool says is held to, and what was said
    or done before a call is in the history."""
    mine = [one for one in passages(policy, accounts) if any(a < one.end and one.start < b for a, b in item.spans)]
    tool = policy.toolbox.tool(item.tool)
    if any(one.cls == "rule" and item.tool in one.tools for one in behind(item, accounts)):
        return "a rule of its sentences guards the tool"
    if _HISTORY.search(" ".join(r.text for r in item.references)) and not _archived(tool, mine, Naming(policy.toolbox)):
        return "what was said or done before a call is in the history, so that a guard may hold to it"
    return ""


def to_json(found: Iterable[Item]) -> list[dict[str, object]]:
    """Items as JSON values, one row each, for `items.json`."""
    return [asdict(one) for one in found]


def from_json(rows: Iterable[Mapping[str, object]]) -> tuple[Item, ...]:
    """Items from what `to_json` gave."""
    lists = ("rules", "compliance", "violations")
    return tuple(
        Item(
            **{
                **row,
                **{k: tuple(row[k]) for k in lists},
                "references": tuple(Reference(**r) for r in row["references"]),
            }
        )
        for row in rows
    )


def _apart(pairs: Iterable[tuple[object, Passage]]) -> list[list[Passage]]:
    """The passages of each key, keys in their first order."""
    found: dict[object, list[Passage]] = {}
    for key, one in pairs:
        found.setdefault(key, []).append(one)
    return list(found.values())


def _scoped(every: Sequence[Passage], naming: Naming) -> list[_Mapped]:
    """The passages that bind, each with its tools."""
    openings: dict[tuple[str, ...], frozenset[str]] = {}
    for one in every:
        if one.sentence.kind != "heading":
            openings.setdefault(one.headings, naming.opened(one.sentence.said))
    binding = [one for one in every if one.binds]
    scopes = [_scope(one, naming, openings[one.headings]) for one in binding]
    tools = [_tools(one, scope, naming) for one, scope in zip(binding, scopes, strict=True)]
    by_paragraph: dict[int, frozenset[str]] = {}
    for one, own in zip(binding, tools, strict=True):
        by_paragraph[one.paragraph] = by_paragraph.get(one.paragraph, frozenset()) | own
    return [
        _Mapped(one, own or (by_paragraph[one.paragraph] if _free(one, scope) else own), not _free(one, scope))
        for one, scope, own in zip(binding, scopes, tools, strict=True)
    ]


def _free(one: Passage, scope: frozenset[str]) -> bool:
    """Whether a passage stands in the paragraphs of a section that is about no tool."""
    return not scope and one.sentence.kind == "prose" and not one.defines


def _scope(one: Passage, naming: Naming, opening: frozenset[str]) -> frozenset[str]:
    """The tools that the titles above a passage are about, narrowed by its label."""
    scope = next((named for title in reversed(one.headings) if (named := naming.titled(title))), opening)
    if not one.label:
        return scope
    return naming.knowing(one.label, scope) or scope or naming.titled(one.label)


def _tools(one: Passage, scope: frozenset[str], naming: Naming) -> frozenset[str]:
    """The tools of a passage: those that it was read for or orders to use, or its scope and those that it names.

    What a table says of a value is policy of all tools that take the value, whatever title it stands under.
    """
    if one.account.cls in ("rule", "duty") and one.account.tools:
        return frozenset(one.account.tools)
    if one.defines:
        return frozenset()
    if ordered := naming.ordered(one.said) - scope:
        return ordered
    if not scope and _ALL.search(one.said):
        return naming.changing(one.said)
    if not scope and (what := _ACTION_ON.search(one.said)):
        return naming.handling(what["what"])
    named = naming.named(one.said) | (naming.taking(one.label) if one.table else frozenset())
    if also := _ALSO.search(one.said):
        named |= naming.taking(also["what"])
    return scope | (named & naming.changing() if scope else named)


def _grouped(every: Sequence[_Mapped]) -> list[_Mapped]:
    """With the number of the item that each belongs to.

    What points back is of the tools of what it points to, too, and the opening of a table of those of its rows.
    """
    found: list[_Mapped] = []
    for one in every:
        last = found[-1] if found else None
        if last is not None and last.passage.headings == one.passage.headings and _together(one, last, found):
            back = _BACK.search(one.passage.sentence.said) and (one.tools & last.tools or not one.tools)
            one = replace(one, group=last.group, tools=one.tools | last.tools if back else one.tools)
        else:
            one = replace(one, group=len(found))
        found.append(one)
    rows: dict[int, frozenset[str]] = {}
    for one in found:
        if one.passage.table:
            rows[one.group] = rows.get(one.group, frozenset()) | one.tools
    return [replace(one, tools=one.tools | rows.get(one.group, frozenset())) for one in found]


def _together(one: _Mapped, last: _Mapped, before: Sequence[_Mapped]) -> bool:
    """Whether a passage says one thing together with the last one."""
    now, then = one.passage, last.passage
    back = bool(_BACK.search(now.sentence.said))
    if now.table:
        return one.tools == last.tools if then.table else then.said.rstrip().endswith(":")
    if stems := now.sentence.stems:
        return stems == then.sentence.stems or stems[-1].startswith(then.sentence.said.rstrip(" :"))
    if now.paragraph != then.paragraph:
        return back and bool(then.table)
    return (
        back
        or not one.scoped
        or bool(now.verb)
        and now.verb in {o.passage.verb for o in before if o.group == last.group}
    )


def _defined(mapped: Sequence[_Mapped], every: Sequence[Passage]) -> list[_Mapped]:
    """With the rows of definitions that bind: each goes with the first passage that uses a word of its table."""
    found = []
    for row in mapped:
        if row.passage.table and not row.tools:
            table = [o for o in every if o.table == row.passage.table and o.sentence.kind == "cell"]
            terms = sorted({t.strip() for o in table for t in o.sentence.said.split(",")} - {""})
            uses = re.compile(rf"\b(?:{'|'.join(map(re.escape, terms))})\b", re.I)
            user = next((o for o in mapped if o.tools and uses.search(o.passage.said)), row)
            row = replace(row, tools=user.tools, group=user.group)
        found.append(row)
    return found


def _item(tool: Tool, group: Sequence[Passage], policy: Policy, naming: Naming) -> Item:
    spans = tuple(Reference(policy.text[o.start : o.end], o.start, o.end) for o in group)
    head = next((o for o in group if not o.table), group[0])
    own = [o for o in group if o.sentence.kind != "stem"] or group
    return Item(
        tool.name,
        " ".join(re.findall(r"[\w'$%-]+", head.sentence.said)[:8]),
        " ".join(" ".join(o.said.split()) for o in own),
        spans,
        tuple(dict.fromkeys(rule for o in own for rule in o.account.rules)),
        _archived(tool, group, naming),
    )


def _archived(tool: Tool, group: Sequence[Passage], naming: Naming) -> str:
    """Why no guard of a call can hold to an item; empty where one may, or where the history may tell."""
    if any(o.account.cls == "rule" for o in group):
        return ""
    if all(o.account.cls == "duty" for o in group):
        return group[0].account.reason
    if all(tool.name in naming.ordered(o.said) and not words.limit(o.said) for o in group):
        return "it orders the call: a guard sees the calls that are made, not those that are left out"
    if all(_CHECK.search(o.said) for o in group):
        return "it orders to check: what an agent checks is no fact of a call"
    if tool.mutating is False and naming.wordy(tool) and not any(_HISTORY.search(o.said) for o in group):
        return "what it depends on is in no argument: the tool takes free text alone"
    return ""
