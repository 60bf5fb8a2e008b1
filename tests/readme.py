"""The shell commands of README.md, as its text has them: code blocks, section by section."""

import re
from pathlib import Path

from markdown_it import MarkdownIt

README = Path(__file__).resolve().parents[1] / "README.md"
SHELL = ("", "sh", "shell", "bash", "console")


def commands(title: str, text: str | None = None) -> list[str]:
    """Each command of the section under a heading (its subsections left out), in order, without the comment that
    follows it; `LookupError` where there is no such heading."""
    found: list[str] | None = None
    tokens = MarkdownIt().parse(README.read_text("utf-8") if text is None else text)
    inside = False
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before is not None and before.type == "heading_open":
            inside = token.content == title
            found = (found or []) if inside else found
        elif inside and (token.type == "code_block" or token.type == "fence" and token.info.strip() in SHELL):
            lines = (re.sub(r"(?:^|\s+)# .*", "", line).strip() for line in token.content.splitlines())
            found += [line for line in lines if line]
    if found is None:
        raise LookupError(f"README.md needs a section {title!r}")
    return found
