"""What a sentence asks of several facts: of all forms that a model may reply, those in force are those that it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import pytest

from wb.domain.tools import Field, Tool, Toolbox
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules import accounting, senses
from wb.rules.rule import Predicate, Rule

BOX = Toolbox(
    (
        Tool("lower_bridge", "Lower a bridge."),
        Tool("ring_bell", "Ring the bell.", (Field("note", "string", "a note"),)),
    ),
    (
        Field("windy", "boolean", "it is windy"),
        Field("lit", "boolean", "the lamps are lit"),
        Field("manned", "boolean", "the tower is manned"),
        Field("carts", "integer", "carts that wait"),
    ),
)
ACT = Predicate("lower", "action", "", (), ("lower_bridge",))
FACTS = {
    "windy": Predicate("windy", "state", "", test=cel.parse("state.windy")),
    "lit": Predicate("lit", "state", "", test=cel.parse("state.lit")),
    "manned": Predicate("manned", "state", "", test=cel.parse("state.manned")),
    "many": Predicate("many", "state", "", test=cel.parse("state.carts > 5")),
}


def forms(one: str, other: str) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every way to ask two facts of an act, with each sign, and whether it holds of (one, other)."""
    for a, b in product((True, False), repeat=2):
        x, y = (one if a else f"NOT {one}"), (other if b else f"NOT {other}")
        yield (f"lower IMPLIES {x} OR {y}",), lambda p, q, a=a, b=b: p is a or q is b
        yield (f"lower IMPLIES {x} AND {y}",), lambda p, q, a=a, b=b: p is a and q is b
        yield (f"lower IMPLIES {x}", f"lower IMPLIES {y}"), lambda p, q, a=a, b=b: p is a and q is b
        yield (f"lower AND {x} IMPLIES {y}",), lambda p, q, a=a, b=b: p is not a or q is b
        yield (f"lower AND {y} IMPLIES {x}",), lambda p, q, a=a, b=b: q is not b or p is a
        yield (f"NOT (lower AND {x} AND {y})",), lambda p, q, a=a, b=b: not (p is a and q is b)
        yield (f"lower IMPLIES NOT ({x} OR {y})",), lambda p, q, a=a, b=b: not (p is a or q is b)
        yield (f"lower IMPLIES ({x} IMPLIES {y})",), lambda p, q, a=a, b=b: p is not a or q is b
        yield (f"lower IMPLIES ({x} IFF {y})",), lambda p, q, a=a, b=b: (p is a) is (q is b)


def why(said: str, asked: Sequence[str], used: Mapping[str, Predicate] = FACTS) -> tuple[str, ...]:
    rules = [Rule(f"r{i}", said, parse(f"ALWAYS ({one})"), "forbid") for i, one in enumerate(asked)]
    return accounting.unaccounted(said, (), rules, [ACT, *used.values()], BOX)


SAID = [
    ("Lower the bridge only if it is windy and the lamps are lit.", "windy", "lit", lambda p, q: p and q),
    ("Lower the bridge only if it is windy or the lamps are lit.", "windy", "lit", lambda p, q: p or q),
    ("The bridge may only be lowered if it is windy and the lamps are lit.", "windy", "lit", lambda p, q: p and q),
    ("The bridge can only be lowered when it is windy or the lamps are lit.", "windy", "lit", lambda p, q: p or q),
    (
        "The bridge may only be lowered if it is not windy and the lamps are lit.",
        "windy",
        "lit",
        lambda p, q: not p and q,
    ),
    ("Do not lower the bridge if it is windy and the lamps are lit.", "windy", "lit", lambda p, q: not (p and q)),
    ("Do not lower the bridge if it is windy or the lamps are lit.", "windy", "lit", lambda p, q: not (p or q)),
    (
        "Do not lower the bridge if it is windy and the lamps are not lit.",
        "windy",
        "lit",
        lambda p, q: not (p and not q),
    ),
    ("Never lower the bridge unless it is windy and the lamps are lit.", "windy", "lit", lambda p, q: p and q),
    ("Never lower the bridge unless the lamps are lit or the tower is manned.", "lit", "manned", lambda p, q: p or q),
    ("Lower the bridge only if the lamps are lit and at most 5 carts wait.", "lit", "many", lambda p, q: p and not q),
    (
        "Do not lower the bridge if more than 5 carts wait and the tower is not manned.",
        "many",
        "manned",
        lambda p, q: not (p and not q),
    ),
    (
        "Do not lower the bridge if the lamps are lit, and do not lower the bridge if the tower is manned.",
        "lit",
        "manned",
        None,
    ),
    ("The bridge may be lowered if it is windy and the lamps are lit.", "windy", "lit", None),
    ("To lower the bridge, the lamps must be lit and the tower must be manned.", "lit", "manned", None),
    ("Lower the bridge only if either it is windy or the lamps are lit.", "windy", "lit", None),
    ("Do not lower the bridge if neither the lamps are lit nor the tower is manned.", "lit", "manned", None),
    ("Do not lower the bridge if the lamps must be lit and it is windy.", "lit", "windy", None),
    ("To lower the bridge, the lamps must be lit only if it is windy.", "lit", "windy", None),
    ("Do not lower the bridge as long as it is not so that the lamps are lit and it is windy.", "lit", "windy", None),
    ("If it is windy, a bridge that is not manned must be lowered.", "windy", "manned", None),
]


