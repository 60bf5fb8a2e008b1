"""`wb`: policy documents into guards for LLM agents, proved where they can be and measured always.

wb.build("path/to/policy")     rules, sentences, shield and guards of a policy (see `wb.build`)
wb.load("path/to/policy")      the same of its newest finished run, in a moment and without running anything
"""

from __future__ import annotations

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`wb.build` is loaded when it or `wb.load` is first asked for, so that `import wb` loads nothing."""
    if name not in ("build", "load"):
        raise AttributeError(f"module 'wb' has no attribute {name!r}")
    from importlib import import_module

    module = import_module("wb.build")
    return module if name == "build" else module.finished
