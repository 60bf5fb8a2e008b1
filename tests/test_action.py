"""What a turn may be: replies of the prompt become steps, and what is not sure stays open."""

from collections.abc import Mapping, Sequence

import pydantic
import pytest

from wb.domain.events import Extracted, Observation, recognise
from wb.domain.tools import Tool, Toolbox
from wb.models import prompt as prompts
from wb.models.client import LLM, Reply
from wb.models.ledger import Usage

BOX = Toolbox(
    (
        Tool("lend", "Lend a book.", examples=("lend me a novel",)),
        Tool("reserve", "Reserve a book.", examples=("keep it for me",)),
        Tool("ring", "Ring the bell."),
    )
)
TURN = Observation(
    "get the novel", "library", ("opened the page",), "click Borrow", "I will borrow it", {"age": 12, "card": True}
)


class Scripted:
    """Stands for a model: answers every request with the same value and keeps what it was asked."""

    name = "scripted"

    def __init__(self, value: dict[str, object]) -> None:
        self.value, self.asked = value, []

    def answer(self, prompt: prompts.Prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
        prompt.render(**inputs)
        self.asked.append(inputs)
        return Reply(value=self.value, engine=self.name, usage=Usage())


def reply(tools: Sequence[str] = (), possible: Sequence[str] = ()) -> dict[str, object]:
    return {"tools": list(tools), "possible": list(possible), "reason": "the words"}


def recognised(value: dict[str, object]) -> list[list[str]]:
    (found,) = recognise([TURN], BOX, LLM(Scripted(value)))
    return [[call.tool for call in step.calls] for step in found.steps]


def test_a_sure_reply_is_one_step_with_the_state_of_the_turn() -> None:
    (found,) = recognise([TURN], BOX, LLM(Scripted(reply(["lend"]))))
    assert found.sure and found.steps[0].state == {"age": 12, "card": True} and found.steps[0].calls[0].tool == "lend"


@pytest.mark.parametrize(
    ("value", "steps"),
    [
        (reply(["lend", "reserve"]), [["lend", "reserve"]]),
        (reply([], ["lend", "reserve"]), [["lend"], ["reserve"]]),
        (reply(), []),
        (reply(["burn"]), []),
        (reply(["lend"], ["burn"]), []),
    ],
)
def test_replies_become_readings(value: dict[str, object], steps: list[list[str]]) -> None:
    assert recognised(value) == steps


def test_a_tool_that_does_not_exist_is_named_in_the_reason() -> None:
    (found,) = recognise([TURN], BOX, LLM(Scripted(reply(["burn"]))))
    assert "['burn']" in found.reason


def test_the_state_of_the_turn_is_never_asked_about() -> None:
    engine = Scripted(reply(["lend"]))
    recognise([TURN], BOX, LLM(engine))
    assert set(engine.asked[0]) == prompts.load("extract_action").inputs
    assert "card" not in str(engine.asked[0]) and "12" not in str(engine.asked[0])


def test_every_tool_is_offered_also_one_without_examples() -> None:
    engine = Scripted(reply(["lend"]))
    recognise([TURN], BOX, LLM(engine))
    assert [row["name"] for row in engine.asked[0]["tools"]] == ["lend", "reserve", "ring"]


def test_a_malformed_reply_leaves_the_turn_open() -> None:
    (found,) = recognise([TURN], BOX, LLM(Scripted({"tool": "lend"})))
    assert found.steps == () and not found.sure


def test_a_reply_with_other_fields_is_refused() -> None:
    with pytest.raises(pydantic.ValidationError):
        Extracted.model_validate({**reply(["lend"]), "label": "deny"})
