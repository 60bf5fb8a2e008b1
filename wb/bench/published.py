"""What ShieldAgent printed of itself (Tables 1 and 7), and what follows from it: gains and sample counts recomputed.

Its gains are relative, and not all of them follow from its tables (SPEC section 4, l and m).  Nothing here was measured
by `wb`, and its numbers stand in no table of ours.
"""

from __future__ import annotations

from statistics import fmean
from typing import NamedTuple


class Printed(NamedTuple):
    """A row of Table 1: accuracy, false positives and rule recall in percent, queries and seconds a sample."""

    acc: float
    fpr: float
    arr: float
    queries: float
    seconds: float


TABLE_1 = {  # by method: attacks by the agent, then by the environment
    "direct": (Printed(73.3, 7.6, 31.5, 1, 6.3), Printed(75.8, 6.6, 31.5, 1, 6.7)),
    "rule_traverse": (Printed(82.0, 18.1, 69.0, 27.1, 75.3), Printed(81.6, 15.0, 75.0, 31.5, 80.1)),
    "guardagent": (Printed(81.4, 14.3, 55.9, 13.6, 62.3), Printed(84.8, 10.7, 70.0, 14.8, 58.7)),
    "shieldagent": (Printed(90.4, 5.6, 87.5, 9.5, 31.1), Printed(91.7, 4.0, 92.7, 11.2, 33.8)),
}
TABLE_2 = {  # accuracy in percent on ST-WebAgentBench, VWA-Adv and AgentHarm
    "direct": (74.1, 90.3, 76.9),
    "guardagent": (84.0, 89.9, 78.4),
    "shieldagent": (91.1, 94.1, 86.9),
}
TABLE_7 = (265, 260, 230, 450, 160, 190)  # safe runs by environment, and as many unsafe ones


def recomputed() -> list[dict[str, str]]:
    """What the text claims, beside what its tables give."""
    ours, rules = TABLE_1["shieldagent"], TABLE_1["rule_traverse"]
    acc, best = _mean(ours, "acc"), _mean(rules, "acc")
    ends = [(max(TABLE_2[m][i] for m in TABLE_2 if m != "shieldagent"), TABLE_2["shieldagent"][i]) for i in range(3)]
    points, gains = fmean(new - old for old, new in ends), fmean(100 * (new - old) / old for old, new in ends)
    saved = {name: 100 * (1 - _mean(ours, name) / _mean(rules, name)) for name in ("queries", "seconds")}
    pairs = sum(TABLE_7)
    rows = (
        ("accuracy, abstract", "11.3 % better", f"{acc - best:.2f} points, {100 * (acc - best) / best:.1f} % relative"),
        ("accuracy, Section 5.2", "10.2 % on average", f"{_gain(90.4, 82.0)} by the agent's attacks alone"),
        ("false positives, rule recall", "4.8 %, 90.1 %", f"{_mean(ours, 'fpr'):.1f} %, {_mean(ours, 'arr'):.1f} %"),
        ("queries", "64.7 % fewer", f"{saved['queries']:.1f} % fewer"),
        ("seconds", "58.2 % less", f"{saved['seconds']:.1f} % less"),
        (
            "other sets, Section 5.2",
            "7.4 %",
            f"{points:.1f} points, {gains:.1f} % relative to the best baseline of each",
        ),
        ("size", "3K pairs, 2K pairs, 3110 unsafe", f"Table 7: {pairs} pairs, {2 * pairs} runs; 960 x 3 runs are 2880"),
    )
    return [dict(zip(("claim", "printed", "from its tables"), row, strict=True)) for row in rows]


def _mean(rows: tuple[Printed, ...], name: str) -> float:
    return fmean(getattr(row, name) for row in rows)


def _gain(new: float, old: float) -> str:
    return f"{100 * (new - old) / old:.1f} %"
