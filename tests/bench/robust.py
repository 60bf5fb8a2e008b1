"""A model's mapper on two policies, and with other text behind and in front of them (ToolGuard, Sec. 4.1, Table 3).

    python tests/bench/robust.py [--steps] [--ask FOLDER [--keep]]

The readers saw no gold; their replies are in `tests/fixtures/mapped`. `--ask` writes the questions without a reply into
a folder and takes the replies that lie there.  Every document is asked about once for each tool that changes something
(`create_items`); the airline's as it stands goes through all steps as well.  The retail policy is read from
`../shared/data`; its gold, `tests/tables/retail_mapping.json`, is older than any reply.
"""

from __future__ import annotations

# ruff: noqa: E402
import argparse
import json
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import airline, retail

from wb.bench import mapping
from wb.bench.mapping import Span
from wb.domain import policy as documents
from wb.domain.policy import Policy
from wb.models import client
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError
from wb.models.prompt import Prompt
from wb.offline import reader
from wb.rules import items, mapper, sentences
from wb.rules.items import Item
from wb.rules.sentences import Account

FIXTURES = airline.ROOT / "tests" / "fixtures"
REPLIES = FIXTURES / "mapped" / "replies.jsonl"
AIRLINE = airline.ROOT / "policies" / "airline"
READERS = {  # who was asked about which document; nobody about more than two of a policy
    "airline": {"as it stands": "R1", "other domain behind": "R2", "other domain in front": "R3"}
    | {"same domain behind": "R3", "same domain in front": "R1"},
    "retail": {"other domain behind": "R1", "other domain in front": "R2"}
    | {"same domain behind": "R2", "same domain in front": "R3"},
}
STEPS = (mapper.ADD, mapper.SPLIT, mapper.MERGE, mapper.REVIEW)


@dataclass(frozen=True)
class Asked:
    """What a reader said of one document: asked in `folder`, or as it is kept; at other steps nobody is asked.

    Kept are the places of the document's words, where they have one."""

    text: str
    about: tuple[str, str]
    steps: Collection[str]
    folder: Path | None
    kept: dict[tuple[str, ...], object]

    name = "reader"

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict, *, anew: bool = False) -> Reply:
        """The reply to one of the steps.

        Raises:
            ModelError: the step is not one of those, or there is no reply yet.
        """
        key = (*self.about, prompt.name, inputs["tool"]["name"])
        if prompt.name not in self.steps:
            raise ModelError(f"not asked: {prompt.name}")
        if self.folder is None:
            return Reply(self._said(self.kept[key], self._words))
        who = f"paste:{READERS[self.about[0]][self.about[1]]}"
        model = client.connect(who, offline=None, replies_dir=self.folder / "replies", environment={})
        reply = model.engine.answer(prompt, inputs, schema, anew=anew)
        self.kept[key] = self._said(reply.value, self._place)
        return reply

    def _said(self, said: object, quoted: Callable[[object], object]) -> object:
        if isinstance(said, dict):
            rows = {key: of for key, of in said.items() if key != "description"}  # which nothing is measured by
            found = {
                key: [quoted(one) for one in of] if key == "references" else self._said(of, quoted)
                for key, of in rows.items()
            }
            return found | ({"description": said["name"]} if "name" in said else {})
        return [self._said(one, quoted) for one in said] if isinstance(said, list) else said

    def _words(self, place: Sequence[int] | str) -> str:
        return place if isinstance(place, str) else self.text[place[0] : place[1]]

    def _place(self, words: str) -> list[int] | str:
        """Where a quotation stands, if it does once."""
        at = self.text.find(words)
        return [at, at + len(words)] if self.text.count(words) == 1 else words


@cache
def source(name: str) -> Policy:
    """A policy as it stands."""
    if name == "airline":
        return documents.load(AIRLINE)
    text = (retail.SENTENCES / "policy.md").read_text("utf-8")
    return documents.of_text(text, retail.toolbox(), name="retail")


@cache
def gold(name: str) -> Mapping[str, list[list[Span]]]:
    """By tool that changes something, the spans of its items in the policy as it stands."""
    changing = {tool.name for tool in source(name).toolbox.tools if tool.mutating}
    if name == "airline":
        found = mapping.gold(AIRLINE, source(name).text)
        return {tool: spans for tool, spans in found.items() if tool in changing}
    found = {}
    for row in json.loads((FIXTURES.parent / "tables" / "retail_mapping.json").read_text("utf-8"))["items"]:
        for tool in row["tools"]:
            found.setdefault(tool, []).append([tuple(span) for span in row["references"]])
    return found


