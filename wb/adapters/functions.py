"""Plain Python functions as guarded tools: a decorator.

    @guard(session)
    def lend_book(days: int) -> str: ...

    lend_book(40)    # NotAllowed: the violated sentence, the reason, what would comply

The function is the tool of its name.  Its arguments are asked for by name, as they would be passed, with the defaults
of those that the tool declares; each call is a step of its own.  What it returns is told to the session, as JSON where
pydantic can say it so; what it raises says that it was not done only of a tool that changes nothing or is atomic.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pydantic

from wb.adapters import enforcement
from wb.adapters.enforcement import Current, Enforcer, NotAllowed
from wb.domain.jsonl import DEEPEST

NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
JSON: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(Any)


def guard[**P, R](session: Current, *, tool: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the function runs only where the session allows the call.

    `session` is one, or a function without arguments that tells the one of the present conversation; `tool` is the name
    of the tool, that of the function otherwise.  The function may be a coroutine function.

    Raises:
        TypeError: it is no function whose parameters have names, or one that yields.
        NotAllowed: by the function, at a call that does not run.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__name__ if tool is None else tool
        named = _Arguments(function, name)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def guarded_async(*args: P.args, **options: P.kwargs) -> Any:
                enforcer, call_id = enforcement.enforcer(session), enforcement.new_id()
                given = named(enforcer, args, options)
                answer = await enforcer.ask_async(name, given, call_id)
                if not answer.runs:
                    raise NotAllowed(answer)
                return await _finished(enforcer, name, function, call_id, function(**given))

            return guarded_async

        @functools.wraps(function)
        def guarded(*args: P.args, **options: P.kwargs) -> R:
            enforcer, call_id = enforcement.enforcer(session), enforcement.new_id()
            given = named(enforcer, args, options)
            answer = enforcer.ask(name, given, call_id)
            if not answer.runs:
                raise NotAllowed(answer)
            with enforcer.made(name, call_id, function):
                value = function(**given)
            if inspect.isawaitable(value):  # it has not run yet
                return _finished(enforcer, name, function, call_id, value)
            enforcer.done(plain(value), call_id)
            return value

        return guarded

    return decorate


def plain(value: object) -> object:
    """What a function gave as JSON values: models and what is in lists as pydantic writes them, else as it is."""
    lists = type(value) in (list, tuple, dict)
    if not lists and not isinstance(value, pydantic.BaseModel) and not dataclasses.is_dataclass(value):
        return value  # to look into what yields would be to use it up
    try:
        return JSON.dump_python(value, mode="json")
    except (ValueError, RecursionError):  # PydanticSerializationError is a ValueError
        return value


async def _finished(enforcer: Enforcer, tool: str, function: object, call_id: str, running: Awaitable[Any]) -> Any:
    """What comes of an allowed call, told to the session; a cancelled one stays awaited."""
    with enforcer.made(tool, call_id, function):
        value = await running
    enforcer.done(plain(value), call_id)
    return value


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"a function that returns was required; got one that yields: {function!r}")
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind not in NAMED:
            raise TypeError(f"parameters that have names were required; got {parameter} of {function!r}")
    return signature


class _Arguments:
    """The arguments of a function by name, as they are judged and as it gets them; a default counts as given where the
    tool declares the argument and it is not None."""

    def __init__(self, function: Callable[..., Any], tool: str) -> None:
        self.signature, self.tool = _signature(function), tool
        self._parameters = tuple(self.signature.parameters.items())

    def __call__(self, enforcer: Enforcer, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        """What a call gives; `TypeError` where Python could not make it."""
        given, found = self.signature.bind(*args, **options).arguments, {}
        box = enforcer.session.judge.validator.toolbox
        declared = {field.name for one in box.tools if one.name == self.tool for field in one.arguments}
        for name, parameter in self._parameters:
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                found |= given.get(name, {})
            elif name in given:
                found[name] = given[name]
            elif name in declared and parameter.default is not None:
                found[name] = parameter.default
        return enforcer.whole_numbers(self.tool, {name: _held(value) for name, value in found.items()})


def _held(value: Any, deep: int = DEEPEST + 1) -> Any:
    """A value that nobody changes while the call is judged and until it runs: lists and dicts anew, as deep as any that
    is allowed."""
    kind = type(value)
    if kind not in (dict, list, tuple) or not deep:
        return value
    if kind is dict:
        return {name: _held(one, deep - 1) for name, one in value.items()}
    return kind([_held(one, deep - 1) for one in value])
