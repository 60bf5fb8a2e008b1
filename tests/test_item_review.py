"""The review of items as values: what is shown of a policy's items, what a person's acts write, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_browser import CHROMIUM, QUIET, SCREENSHOTS, WIDE
from test_mapper import BLUE, BOTH, FRIENDLY, LATE, LOOKED, POLICY, PRICE, READ, SWIM, YES, Person, made, well

from wb.rules import edits, mapper
from wb.runs import item_review, review, store
from wb.runs.item_review import Asked, Desk


@pytest.fixture
def boats(tmp_path: Path) -> Desk:
    return Desk(POLICY, READ, well(), tmp_path / "items.yaml")


def act(desk: Desk, what: str, tool: str = "rent_boat", **given: object) -> item_review.Look:
    return item_review.act(desk, item_review.look(desk), Asked(act=what, tool=tool, **given))


def shown(at: Desk, tool: str = "rent_boat") -> list[dict]:
    return item_review.listed(at, item_review.look(at), tool)


def test_tools_items_and_the_places_of_their_references_are_shown(boats: Desk) -> None:
    seen = item_review.look(boats)
    assert item_review.tools(boats, seen) == [
        {"name": "rent_boat", "kind": "changes something", "items": 5, "archived": 0},
        {"name": "end_rental", "kind": "changes something", "items": 3, "archived": 1},
        {"name": "find_visitor", "kind": "reads only", "items": 0, "archived": 0},
        {"name": "show_map", "kind": "reads only", "items": 0, "archived": 0},
    ]
    rows = {row["text"]: row for row in item_review.document(boats, seen, "rent_boat")}
    assert (
        rows[SWIM]["at"] == [0] and rows[BOTH]["at"] == [1, 2] and rows[PRICE]["at"] == [3] and rows[YES]["at"] == [4]
    )
    assert rows[LATE]["at"] == [] and rows[LATE]["elsewhere"] and not rows[LATE]["uncovered"]
    assert not rows[BLUE]["uncovered"] and not rows[BLUE]["elsewhere"], "it says nothing of how to act"
    assert [row["text"] for row in rows.values() if row["breaks"]][:3] == ["Boat hire", "Renting out", SWIM]
    first = shown(boats)[0]
    assert (first["name"], first["references"], first["by"], first["rules"]) == (
        "Swimmers alone",
        [SWIM],
        "model",
        ["c1.1"],
    )
    bare = Desk(POLICY, READ, mapper.Map((), changes={}), boats.file)
    rows = item_review.document(bare, item_review.look(bare), "rent_boat")
    assert {row["text"] for row in rows if row["uncovered"]} == {SWIM, BOTH, PRICE, LOOKED, LATE, FRIENDLY, YES}


def test_each_act_is_in_the_file_shown_at_once_and_can_be_taken_back(boats: Desk) -> None:
    act(boats, "edit", at=0, name="Swimmers", description="Only swimmers.", references=[SWIM, f"  {BLUE} ", ""])
    first = shown(boats)[0]
    assert (first["name"], first["references"], first["by"]) == ("Swimmers", [SWIM, BLUE], "person")
    (entry,) = edits.load(boats.file, POLICY)
    assert (entry.item, entry.words, entry.references) == ("Swimmers alone", [SWIM], [SWIM, BLUE])
    act(boats, "archive", at=3, why="the till asks")
    assert shown(boats)[3]["archived"] == "by a person: the till asks"
    act(boats, "bring back", "end_rental", at=2, why="we can hear them")
    assert shown(boats, "end_rental")[2]["archived"] == ""
    act(boats, "drop", "end_rental", at=1, why="told at the desk")
    assert [one["name"] for one in shown(boats, "end_rental")] == ["Looked at", "Friendly", "Read back, with a yes"]
    act(boats, "add", "find_visitor", name="By name", description="Only by name.", references=[YES])
    (mine,) = shown(boats, "find_visitor")
    assert mine["by"] == "person" and mine["name"] == "By name"
    done = item_review.done(item_review.look(boats))
    assert [row["act"] for row in done] == ["edit", "archive", "bring back", "drop", "add"]
    for _ in done:
        act(boats, "take back", at=0)
    assert shown(boats)[0]["name"] == "Swimmers alone" and not item_review.look(boats).every
    assert shown(boats, "find_visitor") == [] and len(shown(boats, "end_rental")) == 4


def test_what_was_edited_counts_in_the_next_run(boats: Desk) -> None:
    act(boats, "edit", at=0, name="Swimmers", description="Only swimmers.", references=[SWIM])
    act(boats, "drop", "end_rental", at=1, why="told at the desk")
    again = made(Person(), own=boats.file.read_text("utf-8"))
    assert [one.name for one in again.items if one.tool == "rent_boat"][0] == "Swimmers"
    assert LATE not in {r.text for one in again.items for r in one.references} and not again.stale
    at = Desk(POLICY, READ, again, boats.file)
    assert shown(at)[0]["name"] == "Swimmers" and not item_review.look(at).stale, "what the run knew is in it"


REFUSED = [
    ({"act": "drop", "at": 0}, "a reason why was required"),
    ({"act": "drop", "at": 99, "why": "x"}, "one of the 5 items of 'rent_boat' was required; got number 100"),
    ({"act": "drop", "why": "x"}, "got number 0"),
    ({"act": "take back", "at": 0}, "one of the 0 edits of the file was required"),
    ({"act": "add", "name": "A", "description": "D"}, "references"),
    ({"act": "add", "name": "A", "description": "D", "references": ["Never dive."]}, "stand in the document"),
    ({"act": "add", "name": "\u202eA", "description": "D", "references": [SWIM]}, "that can be read"),
    (
        {"act": "edit", "at": 0, "name": "Swimmers alone", "description": "Swimmers alone.", "references": [SWIM]},
        "another",
    ),
    ({"act": "edit", "at": 0, "name": "A", "description": "D", "references": ["a boat"]}, "quote more of it"),
]


@pytest.mark.parametrize(("asked", "says"), REFUSED)
def test_what_is_refused_says_why_and_writes_nothing(boats: Desk, asked: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        act(boats, **{"what": asked["act"], **{k: v for k, v in asked.items() if k != "act"}})
    assert not boats.file.exists()


SENT = (
    {"act": "pick"},
    {"act": "burn", "tool": "rent_boat"},
    {"act": "pick", "tool": "sink_boat"},
    {"act": "pick", "tool": "rent_boat", "file": "/etc/passwd"},
    {"act": "drop", "tool": "rent_boat", "at": "0", "why": "x"},
    {"act": "drop", "tool": "rent_boat", "at": 0, "why": "y" * 10_001},
    {"act": "add", "tool": "rent_boat", "references": [1]},
    "drop",
    None,
)


def test_the_widget_does_what_it_is_asked_and_refuses_all_else(boats: Desk) -> None:
    view = item_review.open(POLICY, READ, boats.made, boats.file)
    assert view.shown["tool"] == "rent_boat" and len(view.shown["items"]) == 5
    for content in SENT:
        view.hear(content)
        assert view.told["text"].startswith("refused, nothing was written: ") and not view.told["good"]
    assert view.told["times"] == len(SENT) == view.heard and not boats.file.exists()
    view.hear({"act": "pick", "tool": "end_rental"})
    assert view.shown["tool"] == "end_rental" and any(row["at"] == [0] for row in view.rows)
    view.hear({"act": "drop", "tool": "end_rental", "at": 1, "why": "told at the desk"})
    assert view.told["good"] and len(view.shown["items"]) == 3 and len(view.done) == 1
    boats.file.write_text(boats.file.read_text("utf-8") + "# by hand\n", "utf-8")
    view.hear({"act": "drop", "tool": "end_rental", "at": 0, "why": "x"})
    assert "was changed meanwhile" in view.told["text"] and len(view.shown["items"]) == 3
    view.hear({"act": "drop", "tool": "end_rental", "at": 0, "why": "x"})
    assert view.told["good"] and "# by hand\n" in boats.file.read_text("utf-8") and len(view.shown["items"]) == 2
    assert view.heard == len(SENT) + 4, "each act is answered once"


def test_in_a_run_what_is_in_no_item_stands_in_a_table(boats: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.HANDED_OVER, "somewhere")
    assert item_review.open(POLICY, READ, boats.made, boats.file).frame.empty
    shown = item_review.open(POLICY, READ, mapper.Map(boats.made.items[:1], changes={}), boats.file)
    assert SWIM not in [one.text for one in shown.frame["in no item"]] and len(shown.frame) == 6


def test_the_page_makes_no_markup_and_asks_nobody() -> None:
    """Every text of a document or model goes into the page as a text node."""
    code = review.PARTS.read_text("utf-8") + item_review.PAGE.read_text("utf-8")
    asked = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(|fetch|XMLHttp|import\b|https?:"
    assert not re.findall(asked, code) and "url(" not in item_review.STYLE.read_text("utf-8")


MODEL = """values => {
    const heard = {};
    window.sent = [];
    window.model = {
        get: name => values[name],
        on: (what, act) => (heard[what] ||= []).push(act),
        send: content => window.sent.push(content),
    };
    window.tell = fresh => {
        const changed = Object.keys(fresh).filter(k => JSON.stringify(fresh[k]) !== JSON.stringify(values[k]));
        Object.assign(values, fresh);
        changed.forEach(name => (heard["change:" + name] || []).forEach(act => act()));
    };
    window.view.render({ model: window.model, el: document.body });
}"""
STATE = ("tools", "rows", "shown", "done", "stale", "told", "file", "heard")
HOSTILE = "<img src=x onerror='window.hit = 1'> the harbour master sees to it"


def test_clicks_in_a_browser_edit_items_in_the_file(boats: Desk) -> None:
    """The page in Debian's chromium, with the widget behind it as in JupyterLab: values there, acts back."""
    from playwright.sync_api import sync_playwright

    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    view = item_review.open(POLICY, READ, boats.made, boats.file)
    script = review.PARTS.read_text("utf-8") + item_review.PAGE.read_text("utf-8")
    script = script.replace("export default", "window.view =")
    style = item_review.review.STYLE.read_text("utf-8") + item_review.STYLE.read_text("utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        page = browser.new_page(viewport=WIDE)
        page.set_content(f"<style>body{{font-family:sans-serif}}{style}</style>")
        page.add_script_tag(content=script)
        page.evaluate(MODEL, {name: getattr(view, name) for name in STATE})

        def answer() -> None:
            for content in page.evaluate("window.sent.splice(0)"):
                view.hear(content)
            page.evaluate("fresh => window.tell(fresh)", {name: getattr(view, name) for name in STATE})

        lit = page.locator(".document .mine").all_text_contents()
        page.locator(".item-card", has_text="Two boats").hover()
        assert page.locator(".document .lit").all_text_contents() == [BOTH]
        page.screenshot(path=SCREENSHOTS / "items.png")
        page.get_by_role("button", name="Add an item").click()
        page.locator("input.name").fill("Blue ones")
        page.locator("textarea.description").fill(HOSTILE)
        page.get_by_role("button", name="Save").click()
        answer()
        assert (
            "refused, nothing was written: the edit" in page.locator(".told").inner_text() and not boats.file.exists()
        )
        page.locator(".document .sentence", has_text=BLUE).click()
        page.locator(".document .sentence", has_text=LATE).click()
        page.locator(".document .sentence", has_text=LATE).click()
        assert page.locator("textarea.references").input_value() == BLUE
        page.screenshot(path=SCREENSHOTS / "items-form.png")
        page.get_by_role("button", name="Save").click()
        answer()
        assert page.locator(".item-card").last.inner_text().startswith("Blue ones")
        page.locator(".tools button[data-tool=end_rental]").click()
        answer()
        card = page.locator(".item-card", has_text="Ten euros")
        card.locator("input.why").fill("told at the desk")
        card.get_by_role("button", name="Drop").click()
        answer()
        assert page.locator(".told").inner_text() == "written to items.yaml: drop"
        assert page.locator(".document .uncovered").all_text_contents() == [LATE], "now it is in no item"
        page.screenshot(path=SCREENSHOTS / "items-end.png")
        page.locator(".done", has_text="Blue ones").get_by_role("button").click()
        answer()
        wide = page.evaluate("document.documentElement.scrollWidth")
        hit = page.evaluate("window.hit")
        browser.close()
    assert lit == [SWIM, BOTH, PRICE, YES] and hit is None and wide <= WIDE["width"]
    assert [(one.act, one.item) for one in edits.load(boats.file, POLICY)] == [("drop", "Ten euros an hour")]
