"""Where tools come from: the operations of an OpenAPI document, the functions of a Python module, an MCP server.

An OpenAPI document, 3.0 or 3.1: what may be called is what the document declares.

| in the document | in `tools.json` |
|---|---|
| `operationId`, else method and path | `name` |
| `summary`, `description` | `description` |
| GET, HEAD | `"mutating": false`; true for every other method |
| path and query parameters, on the path or the operation | arguments, `x-in` says which; those of a path are required |
| header and cookie parameters | nothing: left to whoever sends the request, and said |
| a body of JSON or of form fields: an object of properties | an argument a property, `x-in` is `body` |
| any other body of JSON | one argument, `body` |
| method and path | `x-operation` |

A name that is not of letters, digits and _ has _ for each other character, and stands beside it as `x-name`; of an
argument that stands in the path and in the body, that of the path is `path_NAME`.  Properties of a body that need not
be sent are required where any of them is given.  Schemas stand without references (`wb.domain.inline`).

What cannot be read is told with its operation and place: another version, a body that is neither JSON nor form fields
(multipart, text), and what `inline` refuses.  Only what makes tools is read: responses, security and servers are passed
over.

Functions of a Python module: signature, type hints and docstring give each its schema.

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

The tools of a running MCP server, by the official SDK: what `tools/list` answers, page by page.  Its major versions 1
and 2 differ in who connects and in how fields are spelt (`isError`, `is_error`); another one is refused, for what it
would take a refusal for is not known.

| in MCP | in `tools.json` |
|---|---|
| `name`, `description` | the same |
| `inputSchema` | `parameters`, without references (`wb.domain.inline`) |
| `annotations.readOnlyHint` | `mutating`, its opposite; nothing where the server gives no hint |

A server is a command that speaks over its standard input and output, or an address (Streamable HTTP).  A command is
started as the user wrote it, with the few variables of the environment that the SDK hands down, and ended afterwards.
Nothing but `tools/list` is asked.  A hint is the word of the server, and its texts are data.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO

import pydantic

from wb.domain import inline, jsonl
from wb.domain.inline import Document, Mistake, below, refuse
from wb.domain.tools import Draft, Part, ToolError, identifier
from wb.logic.wording import shortened

METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
READING = ("get", "head")  # these change nothing (RFC 9110, 9.2.1)
VERSIONS: dict[str, inline.Dialect] = {"3.0": "OpenAPI 3.0", "3.1": "2020-12"}
DIALECTS = ("https://spec.openapis.org/oas/3.1/dialect/base", "https://json-schema.org/draft/2020-12/schema")
FORM = "application/x-www-form-urlencoded"
ANY = {"*/*", "application/*"}
SPREAD = {"type", "properties", "required", "title", "description", "default", "deprecated", "additionalProperties"}
BRACED = re.compile(r"\{([^{}]*)\}")  # a parameter in a path
WORKER = Path(__file__).with_name("functions_worker.py")
NAMED = re.compile(r"(.*?)(?::(\w+))?", re.DOTALL)  # a module or file, with or without the name of a function
SECONDS = 60.0  # for importing a module with all that it imports, or for starting a server and all its pages
PAGES = 1000
SUPPORTED = "mcp>=1.24,<3"  # as in pyproject.toml
Handler = Callable[[Any, Any], Awaitable[Any]]  # of the connection's context and a request's parameters
OLD = ("draft-03", "draft-04", "draft-06", "draft-07")  # in these nothing beside a `$ref` counts


# ---- OpenAPI ------------------------------------------------------------------------------------------


class _Operation(Part):
    id: str = pydantic.Field("", alias="operationId")
    summary: str = ""
    description: str = ""
    parameters: Any = ()
    body: Any = pydantic.Field(None, alias="requestBody")


class _Parameter(Part):
    name: str
    place: Literal["path", "query", "header", "cookie"] = pydantic.Field(alias="in")
    required: bool = False
    description: str = ""
    shape: Any = pydantic.Field(None, alias="schema")
    content: dict[str, Any] | None = None


class _Body(Part):
    content: dict[str, Any]
    required: bool = False
    description: str = ""


class _Listed(NamedTuple):
    """An operation as it stands in the document, with the parameters of its path, and where they stand."""

    name: str
    method: str
    path: str
    operation: Any
    shared: tuple[Any, str]
    place: str

    @property
    def title(self) -> str:
        """Its method and path."""
        return f"{self.method.upper()} {self.path}"


class _Argument(NamedTuple):
    """One argument: its name in the document, where it goes, its schema and whether it must be there."""

    name: str
    place: str
    schema: dict[str, Any]
    required: bool


class _Sent(NamedTuple):
    """A body: its arguments, what its schema says of `others`, and which are required where any of them is given."""

    arguments: tuple[_Argument, ...] = ()
    others: Mapping[str, Any] = {}
    together: tuple[str, ...] = ()


def operations(document: Any, source: str) -> Iterator[Draft]:
    """The operations of a document, each as a tool or with what cannot be read of it.

    Raises:
        ToolError: its version or its paths cannot be read.
    """
    whole = _document(document, source)
    try:
        operations = list(_listed(whole, document))
    except Mistake as error:
        raise ToolError(f"{source}: {error}") from None
    for operation in operations:
        try:
            row, notes = _tool(whole, operation)
        except Mistake as error:
            yield Draft(operation.name, place=operation.title, mistake=str(error))
        else:
            yield Draft(operation.name, row, operation.title, tuple(notes))


def _document(document: Any, source: str) -> Document:
    """The document in the dialect of its version."""
    if not isinstance(document, Mapping) or not isinstance(version := document.get("openapi"), str):
        raise ToolError(f"{source}: an OpenAPI document, with its version at 'openapi', was required")
    dialect = VERSIONS.get(version[:3])
    if dialect is None or version[3:4] not in ("", "."):
        raise ToolError(f"{source}: #/openapi: version 3.0 or 3.1 was required; got {jsonl.shown(version)}")
    if (other := document.get("jsonSchemaDialect", DIALECTS[0])) not in DIALECTS:
        raise ToolError(f"{source}: #/jsonSchemaDialect: {DIALECTS[0]} was required; got {jsonl.shown(other)}")
    return Document(document, dialect, sent=True)


def _listed(whole: Document, document: Mapping[str, Any]) -> Iterator[_Listed]:
    """Each operation of each path."""
    paths = document.get("paths", {})
    if not isinstance(paths, Mapping):
        refuse("#/paths", f"an object was required; got {jsonl.shown(paths)}")
    for path, item in paths.items():
        if path.startswith("x-"):
            continue
        place = below("#", "paths", path)
        if isinstance(item, Mapping) and "$ref" in item and item.keys() & {*METHODS, "parameters"}:
            refuse(place, "either a $ref or operations were required; got both")
        item, place = whole.followed(item, place)
        shared = item.get("parameters", ()), below(place, "parameters")
        for method in METHODS:
            if method in item:
                operation, where = item[method], below(place, method)
                name = operation.get("operationId") if isinstance(operation, Mapping) else None
                if not name or not isinstance(name, str):
                    name = "_".join([method, *re.findall("[a-zA-Z0-9]+", path)])
                yield _Listed(name, method, path, operation, shared, where)


def _tool(whole: Document, listed: _Listed) -> tuple[dict[str, Any], list[str]]:
    """One operation as a row of `tools.json`, and what is to be said of it."""
    operation = _form(_Operation, listed.operation, listed.place)
    arguments, notes = _parameters(whole, listed.shared, (operation.parameters, below(listed.place, "parameters")))
    if missing := sorted({*BRACED.findall(listed.path)} - {a.name for a in arguments if a.place == "path"}):
        refuse(listed.place, f"a path parameter was required for each name in {listed.path}; got none for {missing}")
    body = _Sent()
    if operation.body is not None:
        body = _body(whole, operation.body, below(listed.place, "requestBody"))
    names = _names([*arguments, *body.arguments], listed.place)
    row = {
        "name": listed.name,
        "description": "\n".join(dict.fromkeys(filter(None, (operation.summary, operation.description)))),
        "mutating": listed.method not in READING,
        "x-operation": listed.title,
        "parameters": _schema(names, body.together) | body.others,
    }
    notes += [f"{a.place} {jsonl.shown(a.name)} is the argument {n}" for n, a in names.items() if n != a.name]
    return row, notes


def _schema(names: Mapping[str, _Argument], together: Collection[str]) -> dict[str, Any]:
    """The schema of all arguments by the names that they get."""
    made: dict[str, Any] = {"type": "object", "properties": {}}
    for name, argument in names.items():
        old = {} if name == argument.name else {"x-name": argument.name}
        made["properties"][name] = argument.schema | {"x-in": argument.place} | old
    if required := [name for name, argument in names.items() if argument.required]:
        made["required"] = required
    of_body = [name for name, argument in names.items() if argument.place == "body"]
    if needed := [name for name in of_body if names[name].name in together]:
        made["dependentRequired"] = {name: needed for name in of_body}
    return made


def _parameters(whole: Document, *lists: tuple[Any, str]) -> tuple[list[_Argument], list[str]]:
    """The parameters of a path and its operation, which may say one anew, and what is said of those left out."""
    arguments: dict[tuple[str, str], _Argument] = {}
    notes: list[str] = []
    for listed, where in lists:
        seen = set()
        if not isinstance(listed, list | tuple):
            refuse(where, f"a list was required; got {jsonl.shown(listed)}")
        for i, declared in enumerate(listed):
            given, place = whole.followed(declared, below(where, i))
            parameter = _form(_Parameter, given, place)
            key = parameter.place, parameter.name
            if key in seen:
                refuse(below(where, i), f"each parameter once was required; got {' '.join(key)!r} twice")
            seen.add(key)
            if parameter.place in ("header", "cookie"):
                notes.append(f"the {parameter.place} {jsonl.shown(parameter.name)} is no argument")
                continue
            arguments[key] = _parameter(whole, parameter, place)
    return list(arguments.values()), list(dict.fromkeys(notes))


def _parameter(whole: Document, parameter: _Parameter, place: str) -> _Argument:
    if (parameter.shape is None) == (parameter.content is None):
        refuse(place, "either a schema or a content was required; got both or none")
    if parameter.content is not None:
        if len(parameter.content) != 1:
            refuse(below(place, "content"), f"one media type was required; got {sorted(parameter.content)[:5]}")
        (kind, media), where = *parameter.content.items(), below(place, "content")
        shape, where = _shape(media, below(where, kind))
    else:
        shape, where = parameter.shape, below(place, "schema")
    described = {"description": parameter.description} if parameter.description else {}
    schema = inline.argument(whole.schema(shape, where)) | described
    return _Argument(parameter.name, parameter.place, schema, parameter.required or parameter.place == "path")


def _body(whole: Document, given: Any, place: str) -> _Sent:
    """What a body asks for: a property an argument where its schema is an object of properties, else itself."""
    given, place = whole.followed(given, place)
    body = _form(_Body, given, place)
    kind = _kind(body.content, below(place, "content"))
    shape, where = _shape(body.content[kind], below(place, "content", kind))
    schema = inline.argument(whole.schema(shape, where))
    properties = schema.get("properties")
    if not properties or schema.get("type", "object") != "object" or schema.keys() - SPREAD:
        if kind == FORM:
            refuse(where, "an object of properties was required of form fields; got another schema")
        described = {"description": body.description} if body.description else {}
        return _Sent((_Argument("body", "body", schema | described, body.required),))
    required = schema.get("required", ())
    if not isinstance(required, list | tuple) or not all(isinstance(n, str) and n in properties for n in required):
        refuse(below(where, "required"), f"names of properties were required; got {jsonl.shown(required)}")
    arguments = tuple(
        _Argument(name, "body", inline.argument(schema_of), body.required and name in required)
        for name, schema_of in properties.items()
    )
    others = {key: schema[key] for key in ("additionalProperties",) if key in schema}
    return _Sent(arguments, others, () if body.required else tuple(required))


def _kind(content: Mapping[str, Any], place: str) -> str:
    """The media type to read a body by: JSON before form fields."""
    bare = {kind: kind.partition(";")[0].strip().lower() for kind in content}
    ranks = [{"application/json"}, {plain for plain in bare.values() if plain.endswith("+json")} | ANY, {FORM}]
    for rank in ranks:
        if kinds := [kind for kind in content if bare[kind] in rank]:
            return kinds[0]
    got = shortened(", ".join(map(repr, content)), 200) or "none"
    refuse(place, f"a body in JSON or of form fields was required; got {got}")


def _shape(media: Any, place: str) -> tuple[Any, str]:
    """The schema of a media type; one that accepts all where it says nothing."""
    if not isinstance(media, Mapping):
        refuse(place, f"an object was required; got {jsonl.shown(media)}")
    return media.get("schema", {}), below(place, "schema")


def _names(arguments: list[_Argument], place: str) -> dict[str, _Argument]:
    """The arguments by the names that they get."""
    taken = {identifier(a.name) for a in arguments if a.place == "body"}
    paths = {identifier(a.name) for a in arguments if a.place == "path"} | taken
    apart = {"body": set(), "path": taken, "query": paths}
    made = [
        (f"{a.place}_{identifier(a.name)}" if identifier(a.name) in apart[a.place] else identifier(a.name), a)
        for a in arguments
    ]
    for name, times in Counter(name for name, _ in made).items():
        if not name or times > 1:
            got = ", ".join(f"{a.place} {jsonl.shown(a.name)}" for one, a in made if one == name)
            refuse(place, f"a name of its own was required of each argument; got {got}, all of them {name!r}")
    return dict(made)


def _form[M: pydantic.BaseModel](model: type[M], part: Any, place: str) -> M:
    """An object checked by a model; its first problem as a mistake with its place."""
    try:
        return model.model_validate(part)
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False)[0]
    wanted = "it was required" if problem["type"] == "missing" else problem["msg"].removeprefix("Input should be ")
    wanted = wanted.partition(" or instance of ")[0].replace("dictionary", "object")
    refuse(below(place, *problem["loc"]), f"{wanted}; got {jsonl.shown(problem['input'])}")


# ---- functions of Python --------------------------------------------------------------------------------


def functions(source: str, *, seconds: float = SECONDS) -> tuple[Draft, ...]:
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
    return tuple(map(_function, listed))


def _function(function: dict[str, Any]) -> Draft:
    """One function as the worker tells it."""
    name, place = str(function["name"]), "its signature"
    if "mistake" in function:
        return Draft(name, place=place, mistake=str(function["mistake"]))
    try:
        schema = inline.arguments(function["parameters"])
    except Mistake as error:
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
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.stdout.close()
        worker.wait()
    if not output:
        raise ToolError(f"{source}: a module that can be imported was required; it ended with {worker.returncode}")
    return output.decode("utf-8", "replace")


# ---- MCP servers ----------------------------------------------------------------------------------------


def served(server: str | Sequence[str], source: str, *, seconds: float = SECONDS) -> tuple[Draft, ...]:
    """The tools of a server, an address or a command with its arguments.

    Raises:
        ToolError: no server answers there, or not as it must.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            listed = asyncio.run(_asked_server(server, log, seconds))
        except ToolError as error:
            raise ToolError(f"{source}: {error}") from None
        except Exception as error:  # a broad catch: what a foreign server makes the SDK raise becomes a message
            log.seek(0)
            last = next((line for line in reversed(log.read()[-5000:].splitlines()) if line.strip()), "")
            last_words = f"; the server said {jsonl.shown(last)}" if last else ""
            if isinstance(server, str):
                last_words = " (a document is read from a file)"
            raise ToolError(
                f"{source}: an MCP server that lists its tools was required; got {cause(error, seconds)}{last_words}"
            ) from None
    return tuple(map(draft, listed))


