"""Agents held to a session's verdicts: only `allow` runs a tool, and whoever was refused is told the sentence and why.

Each ecosystem is tested with the real package; the policy is that of `library`, small enough to be seen through.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import io
import json
import sqlite3
import subprocess
import threading
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import library
import pydantic
import pytest
from bench import airline
from library import AGREED, BLOCKED, LOOK, SHORT, Desk

from wb.adapters import enforcement, functions, openai
from wb.adapters.enforcement import NotAllowed
from wb.domain import events, tools
from wb.domain.session import Session
from wb.domain.trace import Verdict
from wb.guards import examples
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule, RuleSet


class Broken:
    """A judge whose decision breaks, or that answers no verdict."""

    name, validator = "broken", library.GUARD.validator

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def watch(self) -> Broken:
        return self

    fork = watch

    def judge(self, step: object) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def remember(self, step: object) -> None:
        """Nothing."""

    def evidence(self, tool: str) -> str:
        return ""

    def trusted(self, tool: str) -> tuple:
        return ()

    def reads(self, tool: str, before: object = ()) -> tuple:
        return ()

    def minds(self, tool: str) -> bool:
        return True


class Full(io.StringIO):
    """A log on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


# ---- what is the same for all -----------------------------------------------------------------------

Caller = Callable[[Session, Desk, str, dict], Any]


def by_function(session: Session, desk: Desk, tool: str, arguments: dict) -> tuple[bool, str]:
    """Whether a call was let run, and what the caller is told."""
    try:
        return True, str(functions.guard(session)(desk.tools[tool])(**arguments))
    except NotAllowed as refused:
        return False, str(refused)


def by_coroutine(session: Session, desk: Desk, tool: str, arguments: dict) -> tuple[bool, str]:
    async def called(**given: Any) -> Any:
        return desk.tools[tool](**given)

    try:
        return True, str(asyncio.run(functions.guard(session, tool=tool)(called)(**arguments)))
    except NotAllowed as refused:
        return False, str(refused)


def asked(*calls: tuple[str, str, object], text: str = "") -> dict[str, Any]:
    """A message of the assistant with calls: id, tool, arguments as text or to be written as JSON."""
    return {
        "role": "assistant",
        "content": text or None,
        "tool_calls": [
            {
                "id": name,
                "type": "function",
                "function": {"name": tool, "arguments": given if isinstance(given, str) else json.dumps(given)},
            }
            for name, tool, given in calls
        ],
    }


def by_openai(session: Session, desk: Desk, tool: str, arguments: dict) -> tuple[bool, str]:
    (message,) = openai.Tools(session, desk.tools).run([asked(("c", tool, arguments))])
    assert message["role"] == "tool" and message["tool_call_id"] == "c"
    return not message["content"].startswith("The call of "), message["content"]


def by_openai_async(session: Session, desk: Desk, tool: str, arguments: dict) -> tuple[bool, str]:
    (message,) = asyncio.run(openai.Tools(session, desk.tools).arun([asked(("c", tool, arguments))]))
    return not message["content"].startswith("The call of "), message["content"]


CALLERS = [by_function, by_coroutine, by_openai, by_openai_async]
each = pytest.mark.parametrize("call", CALLERS, ids=lambda call: call.__name__)


@each
def test_only_what_is_allowed_runs_and_a_refusal_names_the_sentence_and_what_complies(call: Caller) -> None:
    session, desk = library.session(), Desk()
    assert call(session, desk, "lend_book", {"days": 14}) == (True, "lent for 14 days")
    ran, told = call(session, desk, "lend_book", {"days": 15})
    assert not ran and f"“{SHORT}”" in told and "days is at most 14" in told
    ran, told = call(session, desk, "pay_fine", {"reader": "a"})
    assert not ran and f"“{LOOK}”" in told and "now or earlier get_reader is called" in told
    assert call(session, desk, "get_reader", {"reader": "a"})[0]
    assert call(session, desk, "pay_fine", {"reader": "a"}) == (True, "paid")
    assert desk.done == [("lend_book", 14), ("get_reader", "a"), ("pay_fine", "a")]


