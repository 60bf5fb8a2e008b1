"""A corpus of hostile calls, each beside a benign twin: wrong types, values that lie, names that look alike.

The rules, the tools and what each call breaks are made by hand; no guard was asked.  A hostile call is one that may
not run whatever the guard: its tool or an argument is not the declared one, an argument is none of JSON's values, or
the state that a rule needs is not known.  Its twin is the same call as it should have been.
"""

from __future__ import annotations

import collections
import decimal
import enum
import fractions
import json
import math
import types
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wb.domain import tools
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule, RuleSet

TOOLS = {
    "tools": [
        {
            "name": "upload_file",
            "description": "Upload a file.",
            "keywords": ["upload"],
            "parameters": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "size_mb": {"type": "number"},
                    "kind": {"type": "string", "enum": ["pdf", "png"]},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "owner": {
                        "type": "object",
                        "properties": {"team": {"type": "string"}, "id": {"type": "integer"}},
                        "required": ["team"],
                        "additionalProperties": False,
                    },
                },
                "required": ["name", "size_mb", "kind"],
            },
        },
        {
            "name": "place_order",
            "description": "Place an order.",
            "keywords": ["order"],
            "parameters": {
                "type": "object",
                "properties": {
                    "items": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]},
                    },
                    "total": {"type": "integer"},
                    "express": {"type": "boolean"},
                    "day": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
                },
                "required": ["items", "total", "express"],
                "additionalProperties": False,
            },
        },
        {"name": "show_total", "description": "Show the total.", "parameters": {"type": "object", "properties": {}}},
        {
            "name": "send_message",
            "description": "Send a message.",
            "keywords": ["message"],
            "parameters": {
                "type": "object",
                "properties": {"to": {"type": "array", "items": {"type": "string"}}, "text": {"type": "string"}},
                "required": ["to", "text"],
            },
        },
    ],
    "state": [
        {"name": "age", "type": "integer", "keywords": ["under", "years"]},
        {"name": "balance", "type": "number", "keywords": ["balance"]},
        {"name": "role", "type": "string", "enum": ["owner", "guest"], "keywords": ["owner"]},
        {"name": "agreed", "type": "boolean", "keywords": ["agreed"]},
    ],
}
TOOLBOX = tools.parse(json.dumps(TOOLS))
PREDICATES = (
    *(Predicate(tool.name, "action", "", tools=(tool.name,)) for tool in TOOLBOX.tools),
    Predicate("small", "state", "", tools=("upload_file",), test=cel.parse("call.size_mb <= 25")),
    Predicate("pdf", "state", "", tools=("upload_file",), test=cel.parse('call.kind == "pdf"')),
    Predicate("few_tags", "state", "", tools=("upload_file",), test=cel.parse("size(call.tags) <= 3")),
    Predicate("few_items", "state", "", tools=("place_order",), test=cel.parse("size(call.items) <= 8")),
    Predicate("cheap", "state", "", tools=("place_order",), test=cel.parse("call.total <= 500")),
    Predicate("express", "state", "", tools=("place_order",), test=cel.parse("call.express")),
    Predicate("few_readers", "state", "", tools=("send_message",), test=cel.parse("size(call.to) <= 10")),
    Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("funded", "state", "", test=cel.parse("state.balance >= 10.5")),
    Predicate("owner", "state", "", test=cel.parse('state.role == "owner"')),
    Predicate("agreed", "state", "", test=cel.parse("state.agreed")),
)
TEXTS = {
    "small": "ALWAYS (upload_file IMPLIES small)",
    "pdf": "ALWAYS (upload_file IMPLIES pdf)",
    "few_tags": "ALWAYS (upload_file IMPLIES few_tags)",
    "few_items": "ALWAYS (place_order IMPLIES few_items)",
    "cheap": "ALWAYS (place_order IMPLIES cheap)",
    "express": "ALWAYS ((place_order AND express) IMPLIES adult)",
    "adult": "ALWAYS (place_order IMPLIES adult)",
    "funded": "ALWAYS (place_order IMPLIES funded)",
    "shown": "ALWAYS (place_order IMPLIES ONCE show_total)",
    "agreed": "ALWAYS (send_message IMPLIES agreed)",
    "owner": "ALWAYS (send_message IMPLIES owner)",
    "few_readers": "ALWAYS (send_message IMPLIES few_readers)",
}
RULES = RuleSet(PREDICATES, tuple(Rule(name, text, parse(text), "forbid", quote=text) for name, text in TEXTS.items()))
POLICY = """# Desk

No order may be placed by a user under 18 years. No message is sent unless the user has agreed.
An order needs a balance of 11.
"""
FINE = {"age": 30, "balance": 80.5, "role": "owner", "agreed": True}
BENIGN = {
    "upload_file": {
        "name": "a.pdf",
        "size_mb": 10.5,
        "kind": "pdf",
        "tags": ["x", "y"],
        "owner": {"team": "blue", "id": 3},
    },
    "place_order": {"items": [{"sku": "a"}, {"sku": "b"}], "total": 40, "express": True, "day": "2026-11-22"},
    "send_message": {"to": ["ann"], "text": "hello"},
}
READ = {"age": "place_order", "balance": "place_order", "role": "send_message", "agreed": "send_message"}
BUG = Exception("a hostile value was asked for something")


