"""The endpoint against scripted and real servers on loopback: every failure is a clear error or a recorded retry."""

import datetime
import email.utils
import json
import time
from pathlib import Path

import pytest
from loopback import Dribble, Drop, Raw, Say, Scripted, serve_tiny_model, write_tiny_model

from wb.models import endpoint as endpoints
from wb.models import prompt
from wb.models.endpoint import (
    Endpoint,
    MalformedReply,
    MissingReply,
    Refused,
    Rejected,
    Replies,
    Reply,
    TruncatedReply,
    UnknownModel,
    Unreachable,
)
from wb.models.ledger import Budget, BudgetSpent, ModelError, Price

KEY = "sk-planted-7d1f"
COUNT = prompt.parse(
    "---\npurpose: count\nsource: own\ninputs: [text]\nreply: n\n---\n<!-- system -->\nCount.\n"
    "<!-- user -->\n<data>{{ text }}</data>\n",
    "count",
)
SCHEMA = {"type": "object", "properties": {"n": {"type": "boolean"}}, "required": ["n"], "additionalProperties": False}
GOOD = Say('{"n": true}')


def endpoint(server: Scripted, folder: Path, **options) -> Endpoint:
    defaults = {"api_key": KEY, "wait_s": 0.01, "timeout_s": 20.0, "retries": 2, "replies": Replies(folder)}
    return Endpoint("scripted", base_url=server.url, **(defaults | options))


def ask(model: Endpoint, text: str = "x") -> Reply:
    return model.answer(COUNT, {"text": text}, SCHEMA)


def test_an_answer_carries_its_value_usage_recording_and_engine(tmp_path) -> None:
    with Scripted([GOOD]) as server:
        answer = ask(endpoint(server, tmp_path, price=Price(1.0, 2.0)))
    assert answer.value == {"n": True} and answer.engine == "scripted" and len(answer.digest) == 64
    assert (answer.usage.calls, answer.usage.prompt_tokens, answer.usage.completion_tokens) == (1, 10, 5)
    assert answer.usage.cost == pytest.approx(20e-6)
    (sent,) = server.requests
    assert sent["response_format"]["json_schema"] == {"name": "count", "schema": SCHEMA}
    assert json.dumps(SCHEMA, sort_keys=True) in sent["messages"][0]["content"], (
        "services that ignore response_format read it too"
    )
    assert (sent["max_tokens"], sent["temperature"]) == (4096, 0.0)


def test_a_recorded_answer_is_not_asked_again(tmp_path) -> None:
    with Scripted([GOOD]) as server:
        model = endpoint(server, tmp_path)
        first, second = ask(model), ask(model)
    assert (first.value, first.digest) == (second.value, second.digest)
    assert (second.usage.calls, second.usage.replayed, len(server.requests)) == (0, 1, 1)


def test_recordings_may_lie_in_folders_of_their_own_under_one_budget(tmp_path) -> None:
    with Scripted([GOOD, GOOD, GOOD]) as server:
        model = endpoint(server, tmp_path / "a", budget=Budget(calls=2))
        other = model.recording_in(tmp_path / "b")
        assert ask(model).usage.calls == ask(other).usage.calls == 1 and ask(other).usage.replayed == 1
        assert other.replies.folder == tmp_path / "b" and model.replies.folder == tmp_path / "a"
        with pytest.raises(BudgetSpent):
            ask(model.recording_in(tmp_path / "c"))
    assert len(list(tmp_path.glob("*/*.json"))) == 2 == len(server.requests)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Say("busy", 429, {"Retry-After": "0"}), "HTTP 429: Error code: 429 - busy"),
        (Say("broken", 500), "HTTP 500: Error code: 500 - broken"),
        (Say("gateway", 504), "HTTP 504"),
        (Drop(0), "the connection failed"),
        (Drop(30), "the connection failed"),
        (Say(seconds=4.0), "no reply within 1 s"),
        (Dribble(0.05), "no reply within 1 s"),
        (Raw(b"<html>"), "the body is not JSON: b'<html>'"),
        (Raw(b"[1]"), "the body is no JSON object"),
        (Raw(b'{"choices": []}'), "no chat completion"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_passing_failure_is_a_recorded_retry_and_a_lasting_one_a_clear_error(tmp_path, step, said: str) -> None:
    timeout_s = 1.0 if "within 1 s" in said else 20.0
    with Scripted([step, GOOD]) as server:
        answer = ask(endpoint(server, tmp_path, timeout_s=timeout_s))
    assert answer.value == {"n": True} and answer.usage.retries == 1 and answer.usage.calls == 2
    (retry,) = (event for event in answer.events if event.startswith("retry 1 after 0"))
    assert said in retry
    with (
        Scripted(lambda request: step) as server,
        pytest.raises(Unreachable, match="'count' got no reply from 'scripted' in 3 attempts") as caught,
    ):
        ask(endpoint(server, tmp_path, timeout_s=timeout_s), "another")
    assert said in str(caught.value) and len(server.requests) == 3
    assert (
        caught.value.usage.calls == 3
        and sum(e.startswith("retry") for e in caught.value.events) == 2
        and not caught.value.fatal
    )


@pytest.mark.parametrize(("kind", "least"), [("seconds", 0.4), ("date", 0.9)])
def test_retry_after_is_honoured_in_seconds_and_as_a_date(tmp_path, kind: str, least: float) -> None:
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)  # a date has whole seconds
    written = "0.4" if kind == "seconds" else email.utils.format_datetime(soon, usegmt=True)
    with Scripted([Say("busy", 429, {"Retry-After": written}), GOOD]) as server:
        started = time.monotonic()
        answer = ask(endpoint(server, tmp_path))
    assert least <= time.monotonic() - started < 60 and answer.usage.retries == 1