@each
@pytest.mark.parametrize(
    ("tool", "arguments", "state", "told"),
    [
        ("burn_book", {}, {"card_blocked": False}, "there is no such tool"),
        ("lend_book", {"days": 3}, {"card_blocked": True}, f"“{BLOCKED}”"),
        ("lend_book", {"days": 3}, {}, "Not known: state.card_blocked"),
        ("lend_book", {"days": 3}, {"card_blocked": "no"}, "state.card_blocked: boolean was required"),
        ("lend_book", {"days": "3"}, {"card_blocked": False}, "days: integer was required"),
        ("lend_book", {"days": 3, "note": 7}, {"card_blocked": False}, "note: string was required"),
        ("close_card", {"reader": "a"}, {"card_blocked": False}, "state.words"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_not_known_declared_or_fitting_does_not_run(
    call: Caller, tool: str, arguments: dict, state: dict, told: str
) -> None:
    session, desk = library.session(), Desk()
    session.state(state)
    ran, said = call(session, desk, tool, arguments)
    assert not ran and told in said and not desk.done, said


@each
@pytest.mark.parametrize(
    ("judge", "log", "told"),
    [
        (Broken(RuntimeError("boom")), None, "the decision broke: RuntimeError: boom"),
        (Broken("allow"), None, "a verdict was required"),
        (Broken(Verdict("undecided", "perhaps")), None, "perhaps"),
        (library.GUARD, Full(), "a log that can be written was required"),
    ],
    ids=["raises", "no verdict", "undecided", "full log"],
)
def test_whatever_breaks_refuses(call: Caller, judge: Any, log: Any, told: str) -> None:
    session, desk = Session(judge, log=log), Desk()
    session.state({"card_blocked": False})
    ran, said = call(session, desk, "lend_book", {"days": 3})
    assert not ran and told in said and not desk.done


@each
def test_a_guard_that_answers_allow_is_believed(call: Caller) -> None:
    """The reject of the case before: the same judge, another answer."""
    desk = Desk()
    assert call(Session(Broken(Verdict("allow", "fine"))), desk, "lend_book", {"days": 3})[0] and desk.done


@each
def test_a_call_that_failed_was_not_done(call: Caller) -> None:
    session, desk = library.session(), Desk()
    try:
        call(session, desk, "get_reader", {"reader": "nobody"})
    except KeyError:
        pass
    assert not call(session, desk, "pay_fine", {"reader": "a"})[0] and not desk.done


@each
def test_observing_lets_pass_logs_what_it_would_have_said_and_tells_what_was_done(call: Caller) -> None:
    log = io.StringIO()
    session, desk = library.session(log=log, observe=True), Desk()
    assert call(session, desk, "lend_book", {"days": 40})[0] and desk.done == [("lend_book", 40)]
    assert call(session, desk, "burn_book", {})[0]
    assert call(session, desk, "pay_fine", {"reader": "a"})[0]
    rows = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(row["tool"], row["decision"], row["observed"]) for row in rows] == [
        ("lend_book", "deny", True),
        ("burn_book", "deny", True),
        ("pay_fine", "deny", True),
    ]


@each
@pytest.mark.parametrize("observe", [True, False])
def test_what_ran_although_it_was_denied_is_told_as_done(call: Caller, observe: bool) -> None:
    """Who lends takes no fines: where the lending was denied and did not run, a fine may be taken."""
    text = "ALWAYS (pay_fine IMPLIES NOT ONCE lend_book)"
    last = dataclasses.replace(library.RULES.rules[0], id="r5", formula=library.parse(text))
    rules = library.RuleSet(library.PREDICATES, (*library.RULES.rules, last))
    log = io.StringIO()
    session, desk = Session(library.airline.guarded("l", library.BOX, rules), log=log, observe=observe), Desk()
    session.state({"card_blocked": False})
    for tool, given in (("lend_book", {"days": 40}), ("get_reader", {"reader": "a"}), ("pay_fine", {"reader": "a"})):
        call(session, desk, tool, given)
    assert [name for name, _ in desk.done] == ["lend_book"] * observe + ["get_reader", "pay_fine"]
    decisions = [json.loads(line)["decision"] for line in log.getvalue().splitlines()]
    assert decisions == ["deny", "allow", "deny" if observe else "allow"]


def test_a_log_of_a_session_that_enforces_does_not_speak_of_observing() -> None:
    log = io.StringIO()
    by_function(library.session(log=log), Desk(), "lend_book", {"days": 3})
    assert "observed" not in json.loads(log.getvalue())
    with pytest.raises(ValueError, match="observe: True or False was required; got 1"):
        library.session(observe=1)


def test_no_session_runs_nothing() -> None:
    desk = Desk()
    with pytest.raises(TypeError, match="a session was required; got null"):
        functions.guard(lambda: None)(desk.lend_book)(days=1)
    assert not desk.done


def test_the_session_of_the_present_conversation_decides() -> None:
    """Two conversations, told apart by a function: in the one the reader was looked up."""
    desk, sessions = Desk(), {"a": library.session(), "b": library.session()}
    present = ["a"]
    find, pay = (functions.guard(lambda: sessions[present[0]])(desk.tools[name]) for name in ("get_reader", "pay_fine"))
    find("x")
    assert pay("x") == "paid"
    present[0] = "b"
    with pytest.raises(NotAllowed, match="looked up"):
        pay("x")


# ---- what would comply -------------------------------------------------------------------------------


def test_what_would_comply_is_what_the_broken_rules_ask() -> None:
    assert examples.required(library.GUARD, "lend_book", ["r1", "r2"]) == (
        "days is at most 14",
        "card blocked is false",
    )
    assert examples.required(library.GUARD, "burn_book", ["r1"]) == ()
    assert examples.required(library.GUARD, "lend_book", ["r3"]) == (), "a rule that does not bear on the tool"
    assert examples.required(Broken(None), "lend_book", ["r1"]) == ()


def test_nothing_complies_where_the_guard_allows_nothing() -> None:
    """A guard whose code denies every call, and a rule that forbids the tool outright."""
    kept = [
        dataclasses.replace(entry, source=entry.source.replace("return (True,", "return (False,"))
        for entry in library.GUARD.guarded
    ]
    shut = dataclasses.replace(library.GUARD, guarded=tuple(kept))
    assert shut.watch().judge is not None and examples.required(shut, "lend_book", ["r1"]) == ()
    never = dataclasses.replace(library.RULES.rules[0], formula=library.parse("ALWAYS (NOT lend_book)"))
    forbidden = library.airline.guarded("f", library.BOX, library.RuleSet(library.PREDICATES, (never,)))
    assert examples.required(forbidden, "lend_book", ["r1"]) == ()


# ---- functions --------------------------------------------------------------------------------------


def test_arguments_are_those_that_the_function_gets() -> None:
    """By place or by name; a declared default counts, for it is what runs."""
    session, seen = library.session(), []

    @functions.guard(session, tool="lend_book")
    def lend(days: int = 30, note: str | None = None, verbose: bool = False) -> None:
        """Undeclared arguments with defaults do not matter until they are given."""
        seen.append((days, note, verbose))

    with pytest.raises(NotAllowed, match="14 days"):
        lend()
    lend(3), lend(days=4), lend(5, note="x")
    with pytest.raises(NotAllowed, match="verbose"):
        lend(6, verbose=True)
    with pytest.raises(NotAllowed, match="note: string was required; got null"):
        lend(6, None)
    with pytest.raises(TypeError, match="missing|unexpected|too many"):
        lend(1, 2, 3, 4)
    assert seen == [(3, None, False), (4, None, False), (5, "x", False)]


class Days(int):
    """A number that lies: it compares as short and is long."""

    def __le__(self, other: object) -> bool:
        return True


@pytest.mark.parametrize("days", [float("nan"), Days(40), 2**70, "14", True, None, [14]])
def test_no_foreign_value_runs(days: object) -> None:
    desk = Desk()
    with pytest.raises(NotAllowed):
        functions.guard(library.session())(desk.lend_book)(days)
    assert not desk.done


def test_functions_that_cannot_be_guarded_are_refused_before_any_call() -> None:
    def some(*days: int) -> None:
        """Its arguments have no names."""

    def yields() -> Any:
        yield 1

    async def ayields() -> Any:
        yield 1

    for function, why in ((some, "names"), (yields, "yields"), (ayields, "yields")):
        with pytest.raises(TypeError, match=why):
            functions.guard(library.session())(function)


def named(name: str, *bases: type[BaseException], cause: BaseException | None = None) -> BaseException:
    """An error of some package, by the name that it gives it."""
    error = type(name, bases or (Exception,), {})("so it is")
    error.__cause__ = cause
    return error


UNKNOWN = [
    TimeoutError("late"),
    ConnectionResetError(),
    KeyboardInterrupt(),
    OSError("the disk"),
    named("ReadTimeout"),
    named("TimeoutExpired"),
    named("RemoteProtocolError"),
    named("ClosedResourceError"),
    named("MyError", type(named("ConnectError"))),
    RuntimeError("no answer").with_traceback(None),
    ExceptionGroup("both", [ValueError("no"), TimeoutError("late")]),
]
UNKNOWN[9].__cause__ = TimeoutError("late")


@pytest.mark.parametrize("error", [ValueError("no such reader"), named("NotFound"), KeyError("a"), RuntimeError("no")])
def test_what_failed_by_itself_was_not_done(error: Exception) -> None:
    session = library.session()

    @functions.guard(session)
    def get_reader(reader: str) -> None:
        raise error

    with pytest.raises(type(error)):
        get_reader("a")
    with pytest.raises(NotAllowed) as refused:
        functions.guard(session)(Desk().pay_fine)("a")
    assert "has no result yet" not in str(refused.value), "it was not looked up, and nothing is awaited"


@pytest.mark.parametrize("error", UNKNOWN, ids=lambda error: type(error).__name__)
def test_what_says_nothing_of_how_a_call_ended_leaves_it_awaited(error: BaseException) -> None:
    session = library.session()

    @functions.guard(session)
    def get_reader(reader: str) -> None:
        raise error

    with pytest.raises(type(error)):
        get_reader("a")
    with pytest.raises(NotAllowed, match="has no result yet"):
        functions.guard(session)(Desk().pay_fine)("a")


@each
@pytest.mark.parametrize("error", [ValueError("no"), KeyError("id"), named("IncompleteRead"), EOFError(), *UNKNOWN[:2]])
def test_what_fails_in_a_tool_that_changes_something_may_have_been_done(call: Caller, error: Exception) -> None:
    """An error at reading the answer comes after the deed; only of an atomic tool its own say that nothing was done."""
    errors: list[Exception] = []

    def pay_fine() -> str:
        if errors:
            raise errors.pop()
        return "paid"

    desk, sure = SimpleNamespace(tools={"pay_fine": pay_fine}), type(error) in (ValueError, KeyError)
    for atomic in (False, True):
        session = library.paid_once(atomic)
        errors.append(error)
        with contextlib.suppress(type(error)):
            call(session, desk, "pay_fine", {})
        assert call(session, desk, "pay_fine", {})[0] is (atomic and sure) and not errors


class OwnError(Exception):
    """One of the package that the tool is from."""


@each
@pytest.mark.parametrize(
    ("error", "own"),
    [
        (OwnError("no such fine"), True),
        (LookupError("no"), True),
        (MemoryError(), False),
        (json.JSONDecodeError("what came cannot be read", "", 0), False),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "what came cannot be read"), False),
        (sqlite3.OperationalError("the disk went"), False),
        (subprocess.CalledProcessError(1, "pay"), False),
    ],
)
def test_only_an_atomic_tool_s_own_error_says_that_nothing_was_done(call: Caller, error: Exception, own: bool) -> None:
    errors = [error]

    def pay_fine() -> str:
        if errors:
            raise errors.pop()
        return "paid"

    session, desk = library.paid_once(True), SimpleNamespace(tools={"pay_fine": pay_fine})
    with contextlib.suppress(type(error)):
        call(session, desk, "pay_fine", {})
    assert call(session, desk, "pay_fine", {})[0] is own and not errors


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "user", "content": "Yes."}, "Yes."),
        ({"role": "user", "name": "helper", "content": "Yes."}, "helper: Yes."),
        ({"role": "assistant", "name": "helper", "content": "Yes."}, "Yes."),
        (
            {"role": "user", "content": [{"type": "text", "text": "Yes."}, {"type": "input_audio"}]},
            "Yes.\n[input_audio, not read]",
        ),
        ({"role": "user", "content": [{"type": "image_url"}]}, "[image_url, not read]"),
        ({"role": "user", "content": [{"type": "tool_result", "text": "Yes."}]}, "[tool_result, not read]"),
        ({"role": "user", "content": [{"type": "text", "text": {"value": "No."}}]}, "[text, not read]"),
        ({"role": "user", "content": {"type": "text", "text": "No."}}, "No."),
        ({"role": "assistant", "content": [{"type": "thinking", "text": "?"}, {"type": "tool_use"}, "Well."]}, "Well."),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}, "I cannot."),
        ({"role": "assistant", "content": None, "refusal": "I cannot."}, "I cannot."),
        ({"role": "assistant", "content": "Hm.", "refusal": {"why": 1}}, "Hm."),
        ({"role": "user", "content": "Yes.", "audio": {"transcript": 7}}, "Yes."),
        ({"role": "assistant", "content": None, "audio": {"transcript": "Or not?"}}, "Or not?"),
        ({"role": "user", "content": "Yes.", "audio": {"id": "a"}}, "Yes.\n[audio, not read]"),
    ],
)
def test_what_is_no_text_in_a_message_is_marked(message: dict, said: str) -> None:
    record = io.StringIO()
    session = library.session(record=record)
    openai.Tools(session, {}).run([message, asked(text="Now.")])
    told = [json.loads(line)["say"]["text"] for line in record.getvalue().splitlines() if "say" in json.loads(line)]
    assert told == [said, "Now."]


