"""What a text says under escapes of JSON: found however deep, and refused where that cannot be told."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.logic import escapes

whole = st.text(st.characters(exclude_categories=["Cs"]))


@given(text=whole, around=whole, nested=st.integers(1, 6), ascii=st.booleans())
def test_what_stands_in_json_within_json_is_said(text, around, nested, ascii):
    said = text
    for _ in range(nested):
        said = json.dumps({around: said}, ensure_ascii=ascii)
    assert any(text in one for one in escapes.resolved(said))
    assert next(iter(escapes.resolved(said))) == said, "first the text as it stands"


@given(whole.filter(lambda text: "\\" not in text))
def test_a_text_without_escapes_says_itself_alone(text):
    assert list(escapes.resolved(text)) == [text]


def test_by_hand():
    assert list(escapes.resolved(r"\u0061\n\q")) == [r"\u0061\n\q", "a\n\\q"]
    assert list(escapes.resolved(r"\\u0061")) == [r"\\u0061", r"\u0061", "a"]
    assert list(escapes.resolved(r"\ud83d\ude00 \ud83d"))[1] == "\U0001f600 \ufffd"


@pytest.mark.parametrize(("deep", "told"), [(escapes.NESTED - 2, True), (escapes.NESTED, False)])
def test_what_is_nested_too_deep_cannot_be_told(deep, told):
    text = "\\" + "u005c" * deep + "u0061"
    if told:
        assert list(escapes.resolved(text))[-1] == "a"
    else:
        with pytest.raises(ValueError, match="levels deep was required"):
            list(escapes.resolved(text))
