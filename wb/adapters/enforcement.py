"""Holding an agent to a session's verdicts: what every adapter shares, whichever ecosystem the call comes from.

A call is asked of the session; only `allow` runs it, and what it gave is told.  Whatever breaks on the way is a refusal
with its reason: nothing here decides anything.  A call that was allowed and of which nobody says how it ended stays
awaited: no answer in time, a lost connection and a cancelled task do not say that nothing was done.  Nor does any
other error of a tool that may change something, such as one at reading the answer, unless `tools.json` says that the
tool is atomic.

What becomes of the agent is the session's `on_refusal`, the strategies of VeriGuard (Section 3.3.2, Table 3).  An
action is all calls of one message, as far as the ecosystem tells it and they have not run by then (SPEC section 4, z):

    halt and replan   the call is dropped; the agent is told the sentence, the reason, and what would comply
    replan            no call of the action runs; the agent is told the same, and to plan anew
    halt              the call is dropped, and the agent gets no response
    block             no call of the action runs, and the agent is told that it was blocked, but not why
    terminate         no call of the action runs, nor any later one; `Enforcer.ended` says why

By none of them does a call run that is not allowed: the paper's *collaborative re-planning* warns, and lets it run.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from wb.domain import jsonl, schema
from wb.domain.schema import named, said
from wb.domain.session import Session
from wb.domain.trace import Value, Verdict, permitted

UNCERTAIN = re.compile(  # in the names of errors that say nothing of whether the call was done
    r"time[ _]?d?[ _]?out|connect|protocol|network|transport|remote|closed|unavailable|interrupt|cancel|incomplete|eof|"
    r"broken|stream|payload|bad_?status|abort|deadline|socket|gateway|response|http|operational|(?<!al)read|write|reset|"
    r"hung|lost|unreachable|server|ssl|dns|pool",
    re.I,
)
SPOKEN = ("text", "input_text", "output_text", "refusal")  # parts of messages that are words
UNSPOKEN = (  # what a model thinks and asks for, which nobody hears
    *("reasoning", "thinking", "redacted_thinking", "tool_use", "tool_call", "tool_call_chunk", "function_call"),
    *("server_tool_call", "server_tool_use", "invalid_tool_call"),
)
PLAIN = (  # errors of values, and of nothing outside
    *(ValueError, TypeError, LookupError, KeyError, IndexError, AttributeError, ArithmeticError, ZeroDivisionError),
    *(OverflowError, AssertionError, NotImplementedError, RuntimeError),
)
RUN, CALLS = secrets.token_hex(6), itertools.count()  # name the calls of this process that have no id of their own
WHOLE = ("replan", "block", "terminate")  # strategies by which an action runs whole or not at all
KEPT = 64  # refused actions that are remembered: their calls come one after the other
NO_RESPONSE, BLOCKED = "No response from the tool.", "The action was blocked."
Current = Session | Callable[..., Session]  # a session, or what tells the one of the present conversation


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a call runs, the verdict on it, and the text of its refusal; empty where it runs."""

    runs: bool
    verdict: Verdict
    refusal: str = ""


class NotAllowed(PermissionError):
    """A call that was not run; its message is the refusal, `verdict` the verdict on it."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.refusal)
        self.verdict = answer.verdict


def uncertain(error: BaseException) -> bool:
    """Whether an error says nothing of whether the call was done: one of the system, of time or of a connection,
    whichever package's own, or one that comes from such a one."""
    seen: set[int] = set()
    rest: list[BaseException | None] = [error]
    while rest:
        one = rest.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, OSError) or any(UNCERTAIN.search(kind.__name__) for kind in type(one).__mro__):
            return True
        rest += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return False


def its_own(error: BaseException, function: object) -> bool:
    """Whether an error is a tool's own: one that Python raises of values, or of the package that the function is from.
    That of another package, which the tool uses, says nothing."""
    kind = type(error)
    if kind.__module__ == "builtins":
        return kind in PLAIN
    package = str(getattr(function, "__module__", None) or "").partition(".")[0]
    return bool(package) and kind.__module__.partition(".")[0] == package


