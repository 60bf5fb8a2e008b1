"""The one JSON object in a model's reply, whatever stands around it: thoughts, prose, code fences.

What a model thought is no answer: where a reply has the marks of a thought, the answer stands behind the last one that
closes.  An object counts if it has the declared shape; two that differ are none.  One that stands in prose and in the
question as well may be a quotation of it, such as of what an agent said, and is none either.
"""

from __future__ import annotations

import json
import re
from functools import cache

import jsonschema_rs

# <think>, <seed:think>, [THINK], ◁think▷, <|begin_of_thought|>, <|channel|>analysis<|message|>
_NAME = r"(?:\w+:)?(?:(?:inner_)?think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|monologue)"
_OPENS = re.compile(
    rf"<{_NAME}\b[^<>]*>|\[{_NAME}\]|◁{_NAME}▷|<\|begin_of_{_NAME}\|>|<\|channel\|>\s*(?:analysis|commentary)\b", re.I
)
_CLOSES = re.compile(
    rf"</{_NAME}\s*>|\[/{_NAME}\]|◁/{_NAME}▷|<\|end_of_{_NAME}\|>|<\|channel\|>\s*final\s*<\|message\|>", re.I
)
_OBJECT = re.compile(r"\{(?=(\s*[\"}])?)")
_BLANK = re.compile(r"[\s\\]+")
BRACES = 200  # of prose, in a reply; looking at each takes time


class NotRead(ValueError):
    """A reply in which there is not exactly one answer; the message says what was found."""


def answer(text: str, schema: dict, question: str = "") -> dict:
    """The JSON object that a reply gives to a question, as it stands there.

    A reply that is nothing but JSON, in a code fence or not, is taken as it is, of whatever shape; in any other one the
    object has to match the schema, have a property that it declares, and not stand in the question.

    Raises:
        NotRead: there is no such object, there are two that differ, or it cannot be told.
    """
    try:
        value = _load(_unfenced(text))
    except ValueError as error:
        value = _only(text, json.dumps(schema), f"not JSON: {error}")
        if _quoted(value, question):
            raise NotRead("the one JSON object in it stands in the question as well: it may be quoted") from None
    except RecursionError:
        raise NotRead("not JSON: it is nested too deeply") from None
    if not isinstance(value, dict):
        raise NotRead(f"a JSON object was required; got {type(value).__name__}")
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # half a surrogate pair could not be written anywhere
    except ValueError as error:
        raise NotRead(f"not JSON: {error}") from None
    return value


def _only(text: str, schema: str, problem: str) -> dict:
    """The one object of the shape outside thoughts; `problem` is why the whole text is none."""
    opened, closed = (list(marks.finditer(text)) for marks in (_OPENS, _CLOSES))
    start = closed[-1].end() if closed else 0
    found = [] if opened and opened[-1].start() >= start else _objects(text[start:], schema)
    ahead = text[: opened[0].start()] if opened else text[:start]
    if closed and any(one not in found for one in _objects(ahead, schema)):
        raise NotRead("an answer stands before the end of a thought, and not the same one behind it")
    if not found:
        raise NotRead(f"{problem}, and no JSON object of the declared shape stands in it outside a thought")
    if any(one != found[0] for one in found):
        raise NotRead(f"one JSON object was required; got {len(found)} that differ")
    return found[0]


def _objects(text: str, schema: str) -> list[dict]:
    """The outermost JSON objects of the shape.

    Raises:
        NotRead: something begins as an object and is none: what stands in it must not be taken for the answer.
    """
    found, at, braces = [], 0, 0
    while begins := _OBJECT.search(text, at):
        try:
            value, at = _DECODER.raw_decode(text, begins.start())
        except RecursionError:
            raise NotRead("not JSON: it is nested too deeply") from None
        except ValueError as error:
            if begins[1]:
                raise NotRead(f"not JSON: {error}") from None
            at, braces = begins.end(), braces + 1
            if braces > BRACES:
                raise NotRead(f"not JSON: {error}") from None
            continue
        if _fits(value, schema):
            found.append(value)
    return found


def _quoted(value: dict, question: str) -> bool:
    """Whether an object stands in the question, in whatever blanks, also inside a JSON text."""
    said = _BLANK.sub("", question)
    return any(_BLANK.sub("", json.dumps(value, ensure_ascii=plain)) in said for plain in (True, False))


def _unfenced(text: str) -> str:
    """A reply without the one code fence around it that services without JSON schemas like to put there."""
    plain = text.strip()
    fenced = plain.startswith("```") and plain.endswith("```") and "\n" in plain and plain.count("```") == 2
    return plain[plain.index("\n") : -3] if fenced else plain


def _fits(value: dict, schema: str) -> bool:
    validator, names = _validator(schema)
    return bool(value.keys() & names) and validator.is_valid(value)


@cache
def _validator(schema: str) -> tuple[jsonschema_rs.Validator, frozenset[str]]:
    """What holds an object against the schema, and the properties that it declares."""
    declared = json.loads(schema)
    return jsonschema_rs.validator_for(declared, offline=True), frozenset(declared.get("properties", {}))


def _once(pairs: list[tuple[str, object]]) -> dict:
    """An object none of whose keys stands twice: the second one would silently be the answer."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError(f"a key stands twice among {[name for name, _ in pairs]}")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_once)


def _load(text: str) -> object:
    return _DECODER.decode(text)
