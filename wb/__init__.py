"""`wb`: policy documents into guards for LLM agents, proved where they can be and measured always.

wb.build("path/to/policy")     rules, sentences, shield and guards of a policy (see `wb.build`)
"""

from __future__ import annotations

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`wb.build` is loaded when it is first asked for, so that `import wb` loads nothing."""
    if name != "build":
        raise AttributeError(f"module 'wb' has no attribute {name!r}")
    from importlib import import_module

    return import_module("wb.build")