REFUSED = {
    said for said, *_ in (SAID[1], SAID[3], SAID[7], SAID[9], SAID[11])
}  # right forms that other checks leave open


@pytest.mark.parametrize(("said", "one", "other", "right"), SAID, ids=[said[:60] for said, *_ in SAID])
def test_of_all_forms_of_two_facts_those_in_force_are_right(said: str, one: str, other: str, right: object) -> None:
    worlds = list(product((True, False), repeat=2))
    passed = 0
    for asked, means in forms(one, other):
        same = right is not None and all(means(p, q) is bool(right(p, q)) for p, q in worlds)
        if not why(said, asked):
            assert same, asked
            passed += 1
    assert bool(passed) is (said not in REFUSED and right is not None)


def test_one_fact_alone_and_other_acts_are_none_of_its_business() -> None:
    used = [ACT, *FACTS.values()]

    def together(said: str, *asked: str) -> tuple[str, ...]:
        rules = [Rule(f"r{i}", said, parse(f"ALWAYS ({one})"), "forbid") for i, one in enumerate(asked)]
        return senses.together(said, rules, used, BOX)

    assert together("Anything.", "lower IMPLIES windy") == together("Anything.", "lit IMPLIES EVENTUALLY lower") == ()
    assert together("Anything.", "NOT lower") == ()
    assert "could not be held" in together("Anything.", "lower IMPLIES windy OR lit")[0]
    both = "Lower the bridge only if it is windy and the lamps are lit."
    assert together(both, "lower IMPLIES windy AND lit") == ()
    assert "is not what its sentence makes" in together(both, "lower IMPLIES windy OR lit")[0]
    assert "could not be held" in together(both, "lower IMPLIES (windy OR lit OR manned)")[0]
    assert "could not be held" in together(both, "lower IMPLIES (windy AND PREVIOUSLY lit)")[0]


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Only manned towers may lower the bridge with lamps lit.", "lower IMPLIES lit OR manned"),
        ("If the lamps are lit, do not lower the bridge when windy.", "lower IMPLIES lit AND windy"),
        ("Do not lower the bridge with the lamps lit if it is windy.", "lower IMPLIES windy OR lit"),
        (
            "Lower the bridge only if it is windy, the lamps are lit and the tower is manned.",
            "lower IMPLIES windy OR lit OR manned",
        ),
    ],
)
def test_a_wrong_reading_of_several_facts_stays_open(said: str, asked: str) -> None:
    assert why(said, [asked])


def test_three_facts_are_held_together_too() -> None:
    said = "Lower the bridge only if it is windy, the lamps are lit and the tower is manned."
    assert why(said, ["lower IMPLIES windy AND lit AND manned"]) == ()
    assert why(said, ["lower IMPLIES windy AND lit AND NOT manned"])


@pytest.mark.parametrize(
    "said",
    [
        "Do not lower the bridge if the lamps must be lit.",
        "If the lamps must be lit, do not lower the bridge.",
        "Do not lower the bridge unless the lamps must be lit.",
        "A bridge that must be lit must not be lowered.",
    ],
)
def test_what_has_to_be_so_is_not_what_is_so(said: str) -> None:
    for asked in ("lower IMPLIES lit", "lower IMPLIES NOT lit"):
        assert why(said, [asked])
    assert why("Do not lower the bridge if the lamps are lit.", ["lower IMPLIES NOT lit"]) == ()
