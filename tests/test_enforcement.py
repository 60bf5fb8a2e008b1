"""What adapters share, each by itself: texts, errors, ids, what a refusal says, and what is told of a call."""

from __future__ import annotations

import asyncio
import io
import json
import re
import threading
from types import MappingProxyType, SimpleNamespace
from typing import Any

import library
import pytest

from wb.adapters import enforcement
from wb.adapters.enforcement import Answer, Enforcer, NotAllowed
from wb.domain.session import Session
from wb.domain.trace import Verdict
from wb.guards import examples

HEARD = ("text", "input_text", "output_text")
UNHEARD = (
    "reasoning",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "tool_call",
    "tool_call_chunk",
    "function_call",
    "server_tool_call",
    "server_tool_use",
    "invalid_tool_call",
)


# ---- what is said -----------------------------------------------------------------------------------


class Loud(str):
    """A text that says something else of itself."""

    def __str__(self) -> str:
        return "yes"


@pytest.mark.parametrize("kind", [*HEARD, *UNHEARD, "image", "refusal"])
def test_what_is_heard_of_a_part_goes_by_its_kind(kind: str) -> None:
    part, own = {"type": kind, "text": "a", "refusal": "b"}, "b" if kind == "refusal" else "a"
    said = own if kind in (*HEARD, "refusal") else "" if kind in UNHEARD else f"[{kind}, not read]"
    for one in (part, SimpleNamespace(**part), MappingProxyType(part)):
        assert enforcement.words([one]) == enforcement.words((one,)) == enforcement.words(one) == said
        assert enforcement.words(["x", one, "y"]) == "\n".join(filter(None, ["x", said, "y"]))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, ""),
        ("", ""),
        ([], ""),
        ((), ""),
        ("a", "a"),
        (["a", "", "b"], "a\nb"),
        ({"text": "a"}, "a"),
        ({"type": "text", "text": ""}, ""),
        ({"type": "text"}, "[text, not read]"),
        ({"type": "refusal", "text": "a"}, "[refusal, not read]"),
        ({"type": 7, "text": "a"}, "[7, not read]"),
        (7, "[None, not read]"),
    ],
)
def test_the_words_of_a_content(content: object, said: str) -> None:
    assert enforcement.words(content) == said


def test_a_text_is_what_it_holds_and_plain() -> None:
    found = enforcement.words(Loud("no"))
    assert found == "no" and type(found) is str


@pytest.mark.parametrize(
    ("role", "name", "content", "said"),
    [
        ("user", "helper", "a", "helper: a"),
        ("user", "some one", "a", "some one: a"),
        ("user", "helper", "", ""),
        ("user", None, "a", "a"),
        ("user", "", "a", "a"),
        ("assistant", "helper", "a", "a"),
    ],
)
def test_a_user_with_a_name_may_be_another_than_the_user(role: str, name: Any, content: str, said: str) -> None:
    message = {"role": role, "name": name, "content": content}
    assert enforcement.spoken(message, role) == enforcement.spoken(SimpleNamespace(**message), role) == said


def test_a_key_of_a_dict_of_a_mapping_and_of_an_object() -> None:
    """What a dict has as a method, such as `items`, is no key of it."""
    for one in ({"items": 1}, MappingProxyType({"items": 1}), SimpleNamespace(items=1)):
        assert enforcement.of(one, "items") == 1 and enforcement.of(one, "other") is None
    assert enforcement.of({}, "items") is None is enforcement.of(None, "items")


