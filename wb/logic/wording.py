"""Texts for people: facts in plain English, such as `age is at least 18`, and whatever is shown in few characters."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass, replace

from wb.logic import facts as F
from wb.logic.facts import Fact, FactError, Node

NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
RELATION = dict(zip(F.OPERATORS, ("is", "is not", "is below", "is at most", "is above", "is at least"), strict=True))
ORDER = {"<": "is before", "<=": "is not after", ">": "is after", ">=": "is not before"}  # of texts and of times
COMPUTED = {"+": "plus", "-": "minus", "*": "times", "/": "divided by", "%": "modulo"}
CALLED = {
    "sum": "sum of {}",
    "min": "least of {}",
    "max": "greatest of {}",
    "int": "{} as a whole number",
    "double": "{} as a number",
    "string": "text of {}",
    "timestamp": "{}",
    "duration": "{}",
    "lowerAscii": "{} in small letters",
    "upperAscii": "{} in capital letters",
    "trim": "{} without outer spaces",
    "getFullYear": "year of {}",
    "getMonth": "month of {}, from 0,",
    "getDate": "day of the month of {}",
    "getDayOfMonth": "day of the month of {}, from 0,",
    "getDayOfWeek": "day of the week of {}, from 0 for Sunday,",
    "getDayOfYear": "day of the year of {}, from 0,",
    "getHours": "hours of {}",
    "getMinutes": "minutes of {}",
    "getSeconds": "seconds of {}",
    "getMilliseconds": "milliseconds of {}",
}
STATED = {  # of functions that are facts, as they hold and as they do not
    "startsWith": ("{} begins with {}", "{} does not begin with {}"),
    "endsWith": ("{} ends with {}", "{} does not end with {}"),
    "contains": ("{} contains {}", "{} does not contain {}"),
}
QUANTIFIED = {  # as it holds and as it does not; what is said of the item is negated in the last place
    "all": ("for every {} of {}, {}", "for some {} of {}, {}"),
    "exists": ("for some {} of {}, {}", "for every {} of {}, {}"),
}
ENDS = re.compile(r"(?=[ _])")  # of words, and of the words of a name
PARTS = re.compile(r"(?<=[^\w\s])(?=\w)")  # within what has no blank, such as an address
DIGIT = re.compile(r"\d")


def words(fact: Fact) -> str:
    """The fact in plain English: `age is at least 18`, `number of guests is at most 8`, `role is one of a, b`.

    An argument is said to be one of the call where a field of the state that is read as well has its name.
    """
    names = {root: {path.names[1:] for path in F.paths(fact) if path.names[0] == root} for root in F.ROOTS}
    return _said(_apart(fact, frozenset.intersection(*map(frozenset, names.values()))), True)


def _apart[Part](part: Part, both: frozenset[tuple[str, ...]]) -> Part:
    """The fact, or a part of it, with the arguments of those names called the call's."""
    if not both:
        return part
    if isinstance(part, F.Path):
        mine = part.names[0] == "call" and part.names[1:] in both and len(part.names) < F.MAX_DEPTH
        return replace(part, names=("call", "the call", *part.names[1:])) if mine else part
    if isinstance(part, tuple):
        return tuple([_apart(one, both) for one in part])
    if not is_dataclass(part):
        return part
    return replace(part, **{one.name: _apart(getattr(part, one.name), both) for one in fields(part) if one.init})


def _said(fact: Fact, positive: bool) -> str:
    match fact:
        case F.Scalar(value):
            return "always" if value is positive else "never"
        case F.Path() | F.Variable() | F.Part():
            return f"{_noun(fact)} is {str(positive).lower()}"
        case F.Comparison(op, left, right):
            if isinstance(left, F.Scalar) and not isinstance(right, F.Scalar):
                op, left, right = F.MIRRORED[op], right, left
            op = op if positive else NEGATED[op]
            text = {F.kind(left), F.kind(right)} & {"string", "timestamp"}
            return f"{_noun(left)} {(ORDER if text else {}).get(op) or RELATION[op]} {_noun(right)}"
        case F.OneOf(item, options):
            return f"{_noun(item)} is {'one' if positive else 'none'} of {', '.join(map(_noun, options)) or 'nothing'}"
        case F.Within(item, of):
            return f"{_noun(item)} is {'' if positive else 'not '}in {_noun(of)}"
        case F.Has(of):
            return f"{_noun(of)} is {'' if positive else 'not '}given"
        case F.Negation(body):
            return _said(body, not positive)
        case F.Choice(F.Comparison("==", one), then, F.Comparison(">", F.Arithmetic("/"))) if one == then:
            return _said(then, positive)  # two bindings of one fact that have to say the same (`rules.binding.both`)
        case F.Choice(test, then, otherwise):
            sides = f"{_said(then, positive)}, otherwise {_said(otherwise, positive)}"
            return f"(if {_said(test, True)}, then {sides})"
        case F.Function(name, (of, what)) if name in STATED:
            return STATED[name][not positive].format(_noun(of), _noun(what))
        case F.Macro("exists_one", over, variable, body):
            count = "exactly one" if positive else "not exactly one"
            return f"for {count} {variable.name} of {_noun(over)}, {_clause(body, True)}"
        case F.Macro(name, over, variable, body) if name in QUANTIFIED:
            said = QUANTIFIED[name][not positive]
            return said.format(variable.name, _noun(over), _clause(body, positive))
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


