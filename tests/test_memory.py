"""What formulas of the past remember, by hand: times of windows, objects set apart; and little is worked out twice."""

from __future__ import annotations

import math
from itertools import product

import pytest
from oracles import enumerated

from wb.logic import formula as F
from wb.logic import objects, semantics
from wb.logic.objects import FRESH, NOBODY, Among, Slices, identity, only
from wb.logic.semantics import BEGUN, KLEENE, LOST, POINTWISE, TWO, Past, clock, holds, table
from wb.logic.syntax import parse

CLOCKS = [  # what a step tells of its time, the last known one, and what is known then
    (5, BEGUN, (5, True)),
    (5, 5, (5, True)),
    (5, 4, (5, True)),
    (5, 6, (LOST, False)),
    (None, 6, (6, False)),
    (None, BEGUN, (BEGUN, False)),
    (True, 0, (0, False)),
    (5.0, 4, (4, False)),
    ("5", 4, (4, False)),
    (5, LOST, (LOST, False)),
    (None, LOST, (LOST, False)),
]


@pytest.mark.parametrize(("told", "last", "known"), CLOCKS)
def test_the_last_time_that_is_known(told: object, last: float, known: tuple) -> None:
    assert clock(told, last) == known


def test_three_truths_by_their_tables() -> None:
    truths = (True, False, None)
    assert [KLEENE.both(a, b) for a in truths for b in truths] == [
        True,
        False,
        None,
        False,
        False,
        False,
        None,
        False,
        None,
    ]
    assert [KLEENE.either(a, b) for a in truths for b in truths] == [
        True,
        True,
        True,
        True,
        False,
        None,
        True,
        None,
        None,
    ]
    assert [KLEENE.no(a) for a in truths] == [False, True, None]
    assert (KLEENE.partial, TWO.partial, KLEENE.true, KLEENE.false) == (True, False, True, False)
    assert KLEENE.told({"a": True, "b": None}, ("a", "b", "c")) == (True, None, None)
    assert TWO.told({"a"}, ("a", "b")) == (True, False)
    assert KLEENE.time({F.TIME: 5}) == 5 and KLEENE.time({}) is None
    assert TWO.time({"a", semantics.at(5)}) == 5 and TWO.time({"a"}) is None


@pytest.mark.parametrize("at", [-1, 2, 7])
def test_a_step_of_the_trace_is_asked_about(at: int) -> None:
    with pytest.raises(ValueError, match=f"0 to 1; got {at}"):
        holds(F.Atom("a"), [{"a"}, set()], at)
    with pytest.raises(ValueError, match="at least one step; got none"):
        holds(F.Atom("a"), [], 0)
    assert [holds(F.Atom("a"), [{"a"}, set()], i) for i in (0, 1)] == [True, False]


NEVER = ((), ())
REACHED = [  # times of steps that count for certain and that may; last time, whether it is known, how many, how far
    (NEVER, 10, True, 1, 5, (False, True)),
    (NEVER, 10, True, 2, 5, (False, False)),
    (((5,), (5,)), 10, True, 1, 5, (True, True)),
    (((4,), (4,)), 10, True, 1, 5, (False, True)),
    (((5,), (5,)), 10, False, 1, 5, (None, True)),
    (((), (5,)), 10, True, 1, 5, (None, True)),
    (((), (LOST,)), 10, True, 1, 5, (None, True)),
    (((5, 7), (5, 7)), 10, True, 2, 5, (True, True)),
    (((4, 7), (4, 7)), 10, True, 2, 5, (False, True)),
    (((7,), (5, 7)), 10, True, 2, 5, (None, True)),
    (((7,), (7,)), 10, True, 2, 5, (False, True)),
    (((7,), (7,)), 10, False, 2, 5, (False, None)),
    (((4,), (4,)), 10, True, 2, 5, (False, False)),
    (((5, 6, 7), (5, 6, 7)), 10, True, 3, 5, (True, True)),
    (((5, 6, 7), (5, 6, 7)), 10, True, 3, 4, (False, True)),
    (((5,), (5,)), LOST, False, 1, 5, (None, True)),
    (((5,), (5,)), LOST, False, 2, 5, (None, None)),
]


