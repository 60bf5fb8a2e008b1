"""Replies that a person pastes in: the question waits in a file, its reply is checked, and kept as a recording."""

import os
import subprocess
import sys
from pathlib import Path

import prompt_path
import pydantic
import pytest
from test_endpoint import COUNT, SCHEMA

from wb.models import client
from wb.models import prompt as prompts
from wb.models.client import LLM, NotPasted, Pasted
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


def test_a_reply_that_is_a_link_or_no_text_is_none(tmp_path) -> None:
    model = Pasted("paste:me", tmp_path / "asked", Replies(tmp_path / "replies"))
    with pytest.raises(NotPasted):
        model.answer(COUNT, {"text": "a"}, SCHEMA)
    (question,) = (tmp_path / "asked").iterdir()
    place = question.with_name(f"{question.stem}.reply.json")
    (tmp_path / "secret").write_text('{"n": true}', "utf-8")
    place.symlink_to(tmp_path / "secret")
    with pytest.raises(NotPasted):
        model.answer(COUNT, {"text": "a"}, SCHEMA)
    place.unlink()
    place.write_bytes(b"\xff\xfe{")
    with pytest.raises(MalformedReply):
        model.answer(COUNT, {"text": "a"}, SCHEMA)
    place.write_text('{"n": true}', "utf-8")
    assert model.answer(COUNT, {"text": "a"}, SCHEMA).value == {"n": True}


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


ROOT = Path(__file__).resolve().parents[1]


class Count(pydantic.BaseModel):
    """A reply of the declared type."""

    n: bool


@pytest.fixture(autouse=True)
def _count(monkeypatch) -> None:
    """The prompt `count`, beside those of the project."""
    monkeypatch.setattr(prompts, "load", lambda name: COUNT)


def pasting(tmp_path: Path) -> tuple[LLM, Path]:
    """A model whose replies are pasted, and the folder of its questions."""
    return client.connect("paste:me", offline=None, replies_dir=tmp_path / "replies"), tmp_path / "questions" / "me"


@pytest.mark.parametrize("written", ["I cannot say.", '{"n": [7]}'])
def test_a_malformed_paste_is_told_with_its_file_until_it_or_its_correction_is_replaced(tmp_path, written) -> None:
    llm, folder = pasting(tmp_path)

    def ask() -> object:
        return llm.ask("count", Count, text="three words")

    def awaited() -> tuple[str, ...]:
        return client.awaited(tmp_path / "replies", "paste:me")

    assert awaited() == ()
    with pytest.raises(NotPasted):
        ask()
    (first,) = folder.glob("*.md")
    assert len(awaited()) == 1 and awaited()[0].startswith(f"1 wait in {folder}: paste")
    first.with_suffix(".reply.json").write_text(written, "utf-8")
    with pytest.raises(NotPasted):
        ask()
    (second,) = client.waiting(tmp_path / "replies", "paste:me")
    count, wrong = awaited()
    assert count.startswith("1 wait") and wrong.startswith(f"{first.with_suffix('.reply.json')} is malformed: ")
    second.with_suffix(".reply.json").write_text(written, "utf-8")
    for _ in range(2):  # the correction is malformed as well: no failure, another reply is awaited
        with pytest.raises(NotPasted, match="another reply was required"):
            ask()
    assert {one.partition(" is malformed")[0] for one in awaited()} == {
        str(one.with_suffix(".reply.json")) for one in (first, second)
    }
    second.with_suffix(".reply.json").write_text('{"n": true}', "utf-8")
    assert ask().n is True
    assert awaited() == ()


def test_a_reply_that_replaces_a_recorded_one_counts(tmp_path) -> None:
    llm, folder = pasting(tmp_path)
    with pytest.raises(NotPasted):
        llm.ask("count", Count, text="a b")
    (question,) = folder.glob("*.md")
    place = question.with_suffix(".reply.json")
    for text, value in (('{"n": true}', True), ('{"n": false}', False)):
        place.write_text(text, "utf-8")
        assert llm.ask("count", Count, text="a b").n is value
    place.unlink()
    assert llm.ask("count", Count, text="a b").n is False, "from its recording"


def wb(tmp_path: Path, *line: str) -> subprocess.CompletedProcess:
    """The command, without any endpoint."""
    unset = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "WB_REPLIES": "auto"}
    return subprocess.run(
        [sys.executable, "-m", "wb.cli", *line],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | unset | {"WB_ARTIFACTS": str(tmp_path)},
    )


def test_a_run_whose_first_question_waits_ends_as_others_that_wait_and_nothing_failed(tmp_path) -> None:
    command = ("run", "--policy", str(prompt_path.FOLDER), "--model", "paste:ME")
    for _ in range(2):
        ended = wb(tmp_path, *command)
        assert ended.returncode == 0, ended.stderr
        assert f"questions        1 wait in {tmp_path / 'questions' / 'ME'}: paste" in ended.stdout
        assert "NotPasted" not in ended.stdout + ended.stderr and "failed" not in ended.stdout + ended.stderr
    assert not list(tmp_path.rglob("failed"))
    (question,) = (tmp_path / "questions" / "ME").glob("*.md")
    runs = tmp_path / "runs.jsonl"
    runs.write_text('{"run": "r", "call": {"tool": "lend_book", "arguments": {}}}\n', "utf-8")
    judged = wb(tmp_path, "judge", str(prompt_path.FOLDER), str(runs), "--model", "paste:ME")
    assert judged.returncode == 2 and "making one" not in judged.stderr
    assert f"1 wait in {tmp_path / 'questions' / 'ME'}: paste" in judged.stderr
    question.with_suffix(".reply.json").write_text("no JSON", "utf-8")
    ended = wb(tmp_path, *command)
    assert ended.returncode == 0, ended.stderr
    assert f"{question.with_suffix('.reply.json')} is malformed: not JSON" in ended.stdout


def test_what_a_person_would_be_asked_is_forecast_as_for_an_endpoint(tmp_path) -> None:
    line = ("run", "--policy", str(prompt_path.FOLDER), "--dry-run", "--model")
    told = wb(tmp_path, *line, "paste:ME")
    assert told.returncode == 0, told.stderr
    assert "write_vocabulary" in told.stdout and "pasted" in told.stdout
    assert not list(tmp_path.rglob("*.md")), "nobody is asked"
    refused = wb(tmp_path, *line, "offline")
    assert refused.returncode == 2 and "asks nobody" in refused.stderr


def test_a_model_without_an_endpoint_is_refused_before_a_notebook_starts(tmp_path) -> None:
    for models in ("some-model", "paste:ME,some-model"):
        refused = wb(tmp_path, "run", "--policy", str(prompt_path.FOLDER), "--model", models)
        assert refused.returncode == 2
        assert "model must be 'offline'" in refused.stderr and "'some-model'" in refused.stderr
        assert "cell" not in refused.stderr and not list(tmp_path.rglob("*.ipynb"))
