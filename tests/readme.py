"""The commands and examples of README.md and of the book's pages, as their text has them."""

import re
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

README = Path(__file__).resolve().parents[1] / "README.md"
PAGES = (README, *sorted((README.parent / "book").glob("*.md")))
SHELL = ("", "sh", "shell", "bash", "console")
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*(?:wb|python3?|pytest|cp|export) \S.*")


def _tokens() -> Iterator[Token]:
    for page in PAGES:
        yield from MarkdownIt().enable("table").parse(page.read_text("utf-8"))


def fences(kind: str) -> list[str]:
    """The content of each fence of this kind, in order."""
    return [token.content for token in _tokens() if token.type == "fence" and token.info.strip() == kind]


def spans() -> list[str]:
    """Each text in backquotes."""
    inline = (child for token in _tokens() for child in token.children or ())
    return [child.content for child in inline if child.type == "code_inline"]


def commands(title: str | None, text: str | None = None) -> list[str]:
    """Each command of the section under a heading (its subsections left out), or of all sections, in order, without
    the comment that follows it; `LookupError` where there is no such heading."""
    found: list[str] | None = [] if title is None else None
    tokens = [*_tokens()] if text is None else MarkdownIt().parse(text)
    inside = title is None
    for before, token in zip([None, *tokens], tokens, strict=False):
        if title is not None and before is not None and before.type == "heading_open":
            inside = token.content == title
            found = (found or []) if inside else found
        elif inside and (token.type == "code_block" or token.type == "fence" and token.info.strip() in SHELL):
            lines = (re.sub(r"(?:^|\s+)# .*", "", line).strip() for line in token.content.splitlines())
            found += [line for line in lines if line and (title is not None or COMMAND.fullmatch(line))]
    if found is None:
        raise LookupError(f"README.md or the book needs a section {title!r}")
    return found
