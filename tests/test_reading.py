"""Replies are read through thoughts, prose and fences; what was thought is never the answer, and two are none."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.models.endpoint import NotRead, json_answer

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "why": {"type": "string"}}, "required": ["n"]}
GOOD, BAD = '{"n": 1}', '{"n": 666}'

MARKS = (
    "[THINK]maybe {}[/THINK]I cannot tell.",
    "◁think▷{}◁/think▷ no",
    "<seed:think>{}</seed:think>",
    "<|begin_of_thought|>{}<|end_of_thought|>",
    "<|channel|>analysis<|message|>{}<|end|>I refuse.",
    "<scratchpad>{}</scratchpad> no",
    "<analysis>{}</analysis>",
    "[thinking] {}",
)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n {GOOD} \n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```\n",
        f"Here it is: {GOOD} Anything else?",
        f"Sure!\n\n```json\n{GOOD}\n```\n\nI took {{n}} from the text.",
        f"<think>It might be {BAD}, or not.</think>{GOOD}",
        f"<think>\n{BAD}\n</think>\n\n```json\n{GOOD}\n```",
        f"<thinking>{BAD}</thinking>\n{GOOD}",
        f"<THINK>{BAD}</THINK >{GOOD}",
        f"<think>a <think>{BAD}</think> b {BAD}</think>{GOOD}",
        f"Hm, let me see.</think>{GOOD}",  # a template that leaves the opening tag out
        f"<think>one</think><think>{BAD}</think>{GOOD}",
        f"{GOOD} and once more {GOOD}",
        f'{{"name": "something else"}} {GOOD}',
        f"{GOOD}<think>{BAD}</think>{GOOD}",
        f"[THINK]{BAD}[/THINK] {GOOD}",
        f"<seed:think>{BAD}</seed:think>{GOOD}",
        f"◁think▷{BAD}◁/think▷{GOOD}",
        f"<|channel|>analysis<|message|>{BAD}<|end|><|start|>assistant<|channel|>final<|message|>{GOOD}<|return|>",
        '{"n": 1, "why": "</think> {\\"n\\": 666}"}',
    ],
)
def test_the_answer_is_found(text: str) -> None:
    assert json_answer(text, SCHEMA)["n"] == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("I cannot help with that.", "no JSON object of the declared shape"),
        (f"<think>{BAD}</think>", "no JSON object"),
        (f"<think>{BAD}", "no JSON object"),
        *((mark.format(BAD), "no JSON object") for mark in MARKS),
        (f"{GOOD}<think>Should it have been {BAD}?", "no JSON object"),
        (f"{BAD}<think>so be it</think>", "before the end of a thought"),
        (f'maybe {BAD}; the text says "<think>", hm </think> I refuse.', "before the end of a thought"),
        (f"{BAD}</think> I do not know.", "stands before the end of a thought"),
        (f'<think>the text says "</think>{BAD}" hm </think> I refuse.', "no JSON object"),
        (f'<think>the text says "</think>{BAD}<think>" hm </think> I refuse.', "no JSON object"),
        (f'{GOOD} The document says "</think>{BAD}"', "before the end of a thought"),
        (f"{BAD}<think>no, rather</think>{GOOD}", "before the end of a thought"),
        (f"{GOOD} or {BAD}", "2 that differ"),
        (f"```json\n{GOOD}\n```\n```json\n{BAD}\n```", "2 that differ"),
        (f'{{"wrapped": {BAD}}}?', "no JSON object"),
        (f'{{"n": 1, "also": {BAD}', "not JSON"),  # the inner one is no answer
        (f'{{"broken": [, {BAD}', "not JSON"),
        ('Answer: {"n": "many"}', "no JSON object of the declared shape"),
        (f"[{GOOD}]", "a JSON object was required; got list"),
        ("7", "a JSON object was required; got int"),
        ('{"n": 1, "n": 666}', "a key stands twice"),
        ('So {"n": 1, "n": 666}', "a key stands twice"),
        ('{"n": 1, "why": "\\ud800"}', "not JSON"),
        ("{" * 100_000, "not JSON"),
        ('{"n":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_answer_is_refused(text: str, why: str) -> None:
    with pytest.raises(NotRead, match=why):
        json_answer(text, SCHEMA)


@pytest.mark.parametrize(
    "question",
    [
        f"The agent said: {BAD}",
        'The agent said: {"n":\n 666}',
        json.dumps(["it said", f"so: {BAD}"]),
        json.dumps([json.dumps({"said": BAD})]),
    ],
)
def test_what_a_reply_quotes_from_the_question_is_no_answer(question: str) -> None:
    for text in (f"The agent gave {BAD}, I cannot tell.", f'<think>It says "</think>{BAD}" and stops'):
        with pytest.raises(NotRead, match="stands in the question"):
            json_answer(text, SCHEMA, question)
        assert json_answer(text, SCHEMA, "What do you say?") == {"n": 666}
    assert json_answer(BAD, SCHEMA, question) == json_answer(f"```json\n{BAD}\n```", SCHEMA, question) == {"n": 666}
    assert json_answer(f"I take {GOOD}.", SCHEMA, question) == {"n": 1}


PIECES = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<thinking>", "[THINK]", "[/THINK]", BAD, "so ", "{x}", "```json\n", "\n```"]
    ),
    max_size=12,
).map("".join)


@given(PIECES, PIECES)
def test_nothing_inside_a_thought_is_ever_the_answer(inside: str, around: str) -> None:
    """Whatever tags a document smuggles into a thought: what the outermost tags enclose is not taken."""
    text = f"<think>{inside}</think>{around.replace(BAD, '')}"
    try:
        assert json_answer(text, SCHEMA) is None
    except NotRead:
        pass


@settings(max_examples=40)
@given(
    st.recursive(
        st.integers() | st.text(max_size=9),
        lambda one: st.lists(one) | st.dictionaries(st.text(max_size=3), one),
        max_leaves=5,
    )
)
def test_a_reply_that_is_json_alone_is_taken_as_it_is(value: object) -> None:
    text = json.dumps({"n": 1, "other": value})
    assert json_answer(text, SCHEMA) == json.loads(text)
