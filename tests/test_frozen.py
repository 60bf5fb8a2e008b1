"""Values are never changed once made and hold only what they declare: every dataclass of `wb`, a few by name apart."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest
from conftest import ROOT

# what keeps a state while one run, one call or one question goes on
CHANGING = {"_Ideal", "Calls", "_Seen", "_Deed", "_Field", "_Asking", "_Busy", "Progress"}
# what keeps what was computed from it, once asked, or is open to a caller's own parts
OPEN = {"Shortcut", "Built", "CallGuard", "Automaton", "Offline", "Table", "Found", "Shield"}
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "wb").rglob("[!_]*.py"))
    if "@dataclass" in path.read_text("utf-8")
]


@pytest.mark.parametrize("module", MODULES)
def test_a_value_cannot_be_changed_and_takes_nothing_more(module: str) -> None:
    found = vars(importlib.import_module(module)).values()
    values = [c for c in found if inspect.isclass(c) and is_dataclass(c) and c.__module__ == module]
    assert values
    for one in values:
        made = object.__new__(one)
        for field in fields(one) if one.__name__ not in CHANGING else ():
            with pytest.raises(FrozenInstanceError):
                setattr(made, field.name, None)
        if one.__name__ not in OPEN:
            with pytest.raises(AttributeError):
                object.__setattr__(made, "nothing_of_that_name", 1)
