"""Asking: replies of a declared type, batches that keep what is finished, and who is asked by which name."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pydantic
import pytest
from loopback import Say, Scripted, serve_tiny_model, write_tiny_model

from wb.models.client import LLM, Reply, Unanswered, connect
from wb.models.endpoint import Endpoint, MalformedReply, MissingReply, Replies, UnknownModel
from wb.models.ledger import Budget, BudgetSpent, Ledger, Usage

ROOT = Path(__file__).resolve().parents[1]


class Number(pydantic.BaseModel):
    n: int
    kind: str = "plain"


class Echo:
    """An engine for tests: answers with the length of the text, at no cost; stands for the offline engine."""

    name = "echo"

    def answer(self, prompt, inputs, schema) -> Reply:
        assert schema["properties"]["n"]["type"] == "integer"
        return Reply({"n": len(inputs["text"])}, Usage(seconds=0.5), engine="echo")


@pytest.fixture
def count(tmp_path) -> Path:
    """A prompt file of our own."""
    path = tmp_path / "count.md"
    path.write_text(
        "---\npurpose: count\nsource: own\ninputs: [text]\nreply: n\n---\n<!-- system -->\nCount.\n"
        "<!-- user -->\n<data>{{ text }}</data>\n",
        "utf-8",
    )
    return path


def llm(server: Scripted, folder: Path, workers: int = 4, **options) -> LLM:
    defaults = {"api_key": "sk-x", "wait_s": 0.01, "timeout_s": 20.0, "retries": 1, "replies": Replies(folder)}
    return LLM(Endpoint("scripted", base_url=server.url, **(defaults | options)), Ledger("stage"), workers)


def answering(request: dict) -> Say:
    """The length of the text, by a scripted model that asks for bad numbers to be bad."""
    text = request["messages"][1]["content"].removeprefix("<data>").removesuffix("</data>")
    if text == "bad":
        return Say("no number at all")
    return Say(json.dumps({"n": len(text)}), seconds=0.03)


def test_a_reply_is_of_the_declared_type_whatever_the_engine(tmp_path, count) -> None:
    with Scripted(answering) as server:
        assert llm(server, tmp_path / "r").ask(count, Number, text="four") == Number(n=4)
    ledger = Ledger("s")
    assert LLM(Echo(), ledger).ask(count, Number, text="four") == Number(n=4)
    assert ledger.total == Usage(seconds=0.5) and ledger.to_json()["engines"] == ["echo"]


@pytest.mark.parametrize(
    ("first", "problem"),
    [
        ("nonsense", "not JSON"),
        ('{"n": "many"}', "n: Input should be a valid integer"),
        ('{"m": 1}', "n: Field required"),
    ],
)
def test_a_malformed_reply_is_asked_for_once_more_with_what_was_wrong(
    tmp_path, count, first: str, problem: str
) -> None:
    with Scripted([Say(first), Say('{"n": 2}')]) as server:
        model = llm(server, tmp_path / "r")
        assert model.ask(count, Number, text="x") == Number(n=2)
    asked, again = server.requests
    assert again["messages"][:2] == asked["messages"]
    assert again["messages"][2]["role"] == "assistant" and problem in again["messages"][3]["content"]
    assert model.ledger.total.calls == 2 and "asked again" in model.ledger.events[0]
    replayed = llm(server, tmp_path / "r", replies=Replies(tmp_path / "r", "replay"))
    assert replayed.ask(count, Number, text="x") == Number(n=2) and replayed.ledger.total.replayed == 2


def test_a_reply_that_is_malformed_twice_is_an_error(tmp_path, count) -> None:
    with Scripted([Say("no"), Say("never"), Say('{"n": 1}')]) as server:
        model = llm(server, tmp_path / "r")
        with pytest.raises(MalformedReply, match="'count' needs a reply of its declared type; not JSON.*got 'never'"):
            model.ask(count, Number, text="x")
    assert len(server.requests) == 2 and model.ledger.total.calls == 2
    assert [event.split(":")[1].strip() for event in model.ledger.events] == ["asked again", "failed"]


def test_a_failed_reply_does_not_count_as_recorded_and_is_asked_again_alone(tmp_path, count) -> None:
    texts = [{"text": text} for text in ("a", "bad", "ccc")]
    with Scripted(answering) as server:
        first = llm(server, tmp_path / "r").ask_all(count, Number, texts)
        assert [type(reply) for reply in first] == [Number, Unanswered, Number] and len(server.requests) == 4
        replay = llm(server, tmp_path / "r", replies=Replies(tmp_path / "r", "replay"))
        assert [type(reply) for reply in replay.ask_all(count, Number, texts)] == [Number, Unanswered, Number], (
            "as it was, nothing asked"
        )
        assert len(server.requests) == 4 and replay.ledger.failed == 1
        server.steps = lambda request: Say('{"n": 3}')
        model = llm(server, tmp_path / "r")
        assert model.ask_all(count, Number, texts) == [Number(n=1), Number(n=3), Number(n=3)]
        assert len(server.requests) == 5 and "<data>bad</data>" in server.requests[4]["messages"][-1]["content"]
        assert model.ledger.failed == 0 and any(
            "its recording failed; asked anew" in event for event in model.ledger.events
        )
        again = llm(server, tmp_path / "r")
        assert (
            again.ask_all(count, Number, texts) == [Number(n=1), Number(n=3), Number(n=3)]
            and again.ledger.total.calls == 0
        )
    assert len(server.requests) == 5


def test_a_reply_that_fails_in_every_run_is_asked_twice_in_each_and_never_patched(tmp_path, count) -> None:
    with Scripted(lambda request: Say('{"n": "many"}')) as server:
        for run in (1, 2, 3):
            model = llm(server, tmp_path / "r")
            with pytest.raises(MalformedReply, match="valid integer"):
                model.ask(count, Number, text="x")
            assert len(server.requests) == 2 * run and model.ledger.failed == 1


def test_a_malformed_reply_that_was_mended_stays_recorded(tmp_path, count) -> None:
    with Scripted([Say("nonsense"), Say('{"n": 2}')]) as server:
        assert (
            llm(server, tmp_path / "r").ask(count, Number, text="x")
            == llm(server, tmp_path / "r").ask(count, Number, text="x")
            == Number(n=2)
        )
    assert len(server.requests) == 2


def test_a_batch_keeps_its_order_its_bound_and_everything_that_was_answered(tmp_path, count) -> None:
    texts = ["a", "bad", "ccc"] + ["x" * n for n in range(4, 12)]
    seen = []
    with Scripted(answering) as server:
        model = llm(server, tmp_path / "r", workers=3)
        model.progress = lambda prompt, done, total: seen.append((done, total))
        replies = model.ask_all(count, Number, [{"text": text} for text in texts])
    assert [r.n for r in replies if isinstance(r, Number)] == [1, 3, *range(4, 12)]
    assert isinstance(replies[1], Unanswered) and "not JSON" in replies[1].reason
    assert 1 < server.most <= 3
    assert seen == [(n, 11) for n in range(1, 12)]


def test_an_empty_batch_asks_nothing(tmp_path, count) -> None:
    with Scripted(answering) as server:
        assert llm(server, tmp_path).ask_all(count, Number, []) == []
    assert not server.requests


@pytest.mark.parametrize("budget", [Budget(calls=5), Budget(tokens=3000)])
def test_a_spent_budget_ends_a_batch_with_every_finished_reply_kept(tmp_path, count, budget: Budget) -> None:
    rows = [{"text": "x" * n} for n in range(1, 31)]
    most = {"usage": (300, 200)}
    with Scripted(lambda request: Say(answering(request).text, seconds=0.02, **most)) as server:
        model = llm(server, tmp_path / "r", workers=8, budget=budget, max_tokens=200)
        with pytest.raises(BudgetSpent, match="every finished reply is kept: raise the budget and run again"):
            model.ask_all(count, Number, rows)
        spent = model.engine.account.spent
        assert budget.calls is None or len(server.requests) == budget.calls
        assert budget.tokens is None or 0 < spent.tokens <= budget.tokens
        first = len(server.requests)
        assert len(list((tmp_path / "r").iterdir())) == first == model.ledger.total.calls
        more = llm(server, tmp_path / "r", workers=8, max_tokens=300)
        assert [r.n for r in more.ask_all(count, Number, rows)] == list(range(1, 31))
    assert more.ledger.total.replayed == first and len(server.requests) == 30


def test_an_unknown_model_ends_a_batch_at_once(tmp_path, count) -> None:
    with Scripted(lambda request: Say("no", 404), models=("alpha",)) as server:
        with pytest.raises(UnknownModel, match=r"\(alpha\); got 'scripted'"):
            llm(server, tmp_path, workers=2).ask_all(count, Number, [{"text": "x" * n} for n in range(40)])
    assert len(server.requests) < 40


def test_replay_of_a_batch_names_the_prompt_that_was_never_asked(tmp_path, count) -> None:
    with Scripted(answering) as server:
        llm(server, tmp_path / "r").ask_all(count, Number, [{"text": "a"}, {"text": "bb"}])
        replay = llm(server, tmp_path / "r", replies=Replies(tmp_path / "r", "replay"))
        assert [r.n for r in replay.ask_all(count, Number, [{"text": "bb"}, {"text": "a"}])] == [2, 1]
        with pytest.raises(MissingReply, match="prompt 'count'"):
            replay.ask_all(count, Number, [{"text": "bb"}, {"text": "new"}])
    assert len(server.requests) == 2


KILLED = """
import signal, sys, pathlib, pydantic
from wb.models.client import LLM
from wb.models.endpoint import Endpoint, Replies
class Number(pydantic.BaseModel):
    n: int
    kind: str = "plain"
signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background starts with it ignored
engine = Endpoint("scripted", base_url=sys.argv[1], api_key="k", replies=Replies(pathlib.Path(sys.argv[2])))
LLM(engine, workers=4).ask_all(pathlib.Path(sys.argv[3]), Number, [{"text": "x" * n} for n in range(1, 41)])
"""


def test_kill_9_in_the_middle_of_a_batch_loses_no_finished_reply(tmp_path, count) -> None:
    folder = tmp_path / "r"
    with Scripted(answering) as server:
        run = subprocess.Popen([sys.executable, "-c", KILLED, server.url, str(folder), str(count)], cwd=ROOT)
        while len(server.requests) < 20 and run.poll() is None:
            time.sleep(0.005)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        asked = len(server.requests)
        kept = [path for path in folder.glob("count.*.json") if json.loads(path.read_text("utf-8"))["reply"]["text"]]
        assert asked - 4 <= len(kept) <= asked < 40, "only the requests under way are lost"
        model = llm(server, folder)
        assert [r.n for r in model.ask_all(count, Number, [{"text": "x" * n} for n in range(1, 41)])] == list(
            range(1, 41)
        )
    assert model.ledger.total.replayed == len(kept)


def test_an_interrupt_ends_a_batch_after_the_requests_under_way(tmp_path, count) -> None:
    folder = tmp_path / "r"
    with Scripted(answering) as server:
        run = subprocess.Popen(
            [sys.executable, "-c", KILLED, server.url, str(folder), str(count)],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        while len(server.requests) < 12 and run.poll() is None:
            time.sleep(0.005)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)
        assert run.returncode != 0 and "KeyboardInterrupt" in said
        assert len(list(folder.iterdir())) == len(server.requests) < 40


def test_a_batch_against_a_real_server_comes_back_typed(tmp_path, count) -> None:
    class Flag(pydantic.BaseModel):
        vague: bool
        grade: pydantic.types.Annotated[str, pydantic.Field(pattern="^[ab]$")]

    write_tiny_model(tmp_path / "tiny.gguf")
    server = serve_tiny_model(tmp_path / "tiny.gguf", "sk-tiny")
    engine = Endpoint(
        "tiny",
        base_url=f"{server.listening_address}/v1",
        api_key="sk-tiny",
        replies=Replies(tmp_path / "r"),
        max_tokens=64,
    )
    model = LLM(engine, Ledger("real"), workers=2)
    replies = model.ask_all(count, Flag, [{"text": text} for text in ("one", "two", "three")])
    assert all(isinstance(reply, Flag) and reply.grade in "ab" for reply in replies), replies
    assert model.ledger.total.calls == 3 and model.ledger.total.completion_tokens <= 3 * 64


def test_offline_is_the_engine_that_was_handed_in(tmp_path) -> None:
    assert connect("offline", offline=Echo(), replies_dir=tmp_path, environment={}).name == "echo"


def test_any_other_name_is_asked_at_the_endpoint_of_the_environment(tmp_path, count) -> None:
    with Scripted(answering) as server:
        env = {
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "sk-env",
            "WB_MAX_CALLS": "1",
            "WB_PRICE": "1,2",
            "WB_MAX_COST": "0.5",
            "WB_TIMEOUT": "7",
            "WB_REPLY_TOKENS": "99",
        }
        model = connect("scripted", offline=Echo(), replies_dir=tmp_path / "r", environment=env)
        assert model.ask(count, Number, text="abc").n == 3
        with pytest.raises(BudgetSpent):
            model.ask(count, Number, text="more")
    assert server.keys == ["Bearer sk-env"] and server.requests[0]["max_tokens"] == 99
    assert model.engine.timeout_s == 7.0 and model.ledger.total.cost == pytest.approx(20e-6)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({}, "model must be 'offline', or a model of an endpoint.*got model 'gpt' and none of these"),
        ({"OPENAI_API_KEY": "k", "WB_MAX_CALLS": "many"}, r"WB_MAX_CALLS must be a number \(int\); got 'many'"),
        ({"OPENAI_API_KEY": "k", "WB_PRICE": "cheap"}, "WB_PRICE must be PROMPT,COMPLETION.*got 'cheap'"),
        ({"OPENAI_API_KEY": "k", "WB_MAX_COST": "1"}, "a budget of money.*needs the model's price"),
        ({"OPENAI_API_KEY": "k", "WB_REPLIES": "rewind"}, "mode must be one of.*got 'rewind'"),
        ({"OPENAI_API_KEY": "k", "WB_MAX_TOKENS": "-1"}, "must be 0 or more; got -1"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_is_asked(tmp_path, env: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        connect("gpt", offline=Echo(), replies_dir=tmp_path, environment=env)


def test_replay_needs_no_key_and_no_endpoint(tmp_path, count) -> None:
    with Scripted(answering) as server:
        llm(server, tmp_path / "r").ask(count, Number, text="abc")
    model = connect("scripted", offline=Echo(), replies_dir=tmp_path / "r", environment={"WB_REPLIES": "replay"})
    assert model.ask(count, Number, text="abc").n == 3


def test_the_number_of_workers_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="workers must be 1 or more; got 0"):
        LLM(Echo(), workers=0)
