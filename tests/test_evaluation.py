"""What facts of any shape mean: tables by hand, unknowns, bounds, values that are hostile, and their words."""

import time

import pytest
from test_facts import HOSTILE

from wb.logic import facts as F
from wb.logic import times
from wb.logic.cel import parse, render
from wb.logic.evaluation import compiled, holds, typed
from wb.logic.facts import FactError
from wb.logic.wording import words

STATE = {
    "n": 7,
    "big": 2**63 - 1,
    "d": 2.5,
    "s": "Ab",
    "t": True,
    "xs": [1, 2, 3],
    "none": None,
    "r": {"a": 1, "nothing": None, "in": {"x": [10, 20]}},
    "rows": [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "c"}],
    "at": "2024-05-15T15:00:00-05:00",
    "plain": "2024-05-15T15:00:00",
    "now": "2024-05-16T14:00:00-05:00",
    "text": "é😀",
}
CALL = {"x": 2, "r": {"a": 1}, "empty": [], "nil": None}

TABLE = [
    # arithmetic: towards zero, within 64 bits, of one type
    ("state.n / -2 == -3", True),
    ("state.n % -4 == 3 && -state.n % 4 == -3", True),
    ("state.n / 0 == 1", None),
    ("state.n % 0 == 1", None),
    ("state.big + 1 > 0", None),
    ("state.big - 1 < state.big", True),
    ("-9223372036854775808 / -1 > 0", None),
    ("state.n + 1.0 > 1.0", None),
    ("double(state.n) + 1.0 == 8.0", True),
    ("state.d * 2.0 == 5.0", True),
    ("state.d / 0.0 > 1.0", None),
    ("1e308 * 10.0 > 1.0", None),
    ("state.s + 'c' == 'Abc'", True),
    ("state.xs + [4] == [1, 2, 3, 4]", True),
    ("state.s + state.n == 'Ab7'", None),
    # lists, records, null
    ("state.xs[0] == 1 && state.xs[2] == 3", True),
    ("state.xs[3] == 1", None),
    ("state.xs[-1] == 1", None),
    ("state.r['in'].x[1] == 20", True),
    ("state.rows[0].k == 'a'", True),
    ("state.rows[2].v == 1", None),
    ("state.xs == [1, 2]", False),
    ("state.xs == [1, 2, state.gone]", None),
    ("state.xs == [2, state.gone, 3]", False),
    ("state.r == call.r", False),
    ("state.xs != [1.0, 2.0, 3.0]", False),
    ("state.xs == 'abc'", None),
    ("call.nil == null", True),
    ("call.x == null", False),
    ("call.gone == null", None),
    ("state.none == null", None),
    ("state.r.nothing == null && state.r.a != null", True),
    ("state.r.nothing == 1", None),
    ("null == null", True),
    ("size(state.r) == 3 && size(state.xs) == 3", None),
    ("size(state.text) == 2", None),
    ("size(string(state.text)) == 2", True),
    ("size('é😀' + state.s) == 4", True),
    # what is there
    ("has(state.n)", True),
    ("has(state.gone)", None),
    ("has(state.none)", None),
    ("has(call.x)", True),
    ("has(call.gone)", False),
    ("has(call.nil)", True),
    ("has(state.r.a) && !has(state.r.b)", True),
    ("has(state.gone.b)", None),
    ("has(state.n.b)", None),
    ("state.rows.all(r, has(r.v))", False),
    # choices
    ("(state.t ? 1 : 2) == 1", True),
    ("(state.gone ? 1 : 2) == 1", None),
    ("(state.gone ? 1 : 1) == 1", True),
    ("(state.gone ? 1 : 1.0) == 1", None),
    ("state.t ? false : state.gone", False),
    ("(state.t ? state.gone : 2) == 2", None),
    # macros: a part that decides, decides
    ("state.rows.all(r, r.v > 0)", None),
    ("state.rows.all(r, r.v > 1)", False),
    ("state.rows.exists(r, r.v == 2)", True),
    ("state.rows.exists(r, r.v == 5)", None),
    ("state.rows.exists_one(r, r.v == 1)", None),
    ("state.rows.exists_one(r, r.v >= 1)", False),
    ("state.rows.exists_one(r, r.k == 'b')", True),
    ("size(state.rows.filter(r, r.k != 'c')) == 2", True),
    ("size(state.rows.filter(r, r.v == 1)) == 1", None),
    ("size(state.rows.map(r, r.v)) == 3", True),
    ("state.rows.map(r, r.v)[1] == 2", True),
    ("state.rows.map(r, r.v)[2] == 2", None),
    ("state.rows.map(r, has(r.v), r.v) == [1, 2]", True),
    ("call.empty.all(x, state.gone)", True),
    ("call.empty.exists(x, true)", False),
    ("state.gone.all(x, true)", None),
    ("state.n.exists(x, true)", None),
    ("state.r.exists(name, name == 'a') && state.r.all(name, size(string(name)) > 0)", None),
    ("state.xs.all(x, state.xs.exists(y, y == 4 - x))", True),
    ("state.xs.all(x, state.xs.all(x, x > 0) && x > 0)", True),
    # sums
    ("sum(state.xs) == 6 && min(state.xs) == 1 && max(state.xs) == 3", True),
    ("sum(call.empty) == 0", True),
    ("min(call.empty) == 0", None),
    ("sum([1, 2.5]) == 3.5", True),
    ("sum([0.1, 0.2, 0.3]) == 0.6", True),
    ("sum(state.rows.map(r, r.v)) > 0", None),
    ("sum([state.big, 1]) > 0", None),
    ("sum([1, 'a']) > 0", None),
    ("max([1, true]) > 0", None),
    # within
    ("2 in state.xs && !(5 in state.xs)", True),
    ("call.x in [state.gone, 2]", True),
    ("call.x in [state.gone, 3]", None),
    ("'a' in state.r && !('z' in state.r)", True),
    ("1 in state.r", None),
    ("'a' in state.xs", None),
    ("state.gone in call.empty", False),
    # texts
    ("state.s.lowerAscii() == 'ab' && state.s.upperAscii() == 'AB'", True),
    ("' \u00a0É '.trim().lowerAscii() == 'É'", True),
    ("state.s.startsWith('A') && state.s.endsWith('b') && state.s.contains('Ab')", True),
    ("state.n.startsWith('7')", None),
    ("string(state.n) == '7' && int('-12') == -12 && int(2.9) == 2", True),
    ("int('1_0') == 10", None),
    ("int(1e300) > 0", None),
    ("double('1e400') > 0.0", None),
    ("string(state.d) == '2.5'", None),
    # times
    ("now - timestamp(state.at) == duration('23h')", True),
    ("now - timestamp(state.at) < duration('24h')", True),
    ("timestamp(state.plain) < now", None),
    ("timestamp(state.n) < now", None),
    ("timestamp('2024-05-15T20:00:00Z') == timestamp(state.at)", True),
    ("timestamp(state.at).getHours() == 20 && timestamp(state.at).getHours('-05:00') == 15", True),
    ("timestamp('2024-03-10T06:59:59Z').getHours('America/New_York') == 1", True),
    ("timestamp('2024-03-10T07:00:00Z').getHours('America/New_York') == 3", True),
    (
        " && ".join(
            f"timestamp('2024-03-10T06:59:58.251Z').{name}() == {value}"
            for name, value in {
                "getFullYear": 2024,
                "getMonth": 2,
                "getDate": 10,
                "getDayOfMonth": 9,
                "getDayOfWeek": 0,
                "getDayOfYear": 69,
                "getHours": 6,
                "getMinutes": 59,
                "getSeconds": 58,
                "getMilliseconds": 251,
            }.items()
        ),
        True,
    ),
    ("duration('1501ms').getMilliseconds() == 501 && duration('1501ms').getSeconds() == 1", True),
    ("now.getDayOfWeek('America/New_York') == 4 && now.getFullYear() == 2024", True),
    ("timestamp('9999-12-31T23:59:59Z') + duration('1s') > now", None),
    ("timestamp('9999-12-31T23:59:59Z').getHours('+14:00') == 1", None),
    ("timestamp('9999-12-31T00:00:00Z') - timestamp('0001-01-01T00:00:00Z') > duration('1h')", None),
    ("duration('90m').getHours() == 1 && duration('1h') < duration('61m')", True),
    ("duration('1h30m') + duration('-30m') == duration('1h')", True),
    ("state.at.getHours() == 1", None),
]