def test_a_wait_of_an_hour_is_an_error_not_a_wait(tmp_path) -> None:
    with (
        Scripted([Say("busy", 429, {"Retry-After": "3600"})]) as server,
        pytest.raises(Unreachable, match="asks to wait 3600 s, at most 120 s"),
    ):
        ask(endpoint(server, tmp_path))


def test_a_truncated_reply_is_an_error_and_is_not_recorded(tmp_path) -> None:
    with Scripted([Say('{"n": tr', finish="length"), GOOD]) as server:
        model = endpoint(server, tmp_path, max_tokens=7)
        with pytest.raises(TruncatedReply, match=r"cut at 7 tokens; raise max_tokens.*'\{\"n\": tr'"):
            ask(model)
        assert ask(model).value == {"n": True}, "the next run asks again"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"n": tru', "not JSON: .*line 1 column"),
        ("I think so.", "not JSON"),
        ('{"n": "\\ud800"}', "not JSON: .*surrogates not allowed"),
        ('{"n": ' + "9" * 5000 + "}", "not JSON: Exceeds the limit"),
        ('{"n": ' + "[" * 100_000, "not JSON: it is nested too deeply"),
        ("[true]", "a JSON object was required; got list"),
        ("```\n{}", "not JSON"),
    ],
)
def test_a_reply_that_is_no_json_object_is_malformed(tmp_path, text: str, problem: str) -> None:
    with Scripted([Say(text)]) as server, pytest.raises(MalformedReply, match=problem) as caught:
        ask(endpoint(server, tmp_path))
    assert caught.value.text == text and caught.value.usage.calls == 1


def test_a_body_with_half_a_surrogate_pair_is_kept_readable(tmp_path) -> None:
    with Scripted([Say('{"n": "\ud800"}')]) as server:
        model = endpoint(server, tmp_path)
        assert ask(model).value == ask(model).value == {"n": "?"}


def test_one_code_fence_around_the_reply_is_taken_off(tmp_path) -> None:
    with Scripted([Say('```json\n{"n": false}\n```')]) as server:
        assert ask(endpoint(server, tmp_path)).value == {"n": False}


def test_an_empty_reply_is_an_error(tmp_path) -> None:
    with (
        Scripted([Say("", finish="content_filter")]) as server,
        pytest.raises(Rejected, match="gave an empty one: finish_reason 'content_filter'"),
    ):
        ask(endpoint(server, tmp_path))


def test_an_unknown_model_names_those_that_are_listed(tmp_path) -> None:
    with Scripted([Say("no such model", 404)], models=("alpha", "beta")) as server:
        with pytest.raises(
            UnknownModel, match=r"one that the endpoint serves \(alpha, beta\); got 'scripted'"
        ) as caught:
            ask(endpoint(server, tmp_path))
    assert caught.value.fatal


@pytest.mark.parametrize(
    "step", [Say("who are you", 401), Say("not you", 403), Say("no credit", 402), Say("insufficient_quota: pay", 429)]
)
def test_a_refused_key_ends_everything_at_once(tmp_path, step: Say) -> None:
    with (
        Scripted([step]) as server,
        pytest.raises(Refused, match="must accept the key in OPENAI_API_KEY.*it refused") as caught,
    ):
        ask(endpoint(server, tmp_path))
    assert caught.value.fatal and len(server.requests) == 1


@pytest.mark.parametrize(
    ("complaint", "gone", "instead"),
    [
        ("Unsupported parameter: 'max_tokens'", "max_tokens", "max_completion_tokens"),
        ("response_format is not supported", "response_format", None),
        ("'temperature' does not support 0.0", "temperature", None),
    ],
)
def test_a_parameter_that_a_service_does_not_know_is_left_out_for_good(
    tmp_path, complaint: str, gone: str, instead: str | None
) -> None:
    with Scripted([Say(complaint, 400), GOOD, GOOD]) as server:
        model = endpoint(server, tmp_path)
        assert f"sent again without '{gone}'" in ask(model).events[0]
        assert not ask(model, "second").events
    assert gone in server.requests[0] and all(gone not in request for request in server.requests[1:])
    assert instead is None or all(request[instead] == 4096 for request in server.requests[1:])


