"""What the three papers printed of themselves, and what follows from it: means, gains and counts recomputed.

ShieldAgent's Tables 1, 2 and 4 to 7 (SPEC section 4, l and m), ToolGuard's Tables 2 and 3 and its pass^k (o and q),
VeriGuard's Tables 1 to 3 (y and z).  Not all that is printed follows.  Nothing here was measured by `wb`; what stands
beside our rows is marked as published.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

TABLE_1 = {  # attacks by the agent, then by the environment: ACC, FPR, ARR in percent, queries and seconds a sample
    "direct": ((73.3, 7.6, 31.5, 1, 6.3), (75.8, 6.6, 31.5, 1, 6.7)),
    "rule_traverse": ((82.0, 18.1, 69.0, 27.1, 75.3), (81.6, 15.0, 75.0, 31.5, 80.1)),
    "guardagent": ((81.4, 14.3, 55.9, 13.6, 62.3), (84.8, 10.7, 70.0, 14.8, 58.7)),
    "shieldagent": ((90.4, 5.6, 87.5, 9.5, 31.1), (91.7, 4.0, 92.7, 11.2, 33.8)),
}
RISKS = {  # Table 1: accuracy by the seven risk categories, as above
    "direct": ((68.2, 78.6, 76.3, 78.0, 69.2, 74.3, 68.8), (75.0, 81.6, 73.3, 74.9, 73.5, 70.3, 82.0)),
    "rule_traverse": ((83.4, 85.9, 74.0, 85.0, 87.9, 70.5, 87.0), (85.0, 86.2, 76.7, 83.2, 88.0, 69.3, 83.0)),
    "guardagent": ((77.0, 77.6, 80.3, 87.7, 85.3, 84.7, 76.9), (89.3, 88.2, 88.1, 86.3, 83.1, 77.7, 80.9)),
    "shieldagent": ((92.0, 89.2, 85.5, 93.3, 93.0, 88.7, 91.3), (95.1, 92.7, 86.7, 95.2, 91.0, 89.3, 92.0)),
}
OVERALL = {  # ShieldAgent's other tables: which row, its parts, and the overall of them as printed; ACC, then FPR
    "Table 4, direct": (((78.0, 72.3, 71.9), 74.1), ((5.0, 3.4, 4.3), 4.2)),
    "Table 4, rule_traverse": (((84.3, 85.0, 80.5), 83.3), ((10.7, 11.5, 7.0), 9.7)),
    "Table 4, guardagent": (((80.1, 88.9, 83.0), 84.0), ((4.5, 8.7, 6.5), 6.6)),
    "Table 4, shieldagent": (((91.4, 93.5, 88.3), 91.1), ((4.2, 4.0, 5.1), 4.4)),
    "Table 5, text, direct": (((87.8, 91.1, 90.1), 89.7), ((4.6, 3.9, 5.0), 4.5)),
    "Table 5, text, guardagent": (((90.5, 87.3, 91.8), 89.9), ((6.8, 2.6, 5.8), 5.1)),
    "Table 5, text, shieldagent": (((93.2, 93.4, 95.1), 93.9), ((3.4, 4.9, 3.2), 3.8)),
    "Table 5, image, direct": (((93.7, 91.2, 87.9), 90.9), ((3.5, 4.3, 3.6), 3.8)),
    "Table 5, image, guardagent": (((92.4, 87.2, 90.0), 89.9), ((3.9, 2.7, 4.1), 3.6)),
    "Table 5, image, shieldagent": (((91.0, 96.6, 94.9), 94.2), ((3.4, 2.7, 3.0), 3.0)),
    "Table 2 of 5, direct": (((89.7, 90.9), 90.3), ((4.5, 3.8), 4.2)),
    "Table 2 of 5, guardagent": (((89.9, 89.9), 89.9), ((5.1, 3.6), 4.4)),
    "Table 2 of 5, shieldagent": (((93.9, 94.2), 94.1), ((3.8, 3.0), 3.4)),
    "Table 6, direct": (
        ((75.7, 82.4, 76.5, 80.6, 82.2, 72.0, 82.0, 76.9, 71.0, 75.8, 71.1), 76.9),
        ((5.2, 3.6, 3.6, 3.8, 3.8, 3.9, 7.0, 4.1, 3.5, 4.4, 5.1), 4.4),
    ),
    "Table 6, guardagent": (
        ((82.6, 66.1, 75.1, 75.9, 82.1, 69.6, 76.6, 80.1, 77.7, 92.4, 83.9), 78.4),
        ((4.7, 4.0, 4.5, 3.4, 6.3, 4.3, 3.8, 3.2, 3.7, 3.3, 4.2), 4.1),
    ),
    "Table 6, shieldagent": (
        ((89.1, 92.9, 82.5, 92.4, 94.0, 89.0, 80.4, 81.9, 81.7, 83.9, 88.3), 86.9),
        ((4.6, 4.9, 3.9, 2.5, 4.0, 2.1, 5.5, 4.2, 3.8, 4.7, 3.2), 3.9),
    ),
}
TABLE_2 = {"direct": (74.1, 90.3, 76.9), "guardagent": (84.0, 89.9, 78.4), "shieldagent": (91.1, 94.1, 86.9)}  # ACC
TABLE_7 = (265, 260, 230, 450, 160, 190)  # safe runs by environment, and as many unsafe ones
# VeriGuard: by attack (DPI, IPI, MP, PoT) and their mean as printed; attack success, then task success, in percent
ATTACKS = ("DPI", "IPI", "MP", "PoT")
Rates = tuple[float, ...]
VERIGUARD_1: dict[str, dict[str, tuple[Rates | None, Rates]]] = {
    "Gemini-2.5-Flash": {
        "No attack": (None, (57.5, 57.5, 57.5, 74.3, 61.7)),
        "No defense": ((98.5, 40.5, 15, 53.5, 51.9), (0.5, 46.3, 57.3, 64.3, 42.1)),
        "GuardRail": ((0, 0, 0, 0, 0), (24.5, 35.3, 58.5, 66.3, 40.2)),
        "VeriGuard": ((0, 0, 0, 0, 0), (50.5, 55.8, 78.5, 77.7, 63.3)),
    },
    "Gemini-2.5-Pro": {
        "No attack": (None, (76, 76, 76, 78, 76.5)),
        "No defense": ((83, 62.3, 11, 52.2, 52.1), (3.5, 68, 79.8, 75.5, 56.7)),
        "GuardRail": ((0, 0, 0, 0, 0), (48.8, 18, 67.3, 72, 51.5)),
        "VeriGuard": ((0, 0, 0, 0, 0), (55.6, 65.5, 76.8, 71.3, 67.3)),
    },
    "GPT-4.1": {
        "No attack": (None, (64.5, 64.5, 64.5, 87, 70.1)),
        "No defense": ((92.5, 60, 2.8, 99.5, 63.7), (1, 45.3, 62.3, 87, 43.1)),
        "GuardRail": ((0, 0, 0, 0, 0), (20, 31.5, 63, 82, 44.6)),
        "VeriGuard": ((0, 0, 0, 0, 0), (28, 42.3, 63.5, 94.5, 57.1)),
    },
    "Claude-sonnet-4": {
        "No attack": (None, (100, 100, 100, 99, 99.8)),
        "No defense": ((31.3, 63.8, 24, 80.5, 49.9), (89, 97, 82, 87.8, 89)),
        "GuardRail": ((0, 0, 0, 0, 0), (68.5, 46, 75.5, 83.5, 68.3)),
        "VeriGuard": ((0, 0, 0, 0, 0), (86.8, 91.5, 81.8, 80.2, 85.1)),
    },
}
VERIGUARD_3: dict[str, tuple[Rates | None, Rates]] = {
    "terminate (TT)": ((0, 0, 0, 0, 0), (0, 0, 0, 0, 0)),
    "block (AB)": ((0, 0, 0, 0, 0), (0.5, 34, 55.5, 62.3, 38.1)),
    "halt (TEH)": ((0, 0, 0, 0, 0), (0.3, 48.8, 61.5, 68, 44.6)),
    "replan (CRP)": ((14.3, 33.3, 0, 0, 11.9), (51.5, 50, 69, 77.7, 62.1)),
    "halt and replan (CRP + TEH)": ((0, 0, 0, 0, 0), (50.5, 55.8, 78.5, 77.7, 63.3)),
}
MIND2WEB_SC = {  # VeriGuard, Table 2: accuracy, precision and recall in percent, of 100 cases to deny and 100 others
    "hard-coded rules": (77.5, 95.1, 58.0),
    "GuardAgent": (90.0, 100.0, 80.0),
    "AGrail": (98.4, 99.0, 98.0),
    "VeriGuard, GPT-4o": (95.1, 91.3, 99.0),
    "VeriGuard, GPT-4.1": (96.2, 91.2, 100.0),
    "VeriGuard, Gemini-2.5-pro": (97.2, 95.0, 99.0),
}
MAPPER = (0.88, 0.77, 0.80, 0.83)  # ToolGuard, Table 2, GPT-4o: precision, recall, F1, fuzzy Rand index
LONGER = {  # ToolGuard, Table 3: F1 and fuzzy Rand index, and by how many percent they are said to have changed
    "Orig + OOD": ((0.65, -18.3), (0.74, -10.8)),
    "OOD + Orig": ((0.71, -10.8), (0.78, -6.0)),
    "Orig + IID": ((0.67, -16.1), (0.74, -10.8)),
    "IID + Orig": ((0.73, -8.7), (0.79, -4.8)),
}
TASKS, TRIALS = 22, 10  # ToolGuard, Section 4: those of its live runs
PASSES = {"pass^1": (0.450, 0.685), "pass^10": (0.227, 0.273, 0.500)}
ROUNDED = 0.05 + 1e-9  # how far a printed mean of percents may be from the exact one


def recomputed() -> list[dict[str, str]]:
    """What the texts and tables claim, beside what the tables give."""
    names = ("paper", "claim", "printed", "from its tables")
    return [dict(zip(names, row, strict=True)) for row in (*_shieldagent(), *_toolguard(), *_veriguard())]


def means() -> list[tuple[str, str, float, float]]:
    """Of each row of VeriGuard's Tables 1 and 3 and each rate: which it is, the printed mean and the exact one."""
    tables = {**VERIGUARD_1, "Table 3": VERIGUARD_3}
    return [
        (f"{backbone}, {defence}", rate, row[-1], fmean(row[:-1]))
        for backbone, rows in tables.items()
        for defence, both in rows.items()
        for rate, row in zip(("ASR", "TSR"), both, strict=True)
        if row is not None
    ]


