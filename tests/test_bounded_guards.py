"""The grade *bounded*: every value that code and contract tell apart was tried, or nothing is claimed."""

import json
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_veriguard import BOOK, RIGHT, RULES, TOOLS, WRONG, Prover

from wb.bench import summary
from wb.guards import bounded, evidence, runtime, sandbox, synthesis, veriguard
from wb.guards.bounded import Bound
from wb.guards.nagini import Objection, Proof
from wb.guards.synthesis import Attempt, Draft

TIMEOUT, UNPROVED = Prover(Proof("timeout")), Prover(Proof("unproved", (Objection("x", "no reason", 3),)))
HEAD = RIGHT.partition("\n")[0]


def graded(source: str, prover: Prover = TIMEOUT, **changes: object) -> runtime.Guarded:
    """The guard as the sixth notebook grades it."""
    draft = replace(Draft(BOOK, (Attempt(source),)), **changes)
    checks = (*synthesis.TESTED, veriguard.proof(prover))
    return synthesis.guarded(synthesis.checked([draft], checks)[0])


@pytest.mark.parametrize("prover", [TIMEOUT, UNPROVED], ids=["timeout", "unproved"])
def test_a_right_guard_that_was_not_proved_is_bounded_and_says_by_what(prover: Prover) -> None:
    entry = graded(RIGHT, prover)
    assert entry.grade == "bounded"
    assert "all 18 combinations" in entry.reason and "bounded, not proved" in entry.reason
    assert "age (state.age): 17, 18, 19" in entry.reason and "'gold', '~'" in entry.reason
    assert "(size of book.guests): 4, 5, 6" in entry.reason and "filled in at run time" in entry.reason
    assert runtime.claimed(entry, 0) == "bounded" and runtime.claimed(entry, 1).startswith("bounded for 2 rules")


@pytest.mark.parametrize("source", WRONG.values(), ids=WRONG)
def test_a_wrong_guard_is_never_bounded(source: str) -> None:
    assert graded(source).grade == "error"
    said = bounded.tried(BOOK, source)
    assert "was required at" in said or "never reached" in said


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (RIGHT.replace("age < 18", "age + 0 < 18"), "age"),
        (RIGHT.replace("count_guests > 5", "count_guests + 1 > 6"), "count_guests"),
        (RIGHT.replace("age < 18", "age < 18 or (age > count_guests and age == 7)"), "age, count_guests"),
        (RIGHT.replace("level != 'gold'", "(level < 'gold' or level > 'gold')"), "level"),
        (RIGHT.replace("level != 'gold'", "level != 'gold' and len(level) >= 0"), "language of guards"),
    ],
)
def test_what_is_told_apart_by_more_than_comparisons_with_constants_is_not_bounded(body: str, why: str) -> None:
    said = bounded.tried(BOOK, body)
    assert isinstance(said, str) and why in said
    assert graded(body).grade != "bounded"


def test_more_combinations_than_the_bound_are_not_claimed() -> None:
    many = "".join(f"    if age == {n} and level == 't{n}':\n        return (False, 'no')\n" for n in range(0, 120, 3))
    said = bounded.tried(BOOK, RIGHT.replace(HEAD, f"{HEAD}\n{many.rstrip()}"))
    assert isinstance(said, str) and f"at most {bounded.MOST} combinations" in said


def test_nothing_is_bounded_that_is_disputed_found_against_unreached_or_broken() -> None:
    assert graded(RIGHT, findings=("the readings part",)).grade == "tested"
    assert graded(RIGHT, attempts=(Attempt(RIGHT, dissent=("it is wrong",)),)).grade == "tested"
    (draft,) = synthesis.checked([Draft(BOOK, (Attempt(RIGHT),))], synthesis.TESTED)
    empty = synthesis.Complaint(synthesis.PROOF, synthesis.UNREACHED)
    for complaints, grade in (
        ((empty,), "tested"),
        ((), "tested"),
        ((synthesis.Complaint("branches", "x"),), "tested"),
    ):
        newest = replace(draft.attempts[-1], complaints=complaints)
        assert synthesis.guarded(replace(draft, attempts=(newest,))).grade == grade


