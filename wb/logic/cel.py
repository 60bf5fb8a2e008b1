"""The text of facts: one parser and one printer for the supported part of CEL, and plain words for people.

The grammar is that of the whole language (cel-spec, language definition, "Syntax"), so that what is outside the
supported part is refused by its name and place, not as a syntax error.  The meaning of facts: `facts`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from wb.logic import facts as F
from wb.logic.facts import Fact, FactError, Operand
from wb.logic.syntax import located

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

MAX_LENGTH = 100_000  # characters of a text
SUPPORTED = (
    "supported are paths such as state.NAME and call.NAME, size(PATH), literals, "
    "the comparisons == != < <= > >=, in [LITERALS], !, &&, || and parentheses"
)
NO_NAMES = frozenset(  # keywords, and words that older grammars reserve: after a dot, some parsers refuse them
    "true false null in as break const continue else for function if import let loop package namespace return var void "
    "while".split()
)
MACROS = frozenset("all exists exists_one existsOne filter map has".split())
UNSUPPORTED = {"minus": "arithmetic (-)", "absolute": "a dot before the first name", "list": "a list outside 'in'"}
HINTS = {
    "=": "equality is ==",
    **dict.fromkeys(("&", "and", "AND"), "'and' is &&"),
    **dict.fromkeys(("|", "or", "OR"), "'or' is ||"),
    **dict.fromkeys(("not", "NOT"), "'not' is !"),
    **dict.fromkeys(("True", "False"), "truth is true or false, in small letters"),
    **dict.fromkeys(("count", "len"), "how many is size(PATH)"),
}
GRAMMAR = r"""
?start: expr
?expr: disjunction | disjunction "?" disjunction ":" expr -> conditional
?disjunction: conjunction ("||" conjunction)*
?conjunction: relation ("&&" relation)*
?relation: sum | relation RELATION sum -> comparison | relation "in" sum -> one_of
?sum: product | sum (PLUS | MINUS) product -> arithmetic
?product: unary | product TIMES unary -> arithmetic
?unary: postfix | negation | minus
negation: "!" (negation | postfix)
minus: "-" (minus | postfix)
?postfix: primary
    | postfix "." NAME -> select
    | postfix "." NAME "(" [arguments] ")" -> method
    | postfix "[" expr "]" -> index
    | postfix "{" [fields] "}" -> message
?primary: "(" expr ")"
    | NAME -> name
    | "." NAME -> absolute
    | "."? NAME "(" [arguments] ")" -> function
    | "[" [items] "]" -> list
    | "{" [entries] "}" -> map
    | (INT | UINT | DOUBLE | STRING | RAW | BYTES | TRUE | FALSE | NULL) -> literal
arguments: expr ("," expr)*
items: expr ("," expr)* ","?
fields: NAME ":" expr ("," NAME ":" expr)* ","?
entries: expr ":" expr ("," expr ":" expr)* ","?