async def _asked_server(server: str | Sequence[str], log: Any, seconds: float) -> list[Any]:
    """All pages of `tools/list`."""
    async with asyncio.timeout(seconds), mcp_client(server, errors=log) as client:
        return await pages(client)


async def pages(client: Any) -> list[Any]:
    """All pages of `tools/list`; `ToolError` where they have no end."""
    listed: list[Any] = []
    cursor, seen = None, set()
    while cursor not in seen and len(seen) < PAGES:
        seen.add(cursor)
        page = await client.list_tools(cursor=cursor)
        listed += page.tools
        if (cursor := mcp_field(page, "next_cursor")) is None:
            return listed
    raise ToolError(f"a last page among {PAGES}, and none twice, was required of tools/list; got cursor after cursor")


def draft(tool: Any) -> Draft:
    """One tool, or what cannot be read of the schema of its arguments."""
    asked = mcp_field(tool, "input_schema")
    dialect = asked.get("$schema")
    old = isinstance(dialect, str) and any(name in dialect for name in OLD)
    try:
        schema = inline.arguments(asked, "draft-7" if old else "2020-12")
    except Mistake as error:
        return Draft(tool.name, place="inputSchema", mistake=str(error))
    row = {"name": tool.name, "description": tool.description or ""}
    hint = mcp_field(tool.annotations, "read_only_hint") if tool.annotations else None
    if hint is not None:
        row["mutating"] = not hint
    row["parameters"] = ({} if dialect is None else {"$schema": dialect}) | schema
    notes = ("the server itself says that it changes nothing",) if hint else ()
    return Draft(tool.name, row, "tools/list", notes)


