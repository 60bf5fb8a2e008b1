"""Facts compared on all values worth trying: two ways to say one thing are the same, and no others are."""

# ruff: noqa: E501 - the table of pairs is data

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.logic import cel, worlds
from wb.logic.evaluation import compiled

STATE = {
    "age": {"type": "integer"},
    "paid": {"type": "boolean"},
    "role": {"type": "string", "enum": ["guest", "owner"]},
    "booked_at": {"type": "string"},
    "now": {"type": "string"},
    "day": {"type": "string"},
    "staff": {"type": "array"},
    "user": {
        "type": "object",
        "properties": {
            "level": {"type": "string", "enum": ["plain", "gold"]},
            "cards": {"type": "array", "items": {"type": "object", "properties": {"kind": {"type": "string"}}}},
        },
    },
    "seats": {
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"free": {"type": "boolean"}}},
    },
}
WHOLE = [cel.parse("state.n")]
CALL = {"guests": {"type": "integer"}, "row": {"type": "string"}, "seat": {"type": "string"}}


def compare(one: str, other: str) -> worlds.Compared:
    return worlds.compare(cel.parse(one), cel.parse(other), STATE, CALL)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("state.age >= 18", "!(state.age < 18)", True),
        ("state.age >= 18", "state.age > 17", True),
        ("state.age >= 18", "state.age > 18", False),
        # the names of macros' variables say nothing, and lists of which nothing is declared are tried as well
        ("state.user.cards.exists(c, c.kind == 'a')", "state.user.cards.exists(x, x.kind == 'a')", True),
        (
            "state.staff.exists(s, s.id == call.row && s.team == 'a')",
            "state.staff.exists(p, p.team == 'a' && p.id == call.row)",
            True,
        ),
        (
            "state.staff.exists(s, s.id == call.row && s.team == 'a')",
            "state.staff.exists(s, s.id == call.row && s.team == 'b')",
            False,
        ),
        (
            "state.staff.exists(s, s.team == 'a' && state.staff.all(t, t.id != s.id))",
            "state.staff.exists(s, state.staff.all(s, s.id == 'a'))",
            False,
        ),
        # dates without a time of day
        (
            "now - timestamp(state.day + 'T00:00:00Z') < duration('48h')",
            "timestamp(state.day + 'T00:00:00Z') > now - duration('48h')",
            True,
        ),
        (
            "now - timestamp(state.day + 'T00:00:00Z') < duration('48h')",
            "now - timestamp(state.day + 'T00:00:00Z') <= duration('48h')",
            False,
        ),
        ("state.age >= 18", "state.age <= 18", False),
        ("state.age >= 18", "state.age >= 21", False),
        ('state.role == "owner"', 'state.role != "guest"', True),
        ('state.role == "owner"', 'state.role == "guest"', False),
        ("state.paid", "!state.paid", False),
        ("state.paid && state.age >= 18", "state.age > 17 && state.paid == true", True),
        ("state.paid && state.age >= 18", "state.paid || state.age >= 18", False),
        ("size(state.user.cards) <= 5", "size(state.user.cards) < 6", True),
        ("size(state.user.cards) <= 5", "size(state.user.cards) <= 6", False),
        ('state.user.cards.all(c, c.kind == "x")', '!state.user.cards.exists(c, c.kind != "x")', True),
        ('state.user.cards.all(c, c.kind == "x")', 'state.user.cards.exists(c, c.kind == "x")', False),
        ('state.user.level == "gold"', 'state.user.level in ["gold"]', True),
        ("call.guests <= 8", "call.guests < 8", False),
        (
            'state.seats[call.row + "-" + call.seat].free',
            '!(state.seats[call.row + "-" + call.seat].free == false)',
            True,
        ),
        ('state.seats[call.row + "-" + call.seat].free', '!state.seats[call.row + "-" + call.seat].free', False),
        (
            'timestamp(state.now) - timestamp(state.booked_at) <= duration("24h")',
            'timestamp(state.now) <= timestamp(state.booked_at) + duration("24h")',
            True,
        ),
        (
            'timestamp(state.now) - timestamp(state.booked_at) <= duration("24h")',
            'timestamp(state.now) - timestamp(state.booked_at) < duration("24h")',
            False,
        ),
        ("state.age > 3 && state.age < 3", "state.age > 4 && state.age < 4", False),  # never both known and true
    ],
)
def test_facts_are_the_same_where_no_value_tells_them_apart(one: str, other: str, same: bool) -> None:
    found = compare(one, other)
    assert found.same is same
    if found.apart is not None:
        truths = {compiled(cel.parse(test))(found.apart["state"], found.apart["call"]) for test in (one, other)}
        assert truths == {True, False}, "the world that is shown tells them apart"


