"""The text of facts: one parser and one printer for the supported part of CEL.

What is outside the supported part is refused by its name and place, not as a syntax error, for the whole language is
read first, as a `tree` (cel-spec, language definition, "Syntax").  Operators and brackets wait on stacks, so that no
text is too deep to be read; `tests/oracles/cel_grammar.py` says the same as a grammar.  What facts are made of:
`facts`; what they mean: `evaluation`; how they are told to people: `wording`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple, NoReturn

from wb.logic import facts as F
from wb.logic.facts import Fact, FactError, Node
from wb.logic.syntax import located
from wb.logic.wording import shortened

MAX_LENGTH = 100_000  # characters of a text
SUPPORTED = (
    "supported are paths such as state.NAME and call.NAME, literals, lists, now, == != < <= > >= in, ! && ||, ? :, "
    f"+ - * / %, size, has, {', '.join(F.MACROS)}, {', '.join(F.FUNCTIONS)}"
)
UNSUPPORTED = {"absolute": "a dot before the first name"}
HINTS = {
    "=": "equality is ==",
    **dict.fromkeys(("&", "and", "AND"), "'and' is &&"),
    **dict.fromkeys(("|", "or", "OR"), "'or' is ||"),
    **dict.fromkeys(("not", "NOT"), "'not' is !"),
    **dict.fromkeys(("True", "False"), "truth is true or false, in small letters"),
    **dict.fromkeys(("None", "nil"), "what is nothing is null"),
    **dict.fromkeys(("count", "len"), "how many is size(LIST)"),
    "lower": "small letters are TEXT.lowerAscii()",
    "any": "whether some item is so, says LIST.exists(x, …)",
}
ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|[\s\S]?)"
)
ESCAPED = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


def parse(text: str) -> Fact:
    """The fact that a text says; `FactError` shows where it is no CEL or outside the supported part."""
    reader, tree = _parsed(text)
    return reader.fact(tree)


def value(text: str) -> Node:
    """The value that a text says, of any type; `FactError` as of `parse`."""
    reader, tree = _parsed(text)
    return reader.node(tree, 0, ())


def _parsed(text: str) -> tuple[_Reader, Tree]:
    if not isinstance(text, str):
        raise FactError(f"a text (str) in CEL was required, such as state.age >= 18; got {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise FactError(f"at most {MAX_LENGTH} characters were required; got {len(text)}: split the predicate")
    return _Reader(text), _tree(text)


def render(node: Node) -> str:
    """The canonical text of a fact, or of a value in one; `parse` reads a fact's back to an equal one."""
    return _text(node, 0)


# ---- to text ------------------------------------------------------------------------------------

RELATION, SUM, PRODUCT, UNARY, POSTFIX = 3, 4, 5, 6, 7  # how strongly an operator holds its sides; ? : is 0


def _text(node: Node, least: int) -> str:
    """The text of a node where an operator of at least that strength is needed."""
    text, strength = _written(node)
    return text if strength >= least else f"({text})"


def _written(node: Node) -> tuple[str, int]:
    """The text of a node without brackets around it, and the strength of its operator."""
    match node:
        case F.Path((root, *names)):
            return root + "".join(f".{name}" if plain(name) else f"[{_quoted(name)}]" for name in names), POSTFIX
        case F.Variable(name):
            return name, POSTFIX
        case F.NOW:
            return "now", POSTFIX
        case F.Part(of, F.Scalar(str() as name)) if plain(name):
            return f"{_text(of, POSTFIX)}.{name}", POSTFIX
        case F.Part(of, key):
            return f"{_text(of, POSTFIX)}[{render(key)}]", POSTFIX
        case F.Size(of):
            return f"size({render(of)})", POSTFIX
        case F.Has(of):
            return f"has({render(of)})", POSTFIX
        case F.Scalar(value, type="string"):
            return _quoted(value), POSTFIX
        case F.Scalar(value, type="bool" | "null"):
            return {True: "true", False: "false", None: "null"}[value], POSTFIX
        case F.Scalar(value):
            return repr(value), UNARY if repr(value).startswith("-") else POSTFIX
        case F.List(items):
            return f"[{', '.join(map(render, items))}]", POSTFIX
        case F.Function(name, (first, *rest)) if F.FUNCTIONS[name].method:
            return f"{_text(first, POSTFIX)}.{name}({', '.join(map(render, rest))})", POSTFIX
        case F.Function(name, arguments):
            return f"{name}({', '.join(map(render, arguments))})", POSTFIX
        case F.Macro(name, over, variable, body):
            return f"{_text(over, POSTFIX)}.{name}({variable.name}, {render(body)})", POSTFIX
        case F.Minus(body):
            return f"-{_text(body, UNARY if isinstance(body, F.Minus) else POSTFIX)}", UNARY
        case F.Arithmetic(op, left, right):
            own = SUM if op in "+-" else PRODUCT
            return f"{_text(left, own)} {op} {_text(right, own + 1)}", own
        case F.Comparison(op, left, right):
            return f"{_text(left, SUM)} {op} {_text(right, SUM)}", RELATION
        case F.OneOf(item, options):
            return f"{_text(item, SUM)} in [{', '.join(map(render, options))}]", RELATION
        case F.Within(item, of):
            return f"{_text(item, SUM)} in {_text(of, SUM)}", RELATION
        case F.Negation(body):
            return f"!{_text(body, UNARY if isinstance(body, F.Negation) else POSTFIX)}", UNARY
        case F.Conjunction(parts) | F.Disjunction(parts):
            conjoined = isinstance(node, F.Conjunction)
            return (" && " if conjoined else " || ").join(_text(part, RELATION) for part in parts), 1 + conjoined
        case F.Choice(test, then, otherwise):
            return f"{_text(test, 1)} ? {_text(then, 1)} : {render(otherwise)}", 0
        case _:
            raise FactError(f"a fact was required; got {type(node).__name__}")


