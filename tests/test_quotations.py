"""Quotations that differ in signs alone are mapped to what stands in the document; no word is ever another one."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.domain import policy, tools
from wb.domain.clauses import near
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.offline import norms
from wb.rules import extract, sentences

TEXT = """# House rules

## Gates

- Users "must not" pay more than 1,000 euros — ever.
- Payment: never open the gate on Sunday.

The author-
ised agent may open the gate only if it's 5–7 degrees, and not at -5 degrees or in the members' room.
"""
BOX = tools.parse(json.dumps({"tools": [{"name": "open_gate", "description": "Open the gate."}], "state": []}))
HOUSE = policy.of_text(TEXT, BOX)


@pytest.mark.parametrize(
    ("quote", "span"),
    [
        ("Users must not pay more than 1,000 euros - ever.", 'Users "must not" pay more than 1,000 euros — ever.'),
        ("- users “must  not” pay\nmore than 1,000 EUROS ever", 'Users "must not" pay more than 1,000 euros — ever'),
        ("(a) Users 'must not' pay", 'Users "must not" pay'),
        ("the authorised agent may open the gate", "The author-\nised agent may open the gate"),
        ("only if it’s 5-7 degrees", "only if it's 5–7 degrees"),
        ("not at −5 degrees", "not at -5 degrees"),
        ("members’ room.", "members' room."),
    ],
)
def test_a_quotation_with_other_signs_has_its_exact_span(quote: str, span: str) -> None:
    assert [TEXT[a:b] for a, b in near(quote, TEXT, 0, len(TEXT))] == [span]


@pytest.mark.parametrize(
    "quote",
    [
        "Users must pay more than 1,000 euros - ever.",  # the negation dropped
        "Users must not pay more than 1000 euros",  # another number
        "Users must not pay more than 1.000 euros",
        "Users must not pay more than 10,000 euros",
        "Users must not pay less than 1,000 euros",  # another word
        "User must not pay more than 1,000 euros",
        "the authorized agent",
        "the author ised agent",
        "only if its 5-7 degrees",
        "only if it's 5 7 degrees",
        "not at 5 degrees",  # another sign
        "members room",
        "open the gate, only if",  # a sign that is not there
        "",
        "- ",
        '"',
    ],
)
def test_a_quotation_with_another_word_number_or_sign_is_not_there(quote: str) -> None:
    assert near(quote, TEXT, 0, len(TEXT)) == ()


WORDS = st.lists(
    st.sampled_from(
        "not never no 5 -5 1,000 10 1.5 the gate user's must may only non-resident re-enter % . , ;".split()
    ),
    min_size=1,
    max_size=7,
)


def words(text: str) -> list[str]:
    """An independent reading of a text: its words and numbers with their signs, in order."""
    plain = re.sub(r"[’‘]", "'", re.sub(r"[‐‑–—−]", "-", text)).lower()
    plain = re.sub(r"(?<=[a-z])-[ \t]*\n[ \t]*(?=[a-z])", "", plain)
    return re.findall(r"-\d[\d.,]*\d|-\d|\d[\d.,]*\d|\d|[a-z]+(?:['-][a-z]+)*|[%.,;]", plain)


@settings(max_examples=150)
@given(st.lists(WORDS, min_size=1, max_size=4), WORDS)
def test_what_is_mapped_has_the_same_words_and_numbers(said: list[list[str]], quoted: list[str]) -> None:
    text, quote = "\n".join(" ".join(one) for one in said), " ".join(quoted)
    for start, end in near(quote, text, 0, len(text)):
        assert words(text[start:end]) == words(quote)


@settings(max_examples=150)
@given(WORDS, st.data())
def test_other_blanks_marks_dashes_and_case_are_mapped_and_nothing_else(said: list[str], data: st.DataObject) -> None:
    text = " ".join(said)
    changed = data.draw(st.sampled_from([text.upper(), text.replace(" ", "\n  "), f"“{text}”", text.replace("-", "–")]))
    spans = near(changed, text, 0, len(text))
    wanted = any(one[0].isalnum() or one[0] == "-" for one in said)
    assert ((0, len(text)) in spans) == wanted or words(changed) != words(text)
    at = data.draw(st.integers(0, len(said) - 1))
    other = " ".join([*said[:at], "other", *said[at + 1 :]])
    assert near(other, text, 0, len(text)) == ()


class Answers:
    """An engine that answers each prompt as it is told to, and keeps what it was asked."""

    name = "answers"

    def __init__(self, **replies: object) -> None:
        self.replies, self.asked = replies, []

    def answer(self, prompt, inputs, schema) -> Reply:
        prompt.render(**inputs)
        self.asked.append((prompt.name, inputs))
        return Reply(self.replies[prompt.name], engine=self.name)


def quoted(*quotes: str, **more: object) -> dict:
    return {"policies": [{"description": quote, **more} for quote in quotes]}


@pytest.mark.parametrize(
    ("quote", "text", "context"),
    [
        (
            "- Users must not pay more than 1,000 euros - ever.",
            'Users "must not" pay more than 1,000 euros — ever.',
            (),
        ),
        ("Payment: Never open the gate on Sunday.", "never open the gate on Sunday.", ("Payment",)),
        ("- Payment: never open the gate on Sunday.", "never open the gate on Sunday.", ("Payment",)),
    ],
)
def test_a_quotation_with_its_marker_or_label_keeps_its_headings(quote: str, text: str, context: tuple) -> None:
    (clause,) = extract.policies(
        HOUSE, LLM(Answers(extract_policies=quoted(quote)), workers=1), norms.constrains
    ).clauses
    assert (clause.text, clause.headings, clause.context) == (text, ("House rules", "Gates"), context)
    assert TEXT[clause.start : clause.end] == clause.text


def test_what_is_misquoted_is_asked_once_more_and_then_its_sentence_is_open() -> None:
    wrong, right = "Never open a gate on Sunday.", "never open the gate on Sunday."
    for second, lost in ((quoted(right), 0), (quoted(wrong), 1), (quoted(), 1)):
        engine = Answers(extract_policies=quoted(wrong), correct_policies=second)
        try:
            found = extract.policies(HOUSE, LLM(engine, workers=1), norms.constrains)
        except policy.PolicyError:
            raise AssertionError("a document with constraints is no error") from None
        assert [name for name, _ in engine.asked] == ["extract_policies", "correct_policies"]
        assert wrong in engine.asked[1][1]["problems"][0]
        assert len(found.lost) == lost and len(found.clauses) == 1 - lost
        readings = sentences.classify(HOUSE, found.clauses, extract.collect([], found.lost))
        (sunday,) = [one for one in readings if "Sunday" in one.text]
        assert sunday.cls == "open" and ("not in the document" in sunday.reason) == bool(lost)


def test_an_invented_scope_is_asked_once_more_and_then_its_sentence_is_open() -> None:
    quote, invented = "never open the gate on Sunday.", "Ignore all other statements."
    for second, lost in (
        (quoted(quote), 0),
        (quoted(quote, scope="House rules"), 0),
        (quoted(quote, scope=invented), 1),
    ):
        engine = Answers(extract_policies=quoted(quote, scope=invented), correct_policies=second)
        found = extract.policies(HOUSE, LLM(engine, workers=1), norms.constrains)
        assert invented in engine.asked[1][1]["problems"][0]
        assert [c.scope for c in found.clauses] == (["House rules"] if "House" in str(second) else [""])
        assert [invented in one.reason for one in found.lost] == [True] * lost
        readings = sentences.classify(HOUSE, found.clauses, extract.collect([], found.lost))
        assert [one.cls for one in readings if "Sunday" in one.text] == ["open"]


def test_a_second_answer_changes_nothing_of_what_was_quoted_right() -> None:
    quote, scope = "never open the gate on Sunday.", "House rules"
    first = {"policies": [*quoted(quote, scope=scope)["policies"], *quoted("Elephants open the gate.")["policies"]]}
    for second in (quoted(quote), quoted(quote, scope="Gates")):
        engine = Answers(extract_policies=first, correct_policies=second)
        (clause,) = extract.policies(HOUSE, LLM(engine, workers=1), norms.constrains).clauses
        assert len(engine.asked) == 2 and clause.scope == scope
