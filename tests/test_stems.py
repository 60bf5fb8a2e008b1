"""Words are compared by their stems, and words that name nothing have none."""

from __future__ import annotations

import pytest

from wb.rules import stems

FORMS = """book booked booking books|cancel cancelled cancellation|pay paid pays payment|policy policies|city cities
    |stop stopped stopping|note notes|child children|open opened opens""".split("|")


@pytest.mark.parametrize("line", FORMS)
def test_forms_of_a_word_share_a_stem(line: str) -> None:
    assert len({stems.stem(word) for word in line.split()}) == 1, [stems.stem(word) for word in line.split()]


def test_stems_that_differ_and_are_left_out() -> None:
    assert stems.stem("book") != stems.stem("boot") and stems.stem("class") == "clas"
    assert stems.stems("The user's bookedRooms, and e-mail a_note to it") == ("book", "room", "email", "not")
