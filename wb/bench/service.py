"""A policy's own tools over its own records, as data: what a call gives, and what it changes.

Beside a policy, `database.json` is one JSON object: `now` (ISO 8601), and records of any kinds, each by its id.
`service.yaml` says in JSONata (jsonata.org, a language that reads JSON and reaches nothing else) what its tools do:

    functions: definitions, put before each expression
    state: the state fields that whoever runs a session tells before a call, an object
    tools:
      NAME: {let: definitions, gives: the result, changes: the changed records, an object by kind and id}

In these texts `$records` are the records as they are, `$began` as they were at first, `$call` the arguments and `$tool`
the name of the tool.  A record that changes to null is gone; a tool without `changes` changes nothing.  `$error(TEXT)`
refuses: the answer is a text that begins with "Error", as in τ-bench (Yao et al., 2024), and nothing is changed; so is
a call that does not fit `tools.json`, one whose expression breaks or takes over two seconds (looked at between its
steps: a sum of millions or a regular expression may take longer), and one without a result.
Clock and chance are taken away, so that a call always gives the same.  JSONata makes a list of one its item
unless it stands in brackets.  The tools check what a service would, and no rule of a policy.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pydantic

from wb.domain import jsonl, schema, toolfile, tools
from wb.domain.jsonl import Strict
from wb.domain.schema import Unfit
from wb.domain.tools import Toolbox
from wb.domain.trace import Call, Value
from wb.domain.validation import Refused, Validator

_LIMIT = sys.getrecursionlimit()
import jsonata  # noqa: E402  it raises that limit for the whole process, in which others rely on it

sys.setrecursionlimit(_LIMIT)
FILE, DATABASE, TOOLS = "service.yaml", "database.json", "tools.json"
LONGEST_MS, DEEPEST = 2000, 300  # of an expression
GONE = ("now", "millis", "random", "shuffle")  # functions of JSONata
REFUSED = "D3137"  # JSONata's code of `$error`
Record = Mapping[str, Any]
Records = Mapping[str, Any]  # `now`, and by kind and id


class ServiceError(ValueError):
    """A file is no service or no database; the message says what was required and what was got."""


class Tool(Strict, frozen=True):
    """What a tool does, in JSONata."""

    gives: str = pydantic.Field(min_length=1)
    let: str = ""
    changes: str = "{}"

    @property
    def texts(self) -> tuple[str, str]:
        """What is defined, and the object of result and changes."""
        return self.let, f"{{'gives': ({self.gives}\n), 'changes': ({self.changes}\n)}}"


class _File(Strict):
    functions: str = ""
    state: str = "{}"
    tools: dict[str, Tool] = pydantic.Field(min_length=1)


class Answer(NamedTuple):
    """The result of a call, whether it failed, and the service after it."""

    value: Value
    failed: bool
    after: Service


@dataclass(frozen=True, slots=True)
class Service:
    """Tools over records, which a call leaves as they are: what it changes is in the service after it.

    With a `validator`, a call has to fit what is declared.
    """

    tools: Mapping[str, Tool]
    records: Records
    began: Records
    functions: str = ""
    state: str = "{}"
    validator: Validator = field(default_factory=Validator)

    @property
    def now(self) -> str:
        """The time of the records."""
        return self.records["now"]

    @property
    def changing(self) -> frozenset[str]:
        """The tools that change records."""
        unchanged = Tool.model_fields["changes"].default
        return frozenset(name for name, tool in self.tools.items() if tool.changes != unchanged)

    def call(self, tool: str, arguments: Mapping[str, Value] | None) -> Answer:
        """Do a call. A refusal gives a text and changes nothing."""
        try:
            value, changes = self._done(tool, dict(arguments or {}))
            return Answer(value, False, replace(self, records=self._with(changes)) if changes else self)
        except Unfit as error:
            return Answer(f"Error: {error}", True, self)

    def ask(self, tool: str, arguments: dict[str, Value]) -> Value:
        """A lookup of a session (`Session(ask=…)`); a refusal leaves the fact unknown, as `LookupError`."""
        answer = self.call(tool, arguments)
        if answer.failed:
            raise LookupError(answer.value)
        return answer.value

    def observable(self, asked: Call, text: str = "") -> dict[str, Value]:
        """The state fields of a guard at a call, beside its lookups; by another text than `state`, if there is one.

        Raises:
            ServiceError: the text gives no object.
        """
        given = _plain(asked.arguments or {})
        try:
            found = self._run(f"{{'found': ({text or self.state}\n)}}", tool=asked.tool, call=given).get("found")
        except Unfit as error:
            raise ServiceError(f"state of {asked.tool}: {error}") from None
        if not isinstance(found, dict):
            raise ServiceError(f"state of {asked.tool}: an object was required; got {jsonl.shown(found)}")
        return {name: _frozen(value) for name, value in found.items()}

    def _done(self, name: str, arguments: dict[str, Value]) -> tuple[Value, Mapping[str, Mapping[str, Any]]]:
        """The result of a call and what it changes.

        Raises:
            Unfit: it is refused.
        """
        if (tool := self.tools.get(name)) is None:
            raise Unfit(f"a tool was required, one of {sorted(self.tools)}; got {name!r:.80}")
        read = self.validator.call(name, _plain(arguments))
        if isinstance(read, Refused):
            raise Unfit(f"{name}: its arguments were required; {read.reason}")
        found = self._run(*tool.texts, tool=name, call=_plain(read.arguments or {}))
        changes = found.get("changes")
        kinds = self.records.keys() - {"now"}
        fits = isinstance(changes, dict) and changes.keys() <= kinds
        fits = fits and all(isinstance(rows, dict) for rows in changes.values())
        fits = fits and all(row is None or isinstance(row, dict) for rows in changes.values() for row in rows.values())
        if "gives" not in found or not fits:
            wanted = f"a result, and changed records by kind, of {sorted(kinds)}, and id, were required"
            raise Unfit(f"{name}: {wanted}; got {jsonl.shown(found)}")
        return _frozen(found["gives"]), _plain(_frozen(changes))  # records are JSON, and nothing else of JSONata

    def _run(self, *texts: str, **bound: Any) -> dict[str, Any]:
        """The object that the last of these texts gives of the records; `Unfit` where it breaks."""
        try:
            made = _compiled(_block(self.functions, *texts), threading.get_ident())
            jsonata.Jsonata.CURRENT.jsonata = made  # or its functions would be called as those of another text
            frame = made.create_frame()
            frame.set_runtime_bounds(LONGEST_MS, DEEPEST)
            for name, value in {"records": self.records, "began": self.began, **dict.fromkeys(GONE), **bound}.items():
                frame.bind(name, value)
            return made.evaluate({}, frame)
        except jsonata.JException as error:
            told = str(error) if error.error == REFUSED else f"it breaks: {error}"
            raise Unfit(told) from None
        except (TypeError, KeyError, AttributeError, IndexError, ValueError, ArithmeticError, RecursionError) as error:
            raise Unfit(f"it breaks: {type(error).__name__}: {error}") from None

    def _with(self, changes: Mapping[str, Mapping[str, Any]]) -> Records:
        """The records with those that changed."""
        found = dict(self.records)
        for kind, rows in changes.items():
            kept = {**found[kind], **rows}
            found[kind] = {id: row for id, row in kept.items() if row is not None}
        return found


def load(folder: Path) -> Service:
    """The service of a policy's folder.

    Raises:
        ServiceError: a file is not of the form above, or a text is no JSONata.
        OSError: one is not there.
    """
    try:
        box = tools.parse((folder / TOOLS).read_text("utf-8"), source=str(folder / TOOLS))
    except tools.ToolError as error:
        raise ServiceError(str(error)) from None
    return made(folder / FILE, records(folder / DATABASE), box)


def made(path: Path, records: Records, toolbox: Toolbox | None = None) -> Service:
    """The service that a file says, over records; with a toolbox, calls have to fit it.

    Raises:
        ServiceError: it is not of the form above, or a text is no JSONata, or a tool is not declared.
        OSError: there is no such file.
    """
    read = fitting(_File, content(path, ServiceError), path, ServiceError)
    texts = {"state": (read.state,)} | {name: tool.texts for name, tool in read.tools.items()}
    for where, some in texts.items():
        try:
            jsonata.Jsonata(_block(read.functions, *some))
        except (jsonata.JException, RecursionError) as error:
            raise ServiceError(f"{path}: {where}: JSONata was required; got {error}") from None
    kept, validator = _plain(records), Validator(toolbox)
    if strange := sorted(read.tools.keys() - (validator.tools or read.tools.keys())):
        raise ServiceError(f"{path}: tools of {TOOLS} were required; got {strange}")
    return Service(read.tools, kept, kept, read.functions, read.state, validator)


def records(path: Path) -> Records:
    """The records of a file.

    Raises:
        ServiceError: it is no JSON object of a text `now` and objects of objects.
        OSError: there is no such file.
    """
    try:
        found = jsonl.value(path.read_text("utf-8"))
    except ValueError as error:
        raise ServiceError(f"{path}: {error}") from None
    kinds = {name: rows for name, rows in found.items() if name != "now"} if isinstance(found, dict) else {}
    if not kinds or not isinstance(found.get("now"), str) or not all(isinstance(rows, dict) for rows in kinds.values()):
        raise ServiceError(f"{path}: an object of a text 'now' and of records by kind and id was required")
    return found


def content(path: str | Path, error: type[ValueError]) -> Any:
    """The content of a file of YAML or JSON, lists as tuples; raises the error where it is neither."""
    try:
        return toolfile.document(Path(path).read_bytes(), str(path))
    except tools.ToolError as problem:
        raise error(str(problem)) from None


def fitting[T](form: type[T], content: object, where: object, error: type[ValueError]) -> T:
    """The content, if it is of that form; raises the error where it does not fit, with the first place."""
    try:
        return pydantic.TypeAdapter(form).validate_python(content)
    except pydantic.ValidationError as problems:
        problem = problems.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise error(f"{where}: {place}: {problem['msg']}; got {jsonl.shown(problem['input'])}") from None


def differences(one: Value, other: Value, place: str = "") -> Iterator[str]:
    """The places where two JSON values are not the same; the items of lists have no place of their own."""
    if one is other:
        return
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in sorted(one.keys() | other.keys()):
            inner = f"{place}.{name}" if place else name
            if name not in one or name not in other:
                yield inner
            else:
                yield from differences(one[name], other[name], inner)
    elif isinstance(one, tuple | list) and isinstance(other, tuple | list) and len(one) == len(other):
        places = [where for left, right in zip(one, other, strict=True) for where in differences(left, right, place)]
        yield from dict.fromkeys(places)
    elif one != other or isinstance(one, bool) is not isinstance(other, bool):
        yield place or "."


@lru_cache(maxsize=256)
def _compiled(text: str, thread: int) -> jsonata.Jsonata:
    """The expression of a text, which one thread uses."""
    return jsonata.Jsonata(text)


def _block(*texts: str) -> str:
    """One block of JSONata, whose value is that of the last text."""
    return "(" + ";\n".join(text for one in texts if (text := one.rstrip().rstrip(";"))) + "\n)"


def _plain(value: Value) -> Any:
    """The value with lists, as JSONata takes it."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, tuple | list) else value


def _frozen(value: Any) -> Value:
    """The value as records of events hold it, lists as tuples; `Unfit` where it is no JSON."""
    return schema.plain(_plain(value))
