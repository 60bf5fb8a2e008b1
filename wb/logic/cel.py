"""The text of facts: one parser and one printer for the supported part of CEL.

What is outside the supported part is refused by its name and place, not as a syntax error, for the whole language is
read first (`cel_tree`).  What facts are made of: `facts`; what they mean: `evaluation`; how they are told to people:
`wording`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import takewhile
from typing import NoReturn

from wb.logic import cel_tree
from wb.logic import facts as F
from wb.logic.cel_tree import NoCel, Token, Tree
from wb.logic.facts import Fact, FactError, Node
from wb.logic.syntax import located

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
        return cel_tree.tree(text)
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
                self._refuse(token, f"unsigned integers are not supported: write {text[:-1][:20]}")
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