def test_what_was_judged_is_what_runs_whoever_changes_it_meanwhile() -> None:
    """A list that another task changes once the call is decided, before a coroutine begins."""
    seen = []

    class Changing(Session):
        def call(self, tool: str, arguments: Any, *rest: Any, **options: Any) -> Any:
            verdict = super().call(tool, arguments, *rest, **options)
            days.append(99), inner.append(99)
            return verdict

    days, inner = [3], [1]
    parts: dict = {"n": inner, "pair": (inner, [])}
    for _ in range(90):
        parts = {"deep": parts, "n": inner}
    given = {"type": "object", "properties": {"days": {"type": "array"}, "parts": {"type": "object"}}}
    box = tools.parse(json.dumps([{"name": name, "parameters": given} for name in ("soon", "late")]))
    acts = tuple(Predicate(one.name, "action", "", tools=(one.name,)) for one in box.tools)
    session = Changing(airline.guarded("desk", box, RuleSet(acts, ())))

    def soon(days: list, parts: dict) -> None:
        seen.append((days, json.dumps(parts)))

    async def late(days: list, parts: dict) -> None:
        seen.append((days, json.dumps(parts)))

    functions.guard(session)(soon)(days, parts)
    asyncio.run(functions.guard(session)(late)(days, parts=parts))
    (first, early), (second, after) = seen
    assert (first, second) == ([3], [3, 99])
    assert "99" not in early and after == early.replace("[1]", "[1, 99]") and early.count("[1]") == 92


