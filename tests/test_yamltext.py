"""YAML as texts, lists and mappings with their lines; whatever could repeat, run or be read in two ways is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.domain import yamltext
from wb.domain.yamltext import YamlError

TREES = st.recursive(
    st.text(st.characters(codec="ascii", min_codepoint=32)),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text("abc", min_size=1), x, max_size=3),
    max_leaves=8,
)


def read(text: str) -> object:
    return yamltext.parse(text, lambda event: event.value).data


@given(TREES)
def test_json_is_read_as_it_stands(tree) -> None:
    assert read(json.dumps(tree)) == tree


def test_each_part_has_its_line() -> None:
    found = yamltext.parse("\ufeffa: x\nb:\n  - y\n  - c: no\n\nd: 2024-01-01\n", lambda event: event.value)
    assert found.data == {"a": "x", "b": ["y", {"c": "no"}], "d": "2024-01-01"}
    assert found.lines == {
        (): 1, ("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 1): 4, ("b", 1, "c"): 4, ("d",): 6,
    }  # fmt: skip
    assert yamltext.parse("", str) == (None, {}) and yamltext.parse("# x\n", str).data is None
    assert yamltext.parse("a: 'x'", lambda event: event.style).data == {"a": "'"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: x\nb: &n y", "line 2: YAML was required; got an anchor or alias, n: write it out"),
        ("a: *n", "line 1: YAML was required; got an anchor or alias, n"),
        ("a: !!int 3", "line 1: YAML was required; got a tag, .*int: a text that begins with !"),
        ("a: x\n\na: y", "line 3: YAML was required; got the key 'a' again: each key once was required"),
        ("? [a]\n: x", "line 1: YAML was required; got a key that is no text"),
        ("a: x\n---\nb: y", "line 2: YAML was required; got a second document"),
        ("a: x\nb: [x, y: {", "line [23]: YAML was required; got "),
        ("a: [x y] z", "line 1: .*"),
        ("- a\n b: [", "line "),
        ("{" * 5000, "line 1: YAML was required; got"),
    ],
)
def test_anything_else_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(YamlError, match=f"^{message}") as refused:
        read(text)
    assert len(str(refused.value)) < 260


def test_brackets_in_a_text_are_explained() -> None:
    with pytest.raises(YamlError, match="stands in quotes"):
        read("a: [x, y z")
