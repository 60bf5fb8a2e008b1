"""What a run made of its policy, part by part: each line, class and link of the page by hand."""

from __future__ import annotations

import re

import pytest
from test_report import GUARDS, RULES, SENTENCES, SUMMARY

from wb.rules import rulefile
from wb.runs import outcome
from wb.runs.outcome import Found

NOTHING = Found(None, None, None, {}, (), ())
ALL = Found(
    rulefile.from_json(RULES), SENTENCES, SUMMARY, {row["tool"]: row for row in GUARDS}, (("adult",), ("pays", "x")), ()
)


def cells(page: str) -> dict[str, str]:
    return dict(re.findall(r'<th scope="row"[^>]*>([^<]*)</th><td class="prose">([^<]*)</td>', page))


def test_a_run_that_kept_nothing_says_so_in_each_part() -> None:
    assert "No stage was run." in outcome.lines(NOTHING) and "kept no classes" in outcome.document(NOTHING, "")
    assert "made no guards" in outcome.tools(NOTHING, "") and "There are no predicates." in outcome.predicates(
        NOTHING, ""
    )
    assert "No rule was read" in outcome.rules(NOTHING, "")
    empty = Found(None, [], {"tools": []}, {}, (), ())
    assert "nothing to guard" in outcome.tools(empty, "")
    assert outcome.note("<b>") == '<p class="note">&lt;b&gt;</p>'


def test_the_lines_count_what_there_is() -> None:
    found = cells(outcome.lines(ALL))
    assert found["rules"] == "1" and found["sentences"].startswith("6: 1 rule, 1 open, 1 duty, 1 waived")
    assert found["can never allow"] == "2: look, post" and "not settled" not in found
    few = Found(None, SENTENCES[1:3], None, {}, (), ())
    assert cells(outcome.lines(few)) == {"sentences": "2: 1 rule, 1 open"}, "a class without a sentence is left out"
    legend = outcome.document(few, "").partition("</p>")[0]
    assert "rule (1)" in legend and "duty" not in legend
    many = [{**SUMMARY["tools"][0], "tool": f"t{i:02}", "allows": "not settled"} for i in range(21)]
    rows = cells(outcome.lines(Found(None, None, {"tools": many}, {}, (), ())))
    assert rows["not settled"].endswith("t19 and 1 more") and rows["tools"] == "21: 21 guarded, 0 blocked, 0 free"
    some = [{**many[0], "grade": grade} for grade in ("proved", "proved for 2 rules", "tested")]
    some.append({**many[0], "rules": [], "grade": "proved"})
    told = cells(outcome.lines(Found(None, None, {"tools": some}, {}, (), ())))["proved"]
    assert told == "1 of 3 tools with rules, no open sentence bearing on them"
    exactly = cells(outcome.lines(Found(None, None, {"tools": many[:20]}, {}, (), ())))
    assert exactly["not settled"].endswith("t19") and set(rows) == {"tools", "proved", "not settled"}


def test_a_sentence_has_its_class_its_reason_and_its_tools() -> None:
    page = outcome.document(ALL, "run2-")
    marks = dict(re.findall(r'id="run2-sentence-(\w+)" class="(\w+)"', page))
    assert list(marks.values()) == ["other", "rule", "open", "duty", "waived", "other"]
    assert "rule: reason 1 &lt;b&gt; — bears on pay" in page and 'duty: reason 3 &lt;b&gt;"' in page
    assert '<a href="#run2-rule-c1.1">c1.1</a>' in page, "the rule that the sentence's rule lives on in"
    legend = page[: page.index("</p>")]
    assert re.findall(r'<span class="(\w+)">([^<]*)<', legend) == [
        ("rule", "rule (1)"), ("open", "open (1)"), ("duty", "duty (1)"), ("waived", "waived (1)"),
        ("other", "not a constraint (2)"),
    ]  # fmt: skip
    assert re.findall(r"<h4>(?:<span[^>]*>)?([^<]*)", page) == ["Paying", "Paying / Gifts"]


def test_a_title_is_a_heading_and_stands_once() -> None:
    row = SENTENCES[1]
    rows = [
        {**row, "id": "a", "text": "One", "headings": []},
        {**row, "id": "b", "headings": ["One"]},
        {**row, "id": "c", "text": "Two", "headings": ["One"]},
        {**row, "id": "d", "headings": ["One", "Two"]},
        {**row, "id": "e", "headings": ["One", "Three"]},
        {**row, "id": "f", "headings": ["One", "Three"]},
        {**row, "id": "g", "headings": []},
    ]
    page = outcome.document(Found(None, rows, None, {}, (), ()), "")
    assert re.findall(r"<(h4|p)>(?:<span[^>]*>)?([^<]*)", page[page.index("</p>") :]) == [
        ("h4", "One"), ("p", row["text"]), ("h4", "Two"), ("p", row["text"]), ("h4", "One / Three"),
        ("p", row["text"]), ("p", row["text"]), ("p", row["text"]),
    ]  # fmt: skip


def test_text_that_no_reader_sees_is_marked() -> None:
    rows = [{**SENTENCES[1], "reason": "hidden: comment"}, {**SENTENCES[2], "reason": "it says hidden: x"}]
    page = outcome.document(Found(None, rows, None, {}, (), ()), "")
    assert page.count("[no reader sees this]") == 1
    assert page.index("[no reader sees this]") < page.index("Only adults may pay.")


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("pay", "proved; 1 rule</summary>"),
        ("look", "no rule; 1 open; never allows; never denies</summary>"),
        ("rest", "free; never denies</summary>"),
        ("post", "tested; never allows</summary>"),
        ("give", "proved; allows only if told agreed</summary>"),
    ],
)
def test_a_tool_is_told_in_one_line(tool: str, words: str) -> None:
    page = outcome.tools(ALL, "x-")
    parts = dict(re.findall(r'<details id="x-tool-(\w+)">(.*?)</details>', page, re.DOTALL))
    assert list(parts) == ["pay", "give", "look", "post", "rest"] and f"</b> {words}" in parts[tool]
    assert ("why not better" in parts[tool]) == (tool == "post") and ("<pre" in parts[tool]) == (tool != "give")


def test_two_rules_are_many_and_a_grade_that_counts_them_says_it_once() -> None:
    row = {**SUMMARY["tools"][0], "rules": ["c1.1", "c9"], "grade": "proved for 2 rules"}
    assert "</b> proved for 2 rules</summary>" in outcome.tools(Found(None, None, {"tools": [row]}, {}, (), ()), "")
    row = {**row, "grade": "tested"}
    page = outcome.tools(Found(ALL.rules, None, {"tools": [row]}, {}, (), ()), "")
    assert "</b> tested; 2 rules</summary>" in page and "c9" in page and "Only adults may pay." in page


def test_a_predicate_has_its_cluster_its_test_and_its_rules() -> None:
    page = outcome.predicates(ALL, "y-")
    rows = dict(re.findall(r'<tr id="y-predicate-(\w+)">(.*?)</tr>', page))
    assert list(rows) == ["pays", "adult"] and 'href="#y-rule-c1.1"' in rows["pays"]
    assert '<td class="number">1</td>' in rows["adult"] and '<td class="number">2</td>' in rows["pays"]
    assert "<code>pay</code>" in rows["pays"] and "<code>state.age &gt;= 18</code>" in rows["adult"]
    assert re.findall(r"<th style[^>]*>([^<]*)", page) == ["predicate", "cluster", "what it says", "read from", "rules"]
    page = outcome.rules(ALL, "y-")
    assert '<details id="y-rule-c1.1"><summary><b>c1.1</b> Only adults may pay.</summary>' in page
