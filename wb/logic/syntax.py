"""The text of LTLf formulas: one parser and one printer for words, ASCII and symbols.

Words are the papers' form (ShieldAgent, Eq. 7): `ALWAYS (pay IMPLIES ONCE confirmed)`.  The three
styles may be mixed in one text.  From the tightest binding to the loosest:

    1  NOT ALWAYS EVENTUALLY NEXT WEAK_NEXT ONCE HISTORICALLY PREVIOUSLY    prefix
    2  UNTIL RELEASE WEAK_UNTIL SINCE                                        to the right
    3  AND                                                                   to the left
    4  XOR                                                                   to the left
    5  OR                                                                    to the left
    6  IMPLIES                                                               to the right
    7  IFF                                                                   to the left

`COUNT[<= 3] a` (at most three steps so far) and `COUNT[>= 3] a` (at least three) bind as the prefix operators do.
They are written out with ONCE and PREVIOUSLY, and printed as they were written.

Within a time that ends now: `ONCE[<= 24h] a`, `HISTORICALLY[<= 24h] a`, `COUNT[<= 3, 24h] a` (at most three steps of
the last 24 hours), `COUNT[>= 3, 24h] a`.  A time is a duration as in CEL, `1h30m`, and its end belongs to the window.
`(a SINCE b) AND ONCE[<= 24h] b` is MTL's SINCE with that bound.

A predicate may name objects, `pay(o)` or `pay(o, c)`, without a blank before the bracket: variables in small letters.
A formula says what it says for all objects; `pay` alone is of any object.

So `ALWAYS a IMPLIES b` reads `(ALWAYS a) IMPLIES b`, and `a IMPLIES b IMPLIES c` reads
`a IMPLIES (b IMPLIES c)`.  Operators are written in capitals, predicates in small letters.  A text
has at most `MAX_LENGTH` characters and `MAX_DEPTH` nested operators.  What formulas mean: `semantics`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

from wb.logic import formula as F
from wb.logic import times
from wb.logic.formula import Formula
from wb.logic.wording import shortened

Style = Literal["words", "ascii", "symbols"]
STYLES = ("words", "ascii", "symbols")
MAX_LENGTH = 100_000
MAX_DEPTH = 200


class Notation(NamedTuple):
    """How one operator is written and how tightly it binds (a greater number binds tighter)."""

    node: type
    binding: int
    right: bool
    words: str
    ascii: str
    symbols: str
    others: tuple[str, ...] = ()


OPERATORS = (
    Notation(F.Not, 7, True, "NOT", "!", "¬", ("~",)),
    Notation(F.Always, 7, True, "ALWAYS", "G", "□", ("GLOBALLY",)),
    Notation(F.Eventually, 7, True, "EVENTUALLY", "F", "◇", ("FINALLY",)),
    Notation(F.Next, 7, True, "NEXT", "X", "○", ("◯",)),
    Notation(F.WeakNext, 7, True, "WEAK_NEXT", "N", "●", ("WX",)),
    Notation(F.Once, 7, True, "ONCE", "O", "⟐"),
    Notation(F.Historically, 7, True, "HISTORICALLY", "H", "⊟"),
    Notation(F.Previously, 7, True, "PREVIOUSLY", "Y", "⊖"),
    Notation(F.Until, 6, True, "UNTIL", "U", "U"),
    Notation(F.Release, 6, True, "RELEASE", "R", "R"),
    Notation(F.WeakUntil, 6, True, "WEAK_UNTIL", "W", "W"),
    Notation(F.Since, 6, True, "SINCE", "S", "S"),
    Notation(F.And, 5, False, "AND", "&", "∧", ("&&", "/\\")),
    Notation(F.Xor, 4, False, "XOR", "^", "⊕"),
    Notation(F.Or, 3, False, "OR", "|", "∨", ("||", "\\/")),
    Notation(F.Implies, 2, True, "IMPLIES", "->", "→", ("=>", "⇒")),
    Notation(F.Iff, 1, False, "IFF", "<->", "↔", ("<=>", "⇔", "≡")),
)
BY_NODE = {op.node: op for op in OPERATORS}
BY_TEXT = {text: op for op in OPERATORS for text in (op.words, op.ascii, op.symbols, *op.others)}
CONSTANTS = {"true": F.TRUE, "false": F.FALSE, "⊤": F.TRUE, "⊥": F.FALSE, "TRUE": F.TRUE, "FALSE": F.FALSE}
_TIME = r"[0-9][0-9a-zµ.]*"
_BOUND = rf"(?:ONCE|O|⟐|HISTORICALLY|H|⊟)\[ *<= *{_TIME} *\]|COUNT\[ *(?:<=|>=) *[0-9]+ *(?:, *{_TIME} *)?\]"
TOKEN = re.compile(
    rf"[ \t\r\n]*(?:({_BOUND}|[a-z][a-z0-9_]*\( *{F.OBJECT} *(?:, *{F.OBJECT} *)*\)|"
    r"[A-Za-z][A-Za-z0-9_]*)"
    r"|(<->|<=>|->|=>|&&|\|\||/\\|\\/|[!~&|^()\u25a1\u25c7\u25cb\u25ef\u25cf"
    r"\u27d0\u229f\u2296\u00ac\u2227\u2228\u2295\u2192\u21d2\u2194\u21d4\u2261\u22a4\u22a5])|$)"
)
COUNT = re.compile(
    rf"COUNT\[ *(?P<sign><=|>=) *(?P<times>[0-9]+) *(?:, *(?P<within>{_TIME}) *)?\]|"
    rf"(?P<op>[^\[]+)\[ *<= *(?P<bound>{_TIME}) *\]"
)
SPACED = re.compile(r" *([(),]) *")
MOST_TIMES = 1000  # that are counted within a time
OPERAND = "a predicate, true, false, a prefix operator such as NOT, or '('"


class FormulaError(ValueError):
    """The text is not a formula; the message shows the line, a caret, what was required and what was got."""


class _Token(NamedTuple):
    text: str
    at: int


class _Counted(NamedTuple):
    """What an operator has in brackets: how often, `most` or at the least, and within how many nanoseconds."""

    times: int
    most: bool
    within: int | None
    always: bool = False  # of HISTORICALLY

    @property
    def depth(self) -> int:
        """How deeply what it says is nested."""
        return (3 * (self.times + self.most) if self.within is None else 1 + self.most) + 2 * self.always

    def of(self, body: Formula) -> Formula:
        """The formula that says it of a body."""
        if self.always:
            return F.Not(F.Recently(F.Not(body), 1, self.within))
        least = self.times + self.most
        built = F.at_least(least, body) if self.within is None else F.Recently(body, least, self.within)
        return F.Not(built) if self.most else built


class _Open(NamedTuple):
    """An opened parenthesis or an operator that waits for its right operand; `count` where it has brackets."""

    op: Notation | None
    at: int
    count: _Counted | None = None


def parse(text: str) -> Formula:
    """The formula that a text says; `FormulaError` shows where it does not."""
    if not isinstance(text, str):
        raise FormulaError(f"a formula must be a text (str); got {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise FormulaError(
            f"a formula has at most {MAX_LENGTH} characters; got {len(text)}: split it into several rules"
        )
    operands: list[tuple[Formula, int]] = []  # each with its depth
    waiting: list[_Open] = []
    complete = False  # whether an operand has just ended
    for token in _tokens(text):
        if complete:
            complete = _after_operand(text, token, operands, waiting)
        else:
            complete = _before_operand(text, token, operands, waiting)
    return operands[0][0]


def render(formula: Formula, style: Style = "words") -> str:
    """The text of a formula; `parse` reads it back to an equal formula in every style."""
    if style not in STYLES:
        raise ValueError(f"style must be one of {list(STYLES)}; got {style!r}")

    texts: dict[Formula, str] = {}

    def show(node: Formula, parts: tuple) -> str:
        texts[node] = text = shown(node, parts)
        return text

    def shown(node: Formula, parts: tuple) -> str:
        if isinstance(node, F.Atom):
            return node.name
        if isinstance(node, F.Constant):
            return {"symbols": "⊥⊤"[node.value]}.get(style, str(node.value).lower())
        if (count := _count(node, style)) is not None:
            sign, body = count
            return f"{sign} ({texts[body]})" if isinstance(body, F.Binary) else f"{sign} {texts[body]}"
        sign = getattr(BY_NODE[type(node)], style)
        operands = [
            f"({part})" if _parenthesised(node, child, side) else part
            for side, (child, part) in enumerate(zip(F.children(node), parts, strict=True))
        ]
        if len(operands) == 2:
            return f"{operands[0]} {sign} {operands[1]}"
        return f"{sign} {operands[0]}" if sign.isalpha() or "_" in sign else f"{sign}{operands[0]}"

    return str(F.fold(formula, show))


def _count(node: Formula, style: Style) -> tuple[str, Formula] | None:
    """The operator with brackets, and what it is of; None for a node that has none."""
    match node:
        case F.Not(F.Recently(F.Not(body), 1, within)):
            return f"{getattr(BY_NODE[F.Historically], style)}[<= {times.written(within)}]", body
        case F.Not(F.Recently(body, often, within)) if often > 1:
            return f"COUNT[<= {often - 1}, {times.written(within)}]", body
        case F.Recently(body, often, within):
            sign = getattr(BY_NODE[F.Once], style)
            within = times.written(within)
            return (f"{sign}[<= {within}]" if often == 1 else f"COUNT[>= {often}, {within}]"), body
    if isinstance(node, F.Not) and (found := F.counted(node.body)) is not None:
        return f"COUNT[<= {found[0] - 1}]", found[1]
    found = F.counted(node)
    return None if found is None else (f"COUNT[>= {found[0]}]", found[1])


def _parenthesised(node: Formula, child: Formula, side: int) -> bool:
    """Whether the operand needs parentheses: to be read back, or where a reader might take it otherwise."""
    if not isinstance(child, F.Binary):
        return False
    outer, inner = BY_NODE[type(node)], BY_NODE[type(child)]
    if outer is inner:
        return side == (0 if outer.right else 1) or outer.binding in (1, 2, 6)
    return inner.binding <= outer.binding or outer.binding > 2


def _tokens(text: str) -> list[_Token]:
    """The tokens of a text, closed by an empty one."""
    tokens, at = [], 0
    while True:
        found = TOKEN.match(text, at)
        if found is None:
            at += len(text[at:]) - len(text[at:].lstrip(" \t\r\n"))
            hint = "; a count or a time is written COUNT[<= 3], ONCE[<= 24h]" * (text[at] == "[")
            raise _error(text, at, f"a formula has letters, digits, _ and operator signs; got {_named(text[at])}{hint}")
        word = found.group(1) or found.group(2) or ""
        said = SPACED.sub(r"\1", word).replace(",", ", ") if "(" in word or "," in word else word
        tokens.append(_Token(said, found.end() - len(word)))
        if not word:
            return tokens
        at = found.end()


def _before_operand(text: str, token: _Token, operands: list, waiting: list[_Open]) -> bool:
    op, count = BY_TEXT.get(token.text), _counted(text, token)
    if token.text == "(" or count is not None or (op is not None and issubclass(op.node, F.Unary)):
        waiting.append(_Open(BY_NODE[F.Once] if count is not None else op, token.at, count))
        if len(waiting) > 2 * MAX_DEPTH:
            raise _error(text, token.at, f"at most {MAX_DEPTH} nested operators or parentheses; got more")
        return False
    if token.text in CONSTANTS:
        operands.append((CONSTANTS[token.text], 0))
    elif F.ATOM.match(token.text) and token.text.partition("(")[0] not in CONSTANTS:
        operands.append((F.Atom(token.text), 0))
    else:
        raise _error(text, token.at, f"expected {OPERAND}; got {_shown(token)}{_hint(token)}")
    return True


def _after_operand(text: str, token: _Token, operands: list, waiting: list[_Open]) -> bool:
    op = BY_TEXT.get(token.text)
    if op is not None and issubclass(op.node, F.Binary):
        _reduce(text, operands, waiting, op)
        waiting.append(_Open(op, token.at))
        if len(waiting) > 3 * MAX_DEPTH:  # more than the parentheses and operators of any formula within the bounds
            raise _error(text, token.at, f"at most {MAX_DEPTH} nested operators; got more")
        return False
    if token.text not in (")", ""):
        raise _error(
            text,
            token.at,
            f"expected an operator such as AND, ')' or the end; got {_shown(token)}"
            f"{_hint(token)}{_objects(text, token)}",
        )
    _reduce(text, operands, waiting, None)
    if token.text == ")" and not waiting:
        raise _error(text, token.at, "expected an operator or the end; got ')' with no '(' before it")
    if token.text == "" and waiting:
        raise _error(text, waiting[-1].at, "expected ')' for this '('; got the end of the text")
    if token.text == ")":
        waiting.pop()
    return True


def _reduce(text: str, operands: list, waiting: list[_Open], op: Notation | None) -> None:
    """Build the waiting operators that bind tighter than `op`; all up to a parenthesis for None."""
    while waiting and waiting[-1].op is not None:
        top = waiting[-1].op
        if op is not None and (top.binding < op.binding or (top.binding == op.binding and op.right)):
            return
        at, counted = waiting[-1].at, waiting.pop().count
        count = 2 if issubclass(top.node, F.Binary) else 1
        parts, operands[-count:] = operands[-count:], []
        deep = (counted.depth if counted is not None else 1) + max(part[1] for part in parts)
        if deep > MAX_DEPTH:
            raise _error(
                text, at, f"at most {MAX_DEPTH} nested operators; got more: split the formula into several rules"
            )
        built = top.node(*(part[0] for part in parts)) if counted is None else counted.of(parts[0][0])
        operands.append((built, deep))


def _counted(text: str, token: _Token) -> _Counted | None:
    """What an operator with brackets says; None for any other token."""
    found = COUNT.fullmatch(token.text)
    if found is None:
        return None
    length = found["within"] or found["bound"]
    within = times.duration(length) if length else None
    if length and within is None:
        raise _error(text, token.at, f"a time such as 24h or 1h30m was required; got {shortened(length, 40)}")
    many = min(int((found["times"] or "1")[:6]), MAX_DEPTH if length is None else 10**6)
    if found["sign"] == ">=" and many == 0:
        raise _error(text, token.at, f"COUNT[>= N] takes a number from 1; got {token.text}")
    if length and many > MOST_TIMES:
        raise _error(text, token.at, f"within a time a number up to {MOST_TIMES} was required; got {many}")
    always = found["op"] is not None and BY_TEXT[found["op"]].node is F.Historically
    return _Counted(many, found["sign"] == "<=", within.nanoseconds if within else None, always)


def _hint(token: _Token) -> str:
    word = token.text
    if word.upper() in BY_TEXT and word != word.upper():
        return f": operators are written in capitals, {word.upper()}"
    if word and word[0].isupper() and word not in BY_TEXT:
        return ": a predicate name must match [a-z][a-z0-9_]*"
    return ""


def _objects(text: str, token: _Token) -> str:
    """What is wrong with a bracket right after a predicate."""
    after = token.text == "(" and token.at > 0 and text[token.at - 1].isalnum()
    return ": objects are variables in small letters, as in pay(o) or pay(o, c)" if after else ""


def _shown(token: _Token) -> str:
    return repr(token.text[:40]) if token.text else "the end of the text"


def _named(char: str) -> str:
    return f"{char!r} (U+{ord(char):04X} {unicodedata.name(char, 'unnamed character')})"


def _error(text: str, at: int, message: str) -> FormulaError:
    return FormulaError(located(text, at, message))


def located(text: str, at: int, message: str) -> str:
    """The message with its line, cut to a window of 100 characters, and a caret below the place."""
    at = min(at, len(text))
    start = text.rfind("\n", 0, at) + 1
    stop = text.find("\n", at)
    line = text[start : stop if stop >= 0 else len(text)]
    column = at - start
    left = max(0, column - 60)
    window = "".join(c if c.isprintable() else " " for c in line[left : left + 100])
    number = text.count("\n", 0, at) + 1
    return f"line {number}, column {column + 1}: {message}\n  {window}\n  {' ' * (column - left)}^"
