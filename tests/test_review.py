"""The review as values: what is shown of a document, what a person's acts write, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from wb.domain import policy as documents
from wb.domain.tools import Field, Tool, Toolbox
from wb.logic.syntax import parse, render
from wb.offline import reader
from wb.rules import decisions, entries
from wb.rules.decisions import DecisionError
from wb.rules.extract import Choice
from wb.rules.mapper import Map
from wb.runs import item_review, review, show, store, verdicts
from wb.runs.review import Asked, Desk

BOX = Toolbox(
    tools=(
        Tool("rent_boat", "Rent a boat to a visitor.", keywords=("rent a boat",)),
        Tool("end_rental", "End a rental.", keywords=("end a rental",)),
        Tool("paint_boat", "Paint a boat.", keywords=("paint a boat",)),
    ),
    state=(Field("can_swim", "boolean", "the visitor can swim", keywords=("swim",)), Field("rested", "boolean")),
)
TEXT = """# Boat hire

Never rent a boat to a visitor who cannot swim. Never end a rental before you rent a boat. Do not paint a boat in haste.

- The harbour is old.
- Staff must be kind to ducks.
"""
OWN = """predicates:
  paints: {kind: action, tools: [paint_boat]}
  rested: {kind: state}
rules:
  - {formula: ALWAYS (paints IMPLIES rested), modality: permit_only_if}