def test_a_cancelled_call_leaves_the_session_waiting_and_allows_nothing_that_rests_on_it() -> None:
    session, desk = library.session(), Desk()

    @functions.guard(session, tool="get_reader")
    async def slow(reader: str) -> None:
        await asyncio.sleep(60)

    async def run() -> None:
        task = asyncio.create_task(slow("a"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    ran, told = by_function(session, desk, "pay_fine", {"reader": "a"})
    assert not ran and "has no result yet" in told
    assert by_function(session, desk, "get_reader", {"reader": "a"})[0]
    assert by_function(session, desk, "pay_fine", {"reader": "a"})[0], "whatever came of the cancelled one"


def test_threads_share_a_session_and_no_call_is_counted_twice() -> None:
    """Of many lookups and fines at once, each fine that ran had a lookup that had begun."""
    session, desk, refused = library.session(), Desk(), []
    pay, find = functions.guard(session)(desk.pay_fine), functions.guard(session)(desk.get_reader)

    def work(number: int) -> None:
        try:
            pay(str(number)) if number % 2 else find(str(number))
        except NotAllowed as error:
            refused.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(desk.done) + len(refused) == 40 and len([d for d in desk.done if d[0] == "get_reader"]) == 20
    first = next((i for i, done in enumerate(desk.done) if done[0] == "pay_fine"), len(desk.done))
    assert "get_reader" in {name for name, *_ in desk.done[:first]} or first == len(desk.done)


def test_what_a_lazy_function_gives_is_not_used_up_and_a_promise_counts_when_it_is_kept() -> None:
    session = library.session()

    @functions.guard(session, tool="get_reader")
    def lazy(reader: str) -> Any:
        return iter([1, 2])

    assert list(lazy("a")) == [1, 2]

    @functions.guard(session, tool="lend_book")
    def promise(days: int) -> Any:
        async def later() -> int:
            return days

        return later()

    assert asyncio.run(promise(3)) == 3


# ---- OpenAI -----------------------------------------------------------------------------------------


def test_messages_of_the_real_package_are_read() -> None:
    """The client's own types, as it parses what a server sends."""
    from openai.types.chat import ChatCompletion

    def completion(message: dict) -> ChatCompletion:
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        return ChatCompletion.model_validate(
            {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        )

    session, desk = library.session(), Desk()
    tools = openai.Tools(session, desk.tools)
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "yes"}]}]
    calls = asked(
        ("a", "get_reader", {"reader": "r"}), ("b", "lend_book", {"days": 99}), ("c", "close_card", {"reader": "r"})
    )
    messages.append(completion(calls).choices[0].message)
    found = tools.run(messages)
    assert [m["tool_call_id"] for m in found] == ["a", "b", "c"]
    assert json.loads(found[0]["content"]) == {"reader": "r", "level": 2}
    assert f"“{SHORT}”" in found[1]["content"] and found[2]["content"] == "closed", "the user's yes was heard"
    messages += found
    messages.append(completion(asked(("d", "close_card", {"reader": "r"}))).choices[0].message)
    (again,) = tools.run(messages)
    assert f"“{AGREED}”" in again["content"] or "state.words" in again["content"], "a yes is used up"
    assert desk.done == [("get_reader", "r"), ("close_card", "r")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"days": 40, "days": 3}', 'each key once was required; got "days" twice'),
        ('{"days": NaN}', "a finite number was required; got NaN"),
        ('{"days": 3', "JSON was required"),
        ("", "JSON was required"),
        ("[3]", "a JSON object was required"),
        ("null", "a JSON object was required"),
        ('{"days": 1e999}', "a finite number was required"),
        ('{"days": 3, "note": "\\ud800"}', "whole Unicode characters were required"),
        ('{"Days": 3}', "Days: one of the arguments"),
        ('{"days": 3.5}', "integer was required"),
    ],
)
def test_arguments_that_are_not_one_plain_object_are_refused_and_never_repaired(text: str, told: str) -> None:
    log = io.StringIO()
    session, desk = library.session(log=log), Desk()
    for observing in (session, library.session(observe=True)) if "JSON" in told or "each" in told else (session,):
        (message,) = openai.Tools(observing, desk.tools).run([asked(("c", "lend_book", text))])
        assert told in message["content"] and not desk.done, "also where it is only observed: there is no call"
    (row,) = map(json.loads, log.getvalue().splitlines())
    assert row["decision"] == "deny" and row["tool"] == "lend_book"


