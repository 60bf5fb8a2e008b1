"""A text in few characters: the one way in which anything shown to a person is shortened.

It ends where words end.  A number is never cut, nor what belongs to it ("$10/day", "3.5", "2026-01-01"), for the half
of one is another number.
"""

from __future__ import annotations

import re

ENDS = re.compile(r"(?=[ _])")  # of words, and of the words of a name
PARTS = re.compile(r"(?<=[^\w\s])(?=\w)")  # within what has no blank, such as an address
DIGIT = re.compile(r"\d")


def shortened(text: str, most: int) -> str:
    """A text of at most `most` characters, at least 1, on one line, with "…" where something is left out.

    What is left ends before a blank or an underscore.  Of a text that begins with something longer, a word or an
    address, there is what stands before one of its parts, if no part has a digit, else nothing but "…".
    """
    if most < 1:
        raise ValueError(f"1 character or more was required; got {most}")
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    ends = [end.start() for end in ENDS.finditer(line, 1, most)]
    first = re.split("[ _]", line, maxsplit=1)[0]
    if not ends and not DIGIT.search(first):
        ends = [end.start() for end in PARTS.finditer(line, 1, most)]
    return f"{line[: ends[-1]] if ends else ''}…"