"""


def desk(folder: Path, text: str = TEXT) -> Desk:
    source = documents.of_text(text, BOX)
    return Desk(source, reader.extracted(source), folder / "decisions.yaml")


@pytest.fixture
def boats(tmp_path: Path) -> Desk:
    return desk(tmp_path)


def named(at: Desk, words: str) -> str:
    """The id of the sentence with those words."""
    (found,) = [one.id for one in review.look(at).readings if words in one.text]
    return found


def act(at: Desk, what: str, words: str, **given: object) -> review.Look:
    return review.decide(at, review.look(at), Asked(act=what, id=named(at, words), **given))


def cls(at: Desk, words: str) -> str:
    (found,) = [one.cls for one in review.look(at).readings if words in one.text]
    return found


def test_every_sentence_is_shown_once_in_its_order_with_its_class(boats: Desk) -> None:
    seen = review.look(boats)
    rows = review.document(boats, seen)
    assert [(row["id"], row["cls"]) for row in rows] == [(one.id, one.cls) for one in seen.readings]
    assert [row["text"] for row in rows if row["breaks"]] == [
        "Boat hire",
        "Never rent a boat to a visitor who cannot swim.",
        "The harbour is old.",
        "Staff must be kind to ducks.",
    ]
    assert not any(row["decided"] for row in rows) and rows[0]["kind"] == "heading"


def test_beside_a_sentence_stand_its_rules_as_understood(boats: Desk) -> None:
    seen = review.look(boats)
    shown = review.sentence(boats, seen, named(boats, "end a rental"))
    (rule,) = shown["rules"]
    assert rule["words"] == "Whenever end_rental is called, now or earlier rent_boat is called."
    assert rule["formula"] == "ALWAYS (end_rental IMPLIES ONCE rent_boat)" and rule["in_force"]
    assert rule["told"] == [["end_rental", "calls of end_rental"], ["rent_boat", "calls of rent_boat"]]
    assert rule["denied"]["steps"] == ["end_rental is called"]
    assert rule["allowed"]["steps"] == ["rent_boat is called", "end_rental is called"]
    assert shown["tools"] == ["end_rental"] and shown["decision"] is None and shown["cls"] == "rule"
    plain = review.sentence(boats, seen, named(boats, "harbour"))
    assert plain["rules"] == [] and plain["cls"] == "not a constraint" and "statement" in plain["reason"]
    with pytest.raises(DecisionError, match="the id of a sentence of the document was required; got 'no such'"):
        review.sentence(boats, seen, "no such")


def parted(at: Desk) -> Desk:
    """The desk with two readings of the sentence about rentals, which is open."""
    k = next(k for k, one in enumerate(at.found.clauses) if "end a rental" in one.text)
    (first,) = at.found.extracts[k].formulas
    turned = Choice("another (cases)", (parse("ALWAYS (rent_boat IMPLIES ONCE end_rental)"),))
    apart = ({"rent_boat": True, "end_rental": False},)
    one = replace(at.found.extracts[k], cls="open", formulas=(), choices=(Choice("one (formulas)", (first,)), turned))
    extracts = (*at.found.extracts[:k], replace(one, apart=apart, reason="they differ"), *at.found.extracts[k + 1 :])
    return replace(at, found=replace(at.found, extracts=extracts))


def test_where_readings_differ_one_click_chooses_which_is_in_force(boats: Desk) -> None:
    at = parted(boats)
    seen = review.look(at)
    shown = review.sentence(at, seen, named(at, "end a rental"))
    assert (shown["cls"], shown["rules"], shown["apart"]) == ("open", [], ["end_rental is called; rent_boat is called"])
    assert [(one["by"], one["rules"][0]["words"]) for one in shown["choices"]] == [
        ("one (formulas)", "Whenever end_rental is called, now or earlier rent_boat is called."),
        ("another (cases)", "Whenever rent_boat is called, now or earlier end_rental is called."),
    ]
    for choice, formula in (
        (2, "ALWAYS (rent_boat IMPLIES ONCE end_rental)"),
        (1, "ALWAYS (end_rental IMPLIES ONCE rent_boat)"),
    ):
        after = act(at, "accept", "end a rental", choice=choice)
        (made,) = decisions.load(at.file, at.policy)
        one = after.reading(shown["id"])
        assert [render(rule.formula) for rule in after.ruleset.rules if rule.id in one.rules] == [formula]
        assert (made.decision, one.cls, one.grade) == ("rule", "rule", "person") and decisions.ACCEPTED in made.why
        assert {r.clause for r in after.ruleset.rules if r.id in one.rules} == {decisions.clause_id(one.id)}
        act(at, "take back", "end a rental")
    kept = at.file.read_bytes()
    with pytest.raises(DecisionError, match="one of 2 readings was required; got number 3: write a rule"):
        act(at, "accept", "end a rental", choice=3)
    for words in ("paint a boat", "harbour", "cannot swim"):  # nothing was read, nothing is said, it is in force
        with pytest.raises(DecisionError, match="one of 0 readings was required; got number 1: write a rule"):
            act(at, "accept", words)
    assert at.file.read_bytes() == kept


def test_each_act_leaves_its_class_and_can_be_taken_back(boats: Desk) -> None:
    assert cls(boats, "in haste") == "open"
    act(boats, "rule", "in haste", why="rested painters paint well", rules=OWN)
    assert cls(boats, "in haste") == "rule"
    seen = review.look(boats)
    again = review.sentence(boats, seen, named(boats, "in haste"))["begin"]
    assert yaml.safe_load(again) == yaml.safe_load(OWN), "their own rule is offered as they wrote it"
    act(boats, "waive", "in haste", why="the foreman looks")
    assert cls(boats, "in haste") == "waived"
    act(boats, "not a constraint", "in haste", why="a joke")
    assert cls(boats, "in haste") == "not a constraint"
    act(boats, "take back", "in haste")
    assert cls(boats, "in haste") == "open" and len(yaml.safe_load(boats.file.read_text("utf-8"))["decisions"]) == 1
    assert cls(boats, "end a rental") == "rule"
    after = act(boats, "reject", "end a rental", why="it means the other way round")
    one = next(one for one in after.readings if "end a rental" in one.text)
    assert one.cls == "open" and "end_rental" in one.tools and not one.rules
    kept = after.ruleset.rules
    assert not [rule.id for rule in kept if rule.quote == one.text] and "rent_boat" in kept[0].predicates


REFUSED = {
    "no reason": ("waive", "", "", "^a reason 'why' was required for 'waive'; got none"),
    "neither reason nor tool": (
        "rule",
        "",
        OWN.replace("paint_boat", "sail"),
        "^a reason .*; got none\nthe rule, line 2: ",
    ),
    "no rule": ("rule", "x", "", "at least one rule was required for 'rule'; got 0"),
    "no tool": ("rule", "x", OWN.replace("paint_boat", "sail"), r"the rule, line 2: predicates.paints: tools of"),
    "no field": ("rule", "x", OWN.replace("{kind: state}", "{kind: state, test: state.hue}"), r"line 3: .*got 'hue'"),
    "no formula": ("rule", "x", OWN.replace("ALWAYS (", "ALWAYS (("), r"the rule, line 5: rules.0.formula: "),
    "another key": ("rule", "x", "id: '000000000000'\n" + OWN, r"\['predicates', 'rules'\] was required; got \['id'\]"),
}


@pytest.mark.parametrize(("what", "why", "rules", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_says_where_and_writes_nothing(boats: Desk, what: str, why: str, rules: str, says: str) -> None:
    with pytest.raises(DecisionError, match=says):
        act(boats, what, "in haste", why=why, rules=rules)
    assert not boats.file.exists()
    act(boats, "waive", "harbour", why="x")
    kept = boats.file.read_bytes()
    with pytest.raises(DecisionError, match=says):
        act(boats, what, "in haste", why=why, rules=rules)
    assert boats.file.read_bytes() == kept


def test_a_preview_says_what_a_rule_would_mean_and_writes_nothing(boats: Desk) -> None:
    seen = review.look(boats)
    (shown,) = review.preview(boats, seen, named(boats, "in haste"), OWN)
    assert shown["words"] == "Whenever paint_boat is called, rested is true."
    assert shown["denied"]["steps"] == ["paint_boat is called; rested is false"] and not boats.file.exists()
    with pytest.raises(DecisionError, match="line 2"):
        review.preview(boats, seen, named(boats, "in haste"), OWN.replace("paint_boat", "sail"))


def test_what_is_offered_to_be_edited_is_a_rule_that_says_the_same(boats: Desk) -> None:
    seen = review.look(boats)
    for one in seen.readings:
        shown = review.sentence(boats, seen, one.id)
        if shown["rules"]:
            again = review.preview(boats, seen, one.id, shown["begin"])
            assert [rule["words"] for rule in again] == [rule["words"] for rule in shown["rules"]]
        else:
            (begun,) = review.preview(boats, seen, one.id, shown["begin"])
            assert begun["words"].startswith("Never "), "none of them names a fact, so that there is no condition"


def test_a_changed_document_marks_exactly_the_stale_decisions(boats: Desk, tmp_path: Path) -> None:
    for words in ("cannot swim", "end a rental", "in haste", "harbour", "ducks"):
        act(boats, "waive", words, why=f"of {words}")
    assert review.look(boats).stale == () and review.stale(boats, review.look(boats)) == []
    changed = TEXT.replace("in haste", "in great haste").replace("- The harbour is old.\n", "")
    now = desk(tmp_path, changed + "\nNew words stand here.\n")
    seen = review.look(now)
    assert [one.why for one in seen.stale] == ["of in haste", "of harbour"]
    rows = {row["why"]: row for row in review.stale(now, seen)}
    assert rows["of in haste"]["near"] == named(now, "great haste") and rows["of harbour"]["near"] == ""
    decided = {row["text"] for row in review.document(now, seen) if row["decided"]}
    assert len(decided) == 3 and not any("haste" in text for text in decided)
    assert cls(now, "great haste") == "open", "a stale decision has no effect"
    assert [row["rules"] for row in rows.values()] == ["", ""], "there is no rule to be used again"
    moved = desk(tmp_path, TEXT.replace("# Boat hire", "# Bicycle hire"))
    assert len(review.look(moved).stale) == 5, "under another title each says another thing"


def test_a_stale_rule_is_offered_for_the_sentence_that_took_its_place(boats: Desk, tmp_path: Path) -> None:
    act(boats, "rule", "in haste", why="rested painters", rules=OWN)
    now = desk(tmp_path, TEXT.replace("in haste", "in great haste"))
    seen = review.look(now)
    (row,) = review.stale(now, seen)
    assert (row["near"], row["why"]) == (named(now, "great haste"), "rested painters")
    (rule,) = review.preview(now, seen, row["near"], row["rules"])
    assert rule["words"] == "Whenever paint_boat is called, rested is true." and cls(now, "great haste") == "open"
    review.decide(now, seen, Asked(act="rule", id=row["near"], why=row["why"], rules=row["rules"]))
    assert cls(now, "great haste") == "rule" and len(review.look(now).stale) == 1, "the old one stays in the file"


def test_a_file_that_was_changed_by_hand_meanwhile_is_seen_first(boats: Desk) -> None:
    seen = review.look(boats)
    entries.save(boats.file, decisions.decide(seen.readings[1], "waive", "by hand", "", boats.policy), boats.policy)
    kept = boats.file.read_bytes()
    with pytest.raises(DecisionError, match="was changed meanwhile"):
        review.decide(boats, seen, Asked(act="waive", id=seen.readings[2].id, why="x"))
    assert boats.file.read_bytes() == kept


HOSTILE = "<img src=x onerror=alert(1)> \u202egnihton\u202c zero\u200bwidth &amp; {{7*7}} `x`"


def test_hostile_words_are_told_as_they_are_and_change_nothing_else(tmp_path: Path) -> None:
    plain, spoilt = desk(tmp_path), desk(tmp_path, TEXT.replace("old.", f"old {HOSTILE}."))
    one, other = (review.document(at, review.look(at)) for at in (plain, spoilt))
    texts = [row["text"] for row in other]
    assert all(text.isprintable() for text in texts) and any("⟨U+202E⟩" in text for text in texts)
    assert [row["cls"] for row in one[:4]] == [row["cls"] for row in other[:4]]
    act(spoilt, "waive", "ducks", why=HOSTILE)
    made = decisions.load(spoilt.file, spoilt.policy)[0]
    assert made.why == HOSTILE.strip()
    shown = review.sentence(spoilt, review.look(spoilt), named(spoilt, "ducks"))
    assert shown["decision"]["why"] == show.visible(HOSTILE) and "\u202e" not in str(shown)


def test_the_page_makes_no_markup_and_asks_nobody() -> None:
    """Every text of a document goes into the page as a text node."""
    code = show.PAGE.read_text("utf-8")
    asked = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(|fetch|XMLHttp|import\b|https?:"
    assert not re.findall(asked, code)
    assert "url(" not in show.STYLE.read_text("utf-8") and "@import" not in show.STYLE.read_text("utf-8")


SENT = (
    {"act": "waive"},
    {"act": "burn", "id": "x"},
    {"act": "pick", "id": 7},
    {"act": "pick", "id": "x", "file": "/etc/passwd"},
    {"act": "waive", "id": "x", "why": "y" * 10_001},
    "waive",
    None,
    {"act": "pick", "id": "no such sentence"},
)


def test_the_widget_does_what_it_is_asked_and_refuses_all_else(boats: Desk) -> None:
    shown = review.open(boats.policy, boats.found, boats.file)
    for content in SENT:
        shown.hear(content)
        assert shown.told["text"].startswith("refused, nothing was written: ") and not shown.told["good"]
    assert shown.told["times"] == len(SENT) == shown.heard and not boats.file.exists()
    name = named(boats, "in haste")
    shown.hear({"act": "pick", "id": name})
    assert shown.shown["id"] == name and shown.shown["cls"] == "open"
    shown.hear({"act": "preview", "id": name, "rules": OWN})
    assert shown.preview[0]["words"] == "Whenever paint_boat is called, rested is true."
    shown.hear({"act": "rule", "id": name, "why": "x", "rules": OWN})
    assert shown.told["good"] and shown.shown["cls"] == "rule" and shown.preview == []
    assert {row["cls"] for row in shown.rows if row["decided"]} == {"rule"}
    boats.file.write_text(boats.file.read_text("utf-8") + "# by hand\n", "utf-8")
    shown.hear({"act": "waive", "id": name, "why": "x"})
    assert "was changed meanwhile" in shown.told["text"] and shown.shown["cls"] == "rule"
    shown.hear({"act": "waive", "id": name, "why": "x"})
    assert shown.told["good"] and boats.file.read_text("utf-8").endswith("# by hand\n")
    shown.hear({"act": "pick", "id": name})
    assert shown.heard == len(SENT) + 6, "each act is answered once, also where nothing changes"


def test_in_a_run_the_sentences_stand_in_a_table(boats: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.HANDED_OVER, "somewhere")
    shown = review.open(boats.policy, boats.found, boats.file)
    assert list(shown.frame["sentence"]) == [one.text for one in review.look(boats).readings]
    assert shown.html() == review.open(boats.policy, boats.found, boats.file).html()


def test_two_sentences_that_stand_against_each_other_are_open_until_one_is_decided(tmp_path: Path) -> None:
    at = desk(tmp_path, "Never rent a boat. Do not rent a boat unless the visitor can swim.")
    assert [cls(at, "boat."), cls(at, "swim")] == ["open", "open"]
    (why,) = [one.reason for one in review.look(at).readings if "boat." in one.text]
    assert "“Do not rent a boat unless the visitor can swim.”" in why
    act(at, "waive", "boat.", why="the varnish is dry by now")
    assert [cls(at, "boat."), cls(at, "swim")] == ["waived", "rule"]


def test_an_item_is_added_with_clicks_and_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = desk(tmp_path)
    accounts, made, file = review.look(at).readings, Map((), {"rent_boat": True}), tmp_path / "items.yaml"
    page = item_review.open(at.policy, accounts, made, file)
    assert page.shown == {"tool": "rent_boat", "items": []} and len(page.rows) == len(accounts)
    assert [row["text"] for row in page.rows if row["uncovered"]] and not any(row["at"] for row in page.rows)
    words = "Do not paint a boat in haste."
    item = {"name": "No haste", "description": "Painting takes its time.", "references": [words]}
    for content in ({"act": "pick", "tool": "sail"}, {"act": "drop", "tool": "rent_boat", "at": 0, "why": "x"}, "add"):
        page.hear(content)
        assert page.told["text"].startswith("refused, nothing was written: ") and not file.exists()
    page.hear({"act": "pick", "tool": "paint_boat"})
    page.hear({"act": "add", "tool": "paint_boat", **item})
    assert page.told["good"] and page.told["text"] == "written to items.yaml: add", page.told
    (shown,) = page.shown["items"]
    assert (shown["name"], shown["by"], shown["references"]) == ("No haste", "person", [words])
    assert [row["text"] for row in page.rows if row["at"] == [0]] == [words]
    held = [(row["name"], row["items"], row["open"]) for row in page.tools]
    assert held == [("rent_boat", 0, 2), ("paint_boat", 1, 2), ("end_rental", 0, 1)] and len(page.done) == 1
    page.hear({"act": "drop", "tool": "paint_boat", "at": 0, "why": "x"})
    assert "take that back" in page.told["text"] and not page.told["good"]
    file.write_text(file.read_text("utf-8") + "# by hand\n", "utf-8")
    page.hear({"act": "take back", "tool": "paint_boat", "at": 0})
    assert "was changed meanwhile" in page.told["text"] and page.shown["tool"] == "paint_boat"
    page.hear({"act": "take back", "tool": "paint_boat", "at": 0})
    assert page.told["good"] and not page.done and not page.shown["items"] and page.heard == 8
    monkeypatch.setenv(store.HANDED_OVER, "somewhere")
    assert words in str(item_review.open(at.policy, accounts, made, file).frame)


RUNS = (
    '{"run": "a", "state": {"can_swim": true, "rested": true}}',
    '{"run": "a", "call": {"tool": "rent_boat", "arguments": {}}, "label": "allow"}',
    '{"run": "a", "call": {"tool": "paint_boat", "arguments": {}}, "label": "allow"}',
    '{"run": "b", "state": {"can_swim": false, "rested": false}}',
    '{"run": "b", "call": {"tool": "rent_boat", "arguments": {}}, "label": "deny"}',
    '{"run": "b", "call": {"tool": "paint_boat", "arguments": {}}, "label": "deny"}',
    '{"run": "b", "call": {"tool": "end_rental", "arguments": {}}}',
)
MANY = """# Boat hire