def test_a_null_that_is_declared_tells_facts_apart_and_makes_some_known() -> None:
    state = {"due": {"type": ["string", "null"]}, "held": {"anyOf": [{"type": "string"}, {"type": "null"}]}}
    for name in state:
        null, none = (cel.parse(f"state.{name} {op} null") for op in ("==", "!="))
        assert worlds.compare(null, cel.parse(f"!(state.{name} != null)"), state, {}).same
        assert worlds.compare(null, none, state, {}).apart["state"][name] in (None, "", worlds.OTHER)
        assert not worlds.compare(null, cel.parse(f'state.{name} == ""'), state, {}).same
    assert not worlds.compare(null, cel.parse("state.held == null || false"), {"held": {"type": "string"}}, {}).same


def test_of_two_that_agree_the_one_that_is_unknown_more_often_is_kept() -> None:
    guarded = cel.parse('("a" in state.seats) && state.seats["a"].free')
    plain = cel.parse('state.seats["a"].free')
    found = worlds.compare(guarded, plain, STATE, CALL)
    assert found.same and found.careful == plain, "an unknown seat is no taken one"


def test_what_was_not_tried_whole_says_so() -> None:
    assert compare("state.age >= 18", "state.age > 17").whole
    assert not compare(
        "timestamp(state.now) > timestamp(state.booked_at)", "timestamp(state.booked_at) < timestamp(state.now)"
    ).whole


OPS = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])


@given(OPS, st.integers(-3, 3), OPS, st.integers(-3, 3), st.sampled_from(["&&", "||"]))
def test_comparisons_of_whole_numbers_are_compared_as_enumeration_does(
    op: str, limit: int, other: str, bound: int, join: str
) -> None:
    one, two = f"state.age {op} {limit}", f"state.age {other} {bound} {join} state.age {op} {limit}"
    truths = [(eval(_python(one, n)), eval(_python(two, n))) for n in range(-6, 7)]  # noqa: S307 - our own text
    wanted = all(a == b for a, b in truths) and {a for a, _ in truths} == {True, False}
    assert compare(one, two).same is wanted


def _python(text: str, value: int) -> str:
    return text.replace("state.age", str(value)).replace("&&", "and").replace("||", "or")


COMPARED = st.builds(
    lambda mirrored, op, limit, negated: ("!" * negated) + (f"({limit} {op} state.n)" if mirrored else f"(state.n {op} {limit})"),
    st.booleans(), st.sampled_from([">", ">=", "<", "<=", "==", "!="]), st.integers(-2, 2), st.booleans(),
)  # fmt: skip
JOINED = st.lists(COMPARED, min_size=1, max_size=2).flatmap(
    lambda parts: st.sampled_from([" && ".join(parts), " || ".join(parts)])
)


@given(JOINED, JOINED)
def test_what_is_normal_alike_is_so_on_whole_numbers_and_a_single_comparison_the_other_way_round(one, other):
    facts = cel.parse(one), cel.parse(other)
    alike = worlds.normal(facts[0], WHOLE) == worlds.normal(facts[1], WHOLE)
    said = [[compiled(fact)({"n": n}, {}) for n in range(-5, 6)] for fact in facts]
    assert said[0] == said[1] or not alike
    if not {"&&", "||"} & {*one.split(), *other.split()}:
        assert alike == (said[0] == said[1])


def test_the_largest_whole_number_has_no_next_one_and_a_number_may_lie_between_two():
    largest = 2**63 - 1
    assert worlds.normal(cel.parse(f"state.n > {largest}"), WHOLE) == cel.parse(f"state.n > {largest}")
    more, least = cel.parse("state.n > 0"), cel.parse("state.n >= 1")
    assert worlds.normal(more) != worlds.normal(least) and worlds.normal(more, WHOLE) == worlds.normal(least, WHOLE)
    assert worlds.normal(cel.parse("state.n > 0.0"), WHOLE) == cel.parse("state.n > 0.0")