@pytest.mark.parametrize(("counted", "last", "known", "times", "within", "found"), REACHED)
def test_what_a_window_reaches(counted, last, known, times, within, found) -> None:
    assert semantics._reached(counted, last, known, times, within) == found


COUNTED = [  # the same, and whether the step counts; what is remembered after it
    (NEVER, True, 10, True, 1, 5, ((10,), (10,))),
    (NEVER, None, 10, True, 1, 5, ((), (10,))),
    (NEVER, True, 10, False, 1, 5, ((10,), (LOST,))),
    (NEVER, None, 10, False, 2, 5, ((), (LOST,))),
    (((5,), (5,)), True, 10, True, 1, 5, ((10,), (10,))),
    (((5,), (5,)), True, 10, True, 2, 5, ((5, 10), (5, 10))),
    (((4,), (4,)), True, 10, True, 2, 5, ((10,), (10,))),
    (((5, 6), (5, 6)), True, 10, True, 2, 5, ((6, 10), (6, 10))),
    (((5, 6), (5, 6)), None, 10, True, 2, 5, ((5, 6), (6, 10))),
    (((5,), (5,)), True, LOST, False, 2, 5, NEVER),
]


@pytest.mark.parametrize(("counted", "true", "last", "known", "times", "within", "found"), COUNTED)
def test_what_is_remembered_of_a_step_that_counts(counted, true, last, known, times, within, found) -> None:
    assert semantics._counted(counted, true, last, known, times, within) == found