def overall() -> list[tuple[str, float, float]]:
    """Of each overall of ShieldAgent's Tables 1, 2, 4, 5 and 6: which it is, the printed one and the mean of its parts
    (Table 2's of VWA-Adv are those of Table 5)."""
    found = [
        (f"{where} {rate}", mean, fmean(parts))
        for where, both in OVERALL.items()
        for rate, (parts, mean) in zip(("ACC", "FPR"), both, strict=True)
    ]
    sources = ("by the agent", "by the environment")
    return found + [
        (f"Table 1, {method}, {source}", row[0], fmean(risks))
        for method, both in RISKS.items()
        for source, risks, row in zip(sources, both, TABLE_1[method], strict=True)
    ]


def counts(precision: float, recall: float, n: int = 100) -> tuple[int, int, float]:
    """The whole numbers nearest to what a precision and a recall in percent say of `n` cases to deny and as many
    others: those denied rightly and wrongly, and the accuracy in percent that follows."""
    right = round(recall * n / 100)
    wrong = round(right * (100 - precision) / precision)
    return right, wrong, 100 * (right + n - wrong) / (2 * n)


def asb() -> list[dict[str, object]]:
    """VeriGuard's Tables 1 and 3 as they were printed, a row a backbone or strategy and attack: rates 0..1."""
    tables = {**VERIGUARD_1, "Gemini-2.5-Flash, by strategy": VERIGUARD_3}
    return [
        {"model": backbone, "attack": attack, "defence": defence, "ASR": None if asr is None else asr[k] / 100}
        | {"TSR": tsr[k] / 100}
        for backbone, rows in tables.items()
        for defence, (asr, tsr) in rows.items()
        for k, attack in enumerate(ATTACKS)
    ]


