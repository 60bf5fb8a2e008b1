"""The syntax of CEL: a text as a tree, by the grammar of the whole language (cel-spec, language definition, "Syntax").

What is outside the part that facts may use has its place in the tree, so that `cel` can refuse it by name.  Operators
and brackets wait on stacks, so that no text is too deep to be read; `tests/oracles/cel_grammar.py` says the same as a
grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

TOKEN = re.compile(
    r"""(?P<BLANK>[\t\n\f\r ]+|//[^\n]*)
    |(?P<BYTES>(?:[bB][rR]?|[rR][bB])(?:"{3}[\s\S]*?"{3}|'{3}[\s\S]*?'{3}|"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*'))
    |(?P<DOUBLE>[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<RAW>[rR](?:"{3}[\s\S]*?"{3}|'{3}[\s\S]*?'{3}|"[^"\r\n]*"|'[^'\r\n]*'))
    |(?P<UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<INT>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<STRING>"{3}(?:\\[\s\S]|[^\\])*?"{3}|'{3}(?:\\[\s\S]|[^\\])*?'{3}
        |"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*')
    |(?P<NAME>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<SIGN>[=!<>]=|&&|\|\||[-+*/%<>!?:.,()[\]{}])""",
    re.VERBOSE,
)
KEYWORDS = {"true": "TRUE", "false": "FALSE", "null": "NULL", "in": "in"}
LITERALS = ("INT", "UINT", "DOUBLE", "STRING", "RAW", "BYTES", "TRUE", "FALSE", "NULL")
TEST, CHOICE, PREFIXED = -1, 0, 6  # how strongly `?`, `:` and a sign before a value hold what they join
BINARY = {  # and operators between two
    **{"||": 1, "&&": 2, "in": 3},
    **dict.fromkeys(("==", "!=", "<=", ">=", "<", ">"), 3),
    **{"+": 4, "-": 4, "*": 5, "/": 5, "%": 5},
}
MANY = ("||", "&&")  # two or more of one kind are joined at once
PREFIX = ("!", "-")
KEPT = tuple(sign for sign in BINARY if sign not in (*MANY, "in"))  # those that stand in the tree
JOINED = {  # by the sign, and whether it stands between values
    **{(sign, True): "comparison" if strength == 3 else "arithmetic" for sign, strength in BINARY.items()},
    **{("||", True): "disjunction", ("&&", True): "conjunction", ("in", True): "one_of", (":", True): "conditional"},
    **{("!", False): "negation", ("-", False): "minus"},
}
OPENS = {"(": "group", "[": "list", "{": "map"}
CLOSES = {"(": ")", "[": "]", "{": "}"}
LISTS = {"call": "arguments", "method": "arguments", "list": "items", "map": "entries", "message": "fields"}
END = "$END"


class NoCel(ValueError):
    """A text is no CEL; `at` is where, None at its end."""

    def __init__(self, at: int | None) -> None:
        super().__init__("CEL was required")
        self.at = at


class Token(NamedTuple):
    """A word of a text: its type, the text and where it begins."""

    type: str
    text: str
    start: int

    @property
    def outer(self) -> int:
        """Where it begins: no brackets are around it."""
        return self.start


class Tree(NamedTuple):
    """A part of a text: what it is, its parts in order, where it begins, and where with the brackets around it."""

    data: str
    children: tuple[Tree | Token, ...]
    start: int
    outer: int


@dataclass(slots=True)
class _Open:
    """A bracket that is not closed yet: what it is, its sign and place, what stands before it and in it so far, and,
    of a map or message, whether a value is to come for a key that was read."""

    what: str  # group, call, method, index, list, map, message
    sign: str
    start: int
    before: tuple[Tree | Token, ...] = ()
    inside: list[Tree | Token] = field(default_factory=list)
    keyed: bool = False

    @property
    def whole(self) -> bool:
        """Whether what was read last ends an entry."""
        return self.keyed or self.what not in ("map", "message")


@dataclass(slots=True)
class _Waiting:
    """An operator whose right side is not read to its end, how strongly it holds its sides, and how many it joins."""

    word: Token
    strength: int
    joins: int = 2


def tree(text: str) -> Tree:
    """The tree of a text; `NoCel` says where it is none."""
    parser, whole = _Parser(_words(text)), False
    while not (whole and parser.done):
        whole = parser.after_value() if whole else parser.before_value()
    return parser.values.pop()


def _words(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            break
        kind, word = found.lastgroup or "", found[0]
        if kind != "BLANK":
            yield Token(KEYWORDS.get(word, kind) if kind == "NAME" else word if kind == "SIGN" else kind, word, at)
        at = found.end()
    yield Token(END if at == len(text) else "", "", at)


class _Parser:
    """A text as far as it was read: `values` are whole, what stands on `stack` waits for more."""

    def __init__(self, words: Iterator[Token]) -> None:
        self.words = words
        self.next = next(words)
        self.values: list[Tree] = []
        self.stack: list[_Open | _Waiting] = []

    @property
    def done(self) -> bool:
        """Whether nothing comes any more and nothing waits."""
        return self.next.type == END and not self.stack

    def before_value(self) -> bool:
        """Read on where a value is to come; whether a whole one stands there now."""
        word, top = self.next, self.stack[-1] if self.stack else None
        if isinstance(top, _Open):
            empty = not top.inside and top.what not in ("group", "index")
            after_comma = top.inside and top.what in ("list", "map", "message") and not top.keyed
            if word.type == CLOSES[top.sign] and not top.keyed and (empty or after_comma):
                return self._closed(top)
            if top.what == "message" and not top.keyed:
                top.inside.append(self._take("NAME"))
                self._take(":")
                top.keyed = True
                return False
        if word.type in PREFIX and not (isinstance(top, _Waiting) and top.joins == 1 and top.word.type != word.type):
            self.stack.append(_Waiting(self._take(), PREFIXED, 1))
            return False
        if word.type in OPENS:
            self._take()
            self.stack.append(_Open(OPENS[word.type], word.type, word.start))
            return False
        if word.type in LITERALS:
            self._take()
            self._put("literal", word.start, word)
            return True
        dot = self._take() if word.type == "." else None
        name = self._take("NAME")
        if self.next.type == "(":
            self._take()
            self.stack.append(_Open("call", "(", word.start, (name,)))
            return False
        self._put("name" if dot is None else "absolute", word.start, name)
        return True

    def after_value(self) -> bool:
        """Read on behind a whole value; whether one stands there still, or again."""
        word = self.next
        if word.type in (".", "[", "{"):
            self._take()
            base = self.values.pop()
            if word.type != ".":
                self.stack.append(_Open("index" if word.type == "[" else "message", word.type, base.outer, (base,)))
                return False
            name = self._take("NAME")
            if self.next.type == "(":
                self._take()
                self.stack.append(_Open("method", "(", base.outer, (base, name)))
                return False
            self._put("select", base.outer, base, name)
            return True
        if word.type in BINARY:
            self._operator(word, BINARY[word.type])
            return False
        self._join(CHOICE + (word.type == "?"))
        top = self.stack[-1] if self.stack else None
        inside = isinstance(top, _Open)
        if word.type == "?" and not (isinstance(top, _Waiting) and top.strength == TEST):
            self.stack.append(_Waiting(word, TEST))
        elif word.type == ":" and isinstance(top, _Waiting):
            self.stack[-1] = _Waiting(word, CHOICE, 3)
        elif word.type == ":" and inside and top.what == "map" and not top.keyed:
            top.inside.append(self.values.pop())
            top.keyed = True
        elif word.type == "," and inside and top.whole and top.what not in ("group", "index"):
            top.inside.append(self.values.pop())
            top.keyed = False
        elif inside and word.type == CLOSES[top.sign] and top.whole:
            top.inside.append(self.values.pop())
            return self._closed(top)
        elif word.type == END and top is None:
            return True
        else:
            raise NoCel(None if word.type == END else word.start)
        self._take()
        return False

    def _operator(self, word: Token, strength: int) -> None:
        """An operator between two values: what holds the left one as strongly is joined, many of && and || together."""
        self._join(strength + (word.type in MANY))
        top = self.stack[-1] if self.stack else None
        if word.type in MANY and isinstance(top, _Waiting) and top.word.type == word.type:
            top.joins += 1
        else:
            self.stack.append(_Waiting(word, strength))
        self._take()

    def _join(self, least: int) -> None:
        """Join the values of the operators that wait and hold at least so strongly."""
        while self.stack and isinstance(top := self.stack[-1], _Waiting) and top.strength >= least:
            self.stack.pop()
            sign, parts = top.word.type, self.values[-top.joins :]
            del self.values[-top.joins :]
            start = top.word.start if top.joins == 1 else parts[0].outer
            if sign in KEPT and top.joins == 2:
                parts.insert(1, top.word)
            self._put(JOINED[sign, top.joins > 1], start, *parts)

    def _closed(self, top: _Open) -> bool:
        """The value that a bracket ends."""
        self._take(CLOSES[top.sign])
        self.stack.pop()
        if top.what == "group":
            self.values.append(top.inside[0]._replace(outer=top.start))
            return True
        parts = top.inside
        if top.what in LISTS and parts:
            start = parts[0].outer
            parts = [Tree(LISTS[top.what], tuple(parts), start, start)]
        self._put("function" if top.what == "call" else top.what, top.start, *top.before, *parts)
        return True

    def _put(self, data: str, start: int, *parts: Tree | Token) -> None:
        self.values.append(Tree(data, parts, start, start))

    def _take(self, kind: str = "") -> Token:
        """The next word, which has to be of that type."""
        word = self.next
        if kind and word.type != kind:
            raise NoCel(None if word.type == END else word.start)
        if word.type != END:
            self.next = next(self.words)
        return word