def plain(name: str) -> bool:
    """Whether a name may stand after a dot."""
    return re.fullmatch(r"[_a-zA-Z][_a-zA-Z0-9]*", name) is not None and name not in F.NO_NAMES


# ---- from text ---------------------------------------------------------------------------------------


def _quoted(text: str) -> str:
    """A string literal; what cannot be seen is written by its code point."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


def _tree(text: str) -> Tree:
    try:
        return tree(text)
    except NoCel as error:
        ended = error.at is None
        at = len(text.rstrip()) if ended else error.at
        got = "the end of the text" if ended else repr(re.compile(r"\w+|[\s\S]").match(text, at)[0][:40])
        before = re.search(r"\w*\Z", text[:at].rstrip()[-10:])[0]
        hint = HINTS.get(got.strip("'")) or HINTS.get(before)
        hint = f": {hint}" if hint else ": this string does not end" if got in ("'\"'", '"\'"') else ""
        raise FactError(located(text, at, f"CEL was required, such as state.age >= 18; got {got}{hint}")) from None


@dataclass(frozen=True, slots=True)
class _Reader:
    """From the tree of a text to its fact."""

    text: str

    def fact(self, node: Tree) -> Fact:
        found = self.node(node, 0, ())
        if F.kind(found) not in ("bool", None) or not isinstance(found, Fact):
            self._refuse(node, "a fact, which is true or false, was required; got a value: compare it with another")
        return found

    def node(self, node: Tree, depth: int, bound: tuple[str, ...]) -> Node:
        """The node of a tree; `bound` are the variables of the macros that it stands in."""
        if depth >= F.MAX_DEPTH:
            self._refuse(node, f"at most {F.MAX_DEPTH} nested operators were required; got more")
        below = [child for child in node.children if isinstance(child, Tree)]

        def read(child: Tree) -> Node:
            return self.node(child, depth + 1, bound)

        match node.data:
            case "literal":
                return self._made(node, F.Scalar, self._value(node.children[0]))
            case "minus" if node.children[0].data == "literal":
                return self._made(node, F.Scalar, self._value(node.children[0].children[0], sign=-1))
            case "name" | "select" | "index":
                return self._path(node, depth, bound)
            case "disjunction" | "conjunction":
                kind = F.Disjunction if node.data == "disjunction" else F.Conjunction
                return self._made(node, kind, tuple(map(read, below)))
            case "negation":
                return self._made(node, F.Negation, read(below[0]))
            case "minus":
                body = read(below[0])
                if isinstance(body, F.Scalar) and F.kind(body) == "number":
                    return self._made(node, F.Scalar, -body.value)
                return self._made(node, F.Minus, body)
            case "comparison" | "arithmetic":
                left, op, right = node.children
                kind = F.Comparison if node.data == "comparison" else F.Arithmetic
                return self._made(op, kind, op.text, read(left), read(right))
            case "conditional":
                return self._made(node, F.Choice, *map(read, below))
            case "list":
                return self._made(node, F.List, tuple(map(read, below[0].children if below else ())))
            case "one_of":
                return self._one_of(node, *map(read, below))
            case "function" | "method":
                return self._call(node, depth, bound)
            case _:
                self._unsupported(node)

    def _one_of(self, node: Tree, item: Node, of: Node) -> Node:
        if isinstance(of, F.List) and all(isinstance(one, F.Scalar) for one in of.items):
            return self._made(node, F.OneOf, item, of.items)
        return self._made(node, F.Within, item, of)

    def _call(self, node: Tree, depth: int, bound: tuple[str, ...]) -> Node:
        method = node.data == "method"
        of = [node.children[0]] if method else []
        name = node.children[method].text
        listed = [one for child in node.children[1 + method :] for one in child.children]
        if method and name in (*F.MACROS, "existsOne"):
            return self._macro(node, "exists_one" if name == "existsOne" else name, listed, depth, bound)
        if name == "has" and not method and [one.data for one in listed] == ["select"]:
            return self._made(node, F.Has, self._path(listed[0], depth + 1, bound))
        if name == "size" and len(of) + len(listed) == 1:
            return self._made(node, F.Size, self.node((of + listed)[0], depth + 1, bound))
        known = F.FUNCTIONS.get(name)
        if known is None or known.method is not method:
            self._unsupported(node)
        arguments = tuple(self.node(one, depth + 1, bound) for one in of + listed)
        return self._made(node, F.Function, name, arguments)

    def _macro(self, node: Tree, name: str, listed: list[Tree], depth: int, bound: tuple[str, ...]) -> Node:
        if len(listed) not in ((2, 3) if name == "map" else (2,)) or listed[0].data != "name":
            self._refuse(node, f"{name} takes a variable and what is said of it, as in LIST.{name}(x, …), was required")
        variable = self._made(listed[0], F.Variable, listed[0].children[0].text)
        over = self.node(node.children[0], depth + 1, bound)
        inner = [self.node(one, depth + 1, (*bound, variable.name)) for one in listed[1:]]
        if len(inner) == 2:
            over = self._made(node, F.Macro, "filter", over, variable, inner[0])
        return self._made(node, F.Macro, name, over, variable, inner[-1])

    def _path(self, node: Tree, depth: int, bound: tuple[str, ...]) -> Node:
        """A path, or the parts of what is none, one after the other."""
        keys, inner = [], node
        while inner.data in ("select", "index"):
            inner, step = inner.children
            if isinstance(step, Tree):
                keys.append((step, self.node(step, depth + 1, bound)))
            else:
                keys.append((inner, F.Scalar(step.text)))
        if len(keys) > F.MAX_DEPTH:
            self._refuse(node, f"a path of at most {F.MAX_DEPTH} names was required; got {len(keys)}")
        keys.reverse()
        if inner.data == "name" and (root := inner.children[0].text) not in (*bound, "now"):
            names = [str(key.value) for _, key in takewhile(_names, keys)]
            if root not in F.ROOTS or not names:
                said = f"a path begins with state or call and has a name, such as state.age; got {root:.80}"
                self._refuse(inner, f"{said}: {HINTS[root]}" if root in HINTS else said)
            found = self._made(inner, F.Path, (root, *names))
            keys = keys[len(names) :]
        elif inner.data == "name":
            found = F.Variable(root) if (root := inner.children[0].text) in bound else F.NOW
        else:
            found = self.node(inner, depth + 1, bound)
        for at, key in keys:
            found = self._made(at, F.Part, found, key)
        return found

    def _value(self, token: Token, sign: int = 1) -> bool | int | float | str | None:
        text = token.text
        match token.type:
            case "TRUE" | "FALSE" if sign == 1:
                return token.type == "TRUE"
            case "INT":
                digits = text.lstrip("0") or "0"
                if len(digits) > 20:
                    self._refuse(token, "an integer has at most 64 bits; got one beyond")
                return sign * (int(text, 16) if "x" in text else int(digits))
            case "DOUBLE":
                return sign * float(text)
            case "RAW" if sign == 1:
                return text[4:-3] if text[1:4] in ('"""', "'''") else text[2:-1]
            case "STRING" if sign == 1:
                inside = text[3:-3] if text[:3] in ('"""', "'''") else text[1:-1]
                return ESCAPE.sub(lambda found: self._escaped(found, token), inside)
            case "UINT":
                self._refuse(token, f"unsigned integers are not supported: write {shortened(text[:-1], 20)}")
            case "BYTES":
                self._refuse(token, f"bytes are not supported: {SUPPORTED}")
            case "NULL" if sign == 1:
                return None
            case _:
                self._refuse(token, f"a minus before what is no number is not supported: {SUPPORTED}")

    def _escaped(self, found: re.Match, token: Token) -> str:
        letter, *codes, octal = found.groups()
        if letter:
            return ESCAPED.get(letter, letter)
        code = int(octal, 8) if octal else int(next((c for c in codes if c), "110000"), 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            self._refuse(token, f"an escape of CEL, such as \\n or \\u00e9, was required; got {found[0]}")
        return chr(code)

    def _made(self, node: Tree | Token, kind: type, *parts: object) -> Node:
        try:
            return kind(*parts)
        except FactError as error:
            self._refuse(node, str(error))

    def _unsupported(self, node: Tree) -> NoReturn:
        called = next((c.text for c in node.children if isinstance(c, Token)), "")[:40]
        if node.data in ("function", "method"):
            what = f"the function {called}() of {'a value' if node.data == 'method' else 'its arguments'}"
        else:
            what = UNSUPPORTED.get(node.data) or f"a {node.data}"
        hint = f": {HINTS[called]}" if called in HINTS else ""
        self._refuse(node, f"{what} is not supported{hint}; {SUPPORTED}")

    def _refuse(self, node: Tree | Token, message: str) -> NoReturn:
        raise FactError(located(self.text, node.start, message))


def _names(step: tuple[object, Node]) -> bool:
    return isinstance(step[1], F.Scalar) and step[1].type == "string"


# ---- the tree of a text --------------------------------------------------------------------------

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