def test_a_request_that_is_turned_down_is_an_error_for_it_alone(tmp_path) -> None:
    with (
        Scripted([Say("context too long", 400)]) as server,
        pytest.raises(Rejected, match="context too long") as caught,
    ):
        ask(endpoint(server, tmp_path))
    assert not caught.value.fatal and caught.value.usage.prompt_tokens == 0


def test_a_service_that_reports_no_usage_is_counted_at_its_worst_case(tmp_path) -> None:
    with Scripted([Say('{"n": true}', usage=None)]) as server:
        answer = ask(endpoint(server, tmp_path, max_tokens=50))
    assert answer.usage.completion_tokens == 50 and answer.usage.prompt_tokens > 100
    assert "reports no usage" in answer.events[0]


def test_the_next_request_is_not_sent_when_it_might_exceed_the_budget(tmp_path) -> None:
    with Scripted(lambda request: GOOD) as server:
        model = endpoint(server, tmp_path, budget=Budget(calls=2))
        ask(model, "1"), ask(model, "2")
        with pytest.raises(BudgetSpent, match="prompt 'count' may need 1 calls, 2 of 2 are spent"):
            ask(model, "3")
        assert ask(model, "1").value == {"n": True}, "finished replies are kept"
    assert len(server.requests) == 2


def test_retries_are_paid_from_the_budget_too(tmp_path) -> None:
    with Scripted(lambda request: Say("no", 500)) as server, pytest.raises(BudgetSpent) as caught:
        ask(endpoint(server, tmp_path, budget=Budget(calls=2)))
    assert len(server.requests) == 2 and caught.value.usage.calls == 2


def test_a_request_that_timed_out_may_have_been_charged_so_its_worst_case_counts(tmp_path) -> None:
    with Scripted([Say(seconds=1.0)]) as server:
        model = endpoint(server, tmp_path, timeout_s=0.2, retries=0, max_tokens=100)
        with pytest.raises(Unreachable):
            ask(model)
    assert model.account.spent.tokens > 100


def test_a_budget_of_money_needs_a_price(tmp_path) -> None:
    with pytest.raises(ValueError, match="needs the model's price per million tokens; got none"):
        Endpoint("m", replies=Replies(tmp_path), budget=Budget(money=1.0))


def test_replay_never_touches_the_network(tmp_path) -> None:
    with Scripted([GOOD]) as server:
        ask(endpoint(server, tmp_path))
        replayed = endpoint(server, tmp_path, replies=Replies(tmp_path, "replay"))
        assert ask(replayed).value == {"n": True}
        with pytest.raises(MissingReply, match="prompt 'count'"):
            ask(replayed, "never asked")
        assert len(server.requests) == 1


def test_a_damaged_recording_is_asked_anew_and_said(tmp_path) -> None:
    with Scripted([GOOD, GOOD]) as server:
        model = endpoint(server, tmp_path)
        ask(model)
        next(tmp_path.iterdir()).write_text("{", "utf-8")
        assert ask(model).events == ("its recording is damaged; asked anew",)
        assert ask(model).usage.replayed == 1


@pytest.mark.parametrize(
    "step",
    [
        Say(f"wrong key {KEY}", 401),
        Say(f"slow down {KEY}", 429),
        Say(f"oh {KEY}", 500),
        Say(f"bad {KEY}", 400),
        Say(f'{{"n": "{KEY}"}}'),
        Say(f"{KEY} {{"),
        Say(f"{KEY}", finish="length"),
        Say('{"n": true}', finish=KEY),
        Say("", finish=KEY),
        Say('{"n": true, "said": "' + "".join(f"\\u{ord(sign):04x}" for sign in KEY) + '"}'),
        Say("".join(f"\\u{ord(sign):04X}" for sign in KEY), 400),
        Raw(json.dumps({"key": KEY}).encode()),
        Raw(KEY.encode()),
    ],
    ids=lambda step: str(getattr(step, "status", "raw")),
)
def test_the_key_reaches_no_file_no_message_and_no_ledger(tmp_path, step) -> None:
    with Scripted([step, GOOD]) as server:
        model = endpoint(server, tmp_path, retries=1)
        try:
            said = repr(ask(model))
        except ModelError as error:
            said = f"{error!r} {error} {error.events} {error.__dict__}"
    assert server.keys[0] == f"Bearer {KEY}", "it did go where it belongs"
    assert KEY not in said and KEY not in repr(model) and KEY not in str(model)
    kept = [path.read_text("utf-8") for path in tmp_path.rglob("*")]
    assert not [text for text in kept if KEY in text or "u0073" in text.lower()], "nor is it there in escapes"
    assert "u0073" not in said.lower()


