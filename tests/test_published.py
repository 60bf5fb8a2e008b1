"""What a paper printed of itself, recomputed: the figures that SPEC section 4 (l, m) settles."""

from __future__ import annotations

import pytest

from wb.bench import published

ROWS = {row["claim"]: row["from its tables"] for row in published.recomputed()}


@pytest.mark.parametrize(
    ("claim", "given"),
    [
        ("accuracy, abstract", "9.25 points, 11.3 % relative"),
        ("accuracy, Section 5.2", "10.2 % relative, by the agent's attacks alone"),
        ("false positives, rule recall", "4.8 %, 90.1 %"),
        ("queries, seconds", "64.7 % less, 58.2 % less"),
        ("other sets, Section 5.2", "6.5 points, 7.8 % relative to the best baseline of each"),
        ("size", "Table 7: 1555 pairs, 3110 runs; 960 x 3 runs are 2880"),
    ],
)
def test_a_claim_stands_beside_what_its_tables_give(claim, given):
    assert ROWS[claim] == given


def test_the_tables_are_those_of_the_paper():
    from conftest import shared

    text = shared("papers", "shieldagent.txt").read_text("utf-8")
    names = {
        "direct": "Direct",
        "rule_traverse": "Rule Traverse",
        "guardagent": "GuardAgent",
        "shieldagent": "SHIELDAGENT",
    }
    for method, rows in published.TABLE_1.items():
        for row in rows:
            cells = [f"{value:g}" for value in row]
            wanted = "\t".join(f"{value:.1f}" if n < 3 or n == 4 else cells[n] for n, value in enumerate(row))
            assert any(names.get(method, "SHIELDAGENT") in line and wanted in line for line in text.splitlines()), (
                method,
                wanted,
            )
    for total, line in zip(published.TABLE_7, ("Shopping", "CMS", "Reddit", "GitLab", "Maps", "SuiteCRM"), strict=True):
        assert f"{line}\t{total}\t{total}\t{2 * total}" in text
