"""Tables and cards: values that a notebook, a page and a terminal each show in their own way.

Each knows three ways to be seen: HTML (JupyterLab, nbconvert, the report), Markdown (a plain viewer) and
text (`repr`).  Texts that came from documents, models or agents are data: they are escaped and never become
markup.  Coloured words stand on a ground of their own, so that they read in light and dark themes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

# What must hold stands in the elements, since a viewer that does not trust the page drops style sheets and scripts.
GROUND = "background:#f2f4f7;color:#1f2328"
CELL = "text-align:left;vertical-align:top;white-space:"
CELLS = {
    "": f"{CELL}nowrap",
    "number": "text-align:right;vertical-align:top;white-space:nowrap",
    "prose": f"{CELL}normal;min-width:20em;max-width:46em",
}
WIDE, TALL = "overflow-x:auto;max-width:100%", "overflow-x:auto;overflow-y:auto;max-width:100%;max-height:30em"
CAPTION = "text-align:left;font-weight:bold;padding:3px 8px;white-space:nowrap"
FRAME = f"{WIDE};border:1px solid #8a8f98;border-radius:6px;margin:4px 0;padding:4px"
BADGE = "color:#ffffff;border-radius:4px;padding:1px 6px;font-size:12px;font-weight:bold;white-space:nowrap"
HEADS = {"": CELLS[""], "number": CELLS["number"], "prose": CELLS[""]}
PROGRAM = (
    f"{GROUND};line-height:1.4;font-size:12px;font-family:monospace;padding:8px;margin:2px 0;"
    "overflow-x:auto;white-space:pre"
)
STYLE = """<style>
.wb{font-size:13px;line-height:1.45;margin:.4em 0}
.wb table{border-collapse:collapse;margin:0;table-layout:auto;font-size:inherit}
.wb th,.wb td{padding:.25em .7em;border-bottom:1px solid rgba(128,128,128,.35)}
.wb thead th{border-bottom:2px solid rgba(128,128,128,.6);cursor:pointer}
.wb td.number,.wb th.number{font-variant-numeric:tabular-nums}.wb td.prose{overflow-wrap:anywhere}
.wb code{border-radius:4px;padding:.1em .35em;font-size:12px}
.wb.card{max-width:62em!important}.wb.card th{font-weight:500;opacity:.75}.wb.card td{overflow-wrap:anywhere;width:100%}
.wb.card th,.wb.card td{border-bottom:none}.wb q{quotes:"“" "”"}.wb ul{margin:0;padding-left:1.2em}
</style>"""
# a column is sorted by a click on its head: numbers by value, unknown ones last
SORT = """<script>window.wbSort=window.wbSort||function(head){
const at=head.cellIndex,body=head.closest('table').tBodies[0],down=head.dataset.down!=='1';
const of=row=>{const cell=row.cells[at],n=parseFloat(cell.dataset.value);return isNaN(n)?cell.textContent:n};
const order=(x,y)=>typeof x!==typeof y?(typeof x==='number'?-1:1):(x<y?-1:x>y?1:0)*(down?1:-1);
head.dataset.down=down?'1':'';
[...body.rows].sort((a,b)=>order(of(a),of(b))).forEach(row=>body.append(row))}</script>"""
GREEN, RED, AMBER, BLUE, VIOLET, GREY = "#1a7f37", "#b42318", "#8a5a00", "#0b5cad", "#6e40c9", "#57606a"
COLOURS = {
    **dict.fromkeys(("allow", "proved", "rule", "refuted", "guarded"), GREEN),
    **dict.fromkeys(("deny", "error", "survived", "blocked"), RED),
    **dict.fromkeys(("undecided", "open", "tested", "bounded", "unsettled"), AMBER),
    **dict.fromkeys(("duty", "permit_only_if", "free"), BLUE),
    **dict.fromkeys(("waived", "oblige"), VIOLET),
}
NUMBER = re.compile(r"-?\d[\d.,]*(e[-+]?\d+)?( \[.*\])?\Z|-\Z")  # also a rate with its interval, and "-" for none
PROSE = 48  # letters from which a cell may be broken into lines of its own
ROWS = 12  # rows from which a table scrolls inside its cell


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
    """Anything with `html` and `markdown` texts, as Jupyter asks for them."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_markdown_(self) -> str:
        return self.markdown()


