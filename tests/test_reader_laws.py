"""What holds of every reading: no word is passed over, none that negates or limits leaves it alone, none crashes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.domain import policy
from wb.domain.policy import Policy, pieces
from wb.logic import cel
from wb.logic.syntax import render
from wb.offline import binding, grammar, lexicon, reader

HANDBOOK = policy.load("web_tasks")
NEGATING = "not never no without unless nobody hardly except".split()
LIMITING = "all every some two other first again twice later most few".split()


def readable(source: Policy) -> list[str]:
    """The sentences of a policy that are read by themselves, as they are given to the grammar."""
    rows = zip(pieces(source), reader.read(source), strict=True)
    return [reader.whole(piece) for piece, one in rows if one.drafts and piece.kind != "cell"]


SENTENCES = readable(HANDBOOK)


def meaning(text: str) -> frozenset[object]:
    """What is read of a sentence, none of it where it is not read."""
    try:
        _, found = binding.read(text, HANDBOOK.toolbox)
    except grammar.Unread:
        return frozenset()
    tests = {(p.name, p.tools, cel.render(p.test) if p.test else None) for one in found for p in one.predicates}
    return frozenset((render(one.formula), frozenset(tests)) for one in found)


def test_most_of_the_handbook_is_here() -> None:
    assert len(SENTENCES) == 54 and all(map(meaning, SENTENCES))


@pytest.mark.parametrize("text", SENTENCES)
def test_a_word_that_nothing_knows_opens_a_sentence_wherever_it_stands(text: str) -> None:
    words = text.split()
    assert not any(meaning(" ".join((*words[:k], "zebra", *words[k:]))) for k in range(len(words)))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(SENTENCES), st.sampled_from(NEGATING + LIMITING), st.integers(0, 40))
def test_no_word_that_negates_or_limits_leaves_a_reading_as_it_was(text: str, word: str, at: int) -> None:
    words = text.split()
    changed = " ".join((*words[: at % len(words)], word, *words[at % len(words) :]))
    assert meaning(changed) != meaning(text), changed


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([one for one in SENTENCES if re.search(r"\d|\bten\b|\btwo\b", one)]), st.integers(31, 99))
def test_another_number_is_another_rule(text: str, number: int) -> None:
    changed = re.sub(r"\d[\d,]*|\bten\b|\btwo\b", str(number), text, count=1)
    assert meaning(changed) and meaning(changed) != meaning(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("must not", "must"),
        ("cannot", "can"),
        ("may", "must not"),
        ("unless", "if"),
        ("only if", "unless"),
        ("Never", "Always"),
        ("Do not", "Always"),
        ("under", "over"),
        ("more than", "less than"),
        ("at most", "at least"),
        ("is not", "is"),
        ("without", "with"),
        ("Before", "After"),
        ("before", "after"),
    ],
)
def test_the_opposite_of_a_word_is_never_read_alike(one: str, other: str) -> None:
    having = [text for text in SENTENCES if re.search(rf"\b{one}\b", text)]
    assert having and not [t for t in having if meaning(re.sub(rf"\b{one}\b", other, t, count=1)) == meaning(t)]


CLOSED = sorted({word for phrase in lexicon._TYPES for word in phrase})
OPEN = "order place file delete user member consent amount confirmed ten 18 $500 , ; : . ( \" ' # * é".split()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(CLOSED + OPEN), max_size=14))
def test_nothing_that_is_written_crashes_the_reader(words: list[str]) -> None:
    source = policy.of_text(" ".join(words) or "x", HANDBOOK.toolbox)
    for one in reader.read(source):
        assert one.cls in ("rule", "duty", "not a constraint", "open") and one.reason
        assert bool(one.drafts) <= (one.cls in ("rule", "duty"))


@given(st.sampled_from(sorted(lexicon.words("doubtful"))), st.integers(0, 6))
def test_a_doubtful_word_in_a_statement_leaves_it_open(word: str, at: int) -> None:
    words = "The trips are listed in local time".split()
    assert reader.harmless(" ".join(words), HANDBOOK.toolbox)
    said = [*words[: at + 1], *word.split("-"), *words[at + 1 :]]
    assert not reader.harmless(" ".join(said), HANDBOOK.toolbox)


def test_a_sentence_of_too_many_readings_is_open_in_little_time() -> None:
    text = "The assistant must not " + " or ".join(["delete a file that the user named"] * 60)
    with pytest.raises(grammar.Unread):
        binding.read(text, HANDBOOK.toolbox)
