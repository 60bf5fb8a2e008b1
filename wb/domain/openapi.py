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
    operation: _Operation
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


def drafts(document: Any, source: str) -> Iterator[Draft]:
    """The operations of a document, each as a tool or with what cannot be read of it.

    Raises:
        ToolError: its version or its paths cannot be read.
    """
    whole = _document(document, source)
    try:
        found = list(_listed(whole, document))
    except Mistake as error:
        raise ToolError(f"{source}: {error}") from None
    for one in found:
        try:
            row, notes = _tool(whole, one)
        except Mistake as error:
            yield Draft(one.name, place=one.title, mistake=str(error))
        else:
            yield Draft(one.name, row, one.title, tuple(notes))


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
                where = below(place, method)
                operation = _form(_Operation, item[method], where)
                name = operation.id or "_".join([method, *re.findall("[a-zA-Z0-9]+", path)])
                yield _Listed(name, method, path, operation, shared, where)


def _tool(whole: Document, one: _Listed) -> tuple[dict[str, Any], list[str]]:
    """One operation as a row of `tools.json`, and what is to be said of it."""
    operation, path, place = one.operation, one.path, one.place
    arguments, notes = _parameters(whole, one.shared, (operation.parameters, below(place, "parameters")))
    if missing := sorted({*BRACED.findall(path)} - {a.name for a in arguments if a.place == "path"}):
        refuse(place, f"a path parameter was required for each name in {path}; got none for {missing}")
    others, together = {}, []
    if operation.body is not None:
        of_body, others, together = _body(whole, operation.body, below(place, "requestBody"))
        arguments += of_body
    names = _names(arguments, place)
    notes += [f"{a.place} {jsonl.shown(a.name)} is the argument {n}" for n, a in names.items() if n != a.name]
    properties = {
        made: {**argument.schema, "x-in": argument.place} | ({} if made == argument.name else {"x-name": argument.name})
        for made, argument in names.items()
    }
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required := [made for made, argument in names.items() if argument.required]:
        parameters["required"] = required
    of_body = [made for made, argument in names.items() if argument.place == "body"]
    if needed := [made for made in of_body if names[made].name in together]:
        parameters["dependentRequired"] = {made: needed for made in of_body}
    row = {
        "name": one.name,
        "description": "\n".join(dict.fromkeys(filter(None, (operation.summary, operation.description)))),
        "mutating": one.method not in READING,
        "x-operation": one.title,
        "parameters": parameters | others,
    }
    return row, notes


def _parameters(whole: Document, *lists: tuple[Any, str]) -> tuple[list[_Argument], list[str]]:
    """The parameters of a path and its operation, which may say one anew, and what is said of those left out."""
    found: dict[tuple[str, str], _Argument] = {}
    notes: list[str] = []
    for listed, where in lists:
        seen = set()
        if not isinstance(listed, list | tuple):
            refuse(where, f"a list was required; got {jsonl.shown(listed)}")
        for i, one in enumerate(listed):
            given, place = whole.followed(one, below(where, i))
            read_one = _form(_Parameter, given, place)
            key = read_one.place, read_one.name
            if key in seen:
                refuse(below(where, i), f"each parameter once was required; got {' '.join(key)!r} twice")
            seen.add(key)
            if read_one.place in ("header", "cookie"):
                notes.append(f"the {read_one.place} {jsonl.shown(read_one.name)} is no argument")
                continue
            found[key] = _parameter(whole, read_one, place)
    return list(found.values()), list(dict.fromkeys(notes))


def _parameter(whole: Document, one: _Parameter, place: str) -> _Argument:
    if (one.shape is None) == (one.content is None):
        refuse(place, "either a schema or a content was required; got both or none")
    if one.content is not None:
        if len(one.content) != 1:
            refuse(below(place, "content"), f"one media type was required; got {sorted(one.content)[:5]}")
        (kind, media), where = *one.content.items(), below(place, "content")
        shape, where = _shape(media, below(where, kind))
    else:
        shape, where = one.shape, below(place, "schema")
    schema = inline.argument(whole.schema(shape, where)) | ({"description": one.description} if one.description else {})
    return _Argument(one.name, one.place, schema, one.required or one.place == "path")


def _body(whole: Document, given: Any, place: str) -> tuple[list[_Argument], dict[str, Any], Collection[str]]:
    """The arguments of a body, what its schema says of others, and those required where any of them is given."""
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
        return [_Argument("body", "body", schema | described, body.required)], {}, ()
    required = schema.get("required", ())
    if not isinstance(required, list | tuple) or not set(map(repr, required)) <= set(map(repr, properties)):
        refuse(below(where, "required"), f"names of properties were required; got {jsonl.shown(required)}")
    arguments = [
        _Argument(name, "body", inline.argument(one), body.required and name in required)
        for name, one in properties.items()
    ]
    others = {"additionalProperties": schema["additionalProperties"]} if "additionalProperties" in schema else {}
    return arguments, others, () if body.required else required


def _kind(content: Mapping[str, Any], place: str) -> str:
    """The media type to read a body by: JSON before form fields."""
    plain = {kind: kind.partition(";")[0].strip().lower() for kind in content}
    for fits in (
        lambda kind: kind == "application/json",
        lambda kind: kind.endswith("+json") or kind in ("*/*", "application/*"),
        lambda kind: kind == FORM,
    ):
        if found := [kind for kind, bare in plain.items() if fits(bare)]:
            return found[0]
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


def _form[M: pydantic.BaseModel](model: type[M], found: Any, place: str) -> M:
    """An object checked by a model; its first problem as a mistake with its place."""
    try:
        return model.model_validate(found)
    except pydantic.ValidationError as error:
        one = error.errors(include_url=False)[0]
    wanted = "it was required" if one["type"] == "missing" else one["msg"].removeprefix("Input should be ")
    wanted = wanted.partition(" or instance of ")[0].replace("dictionary", "object").replace("tuple", "list")
    refuse(below(place, *one["loc"]), f"{wanted}; got {jsonl.shown(one['input'])}")
