"""Edits of policy items: read with the line of every mistake, put into a person's file, part of the version's key."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from test_items import tool
from test_mapper import BLUE, HIRE, LATE, POLICY, READ, SWIM, TOOLS, YES

from wb import paths
from wb.domain import policy as documents
from wb.paths import Project
from wb.rules import edits, entries, items, rulefile
from wb.rules.edits import EditError, ItemEdit
from wb.runs import key, pipeline

ROOT = Path(__file__).parents[1]
EDIT = {"tool": "rent_boat", "item": "A", "words": [SWIM], "act": "edit", "name": "B"}
ADD = {"tool": "rent_boat", "act": "add", "name": "B", "description": "D", "references": [SWIM]}
DROP = {"tool": "rent_boat", "item": "A", "words": [SWIM], "act": "drop", "why": "w"}


def text(*rows: dict) -> str:
    return rulefile.written({"items": list(rows)})


def without(row: dict, *names: str) -> dict:
    return {name: value for name, value in row.items() if name not in names}


BAD = {
    "an unknown key": ({**EDIT, "examples": ["x"]}, "a key of"),
    "an unknown act": ({**EDIT, "act": "free"}, "'add', 'edit', 'drop', 'archive', 'bring back' was required"),
    "an unknown tool": ({**EDIT, "tool": "sink_boat"}, "one of the tools ['rent_boat', 'end_rental'"),
    "no tool": (without(EDIT, "tool"), "tool: it was required"),
    "a reference that is not there": (
        {**ADD, "references": ["Never dive."]},
        "copy it from the document, word for word",
    ),
    "a reference of many places": ({**ADD, "references": ["a boat"]}, "quote more of it"),
    "a title for a reference": ({**EDIT, "references": ["In general"]}, "not a title alone"),
    "an addition without references": (without(ADD, "references"), "['references'] were required for 'add'"),
    "an addition of an item that is there": ({**ADD, "item": "A"}, "nothing but ['description', 'name', 'references']"),
    "an edit of nothing": (without(EDIT, "words"), "['words'] were required for 'edit'; got none"),
    "an edit that changes nothing": (without(EDIT, "name"), "another name, description or references were required"),
    "a drop without a reason": (without(DROP, "why"), "a reason why was required for 'drop'"),
    "an archive with a blank reason": ({**DROP, "act": "archive", "why": "  "}, "a reason why was required"),
    "bringing back without a reason": ({**without(DROP, "why"), "act": "bring back"}, "a reason why was required"),
    "a drop with a new name": (
        {**DROP, "name": "B"},
        "nothing but ['item', 'words'] was required for 'drop'; got ['name']",
    ),
    "a name on two lines": ({**EDIT, "name": "A\nB"}, "a name on one line was required"),
    "a long name": ({**EDIT, "name": "x" * 121}, "a name of 1 to 120 characters"),
    "a number for a list": ({**EDIT, "words": "x"}, "a list was required"),
}


@pytest.mark.parametrize(("row", "message"), BAD.values(), ids=BAD.keys())
def test_a_mistake_is_told_with_its_line_and_nothing_is_taken(row: dict, message: str) -> None:
    with pytest.raises(EditError) as caught:
        edits.loads("# mine\n" + text({**DROP, "item": "Z"}, row), POLICY)
    (line,) = str(caught.value).splitlines()
    assert message in line and line.startswith("items.yaml, line ")
    number = int(line.split("line ")[1].split(":")[0])
    assert number > 7, "the second entry begins on the eighth line"


def test_all_mistakes_are_told_and_one_entry_an_item_is_enough() -> None:
    with pytest.raises(EditError) as caught:
        edits.loads(text({**EDIT, "tool": "x"}, {**ADD, "references": ["y"]}, DROP, {**DROP, "act": "archive"}), POLICY)
    assert [n in str(caught.value) for n in ("'x'", "'y'", "one entry an item was required; got 'A' again")] == [
        True
    ] * 3
    assert len(edits.loads(text(DROP, {**DROP, "item": "C"}, {**DROP, "tool": "end_rental"}), POLICY)) == 3
    assert edits.loads("", POLICY) == edits.loads("items: []\n", POLICY) == ()
    assert edits.loads(text(without(DROP, "act", "why"), without(DROP, "act", "why")), POLICY) == ()
    for wrong in ("- x\n", "items: 3\n", "items: [\n", "edits: []\n", "items: [*x]\n"):
        with pytest.raises(EditError, match="items.yaml"):
            edits.loads(wrong, POLICY)


def test_what_is_gone_from_the_document_is_stale_and_no_mistake() -> None:
    gone = edits.loads(text({**DROP, "words": ["It is gone."]}), POLICY)
    read = items.items(POLICY, READ)
    left = edits.applied(read, gone, POLICY, renamed=True)
    assert left.items == read and left.left == gone
    assert edits.stale(gone, POLICY) == ["drop 'A' of rent_boat: its words are not in the document any more"]


def test_an_entry_is_put_into_the_file_and_nothing_else_in_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "items.yaml"
    first, second = ItemEdit(**DROP), ItemEdit(**ADD)
    edits.save(file, first, POLICY)
    file.write_text("# Ann looks at items here\n" + file.read_text("utf-8") + "  # and here\n", "utf-8")
    edits.save(file, second, POLICY)
    said = file.read_text("utf-8")
    assert said.startswith("# Ann looks at items here\n") and "# and here" in said
    assert edits.load(file, POLICY) == (first, second)
    edits.save(file, ItemEdit(**{**DROP, "act": "archive", "why": "other"}), POLICY)
    assert [one.act for one in edits.load(file, POLICY)] == ["archive", "add"], (
        "in the place of the one about that item"
    )
    edits.save(file, second.model_copy(update={"act": None}), POLICY)
    assert [one.act for one in edits.load(file, POLICY)] == ["archive"] and "# and here" in file.read_text("utf-8")
    kept, stamp = file.read_bytes(), entries.stamp(file)
    with pytest.raises(EditError, match="changed meanwhile"):
        edits.save(file, first, POLICY, seen="0" * 64)
    with pytest.raises(EditError, match="Never dive"):
        edits.save(file, ItemEdit(**{**ADD, "references": ["Never dive."]}), POLICY, seen=stamp)
    with pytest.raises(EditError, match="one of the tools"):
        edits.save(file, ItemEdit(**{**DROP, "tool": "x"}), POLICY)
    assert file.read_bytes() == kept
    file.write_text("items: [{tool: rent_boat}]\n", "utf-8")
    with pytest.raises(EditError, match="write the entry by hand"):
        edits.save(file, first, POLICY)
    with pytest.raises(EditError, match="can be written"):
        edits.save(tmp_path / "no such folder" / "items.yaml", first, POLICY)


@pytest.mark.parametrize("alone", [False, True])
def test_edits_are_part_of_the_version_s_key_and_their_mistakes_are_told_before_a_run(
    tmp_path: Path, alone: bool
) -> None:
    document = tmp_path / ("hire.md" if alone else "policy.md")
    document.write_text(HIRE, "utf-8")
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [*TOOLS, tool("swim", "Swim.")]}), "utf-8")
    policy = document if alone else tmp_path
    before = key.policy(str(policy), ROOT / "policies").digest
    file = edits.place(policy)
    assert file == paths.beside(policy, "items.yaml") and file.name == ("hire.items.yaml" if alone else "items.yaml")
    file.write_text(text(DROP), "utf-8")
    after = key.policy(str(policy), ROOT / "policies").digest
    file.write_text(text({**DROP, "why": "another reason"}), "utf-8")
    assert len({before, after, key.policy(str(policy), ROOT / "policies").digest}) == 3
    here = Project(ROOT, tmp_path / "artifacts")
    assert len(pipeline.plan(here, {"policy": str(policy)}, last="5")) == 5
    file.write_text(text({**ADD, "references": ["Never dive."]}), "utf-8")
    with pytest.raises(EditError, match=r"items.yaml, line 6: items.0.references.0: words that stand in the document"):
        pipeline.plan(here, {"policy": str(policy)}, last="5")


def test_an_item_becomes_what_a_person_says() -> None:
    read = items.items(POLICY, READ)
    one = next(one for one in read if one.tool == "end_rental")
    on = [r.text for r in one.references]
    row = {
        "tool": one.tool,
        "item": one.name,
        "words": on,
        "act": "edit",
        "references": [YES, LATE],
        "description": "New.",
    }
    (changed,) = (x for x in edits.applied(read, edits.loads(text(row), POLICY), POLICY).items if x.tool == one.tool)
    assert (changed.name, changed.description, changed.by) == (one.name, "New.", "person")
    assert [r.text for r in changed.references] == [YES, LATE]
    (mine,) = edits.made_by(edits.loads(text({**ADD, "references": [BLUE, SWIM]}), POLICY), READ, POLICY)
    assert mine.rules == ("c1.1",) and mine.by == "person" and not mine.archived


def test_the_example_of_the_module_is_one() -> None:
    lines = edits.__doc__.split("\n\n")[1]
    (one,) = edits.loads(textwrap.dedent(lines), documents.load(ROOT / "tests" / "fixtures" / "short_policy"))
    assert (one.act, one.name, len(one.references)) == ("edit", "At most five at home", 1)


def test_an_edit_whose_item_left_the_document_is_stale_whatever_it_asks_for() -> None:
    gone = {**EDIT, "words": ["Boats may be blue only."], "references": ["Boats may be red only."]}
    (kept,) = edits.loads(text(gone), POLICY)
    assert edits.stale([kept], POLICY) == [
        f"edit {kept.item!r} of {kept.tool}: its words are not in the document any more"
    ]
    with pytest.raises(EditError, match="references.0"):
        edits.loads(text({**EDIT, "references": ["Boats may be red only."]}), POLICY)