@dataclass(frozen=True, repr=False)
class Table(_Shown):
    """Named columns. `frame` is the pandas DataFrame; a click on a head sorts. Without rows, `none` is said."""

    frame: DataFrame
    title: str = ""
    none: str = "nothing to show"

    def html(self) -> str:
        """The table as HTML; wide ones scroll inside it, and a row is never broken."""
        if self.frame.empty:
            return f"<em>{html.escape(': '.join(filter(None, (self.title, self.none))))}</em>"
        columns = [(name, self._kind(name)) for name in self.frame.columns]
        heads = "".join(
            f'<th scope="col" onclick="wbSort(this)" class="{kind}" style="{HEADS[kind]}">{html.escape(str(name))}</th>'
            for name, kind in columns
        )
        body = "".join(
            "<tr>" + "".join(_td(value, kind) for value, (_, kind) in zip(row, columns, strict=True)) + "</tr>"
            for row in self.frame.itertuples(index=False, name=None)
        )
        caption = f'<caption style="{CAPTION}">{html.escape(self.title)}</caption>' if self.title else ""
        box = TALL if len(self.frame) > ROWS else WIDE
        table = f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        return f'{STYLE}{SORT}<div class="wb" style="{box}">{table}</div>'

    def markdown(self) -> str:
        """The table as Markdown, its first rows."""
        lines = [f"**{_safe(self.title)}**", ""] if self.title else []
        if self.frame.empty:
            return "\n".join([*lines, f"*{_safe(self.none)}*"])
        lines += [_line(self.frame.columns), _line("---" for _ in self.frame.columns)]
        lines += [_line(to_text(v) for v in row) for row in self.frame.head(ROWS).itertuples(index=False, name=None)]
        more = len(self.frame) - ROWS
        return "\n".join([*lines, *(["", f"… and {more} more rows"] if more > 0 else [])])

    def __repr__(self) -> str:
        texts = self.none if self.frame.empty else self.frame.map(to_text).to_string(index=False, max_rows=ROWS)
        return "\n".join(filter(None, (self.title, texts)))

    def _kind(self, name: str) -> str:
        """How a column is set: numbers to the right, long texts broken inside their cell."""
        values = [v for v in self.frame[name] if not _missing(v)]
        texts = [to_text(v) for v in values]
        if any(len(text) > PROSE for text in texts):
            return "prose"
        return "number" if values and all(map(NUMBER.match, texts)) else ""


@dataclass(frozen=True, slots=True, repr=False)
class Card(_Shown):
    """One thing, told in named parts; parts without anything to say are left out."""

    title: str
    badge: str = ""
    parts: tuple[tuple[str, Content], ...] = ()

    def html(self) -> str:
        """The card as HTML."""
        return f'{STYLE}<div class="wb card" style="{FRAME}">{self.inner()}</div>'

    def inner(self) -> str:
        """The card's table alone, for a page that has the style already."""
        badge = f" {to_html(Badge(self.badge))}" if self.badge else ""
        rows = "".join(
            f'<tr><th scope="row" style="{CELLS[""]}">{html.escape(name)}</th>'
            f'<td style="{CELL}normal">{to_html(part)}</td></tr>'
            for name, part in self._said()
        )
        caption = f'<caption style="{CAPTION}">{html.escape(self.title)}{badge}</caption>'
        return f"<table>{caption}<tbody>{rows}</tbody></table>"

    def markdown(self) -> str:
        """The card as Markdown."""
        head = f"**{_safe(self.title)}**" + (f" *{_safe(self.badge)}*" if self.badge else "")
        return "\n\n".join([head, *(f"{name}: {_markdown(part)}" for name, part in self._said())])

    def __repr__(self) -> str:
        head = f"{self.title} [{self.badge}]" if self.badge else self.title
        return "\n".join([head, *(f"  {name}: {to_text(part)}" for name, part in self._said())])

    def _said(self) -> list[tuple[str, Content]]:
        return [(name, part) for name, part in self.parts if to_text(part)]


@dataclass(frozen=True, slots=True, repr=False)
class Cards(_Shown):
    """Several cards, one under the other; `more` says how many were left out."""

    cards: tuple[Card, ...]
    more: int = 0
    none: str = "nothing to show"

    def html(self) -> str:
        """The cards as HTML."""
        if not self.cards:
            return f"<em>{html.escape(self.none)}</em>"
        more = f"<em>and {self.more} more</em>" if self.more else ""
        return (
            STYLE + "".join(f'<div class="wb card" style="{FRAME}">{card.inner()}</div>' for card in self.cards) + more
        )

    def markdown(self) -> str:
        """The cards as Markdown."""
        texts = [card.markdown() for card in self.cards] or [f"*{self.none}*"]
        return "\n\n---\n\n".join([*texts, *([f"*and {self.more} more*"] if self.more else [])])

    def __repr__(self) -> str:
        texts = [repr(card) for card in self.cards] or [self.none]
        return "\n\n".join([*texts, *([f"and {self.more} more"] if self.more else [])])


