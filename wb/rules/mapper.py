"""Policy items by a model, one prompt a step (ToolGuard, Sec. 3.1 and App. 7.1): `items` has what they are.

`sort_tools` tells which tools change something, where `tools.json` does not; `create_items` finds what of the document
is policy of a tool, `add_items` what was missed, round by round until nothing new comes; `split_items` takes what
demands several things apart, `merge_items` puts duplicates together, `review_items` archives, with the reason, what no
guard of a call can hold to.  A quotation must stand in the document; what does not is asked about once more
(`correct_references`) and is then refused.  Whatever is refused is told with its reason, and the items stay as they
were.  A person's edits are put in before anything is split, and no step touches what a person wrote.

Items block nothing and free nothing.  What is policy of a tool by a model or a person, and no rule holds the tool to,
is a *finding*: until a person has decided, that tool's guard is not called proved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pydantic

from wb.domain.policy import Policy
from wb.models.client import LLM, Unanswered
from wb.rules import edits as editing
from wb.rules import items
from wb.rules.binding import tool_row
from wb.rules.edits import ItemEdit
from wb.rules.items import Item, Maker, Reference
from wb.rules.sentences import Account

ROUNDS = 10  # of `add_items`, at most
MOST, QUOTED = 60, 20  # items of one tool, and references of one item
OFFLINE = "offline"
CREATE, ADD, SPLIT, MERGE, REVIEW = "create_items", "add_items", "split_items", "merge_items", "review_items"
CORRECT, SORT = "correct_references", "sort_tools"
IDLE = (ADD, SPLIT, MERGE, CORRECT)  # what the engine without a model does not do
PERSONS = "a person wrote it"


class _Reply(pydantic.BaseModel):
    """A mapping of a reply: these keys and no others."""

    model_config = pydantic.ConfigDict(extra="forbid")


class ItemReply(_Reply):
    """One item: what it is called, what it demands, and the words of the document that it rests on."""

    name: str
    description: str
    references: list[str]


class ItemsReply(_Reply):
    """The reply to `create_items` and `add_items`: items of one tool."""

    tool: str
    items: list[ItemReply] = []


class CorrectedReply(_Reply):
    """A quotation that is not in the document, and what it stands for there."""

    was: str
    now: list[str] = []


class CorrectionsReply(_Reply):
    """The reply to `correct_references`."""

    tool: str
    references: list[CorrectedReply] = []


class SplitReply(_Reply):
    """What one item comes apart into."""

    item: str
    parts: list[ItemReply]


class SplitsReply(_Reply):
    """The reply to `split_items`."""

    tool: str
    splits: list[SplitReply] = []


class MergeReply(_Reply):
    """Items that say the same, and what they are called together."""

    items: list[str]
    name: str
    description: str


class MergesReply(_Reply):
    """The reply to `merge_items`."""

    tool: str
    merges: list[MergeReply] = []


class ArchiveReply(_Reply):
    """An item that no guard of a call can hold to, and why."""

    item: str
    why: str


class ReviewReply(_Reply):
    """The reply to `review_items`."""

    tool: str
    archive: list[ArchiveReply] = []


class SortedReply(_Reply):
    """Whether calls of one tool change something; None where its description does not tell."""

    tool: str
    changes: bool | None = None


class ToolsReply(_Reply):
    """The reply to `sort_tools`."""

    tools: list[SortedReply] = []


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a reply says and is not taken: in which step, about which tool, the words, and why."""

    step: str
    tool: str
    said: str
    reason: str


@dataclass(frozen=True, slots=True)
class Map:
    """The policy items of each tool, what was refused on the way, a person's edits, and those that had no effect.

    `changes` says of each tool whether it changes anything, None where nobody knows: as `tools.json` declares it, else
    as the engine told.  It decides which tools are asked about and what is shown, and nothing of a guard.
    """

    items: tuple[Item, ...]
    refused: tuple[Refusal, ...] = ()
    stale: tuple[str, ...] = ()
    changes: Mapping[str, bool | None] = field(default_factory=dict)
    edits: tuple[ItemEdit, ...] = ()


