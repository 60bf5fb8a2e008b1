"""Functions of a Python module as tools: signature, type hints and docstring give each its schema.

| in Python | in `tools.json` |
|---|---|
| the name of the function | `name` |
| the docstring without its parameters | `description` |
| a parameter, its type hint and what the docstring says of it | an argument and its schema, as pydantic reads hints |
| a default | an argument that need not be there |
| `**others` | other arguments may come |

Nothing tells whether a function changes anything: `mutating` is left for a person to write.

To know a signature, a module must be imported, and to import a module is to run it.  So this is done on a person's
word alone, and in a process of its own (`wb.domain.functions_worker`), which has a time limit.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from wb.domain import inline, jsonl
from wb.domain.tools import Draft, ToolError

WORKER = Path(__file__).with_name("functions_worker.py")
NAMED = re.compile(r"(.*?)(?::(\w+))?", re.DOTALL)  # a module or file, with or without the name of a function
SECONDS = 60.0  # for importing a module, with all that it imports


def drafts(source: str, *, seconds: float = SECONDS) -> tuple[Draft, ...]:
    """The functions of `module:name`, of `module` or of a file, with or without `:name`.

    Without a name: those that the module defines itself and that do not begin with _.  The module runs.

    Raises:
        ToolError: it cannot be imported, does not end in time, or has no such function.
    """
    module, name = NAMED.fullmatch(source).groups("")
    output = _asked(module, name, source, seconds)
    try:
        answer = jsonl.value(output)
    except ValueError as error:
        raise ToolError(f"{source}: its import spoiled the answer: {error}") from None
    if not isinstance(answer, dict) or not isinstance(listed := answer.get("functions"), tuple):
        mistake = answer.get("mistake") if isinstance(answer, dict) else None
        wanted = mistake if isinstance(mistake, str) else "a module that can be imported was required"
        raise ToolError(f"{source}: {wanted}")
    return tuple(map(_draft, listed))


def _draft(function: dict[str, Any]) -> Draft:
    """One function as the worker tells it."""
    name, place = str(function["name"]), "its signature"
    if "mistake" in function:
        return Draft(name, place=place, mistake=str(function["mistake"]))
    parameters = function["parameters"]
    try:
        schema = inline.arguments(inline.Document(parameters, "2020-12").schema(parameters, "#"))
    except inline.Mistake as error:
        return Draft(name, place=place, mistake=str(error))
    return Draft(name, {"name": name, "description": function["description"], "parameters": schema}, place)


def _asked(module: str, name: str, source: str, seconds: float) -> str:
    """What the worker answers; it and all that it started are gone afterwards."""
    command = [sys.executable, "-P", str(WORKER), module, name]
    worker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
    try:
        output, _ = worker.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise ToolError(f"{source}: a module that is imported within {seconds:g} s was required") from None
    finally:
        try:
            os.killpg(worker.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        worker.stdout.close()
        worker.wait()
    if not output:
        raise ToolError(f"{source}: a module that can be imported was required; it ended with {worker.returncode}")
    return output.decode("utf-8", "replace")
