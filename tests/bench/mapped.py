"""Replies that a language model wrote to the mapper's questions about a retail policy, blind to its gold: mapped again,
and measured beside the gold and beside the mapping without a model.

    python tests/bench/mapped.py

The replies are in `tests/fixtures/retail_items`; the document, its tools and its gold are read from `../shared/data`.
"""

from __future__ import annotations

# ruff: noqa: E402
import json
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from bench import airline

from wb.bench import mapping
from wb.bench.mapping import Mapped, Span
from wb.domain import policy as documents
from wb.domain.policy import Policy
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError
from wb.models.prompt import Prompt
from wb.offline import reader
from wb.rules import check, items, mapper, sentences
from wb.rules.items import Item
from wb.rules.mapper import Map
from wb.rules.sentences import Account

FILE = airline.ROOT / "tests" / "fixtures" / "retail_items" / "replies.jsonl"
DOCUMENT = airline.SHARED / "policies" / "retail"
STEPS = (mapper.CREATE, mapper.ADD, mapper.SPLIT, mapper.MERGE, mapper.REVIEW)


class Reader:
    """The model that wrote the replies, as an engine: it says what it said then of the same items of a tool, at the
    steps named, and nothing where another question is asked."""

    name = "reader"

    def __init__(self, source: Policy, steps: Collection[str]) -> None:
        self.source, self.steps = source, {mapper.SORT, *steps}
        self.rows = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict, *, anew: bool = False) -> Reply:
        """The reply to one of the steps.

        Raises:
            ModelError: nobody wrote a reply to this, or the step is not one of those named.
        """
        tool, about = (
            inputs.get("tool", {}).get("name", ""),
            {one["id"]: one["name"] for one in inputs.get("items", ())},
        )
        about = [one["name"] for one in inputs["tools"]] if prompt.name == mapper.SORT else about
        for row in self.rows if prompt.name in self.steps else ():
            if (row["prompt"], row["tool"], row["about"]) == (prompt.name, tool, about):
                return Reply(self._quoted(row["reply"]))
        raise ModelError(f"nobody was asked this when the replies were written: {prompt.name} {tool}")

    def _quoted(self, said: object) -> object:
        """A reply with the document's words in place of their spans."""
        if isinstance(said, dict):
            return {key: self._words(of) if key == "references" else self._quoted(of) for key, of in said.items()}
        return [self._quoted(one) for one in said] if isinstance(said, list) else said

    def _words(self, spans: Sequence[Span]) -> list[str]:
        return [self.source.seen.text[start:end] for start, end in spans]


@cache
def source() -> Policy:
    """The document with its tools."""
    return documents.load(DOCUMENT)


@cache
def accounts() -> tuple[Account, ...]:
    """The sentences as notebook 01 reads them without a model."""
    policy = source()
    classed, ruleset = sentences.classify(policy, reader.extracted(policy))
    asked = check.questions(check.suspected(check.check(ruleset), ruleset))
    return tuple(sentences.questioned(classed, asked, (), policy.toolbox))


@cache
def mapped(steps: int = len(STEPS)) -> Map:
    """What becomes of the replies to the first steps; the later ones get none."""
    return mapper.mapped(source(), accounts(), LLM(Reader(source(), STEPS[:steps]), workers=1), rounds=1)


@cache
def read() -> tuple[Item, ...]:
    """The items without a model."""
    return tuple(items.items(source(), accounts()))


@cache
def gold() -> dict[str, list[list[Span]]]:
    """By tool, the sentences with a rule that bears on it, each an item by itself.

    The gold is one of rules: it has the beginning of each sentence and the tools of each of its rules ("all", "get_*",
    names, or none).  It groups nothing, so that it tells little of how references are grouped.
    """
    text, found = source().text, {}
    for row in json.loads((DOCUMENT / "gold.json").read_text("utf-8")):
        beginning, _, number = row["text"].partition("#")
        at = -1
        for _ in range(int(number or 1)):
            at = text.index(beginning, at + 1)
        (span,) = ((one.start, one.end) for one in source().sentences if one.start <= at < one.end)
        told = {tool for rule in row["rules"] for tool in rule["tools"].split(",")}
        for tool in (one.name for one in source().toolbox.tools):
            if told & {"all", tool, "get_*" if tool.startswith("get_") else tool}:
                found.setdefault(tool, []).append([span])
    return found


def cut(spans: Mapping[str, Sequence[Sequence[Span]]]) -> dict[str, list[list[Span]]]:
    """Each reference cut into the sentences that it has characters of: whole sentences."""
    every = [(one.start, one.end) for one in source().sentences]
    return {
        tool: [[one for one in every for a, b in group if a < one[1] and one[0] < b] for group in groups]
        for tool, groups in spans.items()
    }


def figures(found: Sequence[Item]) -> dict[str, Mapped]:
    """The figures of items beside the gold: by exact references, by overlap, and by the sentences of the references."""
    wanted, spans, text = gold(), mapping.spans(found), source().text
    return {
        "exact": mapping.mapped(wanted, spans, text),
        "overlap": mapping.mapped(wanted, spans, text, by="overlap"),
        "sentence": mapping.mapped(cut(wanted), cut(spans), text),
    }


def macro(of: Mapped, *, changing: bool) -> float:
    """The mean F1 over the tools that change something, as the replies tell, or over those that change nothing."""
    changes = mapped().changes
    return fmean(one.f1 for name, one in of.tools.items() if changes[name] is changing)


def main() -> None:
    for name, found in (("offline", read()), *((name, mapped(n).items) for n, name in enumerate(STEPS, 1))):
        for by, one in figures(found).items():
            told = " ".join(f"{value:.3f}" for value in (one.precision, one.recall, one.f1, one.grouping))
            parts = " ".join(f"{macro(one, changing=changing):.3f}" for changing in (True, False))
            print(f"{name:12} {len(found):3} items, {by:8} P R F1 FRI {told}; F1 of changing, other tools {parts}")
    print(f"refused {len(mapped().refused)}")
    both = [figures(found) for found in (read(), mapped().items)]
    for tool in gold():
        told = [" ".join(f"{of.tools[tool].f1:.2f}" for of in those.values()) for those in both]
        print(f"{tool:32} F1 exact, overlap, sentence: offline {told[0]}; model {told[1]}")


if __name__ == "__main__":
    main()
