"""Budgets that hold under concurrency, and a ledger that adds up."""

import multiprocessing
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.models.ledger import Account, Amount, Budget, BudgetSpent, Ledger, Price, Usage

AMOUNTS = st.builds(Amount, st.integers(1, 3), st.integers(0, 50), st.integers(0, 9).map(float))


@given(
    st.lists(st.tuples(AMOUNTS, st.floats(0, 1)), max_size=30),
    st.integers(0, 20),
    st.integers(0, 300),
    st.integers(0, 40),
)
def test_spending_never_exceeds_a_limit(requests: list, calls: int, tokens: int, money: int) -> None:
    account = Account(Budget(calls, tokens, float(money)))
    for worst, share in requests:
        try:
            account.reserve(worst)
        except BudgetSpent:
            continue
        account.settle(worst, Amount(worst.calls, int(worst.tokens * share), worst.money * share))
        assert account.spent.calls <= calls and account.spent.tokens <= tokens and account.spent.money <= money


@pytest.mark.parametrize("budget", [Budget(calls=3), Budget(tokens=30), Budget(money=3.0)])
def test_exactly_what_fits_is_allowed(budget: Budget) -> None:
    account, worst = Account(budget), Amount(1, 10, 1.0)
    for _ in range(3):
        account.reserve(worst)
        account.settle(worst, worst)
    with pytest.raises(
        BudgetSpent, match=r"may need \d+ (calls|tokens|money), \d+ of \d+ are spent; every finished reply is kept"
    ):
        account.reserve(worst)


def test_a_request_waits_for_those_under_way_and_runs_if_they_leave_enough() -> None:
    account, worst, done = Account(Budget(tokens=15)), Amount(1, 10), []
    account.reserve(worst)
    waiting = threading.Thread(target=lambda: (account.reserve(worst), done.append("second")))
    waiting.start()
    time.sleep(0.05)
    assert not done, "10 + 10 may exceed 15 as long as the first is under way"
    account.settle(worst, Amount(1, 4))
    waiting.join(2)
    assert done == ["second"]


def test_a_request_that_cannot_fit_is_refused_at_once_even_with_others_under_way() -> None:
    account = Account(Budget(tokens=15))
    account.reserve(Amount(1, 10))
    with pytest.raises(BudgetSpent):
        account.reserve(Amount(1, 16))


def test_many_threads_stay_within_the_budget() -> None:
    account, worst, refused = Account(Budget(calls=25, tokens=200)), Amount(1, 10), []

    def spend() -> None:
        for _ in range(10):
            try:
                account.reserve(worst)
            except BudgetSpent:
                refused.append(1)
                continue
            account.settle(worst, Amount(1, 7))

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert account.spent == Amount(25, 175) and len(refused) == 80 - 25


def spend(path, times: int) -> None:
    account = Account(Budget(calls=30), path)
    for _ in range(times):
        try:
            account.reserve(Amount(1))
        except BudgetSpent:
            return
        account.settle(Amount(1), Amount(1))


def test_processes_that_share_a_file_share_the_budget(tmp_path) -> None:
    path = tmp_path / "new" / "spending.jsonl"
    workers = [multiprocessing.get_context("spawn").Process(target=spend, args=(path, 25)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with pytest.raises(BudgetSpent, match="30 of 30 are spent"):
        Account(Budget(calls=30), path).reserve(Amount(1))
    Account(Budget(calls=31), path).reserve(Amount(1))


def test_what_one_process_gives_back_another_can_spend(tmp_path) -> None:
    first, second = (Account(Budget(tokens=10), tmp_path / "s") for _ in range(2))
    first.reserve(Amount(1, 10))
    first.settle(Amount(1, 10), Amount(1, 4))
    second.reserve(Amount(1, 6))
    with pytest.raises(BudgetSpent, match="10 of 10 are spent"):
        first.reserve(Amount(1, 1))


def test_fractions_of_money_leave_no_remainder_set_aside() -> None:
    account = Account(Budget(money=0.25))
    amounts = [Amount(1, 0, money) for money in (0.01, 0.02, 0.03)]
    for worst in amounts:
        account.reserve(worst)
    for worst in amounts:
        account.settle(worst, Amount(1))
    account.reserve(Amount(1, 0, 0.25))


def test_what_a_killed_process_had_set_aside_stays_set_aside(tmp_path) -> None:
    Account(Budget(tokens=10), tmp_path / "s").reserve(Amount(1, 8))
    with pytest.raises(BudgetSpent, match="may need 3 tokens, 8 of 10 are spent"):
        Account(Budget(tokens=10), tmp_path / "s").reserve(Amount(1, 3))


@pytest.mark.parametrize("limits", [{"calls": -1}, {"tokens": -5}, {"money": -0.1}])
def test_a_negative_budget_is_refused(limits: dict) -> None:
    with pytest.raises(ValueError, match="must be 0 or more; got -"):
        Budget(**limits)


def test_a_price_is_money_per_million_tokens() -> None:
    assert Price(0.5, 2.0).of(2_000_000, 500_000) == pytest.approx(2.0)


def test_queries_count_questions_not_attempts_and_recordings_too() -> None:
    assert Usage(calls=5, retries=2, replayed=4).queries == 7


def test_a_ledger_adds_up_by_prompt_and_reads_the_same_in_any_order() -> None:
    rows = [
        ("b", Usage(1, 10, 2, 0.5, 1.0), "e1", "r2"),
        ("a", Usage(2, 5, 1, 0.25, 0.5, retries=1), "e1", None),
        ("b", Usage(replayed=1), "e1", "r1"),
    ]
    forwards, backwards = Ledger("s"), Ledger("s")
    for ledger, order in ((forwards, rows), (backwards, rows[::-1])):
        for prompt, usage, engine, reply in order:
            ledger.add(
                prompt, usage, prompt_digest=prompt * 3, engine=engine, reply=reply, events=(f"retry {usage.retries}",)
            )
    assert forwards.to_json() == backwards.to_json()
    assert forwards.total == Usage(3, 15, 3, 0.75, 1.5, 1, 1)
    written = forwards.to_json()
    assert (
        written["prompts"]["b"]["digest"] == "bbb"
        and written["replies"] == ["r1", "r2"]
        and written["total"]["queries"] == 3
    )
    assert list(written["prompts"]) == ["a", "b"]
