"""Policy items: which sentences are policy of which tool (ToolGuard, Sec. 3.1).

For people and for measuring.  It never decides what blocks a call: that is `sentences`.  A sentence is policy of the
tools that its readings are about: those that its rules can forbid, or, where it is open or a duty, that any reader
takes it to speak of.  One of which nobody says what it is about is in no item.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from wb.domain.document import Sentence
from wb.domain.policy import Policy, identities, near, occurrences, pieces
from wb.logic.wording import shortened
from wb.rules.sentences import Account

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
CALLED = 8  # words of a sentence that name an item


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
    found = []
    for tool in policy.toolbox.tools:
        for one in accounts:
            if one.cls in ("rule", "open", "duty") and not one.unknown and tool.name in one.tools:
                found.append(_item(tool.name, one))
    return tuple(found)


def _item(tool: str, account: Account) -> Item:
    words = " ".join(account.text.split())
    named = " ".join(words.split()[:CALLED])
    why = "it asks for something later, which no guard of a call decides" if account.cls == "duty" else ""
    reference = Reference(account.text, account.start, account.end)
    return Item(tool, shortened(named, NAME), shortened(words, DESCRIPTION), (reference,), account.rules, archived=why)


def references(quote: str, policy: Policy) -> tuple[Reference, ...]:
    """The places of the document that a quotation stands for: word for word, else with other blanks, marks or case.

    List markers and table signs around what is quoted are no part of it; each sentence or row is a reference.  What
    stands in several places means all of them if it is whole sentences or rows, and must be told apart otherwise.

    Raises:
        ValueError: it stands nowhere, or in too many places, or is no sentence.
    """
    text, every = policy.seen.text, pieces(policy)
    if not any(c.isalnum() for c in quote):
        raise ValueError(f"words of the document were required; got {shortened(quote, 80)!r}")
    seen = occurrences(quote, text, 0, len(text)) or near(quote, text, 0, len(text))
    places = [policy.seen.span(*span) for span in seen] or occurrences(quote, policy.text, 0, len(policy.text))
    if not places:
        raise ValueError(
            f"words that stand in the document, one after the other, were required; got {shortened(quote, 300)!r}"
        )
    found, whole = [], True
    for start, end in places:
        inside = [one for one in every if one.start < end and start < one.end]
        said = [one for one in inside if one.kind not in ("heading", "gap") or one.label == "column title"]
        if not said:
            raise ValueError(
                f"a sentence of the document was required, and not a title alone; got {shortened(quote, 80)!r}"
            )
        whole &= start <= said[0].start and said[-1].end <= end
        found.append(tuple((max(start, a), min(end, b)) for a, b in _whole(said, policy.text)))
    if len(set(found)) > 1 and not whole:
        raise ValueError(f"words that stand in one place were required: quote more of it; got {shortened(quote, 80)!r}")
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
            return f"a {what} of 1 to {most} characters that can be read was required; got {shortened(said, 80)!r}"
    return f"a name on one line was required; got {shortened(name, 80)!r}" if len(name.splitlines()) > 1 else ""


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


def unmapped(accounts: Iterable[Account], found: Iterable[Item]) -> tuple[Account, ...]:
    """The sentences that say how to act, and are in no item of any tool."""
    spans = {span for one in found for span in one.spans}
    return tuple(
        one
        for one in accounts
        if one.cls in ("rule", "open", "duty") and not any(start < one.end and one.start < end for start, end in spans)
    )


def staying(item: Item, accounts: Iterable[Account]) -> str:
    """Why an item may not be archived, empty where it may: what a rule of its tool says is held to."""
    if any(one.cls == "rule" and item.tool in one.tools for one in behind(item, accounts)):
        return "a rule of its sentences guards the tool"
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
