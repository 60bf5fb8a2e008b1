"""The process that imports somebody's module: run as a script by `sources`, and importing nothing of `wb`.

Its arguments are a module or a file, and the name of a function or nothing.  It writes one line of JSON,
`{"functions": […]}` or `{"mistake": "…"}`.  What the module prints goes to standard error.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Mistake(Exception):
    """A function that no tool can be made of, or that is not there."""


def main() -> None:
    """Answer in one line, on what was standard output at the start."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    where, name = sys.argv[1:]
    try:
        reply = {"functions": [described(function) for function in functions(imported(where), name)]}
    except Mistake as error:
        reply = {"mistake": str(error)}
    except BaseException as error:  # the one broad catch: whatever a foreign module raises becomes a message
        reply = {"mistake": f"a module that can be imported was required; got {type(error).__name__}: {error}"[:500]}
    answer.write(json.dumps(reply, default=str) + "\n")
    answer.flush()
    os._exit(0)  # threads that the module started are not waited for


def imported(where: str) -> ModuleType:
    """The module of a name, looked for here first, or of a file, whose folder is looked in first."""
    path = Path(where)
    if path.suffix != ".py":
        sys.path.insert(0, os.getcwd())
        return importlib.import_module(where)
    if not path.is_file():
        raise Mistake("a file of Python was required; there is none")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def functions(module: ModuleType, name: str) -> list[Callable[..., Any]]:
    """The function of that name, or all that the module defines itself and shows."""
    shown = [(name, f) for name, f in vars(module).items() if inspect.isfunction(f) and not name.startswith("_")]
    own = [f for name, f in shown if f.__module__ == module.__name__ and name == f.__name__]
    if not name:
        if not own:
            raise Mistake("a module with functions of its own was required; got none")
        return own
    function = getattr(module, name, None)
    if not inspect.isfunction(function):
        raise Mistake(f"one of its functions {[f.__name__ for f in own][:20]} was required; got {name!r}")
    return [function]


def described(function: Callable[..., Any]) -> dict[str, Any]:
    """A function by its name, with its description and the schema of its parameters, or what is wrong with it."""
    try:
        return {"name": function.__name__, **_signature(function)}
    except Mistake as error:
        return {"name": function.__name__, "mistake": str(error)}


def _signature(function: Callable[..., Any]) -> dict[str, Any]:
    """What its docstring and its signature say of a function."""
    import docstring_parser
    import pydantic
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        """A field's title would only say its name again."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (*PLAIN, inspect.Parameter.VAR_KEYWORD):
            raise Mistake(f"parameters that have names were required; got {parameter}")
    try:
        with warnings.catch_warnings(action="ignore", category=pydantic.json_schema.PydanticJsonSchemaWarning):
            schema = pydantic.TypeAdapter(function).json_schema(by_alias=False, schema_generator=Untitled)
    except (pydantic.errors.PydanticUserError, NameError, TypeError, SyntaxError) as error:
        problem = str(error).partition("\n")[0].partition(". Set `")[0]
        raise Mistake(f"type hints that pydantic reads were required; got {problem}") from None
    docstring = docstring_parser.parse(inspect.getdoc(function) or "")
    for parameter_doc in docstring.params:
        known = schema.get("properties", {}).get(parameter_doc.arg_name)
        if known is not None and parameter_doc.description and "description" not in known:
            known["description"] = parameter_doc.description
    return {"description": docstring.description or "", "parameters": schema}


if __name__ == "__main__":
    main()
