"""Text out of HTML and PDF: the stored text that sentences then point into.

HTML becomes Markdown with the same headings, lists and tables; a PDF becomes its lines, joined to
paragraphs.  Layout, images and links are dropped.
"""
from __future__ import annotations

import re
from pathlib import Path

_SKIP = {"script", "style", "head", "nav", "footer", "noscript", "template", "svg"}
_BLOCKS = {"p", "div", "section", "article", "main", "body", "html", "blockquote", "dd", "dt", "dl", "header", "figure",
           "figcaption", "pre", "address", "aside", "form", "fieldset", "[document]"}


class ExtractionError(ValueError):
    """A file holds no text that can be read; the message says what was required and what was got."""


def of_html(markup: str) -> str:
    """The Markdown text of an HTML page: headings, paragraphs, nested lists and tables."""
    from bs4 import BeautifulSoup

    lines: list[str] = []
    _element(BeautifulSoup(markup, "html.parser"), lines, 0)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def of_pdf(path: Path) -> str:
    """The text of a PDF, lines joined to paragraphs; `ExtractionError` when it holds none (a scan)."""
    from pypdf import PdfReader
    from pypdf.errors import PdfReadError

    try:
        reader = PdfReader(path)
        pages = [page.extract_text() for page in reader.pages]
    except PdfReadError as error:
        raise ExtractionError(f"{path.name}: a readable PDF was required; got {error}") from None
    text = _paragraphs("\n".join(pages))
    if not text.strip():
        raise ExtractionError(f"{path.name}: a PDF with a text layer was required; got {len(pages)} pages without text (a scan?)")
    return text


def _element(node: object, lines: list[str], depth: int) -> None:
    """Append the Markdown lines of one element; `depth` counts the lists around it."""
    run: list[str] = []
    for child in node.children:
        name = child.name
        if name is None:
            if type(child).__name__ == "NavigableString":
                run.append(str(child))
        elif name in _SKIP:
            continue
        elif re.fullmatch(r"h[1-6]", name):
            _flush(run, lines, depth)
            lines += ["", f"{'#' * int(name[1])} {_words(child.get_text(' '))}", ""]
        elif name in ("ul", "ol"):
            _flush(run, lines, depth)
            _items(child, lines, depth)
        elif name == "table":
            _flush(run, lines, depth)
            _table(child, lines)
        elif name in _BLOCKS:
            _flush(run, lines, depth)
            _element(child, lines, depth)
        else:
            run.append("\n" if name == "br" else child.get_text())
    _flush(run, lines, depth)


def _items(node: object, lines: list[str], depth: int) -> None:
    lines.append("")
    for item in node.find_all("li", recursive=False):
        inner: list[str] = []
        _element(item, inner, 0)
        kept = [line for line in inner if line.strip()] or [""]
        pad = "    " * depth
        lines.append(f"{pad}- {kept[0]}")
        for line in kept[1:]:
            nested = line.lstrip().startswith("- ")
            lines += [f"{pad}  {line}"] if nested else ["", f"{pad}  {line}"]
    lines.append("")


def _table(node: object, lines: list[str]) -> None:
    rows = [[_words(cell.get_text(" ")).replace("|", "/") for cell in row.find_all(["td", "th"])] for row in node.find_all("tr")]
    rows = [row for row in rows if row]
    if not rows:
        return
    width = max(map(len, rows))
    rows = [row + [""] * (width - len(row)) for row in rows]
    lines += ["", *(f"| {' | '.join(row)} |" for row in rows[:1]), "|" + "---|" * width, *(f"| {' | '.join(row)} |" for row in rows[1:]), ""]


def _flush(run: list[str], lines: list[str], depth: int) -> None:
    text = _words("".join(run))
    run.clear()
    if text:
        lines += [text] if depth else ["", text, ""]


def _words(text: str) -> str:
    return " ".join(text.split())


def _paragraphs(text: str) -> str:
    """Lines that continue a sentence joined to one paragraph; words cut at a line end made whole."""
    text = re.sub(r"(\w)-\n(?=[a-z])", r"\1", text.replace("\r", "\n"))
    lines = [line.strip() for line in text.split("\n")]
    joined: list[str] = []
    for line in lines:
        opens = re.match(r"(\(?[a-z0-9]{1,3}\)|\d+(\.\d+)*\.?\s|[•‣◦▪–-]\s)", line)
        previous = joined[-1] if joined else ""
        goes_on = previous and not re.search(r"[.:;!?]\Z", previous) and len(previous) > 45
        if line and goes_on and not opens:
            joined[-1] = f"{previous} {line}"
        else:
            joined.append(line if not re.match(r"[•‣◦▪]\s", line) else f"- {line[2:]}")
    return "\n\n".join(line for line in joined if line) + "\n"