@pytest.mark.parametrize("key", ["x", "test", "n", "e", '"'])
def test_a_short_key_changes_no_reply(tmp_path, key: str) -> None:
    text = '{"n": true, "why": "the next test: exact"}'
    with Scripted([Say(text), Say(f"no such test, {key}", 400)]) as server:
        model = endpoint(server, tmp_path, api_key=key)
        assert ask(model).value == ask(model).value == json.loads(text)
        assert json.loads(next(tmp_path.glob("count.*.json")).read_text("utf-8"))["reply"]["text"] == text
        with pytest.raises(Rejected, match=r"\[key\]") as caught:
            ask(model, "another")
        assert f", {key}" not in str(caught.value)


def test_a_reply_without_end_is_refused_before_it_is_read_whole(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(endpoints, "LARGEST", 1000)
    with (
        Scripted([Say('{"n": "' + "a" * 5000 + '"}')]) as server,
        pytest.raises(Rejected, match="at most 1000 bytes was required; 'scripted' sent more"),
    ):
        ask(endpoint(server, tmp_path))


@pytest.mark.parametrize("nested", [0, 1, 2, 5, 40])
def test_a_reply_that_holds_a_real_key_is_refused_whole_and_not_kept(tmp_path, nested: int) -> None:
    """However deep it stands in JSON within JSON; nested too deep to say, it is taken to hold it."""
    said = "\\" + "u005c" * (nested - 1) + f"u{ord(KEY[0]):04x}{KEY[1:]}" if nested else KEY
    with (
        Scripted([Say(f'{{"n": true, "said": "{said}"}}')]) as server,
        pytest.raises(Rejected, match="holds the key in OPENAI_API_KEY") as caught,
    ):
        ask(endpoint(server, tmp_path))
    assert KEY not in str(caught.value) and not list(tmp_path.iterdir()) and caught.value.usage.calls == 1


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {"content": 3}}]},
        {"choices": [{"message": None}]},
        {"choices": None},
        {"choices": [{"message": {"content": ["a"]}}]},
        {"choices": [{"message": {"content": "{}"}, "finish_reason": 7}]},
    ],
)
def test_a_body_of_another_shape_is_no_chat_completion(tmp_path, body: dict) -> None:
    with (
        Scripted(lambda request: Raw(json.dumps(body).encode())) as server,
        pytest.raises(Unreachable, match="no chat completion"),
    ):
        ask(endpoint(server, tmp_path, retries=0))


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 10},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": -5, "completion_tokens": 1},
        "many",
        None,
    ],
)
def test_counts_that_cannot_be_read_are_the_worst_case(tmp_path, usage) -> None:
    body = {"choices": [{"message": {"content": '{"n": true}'}, "finish_reason": "stop"}], "usage": usage}
    with Scripted([Raw(json.dumps(body).encode())]) as server:
        answer = ask(endpoint(server, tmp_path, max_tokens=50))
    assert answer.usage.completion_tokens == 50 and "reports no usage" in answer.events[0]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """llama.cpp's server with a random model: the protocol is real, the words are noise."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    write_tiny_model(path)
    return serve_tiny_model(path, KEY)


def real(tiny, folder: Path, **options) -> Endpoint:
    return Endpoint(
        "tiny", base_url=f"{tiny.listening_address}/v1", **({"api_key": KEY, "replies": Replies(folder)} | options)
    )


def test_a_real_server_answers_by_the_schema_and_counts_tokens(tmp_path, tiny) -> None:
    answer = ask(real(tiny, tmp_path))
    assert set(answer.value) == {"n"} and isinstance(answer.value["n"], bool)
    sent = sum(len(m["content"]) for m in real(tiny, tmp_path).request(COUNT, {"text": "x"}, SCHEMA)["messages"])
    assert sent <= answer.usage.prompt_tokens, "the tiny model's tokens are bytes: the worst case of any tokenizer"
    assert not answer.events, "and the worst case that was reserved was not exceeded"
    assert ask(real(tiny, tmp_path, replies=Replies(tmp_path, "replay"))).value == answer.value


def test_a_real_server_cuts_a_reply_that_is_too_long(tmp_path, tiny) -> None:
    with pytest.raises(TruncatedReply, match="cut at 2 tokens"):
        ask(real(tiny, tmp_path, max_tokens=2))


def test_a_real_server_refuses_a_wrong_key(tmp_path, tiny) -> None:
    with pytest.raises(Refused, match="HTTP 401"):
        ask(real(tiny, tmp_path, api_key="sk-wrong"))
