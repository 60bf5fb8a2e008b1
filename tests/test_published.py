"""What a paper printed of itself, recomputed: the figures that SPEC section 4 (l, m) settles."""

from __future__ import annotations

import re

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
        ("F1 of the mapper", "0.821 of mean P and R: it is a mean over tools"),
        ("Table 3, Orig + OOD", "-18.8 %, -10.8 %"),
        ("Table 3, IID + Orig", "-8.8 %, -4.8 %"),
        ("pass^1", "99 of 220 is 0.450, 151 of 220 is 0.686"),  # 0.685 is none of 220 trials
        ("pass^10", "5 of 22 is 0.227, 6 of 22 is 0.273, 11 of 22 is 0.500"),
        ("mean TSR, Gemini-2.5-Flash, VeriGuard", "65.62"),
        ("mean TSR, Gemini-2.5-Flash, GuardRail", "46.15"),
        ("mean TSR, GPT-4.1, GuardRail", "49.12"),
        ("mean TSR, GPT-4.1, No defense", "48.90"),
        ("TSR without defence, Section 5.1", "TSR 42.10; 51.88 is the ASR"),
    ],
)
def test_a_claim_stands_beside_what_its_tables_give(claim, given):
    assert ROWS[claim] == given


def test_means_are_wrong_where_they_are_listed_and_nowhere_else():
    wrong = {
        f"mean {rate}, {where}" for where, rate, printed, exact in published.means() if abs(printed - exact) > 0.06
    }
    assert {claim for claim in ROWS if claim.startswith("mean ")} == wrong and len(published.means()) == 38


def test_the_rates_of_veriguard_are_those_of_the_paper():
    from conftest import shared

    text = shared("papers", "veriguard.txt").read_text("utf-8")
    numbers = set(re.findall(r"\d+(?:\.\d+)?", text[text.index("Table 1: ") : text.index("Each strategy offers")]))
    for rows in (*published.VERIGUARD_1.values(), published.VERIGUARD_3):
        for both in rows.values():
            for value in (one for row in both if row is not None for one in row):
                assert {f"{value:g}", f"{value:.1f}"} & numbers, value


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