@pytest.mark.parametrize("run", ["run", "arun"])
def test_parallel_calls_are_decided_in_order_and_told_by_their_ids(run: str) -> None:
    """One after the other, the second knows how the first ended; together, it is not known yet."""
    session, desk = library.session(), Desk()
    tools = openai.Tools(session, desk.tools)
    messages = [asked(("a", "get_reader", {"reader": "r"}), ("b", "pay_fine", {"reader": "r"}), text="I look.")]
    found = tools.run(messages) if run == "run" else asyncio.run(tools.arun(messages))
    ran = [m["tool_call_id"] for m in found if not m["content"].startswith("The call of")]
    assert ran == (["a", "b"] if run == "run" else ["a"])
    assert run == "run" or "get_reader (call a) has no result yet" in found[1]["content"]
    messages += [*found, asked(("d", "pay_fine", {"reader": "r"}))]
    (last,) = tools.run(messages)
    assert last["content"] == "paid", "the result of a was told"


STRATEGIES = {  # what runs of a message with a forbidden call between two others, and of the next one; what is said
    "halt and replan": ([1, 2, 3], "It can comply only where"),
    "replan": ([3], "No call of this action was run: plan anew."),
    "halt": ([1, 2, 3], "No response from the tool."),
    "block": ([3], "The action was blocked."),
    "terminate": ([], "The task was ended. The call of lend_book was not run"),
}


@pytest.mark.parametrize("run", ["run", "arun"])
@pytest.mark.parametrize(("strategy", "ran", "told"), [(name, *row) for name, row in STRATEGIES.items()])
def test_what_becomes_of_an_action_with_a_call_that_is_not_allowed(strategy, ran, told, run) -> None:
    """VeriGuard, Section 3.3.2; with an observing session everything runs, whatever the strategy."""
    for observe in (False, True):
        session, desk = library.session(on_refusal=strategy, observe=observe), Desk()
        tools = openai.Tools(session, desk.tools)
        messages = [asked(*((name, "lend_book", {"days": days}) for name, days in (("a", 1), ("b", 99), ("c", 2))))]
        found = tools.run(messages) if run == "run" else asyncio.run(tools.arun(messages))
        messages += [*found, asked(("d", "lend_book", {"days": 3}))]
        last = tools.run(messages) if run == "run" else asyncio.run(tools.arun(messages))
        assert [days for _, days in desk.done] == ([1, 99, 2, 3] if observe else ran)
        if observe:
            continue
        assert told in found[1]["content"]
        assert ("“" in found[1]["content"]) is (strategy not in ("halt", "block")), "whether the sentence is named"
        assert all(one["content"].startswith("lent for") is (1 in ran) for one in (found[0], found[2]))
        ended = enforcement.enforcer(session).ended
        assert bool(ended) is (strategy == "terminate") is (last[0]["content"] == found[1]["content"])


@pytest.mark.parametrize(("given", "got"), [(2.0, 2), (2, 2)])
def test_a_whole_number_reaches_the_tool_as_it_was_judged(given: float, got: int) -> None:
    session, desk = library.session(), Desk()
    (answer,) = openai.Tools(session, desk.tools).run([asked(("a", "lend_book", {"days": given}))])
    assert answer["content"] == f"lent for {got} days" and type(desk.done[0][1]) is int
    session, seen = library.session(), []

    @functions.guard(session)
    def lend_book(days: int) -> None:
        seen.append(days)

    lend_book(given)
    assert [(one, type(one)) for one in seen] == [(got, int)]


