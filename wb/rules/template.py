"""A rule to begin with, for a sentence of which none was read: its tools, and the facts that the sentence names.

Words name a field of the state, an argument or a fact of the vocabulary by all of its name or of a keyword; a field
within an object by what names both, or by a name of several words.  Nothing else is filled in: what a sentence does
not name is no condition of its rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from wb.domain.tools import NAME, Field, Toolbox, within
from wb.rules import rulefile
from wb.rules.decisions import predicate_row
from wb.rules.rule import Predicate
from wb.rules.sentences import Account

WORD = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")
NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
OPEN = "# OP: of a rule, IMPLIES or IMPLIES NOT; of a test, one of == != < <= > >=; VALUE: 3, 2.5, a quoted text\n"
STEM = 4  # letters that two forms of a word share at least
DEEP = 3  # objects within one another


def facts(account: Account, toolbox: Toolbox, known: Iterable[Predicate] = ()) -> dict[str, dict[str, object]]:
    """The facts that a sentence names, as an entry of a rule file says them, by name: fields of the state, arguments of
    the one tool that it is about, and `known` predicates of the vocabulary."""
    said = words(account.text)
    found: dict[str, dict[str, object]] = {}
    for one in known:
        if one.kind == "state" and one.test is not None and _names(said, one.name, one.keywords):
            found[one.name] = predicate_row(one)
    tests = {row.get("test") for row in found.values()}
    owners = [("state", (), toolbox.state)]
    if len(account.tools) == 1 and not account.unknown:
        owners.append(("call", account.tools, toolbox.tool(account.tools[0]).arguments))
    for root, tools, fields in owners:
        for path, field in _named(said, fields, root):
            name = re.sub(r"\W", "_", path.partition(".")[2]).lower()
            test = _test(path, field, account.text)
            if test not in tests and NAME.match(name) and name not in found:
                found[name] = {"kind": "state", **({"tools": list(tools)} if tools else {}), "test": test}
    return found


def template(account: Account, toolbox: Toolbox, known: Iterable[Predicate] = ()) -> str:
    """The text of a rule: the tools of the sentence and the facts that it names, whose sense a person has to say
    (`OPEN`); never, where it names none."""
    named = facts(account, toolbox, known)
    tools = list(account.tools or [one.name for one in toolbox.tools])
    act = "does_it" + "_" * ("does_it" in named)
    condition = " AND ".join(named)
    body = f"{act} OP {f'({condition})' if len(named) > 1 else condition}"  # whether they permit or forbid is not read
    formula = f"ALWAYS ({body})" if named else f"ALWAYS NOT {act}"
    made = {"predicates": {act: {"kind": "action", "tools": tools}, **named}, "rules": [{"formula": formula}]}
    return rulefile.written(made) + OPEN * bool(named)


def words(text: str) -> frozenset[str]:
    """The words and numbers of a text, in small letters."""
    return frozenset(WORD.findall(text.replace("’", "'").lower()))


def _named(said: frozenset[str], fields: Iterable[Field], root: str, deep: int = DEEP) -> Iterator[tuple[str, Field]]:
    """The fields that are named, with their paths: of an object those within it, or else itself."""
    for field in fields:
        path, own = f"{root}.{field.name}", _names(said, field.name, field.keywords)
        parts = within(field) if field.type == "object" and deep else ()
        spoken = [one for one in parts if own or len(words(one.name.replace("_", " "))) > 1 or one.keywords]
        inner = list(_named(said, spoken, path, deep - 1))
        yield from inner
        if own and not inner and field.type != "object":
            yield path, field


def _names(said: frozenset[str], name: str, keywords: Iterable[str]) -> bool:
    """Whether all words of a name, or of a keyword, are among those that are said."""
    ways = [words(one.replace("_", " ")) for one in (name, *keywords)]
    return any(way and all(any(_alike(word, one) for one in said) for word in way) for way in ways)


def _alike(one: str, other: str) -> bool:
    """Whether two words are forms of one: the same, or alike but for their endings."""
    short, long = sorted((one, other), key=len)
    kept = max(STEM, len(short) - 2)
    if not one.isalpha() or len(short) < STEM or len(long) - kept > STEM:
        return one == other
    return long.startswith(short[:kept])


def _test(path: str, field: Field, text: str) -> str:
    """A test of a field: that it is so, or that it has the value that the sentence names.  How it is compared is left
    to the person (`OPEN`): the words that say it are not read, and a guess could be saved."""
    if field.type == "boolean":
        return path
    values = [value for value in field.values if words(value) and words(value) <= words(text)]
    if field.type == "string" and len(values) == 1:
        return f"{path} == {json.dumps(values[0], ensure_ascii=False)}"
    numbers = [one.replace(",", "") for one in NUMBER.findall(text)]
    value = numbers[0] if field.type != "string" and len(numbers) == 1 else "VALUE"
    return f"size({path}) OP {value}" if field.type == "array" else f"{path} OP {value}"