def _veriguard() -> Iterator[tuple[str, str, str, str]]:
    every = means()
    wrong = [one for one in every if abs(one[2] - one[3]) > ROUNDED]
    yield "VeriGuard", "means of Tables 1 and 3", f"{len(every)}", f"{len(every) - len(wrong)} are those of their rows"
    for where, rate, printed, exact in wrong:
        yield "VeriGuard", f"mean {rate}, {where}", f"{printed:g}", f"{exact:.2f}"
    asr, tsr = (fmean(row[:-1]) for row in VERIGUARD_1["Gemini-2.5-Flash"]["No defense"] if row is not None)
    yield "VeriGuard", "TSR without defence, Section 5.1", "51.87", f"TSR {tsr:.2f}; {asr:.2f} is the ASR"
    mp, pot = (VERIGUARD_1["Gemini-2.5-Flash"]["No defense"][0] or ())[2:4]
    yield "VeriGuard", "ASR at first, Section 5.1", "53.5 on average", f"{asr:.1f}; {pot:g} is that of PoT alone"
    yield "VeriGuard", "ASR of MP before validation", "31.75, after it 15", f"{mp:g} without any defence"
    yield "VeriGuard", "backbones, Section 4.4", "three", f"{len(VERIGUARD_1)}"
    stages = "the second is testing (Section 3.2, Figure 2)"
    yield "VeriGuard", "stages, Section 5.1", "Validation, then Validation", stages
    for name, (printed, precision, recall) in MIND2WEB_SC.items():
        right, wrong, exact = counts(precision, recall)
        if abs(printed - exact) > ROUNDED:
            given = f"{exact:.1f} of {right} and {wrong} denied, rightly and wrongly (200 cases: steps of 0.5)"
            yield "VeriGuard", f"accuracy on Mind2Web-SC, {name}", f"{printed:.1f}", given
    yield "VeriGuard", "strategies", "ASR 0.1, TSR 63.6 (text)", "ASR 0, TSR 65.62 (Table 3), printed there as 63.3"