@cache
def texts(name: str) -> Mapping[str, tuple[Policy, int]]:
    """The documents that are asked about, each with where the policy begins in it."""
    other = (AIRLINE / "policy.md") if name == "retail" else AIRLINE / mapping.ADDED["other domain"]
    same = (FIXTURES / "retail_items" if name == "retail" else AIRLINE) / mapping.ADDED["same domain"]
    policy, found = source(name), {"as it stands": (source(name), 0)}
    for kind, path in (("other domain", other), ("same domain", same)):
        added = path.read_text("utf-8")
        for where, text in (
            ("behind", f"{policy.text}\n\n{added}"),
            ("in front", f"{added}\n\n{policy.text}"),
        ):
            made = documents.of_text(text, policy.toolbox, name=name)
            found[f"{kind} {where}"] = (made, 0 if where == "behind" else len(added) + 2)
    return found


def moved(spans: Mapping[str, Sequence[Sequence[Span]]], by: int) -> dict[str, list[list[Span]]]:
    """The spans where the policy begins so much later."""
    return {tool: [[(a + by, b + by) for a, b in group] for group in groups] for tool, groups in spans.items()}


@cache
def accounts(name: str, which: str) -> tuple[Account, ...]:
    """The sentences of a document as they are read without a model."""
    policy = texts(name)[which][0]
    return tuple(sentences.classify(policy, reader.extracted(policy)).accounts)


@cache
def kept() -> dict[tuple[str, ...], object]:
    """The replies by policy, document, step and tool."""
    rows = map(json.loads, REPLIES.read_text("utf-8").splitlines()) if REPLIES.is_file() else ()
    return {tuple(row["about"]): row["reply"] for row in rows}


def mapped(name: str, which: str, steps: Collection[str] = (), folder: Path | None = None) -> mapper.Map:
    """The items that a reader's replies come to."""
    policy = texts(name)[which][0]
    engine = Asked(policy.seen.text, (name, which), {mapper.CREATE, mapper.CORRECT, *steps}, folder, kept())
    nowhere = [replace(one, tools=()) for one in accounts(name, which)]  # or else all tools would be asked about
    return mapper.mapped(policy, nowhere, LLM(engine, workers=1), rounds=1)


def read(name: str, which: str) -> tuple[Item, ...]:
    """The items without a model, of the tools that change something."""
    found = items.items(texts(name)[which][0], accounts(name, which))
    return tuple(one for one in found if one.tool in gold(name))


def line(name: str, which: str, found: Sequence[Item]) -> str:
    policy, at = texts(name)[which]
    rows = mapping.figures(moved(gold(name), at), found, policy.text)
    told = (" ".join("-" if row[k] is None else f"{row[k]:.2f}" for k in ("P", "R", "F1", "FRI")) for row in rows)
    return f"{len(found):3} items; P R F1 FRI exact {next(told)}, overlap {next(told)}"


def strange(name: str, which: str, found: Sequence[Item]) -> int:
    """How many references lie in the other text."""
    at = texts(name)[which][1]
    return sum(not at <= one.start < at + len(source(name).text) for item in found for one in item.references)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ask", type=Path, help="a folder of questions and replies")
    parser.add_argument("--keep", action="store_true", help="keep the replies of that folder")
    parser.add_argument("--steps", action="store_true", help="ask about the airline's further steps, too")
    o = parser.parse_args()
    for name, readers in READERS.items():
        for which in texts(name):
            print(f"{name:8} {which:22} grammar {line(name, which, read(name, which))}")
            if which in readers:
                made = mapped(name, which, (), o.ask)
                waits = sum("no reply: paste" in one.reason for one in made.refused)
                told = f"of the other text {strange(name, which, made.items)}, wait {waits}"
                print(f"{'':31} model   {line(name, which, made.items)}; {told}")
    if o.steps:
        for n in range(1, len(STEPS) + 1):
            made = mapped("airline", "as it stands", STEPS[:n], o.ask)
            waits = sum("no reply: paste" in one.reason for one in made.refused)
            print(f"airline  to {STEPS[n - 1]:13} {line('airline', 'as it stands', made.items)}; wait {waits}")
            if waits:  # what comes after depends on it
                break
    if o.keep:
        REPLIES.parent.mkdir(exist_ok=True)
        rows = ({"about": about, "reply": reply} for about, reply in sorted(kept().items()))
        REPLIES.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main()