RELATION: "==" | "!=" | "<=" | ">=" | "<" | ">"
TIMES: "*" | "/" | "%"
PLUS: "+"
MINUS: "-"
TRUE: "true"
FALSE: "false"
NULL: "null"
NAME: /[_a-zA-Z][_a-zA-Z0-9]*/
DOUBLE.3: /[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+/
UINT.2: /(0x[0-9a-fA-F]+|[0-9]+)[uU]/
INT: /0x[0-9a-fA-F]+|[0-9]+/
STRING: /"{3}(\\[\s\S]|[^\\])*?"{3}|'{3}(\\[\s\S]|[^\\])*?'{3}|"(\\.|[^"\\\r\n])*"|'(\\.|[^'\\\r\n])*'/
RAW.2: /[rR]("{3}[\s\S]*?"{3}|'{3}[\s\S]*?'{3}|"[^"\r\n]*"|'[^'\r\n]*')/
BYTES.3: /([bB][rR]?|[rR][bB])("{3}[\s\S]*?"{3}|'{3}[\s\S]*?'{3}|"(\\.|[^"\\\r\n])*"|'(\\.|[^'\\\r\n])*')/
%ignore /[\t\n\f\r ]+/
%ignore /\/\/[^\n]*/
"""
FACTS = frozenset("conjunction disjunction negation comparison one_of".split())  # rules of the grammar with a truth
ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|[\s\S]?)"
)
ESCAPED = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
RELATION = dict(zip(F.OPERATORS, ("is", "is not", "is below", "is at most", "is above", "is at least"), strict=True))
ORDER = {"<": "is before", "<=": "is not after", ">": "is after", ">=": "is not before"}  # of strings


def parse(text: str) -> Fact:
    """The fact that a text says; `FactError` shows where it is no CEL or outside the supported part."""
    if not isinstance(text, str):
        raise FactError(f"a text (str) in CEL was required, such as state.age >= 18; got {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise FactError(f"at most {MAX_LENGTH} characters were required; got {len(text)}: split the predicate")
    return _Reader(text).fact(_tree(text), 0)


def render(fact: Fact) -> str:
    """The canonical text of a fact; `parse` reads it back to an equal fact."""
    match fact:
        case F.Path((root, *names)):
            return root + "".join(f".{name}" if _plain(name) else f"[{_quoted(name)}]" for name in names)
        case F.Size(of):
            return f"size({render(of)})"
        case F.Scalar(value, type="string"):
            return _quoted(value)
        case F.Scalar(value, type="bool"):
            return str(value).lower()
        case F.Scalar(value):
            return repr(value)
        case F.Comparison(op, left, right):
            return f"{render(left)} {op} {render(right)}"
        case F.OneOf(item, options):
            return f"{render(item)} in [{', '.join(map(render, options))}]"
        case F.Negation(body):
            bare = isinstance(body, F.Path | F.Scalar | F.Negation)
            return f"!{render(body)}" if bare else f"!({render(body)})"
        case F.Conjunction(parts) | F.Disjunction(parts):
            bracketed = (f"({render(p)})" if isinstance(p, F.Conjunction | F.Disjunction) else render(p) for p in parts)
            return (" && " if isinstance(fact, F.Conjunction) else " || ").join(bracketed)
        case _:
            raise FactError(f"a fact was required; got {type(fact).__name__}")


def words(fact: Fact) -> str:
    """The fact in plain English: `age is at least 18`, `number of guests is at most 8`, `role is one of a, b`."""
    return _said(fact, True)


# ---- words --------------------------------------------------------------------------------------


def _said(fact: Fact, positive: bool) -> str:
    match fact:
        case F.Scalar(value):
            return "always" if value is positive else "never"
        case F.Path():
            return f"{_noun(fact)} is {str(positive).lower()}"
        case F.Comparison(op, left, right):
            if isinstance(left, F.Scalar) and not isinstance(right, F.Scalar):
                op, left, right = F.MIRRORED[op], right, left
            op = op if positive else NEGATED[op]
            text = isinstance(right, F.Scalar) and right.type == "string"
            return f"{_noun(left)} {(ORDER if text else {}).get(op) or RELATION[op]} {_noun(right)}"
        case F.OneOf(item, options):
            return f"{_noun(item)} is {'one' if positive else 'none'} of {', '.join(map(_noun, options)) or 'nothing'}"
        case F.Negation(body):
            return _said(body, not positive)
        case F.Conjunction(parts) | F.Disjunction(parts):  # by De Morgan, which Kleene's logic keeps
            joint = " and " if isinstance(fact, F.Conjunction) is positive else " or "
            said = [(_said(p, positive), isinstance(_body(p), F.Conjunction | F.Disjunction)) for p in parts]
            return joint.join(f"({text})" if compound else text for text, compound in said)
        case _:
            raise FactError(f"a fact was required; got {type(fact).__name__}")


def _body(fact: Fact) -> Fact:
    while isinstance(fact, F.Negation):
        fact = fact.body
    return fact


def _noun(operand: Operand) -> str:
    match operand:
        case F.Path((_, *names)):
            return " of ".join(name.replace("_", " ").strip() or name for name in reversed(names))
        case F.Size(of):
            return f"number of {_noun(of)}"
        case F.Scalar(value, type="string"):
            return value if re.fullmatch(r"\w(?:[\w .:/@+-]*\w)?", value) else _quoted(value)
        case F.Scalar(value, type="double"):
            return f"{value:.15g}" if float(f"{value:.15g}") == value else repr(value)
        case F.Scalar(value):
            return str(value).lower()


# ---- text ---------------------------------------------------------------------------------------


def _plain(name: str) -> bool:
    return re.fullmatch(r"[_a-zA-Z][_a-zA-Z0-9]*", name) is not None and name not in NO_NAMES


def _quoted(text: str) -> str:
    """A string literal; what cannot be seen is written by its code point."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


@cache
def _lark() -> Lark:
    from lark import Lark  # here, not above: 0.2 s that only a reader of text pays

    return Lark(GRAMMAR, parser="lalr", lexer="basic", propagate_positions=True, maybe_placeholders=False)


def _tree(text: str) -> Tree:
    parser = _lark()
    from lark.exceptions import UnexpectedInput, UnexpectedToken

    try:
        return parser.parse(text)
    except UnexpectedInput as error:
        ended = isinstance(error, UnexpectedToken) and error.token.type == "$END"
        at = len(text.rstrip()) if ended else error.pos_in_stream
        got = "the end of the text" if ended else repr(re.compile(r"\w+|[\s\S]").match(text, at)[0][:40])
        before = re.search(r"\w*\Z", text[:at].rstrip()[-10:])[0]
        hint = HINTS.get(got.strip("'")) or HINTS.get(before)
        hint = f": {hint}" if hint else ": this string does not end" if got in ("'\"'", '"\'"') else ""
        raise FactError(located(text, at, f"CEL was required, such as state.age >= 18; got {got}{hint}")) from None