def _toolguard() -> Iterator[tuple[str, str, str, str]]:
    precision, recall, f1, index = MAPPER
    harmonic = 2 * precision * recall / (precision + recall)
    yield "ToolGuard", "F1 of the mapper", f"{f1:.2f}", f"{harmonic:.3f} of mean P and R: it is a mean over tools"
    for name, rows in LONGER.items():
        printed = ", ".join(f"{said:.1f} %" for _, said in rows)
        exact = ", ".join(f"{_gain(new, old):.1f} %" for (new, _), old in zip(rows, (f1, index), strict=True))
        yield "ToolGuard", f"Table 3, {name}", printed, exact
    for name, values in PASSES.items():
        n = TASKS * TRIALS if name == "pass^1" else TASKS
        near = (f"{round(v * n)} of {n} is {round(v * n) / n:.3f}" for v in values)
        yield "ToolGuard", name, ", ".join(f"{v:.3f}" for v in values), ", ".join(near)


def _shieldagent() -> Iterator[tuple[str, str, str, str]]:
    ours, rules = (list(map(fmean, zip(*TABLE_1[one], strict=True))) for one in ("shieldagent", "rule_traverse"))
    best = [max(pair) for pair in zip(TABLE_2["direct"], TABLE_2["guardagent"], strict=True)]
    others = list(zip(TABLE_2["shieldagent"], best, strict=True))
    points, gains = fmean(new - old for new, old in others), fmean(_gain(new, old) for new, old in others)
    strong = fmean(pair[0] for pair in TABLE_1["guardagent"])
    stated = f"guardagent: {strong:.1f} on average, rule traverse {rules[0]:.1f}"
    relative = f"{points:.1f} points, {gains:.1f} % relative to the best baseline of each"
    fewer = ", ".join(f"{-_gain(ours[i], rules[i]):.1f} % less" for i in (3, 4))
    every = overall()
    off = [one for one in every if abs(one[1] - one[2]) > ROUNDED]
    agents, pairs = _gain(TABLE_1["shieldagent"][0][0], TABLE_1["rule_traverse"][0][0]), sum(TABLE_7)
    rows = (
        ("accuracy, abstract", "11.3 %", f"{ours[0] - rules[0]:.2f} points, {_gain(ours[0], rules[0]):.1f} % relative"),
        ("accuracy, Section 5.2", "10.2 % on average", f"{agents:.1f} % relative, by the agent's attacks alone"),
        ("best baseline, Section 5.2", "rule traverse", stated),
        ("overalls of Tables 1, 2, 4, 5, 6", f"{len(every)}", f"{len(every) - len(off)} are the means of their parts"),
        *((f"overall, {where}", f"{printed:g}", f"{exact:.2f}") for where, printed, exact in off),
        ("false positives, rule recall", "4.8 %, 90.1 %", f"{ours[1]:.1f} %, {ours[2]:.1f} %"),
        ("queries, seconds", "64.7 %, 58.2 % less", fewer),
        ("other sets, Section 5.2", "7.4 %", relative),
        ("size", "3K pairs, 2K pairs, 3110 unsafe", f"Table 7: {pairs} pairs, {2 * pairs} runs; 960 x 3 runs are 2880"),
    )
    yield from (("ShieldAgent", *row) for row in rows)


def _gain(new: float, old: float) -> float:
    return 100 * (new - old) / old
