"""Rule sets on disk: JSON for programs, and a plain text that a person edits.

    # A rule set: predicates first, then rules. Indented lines are `key: value`.
    predicate pays (action)
        description: the agent pays
        tools: pay, settle_invoice

    predicate of_age (state)
        description: the user is of age
        test: state.age >= 18

    rule r1 (permit_only_if)
        text: Only adults may pay.
        formula: ALWAYS (pays IMPLIES of_age)

A rule's modality is forbid, permit_only_if or oblige.  Further keys: `keywords` of a predicate;
`type` (action or physical), `clause`, `quote` and `parents` of a rule; an `undecided CLAUSE` block
has `quote` and `reason`.  Lists are separated by commas.  A value that holds a line break, or that
begins or ends with a space or a quotation mark, is written as a JSON string; a formula may go on
over further lines, indented deeper.  A test is `FIELD OP VALUE` or `count(FIELD) OP VALUE` with a
JSON value, `FIELD in ["a", "b"]` for one of several.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from wb.logic.formula import Formula
from wb.logic.syntax import FormulaError, parse, render
from wb.rules.rule import Predicate, Rule, RuleSet, Test, Undecided

KINDS, MODALITIES, TYPES = ("action", "state"), ("forbid", "permit_only_if", "oblige"), ("action", "physical")
HEADER = re.compile(r'(predicate|rule|undecided)[ \t]+("(?:[^"\\]|\\.)*"|\S+)(?:[ \t]*\(([^()]*)\))?[ \t]*\Z')
TEST = re.compile(r"(count\()?([\w.]+)(\))?\s*(==|!=|<=|>=|<|>|in\b)\s*(.+)\Z", re.DOTALL)
KEYS = {
    "predicate": ("description", "keywords", "tools", "test"),
    "rule": ("text", "formula", "type", "clause", "quote", "parents"),
    "undecided": ("quote", "reason"),
}
LISTS = ("keywords", "tools", "parents")


class RuleFileError(ValueError):
    """The file is not a rule set; the message says where, what was required and what was got."""


def load(path: str | Path) -> RuleSet:
    """The rule set of a file, JSON when it begins with `{`, else text."""
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise RuleFileError(f"{path}: a readable rule file was required; got {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise RuleFileError(
            f"{path}: UTF-8 text was required; got byte 0x{error.object[error.start]:02x} at {error.start}"
        ) from None
    return loads(text, source=path.name)


def loads(text: str, *, source: str = "rules") -> RuleSet:
    """The rule set of a text, JSON when it begins with `{`, else the plain form."""
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return loads_text(text, source=source)
    try:
        return from_json(json.loads(text.lstrip("\ufeff")), source=source)
    except json.JSONDecodeError as error:
        raise RuleFileError(
            f"{source}: JSON was required; got {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise RuleFileError(f"{source}: JSON nested at most a few levels was required; got hundreds") from None


def to_json(ruleset: RuleSet) -> dict:
    """The rule set as JSON values, formulas in words; `from_json` gives it back."""
    return {
        "predicates": [
            {
                "name": p.name,
                "kind": p.kind,
                "description": p.description,
                "keywords": list(p.keywords),
                "tools": list(p.tools),
                "test": _test_json(p.test),
            }
            for p in ruleset.predicates
        ],
        "rules": [
            {
                "id": r.id,
                "text": r.text,
                "formula": render(r.formula),
                "modality": r.modality,
                "type": r.type,
                "clause": r.clause,
                "quote": r.quote,
                "parents": list(r.parents),
            }
            for r in ruleset.rules
        ],
        "undecided": [{"clause": u.clause, "quote": u.quote, "reason": u.reason} for u in ruleset.undecided],
    }


def from_json(data: Mapping, *, source: str = "rules") -> RuleSet:
    """The rule set that `to_json` wrote; `RuleFileError` says where the data are something else."""
    if not isinstance(data, Mapping) or not isinstance(data.get("rules"), list):
        raise RuleFileError(
            f"{source}: an object with the lists 'predicates' and 'rules' was required; got {_shape(data)}"
        )
    rows = {key: data.get(key, []) for key in ("predicates", "rules", "undecided")}
    for key, value in rows.items():
        if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
            raise RuleFileError(f"{source}: {key!r} must be a list of objects; got {_shape(value)}")
    return _ruleset(
        [_predicate(row, f"{source}: predicates[{i}]") for i, row in enumerate(rows["predicates"])],
        [_rule(row, f"{source}: rules[{i}]") for i, row in enumerate(rows["rules"])],
        [_undecided(row, f"{source}: undecided[{i}]") for i, row in enumerate(rows["undecided"])],
        source,
    )


def dumps_text(ruleset: RuleSet) -> str:
    """The rule set in the plain form; `loads_text` gives it back."""
    blocks = []
    for p in ruleset.predicates:
        blocks.append(
            _block(
                f"predicate {p.name} ({p.kind})",
                description=p.description,
                keywords=p.keywords,
                tools=p.tools,
                test=_test_text(p.test),
            )
        )
    for r in ruleset.rules:
        blocks.append(
            _block(
                f"rule {_quoted(r.id, header=True)} ({r.modality})",
                text=r.text,
                formula=render(r.formula),
                type=r.type if r.type != "action" else "",
                clause=r.clause,
                quote=r.quote,
                parents=r.parents,
            )
        )
    for u in ruleset.undecided:
        blocks.append(_block(f"undecided {_quoted(u.clause, header=True)}", quote=u.quote, reason=u.reason))
    return "\n\n".join(blocks) + "\n"


def loads_text(text: str, *, source: str = "rules") -> RuleSet:
    """The rule set of a plain text; `RuleFileError` names the line that is not of the form."""
    rows: dict[str, list] = {"predicate": [], "rule": [], "undecided": []}
    build = {"predicate": _predicate, "rule": _rule, "undecided": _undecided}
    for kind, row, where in _blocks(text, source):
        rows[kind].append(build[kind](row, where))
    return _ruleset(rows["predicate"], rows["rule"], rows["undecided"], source)


def _ruleset(
    predicates: Sequence[Predicate], rules: Sequence[Rule], undecided: Sequence[Undecided], source: str
) -> RuleSet:
    try:
        return RuleSet(tuple(predicates), tuple(rules), tuple(undecided))
    except ValueError as error:
        raise RuleFileError(f"{source}: {error}") from None


def _predicate(row: Mapping, where: str) -> Predicate:
    try:
        return Predicate(
            _text(row, "name", where, required=True),
            _one_of(row, "kind", KINDS, where),
            _text(row, "description", where),
            _texts(row, "keywords", where),
            _texts(row, "tools", where),
            _test(row.get("test"), where),
        )
    except RuleFileError:
        raise
    except ValueError as error:
        raise RuleFileError(f"{where}: {error}") from None


def _rule(row: Mapping, where: str) -> Rule:
    return Rule(
        _text(row, "id", where, required=True),
        _text(row, "text", where),
        _formula(row, where),
        _one_of(row, "modality", MODALITIES, where),
        _one_of({"type": row.get("type") or "action"}, "type", TYPES, where),
        _text(row, "clause", where),
        _text(row, "quote", where),
        _texts(row, "parents", where),
    )


def _undecided(row: Mapping, where: str) -> Undecided:
    return Undecided(
        _text(row, "clause", where), _text(row, "quote", where), _text(row, "reason", where, required=True)
    )


def _formula(row: Mapping, where: str) -> Formula:
    text = _text(row, "formula", where, required=True)
    try:
        return parse(text)
    except FormulaError as error:
        raise RuleFileError(f"{where}, formula: {error}") from None


def _test(row: object, where: str) -> Test | None:
    if row is None or row == "":
        return None
    if isinstance(row, str):
        row = _read_test(row, where)
    if not isinstance(row, Mapping):
        raise RuleFileError(f"{where}: a test with 'field', 'op' and 'value' was required; got {_shape(row)}")
    value = row.get("value")
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        value = tuple(value)
    if not isinstance(value, (bool, int, float, str, tuple)):
        raise RuleFileError(
            f"{where}: the test's value must be true, false, a number, a text or a list of texts; got {_shape(value)}"
        )
    if (row.get("op") == "in") != isinstance(value, tuple):
        raise RuleFileError(
            f"{where}: 'in' needs a list of texts and a list needs 'in'; got {row.get('op')!r} and {_shape(value)}"
        )
    measure = _one_of({"measure": row.get("measure", "value")}, "measure", ("value", "count"), where)
    return Test(_text(row, "field", where, required=True), _text(row, "op", where, required=True), value, measure)


def _read_test(text: str, where: str) -> dict:
    found = TEST.match(text)
    if found is None or bool(found[1]) != bool(found[3]):
        raise RuleFileError(f"{where}: a test FIELD OP VALUE was required, such as state.age >= 18; got {text[:80]!r}")
    try:
        value = json.loads(found[5])
    except ValueError:
        raise RuleFileError(
            f'{where}: the test\'s value must be JSON, such as 18, true or "gold"; got {found[5][:80]!r}'
        ) from None
    return {"field": found[2], "op": found[4], "value": value, "measure": "count" if found[1] else "value"}


def _test_json(test: Test | None) -> dict | None:
    if test is None:
        return None
    value = list(test.value) if isinstance(test.value, tuple) else test.value
    return {"field": test.field, "op": test.op, "value": value, "measure": test.measure}


def _test_text(test: Test | None) -> str:
    if test is None:
        return ""
    subject = f"count({test.field})" if test.measure == "count" else test.field
    return f"{subject} {test.op} {json.dumps(_test_json(test)['value'], ensure_ascii=False)}"


def _block(header: str, **values: str | tuple[str, ...]) -> str:
    lines = [header]
    for key, value in values.items():
        if value:
            items = (value,) if isinstance(value, str) else value
            lines.append(f"    {key}: {', '.join(_quoted(item, listed=not isinstance(value, str)) for item in items)}")
    return "\n".join(lines)


def _quoted(text: str, *, header: bool = False, listed: bool = False) -> str:
    """The text as it is where it is read back so, else as a JSON string."""
    plain = text and text == text.strip() and text[0] != '"' and text[-1] != '"' and text.isprintable()
    if plain and not (header and not re.fullmatch(r"[^\s()]+", text)) and not (listed and "," in text):
        return text
    return json.dumps(text)


def _blocks(text: str, source: str) -> list[tuple[str, dict, str]]:
    """Each block of a plain text: its kind, its values, and where it begins."""
    blocks: list[tuple[str, dict, str]] = []
    key, indent = "", 0
    for number, raw in enumerate(text.lstrip("\ufeff").split("\n"), 1):
        line, where = raw.strip(), f"{source}, line {number}"
        if not line or line.startswith("#"):
            continue
        here = len(raw) - len(raw.lstrip())
        if here == 0:
            blocks.append(_header(line, where))
            key = ""
        elif not blocks:
            raise RuleFileError(
                f"{where}: 'predicate NAME (kind)' or 'rule ID (modality)' was required before indented lines; got {line[:60]!r}"
            )
        elif key == "formula" and here > indent:
            blocks[-1][1]["formula"] += "\n" + line
        else:
            key, indent = _entry(line, blocks[-1], where), here
    return blocks


def _header(line: str, where: str) -> tuple[str, dict, str]:
    found = HEADER.match(line) if len(line) < 10_000 else None
    if found is None:
        raise RuleFileError(
            f"{where}: 'predicate NAME (kind)', 'rule ID (modality)' or 'undecided CLAUSE' was required; got {line[:60]!r}"
        )
    kind, name, bracket = found[1], _unquoted(found[2], where), found[3] or ""
    row = {
        "predicate": {"name": name, "kind": bracket},
        "rule": {"id": name, "modality": bracket},
        "undecided": {"clause": name},
    }[kind]
    return kind, row, f"{where} ({kind} {name[:40]})"


def _entry(line: str, block: tuple[str, dict, str], where: str) -> str:
    kind, row, _ = block
    key, colon, value = line.partition(":")
    key = key.strip()
    if not colon or key not in KEYS[kind]:
        raise RuleFileError(f"{where}: 'key: value' with a key of {list(KEYS[kind])} was required; got {line[:60]!r}")
    if key in row:
        raise RuleFileError(f"{where}: each key once in a block was required; got {key!r} again")
    row[key] = _listed(value.strip(), where) if key in LISTS else _unquoted(value.strip(), where)
    return key


def _listed(text: str, where: str) -> list[str]:
    items = re.findall(r'\s*("(?:[^"\\]|\\.)*"|[^,]+)', text)
    return [_unquoted(item.strip(), where) for item in items if item.strip()]


def _unquoted(text: str, where: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        raise RuleFileError(
            f"{where}: a value that begins with a quotation mark must be a JSON string; got {text[:60]!r}"
        ) from None
    return value if isinstance(value, str) else text


def _text(row: Mapping, key: str, where: str, *, required: bool = False) -> str:
    value = row.get(key, "")
    if not isinstance(value, str) or (required and not value):
        raise RuleFileError(f"{where}: a text {key!r} was required; got {_shape(value)}")
    return value


def _texts(row: Mapping, key: str, where: str) -> tuple[str, ...]:
    value = row.get(key) or []
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise RuleFileError(f"{where}: a list of texts {key!r} was required; got {_shape(value)}")
    return tuple(value)


def _one_of(row: Mapping, key: str, allowed: tuple[str, ...], where: str) -> str:
    value = row.get(key)
    if value not in allowed:
        raise RuleFileError(f"{where}: {key} must be one of {list(allowed)}; got {_shape(value)}")
    return value


def _shape(value: object) -> str:
    return f"{type(value).__name__} {json.dumps(value, ensure_ascii=False, default=str)[:80]}"