class Escape(BaseException):
    """What no `except Exception` catches."""


class Hostile:
    """A value that raises whatever it is asked."""

    raised: BaseException = BUG

    def _refuse(self, *_: object) -> None:
        raise self.raised

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __len__ = __iter__ = __bool__ = _refuse
    __repr__ = __str__ = __getitem__ = __contains__ = __int__ = __float__ = __index__ = __call__ = keys = _refuse


class Fatal(Hostile):
    """The same, past every `except Exception`."""

    raised = Escape()


class Yes:
    """A value that agrees to everything."""

    __hash__ = None

    def _yes(self, *_: object) -> bool:
        return True

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = _yes

    def __len__(self) -> int:
        return 1

    def __getitem__(self, _: object) -> object:
        return self


class Text(str):
    """A text that is equal to every other one."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


class Whole(int):
    """A number that is as small and as large as anybody wants."""

    __le__ = __ge__ = __lt__ = __gt__ = __eq__ = lambda self, other: True
    __hash__ = int.__hash__


class Real(float):
    """The same with a point."""

    __le__ = __ge__ = __lt__ = __gt__ = __eq__ = lambda self, other: True
    __hash__ = float.__hash__


class Short(list):
    """A list that says that it is short."""

    def __len__(self) -> int:
        return 1


class Torn(list):
    """A list that raises when it is counted or walked."""

    def __len__(self) -> int:
        raise RecursionError

    __iter__ = __getitem__ = __len__


class Two(dict):
    """A mapping that tells the guard one thing; what it holds is another."""

    def get(self, name: object, default: object = None) -> object:
        return {"team": "blue", "items": [{"sku": "a"}]}.get(name, default)

    __getitem__ = get


class Odd(dict):
    """A mapping that raises when it is walked."""

    def items(self) -> Iterator:
        raise Escape

    keys = values = __iter__ = items


class Level(enum.IntEnum):
    LOW = 40


class Colour(enum.StrEnum):
    PDF = "pdf"


class Pair(NamedTuple):
    first: str
    second: str


class Renamed(type):
    """A class whose name is another surprise."""

    @property
    def __name__(cls) -> str:
        raise Escape


class Nameless(metaclass=Renamed):
    pass


class Posing(type):
    """A class that is found wherever `bool` is looked up."""

    __eq__ = lambda cls, other: True  # noqa: E731
    __hash__ = lambda cls: hash(bool)  # noqa: E731


class Truth(metaclass=Posing):
    pass


class Unhashed(type):
    def __hash__(cls) -> int:
        raise Escape


class Nowhere(metaclass=Unhashed):
    pass


def nested(depth: int) -> list:
    """A list in a list in a list."""
    found: list = []
    for _ in range(depth):
        found = [found]
    return found


def circle() -> list:
    """A list that holds itself."""
    found: list = []
    found.append(found)
    return found


def bomb() -> list:
    """Twenty lists, a million million places."""
    found: list = ["x"]
    for _ in range(40):
        found = [found, found]
    return found


OBJECTS = (Hostile(), Fatal(), Yes(), Nameless(), Truth(), Nowhere(), object(), len, b"x", {"x"}, 1j)
STRANGE = (*OBJECTS, bytearray(b"x"), range(2), Ellipsis, NotImplemented, decimal.Decimal(10), fractions.Fraction(10))
BAD = {
    "string": (5, 1.5, True, None, [], {}, ["a"], "\ud800", Text("a"), Colour.PDF, np.str_("a"), *OBJECTS),
    "enum": (
        *("PDF", "pdf ", "рdf", "pd\u0066\u200b", "p\u0501f", "ｐdf", "", "exe", 1, None, ["pdf"], {"pdf": 1}),
        *(Text("exe"), Colour.PDF, np.str_("pdf"), Hostile(), Fatal(), Yes()),
    ),
    "number": (
        *(math.nan, math.inf, -math.inf, 10**400, "10", "1e1", "", True, None, [10], {"x": 10}),
        *(Whole(99), Real(99.0), Level.LOW, np.float64(10), np.float32(10), np.int64(10), np.array([10.0]), *STRANGE),
    ),
    "integer": (
        *(40.5, math.nan, math.inf, 1e300, 10**30, -(10**30), "40", "４０", True, None, [40], {"x": 40}),
        *(Whole(999), Level.LOW, np.int64(40), np.float64(40), np.bool_(True), *STRANGE),
    ),
    "boolean": (0, 1, 1.0, "true", "false", "", None, [], [True], {}, np.bool_(True), np.bool_(False), *STRANGE),
    "array": (
        *("abc", "", 1, None, True, {}, {"x": ["a"]}, {"0": "a"}, Short("a" * 50), Torn("ab"), Pair("a", "b")),
        *({"a", "b"}, frozenset("a"), iter("a"), np.array(["a"]), np.array([]), collections.deque("a"), range(1)),
        *(nested(50), nested(100_000), circle(), bomb(), [None], [1], [["a"]], [math.nan], [Hostile()], [Fatal()]),
        *(Hostile(), Fatal(), Yes(), object(), b"ab"),
    ),
    "object": (
        *([], "x", 1, None, True, {}, {"id": 3}, {"team": 1}, {"team": "blue", "id": "3"}, {"team": "blue", "id": 1.5}),
        *({"team": "blue", "role": "x"}, {"tеam": "blue"}, {"team": None}, {1: "x"}, {Hostile: 1}),
        *(Two(), Two(team=1), Odd(team="blue"), collections.OrderedDict(team="blue"), collections.UserDict(team="b")),
        *(types.MappingProxyType({"team": "blue"}), {"team": Text("blue")}, Hostile(), Fatal(), Yes()),
    ),
    "day": ("2026-11-22 ", "x2026-11-22", "2026-1-2", "tomorrow", "", 20261122, None),
}
SLOTS = {
    ("upload_file", "name"): "string",
    ("upload_file", "size_mb"): "number",
    ("upload_file", "kind"): "enum",
    ("upload_file", "tags"): "array",
    ("upload_file", "owner"): "object",
    ("place_order", "items"): "array",
    ("place_order", "total"): "integer",
    ("place_order", "express"): "boolean",
    ("place_order", "day"): "day",
    ("send_message", "to"): "array",
}
NAMES = {
    "upload_file": ("uplоad_file", "upload_file ", "Upload_File", "upload-file", "upload_file\u200b", "ｕpload_file"),
    "place_order": ("place_оrder", "place_order\n", "PLACE_ORDER", "place_order\x00", "", "__init__"),
    "send_message": (7, None, True, b"send_message", ["send_message"], Text("x"), Hostile(), Fatal(), Yes(), Nameless),
}
EXTRA = ("sizе_mb", "size_mb ", "SIZE_MB", "size_mb\u200b", "", "__class__", "state", "extra")
UNKNOWN = {
    "age": ("30", 30.5, True, None, math.nan, math.inf, 10**30, [30], Whole(3), np.int64(30), Level.LOW, *OBJECTS),
    "balance": (math.nan, math.inf, "80", True, None, Real(3.0), np.float64(80), decimal.Decimal(80), *OBJECTS),
    "role": ("оwner", "Owner", "owner ", "admin", 1, None, ["owner"], Text("guest"), np.str_("owner"), *OBJECTS),
    "agreed": (1, 1.0, "true", "yes", None, [True], np.bool_(True), *OBJECTS),
}


class Case(NamedTuple):
    """A hostile call and the state it is asked for in. Its twin is `BENIGN[twin]` in the state `FINE`."""

    name: str
    twin: str
    tool: object
    arguments: object
    state: object


def cases() -> Iterator[Case]:
    """The corpus, always in the same order."""
    for (tool, name), kind in SLOTS.items():
        for i, value in enumerate(BAD[kind]):
            yield Case(f"{tool}.{name} {i}", tool, tool, {**BENIGN[tool], name: value}, FINE)
    for tool, twins in NAMES.items():
        for i, name in enumerate(twins):
            yield Case(f"{tool} as {i}", tool, name, BENIGN[tool], FINE)
    order = BENIGN["place_order"]
    for i, name in enumerate(EXTRA):  # the schema of an item says nothing of others
        items = [*order["items"][:-1], {**order["items"][-1], name: 1}]
        yield Case(f"an item and {i}", "place_order", "place_order", {**order, "items": items}, FINE)
    for tool, good in BENIGN.items():
        for i, name in enumerate(EXTRA):
            yield Case(f"{tool} and {i}", tool, tool, {**good, name: 1}, FINE)
        for key in (7, None, Text("name"), 1.5, ("name",), len):
            yield Case(f"{tool} and a {type(key).__name__}", tool, tool, {**good, key: 1}, FINE)
        for name in ("items", "total", "express", "name", "size_mb", "kind", "to", "text"):
            if name in good:
                yield Case(f"{tool} without {name}", tool, tool, {k: v for k, v in good.items() if k != name}, FINE)
        for i, whole in enumerate(
            ([], list(good), json.dumps(good), 7, Hostile(), Fatal(), Yes(), Two(good), Odd(good))
        ):
            yield Case(f"{tool} of {i} {type(whole).__name__}", tool, tool, whole, FINE)
        for kind in (collections.OrderedDict, collections.UserDict, types.MappingProxyType):
            yield Case(f"{tool} of {kind.__name__}", tool, tool, kind(good), FINE)
    for name, tool in READ.items():
        for i, value in enumerate(UNKNOWN[name]):
            yield Case(f"state.{name} {i}", tool, tool, BENIGN[tool], {**FINE, name: value})
        yield Case(f"state without {name}", tool, tool, BENIGN[tool], {k: v for k, v in FINE.items() if k != name})
    for tool in ("place_order", "send_message"):
        for whole in ([], "x", 7, None, Hostile(), Fatal(), Yes(), Two(FINE), Odd(FINE)):
            yield Case(f"{tool} in a {type(whole).__name__}", tool, tool, BENIGN[tool], whole)


CASES = tuple(cases())


def is_json(value: object) -> bool:
    """Whether `json` writes the value so that reading gives it back: what an agent can really send."""
    if type(value) is not dict or any(type(name) is not str for name in value):
        return False
    try:
        return all(map(known, value.values())) and json.loads(json.dumps(value)) == value
    except ValueError:
        return False


def known(value: object, levels: int = 60) -> bool:
    """Whether a value is of JSON's own types, and no place of it stands in another too, so that writing it ends."""
    if levels == 0:
        return False
    if type(value) is list:
        return len({id(one) for one in value}) == len(value) and all(known(one, levels - 1) for one in value)
    if type(value) is dict:
        return all(type(name) is str and known(one, levels - 1) for name, one in value.items())
    return any(type(value) is kind for kind in (bool, int, str, type(None))) or (
        type(value) is float and math.isfinite(value)
    )
