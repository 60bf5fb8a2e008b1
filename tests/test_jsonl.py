"""JSON lines as RFC 8259 means them to be exchanged: what is one is read as it stands, anything else is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.domain import jsonl
from wb.domain.jsonl import LineError

FLAT = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(FLAT, lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(), x, max_size=3), max_leaves=8)


class Line(jsonl.Strict):
    """One line of a format made for these tests."""

    name: str
    size: int = 0


def tuples(value: object) -> object:
    if isinstance(value, list):
        return tuple(map(tuples, value))
    return {k: tuples(v) for k, v in value.items()} if isinstance(value, dict) else value


@given(JSON)
def test_what_is_json_is_read_with_lists_as_tuples(value) -> None:
    assert jsonl.value(json.dumps(value)) == tuples(value)
    assert jsonl.value(json.dumps(value, ensure_ascii=False)) == tuples(value)


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"JSON was required; got \"\{\" \(.* at column 2\)"),
        ("[1,\n x]", r"JSON was required; .* at line 2, column 2\)"),
        ("NaN", "a finite number was required; got NaN"),
        ("[-Infinity]", "a finite number was required; got -Infinity"),
        ("1e999", "a finite number was required; got one that is too large"),
        ('{"a": 1, "a": 2}', '^each key once was required; got "a" twice$'),
        ('{"b": {"a": 1},\n "c": ["a", {"x": 1, "y": 2,\n "x": 3}]}', r'^each key once .* "x" twice \(at line 3\)$'),
        ('"\\ud800"', "whole Unicode characters were required"),
        ('{"\\udfff": 1}', "whole Unicode characters were required"),
        (deep(101), "JSON nested at most 100 levels was required; got more"),
        (deep(100_000), "JSON nested at most 100 levels was required; got more"),
        ("1" * 1001, "integers of at most 1000 digits were required; got one of 1001"),
    ],
)
def test_what_is_not_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        jsonl.value(text)


def test_what_is_just_within_its_limits_is_read() -> None:
    assert jsonl.value(deep(100)) and jsonl.value("1" * 1000) == int("1" * 1000)
    assert jsonl.value('{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]}')["b"] == ({"a": 1}, {"a": 1})
    assert jsonl.value('"\\ud83d\\ude00"') == "😀"


def test_what_was_got_is_shown_in_ascii_and_cut() -> None:
    assert jsonl.shown({"a": "é"}) == '{"a": "\\u00e9"}' and jsonl.shown({1}) == '"{1}"'
    assert jsonl.shown("x" * 78) == f'"{"x" * 78}"' and jsonl.shown("x" * 79) == f'"{"x" * 79}…'


def read(*lines: bytes | str) -> list[tuple[int, Line]]:
    return list(jsonl.checked(lines, Line, "house.jsonl"))


def test_lines_are_read_with_their_numbers_and_empty_ones_passed_over() -> None:
    found = read(b'\xef\xbb\xbf{"name": "a"}\r\n', " \t\n", '{"name": "b", "size": 2}')
    assert found == [(1, Line(name="a")), (3, Line(name="b", size=2))]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"name": "\xff"}', "UTF-8 text was required; got byte 0xff at column 11"),
        ("[1]", r"a JSON object was required; got \[1\]"),
        ('\ufeff{"name": "a"}', "JSON was required"),
        ("{}", r"name was required; got \{\}"),
        ('{"name": 1}', "name: a valid string was required; got 1"),
        ('{"name": "a", "size": "2"}', 'size: a valid integer was required; got "2"'),
        ('{"name": "a", "other": 2}', "only keys of the format were required; got other"),
        ('{"size": true, "x": 1, "y": 1, "z": 1}', "name was required; .*; size: .*; only keys .* got x$"),
    ],
)
def test_a_line_that_is_not_of_the_format_is_refused_with_its_place(line: bytes | str, message: str) -> None:
    with pytest.raises(LineError, match=f"^house.jsonl, line 2: .*{message}"):
        read('{"name": "a"}', line)
