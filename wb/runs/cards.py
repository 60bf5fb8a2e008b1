"""Tables and cards: values that a notebook, a page and a terminal each show in their own way.

HTML (JupyterLab, nbconvert, the report) is made by the macros of `cards.html`, plain text (`repr`, the terminal)
by rich.  Texts that came from documents, models or agents are data: every value passes `to_html`, which escapes it.
No table library: pandas' Styler and great_tables lose their style, or the click that sorts, where a page is not
trusted; the macro has 20 lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.environment import TemplateModule
    from markupsafe import Markup
    from pandas import DataFrame
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table as Grid
    from rich.text import Text

PROGRAM = (
    "background:#f2f4f7;color:#1f2328;line-height:1.4;font-size:12px;font-family:monospace;padding:8px;margin:2px 0;"
    "overflow-x:auto;white-space:pre"
)
GREEN, RED, AMBER, BLUE, VIOLET, GREY = "#1a7f37", "#b42318", "#8a5a00", "#0b5cad", "#6e40c9", "#57606a"
COLOURS = {
    **dict.fromkeys(("allow", "proved", "rule", "refuted", "guarded"), GREEN),
    **dict.fromkeys(("deny", "error", "survived", "blocked"), RED),
    **dict.fromkeys(("undecided", "open", "tested", "bounded", "unsettled"), AMBER),
    **dict.fromkeys(("duty", "permit_only_if", "free"), BLUE),
    **dict.fromkeys(("waived", "oblige"), VIOLET),
}
NUMBER = re.compile(r"-?\d[\d.,]*(e[-+]?\d+)?( \[.*\])?\Z|-\Z")  # also a rate with its interval, and "-" for none
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # what moves or recolours a terminal
PROSE = 48  # letters from which a cell may be broken into lines of its own
ROWS = 12  # rows from which a table scrolls inside its cell, and is cut as plain text
WIDTH = 200  # of plain text, in letters


@dataclass(frozen=True, slots=True)
class Source:
    """A text in a formal language: a formula ("text") or a program ("python")."""

    text: str
    language: str = "text"


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of the document, verbatim."""

    text: str


@dataclass(frozen=True, slots=True)
class Badge:
    """A word that stands out: a decision, a grade, a class of sentence."""

    text: str


Content = str | Source | Quote | Badge | tuple


class _Shown:
    """Anything that `cards.html` has a macro for, by the name of its class, and that has a plain text."""

    __slots__ = ()

    def html(self) -> str:
        """The value as HTML, with the style and the script that it needs."""
        return str(_macros().head() + self.inner())

    def inner(self) -> Markup:
        """The value alone, for a page that has style and script already."""
        return getattr(_macros(), type(self).__name__.lower())(self)

    _repr_html_ = html


@dataclass(frozen=True, slots=True, repr=False)
class Table(_Shown):
    """Named columns; a click on a head sorts. Without rows, `none` is said."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    title: str = ""
    none: str = "nothing to show"

    @property
    def frame(self) -> DataFrame:
        """The table as a pandas DataFrame."""
        from pandas import DataFrame

        return DataFrame(list(self.rows), columns=list(self.columns), dtype=object)

    @property
    def tall(self) -> bool:
        """Whether it scrolls."""
        return len(self.rows) > ROWS

    @property
    def kinds(self) -> tuple[str, ...]:
        """How each column is set: "number" to the right, "prose" broken inside its cell, "" on one line."""
        return tuple(_kind(column) for column in zip(*self.rows, strict=True))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table for a terminal; wider than it where a word would be broken (print it with `crop=False`)."""
        *title, grid = self._rendered(self.rows)
        least = sum(column.min_width or 0 for column in grid.columns) + 2 * (len(self.columns) - 1) if self.rows else 0
        if least > options.max_width:
            grid.width = least
        yield from (*title, grid)

    def __repr__(self) -> str:
        from rich.console import Console

        console = Console(width=WIDTH, color_system=None, force_terminal=False, force_jupyter=False)
        with console.capture() as text:
            console.print(*self._rendered(self.rows[:ROWS]), sep="\n")
        lines = [line.rstrip() for line in text.get().splitlines()]
        return "\n".join([*lines, f"… and {len(self.rows) - ROWS} more rows"] if self.tall else lines)

    def _rendered(self, rows: Sequence[Sequence[object]]) -> list[Text | Grid]:
        """Title and rows for rich; what is short is always whole, and published rows are dim."""
        from rich.table import Table as Grid
        from rich.text import Text

        title = [Text(f"{shown(self.title)}:")] if self.title else []
        if not rows:
            return [*title, Text(shown(self.none))]
        grid = Grid(box=None, pad_edge=False)
        for name, kind, *values in zip(self.columns, self.kinds, *rows, strict=True):
            whole = [shown(value) for value in (name, *values)]
            if kind == "prose":  # it is broken between its words; one as long as a line is none
                whole = [word for text in whole for word in text.split() if len(word) <= PROSE]
            widest, side = max(map(len, whole), default=1), "right" if kind == "number" else "left"
            grid.add_column(Text(shown(name)), justify=side, no_wrap=kind != "prose", min_width=widest, overflow="fold")
        for row in rows:
            grid.add_row(*(Text(shown(v)) for v in row), style="dim" if "published" in shown(row[0]) else None)
        return [*title, grid]