def test_a_task_that_was_ended_is_over_for_whoever_takes_in_its_record() -> None:
    record = io.StringIO()
    tools = openai.Tools(library.session(on_refusal="terminate", record=record), Desk().tools)
    tools.run([asked(("a", "lend_book", {"days": 99}))])
    again = library.session(on_refusal="terminate")
    again.replay([event for run in events.loads(record.getvalue()) for event in run.events])
    verdict = again.call("lend_book", {"days": 1})
    assert verdict.decision != "allow" and "the task was ended" in verdict.reason


def test_a_strategy_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="on_refusal: one of .* was required; got .ask"):
        library.session(on_refusal="ask")


def test_an_id_that_stands_twice_runs_once() -> None:
    session, desk = library.session(), Desk()
    tools = openai.Tools(session, desk.tools)
    first, second = tools.run([asked(("a", "lend_book", {"days": 1}), ("a", "lend_book", {"days": 2}))])
    assert first["content"] == "lent for 1 days" and "an id of its own in its message was required" in second["content"]
    (third,) = tools.run([asked(), asked(("a", "lend_book", {"days": 3}))])
    assert third["content"] == "lent for 3 days", "servers that count the calls of each message from nought"
    assert desk.done == [("lend_book", 1), ("lend_book", 3)]


def test_messages_may_not_change_under_the_session() -> None:
    """A yes that is followed by words that are taken away again would stay a yes."""
    session, desk = library.session(), Desk()
    tools = openai.Tools(session, desk.tools)
    messages: list[Any] = [{"role": "user", "content": "no"}, asked(("a", "lend_book", {"days": 1}))]
    messages += tools.run(messages)
    edited = [{"role": "user", "content": "yes"}, *messages[1:], asked(("b", "close_card", {"reader": "r"}))]
    assert "may only grow" in tools.run(edited)[0]["content"]
    shorter = [asked(("c", "lend_book", {"days": 1}))]
    assert "may only grow" in tools.run(shorter)[0]["content"]
    grown = [*messages, asked(("d", "lend_book", {"days": 1}))]
    grown[2] = {**grown[2], "content": "(left out)"}
    assert tools.run(grown)[0]["content"] == "lent for 1 days", "what tools said may be cut"
    with pytest.raises(ValueError, match="end with one of the assistant"):
        tools.run(messages)
    assert desk.done == [("lend_book", 1), ("lend_book", 1)]


def test_custom_tool_calls_and_tools_without_a_function_do_not_run() -> None:
    session, desk = library.session(), Desk()
    tools = openai.Tools(session, {name: f for name, f in desk.tools.items() if name != "get_reader"})
    custom = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "lend_book", "input": "3"}}],
    }
    assert "a function call with arguments by name was required" in tools.run([custom])[0]["content"]
    found = tools.run([custom, asked(("d", "get_reader", {"reader": "a"}))])
    assert found[0]["content"] == 'The call failed: there is no function for "get_reader"'
    assert not by_function(session, desk, "pay_fine", {"reader": "a"})[0], "it was not done"


def test_a_function_that_would_only_be_promised_is_told_before_anything_runs() -> None:
    desk = Desk()

    async def later(reader: str) -> str:
        return reader

    tools = openai.Tools(library.session(), {**desk.tools, "get_reader": later})
    messages = [asked(("a", "lend_book", {"days": 1}), ("b", "get_reader", {"reader": "r"}))]
    with pytest.raises(TypeError, match="use `arun`"):
        tools.run(messages)
    assert not desk.done
    assert [m["content"] for m in asyncio.run(tools.arun(messages))] == ["lent for 1 days", "r"]


def test_calls_on_which_verdicts_rest_are_made_in_the_order_they_were_judged_in_and_others_beside_them() -> None:
    """ "No fine after a look-up": the fine, which was judged before the look-up, is over when that begins."""
    rule = Rule("r", "", parse("ALWAYS (pay_fine IMPLIES NOT ONCE get_reader)"), "forbid", quote="No fine after it.")
    rules = RuleSet(library.PREDICATES, (rule,)).without_unused()
    done: list[str] = []

    def slow(name: str) -> Callable[..., Awaitable[None]]:
        async def function(**given: object) -> None:
            done.append(f"{name} begins")
            await asyncio.sleep(0.05 if name == "pay_fine" else 0)
            done.append(f"{name} ends")

        return function

    session = Session(library.airline.guarded("guard", library.BOX, rules))
    assert [session.minds(name) for name in ("pay_fine", "get_reader", "lend_book")] == [True, True, False]
    tools = openai.Tools(session, {name: slow(name) for name in ("pay_fine", "get_reader", "lend_book")})
    given = {"lend_book": {"days": 1}}
    calls = [
        (str(i), name, given.get(name, {"reader": "x"}))
        for i, name in enumerate(("pay_fine", "get_reader", "lend_book"))
    ]
    found = asyncio.run(tools.arun([asked(*calls)]))
    assert [message["tool_call_id"] for message in found] == ["0", "1", "2"]
    assert done[:3] == ["pay_fine begins", "lend_book begins", "lend_book ends"]
    assert done[3:] == ["pay_fine ends", "get_reader begins", "get_reader ends"]