@pytest.mark.parametrize(
    ("text", "value"),
    [("{}", {}), ("[]", ()), (" \n[1]", (1,)), ('{"a": 1}', {"a": 1}), ("1", "1"), ("", ""), ("[", "["), (" a", " a")],
)
def test_only_objects_and_lists_are_read_as_json(text: str, value: object) -> None:
    assert enforcement.content(text) == value


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"days": 3}, "the text of a JSON object was required; got object"),
        (None, "the text of a JSON object was required; got null"),
        (Loud("{}"), "the text of a JSON object was required"),
        ("3", "a JSON object was required; got 3"),
        ("[]", "a JSON object was required"),
    ],
)
def test_arguments_are_the_text_of_one_object(given: object, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        enforcement.parsed(given)
    assert enforcement.parsed('{"days": 3}') == {"days": 3}


class Silent(Exception):
    """An error that breaks when it is asked what it says."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def test_what_an_error_says_is_cut_and_never_breaks() -> None:
    assert enforcement.said(ValueError("no")) == "ValueError: no"
    assert enforcement.said(ValueError("x" * 1000)) == "ValueError: " + "x" * 488
    assert enforcement.said(Silent()) == "Silent"


# ---- what an error says of a call -------------------------------------------------------------------


class Own(Exception):
    """An error of the package that the tool is from."""


class OtherOwn(Exception):
    __module__ = f"{__name__}.inner"


class Foreign(Exception):
    __module__ = "elsewhere.errors"


def tool() -> None:
    """A function of this package."""


inner = SimpleNamespace(__module__=f"{__name__}.deep.inside")


@pytest.mark.parametrize(
    ("error", "function", "own"),
    [
        (ValueError(), None, True),
        (ValueError(), tool, True),
        (ZeroDivisionError(), tool, True),
        (MemoryError(), tool, False),
        (StopIteration(), tool, False),
        (Own(), tool, True),
        (OtherOwn(), tool, True),
        (Own(), inner, True),
        (Own(), None, False),
        (Own(), SimpleNamespace(__module__=None), False),
        (Own(), len, False),
        (Foreign(), tool, False),
        (Foreign(), None, False),
    ],
)
def test_whose_an_error_is(error: Exception, function: object, own: bool) -> None:
    assert enforcement.its_own(error, function) is own


def caused(error: BaseException, cause: BaseException | None = None, before: BaseException | None = None) -> Any:
    error.__cause__, error.__context__ = cause, before
    return error


def circle() -> Exception:
    """Two errors of which each came of the other."""
    one, other = ValueError("a"), KeyError("b")
    return caused(one, caused(other, one, one), other)


@pytest.mark.parametrize(
    ("error", "open"),
    [
        (ValueError("timed out"), False),
        (OSError(), True),
        (TimeoutError(), True),
        (EOFError(), True),
        (caused(ValueError(), cause=OSError()), True),
        (caused(ValueError(), before=OSError()), True),
        (caused(ValueError(), caused(KeyError(), before=TimeoutError())), True),
        (caused(ValueError(), KeyError(), KeyError()), False),
        (ExceptionGroup("g", [ValueError(), ExceptionGroup("h", [TimeoutError()])]), True),
        (ExceptionGroup("g", [ValueError(), KeyError()]), False),
        (circle(), False),
    ],
)
def test_whether_an_error_leaves_open_what_was_done(error: Exception, open: bool) -> None:
    assert enforcement.uncertain(error) is open


READ, CHANGED = "get_reader", "pay_fine"


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [
        (READ, ValueError("no"), True),
        (READ, Foreign("no"), True),
        (READ, TimeoutError(), False),
        (READ, SystemExit(), False),
        (READ, GeneratorExit(), False),
        (CHANGED, ValueError("no"), False),
        ("burn_book", ValueError("no"), False),
    ],
)
def test_an_error_is_told_only_where_it_says_that_nothing_was_done(name: str, error: Any, told: bool) -> None:
    found = []
    session = library.session()
    session.result = lambda *given: found.append(given)  # type: ignore[method-assign]
    Enforcer(session).failed(name, error, "c", tool)
    assert found == [(enforcement.said(error), "c", True)] * told


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_of_a_tool_that_changes_something_only_its_own_error_counts_and_only_if_it_is_atomic(
    atomic: bool, own: bool
) -> None:
    session, found = library.paid_once(atomic), []
    session.result = lambda *given: found.append(given)  # type: ignore[method-assign]
    for name in (CHANGED, "get_fine"):
        Enforcer(session).refused(name, "no", "c", own)
    assert found == [("no", "c", True)] * (atomic and own)


# ---- the enforcer -----------------------------------------------------------------------------------


def test_steps_and_ids_are_numbers_and_names_of_their_own() -> None:
    one = Enforcer(library.session())
    assert [one.step() for _ in range(3)] == [0, 1, 2]
    assert [one.own(name) for name in ("a", "a", "b", "a")] == ["a", "a (2)", "b", "a (3)"]
    first, second = enforcement.new_id(), enforcement.new_id()
    assert re.fullmatch(r"[0-9a-f]{12}-\d+", first) and first != second
    assert first.partition("-")[0] == second.partition("-")[0] == enforcement.RUN


def test_calls_of_one_step_are_put_on_record_as_one() -> None:
    record = io.StringIO()
    one = Enforcer(library.session(record=record))
    for number in (one.step(), one.step()):
        one.ask(READ, {"reader": "a"}, one.own("c"), number)
        one.ask("lend_book", {"days": 3}, None, number)
        one.unread("lend_book", "{", "no JSON", number)
    rows = [json.loads(line) for line in record.getvalue().splitlines()]
    asked = [(row["step"], row.get("call_id", row["call"].get("id"))) for row in rows if "call" in row]
    assert [step for step, _ in asked] == [0, 0, 1, 1], asked


@pytest.mark.parametrize("strategy", ["replan", "block"])
def test_a_call_of_an_action_that_is_not_carried_out_is_taken_back_or_never_allowed(strategy: str) -> None:
    """ "A look-up before a fine": a look-up that was not made is none, whether or not it has an id."""
    for call_id in ("a", None):
        one = Enforcer(library.session(on_refusal=strategy))
        number = one.step()
        first = one.ask(READ, {"reader": "a"}, call_id, number)
        assert first.runs is (call_id is not None), "one that could not be taken back is not let run"
        assert not one.ask("lend_book", {"days": 99}, "b", number).runs
        assert not one.still(first, READ, call_id, number).runs
        assert not one.ask("pay_fine", {"reader": "a"}, "c", one.step()).runs
    one = Enforcer(library.session(on_refusal="halt"))
    assert one.ask(READ, {"reader": "a"}, None, one.step()).runs, "no action of it is taken back"


@pytest.mark.parametrize("strategy", ["replan", "block"])
def test_what_is_remembered_of_refused_actions_is_bounded_and_what_is_forgotten_is_not_let_run(strategy: str) -> None:
    one = Enforcer(library.session(on_refusal=strategy))
    first, later = one.step(), one.step()
    waiting = {number: one.ask("lend_book", {"days": 3}, f"a{number}", number) for number in (first, later)}
    for number in (first, *(one.step() for _ in range(enforcement.KEPT + 5))):
        assert not one.ask("lend_book", {"days": 99}, f"b{number}", number).runs
    assert len(one._refused) == enforcement.KEPT
    for number, answer in waiting.items():
        assert answer.runs and not one.still(answer, "lend_book", f"a{number}", number).runs
    last = one.step()
    fresh = one.ask("lend_book", {"days": 3}, "c", last)
    assert fresh.runs and one.still(fresh, "lend_book", "c", last).runs


class Where(Session):
    """A session that writes down in which thread it is asked."""

    threads: list[bool] = []  # noqa: RUF012 - set anew by each test

    def call(self, *given: Any, **options: Any) -> Verdict:
        self.threads.append(threading.current_thread() is threading.main_thread())
        return super().call(*given, **options)


@pytest.mark.parametrize("asks", [False, True])
def test_only_a_session_that_may_have_to_wait_is_asked_in_a_thread(asks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Where, "threads", [])
    session = Where(library.GUARD, ask=lambda name, arguments: None) if asks else Where(library.GUARD)
    session.state({"card_blocked": False})
    for days in (3, 15):
        answer = asyncio.run(Enforcer(session).ask_async("lend_book", {"days": days}, "c" * days, 1))
        assert answer.runs is (days == 3) and (answer.verdict.decision == "allow") is answer.runs
    assert Where.threads == [not session.asks] * 2 and session.asks is asks


def test_a_call_that_cannot_be_read_is_logged_by_what_was_given_and_never_runs() -> None:
    log = io.StringIO()
    one = Enforcer(library.session(log=log, observe=True))
    for given in ("{", 7):
        answer = one.unread("lend_book", given, "no JSON", 4)
        assert answer.runs is False and answer.verdict.decision == "deny" and answer.verdict.grade == "error"
        assert answer.verdict.reason == "lend_book: no JSON" and "no JSON" in answer.refusal
    rows = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(row["step"], row["arguments"]) for row in rows] == [(4, None)] * 2
    assert [row["reason"].rpartition("; got ")[2] for row in rows] == ['"{"', '""'], rows

    class Deaf(Session):
        def call(self, *given: Any, **options: Any) -> Any:
            raise OSError("the disk is full")

    answer = Enforcer(Deaf(library.GUARD)).unread("lend_book", "{", "no JSON")
    assert not answer.runs and answer.verdict.reason == "lend_book: no JSON; OSError: the disk is full"


@pytest.mark.parametrize("observe", [False, True])
@pytest.mark.parametrize("decision", ["allow", "deny", "undecided"])
def test_only_allow_runs_and_observing_everything(decision: Any, observe: bool) -> None:
    one = Enforcer(library.session(observe=observe))
    answer = one.answer("lend_book", Verdict(decision, "so it is"))
    runs = observe or decision == "allow"
    assert answer.runs is runs and bool(answer.refusal) is not runs and answer.verdict.decision == decision


def test_what_was_asked_of_a_broken_session_is_denied() -> None:
    class Broken(Session):
        def call(self, *given: Any, **options: Any) -> Any:
            raise RuntimeError("boom")

    answer = Enforcer(Broken(library.GUARD)).ask("lend_book", {"days": 3})
    assert answer.runs is False and (answer.verdict.decision, answer.verdict.grade) == ("deny", "error")
    assert answer.verdict.reason == "lend_book: the decision broke: RuntimeError: boom"


def test_what_was_given_is_told_as_a_result_unless_it_is_an_error() -> None:
    for error, after in ((False, "allow"), (True, "deny")):
        session = library.session()
        one = Enforcer(session)
        assert one.ask(READ, {"reader": "a"}, "c").runs
        one.done({"level": 2}, "c", True) if error else one.done({"level": 2}, "c")
        assert session.call(CHANGED, {"reader": "a"}).decision == after
        one.done({}, "no such call")  # what cannot be told breaks nothing


def test_values_of_adapters() -> None:
    verdict = Verdict("deny", "no")
    refused = NotAllowed(Answer(False, verdict, "It was not run."))
    assert str(refused) == "It was not run." and refused.verdict is verdict
    with pytest.raises(AttributeError):
        Answer(True, verdict).runs = False  # type: ignore[misc]
    assert Answer(True, verdict) == Answer(True, verdict, "") and not hasattr(Answer(True, verdict), "__dict__")


def test_the_enforcer_of_a_session_is_made_once_and_kept_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    session, made = library.session(), []
    monkeypatch.setattr(enforcement, "Enforcer", lambda of: made.append(of) or Enforcer(of))
    one = enforcement.enforcer(session)
    assert one is enforcement.enforcer(session) is enforcement.enforcer(lambda about: session, 7)
    assert vars(session)["enforcer"] is one and one.session is session and made == [session]
    for wrong in (None, 7, "session"):
        with pytest.raises(TypeError, match="a session was required; got "):
            enforcement.enforcer(lambda wrong=wrong: wrong)


# ---- refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "complying", "told"),
    [
        (Verdict("deny", "no"), (), "The call of t was not run: it is not allowed. Reason: no."),
        (
            Verdict("undecided", "perhaps", missing=("state.a", "state.b")),
            (),
            "The call of t was not run: it is not allowed, because it is not known whether it may run. "
            "Reason: perhaps. Not known: state.a, state.b.",
        ),
        (
            Verdict("deny", "“One.” forbids it", ("r", "s"), quotes=("One.", "Two.")),
            ("a is 1", "b is 2"),
            "The call of t was not run: it is not allowed. Reason: “One.” forbids it. Sentence: “Two.”. "
            "It can comply only where this holds: a is 1; and b is 2.",
        ),
    ],
)
def test_a_refusal_says_each_thing_once(verdict: Verdict, complying: tuple[str, ...], told: str) -> None:
    assert enforcement.refusal("t", verdict, complying) == told


def test_a_refusal_names_what_is_no_name() -> None:
    assert enforcement.refusal(7, Verdict("deny", "no")).startswith("The call of a tool whose name is 7 was not run")
    assert enforcement.refusal("a b", Verdict("deny", "no")).startswith("The call of a b was not run")


def test_nothing_is_said_to_comply_where_no_rule_is_broken_or_none_can_be_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple] = []

    def found(judge: object, name: str, violated: tuple[str, ...]) -> tuple[str, ...]:
        asked.append((name, violated))
        if violated == ("broken",):
            raise RuntimeError("no")
        return (f"{name} is mended",)

    monkeypatch.setattr(examples, "required", found)
    one = Enforcer(library.session())
    for name, violated, comply in (
        ("t", ("r",), True),
        ("t", ("r",), True),
        ("u", ("r",), True),
        ("t", ("s",), True),
        ("t", ("broken",), False),
        ("t", (), False),
        (7, ("r",), False),
        (["t"], ("r",), False),
    ):
        told = one.answer(name, Verdict("deny", "no", violated)).refusal
        assert (f"It can comply only where this holds: {name} is mended." in told) is comply, told
    assert asked == [("t", ("r",)), ("u", ("r",)), ("t", ("s",)), ("t", ("broken",))]


OPEN = (
    "DeadlineExceeded SocketError ReadError NoResponse GatewayError HTTPStatusError OperationalError WriteFailed HungUp"
)


@pytest.mark.parametrize("name", [*OPEN.split(), "LostLink", "ServerError", "PoolExhausted"])
def test_an_error_named_after_a_connection_leaves_open_what_was_done(name: str) -> None:
    assert enforcement.uncertain(type(name, (Exception,), {})())


@pytest.mark.parametrize("name", ["AlreadyBooked", "OutOfStock", "NotFound", "Refused", "UnknownOrder"])
def test_an_error_named_after_what_it_is_about_does_not(name: str) -> None:
    assert not enforcement.uncertain(type(name, (Exception,), {})())