class Enforcer:
    """One session as adapters use it. Threads may share it; `enforcer` gives each session its one.

    Only text that nobody has told yet is told: `heard` and `steps` are what an adapter remembers of messages.
    """

    def __init__(self, session: Session) -> None:
        self.session, self.lock = session, threading.RLock()
        self.heard: dict[object, object] = {}  # messages that were told, by what tells them apart
        self.steps: dict[object, Any] = {}  # what was decided of messages of the assistant that ask for calls
        self.under_way: dict[str, str] = {}  # allowed calls of which no result was told, by id: their tools
        self.ended = ""  # why the task is over, empty where it is not
        self._refused: dict[int, str] = {}  # steps of which a call was refused, and what the agent is told of it
        self._forgotten = -1  # the last step of which that is not known any more: no call of it or before it runs
        self._numbers, self._used = itertools.count(), Counter()
        self._complying = functools.lru_cache(functools.partial(_complying, session))  # it may be slow to say

    @property
    def whole(self) -> bool:
        """Whether all calls of an action are decided before any runs."""
        return self.session.on_refusal in WHOLE

    def step(self) -> int:
        """A number for the calls of one message of the assistant."""
        return next(self._numbers)

    def own(self, call_id: str) -> str:
        """The id of a call in the session: that of its message, marked where an earlier message had it already."""
        with self.lock:
            self._used[call_id] += 1
            own = [call_id if n == 1 else f"{call_id} ({n})" for n in (self._used[call_id] - 1, self._used[call_id])]
            self.under_way.pop(own[0], None)  # what is made again is under way no more as it was before
            return own[1]

    def told(self, role: str, text: str) -> str:
        """Tell what was said, if anything was; why the session cannot be told, empty where it is."""
        try:
            if text:
                self.session.say(role, text)
        except Exception as error:
            return f"what was said cannot be told to the session: {said(error)}"
        return ""

    @contextmanager
    def made(self, tool: object, call_id: str, function: object = None) -> Iterator[None]:
        """Around an allowed call: what it raises is told, and raised."""
        try:
            yield
        except BaseException as error:
            self.failed(tool, error, call_id, function)
            raise

    def whole_numbers(self, tool: object, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as a function gets them: 3.0 is 3 where a whole number is declared, as it is judged."""
        mine = [one.arguments for one in self.session.judge.validator.toolbox.tools if one.name == tool]
        whole = {field.name for fields in mine for field in fields if field.type == "integer"}
        turned = {k: int(v) for k, v in arguments.items() if k in whole and type(v) is float and v.is_integer()}
        return {**arguments, **turned}

    def ask(
        self,
        tool: object,
        arguments: object,
        call_id: str | None = None,
        step: int | None = None,
        *,
        in_order: bool = False,
    ) -> Answer:
        """The answer to a call that the agent asks for; a result is told of it if it has an id, which each call of an
        action needs that runs whole or not at all.

        Unless the host makes calls in the order in which they are asked for (`in_order`), one is refused while another
        is under way that was decided without it and whose verdict it may change (`Session.ordered`): it may overtake.
        """
        with self.lock:
            first = None if in_order or self.session.observe else self._overtaken(tool)
            if first is not None:
                why = f"{schema.named(first)} has no result yet, and its verdict may rest on this call: ask once it has"
                return self.unread(tool, "", why, step)
            return self._asked(tool, arguments, call_id, step)

    def _overtaken(self, tool: object) -> str | None:
        """A tool a call of which is under way, and was allowed as if none of this tool had been done before it."""
        under = dict.fromkeys(self.under_way.values()) if type(tool) is str else ()
        return next((one for one in under if self.session.ordered(one, tool)), None)

    def _asked(self, tool: object, arguments: object, call_id: str | None, step: int | None) -> Answer:
        if self.whole and step is not None and call_id is None and not self.session.observe:
            return self.unread(tool, "", "an id was required, by which a call of an action can be taken back", step)
        try:
            verdict = self.session.call(tool, arguments, step, call_id=call_id)
        except Exception as error:
            verdict = broken(tool, error)
        answer = self.still(self.answer(tool, verdict, step), tool, call_id, step)
        if answer.runs and call_id is not None:
            self.under_way[call_id] = str(tool)
        return answer

    async def ask_async(
        self,
        tool: object,
        arguments: object,
        call_id: str | None = None,
        step: int | None = None,
        *,
        in_order: bool = False,
    ) -> Answer:
        """The same where others go on meanwhile: in a thread, if the session may have to wait for an answer."""
        asking = functools.partial(self.ask, tool, arguments, call_id, step, in_order=in_order)
        return await asyncio.to_thread(asking) if self.session.asks else asking()

    def unread(self, tool: object, given: object, why: str, step: int | None = None) -> Answer:
        """The refusal of a call that cannot be read, also where the session only observes: there is no call to pass on.

        The session logs it, by what was given in place of arguments.
        """
        try:
            self.session.call(tool, given if type(given) is str else "", step)
        except Exception as error:
            why = f"{why}; {said(error)}"
        verdict = Verdict("deny", f"{_name(tool)}: {why}", grade="error")
        return self._not_run(tool, verdict, step)

    def answer(self, tool: object, verdict: Verdict, step: int | None = None) -> Answer:
        """What becomes of a verdict: the one place where a call is let run."""
        if permitted(verdict) or self.session.observe:
            return Answer(True, verdict)
        return self._not_run(tool, verdict, step)

    def still(self, answer: Answer, tool: object, call_id: str | None, step: int | None = None) -> Answer:
        """The answer to a call right before it runs: no more where the task is over, or its action is not carried out
        for another call of it."""
        if self.session.observe or not answer.runs:
            return answer
        forgotten = step is not None and step <= self._forgotten
        why = self.ended or self._refused.get(step, "") or forgotten * "The action is over: ask for its calls anew."
        if not why:
            return answer
        if call_id is not None:
            self.done("it was not made", call_id, True)
        reason = "another call of the same action was not allowed" if step in self._refused else "it is too late for it"
        reason = "the task is over" if self.ended else reason
        return Answer(False, Verdict("deny", f"{_name(tool)}: {reason}"), why)

    def _not_run(self, tool: object, verdict: Verdict, step: int | None) -> Answer:
        """The refusal of a call, and of its action or task where the strategy asks for that."""
        strategy, why = self.session.on_refusal, self._refusal(tool, verdict)
        said = {"halt": NO_RESPONSE, "block": BLOCKED, "terminate": self.ended or f"The task was ended. {why}"}
        told = said.get(strategy, f"{why} No call of this action was run: plan anew." if strategy == "replan" else why)
        if strategy == "terminate" and not self.session.observe:
            self.ended = told
            with suppress(Exception):  # a record that cannot be written allows nothing either
                self.session.lost(f"the task was ended: {verdict.reason}")
        if strategy in WHOLE and step is not None:
            with self.lock:
                self._refused[step] = told
                while len(self._refused) > KEPT:
                    self._forgotten = max(self._forgotten, oldest := min(self._refused))
                    del self._refused[oldest]
        return Answer(False, verdict, told)

    def done(self, value: object, call_id: str, error: bool = False) -> None:
        """Tell what a call gave. What cannot be told leaves it awaited, which allows less."""
        self.under_way.pop(call_id, None)
        try:
            self.session.result(value, call_id, error)
        except Exception:  # the session remembers the call as one whose result never came
            return

    def failed(self, tool: object, error: BaseException, call_id: str, function: object = None) -> None:
        """Tell that a call raised: it was not done where the tool changes nothing, or is atomic and the error is its
        own, unless nobody can know; else it stays awaited. `function` is what was called, where that is known."""
        if isinstance(error, Exception) and not uncertain(error):
            self.refused(tool, said(error), call_id, its_own(error, function))

    def refused(self, tool: object, value: object, call_id: str, own: bool) -> None:
        """Tell that a call ended in an error, of its tool's `own` or of whatever the tool uses."""
        declared = [one for one in self.session.judge.validator.toolbox.tools if one.name == tool]
        if any(one.mutating is False or (own and one.atomic) for one in declared):
            self.done(value, call_id, True)

    def explained(self, tool: object, verdict: Verdict) -> dict[str, Any]:
        """A verdict as an agent may read it: the label, the broken rules with their sentences, what would comply."""
        rules = zip(verdict.violated, verdict.quotes or verdict.violated, strict=True)
        return {
            "label": verdict.decision,
            "violated": [{"rule": rule, "sentence": quote} for rule, quote in rules],
            "explanation": verdict.reason,
            "complies where": list(self._required(tool, verdict)),
            "not known": list(verdict.missing),
        }

    def _refusal(self, tool: object, verdict: Verdict) -> str:
        return refusal(tool, verdict, self._required(tool, verdict))

    def _required(self, tool: object, verdict: Verdict) -> tuple[str, ...]:
        return self._complying(tool, verdict.violated) if type(tool) is str and verdict.violated else ()


def enforcer(current: Current, *about: object) -> Enforcer:
    """The enforcer of a session, or of the one that a function tells of the conversation that the call belongs to.

    Raises:
        TypeError: it is no session.
    """
    session = current if isinstance(current, Session) else current(*about)
    if not isinstance(session, Session):
        raise TypeError(f"a session was required; got {schema.got(session)}")
    kept = vars(session)  # it lives as long as its session
    try:
        return kept["enforcer"]
    except KeyError:
        return kept.setdefault("enforcer", Enforcer(session))


def new_id() -> str:
    """The id of a call that its ecosystem gives none."""
    return f"{RUN}-{next(CALLS)}"


def refusal(tool: object, verdict: Verdict, complying: tuple[str, ...] = ()) -> str:
    """What an agent is told of a call that did not run: the sentences word for word, the reason, what would comply."""
    why = ", because it is not known whether it may run" if verdict.decision == "undecided" else ""
    parts = [f"The call of {_name(tool)} was not run: it is not allowed{why}.", f"Reason: {verdict.reason}."]
    missing = [quote for quote in verdict.quotes if quote not in verdict.reason]
    parts += [f"Sentence: “{quote}”." for quote in missing]
    if complying:
        parts.append(f"It can comply only where this holds: {'; and '.join(complying)}.")
    if verdict.missing:
        parts.append(f"Not known: {', '.join(verdict.missing)}.")
    return " ".join(parts)


def broken(tool: object, error: Exception) -> Verdict:
    """The verdict on a call that could not be decided."""
    return Verdict("deny", f"{_name(tool)}: the decision broke: {said(error)}", grade="error")


def parsed(text: object) -> Mapping[str, Value]:
    """Arguments as a model writes them: one JSON object, each key once, finite numbers, nothing repaired.

    Raises:
        ValueError: it is none; the message says what was required and got.
    """
    if type(text) is not str:
        raise ValueError(f"the text of a JSON object was required; got {schema.got(text)}")
    found = jsonl.value(text)
    if type(found) is not dict:
        raise ValueError(f"a JSON object was required; got {jsonl.shown(found)}")
    return found


def of(one: Any, key: str) -> Any:
    """What a message, or a part of one, says under a key, a dict or an object; None where nothing does."""
    return one.get(key) if isinstance(one, Mapping) else getattr(one, key, None)


def words(content: object) -> str:
    """The text of a message's content: itself, or the texts of its parts, with a mark for what is no text: a picture or
    a recording may say anything."""
    parts = content if isinstance(content, list | tuple) else () if content is None else (content,)
    return "\n".join([text for text in map(_text, parts) if text])


def spoken(message: Any, role: str) -> str:
    """What a message says: its content; of a user who has a name, with that, for it may be another than the user."""
    text, name = words(of(message, "content")), of(message, "name")
    return f"{schema.named(str(name))}: {text}" if role == "user" and name and text else text


def _text(part: object) -> str | None:
    """What a part says; None where nobody hears it."""
    if isinstance(part, str):
        return part
    kind = of(part, "type")
    if kind in UNSPOKEN:
        return None
    text = of(part, "refusal") if kind == "refusal" else of(part, "text")
    return text if isinstance(text, str) and kind in (None, *SPOKEN) else f"[{schema.named(str(kind))}, not read]"


def content(text: str) -> Value:
    """What a tool answered in text: the object or list that it is the JSON of, else the text."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return jsonl.value(text)
        except ValueError:
            return text
    return text


def _name(tool: object) -> str:
    return named(tool) if type(tool) is str else f"a tool whose name is {schema.got(tool)}"


def _complying(session: Session, tool: str, violated: tuple[str, ...]) -> tuple[str, ...]:
    """What would comply, as far as the guard can say; nothing of it may stand in the way of a refusal."""
    from wb.guards import examples  # at the first refusal, so that guards are there sooner
    from wb.shield.shield import Shield

    judge = session.judge
    try:
        return (judge.required if isinstance(judge, Shield) else functools.partial(examples.required, judge))(
            tool, violated
        )
    except Exception:
        return ()