def test_a_call_that_may_overtake_one_under_way_waits_for_its_result() -> None:
    """The same rule where nothing orders the calls: functions of an agent's own, at once."""
    rule = Rule("r", "", parse("ALWAYS (pay_fine IMPLIES NOT ONCE get_reader)"), "forbid", quote="No fine after it.")
    rules = RuleSet(library.PREDICATES, (rule,)).without_unused()
    session, done = Session(library.airline.guarded("guard", library.BOX, rules)), []

    @functions.guard(session)
    async def pay_fine(reader: str) -> None:
        await asyncio.sleep(0.05)
        done.append("pay_fine")

    @functions.guard(session)
    async def get_reader(reader: str) -> None:
        done.append("get_reader")

    @functions.guard(session)
    async def lend_book(days: int) -> None:
        done.append("lend_book")

    async def at_once() -> list[object]:
        return await asyncio.gather(pay_fine("x"), get_reader("x"), lend_book(1), return_exceptions=True)

    _, refused, lent = asyncio.run(at_once())
    assert lent is None and isinstance(refused, functions.NotAllowed) and done == ["lend_book", "pay_fine"]
    assert "pay_fine has no result yet, and its verdict may rest on this call" in str(refused)
    asyncio.run(get_reader("x"))
    assert done[-1] == "get_reader"
    with pytest.raises(functions.NotAllowed):
        asyncio.run(pay_fine("x"))


def test_a_message_that_is_foreign_does_not_run() -> None:
    desk = Desk()
    odd = SimpleNamespace(role="assistant", content=None, tool_calls=[SimpleNamespace(id=None, function=None)])
    (message,) = openai.Tools(library.session(), desk.tools).run([odd])
    assert "was required" in message["content"] and not desk.done


# ---- what is shared ---------------------------------------------------------------------------------


def test_a_session_has_one_enforcer_and_a_refusal_says_all_that_is_known() -> None:
    session = library.session()
    one = enforcement.enforcer(session)
    assert one is enforcement.enforcer(lambda: session) is not enforcement.enforcer(library.session())
    verdict = Verdict("deny", "no", ("r",), quotes=("Some sentence.",))
    told = enforcement.refusal("t", verdict, ("a is 1",))
    assert "“Some sentence.”" in told and "can comply only where this holds: a is 1" in told
    assert "\x1b" not in enforcement.refusal("\x1b[2J", Verdict("deny", "no"))
    assert "null" in enforcement.refusal(None, Verdict("deny", "no"))
    assert "because it is not known whether it may run" in enforcement.refusal("t", Verdict("undecided", "perhaps"))
    assert "because" not in enforcement.refusal("t", Verdict("deny", "no"))