@dataclass(frozen=True, slots=True)
class _Reader:
    """From the tree of a text to its fact."""

    text: str

    def fact(self, node: Tree, depth: int) -> Fact:
        if depth >= F.MAX_DEPTH:
            self._refuse(node, f"at most {F.MAX_DEPTH} nested operators were required; got more")
        match node.data:
            case "disjunction" | "conjunction":
                kind = F.Disjunction if node.data == "disjunction" else F.Conjunction
                return self._made(node, kind, tuple(self.fact(child, depth + 1) for child in node.children))
            case "negation":
                return self._made(node, F.Negation, self.fact(node.children[0], depth + 1))
            case "comparison":
                left, op, right = node.children
                return self._made(op, F.Comparison, str(op), self.operand(left), self.operand(right))
            case "one_of":
                item, options = node.children
                return self._made(node, F.OneOf, self.operand(item), self._options(options))
        found = self.operand(node)
        if isinstance(found, F.Size) or (isinstance(found, F.Scalar) and found.type != "bool"):
            self._refuse(node, "a fact, which is true or false, was required; got a value: compare it with another")
        return found

    def operand(self, node: Tree) -> Operand:
        match node.data:
            case "literal":
                return self._made(node, F.Scalar, self._value(node.children[0]))
            case "minus" if node.children[0].data == "literal":
                return self._made(node, F.Scalar, self._value(node.children[0].children[0], sign=-1))
            case "name" | "select" | "index":
                return self._path(node)
            case "function" if node.children[0] == "size" and [len(a.children) for a in node.children[1:]] == [1]:
                return F.Size(self._path(node.children[1].children[0]))
            case "method" if node.children[1] == "size" and len(node.children) == 2:
                return F.Size(self._path(node.children[0]))
            case kind if kind in FACTS:
                self._refuse(node, "a path, size(PATH) or a literal was required here; got a fact")
            case _:
                self._unsupported(node)

    def _path(self, node: Tree) -> F.Path:
        names, inner = [], node
        while inner.data in ("select", "index"):
            inner, step = inner.children
            if not hasattr(step, "data"):
                names.append(str(step))
            elif step.data == "literal" and step.children[0].type in ("STRING", "RAW"):
                names.append(self._value(step.children[0]))
            else:
                self._refuse(step, f"indexing by anything but a string is not supported: {SUPPORTED}")
        if inner.data in FACTS or inner.data == "literal":
            self._refuse(inner, f"a path such as state.age was required here; got a {inner.data.replace('_', ' ')}")
        if inner.data != "name":
            self._unsupported(inner)
        root = str(inner.children[0])
        if root not in F.ROOTS or not names:
            said = f"a path begins with state or call and has a name, such as state.age; got {root:.80}"
            self._refuse(inner, f"{said}: {HINTS[root]}" if root in HINTS else said)
        return self._made(inner, F.Path, (root, *reversed(names)))

    def _options(self, node: Tree) -> tuple[F.Scalar, ...]:
        if node.data != "list":
            self._refuse(node, f'\'in\' needs a list of literals, such as ["a", "b"]; {SUPPORTED}')
        found = []
        for child in node.children[0].children if node.children else ():
            option = self.operand(child)
            if not isinstance(option, F.Scalar):
                self._refuse(child, "a list after 'in' holds literals only; got a path or a size")
            found.append(option)
        return tuple(found)

    def _value(self, token: Token, sign: int = 1) -> bool | int | float | str:
        match token.type:
            case "TRUE" | "FALSE" if sign == 1:
                return token.type == "TRUE"
            case "INT":
                digits = token.lstrip("0") or "0"
                if len(digits) > 20:
                    self._refuse(token, "an integer has at most 64 bits; got one beyond")
                return sign * (int(token, 16) if "x" in token else int(digits))
            case "DOUBLE":
                return sign * float(token)
            case "RAW" if sign == 1:
                return token[4:-3] if token[1:4] in ('"""', "'''") else token[2:-1]
            case "STRING" if sign == 1:
                inside = token[3:-3] if token[:3] in ('"""', "'''") else token[1:-1]
                return ESCAPE.sub(lambda found: self._escaped(found, token), inside)
            case "UINT":
                self._refuse(token, f"unsigned integers are not supported: write {token[:-1][:20]}")
            case "BYTES":
                self._refuse(token, f"bytes are not supported: {SUPPORTED}")
            case "NULL":
                self._refuse(token, f"null is not supported, an absent value is unknown: {SUPPORTED}")
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

    def _made(self, node: Tree | Token, kind: type, *parts: object) -> Fact:
        try:
            return kind(*parts)
        except FactError as error:
            self._refuse(node, str(error))

    def _unsupported(self, node: Tree) -> NoReturn:
        called = next((str(c) for c in node.children if not hasattr(c, "data")), "")[:40]
        if node.data == "arithmetic":
            what, node = f"arithmetic ({called})", node.children[1]
        elif node.data in ("function", "method"):
            what = f"the {'macro' if called in MACROS else 'function'} {called}()"
        else:
            what = UNSUPPORTED.get(node.data) or f"a {node.data}"
        hint = f": {HINTS[called]}" if called in HINTS else ""
        self._refuse(node, f"{what} is not supported{hint}; {SUPPORTED}")

    def _refuse(self, node: Tree | Token, message: str) -> NoReturn:
        at = node.meta.start_pos if hasattr(node, "meta") else node.start_pos
        raise FactError(located(self.text, at, message))
