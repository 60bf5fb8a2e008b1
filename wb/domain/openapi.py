"""The operations of an OpenAPI document, 3.0 or 3.1, as tools: what may be called is what the document declares.

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
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import pydantic

from wb.domain import inline, jsonl
from wb.domain.inline import Document, Mistake, below, refuse
from wb.domain.tools import Draft, ToolError, identifier

METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
READING = ("get", "head")  # these change nothing (RFC 9110, 9.2.1)
VERSIONS: dict[str, inline.Dialect] = {"3.0": "OpenAPI 3.0", "3.1": "2020-12"}
DIALECTS = ("https://spec.openapis.org/oas/3.1/dialect/base", "https://json-schema.org/draft/2020-12/schema")
FORM = "application/x-www-form-urlencoded"
ANY = {"*/*", "application/*"}
SPREAD = {"type", "properties", "required", "title", "description", "default", "deprecated", "additionalProperties"}
BRACED = re.compile(r"\{([^{}]*)\}")  # a parameter in a path


class _Form(pydantic.BaseModel):
    """What is read of an object; other keys are passed over."""

    model_config = pydantic.ConfigDict(strict=True, frozen=True, extra="ignore")


class _Operation(_Form):
    id: str = pydantic.Field("", alias="operationId")
    summary: str = ""
    description: str = ""
    parameters: Any = ()
    body: Any = pydantic.Field(None, alias="requestBody")


class _Parameter(_Form):
    name: str
    place: Literal["path", "query", "header", "cookie"] = pydantic.Field(alias="in")
    required: bool = False
    description: str = ""
    shape: Any = pydantic.Field(None, alias="schema")
    content: dict[str, Any] | None = None


class _Body(_Form):
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


def drafts(document: Any, source: str) -> Iterator[Draft]:
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
    return row, notes + [
        f"{a.place} {jsonl.shown(a.name)} is the argument {n}" for n, a in names.items() if n != a.name
    ]


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
    got = ", ".join(map(repr, content))[:200] or "none"
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
