"""What ShieldAgent printed of itself (Tables 1, 2 and 7), and what follows from it: gains and sample counts recomputed.

Its gains are relative, and not all of them follow from its tables (SPEC section 4, l and m).  Nothing here was measured
by `wb`, and its numbers stand in no table of ours.
"""

from __future__ import annotations

from statistics import fmean

TABLE_1 = {  # attacks by the agent, then by the environment: ACC, FPR, ARR in percent, queries and seconds a sample
    "direct": ((73.3, 7.6, 31.5, 1, 6.3), (75.8, 6.6, 31.5, 1, 6.7)),
    "rule_traverse": ((82.0, 18.1, 69.0, 27.1, 75.3), (81.6, 15.0, 75.0, 31.5, 80.1)),
    "guardagent": ((81.4, 14.3, 55.9, 13.6, 62.3), (84.8, 10.7, 70.0, 14.8, 58.7)),
    "shieldagent": ((90.4, 5.6, 87.5, 9.5, 31.1), (91.7, 4.0, 92.7, 11.2, 33.8)),
}
TABLE_2 = {"direct": (74.1, 90.3, 76.9), "guardagent": (84.0, 89.9, 78.4), "shieldagent": (91.1, 94.1, 86.9)}  # ACC
TABLE_7 = (265, 260, 230, 450, 160, 190)  # safe runs by environment, and as many unsafe ones


def recomputed() -> list[dict[str, str]]:
    """What the text claims, beside what its tables give."""
    ours, rules = (
        [fmean(pair) for pair in zip(*TABLE_1[one], strict=True)] for one in ("shieldagent", "rule_traverse")
    )
    best = [max(pair) for pair in zip(TABLE_2["direct"], TABLE_2["guardagent"], strict=True)]
    others = list(zip(TABLE_2["shieldagent"], best, strict=True))
    points, gains = fmean(new - old for new, old in others), fmean(_gain(new, old) for new, old in others)
    agents, pairs = _gain(TABLE_1["shieldagent"][0][0], TABLE_1["rule_traverse"][0][0]), sum(TABLE_7)
    rows = (
        ("accuracy, abstract", "11.3 %", f"{ours[0] - rules[0]:.2f} points, {_gain(ours[0], rules[0]):.1f} % relative"),
        ("accuracy, Section 5.2", "10.2 % on average", f"{agents:.1f} % relative, by the agent's attacks alone"),
        ("false positives, rule recall", "4.8 %, 90.1 %", f"{ours[1]:.1f} %, {ours[2]:.1f} %"),
        (
            "queries, seconds",
            "64.7 %, 58.2 % less",
            ", ".join(f"{-_gain(ours[i], rules[i]):.1f} % less" for i in (3, 4)),
        ),
        (
            "other sets, Section 5.2",
            "7.4 %",
            f"{points:.1f} points, {gains:.1f} % relative to the best baseline of each",
        ),
        ("size", "3K pairs, 2K pairs, 3110 unsafe", f"Table 7: {pairs} pairs, {2 * pairs} runs; 960 x 3 runs are 2880"),
    )
    return [dict(zip(("claim", "printed", "from its tables"), row, strict=True)) for row in rows]


def _gain(new: float, old: float) -> float:
    return 100 * (new - old) / old
