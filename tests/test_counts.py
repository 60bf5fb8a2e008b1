"""How often something may be done is read where nothing else is said, and an argument tells of which object."""

from __future__ import annotations

import pytest

from wb.domain import policy
from wb.domain.tools import Field, Tool, Toolbox
from wb.logic import cel
from wb.logic.syntax import render
from wb.models.client import LLM
from wb.offline import counts, norms
from wb.offline.engine import Offline
from wb.rules import extract, sentences

KILN, GLAZE = Field("kiln_id", "string", "the kiln"), Field("glaze", "string", "the glaze")
BOX = Toolbox(
    tools=(
        Tool("fire_kiln", "Fire a kiln.", (KILN, GLAZE)),
        Tool("rinse_brush", "Rinse a brush.", (Field("minutes", "integer", "how long"),)),
        Tool(
            "mix_glazes", "Mix two glazes.", (Field("glaze_a", "string", "one"), Field("glaze_b", "string", "another"))
        ),
        Tool("sing", "Sing a song."),
    )
)


def of_kiln(times: int) -> str:
    return f"ALWAYS (fire_kiln(o) IMPLIES COUNT[<= {times}] fire_kiln(o))"


READ = [
    ("A kiln can only be fired once.", of_kiln(1)),
    ("Each kiln may be fired at most twice.", of_kiln(2)),
    ("Kilns may be fired no more than three times per kiln.", of_kiln(3)),
    ("Each kiln may be fired up to 12 times.", of_kiln(12)),
    ("You may fire each kiln up to 12 times.", of_kiln(12)),
    ("A kiln must not be fired twice.", of_kiln(1)),
    ("Never fire the same kiln more than once.", of_kiln(1)),
    ("Do not fire the same kiln more than four times.", of_kiln(4)),
    ("A kiln cannot be fired more than twice.", of_kiln(2)),
    ("You may sing only twice.", "ALWAYS (sing IMPLIES COUNT[<= 2] sing)"),
]
OPEN = [
    "A kiln may be fired once a day.",
    "You may fire a kiln at most twice.",  # all kilns together, or each of them
    "Never fire a kiln more than once.",
    "The assistant may fire a kiln at most once.",
    "You must not fire a kiln twice.",
    "A kiln cannot be fired at most twice.",
    "A kiln must not be fired only twice.",
    "A kiln may be fired at most twice within 24 hours.",
    "A kiln may be fired at most twice per week.",
    "A kiln may only be fired once unless it is cold.",
    "If the kiln is cold, it may be fired at most twice.",
    "A kiln may be fired at most twice if it is cold.",
    "A kiln must be fired at least twice.",
    "A kiln must not be fired twice in a row.",
    "A kiln may be fired at most twice, or three times.",
    "A kiln must not be fired at most three times.",
    "Kilns can only be fired once.",  # all of them together, or each
    "A brush must not be rinsed twice.",  # no argument tells which brush
    "Glazes may be mixed at most twice per glaze.",  # of which one
    "A song may be sung at most 0 times.",
    "A kiln or a brush may be fired at most twice.",
    "Old kilns may be fired at most twice per kiln.",
]


def read(text: str) -> tuple[list[str], str, list[tuple[str, ...]]]:
    """The rules in force of a sentence, its class, and the objects of their predicates."""
    source = policy.of_text(text, BOX)
    llm = LLM(Offline(BOX))
    found = extract.policies(source, llm, norms.constrains)
    made = extract.rules(found.clauses, source, llm, norms.constrains, found.lost)
    accounts = sentences.classify(source, found.clauses, made)
    kept = sentences.enforced(made, accounts)
    objects = [tuple(map(cel.render, p.objects)) for p in kept.predicates]
    return [render(rule.formula) for rule in kept.rules], accounts[0].cls, objects


@pytest.mark.parametrize(("text", "formula"), READ)
def test_a_limit_on_how_often_is_read_completely(text: str, formula: str) -> None:
    assert read(text) == ([formula], "rule", [("call.kiln_id",) if "(o)" in formula else ()])


@pytest.mark.parametrize("text", OPEN)
def test_what_says_more_or_leaves_the_object_open_is_no_count(text: str) -> None:
    rules, cls, _ = read(text)
    assert cls == "open" and not any("COUNT" in rule for rule in rules)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("A kiln can only be fired once.", counts.Limit(1, ("fire kiln",), ("kiln",))),
        ("Do not fire a kiln more than 3 times!", counts.Limit(3, ("fire a kiln",), ())),
        ("Kilns may be fired up to two times for every oven.", counts.Limit(2, ("fire Kilns",), ("oven",))),
        ("A kiln may be fired.", None),
        ("A kiln must be fired twice.", None),
        ("A kiln may be fired at most twice and at most once.", None),
        ("You may only fire a kiln.", None),
    ],
)
def test_the_words_that_say_how_often_are_taken_out(text: str, limit: counts.Limit | None) -> None:
    assert counts.limit(text) == limit