def test_a_contract_that_demands_nothing_is_not_bounded() -> None:
    empty = replace(BOOK, items=tuple(replace(one, condition="age == age or True") for one in BOOK.items))
    assert isinstance(bounded.tried(empty, f"{HEAD}\n    return (True, 'yes')\n"), str)
    hollow = replace(BOOK, items=tuple(replace(one, condition="age < 3 or age > 1") for one in BOOK.items))
    assert "some call breaks" in bounded.tried(hollow, f"{HEAD}\n    return (True, 'yes')\n")
    none = replace(BOOK, items=())
    assert "the contract has none" in bounded.tried(none, f"{HEAD}\n    return (True, 'yes')\n")


def test_it_runs_where_tested_code_may_and_never_where_proof_is_required() -> None:
    entry = graded(RIGHT)
    strict, mild = (runtime.accepting(name, RULES, [entry], TOOLS) for name in ("veriguard", "toolguard"))
    assert "book" in strict.unguarded and "book" not in mild.unguarded
    assert "bounded, proved was required" in strict.loaded["book"].reason
    told = summary.summary("it", "offline", TOOLS, (), RULES, RULES, [entry])
    assert [(one.fate, one.grade) for one in told.tools] == [("blocked", "bounded")]


def test_a_grade_that_somebody_wrote_is_tried_again_and_worth_tested() -> None:
    rows = json.loads(json.dumps(evidence.to_rows([graded(RIGHT)], RULES, {})))
    assert evidence.from_rows(rows, [BOOK], RULES, {})[0].grade == "bounded"
    lesser = evidence.to_rows([replace(graded(RIGHT), grade="tested", reason="not proved")], RULES, {})
    for change in ({"grade": "bounded"}, {"grade": "bounded", "reason": graded(RIGHT).reason}):
        (entry,) = evidence.from_rows([{**lesser[0], **change}], [BOOK], RULES, {})
        assert entry.grade == "tested" and "seal" in entry.reason
    (entry,) = evidence.from_rows([{**rows[0], "grade": "proved"}], [BOOK], RULES, {})
    assert entry.grade == "tested"


def test_verify_tries_again() -> None:
    entry = graded(RIGHT)
    assert veriguard.again([entry], TIMEOUT)[0].grade == "bounded"
    assert veriguard.again([entry], Prover(Proof("proved")))[0].grade == "proved"
    summed = RIGHT.replace("age < 18", "age + 0 < 18")
    forged = replace(entry, source=veriguard.contracts.assemble(summed, BOOK))
    assert veriguard.again([forged], TIMEOUT)[0].grade == "tested"


LIMITS = st.integers(-3, 9)
TESTS = st.one_of(
    st.builds("age {} {}".format, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), LIMITS),
    st.builds("count_guests {} {}".format, st.sampled_from(["<", ">=", "=="]), LIMITS),
    st.builds("level {} '{}'".format, st.sampled_from(["==", "!="]), st.sampled_from(["gold", "tin"])),
    st.builds("age in ({}, {})".format, LIMITS, LIMITS),
    st.sampled_from(["age + count_guests > 4", "level < 'm'"]),
)
RANDOM = st.lists(TESTS, min_size=1, max_size=3).map(" and ".join)


@settings(deadline=None, max_examples=150)
@given(RANDOM, RANDOM)
def test_what_is_bounded_agrees_with_its_contract_on_values_that_nobody_chose(code: str, rule: str) -> None:
    required = replace(BOOK, items=(replace(BOOK.items[0], condition=rule),))
    guard = f"{HEAD}\n    if {code}:\n        return (True, 'yes')\n    return (False, 'no')\n"
    run, wanted = sandbox.load(guard), runtime.condition(required, rule)
    values = range(-6, 13), ("gold", "tin", "", "m", "zz"), range(13)
    rows = [dict(zip(("age", "level", "count_guests"), one, strict=True)) for one in product(*values)]
    same = all(run.run(**one)[0] == wanted.run(**one)[0] for one in rows)
    assert same or not isinstance(bounded.tried(required, guard), Bound)