def test_what_would_comply_is_found_once_for_the_same_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is slow to say for a large rule: a second refusal for the same rules does not say it anew."""
    found, real = [], examples.required

    def counted(*given: Any) -> tuple[str, ...]:
        found.append(given)
        return real(*given)

    monkeypatch.setattr(examples, "required", counted)
    session, desk = library.session(), Desk()
    for days in (15, 16, 17):
        assert "days is at most 14" in by_function(session, desk, "lend_book", {"days": days})[1]
    assert not by_function(session, desk, "pay_fine", {"reader": "a"})[0] and len(found) == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"a": [1]}', {"a": (1,)}), ("12", "12"), ("{a", "{a"), ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}')],
)
def test_what_a_tool_answers_in_text_is_read_only_where_it_is_plain_json(text: str, value: object) -> None:
    assert enforcement.content(text) == value


def test_a_coroutine_is_judged_in_a_thread_where_the_session_may_have_to_wait() -> None:
    session, desk = library.session(ask=lambda tool, arguments: None), Desk()
    assert session.asks
    assert by_coroutine(session, desk, "lend_book", {"days": 14}) == (True, "lent for 14 days")
    assert not by_coroutine(session, desk, "lend_book", {"days": 15})[0] and desk.done == [("lend_book", 14)]


def test_where_words_cannot_be_told_no_call_runs() -> None:
    """A session that cannot take in what was said does not know what it would judge by."""

    class Deaf(Session):
        def say(self, role: str, text: str) -> None:
            raise OSError(28, "No space left on device")

    desk = Desk()
    messages = [{"role": "user", "content": "Lend me a book."}, asked(("a", "lend_book", {"days": 3}))]
    (refused,) = openai.Tools(Deaf(library.GUARD), desk.tools).run(messages)
    assert "what was said cannot be told to the session" in refused["content"] and not desk.done


both = pytest.mark.parametrize("run", ["run", "arun"])


def made(tools: openai.Tools, run: str, messages: list) -> list[dict]:
    return tools.run(messages) if run == "run" else asyncio.run(tools.arun(messages))


@both
def test_a_message_that_asks_for_nothing_gets_nothing_and_none_is_refused(run: str) -> None:
    tools = openai.Tools(library.session(), {})
    assert made(tools, run, [asked()]) == [] == made(tools, run, [asked(), {"role": "assistant", "content": "x"}])
    for wrong in ([], [{"role": "user", "content": "x"}], [asked(), {"role": "user", "content": "x"}]):
        with pytest.raises(ValueError, match="messages that end with one of the assistant were required"):
            made(openai.Tools(library.session(), {}), run, wrong)


@both
def test_what_ends_the_program_is_raised_and_any_other_error_is_told(run: str) -> None:
    raised: list[BaseException] = [SystemExit("end"), RuntimeError("no")]

    def get_reader(reader: str) -> None:
        raise raised.pop()

    async def later(reader: str) -> None:
        raise raised.pop()

    for function in (get_reader, later) if run == "arun" else (get_reader,):
        raised[:] = [SystemExit("end"), RuntimeError("no")]
        tools = openai.Tools(library.session(), {"get_reader": function})
        message = asked(("a", "get_reader", {"reader": "r"}))
        assert made(tools, run, [message]) == [
            {"role": "tool", "tool_call_id": "a", "content": "The call failed: RuntimeError: no"}
        ]
        with pytest.raises(SystemExit):
            made(tools, run, [message])


@both
def test_a_call_whose_id_or_words_are_in_doubt_is_observed_unless_there_is_none(run: str) -> None:
    desk = Desk()
    tools = openai.Tools(library.session(observe=True), desk.tools)
    user, lend = {"role": "user", "content": "no"}, ("a", "lend_book", {"days": 1})
    made(tools, run, [user, asked(lend)])
    (found,) = made(tools, run, [{"role": "user", "content": "yes"}, asked(), asked(("b", "lend_book", {"days": 2}))])
    assert found["content"] == "lent for 2 days", "the messages are others, which is only observed"
    first, second = made(tools, run, [user, asked(), asked(("c", "lend_book", {"days": 3}), ("c", "lend_book", "{"))])
    assert first["content"] == "lent for 3 days" and "an id of its own" in second["content"]
    assert [days for _, days in desk.done] == [1, 2, 3]


@both
def test_only_the_name_of_a_function_makes_a_call(run: str) -> None:
    for name in (7, None, ["lend_book"]):
        message = asked(("a", "lend_book", {"days": 1}))
        message["tool_calls"][0]["function"]["name"] = name
        desk = Desk()
        (found,) = made(openai.Tools(library.session(), desk.tools), run, [message])
        assert "a tool whose name is" in found["content"] and not desk.done
    (found,) = made(openai.Tools(library.session(observe=True), {}), run, [asked(("a", "lend_book", {"days": 1}))])
    assert found["content"] == 'The call failed: there is no function for "lend_book"'


@dataclasses.dataclass
class Card:
    """What a tool may give."""

    day: object
    kind: object = None


class Model(pydantic.BaseModel):
    """The same, as a model."""

    day: datetime.date


DAY, THING = datetime.date(2026, 1, 31), object()


@pytest.mark.parametrize(
    ("value", "told", "text"),
    [
        (DAY, DAY, '"2026-01-31"'),
        ([DAY], ["2026-01-31"], '["2026-01-31"]'),
        ((DAY,), ["2026-01-31"], '["2026-01-31"]'),
        ({"a": DAY}, {"a": "2026-01-31"}, '{"a":"2026-01-31"}'),
        (Card(DAY), {"day": "2026-01-31", "kind": None}, '{"day":"2026-01-31","kind":null}'),
        (Model(day=DAY), {"day": "2026-01-31"}, '{"day":"2026-01-31"}'),
        ([THING], [THING], str([THING])),
        (THING, THING, str(THING)),
        ("as it is", "as it is", "as it is"),
        (None, None, "null"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_a_function_gave_is_told_as_json_where_it_can_be(value: object, told: object, text: str) -> None:
    assert functions.plain(value) == told and openai._text(value) == text
    unsaid = Card(THING)
    assert functions.plain(unsaid) is unsaid and openai._text(unsaid) == str(unsaid)
    lazy = iter([1])
    assert functions.plain(lazy) is lazy and list(lazy) == [1]


def nested(levels: int) -> Any:
    value: Any = 1
    for i in range(levels):
        value = [{"a": value}, (value,), [value]][i % 3]
    return value


def test_arguments_are_held_as_deep_as_any_that_is_allowed() -> None:
    """101 levels: one for the arguments themselves, of which none runs; deeper ones are refused and not looked into."""
    deep = nested(101)
    held = functions._held(deep)
    while type(deep) in (dict, list, tuple):
        assert held == deep and held is not deep and type(held) is type(deep)
        deep, held = (one["a"] if type(one) is dict else one[0] for one in (deep, held))
    inside = nested(3)
    too_deep: Any = inside
    for _ in range(101):
        too_deep = [too_deep]
    held = functions._held(too_deep)
    for _ in range(101):
        assert type(held) is list
        held = held[0]
    assert held is inside
    endless: list = []
    endless.append(endless)
    desk = Desk()
    with pytest.raises(NotAllowed, match="nested at most 100 levels"):
        functions.guard(library.session())(desk.lend_book)(endless)
    assert not desk.done


def test_a_function_is_the_tool_of_its_name_or_of_the_one_it_is_given_and_takes_more_by_name() -> None:
    log = io.StringIO()
    session = library.session(log=log)

    def lend_book(days: int, *, note: str = "none", undeclared: int = 3, **more: Any) -> tuple:
        return days, note, undeclared, more

    guarded = functions.guard(session)(lend_book)
    assert guarded(3) == (3, "none", 3, {}) and guarded.__name__ == "lend_book"
    with pytest.raises(NotAllowed, match="other: one of the arguments"):
        guarded(3, other=1)
    assert functions.guard(session, tool="burn_book")(lend_book) is not guarded
    with pytest.raises(NotAllowed, match="there is no such tool"):
        functions.guard(session, tool="burn_book")(lend_book)(3)
    assert [json.loads(line)["arguments"] for line in log.getvalue().splitlines()] == [
        {"days": 3, "note": "none"},
        {"days": 3, "note": "none", "other": 1},
        {"days": 3},
    ]
