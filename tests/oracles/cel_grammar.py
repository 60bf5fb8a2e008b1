"""The syntax of CEL as a grammar (cel-spec, language definition, "Syntax"), read by Lark: what `cel.tree` must agree
with."""

from __future__ import annotations

from functools import cache

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

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


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", lexer="basic", propagate_positions=True, maybe_placeholders=False)


def tree(text: str) -> tuple | int | None:
    """Of a text its tree: what each part is, its parts and where it begins; where it is no CEL the place, None at the
    end."""
    try:
        return _shape(_parser().parse(text))
    except UnexpectedInput as error:
        ended = isinstance(error, UnexpectedToken) and error.token.type == "$END"
        return None if ended else error.pos_in_stream


def _shape(node: Tree | Token) -> tuple:
    if isinstance(node, Token):
        return str(node), node.start_pos
    return node.data, tuple(map(_shape, node.children)), node.meta.start_pos