@pytest.mark.parametrize(("text", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_a_fact_means_what_its_table_says(text, expected):
    fact = parse(text)
    assert holds(fact, {"state": STATE, "call": CALL}) is expected
    assert parse(render(fact)) == fact


@pytest.mark.parametrize("text", [row[0] for row in TABLE if "now" in row[0] and row[1]])
def test_without_a_clock_what_needs_it_is_unknown(text):
    without = {name: value for name, value in STATE.items() if name != "now"}
    assert holds(parse(text), {"state": without, "call": CALL}) is None


CYCLE: list = []
CYCLE.append(CYCLE)
ROUND: dict = {}
ROUND["a"] = ROUND["in"] = ROUND
DEEP: list = []
for _ in range(100_000):
    DEEP = [DEEP]
WIDE = [0] * 1_000_000
ODD = [CYCLE, ROUND, DEEP, WIDE, "x" * 10_000_000, {str(i): i for i in range(100_000)}, 10**5000, *HOSTILE]
FIELDS = ("n", "s", "xs", "r", "rows", "at", "now", "gone", "t", "d", "x", "empty", "nil")


FACTS = [parse(text) for text, _ in TABLE]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_no_value_breaks_or_delays_any_fact(odd):
    begun = time.process_time()
    for test in map(compiled, FACTS):
        for state in (dict.fromkeys(FIELDS, odd), {**STATE, "xs": [odd], "rows": [odd], "r": {"a": odd}}, odd):
            for call in (state, CALL):
                assert test(state, call) in (True, False, None)
    assert time.process_time() - begun < 60
    assert holds(parse("state.x == state.y"), {"state": {"x": odd, "y": odd}}) in (True, None)


HARD = [
    "call.xs.all(a, call.xs.exists(b, call.xs.exists_one(c, a + b == c)))",
    "call.xs.map(a, call.xs.filter(b, b != a)).all(c, sum(c) > 0)",
    "call.xs.all(a, call.xs.all(b, [a, b] in call.xs.map(c, [c, c])))",
]


@pytest.mark.parametrize("text", HARD)
def test_an_evaluation_ends_within_its_steps_whatever_the_lists(text):
    fact = parse(text)
    most = F.items(fact)
    assert F.LEAST_ITEMS <= most <= 500 and F.steps(fact, most) <= F.MAX_STEPS
    test = compiled(fact)
    begun = time.process_time()
    assert test({}, {"xs": list(range(1, most + 1))}) is not None
    assert time.process_time() - begun < 10
    assert test({}, {"xs": list(range(1, most + 2))}) is None, "a list that is too long is unknown"


def test_a_fact_that_no_list_is_short_enough_for_is_refused():
    text = "a"
    for name in "abcdef":
        text = f"call.xs.all({name}, {text} > 0)" if text == "a" else f"call.xs.all({name}, {text})"
    with pytest.raises(FactError, match="at most 300000 steps, with lists of 10 items, were required; got more"):
        parse(text)


def test_a_simple_fact_goes_through_ten_thousand_items():
    test = compiled(parse("call.xs.all(x, x > 0) && size(call.xs) > 3"))
    assert test({}, {"xs": [1] * 10_000}) is True
    assert test({}, {"xs": [1] * 10_001}) is None
    assert compiled(parse("size(call.xs) > 3"))({}, {"xs": [1] * 10_001}) is True


def test_a_time_is_measured_in_nanoseconds():
    read = typed(parse("now - timestamp(state.at) == now - now").left, int)
    assert read(STATE, CALL) == 23 * 3600 * times.SECOND
    assert typed(parse("now == now").left, int)({"now": "1970-01-01T00:00:00.000000001Z"}, {}) == 1
    assert typed(parse("state.s.trim() == 'a'").left, str)(STATE, CALL) == "Ab"
    assert typed(parse("sum(state.xs) == 1").left, int)({"xs": [True]}, CALL) is None


SAID = [
    ("call.guests.all(g, g.age >= 18)", "for every g of guests, age of g is at least 18"),
    ("!call.guests.all(g, g.age >= 18)", "for some g of guests, age of g is below 18"),
    ("!call.guests.exists(g, g.vip)", "for every g of guests, vip of g is false"),
    (
        "size(call.paid.filter(p, p.cents > 100)) <= 1",
        "number of those p of paid for which cents of p is above 100 is at most 1",
    ),
    ("sum(call.paid.map(p, p.cents)) == state.total", "sum of cents of p for every p of paid is total"),
    ('now - timestamp(state.since) < duration("24h")', "now minus since is below 24h"),
    ("timestamp(state.since) > now", "since is after now"),
    ("call.method in state.user.methods", "method is in methods of user"),
    ("!(call.method in state.user.methods)", "method is not in methods of user"),
    ("has(call.note)", "note is given"),
    ("!has(call.note)", "note is not given"),
    ("call.note == null", "note is nothing"),
    ('call.name.trim().startsWith("Dr")', "name without outer spaces begins with Dr"),
    ("call.rooms[0].beds * 2 >= call.guests", "beds of item 1 of rooms times 2 is at least guests"),
    (
        "call.gold ? call.bags <= 3 : call.bags <= 1",
        "(if gold is true, then bags is at most 3, otherwise bags is at most 1)",
    ),
    ("call.bags <= (call.gold ? 3 : 1)", "bags is at most (3 if gold is true, otherwise 1)"),
    ("call.a + 1 > -call.b", "a plus 1 is above minus b"),
    ("call.xs.exists_one(x, x == 1 && x in [2])", "for exactly one x of xs, (x is 1 and x is one of 2)"),
]


@pytest.mark.parametrize(("text", "said"), SAID, ids=[row[0] for row in SAID])
def test_a_fact_is_told_in_words(text, said):
    assert words(parse(text)) == said


@pytest.mark.parametrize("text", [row[0] for row in TABLE])
def test_every_fact_has_words_on_one_line(text):
    assert words(parse(text)) and "\n" not in words(parse(text)) and "F." not in words(parse(text))
