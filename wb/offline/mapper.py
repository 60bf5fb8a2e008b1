"""The steps of the mapper without a model: the items that were read, and what the grammar says of them.

`create_items` gives the items that were read (`rules.items`), `review_items` archives those that the grammar archives,
and `sort_tools` tells by the verb of a tool's name and description what it does.  The other steps change nothing: what
was read is found once, and each sentence is an item already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from wb.domain.tools import Toolbox
from wb.offline import vocabulary
from wb.rules.items import Item

Inputs = Mapping[str, object]


def techniques(toolbox: Toolbox, read: Sequence[Item]) -> dict[str, Callable[[Inputs], dict[str, object]]]:
    """What answers each prompt of the mapper, from the items that were read."""
    return {
        "sort_tools": lambda inputs: sort(inputs, toolbox),
        "create_items": lambda inputs: create(inputs, read),
        "add_items": lambda inputs: {"tool": _tool(inputs), "items": []},
        "correct_references": lambda inputs: {"tool": _tool(inputs), "references": []},
        "split_items": lambda inputs: {"tool": _tool(inputs), "splits": []},
        "merge_items": lambda inputs: {"tool": _tool(inputs), "merges": []},
        "review_items": lambda inputs: review(inputs, read),
    }


def sort(inputs: Inputs, toolbox: Toolbox) -> dict[str, object]:
    """The reply to `sort_tools`: a tool changes something unless all of its acts are those of looking something up."""
    changing = vocabulary.changing(toolbox)
    return {"tools": [{"tool": row["name"], "changes": row["name"] in changing} for row in inputs["tools"]]}


def create(inputs: Inputs, read: Sequence[Item]) -> dict[str, object]:
    """The reply to `create_items`: the items that were read for the tool."""
    mine = [one for one in read if one.tool == _tool(inputs)]
    return {
        "tool": _tool(inputs),
        "items": [
            {"name": one.name, "description": one.description, "references": [r.text for r in one.references]}
            for one in mine
        ],
    }


def review(inputs: Inputs, read: Sequence[Item]) -> dict[str, object]:
    """The reply to `review_items`: what the grammar archives."""
    why = {(one.name, one.description): one.archived for one in read if one.tool == _tool(inputs) and one.archived}
    rows = [(row["id"], why.get((row["name"], row["description"]))) for row in inputs["items"]]
    return {"tool": _tool(inputs), "archive": [{"item": id, "why": said} for id, said in rows if said]}


def _tool(inputs: Inputs) -> str:
    return str(inputs["tool"]["name"])
