"""Values are never changed once made and hold only what they declare: every dataclass of `wb`, a few by name apart."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest
from conftest import ROOT

# what keeps a state while one run, one call or one question goes on
CHANGING = {
    "Conversation",
    "_Echo",
    "_Frame",
    "Calls",
    "_Seen",
    "_Deed",
    "_Field",
    "_Asking",
    "_Busy",
    "Progress",
    "_Open",
    "_Waiting",
    "_Words",
    "_Asked",
}
# what keeps what was computed from it, once asked, or is open to a caller's own parts
OPEN = {"_Frame", "Shortcut", "Built", "CallGuard", "Automaton", "Offline", "Table", "Found", "Shield"}
# of what a value was given: what is too long to show, and what does not make it another one
UNSHOWN = {"Built.versions", "Event.line", "Policy.seen", "Field.schema", "Tool.schema", "Tool.atomic"}
UNCOMPARED = {"Event.line", "Field.schema", "Tool.schema", "Tool.atomic"}
# what is computed of what it was given, and shown or compared as well
TELLING = {
    "Scalar.type",
    "Undeclared.counts",
    "Undeclared.first",
    "Progress._line",
    "Progress._began",
    "Progress._said",
}
COMPARED = TELLING | {"CallGuard.programs", "CallGuard.tools", "Shield.tools"}
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "wb").rglob("[!_]*.py"))
    if "@dataclass" in path.read_text("utf-8")
]


def dataclasses_of(module: str) -> list[type]:
    found = vars(importlib.import_module(module)).values()
    return [c for c in found if inspect.isclass(c) and is_dataclass(c) and c.__module__ == module]


@pytest.mark.parametrize("module", MODULES)
def test_a_value_cannot_be_changed_and_takes_nothing_more(module: str) -> None:
    values = dataclasses_of(module)
    assert values
    for one in values:
        made = object.__new__(one)
        for field in fields(one) if one.__name__ not in CHANGING else ():
            with pytest.raises(FrozenInstanceError):
                setattr(made, field.name, None)
        if one.__name__ not in OPEN:
            with pytest.raises(AttributeError):
                object.__setattr__(made, "nothing_of_that_name", 1)


@pytest.mark.parametrize("module", MODULES)
def test_a_value_shows_and_is_what_it_was_given_and_nothing_that_was_computed_of_it(module: str) -> None:
    for one in dataclasses_of(module):
        made = [(f"{one.__name__}.{field.name}", field) for field in fields(one)]
        assert not [name for name, field in made if field.name.startswith("_") and field.init]
        if one.__dataclass_params__.repr:
            shown = {name for name, field in made if field.repr}
            assert shown == {name for name, field in made if field.init and name not in UNSHOWN or name in TELLING}
        if one.__dataclass_params__.eq:
            told = {name for name, field in made if field.compare}
            assert told == {name for name, field in made if field.init and name not in UNCOMPARED or name in COMPARED}
