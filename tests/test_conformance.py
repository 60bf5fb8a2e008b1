"""The conformance tests of CEL's specification: what is supported agrees with them, the rest is refused by name.

A test that wants an error wants unknown here, or a refusal.  `python tests/test_conformance.py` lists what is left out.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from wb.logic import times
from wb.logic.cel import parse
from wb.logic.evaluation import holds, reading
from wb.logic.facts import FactError

FILES = Path(__file__).parents[2] / "shared" / "data" / "cel"
TOKEN = re.compile(
    r"""#[^\n]*|"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([{}])|(:)|[,;]|\[([\w./]+)\]|[\[\]]|([^\s{}\[\]:,;"'#]+)"""
)
CODE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[xX]([0-9a-fA-F]{1,2})|([0-7]{1,3})|([\s\S]))")
LETTERS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
LITERAL = r"""[rRbB]{0,2}(?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""

# Where the meaning differs, and why; every other supported test must agree.
LOSSY = "an integer and a double are compared as numbers, where the files compare doubles"
TYPES = "values of different types are not equal, nor unequal: unknown"
FINITE = "a double that is not finite is unknown"
DIFFERENT = {
    **dict.fromkeys(
        (
            "dyn(9223372036854775807) < 9223372036854775808.0",
            "dyn(9223372036854775808.0) > 9223372036854775807",
            "dyn(9223372036854775808.0) <= 9223372036854775807",
            "dyn(9223372036854775807) >= 9223372036854775808.0",
        ),
        LOSSY,
    ),
    **dict.fromkeys(("[1, 'foo', 3].exists(e, e == '10')", "[1, 2, null] == [1, null, 3]"), TYPES),
    "['1', '2', null] == ['1', '2', '3']": TYPES,
    **dict.fromkeys((f"{one} {op} 0.0/0.0" for one in ("0.0/0.0", "dyn(1)") for op in ("==", "!=")), FINITE),
    **dict.fromkeys(("15.75 / 0.0", "2.0 * -8.988466e+307 ", "2.0 * 8.988466e+307 "), FINITE),
    **dict.fromkeys(("string(123.456)", "string(-4.5e-3)"), "the text of a double is unknown"),
    "x == null": "a field of the state that is null is unknown",
    "[2, 1, 0].map(n, 4 / n)": "a list has its items, known or not, where CEL has an error",
    "[3, 2, 1, 0].exists_one(n, 12 / n > 1)": "false from the second item on that it is true of",
}


def unescaped(found: re.Match) -> bytes:
    u, wide, hexadecimal, octal, letter = found.groups()
    if hexadecimal or octal:
        return bytes([int(hexadecimal, 16) if hexadecimal else int(octal, 8)])
    return (LETTERS.get(letter, letter) if letter else chr(int(u or wide, 16))).encode("utf-8", "surrogatepass")


def string(inside: str) -> bytes:
    parts, at = [], 0
    for found in CODE.finditer(inside):
        parts += [inside[at : found.start()].encode(), unescaped(found)]
        at = found.end()
    return b"".join([*parts, inside[at:].encode()])


def read(textproto: str) -> list[dict]:
    """The tests of a conformance file, as records from a field's name to its values."""
    tests, stack, name, colon = [], [{}], "", None
    for found in TOKEN.finditer(textproto):
        given, (double, single, brace, colon, extension, word) = colon, found.groups()
        if brace == "{":
            stack.append({})
            stack[-2].setdefault(name, []).append(stack[-1])
            tests += [stack[-1]] if name == "test" else []
        elif brace:
            stack.pop()
        elif double is not None or single is not None:
            stack[-1].setdefault(name, []).append(string(double if double is not None else single))
        elif word and given:
            stack[-1].setdefault(name, []).append(word)
        elif word or extension:
            name = word or extension
    return tests


class Foreign(ValueError):
    """A value that facts do not have: unsigned, bytes, a message, a map with keys that are no texts, a type."""


def value(row: dict) -> object:
    """A value of the files in Python; times as `wb` holds them."""
    ((kind, (raw,)),) = row.items()
    match kind:
        case "bool_value":
            return raw == "true"
        case "int64_value":
            return int(raw, 0)
        case "double_value":
            return float(raw)
        case "string_value":
            return raw.decode("utf-8")
        case "null_value":
            return None
        case "list_value":
            return [value(one) for one in raw.get("values", ())]
        case "map_value":
            pairs = [(value(one["key"][0]), value(one["value"][0])) for one in raw.get("entries", ())]
            if all(isinstance(key, str) for key, _ in pairs):
                return dict(pairs)
        case "object_value":
            for name, made in (("Timestamp", times.moment), ("Duration", times.length)):
                if message := raw.get(f"type.googleapis.com/google.protobuf.{name}"):
                    seconds, rest = (int(message[0].get(key, ["0"])[0]) for key in ("seconds", "nanos"))
                    return made(seconds * times.SECOND + rest)
    raise Foreign(f"values: {kind}")


