"""What faults are planted in a guard, which are taken first, and what a prover's answer makes of each."""

import pytest
from test_decided import OWN, of

from wb.guards import faults
from wb.guards.nagini import Proof

MADE = of("c1", *OWN)
GUARD = f"""{MADE.signature}
    if not clerk:
        return (False, 'clerk')
    if years < 7:
        return (False, 'years')
    return (True, '')
"""
CHANGES = {
    "not clerk -> not not clerk": ("negation", 2),
    "not clerk -> nothing": ("dropped rule", 2),
    "years < 7 -> not years < 7": ("negation", 4),
    "years < 7 -> nothing": ("dropped rule", 4),
    "years < 7 -> years <= 7": ("comparison", 4),
    "years < 7 -> years < 8": ("constant", 4),
    "years < 7 -> years < 6": ("constant", 4),
    "clerk -> night": ("swapped field", 2),  # the only other one of its type
}
SEVEN = (("clerk", True), ("kind", "report"), ("years", 7), ("night", False))
SAME = GUARD.replace("years < 7", "years < 7 and (clerk or night or not night)")


class Answers:
    """A prover that answers what it is given beforehand, and keeps what it was asked."""

    def __init__(self, *statuses: str) -> None:
        self.statuses, self.asked = statuses, []

    def verify(self, sources: list[str]) -> list[Proof]:
        self.asked += sources
        return [Proof(status) for status in self.statuses]


def test_the_faults_of_a_guard() -> None:
    made = faults.mutants(GUARD)
    assert {one.change: (one.operator, one.line) for one in made} == CHANGES and len(made) == len(CHANGES)
    assert all(one.source != GUARD for one in made)
    long = GUARD.replace("years < 7", f"kind == '{'x' * 100}'")
    assert all(len(one.change) <= 190 for one in faults.mutants(long))
    assert any(one.change.startswith("kind ==… -> ") for one in faults.mutants(long)), "a text is not cut within"
    exact = GUARD.replace("years < 7", f"kind == '{'x' * 80}'")
    assert any(one.change.startswith(f"kind == '{'x' * 80}' -> ") for one in faults.mutants(exact))


def test_operators_and_guards_take_turns() -> None:
    made = [faults.mutants(GUARD), faults.mutants(GUARD), ()]
    chosen = faults.choose(made, 100)
    assert len(chosen) == 2 * len(CHANGES) and len(faults.choose(made, 3)) == 3 and faults.choose(made, 0) == ()
    assert [i for i, _ in chosen][:10] == [0] * 5 + [1] * 5
    assert [m.operator for _, m in chosen][:5] == [m.operator for _, m in chosen][5:10] == list(faults.OPERATORS)
    assert faults.choose([], 3) == faults.choose([()], 3) == ()


@pytest.mark.parametrize(
    ("status", "fate"),
    [
        ("proved", "survived"),
        ("unproved", "refuted"),
        ("rejected", "refuted"),
        ("timeout", "unsettled"),
        ("crash", "unsettled"),
    ],
)
def test_the_fate_of_a_fault_that_decides_otherwise(status: str, fate: str) -> None:
    prover = Answers(status)
    (one,) = faults.judged([(MADE, GUARD)], prover, most=1)
    assert (one.fate, one.witness, one.tool) == (fate, SEVEN, "delete_record")
    assert one.mutant.change == "years < 7 -> years <= 7" and "years <= 7" in prover.asked[0]
    assert "Ensures(" in prover.asked[0]


@pytest.mark.parametrize(
    ("status", "fate"),
    [("proved", "equivalent"), ("unproved", "unsettled"), ("rejected", "equivalent"), ("timeout", "unsettled")],
)
def test_the_fate_of_a_fault_that_changes_nothing(status: str, fate: str) -> None:
    same = next(m for m in faults.mutants(SAME) if m.change == "clerk -> night" and "if not clerk" in m.source)
    (one,) = (faults._fate(MADE, SAME, same, status),)
    assert (one.fate, one.witness) == (fate, ())


def test_most_faults_of_all_guards_are_asked_about_together() -> None:
    prover = Answers(*["unproved"] * 16)
    found = faults.judged([(MADE, GUARD), (MADE, GUARD)], prover)
    assert len(found) == 16 == len(prover.asked) and {one.fate for one in found} == {"refuted"}
    with pytest.raises(ValueError, match="zip"):
        faults.judged([(MADE, GUARD)], Answers("proved"), most=2)


def test_the_fates_are_counted_by_operator() -> None:
    found = faults.judged([(MADE, GUARD)], Answers(*["proved", "unproved"] * 4))
    assert faults.table(found) == (
        ("operator", "refuted", "equivalent", "survived", "unsettled"),
        ("comparison", "0", "0", "1", "0"),
        ("constant", "2", "0", "0", "0"),
        ("dropped rule", "0", "0", "2", "0"),
        ("negation", "2", "0", "0", "0"),
        ("swapped field", "0", "0", "1", "0"),
        ("all", "4", "0", "4", "0"),
    )


def test_one_fault_is_shown_that_decides_otherwise_a_moved_limit_first() -> None:
    shown = faults.planted([(MADE, GUARD)])
    assert shown is not None and shown.mutant.change == "years < 7 -> years < 8" and shown.source == GUARD
    without = GUARD.replace("years < 7", "kind == 'report'")
    assert faults.planted([(MADE, without)]).mutant.operator == "comparison"
    assert faults.planted([(MADE, without), (MADE, GUARD)]).mutant.operator == "constant"
    flag = GUARD.replace("years < 7", "night")
    assert faults.planted([(MADE, flag)]).mutant.operator == "negation" and faults.planted([]) is None
    assert faults.planted([(MADE, f"{MADE.signature}\n    return (True, '')\n")]) is None


def test_a_source_is_refused_with_its_reason_or_accepted() -> None:
    stated = "def policy(x: bool) -> Tuple[bool, str]:\n    Ensures({})\n    return (True, '')\n"
    assert faults.verdict(stated.format("Result()[0]")) == "accepted"
    assert faults.verdict(stated.format("True")).startswith("refused: an Ensures that some answer breaks")
    assert faults.verdict("def policy(:").startswith("refused: line 1: Python was required")
    assert "a contract over plain values" in faults.verdict(stated.format("y and Result()[0]"))
