"""What an agent has in view, a page of HTML or its accessibility tree, to fields of the state by declared paths.

ShieldAgent's map f of observations to state predicates (Section 3.1), without a model: `tools.json` says of a field
`"from": {"seen": "page", "css": "#order .status"}`, or `{"seen": "page", "role": "main 'order' / status"}`, and what
the session is told that `page` says is read there: HTML by soupsieve's CSS selectors, a tree by roles and names in the
YAML that Playwright's `aria_snapshot` writes, each node as it is written, somewhere under the one before.  A path that
leads nowhere, or to two nodes, gives nothing.  All text of a page is data; whoever may write into a page may write a
second node, and, where it has none, the first: a path should begin at what the page always has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from wb.domain import jsonl
from wb.logic.wording import shortened

LONGEST = 1_000_000  # characters of a page that is read
UNDER = " / "  # between the names of a path


class ViewError(ValueError):
    """A page does not tell what a path names; the message says what was required and what was got."""


class View(NamedTuple):
    """Where a field stands in a page: a CSS `path`, and of which `attribute` (else the text); or a path of `roles`."""

    path: str
    attribute: str = ""
    roles: bool = False


class _Text(NamedTuple):
    """A text of a tree, each a value of its own: two nodes with the same text are two."""

    text: str


def problem(view: View) -> str:
    """Why a path can lead nowhere; empty where it may."""
    if view.roles:
        return "" if all(view.path.split(UNDER)) else "roles with names, with ' / ' between them, were required"
    import soupsieve

    try:
        soupsieve.compile(view.path)
    except soupsieve.SelectorSyntaxError as error:
        return f"a CSS selector was required: {str(error).splitlines()[0]}"
    return ""


def read(page: object, view: View, kind: str) -> bool | int | float | str:
    """What stands there in a page, as a value of that JSON type: a text with its blanks folded, or what it writes.

    Raises:
        ViewError: it is no page, or nothing, more than one node, a node without a text, or no such value stands there.
    """
    if type(page) is not str or len(page) > LONGEST:
        raise ViewError(f"a page, a text of at most {LONGEST:,} characters, was required; got another one")
    try:
        texts = _in_tree(page, view.path) if view.roles else _in_html(page, view)
    except (ValueError, RecursionError, AssertionError) as error:  # html.parser asserts what markup it takes
        raise ViewError(f"a page that can be read was required; got {shortened(str(error), 200)}") from None
    if len(texts) != 1 or texts[0] is None:
        got = "a node without it" if len(texts) == 1 else f"{len(texts) or 'no'} nodes"
        raise ViewError(f"one node with a text at {shortened(view.path, 60)} was required; got {got}")
    text = " ".join(texts[0].split())
    if kind == "string":
        return text
    try:
        return jsonl.value(text)  # whether it is of that type says the schema
    except ValueError:
        raise ViewError(f"{view.path}: a {kind} was required; got {shortened(text, 40)!r}") from None


def _in_html(page: str, view: View) -> list[str | None]:
    from bs4 import BeautifulSoup

    found = BeautifulSoup(page, "html.parser").select(view.path, limit=2)
    if not view.attribute:
        return [one.get_text() for one in found]
    values = [one.get(view.attribute) for one in found]
    return [" ".join(value) if isinstance(value, list) else value for value in values]


def _in_tree(page: str, path: str) -> list[str | None]:
    from wb.domain import yamltext

    levels: list[Any] = [yamltext.parse(page, lambda event: _Text(event.value)).data]
    for name in path.split(UNDER):
        levels = list({id(inner): inner for level in levels for inner in _under(level, name)}.values())
    return [one.text if type(one) is _Text and one.text else None for one in levels]


def _under(level: Any, name: str) -> Iterator[Any]:
    """What stands in the nodes of that role and name, wherever under a node."""
    for node in level if isinstance(level, list) else ():
        named = [(node.text, None)] if type(node) is _Text else node.items() if isinstance(node, dict) else ()
        for key, inner in named:
            if key == name:
                yield inner
            yield from _under(inner, name)