def plain(found: object) -> object:
    """A value with its type, so that 1, 1.0 and true differ."""
    if isinstance(found, list | tuple):
        return [plain(one) for one in found]
    if isinstance(found, dict):
        return {key: plain(one) for key, one in found.items()}
    return (type(found), found)


def undyn(expression: str) -> str:
    """Without `dyn`, which only silences a type checker."""
    return re.sub(rf"({LITERAL})|\bdyn(?=\()", lambda found: found[1] or "", expression)


def rooted(expression: str, names: list[str]) -> str:
    """The expression with the bound names as fields of the state."""
    if not names:
        return expression
    whole = "|".join(map(re.escape, names))
    return re.sub(
        rf"({LITERAL})|(?<![\w.])({whole})(?![\w(])",
        lambda found: found[1] or f"state.{found[2]}",
        expression,
    )


REASONS = (
    (r"the function (\w+)\(\)", "function {}"),
    (r"unsigned integers|bytes|a map|a message|a dot before the first name", "{0}"),
    (r"integer has at most 64 bits|a finite double", "a literal out of range"),
    (r"CEL was required", "not of the grammar: optional values, names in backquotes, or a mistake"),
    (r"begins with state or call", "a name that is bound to nothing here"),
    (r"literals other than null|and a |was required; got a |only equal or not|have one type", "operands of two types"),
    (r"time zone is a literal", "a time zone that facts do not know"),
    (r"has\(\) is of|takes a variable|takes \d arguments", "another form of a macro or function"),
    (r"(timestamp|duration) is of", "a {} out of range or form"),
)


def reason(error: FactError) -> str:
    text = str(error)
    for pattern, name in REASONS:
        if found := re.search(pattern, text):
            return name.format(*(found.groups() or (found[0],)))
    return text.splitlines()[0]


def outcome(test: dict) -> tuple[str, str]:
    """What comes of a test: agreed, left out, refused as wanted, different; and why."""
    wrong = "eval_error" in test or "any_eval_errors" in test
    expression = b"".join(test["expr"]).decode("utf-8", "surrogatepass")
    try:
        state = {
            b"".join(one["key"]).decode(): value(one["value"][0]["value"][0])
            for one in test.get("bindings", ())
            if "value" in one["value"][0]
        }
        rows = test.get("value") or [one["result"][0] for one in test.get("typed_result", ()) if "result" in one]
        wanted = True if not rows else value(rows[0])
    except Foreign as error:
        return "left out", str(error)
    if (
        {"check_only", "unknown", "any_unknowns"} & set(test)
        or "deduced_type" in str(test.get("typed_result"))
        and not rows
    ):
        return "left out", "checked for its type alone"
    if "container" in test or any("." in name for name in state):
        return "left out", "namespaces"
    text = rooted(undyn(expression), list(state))
    try:
        compared = parse(f"({text}) == null" if wanted is None and not wrong else f"[{text}] == [state.x]")
    except FactError as error:
        return ("refused as wanted" if wrong else "left out"), reason(error)
    if wanted is None and not wrong:
        same = holds(compared, {"state": state}) is True
    else:
        items = getattr(compared.left, "items", None) or ()
        found = reading(items[0])(state, {}) if len(items) == 1 else None
        same = found is None if wrong else plain(found) == plain(wanted)
    return ("agreed" if same else "different"), expression


def cases() -> list[tuple[str, dict]]:
    if not FILES.exists():
        pytest.skip("needs the CEL conformance files of google/cel-spec in ../shared/data/cel")
    return [(path.stem, test) for path in sorted(FILES.glob("*.textproto")) for test in read(path.read_text("utf-8"))]


def test_what_is_supported_agrees_with_the_conformance_files() -> None:
    found = [(name, *outcome(test)) for name, test in cases()]
    counts = Counter(what for _, what, _ in found)
    print(f"conformance: {dict(counts)}")
    assert {why for _, what, why in found if what == "different"} == set(DIFFERENT)
    assert counts["agreed"] >= 580 and sum(counts.values()) > 1700


if __name__ == "__main__":
    found = [(name, *outcome(test)) for name, test in cases()]
    print(Counter(what for _, what, _ in found))
    for row in sorted(one for one in found if one[1] == "different"):
        print("   ", *row)
    for (what, why), count in Counter(
        row[1:] for row in found if row[1] in ("left out", "refused as wanted")
    ).most_common():
        print(f"{count:5} {what}: {why}")