@dataclass(frozen=True, slots=True, repr=False)
class Stack(_Shown):
    """Several things that belong together, one under the other."""

    parts: tuple[_Shown, ...]

    def html(self) -> str:
        """The parts as HTML."""
        return "\n".join(f"<div>{part.html()}</div>" for part in self.parts)

    def markdown(self) -> str:
        """The parts as Markdown."""
        return "\n\n".join(part.markdown() for part in self.parts)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.parts))


@dataclass(frozen=True, slots=True, repr=False)
class Note(_Shown):
    """A sentence."""

    text: str

    def html(self) -> str:
        """The sentence as HTML."""
        return f"<p>{html.escape(self.text)}</p>"

    def markdown(self) -> str:
        """The sentence as Markdown."""
        return _safe(self.text)

    def __repr__(self) -> str:
        return self.text


def table(rows: Iterable[object], *columns: str, title: str = "", none: str = "nothing to show", **named: str) -> Table:
    """Rows (mappings or dataclasses) as a table. `columns` picks and orders them, `named` gives other heads."""
    from pandas import DataFrame

    given = [mapping(row) for row in rows]
    wanted = list(columns) or list(dict.fromkeys(name for row in given for name in row))
    data = {named.get(name, name): [row.get(name) for row in given] for name in wanted}
    return Table(DataFrame(data, dtype=object), title, none)


def badge_colour(text: str) -> str:
    """The colour of a grade, decision or class, by its first word; open sentences tell more than a proof; else grey."""
    if text.endswith(" open"):
        return AMBER
    return COLOURS.get(text.partition(" ")[0], GREY)


def mapping(row: object) -> Mapping[str, object]:
    """A row, given as a mapping, a named tuple or a dataclass, by the names of its parts."""
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "_asdict"):
        return row._asdict()
    return {f.name: getattr(row, f.name) for f in fields(row)}


def _missing(value: object) -> bool:
    return value is None or value != value or value == ""


def _td(value: object, kind: str) -> str:
    number = f' data-value="{value!r}"' if isinstance(value, int | float) and not _missing(value) else ""
    return f'<td class="{kind}" style="{CELLS[kind]}"{number}>{to_html(value)}</td>'


def to_text(value: object) -> str:
    """Any part of a table or card as plain text."""
    match value:
        case Source() | Quote() | Badge():
            return value.text
        case bool():
            return "yes" if value else "no"
        case tuple() | list():
            return "; ".join(to_text(part) for part in value)
        case Mapping():
            return ", ".join(f"{name}={part!r}" for name, part in value.items())
        case float() if value == value:
            return f"{value:.4g}"
    return "" if _missing(value) else str(value)


def to_html(value: object) -> str:
    """Any part of a table or card as HTML, escaped."""
    match value:
        case Source(text, "python"):
            return _highlighted(text)
        case Source(text):
            space = "normal" if len(text) > PROSE else "nowrap"
            return f'<code style="{GROUND};white-space:{space}">{html.escape(text)}</code>' if text else ""
        case Quote(text):
            return f"<q>{html.escape(text)}</q>" if text else ""
        case Badge(text):
            style = f"background-color:{badge_colour(text)};{BADGE}"
            return f'<span class="wb-badge" style="{style}">{html.escape(text)}</span>'
        case (str() as name, Quote() as quote):
            return f"{html.escape(name)} {to_html(quote)}"
        case tuple() if len(value) > 1:
            return "<ul>" + "".join(f"<li>{to_html(part)}</li>" for part in value) + "</ul>"
        case tuple():
            return "".join(map(to_html, value))
    return html.escape(to_text(value))


def _highlighted(source: str) -> str:
    """A program in colours that are written into it, on a ground of its own."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return highlight(source, PythonLexer(), HtmlFormatter(noclasses=True, prestyles=PROGRAM, style="friendly"))


def _markdown(value: object) -> str:
    match value:
        case Source(text, "python"):
            return f"\n\n```python\n{text.replace('```', '` ` `').rstrip()}\n```"
        case Source(text):
            return f"`{text.replace('`', 'ˋ')}`"
        case Quote(text):
            return f"“{_safe(text)}”"
        case (str() as name, Quote() as quote):
            return f"{_safe(name)} {_markdown(quote)}"
        case tuple():
            return "; ".join(map(_markdown, value))
    return _safe(to_text(value))


def _safe(text: str) -> str:
    """A text that Markdown shows as it is."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    for sign in "\\`*_[]|#~!$":
        escaped = escaped.replace(sign, "\\" + sign)
    return escaped


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(cell if cell == "---" else _safe(str(cell)) for cell in cells) + " |"
