"""Shortened texts: at most so long, and never half a word or half a number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wb.logic.wording import shortened

NUMBERS = ["$10/day", "3.5", "1,000,000", "2026-01-01", "12:30", "50%", "€1.99", "10°", "1e-3"]
words = st.text("abcdeü", min_size=1, max_size=30) | st.sampled_from(NUMBERS) | st.integers(0, 10**9).map(str)
parts = st.lists(words, min_size=1, max_size=8)


@given(parts, st.sampled_from([" ", "_", "\n ", "  "]), st.integers(1, 60))
@example(["pay", "$10/day"], " ", 6)
@example(["$10/day"], " ", 3)
def test_what_is_left_is_whole_words_and_whole_numbers(given_parts: list[str], between: str, most: int) -> None:
    short, line = shortened(between.join(given_parts), most), " ".join(between.join(given_parts).split())
    if len(line) <= most:
        assert short == line
        return
    kept = short.removesuffix("…")
    assert short.endswith("…") and len(short) <= most and line.startswith(kept)
    assert not kept or line[len(kept)] in " _", "it ends where a word does"
    assert re.split("[ _]", kept) == re.split("[ _]", line)[: len(re.split("[ _]", kept))] or not kept


@given(st.text(max_size=80), st.integers(1, 60))
def test_any_text_is_at_most_so_long_and_no_letters_or_digits_that_touch_are_parted(text: str, most: int) -> None:
    short, line = shortened(text, most), " ".join(text.split())
    assert len(short) <= most and "\n" not in short
    if short != line:
        kept = short.removesuffix("…")
        left = line[len(kept) : len(kept) + 1]
        assert line.startswith(kept) and not (kept[-1:].isalnum() and left.isalnum())
        assert (
            not (kept[-1:].isdigit() or left.isdigit()) or left in (" ", "_") or kept.endswith((" ", "_")) or not kept
        )


@pytest.mark.parametrize(
    ("text", "most", "short"),
    [
        ("fees of $10/day", 11, "fees of…"),
        ("fees of $10/day", 15, "fees of $10/day"),
        ("age_at_least_13", 14, "age_at_least…"),
        ("https://library.example/loans/of/books", 30, "https://library.example/…"),
        ("https://library.example/2026/books", 30, "…"),
        ("x" * 30, 10, "…"),
    ],
)
def test_examples(text: str, most: int, short: str) -> None:
    assert shortened(text, most) == short


def test_no_length_is_none() -> None:
    with pytest.raises(ValueError, match="1 character or more was required; got 0"):
        shortened("a", 0)


def test_nothing_that_is_told_is_cut_in_another_way() -> None:
    """A slice of a text that goes into a message or a table would cut where it happens to end."""
    cut = re.compile(r"\[:\s?\w+\]!r|\[:\s?\d\d+\] \+ .…|\[:\s?[A-Z]+\]\}…")
    sent = {"client.py", "answers.py"}  # to a model, whose recorded replies are named by what it was sent
    bare = ("body[:120]!r", 'text[:24] + "…"')  # bytes, and digests
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in sorted(Path(__file__).parents[1].joinpath("wb").rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if path.name not in sent and cut.search(line) and not any(one in line for one in bare)
    ]
    assert not found, "\n".join(found)