Never rent a boat to a visitor who cannot swim. Do not paint a boat in haste. Boats may be rented by those who swim.

# Liability

We are not liable for wet feet. We are not liable for lost hats. We are not liable for seasickness.
You must rent a boat.

- Ducks may be fed.
"""


@pytest.fixture
def many(tmp_path: Path) -> Desk:
    (tmp_path / "labelled.jsonl").write_text("\n".join(RUNS) + "\n", "utf-8")
    return replace(desk(tmp_path, MANY), runs=tmp_path / "labelled.jsonl")


def texts(row: dict[str, object]) -> list[str]:
    return [one["text"] for one in row["sentences"]]


def test_what_blocks_most_stands_first_and_what_is_alike_stands_together(many: Desk) -> None:
    seen = review.look(many)
    held = verdicts.held(review.judged(many, seen))
    rows = review.queue(many, seen, held)
    waiting = [row for row in rows if row["cls"] == "open"]
    assert {one["id"] for row in rows for one in row["sentences"]} == {
        one.id for one in seen.readings if one.cls in ("open", "not a constraint", "waived")
    }
    assert rows[: len(waiting)] == waiting, "what was set aside stands behind what is open"
    blocks = [(row["calls"], len(row["tools"])) for row in waiting]
    assert blocks == sorted(blocks, reverse=True) and blocks[0] == (4, 3)
    liable = next(row for row in waiting if "wet feet" in texts(row)[0])
    assert len(texts(liable)) == 3 and liable["title"] == "3 sentences" and liable["under"] == "Liability"
    assert liable["about"] == "holds 4 calls and 3 tools; under “Liability”"
    by_tools = [len(row["tools"]) for row in review.queue(many, seen, {}) if row["cls"] == "open"]
    assert by_tools == sorted(by_tools, reverse=True), "without runs, by the tools that are held"


def test_a_permission_that_names_a_fact_stands_first_among_what_was_set_aside(many: Desk) -> None:
    found = many.found
    k = next(k for k, one in enumerate(found.clauses) if "those who swim" in one.text)
    extracts = list(found.extracts)
    extracts[k] = replace(extracts[k], cls="not a constraint", reason="a permission", formulas=(), choices=())
    at = replace(many, found=replace(found, extracts=tuple(extracts)))
    seen = review.look(at)
    aside = [row for row in review.queue(at, seen, {}) if row["cls"] != "open"]
    assert texts(aside[0]) == ["Boats may be rented by those who swim."] and aside[0]["facts"]
    assert aside[0]["about"] == "not a constraint; under “Boat hire”; names facts" and not aside[-1]["facts"]
    begun = yaml.safe_load(review.sentence(at, seen, aside[0]["sentences"][0]["id"])["begin"])
    assert list(begun["predicates"]) == ["does_it", "can_swim"], "the sentence names no other fact"


def test_one_reason_decides_several_sentences_an_entry_each(many: Desk) -> None:
    seen = review.look(many)
    ids = [one.id for one in seen.readings if "not liable" in one.text]
    after = review.decide(many, seen, Asked(act="waive", id=ids[0], also=ids[1:], why="it is about us"))
    made = yaml.safe_load(many.file.read_text("utf-8"))["decisions"]
    assert [(row["id"], row["decision"], row["why"]) for row in made] == [(n, "waive", "it is about us") for n in ids]
    assert {after.reading(name).cls for name in ids} == {"waived"}
    (row,) = (row for row in review.queue(many, after, {}) if row["cls"] == "waived")
    assert len(texts(row)) == 3
    back = review.decide(many, after, Asked(act="take back", id=ids[0], also=ids[1:]))
    assert {back.reading(name).cls for name in ids} == {"open"}


SEVERAL = {
    "no reason": ({"act": "waive"}, "a reason 'why' was required"),
    "a rule": ({"act": "rule", "rules": OWN, "why": "x"}, "one sentence was required for 'rule'; got 3"),
    "an acceptance": ({"act": "accept"}, "one sentence was required for 'accept'; got 3"),
    "no such sentence": ({"act": "waive", "why": "x", "also": ["no such"]}, "the id of a sentence of the document"),
}


@pytest.mark.parametrize(("given", "why"), SEVERAL.values(), ids=SEVERAL.keys())
def test_where_one_of_several_is_refused_none_is_written(many: Desk, given: dict, why: str) -> None:
    seen = review.look(many)
    first, *others = (one.id for one in seen.readings if "not liable" in one.text)
    with pytest.raises(DecisionError, match=why):
        review.decide(many, seen, Asked(**{"id": first, "also": others, **given}))
    assert not many.file.exists()


def test_several_are_written_whole_or_not_at_all(many: Desk) -> None:
    many.file.write_text("decisions: [{id: '0123456789ab', text: x, decision: waive, why: y}]\n", "utf-8")
    seen, kept = review.look(many), many.file.read_bytes()
    ids = [one.id for one in seen.readings if "not liable" in one.text]
    with pytest.raises(DecisionError, match="write the entry by hand"):
        review.decide(many, seen, Asked(act="waive", id=ids[0], also=ids[1:], why="x"))
    assert many.file.read_bytes() == kept


def test_after_each_decision_the_labelled_calls_are_counted_again(many: Desk, tmp_path: Path) -> None:
    shown = review.open(many.policy, many.found, many.file)  # the runs lie beside the decisions
    first = "3 of 4 labelled calls undecided; of 2 violating 1 denied, 0 allowed, 1 undecided; "
    assert shown.counted["words"].startswith(first), shown.counted
    ids = [row["id"] for row in shown.rows if row["cls"] == "open"]
    haste = next(row["id"] for row in shown.rows if "haste" in row["text"])
    ids.remove(haste)
    shown.hear({"act": "not a constraint", "id": ids[0], "also": ids[1:], "why": "they ask for nothing"})
    assert shown.told["text"].endswith(f"{len(ids)} sentences are now not a constraint"), shown.told
    assert shown.counted["words"].startswith(first) and not shown.counted["before"], "the other one still holds them"
    (row,) = (row for row in shown.queue if row["cls"] == "open")
    assert (row["calls"], row["tools"]) == (3, ["rent_boat", "paint_boat"])
    shown.hear({"act": "rule", "id": haste, "why": "rested", "rules": OWN})
    counted = "0 of 4 labelled calls undecided; of 2 violating 2 denied, 0 allowed, 0 undecided; "
    assert shown.counted["words"].startswith(counted + "of 2 compliant 2 allowed")
    assert shown.counted["before"].startswith(first) and not [row for row in shown.queue if row["cls"] == "open"]
    shown.hear({"act": "pick", "id": haste})
    assert shown.counted["words"].startswith(counted), "looking changes nothing"


def test_what_takes_long_is_told_while_it_is_counted(many: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review, "SLOW_S", 0.0)
    monkeypatch.setattr(review, "TOLD_S", 0.0)
    shown, heard = review.open(many.policy, many.found, many.file), []
    shown.observe(lambda change: heard.append(change["new"]["words"]), "counted")
    shown.hear({"act": "waive", "id": named(many, "haste"), "why": "x"})
    assert heard[:2] == ["counting: 1 of 5 calls", "counting: 2 of 5 calls"] and "undecided" in heard[-1]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "line 1: "),
        ('{"run": "a", "observation": "click on the boat", "label": "deny"}', "line 1"),
    ],
)
def test_runs_that_cannot_be_counted_are_told_and_stop_no_decision(many: Desk, line: str, why: str) -> None:
    many.runs.write_text(line + "\n", "utf-8")
    shown = review.open(many.policy, many.found, many.file, many.runs)
    assert shown.counted["words"].startswith("not counted: ") and why in shown.counted["words"], shown.counted
    shown.hear({"act": "waive", "id": named(many, "haste"), "why": "x"})
    assert shown.told["good"] and many.file.exists()
    assert review.open(many.policy, many.found, many.file.with_name("other.decisions.yaml")).counted == {}


def test_a_reading_that_would_leave_its_sentence_open_is_not_offered(boats: Desk) -> None:
    at = parted(boats)
    k = next(k for k, one in enumerate(at.found.clauses) if "end a rental" in one.text)
    hollow = Choice("another", (parse("ALWAYS (rent_boat IMPLIES rent_boat)"),))
    extracts = list(at.found.extracts)
    extracts[k] = replace(extracts[k], choices=(extracts[k].choices[0], hollow))
    at = replace(at, found=replace(at.found, extracts=tuple(extracts)))
    good, idle = review.sentence(at, review.look(at), named(at, "end a rental"))["choices"]
    assert not good["idle"] and "guards nothing" in idle["idle"]
    with pytest.raises(DecisionError, match="a reading that settles the sentence was required; it would stay open: "):
        act(at, "accept", "end a rental", choice=2)
    assert not at.file.exists()
    assert act(at, "accept", "end a rental").reading(named(at, "end a rental")).cls == "rule"
