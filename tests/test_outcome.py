"""What a run made of its policy, part by part: each line, class and link of the page by hand."""

from __future__ import annotations

import re

import pytest
from test_report import GUARDS, METHODS, RULES, SENTENCES, SUMMARY

from wb.rules import rulefile
from wb.runs import report
from wb.runs.report import Outcome

GUARDED = {row["tool"]: row for row in GUARDS}
ALL = Outcome(rulefile.from_json(RULES), SENTENCES, SUMMARY, GUARDED, (("adult",), ("pays", "x")))


def part(name: str, outcome: Outcome, anchor: str = "") -> str:
    macro = getattr(report.macros(), name)
    return str(macro(outcome) if name == "lines" else macro(outcome, anchor))


def cells(outcome: Outcome) -> dict[str, str]:
    return dict(re.findall(r'<th scope="row"[^>]*>([^<]*)</th><td class="prose">([^<]*)</td>', part("lines", outcome)))


@pytest.mark.parametrize(
    ("name", "outcome", "words"),
    [
        ("lines", Outcome(), "No stage was run."),
        ("document", Outcome(), "kept no classes"),
        ("tools", Outcome(), "made no guards"),
        ("tools", Outcome(guarding={"tools": []}), "nothing to guard"),
        ("predicates", Outcome(), "There are no predicates."),
        ("rules", Outcome(), "No rule was read"),
        ("results", Outcome(results={"methods": METHODS[2:]}), "Not run: direct; it needs a model."),
    ],
)
def test_a_run_that_kept_nothing_says_so_in_each_part(name: str, outcome: Outcome, words: str) -> None:
    assert words in part(name, outcome) and words not in part(name, ALL)


def test_the_lines_are_those_of_the_summary_or_as_far_as_the_run_came() -> None:
    lines = cells(ALL)
    assert lines["rules"].startswith("2 read, 1 after refinement") and lines["tools"].startswith("5: ")
    assert lines["can never allow"] == "2: look, post" and lines["can never deny"] == "2: look, rest"
    few = Outcome(None, SENTENCES[1:3], rule_counts=(3, 2))
    assert cells(few) == {"sentences": "2: 1 rule, 1 open", "rules": "3 read, 2 after refinement"}
    assert cells(Outcome(rule_counts=(3,))) == {"rules": "3 read"}


def test_a_sentence_has_its_class_its_reason_its_tools_and_its_rules() -> None:
    page = part("document", ALL, "run2-")
    marks = re.findall(r'<span id="run2-sentence-(\w+)" class="(\w+)" title="([^"]*)">([^<]*)</span>', page)
    assert [row["id"] for row in SENTENCES] == [name for name, *_ in marks]
    assert [cls for _, cls, *_ in marks] == ["other", "rule", "open", "duty", "waived", "other"]
    assert marks[1][2] == "rule: reason 1 &lt;b&gt; — bears on pay" and marks[3][2] == "duty: reason 3 &lt;b&gt;"
    assert marks[2][3] == "Be &lt;script&gt;alert(1)&lt;/script&gt; kind when you look."
    assert '</span> <a href="#run2-rule-c1.1">c1.1</a>' in page, "the rule that the sentence's rule lives on in"
    legend = re.findall(r'<span class="(\w+)">([^<]*)<', page[: page.index("</p>")])
    assert legend == [
        ("rule", "rule (1)"), ("open", "open (1)"), ("duty", "duty (1)"), ("waived", "waived (1)"),
        ("other", "not a constraint (2)"),
    ]  # fmt: skip
    assert re.findall(r"<h4>(?:<span[^>]*>)?([^<]*)", page) == ["Paying", "Paying / Gifts"]


def test_a_title_is_a_heading_and_stands_once() -> None:
    under = [("One", []), ("x", ["One"]), ("Two", ["One"]), ("x", ["One", "Two"]), ("x", ["One", "Three"])]
    under += [("x", ["One", "Three"]), ("x", [])]
    rows = [{**SENTENCES[1], "text": text, "headings": headings} for text, headings in under]
    found = re.findall(
        r"<(h4|p)>(?:<span[^>]*>)?([^<]*)", part("document", Outcome(sentences=rows)).partition("</p>")[2]
    )
    x = ("p", "x")
    assert found == [("h4", "One"), x, ("h4", "Two"), x, ("h4", "One / Three"), x, x, x]


def test_text_that_no_reader_sees_is_marked() -> None:
    rows = [{**SENTENCES[1], "reason": "hidden: comment"}, {**SENTENCES[2], "reason": "it says hidden: x"}]
    page = part("document", Outcome(sentences=rows))
    assert page.count("[no reader sees this]") == 1
    assert page.index("[no reader sees this]") < page.index("Only adults may pay.")


PAY = SUMMARY["tools"][0]


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ({}, "proved; 1 rule"),
        (SUMMARY["tools"][1], "no rule; 1 open; never allows; never denies"),
        (SUMMARY["tools"][2], "free; never denies"),
        (SUMMARY["tools"][3], "tested; never allows"),
        (SUMMARY["tools"][4], "proved; allows only if told agreed"),
        ({"rules": ["c1.1", "c9"], "grade": "proved for 2 rules"}, "proved for 2 rules"),
        ({"rules": ["c1.1", "c9"], "grade": "tested", "tool": "<b>"}, "tested; 2 rules"),
    ],
)
def test_a_tool_has_one_line(tool: dict, words: str) -> None:
    page = part("tools", Outcome(ALL.rules, SENTENCES, {"tools": [PAY | tool]}, GUARDED), "x-")
    assert re.search(rf"<b>(\w+|&lt;b&gt;)</b> {words}</summary>", page) and "<b><b>" not in page
    assert ("c9" in page) == ("c9" in tool.get("rules", "")) and ("kind when you look" in page) == ("open" in words)


def test_tools_stand_by_what_they_can_do_with_their_rules_and_code() -> None:
    page = part("tools", ALL, "x-")
    parts = dict(re.findall(r'<details id="x-tool-(\w+)">(.*?)</details>', page, re.DOTALL))
    assert list(parts) == ["pay", "give", "look", "post", "rest"] and "Only adults may pay." in parts["pay"]
    assert "Nagini &lt;b&gt; ran out of time" in parts["post"]
    for tool, shown in parts.items():
        assert ("why not better" in shown) == (tool == "post") and ("<pre" in shown) == (tool != "give")


def test_a_predicate_has_its_cluster_its_test_and_its_rules() -> None:
    page = part("predicates", ALL, "y-")
    rows = dict(re.findall(r'<tr id="y-predicate-(\w+)">(.*?)</tr>', page, re.DOTALL))
    assert list(rows) == ["pays", "adult"] and 'href="#y-rule-c1.1"' in rows["pays"]
    assert '<td class="number" data-value="1">1</td>' in rows["adult"] and ">2</td>" in rows["pays"]
    assert "<code>pay</code>" in rows["pays"] and "<code>state.age &gt;= 18</code>" in rows["adult"]
    assert "the agent &lt;b&gt;pays" in rows["pays"]
    heads = ["predicate", "cluster", "what it says", "read from", "rules"]
    assert re.findall(r"<th [^>]*>([^<]*)", page) == heads
    assert '<details id="y-rule-c1.1"><summary><b>c1.1</b> Only adults may pay.</summary>' in part("rules", ALL, "y-")