def cause(error: BaseException, seconds: float) -> str:
    """What went wrong: the first single error of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"no answer within {seconds:g} s"
    return shortened(f"{type(error).__name__}: {error}", 300)


# ---- the SDK of MCP ---------------------------------------------------------------------------------------


@lru_cache
def mcp_major() -> int:
    """The major version of the SDK that is installed; `ToolError` where there is none that this was tried with."""
    try:
        version = metadata.version("mcp")
    except metadata.PackageNotFoundError:
        version = "none"
    if not re.match(r"(?:1\.(?:2[4-9]|[3-9]\d|\d{3,})|2\.\d+)\b", version):
        raise ToolError(f"the SDK {SUPPORTED} was required; got mcp {version}: run `pip install '{SUPPORTED}'`")
    return int(version[0])


def mcp_field(model: Any, name: str) -> Any:
    """A field of what the SDK read, by its name in version 2."""
    return getattr(model, name if mcp_major() > 1 else re.sub(r"_(\w)", lambda found: found[1].upper(), name))


def mcp_client(server: str | Sequence[str], *, seconds: float | None = None, errors: TextIO | None = None) -> Any:
    """What connects, when entered, to an address (Streamable HTTP) or a command, whose standard error goes to `errors`.

    It has `list_tools(cursor=…)`, `call_tool(name, arguments)` and `server_capabilities`; an answer may take `seconds`.
    """
    import mcp
    from mcp.client.streamable_http import streamable_http_client

    new = mcp_major() > 1
    if isinstance(server, str):
        transport = server if new else streamable_http_client(server)
    else:
        started = mcp.StdioServerParameters(command=server[0], args=list(server[1:]))
        transport = mcp.stdio_client(started, errlog=errors or sys.stderr)
    return mcp.Client(transport, cache=None, read_timeout_seconds=seconds) if new else _Client(transport, seconds)


def mcp_server(list_tools: Handler, call_tool: Handler) -> Any:
    """A server that offers tools and nothing else; it checks no arguments and leaves results as they are."""
    from mcp import types
    from mcp.server.lowlevel import Server

    if mcp_major() > 1:
        return Server("wb", on_list_tools=list_tools, on_call_tool=call_tool)

    async def list_all(request: Any) -> Any:
        return types.ServerResult(await list_tools(None, request.params))

    async def call(request: Any) -> Any:
        return types.ServerResult(await call_tool(None, request.params))

    made: Any = Server("wb")
    made.request_handlers |= {types.ListToolsRequest: list_all, types.CallToolRequest: call}
    return made


class _Client:
    """Version 1's session as version 2's client."""

    def __init__(self, transport: Any, seconds: float | None) -> None:
        self._transport, self._wait = transport, None if seconds is None else timedelta(seconds=seconds)

    async def __aenter__(self) -> _Client:
        import mcp

        async with contextlib.AsyncExitStack() as stack:
            reading, writing, *_ = await stack.enter_async_context(self._transport)
            session = await stack.enter_async_context(mcp.ClientSession(reading, writing, self._wait))
            self.server_capabilities = (await session.initialize()).capabilities
            self.call_tool, self.list_tools = session.call_tool, session.list_tools
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._open.__aexit__(*error)