def mapped(
    policy: Policy, accounts: Sequence[Account], llm: LLM, *, rounds: int = 0, edits: Sequence[ItemEdit] = ()
) -> Map:
    """The policy items of each tool under a person's edits, tools in the order of the toolbox.

    With `rounds` 0 they are those that were read (`items.items`) and nobody is asked.  Else the engine is asked about
    each tool that may change something, or that a sentence bears on: once for its items, at most `rounds` times for
    what was missed, and then once a step.  A tool whose first question gets no reply has the items that were read.

    Raises:
        ValueError: `rounds` is not in 0..10, or the accounts are not those of this policy.
        ModelError: a request failed in a way that all further ones would.
    """
    if not 0 <= rounds <= ROUNDS:
        raise ValueError(f"map_rounds must be in 0..{ROUNDS}; got {rounds}")
    read = items.items(policy, accounts)
    desk = _Desk(policy, accounts, llm, edits)
    for step in IDLE if rounds and llm.name == OFFLINE else ():
        desk.refused.append(Refusal(step, "", "", "not done: without a model this step changes nothing"))
    desk.sort(rounds)
    desk.create(read, rounds)
    for _ in range(rounds):
        if not desk.add():
            break
    desk.edit()
    if rounds:
        desk.split()
        desk.edit()
        desk.merge()
    desk.edit(renamed=True)
    if rounds:
        desk.review()
    every = tuple(one for tool in policy.toolbox.tools for one in desk.items.get(tool.name, ()))
    informed = tuple(one if one.by == "reading" and not rounds else items.informed(one, accounts) for one in every)
    return Map(informed, tuple(desk.refused), tuple(editing.stale(desk.left, policy)), desk.changes, tuple(edits))


def findings(
    found: Iterable[Item], accounts: Sequence[Account], guarding: Mapping[str, Collection[str]]
) -> dict[str, tuple[str, ...]]:
    """By tool, what a model or a person says is its policy and nothing holds it to: no rule of these sentences is in
    the tool's contract (`guarding`, the ids of its rules), and none of them is open on it.

    An archived item is none, and neither is one whose sentences a person waived or called no constraint.
    """
    told: dict[str, list[str]] = {}
    for one in found:
        if one.by != "reading" and not one.archived and not items.held(one, accounts, guarding.get(one.tool, ())):
            said = " … ".join(" ".join(r.text.split()) for r in one.references)
            told.setdefault(one.tool, []).append(
                f"a {one.by} says that {one.name!r} is its policy, and no rule holds it to that: “{said}” "
                "(write its rule in decisions.yaml, or drop or archive the item in items.yaml)"
            )
    return {tool: tuple(those) for tool, those in told.items()}