@pytest.mark.parametrize(
    ("counted", "last", "found"),
    [
        (((5, 6, 7), (5, 6, 7)), 10, ((5, 6, 7), (5, 6, 7))),
        (((5, 6, 7), (5, 6, 7)), 11, ((6, 7), (6, 7))),
        (((5, 6, 7), (4, 6, LOST)), 12, ((7,), (LOST,))),
        (((7,), (4, 7)), 10, ((7,), (7,))),
        (((4, 7), (7, 8)), 10, ((7,), (7, 8))),
        (NEVER, 10, NEVER),
        (((5,), (5,)), LOST, NEVER),
    ],
)
def test_what_is_too_old_is_forgotten(counted, last, found) -> None:
    assert semantics._pruned(counted, last, 5) == found
    past = Past(parse("ONCE[<= 1h] a"))
    hour = 3_600_000_000_000
    scaled = tuple(tuple(hour * t // 5 if t != LOST else t for t in times) for times in counted)
    (kept,) = past.pruned((scaled,), last if last == LOST else hour * last // 5)
    assert tuple(map(len, kept)) == tuple(map(len, found))


def test_what_was_remembered_without_a_time_takes_the_next_one_told() -> None:
    past = Past(parse("ONCE[<= 1h] a AND ONCE b"))
    place = [i for i, one in enumerate(past.start) if one == NEVER][0]

    def memory(counted: tuple) -> tuple:
        return tuple(counted if i == place else False for i in range(2))

    for before, undated in ((((3,), (LOST,)), True), (((3,), (3, LOST)), True), (((3,), (3,)), False), (NEVER, False)):
        assert past.undated(memory(before)) is undated
    assert past.dated(memory(((3, 4), (3, LOST, LOST))), 9) == memory(((3, 4), (3, 9, 9)))
    assert Past(parse("ONCE b")).undated((True,)) is False and past.timed and not Past(parse("ONCE b")).timed


def test_the_last_time_that_was_told_is_kept() -> None:
    past, apart = Past(parse("ONCE[<= 1h] a")), Past(parse("ONCE[<= 1h] a"))
    assert past.last == BEGUN
    for told, last in ((None, BEGUN), (5, 5), (None, 5), (7, 7), (6, LOST), (8, LOST)):
        past.step({"a": True, F.TIME: told})
        assert past.last == last and past.fork().last == last and past.fresh().last == BEGUN == apart.last


def test_a_result_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (semantics.KEPT, objects.FEW) == (4096, 16)
    asked, work = [], Past._work
    monkeypatch.setattr(Past, "_work", lambda *given: (asked.append(1), work(*given))[1])
    for text, step in (("ONCE a", {"a": True}), ("ONCE[<= 1h] a AND ONCE b", {"a": True, "b": True, F.TIME: 5})):
        past = Past(parse(text))
        past.step(step), past.step(step)
        asked.clear()
        past.step(step), past.peek(step), past.fresh().step(step), past.fork().step(step)
        if not past.timed:
            past.after((True,), (True,))
        assert not asked
    monkeypatch.setattr(semantics, "KEPT", 2)
    past = Past(parse("ONCE a"))
    for truth in (True, False, None, True):
        past.peek({"a": truth})
        assert 1 <= len(past._seen) <= 2


def test_whether_a_step_changes_nothing_is_worked_out_once_and_kept_within_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    past = Past(parse("NOT a OR NOT ONCE[<= 1h] b OR ONCE c"))
    names = past.names
    letters = [tuple(dict(zip("abc", truths, strict=True))[name] for name in names) for truths in LETTERS]
    start = past.start
    found = [past.still(start, letter) for letter in letters]
    assert True in found and False in found
    key = next(key for key in past._still if past._still[key])
    past._still[key] = False
    assert [past.still(start, letter) for letter in letters].count(True) == found.count(True) - 1
    monkeypatch.setattr(semantics, "KEPT", 2)
    past = Past(parse("NOT a OR NOT ONCE[<= 1h] b OR ONCE c"))
    assert [past.still(start, letter) for letter in letters] == found and 1 <= len(past._still) <= 2
    plain = Past(parse("ONCE a"))
    assert plain.still((True,), (False,)) and not plain.still((False,), (False,)) and not plain.still((False,), (True,))


LETTERS = [(a, b, c) for a in (True, False) for b in (True, False) for c in (True, False)]


def test_two_that_follow_the_same_are_alike_where_they_remember_the_same() -> None:
    for text, step, other in (
        ("ONCE a", {"a": True}, {"a": False}),
        ("ONCE[<= 1h] a", {"a": True, F.TIME: 5}, {"a": True, F.TIME: 6}),
        ("ONCE[<= 1h] a", {"a": False, F.TIME: 5}, {"a": False, F.TIME: 6}),
    ):
        one, two = Past(parse(text)), Past(parse(text))
        assert one.alike(two)
        one.step(step), two.step(other)
        assert not one.alike(two) and not two.alike(one) and one.alike(one.fork()) and one.fresh().alike(two.fresh())


# ---- objects ----------------------------------------------------------------------------------------


def test_what_makes_an_object_the_same() -> None:
    same = [1, "1", True, 1.5, "", 0, False, 1.0]
    assert (
        len({(type(one), identity(one)) for one in same}) == len(same) == len({str(identity(one)) for one in same}) + 1
    )
    assert identity(True) == ("bool", True) and identity(1) == 1 and identity("a") == "a" and identity(1.5) == 1.5
    for none in (None, math.nan, math.inf, -math.inf, [1], (1,), {"a": 1}, b"a"):
        assert identity(none) is None


TOLD = [  # what a step tells of `a`, an atom, and its truth of the object 1
    (None, "a(r)", None),
    (True, "a(r)", None),
    (True, "a", True),
    (None, "a", None),
    (NOBODY, "a(r)", False),
    (NOBODY, "a", False),
    (only((1,)), "a(r)", True),
    (only((2,)), "a(r)", False),
    (only((2,)), "a", True),
    (Among({(1,): None}, False, None), "a(r)", None),
    (Among({(1,): None}, False, None), "a", None),
    (Among({(2,): True}, None, True), "a(r)", None),
]


@pytest.mark.parametrize(("told", "text", "truth"), TOLD)
def test_what_a_step_tells_of_an_object(told: object, text: str, truth: bool | None) -> None:
    step = {"a": told}
    assert enumerated.told(step, parse(text), {"r": 1}) is truth
    of_one = parse(text.replace("(r)", "(call.x)"))
    assert Slices(of_one).peek(step, {"call.x": 1} if "(" in text else None) is truth
    if type(told) is Among and "(" in text:
        assert enumerated.told(step, parse(text), {"r": FRESH}) is told.others
    assert Slices(of_one).peek(step, {"call.x": None}) is None


def test_all_of_some_truths() -> None:
    assert [objects.all_of(one) for one in ((), (True,), (True, None), (None, False), (True, False))] == [
        True,
        True,
        None,
        False,
        False,
    ]


def test_choices_that_are_joined() -> None:
    n = FRESH
    assert objects._joined((1, n), (n, 2)) == (1, 2) and objects._joined((1, 2), (1, n)) == (1, 2)
    assert objects._joined((1, n), (2, n)) is None and objects._joined((n, n), (n, n)) == (n, n)
    assert objects._joined((n, 2), (1, 2)) == (1, 2) and objects._joined((n, 3), (1, 2)) is None
    assert objects._closed([(1, n)], [(n, n)], (n, n)) == {(1, n)}
    assert objects._closed([(1, n), (n, 2)], [(n, n)], (n, n)) == {(1, n), (n, 2), (1, 2)}
    assert objects._closed([(1, n)], [(n, n), (n, 5), (2, 6)], (n, n)) == {(1, n), (1, 5)}
    assert objects._closed([(1, n)], [(n, n), (n, 5), (n, 6)], (n, 5)) == {(1, 5)}
    assert objects._closed([], [(n, n)], (n, n)) == set()


def test_two_slices_that_remember_other_objects_are_not_alike() -> None:
    for text in ("ONCE a(r)", "NOT a(r) OR ONCE b(r)", "ONCE (a(r) AND PREVIOUSLY b(s))"):
        one, two, three = (Slices(parse(text)) for _ in range(3))
        one.step({"a": only((1,)), "b": only((1,))}), two.step({"a": only((2,)), "b": only((2,))})
        three.step({"a": only((1,)), "b": only((1,))})
        assert not one.alike(two) and not two.alike(one) and one.alike(three) and one.alike(one.fork())
        assert not one.alike(Slices(parse(text))) and not Slices(parse(text)).alike(one)
    one, two = (Slices(parse("NOT a(r) OR ONCE[<= 1h] b(r)")) for _ in range(2))
    one.step({"a": NOBODY, "b": only((1,)), F.TIME: 5}), two.step({"a": NOBODY, "b": only((1,)), F.TIME: 6})
    assert not one.alike(two)


class Counting:
    """A machine that counts how often it is asked."""

    def __init__(self, text: str) -> None:
        self.past, self.asked = Past(parse(text)), 0
        self.names, self.start, self.timed = self.past.names, self.past.start, self.past.timed
        self.still, self.pruned, self.undated, self.dated = (
            getattr(self.past, name) for name in ("still", "pruned", "undated", "dated")
        )

    def after(self, memory, letter, last=BEGUN, known=False):
        self.asked += 1
        return self.past.after(memory, letter, last, known)


USUAL = "NOT b(r) OR ONCE a(r)"


def usual(**named: int) -> dict:
    return {name: only((named[name],)) if name in named else NOBODY for name in "ab"}


def test_a_usual_step_is_worked_out_once_for_all_objects() -> None:
    """Where nothing happens nothing is asked; what one object does is asked once, however many do it."""
    machine = Counting(USUAL)
    slices = Slices(parse(USUAL), machine)
    assert slices.step(usual()) is True
    begun = machine.asked
    for _ in range(50):
        assert slices.step(usual()) is True
    assert machine.asked == begun, "nothing happens"
    for number in range(3):
        slices.step(usual(a=number))
    slices.step(usual(b=0)), slices.step(usual(b=99)), slices.step(usual(a=0, b=0)), slices.step(usual(a=98, b=98))
    begun = machine.asked
    for number in range(3, 40):
        assert slices.step(usual(a=number)) is True and slices.step(usual(b=number)) is True
        assert slices.step(usual(b=1000 + number)) is False, "it was never named by the other"
        assert slices.step(usual()) is True
    assert machine.asked == begun and len(slices) == 41
    assert slices.step(usual(a=7, b=8)) is True and slices.step(usual(a=7, b=2000)) is False


class Asked(dict):
    """What a step tells, and how often it is asked."""

    times = 0

    def get(self, name, default=None):
        self.times += 1
        return super().get(name, default)


def test_of_a_step_in_which_nothing_happens_each_predicate_is_asked_once() -> None:
    """And once more where that is not known to change nothing: at first, and after an object of which it may."""
    for text, quick in (
        ("NOT b(r) OR PREVIOUSLY a(r)", [False, True, True, False, False, True, True, False, False, True]),
        ("NOT b(r) OR ONCE a(r)", [False, True, True, False, True, True, True, False, True, True]),
        ("b(r) OR ONCE a(r)", [False] * 10),
    ):
        slices, asked = Slices(parse(text)), []
        for named in ({}, {}, {}, {"a": 1}, {}, {}, {}, {"a": 1, "b": 2}, {}, {}):
            step = Asked(usual(**named))
            slices.step(step)
            asked.append(step.times == len(slices.predicates))
        assert asked == quick, text


def test_a_step_that_may_change_all_objects_costs_by_what_is_remembered_of_them() -> None:
    """However many objects remember the same, they are stepped together."""
    machine = Counting(USUAL)
    slices = Slices(parse(USUAL), machine)
    for number in range(40):
        slices.step(usual(a=number))
    unsure = {"a": NOBODY, "b": Among({}, None, True)}
    assert len(slices) == 40 and len(slices.ways(unsure)) == 2
    for step, truth in ((unsure, None), ({**unsure, "a": only((7,))}, None), ({"a": True, "b": NOBODY}, True)):
        begun = machine.asked
        assert slices.peek(step) is truth and machine.asked - begun <= 3
        begun = machine.asked
        assert slices.step(step) is truth and machine.asked - begun <= 6


def test_where_all_atoms_name_all_objects_no_choice_is_looked_for_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the joins of what a step names with what was named, nor the parts of a choice: those may be many."""
    for text in (
        "NOT b(r, s) OR ONCE a(r, s)",
        "NOT b(r, s) OR ONCE[<= 1h] a(r, s)",
        "NOT b(call.x) OR ONCE a(call.x)",
    ):
        slices, bound = Slices(parse(text)), {"call.x": 1} if "call" in text else None
        key = (1, 2)[: len(slices.terms)]
        with monkeypatch.context() as without:
            without.setattr(objects, "_closed", None), without.setattr(Slices, "_parts", None)
            for step in ({"a": NOBODY, "b": only(key)}, {"a": only(key), "b": NOBODY}, {"a": NOBODY, "b": only(key)}):
                step |= {F.TIME: 5}
                truth = None if bound else slices.peek(step)
                assert slices.peek(step, bound) is slices.step(step) and truth in (None, slices.peek(step))
            assert slices.peek({"a": NOBODY, "b": only((3,) * len(key)), F.TIME: 6}, bound) is (bound is not None)
            slices._forget()


def test_the_largest_parts_of_a_choice_are_those_that_no_other_holds() -> None:
    slices, n = Slices(parse("c(r, s, t) OR ONCE a(r)")), FRESH
    assert slices._parts((1, 2, 3)) == [slices._rest]
    for apart, found in (
        ([(1, n, n)], [(1, n, n)]),
        ([(1, n, n), (2, n, n), (n, 1, n)], [(1, n, n)]),
        ([(1, n, n), (n, 2, n)], [(1, n, n), (n, 2, n)]),
        ([(1, n, n), (n, 2, n), (1, 2, n)], [(1, 2, n)]),
        ([(1, n, n), (n, n, 3), (1, 2, n)], [(1, 2, n), (n, n, 3)]),
        ([(1, 2, n), (1, n, 3), (n, 2, 3), (n, n, 3), (1, 2, 3)], [(1, 2, n), (1, n, 3), (n, 2, 3)]),
    ):
        slices._at = {key: objects._Group(key) for key in apart}
        assert slices._parts((1, 2, 3)) == found
        assert slices._memory((1, 2, 3)) == ((1, 2, 3) if (1, 2, 3) in apart else found[0])
        assert slices._parts((4, n, 5)) == [slices._rest] == slices._parts((n, n, n))


def test_of_two_groups_the_smaller_one_moves() -> None:
    for turned in (False, True):
        slices = Slices(parse(USUAL))
        small, large = objects._Group((True,)), objects._Group((True,))
        small.keys, large.keys = {(1,)}, {(2,), (3,), (4,)}
        slices._at = {(1,): small, (2,): large, (3,): large, (4,): large}
        assert slices._merged(*((large, small) if turned else (small, large))) is large
        assert set(slices._at.values()) == {large} and large.keys == slices._at.keys()


def test_memories_that_no_object_has_any_more_are_not_kept() -> None:
    hour, slices = 3_600_000_000_000, Slices(parse("NOT b(r) OR ONCE[<= 1h] a(r)"))
    for number in range(50):
        slices.step({**usual(a=number % 2), F.TIME: number * hour // 9})
        assert len(slices) <= 2 and len(slices._groups) <= 3


def test_what_is_remembered_of_all_others_grows_too_old_as_well() -> None:
    """Else no object would ever remember the same as those never named."""
    hour, slices = 3_600_000_000_000, Slices(parse("NOT b(r) OR ONCE[<= 1h] (a(r) OR p)"))
    for number in range(100):
        slices.step({**usual(a=number), "p": number == 0, F.TIME: number * hour})
        assert len(slices) <= 20


def test_what_constants_settle_is_found() -> None:
    """By every operator over a constant: where it is the same constant at every step of every trace."""
    p, gone = F.Atom("p"), parse("x(r)")
    traces = [trace for many in (1, 2, 3) for trace in product([set(), {"p"}], repeat=many)]
    settled = 0
    for operator in (*POINTWISE, *F.PAST, *F.FUTURE):
        if operator is F.Recently:
            continue
        places = 1 if issubclass(operator, F.Unary) else 2
        for below in product((F.TRUE, F.FALSE, p, gone), repeat=places):
            formula = operator(*below)
            meant = operator(*[F.FALSE if one == gone else one for one in below])
            found = objects._reduced(formula, "r")
            rows = [table(meant, trace) for trace in traces]
            assert rows == [table(found, trace) for trace in traces], formula
            truths = {truth for row in rows for truth in row}
            if len(truths) == 1 and set(below) != {p} and not (operator is F.WeakUntil and truths == {False}):
                assert found == F.Constant(*truths), formula
                settled += 1
            if operator in (F.And, F.Or) and below.count(p) == 1 and rows == [table(p, trace) for trace in traces]:
                assert found == p
    assert settled > 100
    for times, value, found in ((1, True, F.TRUE), (1, False, F.FALSE), (2, False, F.FALSE), (2, True, None)):
        window = F.Recently(F.Constant(value), times, 5)
        assert objects._reduced(window, "r") == (window if found is None else found)
    assert objects._reduced(F.Recently(p, 1, 5), "r") == F.Recently(p, 1, 5)
    assert objects._reduced(F.Implies(F.TRUE, p), "r") == p and objects._reduced(gone, "s") == gone


def test_what_remembers_as_those_never_named_is_dropped() -> None:
    slices = Slices(parse("NOT b(r) OR PREVIOUSLY a(r)"))
    for number in range(30):
        slices.step(usual(a=number))
        assert len(slices) == 1
    slices.step(usual())
    assert len(slices) == 0 and slices.peek(usual(b=29)) is False
    slices = Slices(parse(USUAL))
    slices.step(usual(a=1))
    slices.step({"a": Among({}, None, True), "b": NOBODY})
    assert len(slices) == 1 and slices.peek(usual(b=1)) is True and slices.peek(usual(b=2)) is None


def test_moves_are_kept_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantics, "KEPT", 2)
    slices, trace = Slices(parse(USUAL)), []
    for named in (
        {},
        {"a": 1},
        {"b": 1},
        {"b": 2},
        {"a": 1, "b": 1},
        {"a": 3},
        {"b": 3},
        {},
        {"a": 4, "b": 4},
        {"b": 5},
    ) * 2:
        trace.append(usual(**named))
        assert slices.step(trace[-1]) is enumerated.table(parse(USUAL), trace)[-1]
        assert len(slices._moves) <= 2


def test_objects_too_old_for_any_window_are_forgotten() -> None:
    """As many as are remembered may grow to sixteen, and twice those that matter and sixteen more."""
    text = "NOT b(r) OR ONCE[<= 1h] a(r)"
    hour, slices = 3_600_000_000_000, Slices(parse(text))
    most = 0
    for number in range(200):
        assert slices.step({**usual(a=number), F.TIME: number * hour}) is True
        most = max(most, len(slices))
    assert 16 <= most <= 20 and slices.peek({**usual(b=199), F.TIME: 200 * hour}) is True
    assert slices.peek({**usual(b=198), F.TIME: 200 * hour}) is False
    fork = slices.fork()
    assert fork.alike(slices) and fork._most == slices._most and len(fork) == len(slices)
    fork.step({**usual(), F.TIME: 300 * hour})
    assert not fork.alike(slices)


def test_a_fork_of_slices_goes_on_apart() -> None:
    one = Slices(parse(USUAL))
    one.step(usual(a=1)), one.step(usual(a=2)), one.step(usual())
    other = one.fork()
    assert other.alike(one) and len(other) == 2 and other.last == one.last == BEGUN
    other.step(usual(a=3))
    assert [slices.peek(usual(b=3)) for slices in (one, other)] == [False, True]
    assert [slices.step(usual(b=number)) for slices in (one, other) for number in (1, 2, 3)] == [True, True, False] + [
        True
    ] * 3
    assert one.fresh().step(usual(b=1)) is False and len(one.fresh()) == 0


def test_the_definition_over_a_step_of_two_events() -> None:
    step = {"a": Among({(1,): True, (2,): True}, False, True), "b": only((2,))}
    for text, truth in (
        ("ONCE a(r)", False),
        ("NOT b(r) OR a(r)", True),
        ("NOT a(r) OR b(r)", False),
        ("a AND b", True),
    ):
        assert Slices(parse(text)).step(step) is truth is enumerated.table(parse(text), [step])[0]
    assert table(parse("a AND NOT b"), [{"a": True, "b": None}], KLEENE) == (None,)


def test_what_was_done_at_no_told_time_lies_between_the_times_beside_it() -> None:
    """A second step without a time tells nothing of the first: only a time does."""
    text = "NOT b(r) OR ONCE[<= 1h] a(r)"
    hour = 3_600_000_000_000
    for silent in (0, 1, 2, 3):
        slices = Slices(parse(text))
        slices.step({**usual(), F.TIME: 0})
        slices.step(usual(a=1))
        for _ in range(silent):
            slices.step(usual())
        assert slices.peek({**usual(b=1), F.TIME: hour}) is True
        assert slices.peek({**usual(b=1), F.TIME: hour + 1}) is None
        fork = slices.fork()
        fork.step({**usual(), F.TIME: 10})
        assert fork.peek({**usual(b=1), F.TIME: hour + 10}) is None
        assert fork.peek({**usual(b=1), F.TIME: hour + 11}) is False


def test_how_many_choices_are_remembered_before_those_that_need_not_be_are_looked_for() -> None:
    slices, trace = Slices(parse("NOT c(r, s) OR (ONCE a(r) AND ONCE b(s))")), []
    for number in range(12):
        trace.append({**usual(a=number, b=number), "c": NOBODY})
        assert slices.step(trace[-1]) is True
    assert slices._most > 16, "more matter"
    assert slices.peek({"a": NOBODY, "b": NOBODY, "c": only((3, 7))}) is True
    assert slices.peek({"a": NOBODY, "b": NOBODY, "c": only((3, 77))}) is False
