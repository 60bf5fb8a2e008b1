"""Faults planted in guards of our own policies are found before any prover is asked, and sound guards are let alone."""

from functools import cache

import pytest
from bench import planted_guards
from bench.planted_guards import NEEDS, Case, Outcome

CASES = planted_guards.cases()
ASKED = [case for case in CASES if not case.forged]

FORGED = [case for case in CASES if case.forged and case.forged != "proof"]  # that one asks the prover


@cache
def outcomes() -> dict[Case, Outcome]:
    """What stage 05 finds in each, all together."""
    return {case: found for case, (_, found) in zip(ASKED, planted_guards.tested(ASKED), strict=True)}


def test_there_are_forty_of_each_over_three_domains() -> None:
    kinds = [case.kind for case in CASES]
    assert kinds.count("sound") == len(kinds) - kinds.count("sound") == 40
    assert len({case.of.partition("/")[0] for case in CASES if case.kind != "sound"}) >= 3
    assert len({case.source for case in CASES if case.kind == "sound"}) == 40


@pytest.mark.parametrize("case", ASKED, ids=lambda case: f"{case.kind}: {case.name}")
def test_a_fault_is_found_and_a_sound_guard_is_not_blamed(case: Case) -> None:
    found = outcomes()[case]
    if case.kind == "sound":
        assert not found.how, found.said
        return
    assert found.how == NEEDS.get(case.kind, found.how) and found.said, "named"
    if case.kind in ("boundary", "missing rule", "wrong role", "back door"):
        assert found.how == "test" and found.arguments, "with a test that fails on it and passes on the mended guard"


@pytest.mark.parametrize(
    "case", [one for one in CASES if one.forged and one.forged != "proof"], ids=lambda one: one.name
)
def test_forged_evidence_is_refused_with_what_is_wrong_with_it(case: Case, tmp_path) -> None:
    found = planted_guards.forged(case, tmp_path, None)
    assert found.how == "refusal" and found.said


def test_a_contract_that_was_not_turned_round_raises_no_question() -> None:
    right = [
        case._replace(contract=planted_guards.required("web_tasks")[1][case.contract.tool])
        for case in CASES
        if case.kind == "reversed contract"
    ]
    assert len(right) == 4 and not [found for _, found in planted_guards.tested(right) if found.how]