class _Desk:
    """The items in the making, by tool, and what was refused."""

    def __init__(self, policy: Policy, accounts: Sequence[Account], llm: LLM, edits: Sequence[ItemEdit]) -> None:
        self.policy, self.accounts, self.llm = policy, accounts, llm
        self.tools = {tool.name: tool for tool in policy.toolbox.tools}
        self.items: dict[str, list[Item]] = {}
        self.refused: list[Refusal] = []
        self.changes: dict[str, bool | None] = {name: tool.mutating for name, tool in self.tools.items()}
        self.edits = tuple(edits)
        self.left = tuple(one for one in edits if one.act != "add")
        self.growing: list[str] = []
        self.by: Maker = "reading" if llm.name == OFFLINE else "model"
        self.document = {
            "document": policy.seen.text,
            "tools": [{"name": tool.name, "description": tool.description} for tool in policy.toolbox.tools],
        }

    def sort(self, rounds: int) -> None:
        """Which tools change something, of those that do not declare it."""
        unknown = [tool for tool in self.tools.values() if tool.mutating is None]
        if not rounds or not unknown:
            return
        (reply,) = self.llm.ask_all(SORT, ToolsReply, [{"tools": [tool_row(tool) for tool in unknown]}])
        if isinstance(reply, Unanswered):
            self._refuse(SORT, "", "", f"no reply: {reply.reason}")
            return
        often = Counter(one.tool for one in reply.tools)
        wanted = {tool.name for tool in unknown}
        for one in reply.tools:
            if one.tool not in wanted:
                known = "tools.json declares it" if one.tool in self.tools else "there is no such tool"
                self._refuse(SORT, one.tool, str(one.changes), f"a tool that was asked about was required; {known}")
            elif often[one.tool] > 1:
                self._refuse(SORT, one.tool, str(one.changes), "one answer a tool was required; got several")
            else:
                self.changes[one.tool] = one.changes

    def create(self, read: Sequence[Item], rounds: int) -> None:
        """The first items of each tool; those that were read where nobody is asked, or nobody answers."""
        borne = {tool for one in self.accounts if one.cls in ("rule", "open", "duty") for tool in one.tools}
        borne |= {one.tool for one in read}
        asked = [n for n in self.tools if self.changes[n] or n in borne or self.changes[n] is None] if rounds else []
        told = self._asked(CREATE, ItemsReply, {name: {} for name in asked})
        self.items = {name: [one for one in read if one.tool == name] for name in self.tools if name not in told}
        self._take(CREATE, told)
        for one in editing.added(self.edits, self.policy):
            self.items.setdefault(one.tool, []).append(one)
        self.growing = list(told)

    def add(self) -> bool:
        """What was missed; whether anything new came."""
        told = self._asked(ADD, ItemsReply, {name: {"items": self._rows(name)} for name in self.growing})
        self.growing = self._take(ADD, told)
        return bool(self.growing)

    def edit(self, *, renamed: bool = False) -> None:
        """What a person did, to the items that are there now."""
        every = [one for those in self.items.values() for one in those]
        found, self.left = editing.applied(every, self.left, self.policy, renamed=renamed)
        self.items = {name: [one for one in found if one.tool == name] for name in self.tools}

    def split(self) -> None:
        """What demands several things, apart."""
        told = self._asked(SPLIT, SplitsReply, {n: {"items": self._rows(n)} for n in self.tools if self.items[n]})
        for name, reply in told.items():
            known, apart = self._known(name), {}
            often = Counter(one.item for one in reply.splits)
            for one in reply.splits:
                whole, others = known.get(one.item), [o for key, o in known.items() if key != one.item]
                parts, why = self._parts(name, whole, one.parts, others, often[one.item])
                if why:
                    self._refuse(SPLIT, name, whole.name if whole else one.item, why)
                elif len(known) + sum(map(len, apart.values())) + len(parts) > MOST:
                    self._refuse(SPLIT, name, whole.name, f"at most {MOST} items a tool were required; got more")
                else:
                    apart[one.item] = parts
            self.items[name] = [o for key, old in known.items() for o in apart.get(key, [old])]

    def _parts(
        self, name: str, whole: Item | None, parts: Sequence[ItemReply], others: Sequence[Item], often: int
    ) -> tuple[list[Item], str]:
        """What an item comes apart into, or why it does not."""
        if whole is None or often > 1:
            return [], "an item of this tool, once, was required"
        if whole.by == "person":
            return [], PERSONS
        if len(parts) < 2:
            return [], f"two parts at least were required; got {len(parts)}"
        found: list[Item] = []
        for one in parts:
            spans, wrong = self._spans(one.references)
            why = "; ".join(wrong.values()) or self._misfit(one, [*others, *found])
            outside = [r.text for r in spans if not any(a <= r.start and r.end <= b for a, b in whole.spans)]
            if why or outside or not spans:
                return [], why or f"references of parts within those of the item were required; got {outside or 'none'}"
            found.append(replace(whole, name=one.name, description=one.description, references=tuple(spans)))
        covered = [span for part in found for span in part.spans]
        lost = [r.text for r in whole.references if not any(a < r.end and r.start < b for a, b in covered)]
        return ([], f"parts that leave no reference out were required; got none for {lost}") if lost else (found, "")

    def merge(self) -> None:
        """What says the same, together."""
        told = self._asked(MERGE, MergesReply, {n: {"items": self._rows(n)} for n in self.tools if self.items[n][1:]})
        for name, reply in told.items():
            known, often = self._known(name), Counter(key for one in reply.merges for key in {*one.items})
            for one in reply.merges:
                chosen = [known[key] for key in dict.fromkeys(one.items) if key in known]
                others = [item for key, item in known.items() if key not in one.items]
                why = self._apart(one, chosen, often)
                again = ItemReply(name=one.name, description=one.description, references=[])
                why = why or self._misfit(again, others)
                if why:
                    self._refuse(MERGE, name, one.name, why)
                    continue
                spans = tuple(sorted({r for item in chosen for r in item.references}, key=lambda r: (r.start, r.end)))
                first = next(key for key in known if key in one.items)
                kept = replace(known[first], name=one.name, description=one.description, references=spans)
                known = {k: kept if k == first else v for k, v in known.items() if k == first or k not in one.items}
            self.items[name] = list(known.values())

    def _apart(self, one: MergeReply, chosen: Sequence[Item], often: Mapping[str, int]) -> str:
        """Why items stay apart; empty where they may be one."""
        if len(chosen) < 2 or len(chosen) != len(one.items):
            return f"two different items of this tool at least were required; got {one.items}"
        if any(often[key] > 1 for key in one.items):
            return "each item in one merger at most was required"
        if any(item.by == "person" for item in chosen):
            return PERSONS
        if len({items.held(item, self.accounts) for item in chosen}) > 1:
            return "items were required that a rule holds the tool to, or none of them; what is not held must stay seen"
        return ""

    def review(self) -> None:
        """What no guard of a call can hold to, with the reason."""
        told = self._asked(REVIEW, ReviewReply, {n: {"items": self._rows(n)} for n in self.tools if self.items[n]})
        for name, reply in told.items():
            known, often = self._known(name), Counter(one.item for one in reply.archive)
            for one in reply.archive:
                item = known.get(one.item)
                why = self._stays(item, one, often[one.item])
                if why:
                    self._refuse(REVIEW, name, item.name if item else one.item, why)
                else:
                    known[one.item] = replace(item, archived=one.why)
            self.items[name] = list(known.values())

    def _stays(self, item: Item | None, one: ArchiveReply, often: int) -> str:
        """Why an item is not archived."""
        if item is None or often > 1:
            return "an item of this tool, once, was required"
        if item.by == "person":
            return PERSONS
        return items.misnamed("-", one.why) or items.staying(item, self.accounts)

    def _take(self, step: str, told: Mapping[str, ItemsReply]) -> list[str]:
        """The items of replies, as far as they may be taken; the tools that got a new one."""
        spans = self._corrected(
            {name: [r for one in reply.items for r in one.references] for name, reply in told.items()}
        )
        grown = []
        for name, reply in told.items():
            kept = self.items.setdefault(name, [])
            before = {one.spans for one in kept} if step == ADD else set()
            for one in reply.items:
                places = tuple(dict.fromkeys(p for quote in one.references for p in spans[name].get(quote, ())))
                why = self._misfit(one, kept)
                if not why and len(kept) >= MOST:
                    why = f"at most {MOST} items a tool were required; got more"
                if not why and not places:
                    why = "a reference that stands in the document was required; got none"
                if not why and any(frozenset((r.start, r.end) for r in places) <= known for known in before):
                    why = "something new was required; an item has all of its references"
                if why:
                    self._refuse(step, name, one.name, why)
                    continue
                kept.append(Item(name, one.name.strip(), one.description.strip(), places, by=self.by))
                grown += [name]
        return list(dict.fromkeys(grown))

    def _misfit(self, one: ItemReply, others: Iterable[Item]) -> str:
        """Why there is no such item beside the others; empty where there may be."""
        if why := items.misnamed(one.name, one.description):
            return why
        if len(one.references) > QUOTED:
            return f"at most {QUOTED} references an item were required; got {len(one.references)}"
        if one.name.strip().casefold() in {other.name.casefold() for other in others}:
            return "a name of its own was required; another item of the tool has it"
        return ""

    def _spans(self, quotes: Iterable[str]) -> tuple[list[Reference], dict[str, str]]:
        """The places of quotations, and of each that has none, why."""
        found: list[Reference] = []
        wrong: dict[str, str] = {}
        for quote in quotes:
            try:
                found += items.references(quote, self.policy)
            except ValueError as error:
                wrong[quote] = str(error)
        return list(dict.fromkeys(found)), wrong

    def _corrected(self, quoted: Mapping[str, Sequence[str]]) -> dict[str, dict[str, list[Reference]]]:
        """By tool, the places of its quotations; what stands nowhere was asked about once more, and is then refused."""
        spans = {
            name: {quote: self._spans([quote])[0] for quote in quotes[: MOST * QUOTED]}
            for name, quotes in quoted.items()
        }
        wrong = {name: self._spans(dict.fromkeys(quotes[: MOST * QUOTED]))[1] for name, quotes in quoted.items()}
        batch = {
            name: {"problems": [{"reference": quote, "problem": why} for quote, why in those.items()]}
            for name, those in wrong.items()
            if those
        }
        for name, reply in self._asked(CORRECT, CorrectionsReply, batch).items():
            often = Counter(one.was for one in reply.references)
            for one in reply.references:
                places, again = self._spans(one.now[:QUOTED])
                if one.was not in wrong[name] or often[one.was] > 1:
                    self._refuse(CORRECT, name, one.was, "a reference that was asked about, once, was required")
                elif places and not again:
                    spans[name][one.was] = places
        for name, those in wrong.items():
            for quote, why in those.items():
                if not spans[name][quote]:
                    self._refuse(CORRECT, name, quote, f"error: {why}")
        return spans

    def _asked[Form: _Reply](
        self, step: str, form: type[Form], told: Mapping[str, Mapping[str, object]]
    ) -> dict[str, Form]:
        """The replies about tools, by tool; one without a reply, or about another tool, is refused."""
        batch = [
            {**(self.document if step in (CREATE, ADD, CORRECT) else {}), "tool": tool_row(self.tools[name]), **more}
            for name, more in told.items()
        ]
        found: dict[str, Form] = {}
        for name, reply in zip(told, self.llm.ask_all(step, form, batch) if batch else (), strict=True):
            if isinstance(reply, Unanswered):
                self._refuse(step, name, "", f"no reply: {reply.reason}")
            elif reply.tool != name:
                self._refuse(step, name, reply.tool, "a reply about the tool that was asked about was required")
            else:
                found[name] = reply
        return found

    def _known(self, name: str) -> dict[str, Item]:
        """The items of a tool by what they are called in questions."""
        return {f"i{k}": one for k, one in enumerate(self.items[name], 1)}

    def _rows(self, name: str) -> list[dict[str, object]]:
        """The items of a tool as a model sees them."""
        return [
            {
                "id": key,
                "name": one.name,
                "description": one.description,
                "references": [self._seen(r) for r in one.references],
                **({"by": "a person"} if one.by == "person" else {}),
            }
            for key, one in self._known(name).items()
        ]

    def _seen(self, one: Reference) -> str:
        """What a reader sees of a reference."""
        start, end = self.policy.seen.within(one.start, one.end)
        return self.policy.seen.text[start:end]

    def _refuse(self, step: str, tool: str, said: str, reason: str) -> None:
        self.refused.append(Refusal(step, tool, said, reason))