def _clause(fact: Fact, positive: bool) -> str:
    """What is said of an item, in brackets where more may follow."""
    said = _said(fact, positive)
    return f"({said})" if isinstance(_body(fact), F.Conjunction | F.Disjunction | F.Macro) else said


def _noun(node: Node) -> str:
    match node:
        case F.NOW:
            return "now"
        case F.Path((_, *names)):
            return " of ".join(name.replace("_", " ").strip() or name for name in reversed(names))
        case F.Variable(name):
            return name
        case F.Part(of, F.Scalar(str() as name)):
            return f"{name.replace('_', ' ').strip() or name} of {_noun(of)}"
        case F.Part(of, F.Scalar(int() as at)):
            return f"item {at + 1} of {_noun(of)}"
        case F.Part(of, key):
            return f"entry {_noun(key)} of {_noun(of)}"
        case F.Size(of):
            return f"number of {_noun(of)}"
        case F.Scalar(value, type="string"):
            return value if re.fullmatch(r"\w(?:[\w .:/@+-]*\w)?", value) else _quoted(value)
        case F.Scalar(value, type="double"):
            return f"{value:.15g}" if float(f"{value:.15g}") == value else repr(value)
        case F.Scalar(None):
            return "nothing"
        case F.Scalar(value):
            return str(value).lower()
        case F.List(items):
            return f"[{', '.join(map(_noun, items))}]"
        case F.Minus(body):
            return f"minus {_side(body)}"
        case F.Arithmetic(op, left, right):
            return f"{_side(left)} {COMPUTED[op]} {_side(right)}"
        case F.Function(name, (of, *zone)) if name in CALLED:
            return CALLED[name].format(_side(of)) + "".join(f" in {_noun(at)}" for at in zone)
        case F.Choice(test, then, otherwise):
            return f"({_noun(then)} if {_said(test, True)}, otherwise {_noun(otherwise)})"
        case F.Macro("filter", over, variable, body):
            return f"those {variable.name} of {_noun(over)} for which {_clause(body, True)}"
        case F.Macro("map", over, variable, body):
            return f"{_side(body)} for every {variable.name} of {_noun(over)}"
        case _:
            return f"whether {_clause(node, True)}"


def _side(node: Node) -> str:
    """A noun, in brackets where it is computed from several."""
    said = _noun(node)
    return f"({said})" if isinstance(node, F.Arithmetic) or said.startswith("whether ") else said


def _quoted(text: str) -> str:
    """A text in quotation marks; what cannot be seen is written by its code point."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


def shortened(text: str, most: int) -> str:
    """A text of at most `most` characters, at least 1, on one line, with "…" where something is left out: the one way
    in which anything shown to a person is shortened.

    What is left ends before a blank or an underscore.  A number is never cut, nor what belongs to it ("$10/day", "3.5",
    "2026-01-01"), for the half of one is another number.  Of a text that begins with something longer, a word or an
    address, there is what stands before one of its parts, if no part has a digit, else nothing but "…".
    """
    if most < 1:
        raise ValueError(f"1 character or more was required; got {most}")
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    ends = [end.start() for end in ENDS.finditer(line, 1, most)]
    first = re.split("[ _]", line, maxsplit=1)[0]
    if not ends and not DIGIT.search(first):
        ends = [end.start() for end in PARTS.finditer(line, 1, most)]
    return f"{line[: ends[-1]] if ends else ''}…"