@dataclass(frozen=True, slots=True, repr=False)
class Card(_Shown):
    """One thing in named parts; parts without a text are left out."""

    title: str
    badge: str = ""
    parts: tuple[tuple[str, Content], ...] = ()

    @property
    def filled(self) -> list[tuple[str, Content]]:
        """The parts that have a text."""
        return [(name, part) for name, part in self.parts if to_text(part)]

    def __repr__(self) -> str:
        head = f"{self.title} [{self.badge}]" if self.badge else self.title
        return shown("\n".join([head, *(f"  {name}: {to_text(part)}" for name, part in self.filled)]))


@dataclass(frozen=True, slots=True, repr=False)
class Cards(_Shown):
    """Several cards, one under the other; `more` is how many were left out."""

    cards: tuple[Card, ...]
    more: int = 0
    none: str = "nothing to show"

    def __repr__(self) -> str:
        more = [f"and {self.more} more"] if self.more else []
        return "\n\n".join([*(map(repr, self.cards) if self.cards else [shown(self.none)]), *more])


@dataclass(frozen=True, slots=True, repr=False)
class Stack(_Shown):
    """Several things that belong together, one under the other."""

    parts: tuple[_Shown, ...]

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.parts))


@dataclass(frozen=True, slots=True, repr=False)
class Note(_Shown):
    """A sentence."""

    text: str

    def __repr__(self) -> str:
        return shown(self.text)


def table(rows: Iterable[object], *columns: str, title: str = "", none: str = "nothing to show", **named: str) -> Table:
    """Rows (mappings or dataclasses) as a table. `columns` picks and orders them, `named` gives other heads."""
    given = [mapping(row) for row in rows]
    picked = list(columns) or list(dict.fromkeys(name for row in given for name in row))
    heads = tuple(named.get(name, name) for name in picked)
    return Table(heads, tuple(tuple(row.get(name) for name in picked) for row in given), title, none)


def listed(heads: str, rows: Iterable[Sequence[object]], title: str = "", none: str = "nothing to show") -> Table:
    """Rows in the order of the heads, which are separated by ", "."""
    return Table(tuple(heads.split(", ")), tuple(map(tuple, rows)), title, none)


def first(cards: Sequence[Card], most: int, none: str) -> Cards:
    """At most `most` cards, and how many more there are."""
    return Cards(tuple(cards[:most]), max(len(cards) - most, 0), none)


def badge_colour(text: str) -> str:
    """The colour of a grade, decision or class, by its first word; open sentences tell more than a proof; else grey."""
    return AMBER if text.endswith(" open") else COLOURS.get(text.partition(" ")[0], GREY)


def mapping(row: object) -> Mapping[str, object]:
    """A row, given as a mapping, a named tuple or a dataclass, by the names of its parts."""
    if isinstance(row, Mapping):
        return row
    return row._asdict() if hasattr(row, "_asdict") else {f.name: getattr(row, f.name) for f in fields(row)}


def count(number: int, noun: str) -> str:
    """A number with its noun, such as "1 call" or "2 calls"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def shown(value: object) -> str:
    """Any value as plain text that a terminal only prints: its control characters are replaced."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", to_text(value))


def to_text(value: object) -> str:
    """Any part of a table or card as plain text."""
    match value:
        case Source() | Quote() | Badge():
            return value.text
        case bool():
            return "yes" if value else "no"
        case tuple() | list():
            return "; ".join(map(to_text, value))
        case Mapping():
            return ", ".join(f"{name}={part!r}" for name, part in value.items())
        case float() if value == value:
            return f"{value:.4g}"
    return "" if _missing(value) else str(value)


def to_html(value: object) -> Markup:
    """Any part of a table or card as HTML; what is filled into a `Markup` is escaped."""
    from markupsafe import Markup, escape

    match value:
        case Source(text, "python"):
            return Markup(_highlighted(text))  # pygments escapes the program
        case Source(text):
            space = "normal" if len(text) > PROSE else "nowrap"
            code = Markup('<code style="background:#f2f4f7;color:#1f2328;white-space:{}">{}</code>')
            return code.format(space, text) if text else Markup("")
        case Quote(text):
            return Markup("<q>{}</q>").format(text) if text else Markup("")
        case Badge(text):
            return _macros().badge(text, badge_colour(text))
        case (str() as name, Quote() as quote):
            return Markup("{} {}").format(name, to_html(quote))
        case tuple():
            parts = [to_html(part) for part in value]
            return Markup("<ul>{}</ul>").format(_macros().items(parts)) if len(parts) > 1 else Markup("").join(parts)
    return escape(to_text(value))


@cache
def templates() -> Environment:
    """The HTML templates of this folder; they escape whatever is filled in."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).parent)
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"html": to_html, "anchor": anchor, "colour": badge_colour}
    return made


def anchor(name: str) -> str:
    """A name as part of an address within a page."""
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in name)


@cache
def _macros() -> TemplateModule:
    return templates().get_template("cards.html").module


def _kind(column: Iterable[object]) -> str:
    texts = [to_text(value) for value in column if not _missing(value)]
    if any(len(text) > PROSE for text in texts):
        return "prose"
    return "number" if texts and all(map(NUMBER.match, texts)) else ""


def _missing(value: object) -> bool:
    return value is None or value != value or value == ""


def _highlighted(source: str) -> str:
    """A program in colours that are written into it, on a ground of its own."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return highlight(source, PythonLexer(), HtmlFormatter(noclasses=True, prestyles=PROGRAM, style="friendly"))
