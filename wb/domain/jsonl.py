"""JSON lines from outside: one object a line, each checked by a strict model before anything uses it.

JSON is read as RFC 8259 means it to be exchanged: UTF-8, each key once in an object, finite numbers, whole
characters.  A file is read line by line, so that its size is no matter; empty lines are passed over.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pydantic

from wb.domain.trace import Value

DEEPEST = 100  # levels of a JSON value; Python itself gives up at a depth that depends on its caller
LONGEST = 1000  # digits of an integer: what comes from outside has 64 bits, and a seed may have more
SHOWN = 80  # characters of what was got in a message
TOKEN = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")(?P<colon>\s*:)?|[{}\[\]]')


class LineError(ValueError):
    """A line is not what was required; the message says which file and line, what was required and what was got."""


class Strict(pydantic.BaseModel, extra="forbid", strict=True):
    """The base of a model of lines: no key that it does not name, no value turned into another type."""


def checked[M: Strict](
    lines: Iterable[bytes | str], model: type[M], source: str, of: str = ""
) -> Iterator[tuple[int, M]]:
    """The objects with their line numbers from 1, each checked by the model; `source` names the file in errors, and
    what stands under the key `of` what the line belongs to."""
    for number, line in enumerate(lines, 1):
        belongs = ""
        try:
            text = _text(line).strip(" \t\r\n")
            if number == 1:
                text = text.removeprefix("\ufeff")
            if text:
                found = value(text)
                belongs = f" ({of} {shown(found[of])})" if isinstance(found, Mapping) and found.get(of) else ""
                yield number, _checked(found, model)
        except ValueError as error:
            raise LineError(f"{source}, line {number}: {error}{belongs}") from None


def rows(path: Path) -> list[Any]:
    """The values of a file that is one JSON list, or has one value a line, gzipped or not; ValueError for another."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8")
    return json.loads(text) if text.lstrip().startswith("[") else [json.loads(line) for line in text.splitlines()]


def value(text: str) -> Value:
    """The JSON value of a text, lists as tuples; `ValueError` says what is not JSON in it.

    Refused as well: a key twice in an object, a number that is not finite, half of a surrogate pair, over 100 levels.
    """
    try:
        read = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_int=_integer)
        return _frozen(read, DEEPEST)
    except _Twice as error:
        line = text.count("\n", 0, _again(text)) + 1
        raise ValueError(f"{error} (at line {line})" if "\n" in text.strip() else str(error)) from None
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"JSON was required; got {shown(text)} ({error.msg.removesuffix(' at')} at {place})") from None
    except RecursionError:
        raise ValueError(f"JSON nested at most {DEEPEST} levels was required; got more") from None


def _integer(digits: str) -> int:
    if len(digits) > LONGEST:
        raise ValueError(f"integers of at most {LONGEST} digits were required; got one of {len(digits)}")
    return int(digits)


def shown(found: object) -> str:
    """What was got, for a message: its JSON in ASCII, cut after 80 characters."""
    text = json.dumps(found, default=str)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def utf8(content: bytes) -> str:
    """The text of a file, without a byte order mark; `ValueError` says which byte is none of UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        got = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise ValueError(f"UTF-8 text was required; got {got}") from None


def _text(line: bytes | str) -> str:
    try:
        return line if isinstance(line, str) else line.decode("utf-8")
    except UnicodeDecodeError as error:
        got = f"byte 0x{error.object[error.start]:02x} at column {error.start + 1}"
        raise ValueError(f"UTF-8 text was required; got {got}") from None


def _checked[M: Strict](found: Value, model: type[M]) -> M:
    if not isinstance(found, Mapping):
        raise ValueError(f"a JSON object was required; got {shown(found)}")
    try:
        return model.model_validate(found)
    except pydantic.ValidationError as error:
        raise ValueError("; ".join(_refusal(one) for one in error.errors(include_url=False)[:3])) from None


def _refusal(error: Mapping[str, Any]) -> str:
    where, got = shown(".".join(map(str, error["loc"])))[1:-1], shown(error["input"])
    match error["type"]:
        case "missing":
            return f"{where} was required; got {got}"
        case "extra_forbidden":
            return f"only keys of the format were required; got {where}"
        case "union_tag_invalid" | "union_tag_not_found":
            return f"{where}.{error['ctx']['discriminator'].strip("'")}: a known one was required; got {got}"
        case _:
            words = error["msg"].removeprefix("Input should be ").partition(" or instance of ")[0]
            words = words.replace("tuple", "list").replace("dictionary", "object")  # pydantic names Python's types
            return f"{where}: {words} was required; got {got}"


def _frozen(found: object, levels: int) -> Value:
    match found:
        case str():
            return _whole(found)
        case float() if not math.isfinite(found):
            raise ValueError("a finite number was required; got one that is too large")
        case list() | dict() if not levels:
            raise ValueError(f"JSON nested at most {DEEPEST} levels was required; got more")
        case list():
            return tuple(_frozen(item, levels - 1) for item in found)
        case dict():
            return {_whole(key): _frozen(item, levels - 1) for key, item in found.items()}
        case _:
            return found


def _whole(text: str) -> str:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"whole Unicode characters were required; got {shown(text)}")
    return text


class _Twice(ValueError):
    """A key stands twice in an object."""


def _again(text: str) -> int:
    """Where in a JSON text the first key stands that its object has already."""
    objects: list[set[str] | None] = []  # the keys so far of the objects around a place, None for a list
    for token in TOKEN.finditer(text):
        match token.group()[0]:
            case "{":
                objects.append(set())
            case "[":
                objects.append(None)
            case "}" | "]":
                objects.pop()
            case _ if token["colon"] and objects and objects[-1] is not None:
                key = json.loads(token["text"])
                if key in objects[-1]:
                    return token.start()
                objects[-1].add(key)
    return 0


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(f"each key once was required; got {next(shown(k) for k in keys if keys.count(k) > 1)} twice")
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"a finite number was required; got {name}")
