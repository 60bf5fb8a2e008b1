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
        ("best baseline, Section 5.2", "guardagent: 83.1 on average, rule traverse 81.8"),
        ("overalls of Tables 1, 2, 4, 5, 6", "40 are the means of their parts"),
        ("ASR at first, Section 5.1", "51.9; 53.5 is that of PoT alone"),
        ("ASR of MP before validation", "15 without any defence"),
        ("backbones, Section 4.4", "4"),
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


def test_overalls_stand_in_the_paper_beside_their_parts_and_a_wrong_one_is_told(monkeypatch):
    from conftest import shared

    lines = shared("papers", "shieldagent.txt").read_text("utf-8").splitlines()
    cells = [re.findall(r"\d+\.\d", line) for line in lines]
    for where, ((acc, mean), (fpr, low)) in published.OVERALL.items():
        mixed = [f"{one:.1f}" for pair in zip((*acc, mean), (*fpr, low), strict=True) for one in pair]
        told = [[f"{one:.1f}" for one in row] for row in ((*acc, mean), (*fpr, low))]
        if "Table 6" in where:  # the row of one method stands on one line or on two
            assert all(row in cells or any(row[-1] in line for line in cells) for row in told), where
        elif not where.startswith("Table 2"):
            assert mixed in cells, where
    for method, both in published.RISKS.items():
        for risks, row in zip(both, published.TABLE_1[method], strict=True):
            wanted = [f"{one:.1f}" for one in (*risks, *row[:3])]
            assert any(line[: len(wanted)] == wanted for line in cells), method
    monkeypatch.setitem(published.OVERALL, "Table 4, direct", (((78.0, 72.3, 71.9), 75.0), ((5.0, 3.4, 4.3), 4.2)))
    (row,) = [one for one in published.recomputed() if one["claim"].startswith("overall, ")]
    assert (row["claim"], row["printed"], row["from its tables"]) == ("overall, Table 4, direct ACC", "75", "74.07")


@pytest.mark.parametrize("name", published.MIND2WEB_SC)
def test_of_what_is_printed_on_mind2web_sc_the_nearest_counts_are_taken(name):
    """Independent: of all counts of 100 cases to deny and 100 others, those whose rates are nearest to the printed."""
    accuracy, precision, recall = published.MIND2WEB_SC[name]

    def away(right: int, wrong: int) -> float:
        return abs(100 * right / (right + wrong) - precision) + 10 * abs(right - recall)

    best = min(((r, w) for r in range(1, 101) for w in range(101)), key=lambda pair: away(*pair))
    right, wrong, exact = published.counts(precision, recall)
    assert (right, wrong) == best and exact == (right + 100 - wrong) / 2
    assert (f"accuracy on Mind2Web-SC, {name}" in ROWS) is (abs(exact - accuracy) > 0.06)
