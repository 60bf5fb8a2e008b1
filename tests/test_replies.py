"""Recorded replies: found by content, whole or not there, and in replay never asked for."""

import json
import multiprocessing
import os

import pytest

from wb.models import endpoint
from wb.models.endpoint import CorruptReply, MissingReply, Replies

REQUEST = {
    "prompt": "sort",
    "model": "m",
    "messages": [{"role": "user", "content": "é </data>"}],
    "settings": {"temperature": 0.0},
}
REPLY = {"text": '{"n": 1}', "finish_reason": "stop"}


def test_a_kept_reply_is_found_again_and_readable_by_eye(tmp_path) -> None:
    store = Replies(tmp_path / "new")
    assert store.find(REQUEST) is None
    store.keep(REQUEST, REPLY)
    assert store.find(REQUEST) == REPLY
    (file,) = (tmp_path / "new").iterdir()
    assert file.name.startswith("sort.") and "é </data>" in file.read_text("utf-8")


@pytest.mark.parametrize(
    "change", [{"prompt": "other"}, {"model": "m2"}, {"messages": []}, {"settings": {"temperature": 0.1}}]
)
def test_a_request_that_differs_in_anything_is_another_one(tmp_path, change: dict) -> None:
    store = Replies(tmp_path)
    store.keep(REQUEST, REPLY)
    assert store.find(REQUEST | change) is None


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert endpoint.digest(REQUEST) == endpoint.digest(dict(reversed(REQUEST.items())))


def test_replay_names_the_prompt_of_a_missing_reply(tmp_path) -> None:
    with pytest.raises(
        MissingReply, match="recorded reply to prompt 'sort' from model 'm'; sort.*json is not in .*record it"
    ):
        Replies(tmp_path, "replay").find(REQUEST)


@pytest.mark.parametrize("place", [os.mkdir, os.mkfifo, lambda path: os.symlink(path, path)])
def test_what_is_no_file_is_asked_again_and_replaced_and_named_in_replay(tmp_path, place) -> None:
    store = Replies(tmp_path)
    place(store.path(REQUEST))
    assert store.find(REQUEST) is None
    with pytest.raises(CorruptReply, match="must hold the reply that its name stands for"):
        Replies(tmp_path, "replay").find(REQUEST)
    store.keep(REQUEST, REPLY)
    assert store.find(REQUEST) == REPLY and len(list(tmp_path.iterdir())) == 1


def test_record_asks_anew_and_replaces(tmp_path) -> None:
    Replies(tmp_path).keep(REQUEST, REPLY)
    assert Replies(tmp_path, "record").find(REQUEST) is None
    Replies(tmp_path, "record").keep(REQUEST, {"text": "2"})
    assert Replies(tmp_path, "replay").find(REQUEST) == {"text": "2"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:40],
        lambda text: text.replace('"model": "m"', '"model": "m3"'),
        lambda text: "[]",
        lambda text: text.replace('"text"', '"txt"'),
        lambda text: text.replace('\\"n\\": 1', '\\"n\\": 9'),
        lambda text: text.replace('"digest"', '"digets"'),
        lambda text: text.replace("stop", "step"),
        lambda text: "",
    ],
)
def test_a_damaged_recording_is_an_error_in_replay_and_asked_again_in_auto(tmp_path, damage) -> None:
    Replies(tmp_path).keep(REQUEST, REPLY)
    (file,) = tmp_path.iterdir()
    file.write_text(damage(file.read_text("utf-8")), "utf-8")
    assert Replies(tmp_path).find(REQUEST) is None
    with pytest.raises(CorruptReply, match="must hold the reply that its name stands for.*delete it"):
        Replies(tmp_path, "replay").find(REQUEST)


def test_no_flipped_bit_of_a_recording_is_taken_as_another_answer(tmp_path) -> None:
    Replies(tmp_path).keep(REQUEST, REPLY)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for at in range(8 * len(whole)):
        torn = bytearray(whole)
        torn[at // 8] ^= 1 << at % 8
        file.write_bytes(torn)
        assert Replies(tmp_path).find(REQUEST) in (None, REPLY), at


def test_a_mode_that_does_not_exist_is_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"mode must be one of \['auto', 'replay', 'record'\]; got 'play'"):
        Replies(tmp_path, "play")


def keep_many(folder, start: int) -> None:
    for n in range(start, start + 60):
        Replies(folder).keep(REQUEST | {"n": n % 40}, {"text": "x" * 5000})


def test_processes_that_record_the_same_requests_leave_only_whole_files(tmp_path) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=keep_many, args=(tmp_path, start)) for start in (0, 20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    files = list(tmp_path.iterdir())
    assert len(files) == 40 and all(json.loads(f.read_text("utf-8"))["reply"]["text"] == "x" * 5000 for f in files)
