"""Replies that a person pastes in: the question waits in a file, its reply is checked, and kept as a recording."""

import pytest
from test_endpoint import COUNT, SCHEMA

from wb.models.client import NotPasted, Pasted
from wb.models.endpoint import MalformedReply, Replies


def test_a_question_waits_for_its_reply_and_is_asked_once(tmp_path) -> None:
    model = Pasted("paste:me", tmp_path / "asked", Replies(tmp_path / "replies"))

    def answer(text: str = "three words"):
        return model.answer(COUNT, {"text": text}, SCHEMA)

    for _ in range(2):
        with pytest.raises(NotPasted, match=r"paste the reply to .*\.md into .*\.reply\.json"):
            answer()
    (question,) = (tmp_path / "asked").iterdir()
    assert "three words" in question.read_text("utf-8") and "Count." in question.read_text("utf-8")
    place = question.with_name(f"{question.stem}.reply.json")
    place.write_text("I cannot say.", "utf-8")
    with pytest.raises(MalformedReply):
        answer()
    place.write_text('Here you are:\n```json\n{"n": true}\n```\n', "utf-8")
    first = answer()
    assert first.value == {"n": True} and (first.usage.calls, first.engine) == (1, "paste:me")
    place.unlink()
    again = answer()
    assert again.value == {"n": True} and (again.usage.calls, again.usage.replayed) == (0, 1)
    with pytest.raises(NotPasted):
        answer("other words")


def test_a_question_of_one_trial_is_no_question_of_another(tmp_path) -> None:
    model = Pasted("paste:me", tmp_path / "asked", Replies(tmp_path / "replies"))
    for number in (1, 2, 1):
        with pytest.raises(NotPasted):
            model.recording_in(tmp_path / f"task.{number}" / "replies").answer(COUNT, {"text": "a b"}, SCHEMA)
    one, other = sorted((tmp_path / "asked").iterdir())
    assert one.read_text("utf-8") == other.read_text("utf-8")
    one.with_name(f"{one.stem}.reply.json").write_text('{"n": true}', "utf-8")
    answers = 0
    for number in (1, 2):
        try:
            answers += model.recording_in(tmp_path / f"task.{number}" / "replies").answer(
                COUNT, {"text": "a b"}, SCHEMA
            ).value == {"n": True}
        except NotPasted:
            continue
    assert answers == 1
