"""What a reader sees of a text: hidden text set aside, spellings that no eye can tell apart made one.

A text is normalised here and nowhere else, and each character that is left knows its place, so that a quotation is
still a piece of the document.  Left out are characters without a width (Unicode's default-ignorable ones), tags that
only dress their text, link addresses, footnote marks, and text that is hidden: comments, `hidden`, `display:none`
and their like, titles of links, texts of images.  Blanks of any width are blanks; letters of another width or weight
are the letter.  What would change words is kept as it is, and whoever reads the sentence must say so: characters
that turn the order round, look-alike letters of other scripts, raised digits behind a number.

An element is hidden by its name, its attributes, its own style and the style sheets.  Selectors of elements, classes,
ids, attributes, descendants and children are applied, and one rule that hides is enough.  Any other selector of a rule
that hides is named as not applied.  CSS is read by tinycss2.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from wb.logic.wording import shortened

HIDDEN = "hidden: "
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
SPOKEN = ("title", "alt", "placeholder", "aria-label", "aria-description", "content", "label", "summary")
NO_TEXT = {
    **{name: name for name in "script template noscript iframe object video audio canvas datalist".split()},
    **{"style": "style sheet", "title": "page title", "noframes": "noframes", "noembed": "noembed", "rp": "rp"},
}
_ZERO, _FAR = r"[+-]?0*\.?0+(?:[a-z]+|%)?", r"-\d{3,}(?:\.\d+)?(?:px|em|rem|pt|vw|vh|%)?"
_NEVER = {  # values with which a property hides its text, whatever the others are
    "display": "none",
    "visibility": "hidden|collapse",
    "font-size": _ZERO,
    "opacity": _ZERO,
    "color": "transparent",
    "text-indent": _FAR,
    "clip": r"rect\((?:0|0px|1px|,| )+\)",
    "clip-path": r"inset\((?:50|100)%\)|circle\(0(?:px|%)?\)",
    "content-visibility": "hidden",
    "transform": r"scale(?:[xy])?\(0(?:, ?0)?\)",
    "filter": r"opacity\(0%?\)",
}
_SCREEN = re.compile(r"media\s+(?:only\s+)?(?:screen|all)|layer\b[^(]*|supports\b.*", re.I | re.S)
_PASSING = re.compile(r":{1,2}(?:before|after|hover|focus|active|visited|empty|placeholder)")  # hides no text
_SIMPLE = re.compile(
    r"(?P<sign>\s*>\s*|\s+)?(?P<tag>\*|[A-Za-z][\w-]*)?"
    r"""(?P<rest>(?:[.#][\w-]+|\[[\w-]+(?:=(?:"[^"]*"|'[^']*'|[\w-]+))?\])*)"""
)
_TEST = re.compile(r"\[([\w-]+)(=)?([^\]]*)\]")

Element = tuple[str, Mapping[str, str]]

_IGNORED = (
    "\u00ad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a\u202c\u2060-\u2065\u2066\u2068-\u206f\ufe00-\ufe0f"
    "\ufeff\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e0fff"
)
_BLANKS = "\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\u115f\u1160\u3164\uffa0\u2800\x0b\x0c\x1c-\x1f\x85"
_DRESSED = "\uff01-\uff5e\U0001d400-\U0001d7ff\ufb00-\ufb06\u2100-\u214f\u2160-\u217f"
_RAISED = "\u00b9\u00b2\u00b3\u2070\u2074-\u2079"
_AFTER_WORD = r"(?:(?<=[A-Za-z]{3})(?<!feet)(?<!inches)(?<!yards)(?<!miles)(?<!metres)(?<!meters)|(?<=[.,;:!?)\"'’”]))"
_CHARACTERS = re.compile(
    rf"(?P<smuggled>[\U000e0000-\U000e007f]+)|(?P<ignored>[{_IGNORED}]+)|(?P<blank>[{_BLANKS}])|"
    rf"(?P<dressed>[{_DRESSED}])|(?P<foot>^[ \t]*(?:\[\^[^\]\s]{{1,40}}\]:|[†‡]+|[{_RAISED}]+)(?=\s*\S))|"
    rf"(?P<note>\[\^[^\]\s]{{1,40}}\]|{_AFTER_WORD}(?:[†‡]+|[{_RAISED}]+(?!\w)))",
    re.MULTILINE,
)
_ATTRIBUTE = r"""[^\s"'<>/=]++(?:\s*+=\s*+(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+"))?+"""
_MARKUP = re.compile(
    rf"""(?P<fence>^[ \t>]*+(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]++)*+(?:`{{3,}}(?=[^`\n]*+$)|~{{3,}}))|
    (?P<escape>\\[!-/:-@\[-`{{-~])|
    (?P<ticks>`+)|(?P<comment><!--)|(?P<order><[?!](?=[A-Za-z\[]))|
    (?P<raised><sup\b[^<>]*>\s*(?:<a\b[^<>]*>)?\[?(?:\d{{1,3}}|[*†‡§a-z])\]?(?:</a>)?\s*</sup>)|
    (?P<tag></?[A-Za-z][A-Za-z0-9-]*+(?:\s++{_ATTRIBUTE})*+\s*+/?>)|
    (?P<open>!?\[)|(?P<link>\]\(\s*+(?:<[^<>\n]*+>|[^\s()<]*+(?:\([^\s()]*+\)[^\s()]*+)*+)
    (?:\s++(?:"(?:[^"\\\n]|\\.|\n(?![ \t]*\n))*+"|'(?:[^'\\\n]|\\.|\n(?![ \t]*\n))*+'|
    \((?:[^()\\\n]|\\.)*+\)))?+\s*+\))|
    (?P<close>\])|(?P<entity>&(?:\#\d{{1,7}}|\#[xX][0-9a-fA-F]{{1,6}}|[A-Za-z][A-Za-z0-9]{{1,31}});)""",
    re.MULTILINE | re.VERBOSE,
)
_ATTRIBUTES = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*(?:'([^']*)'|"([^"]*)"|([^\s"'=<>`]+)))?""")
_DRESS = frozenset(
    "a abbr acronym b bdi big cite code data dfn em font i kbd label mark q samp small span strong time tt u"
    " var".split()
)
_BLOCKS = frozenset(
    "address article aside blockquote center details div figure figcaption footer header hr main nav p section summary"
    " h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table thead tbody tfoot tr td th br img input wbr link meta form".split()
)


class Edit(NamedTuple):
    """A span of a text, what a reader sees in its place, and why it is left out; a null: its line goes with it."""

    start: int
    end: int
    new: str
    reason: str


class VisibleError(ValueError):
    """Hidden text has no end; the message says what was required, where, and what to do."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A text as a reader sees it: `places[i]` is where its character i begins in the document, `ends` where it ends if
    it takes more than one character there; `left` is what was left out, in order."""

    text: str
    places: Sequence[int]
    ends: Mapping[int, int]
    left: tuple[Edit, ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The place in the document of a part of the seen text that is not empty."""
        last = self.places[end - 1]
        return self.places[start], self.ends.get(last, last + 1)

    def within(self, start: int, end: int) -> tuple[int, int]:
        """The part of the seen text that stands in that part of the document."""
        return bisect_left(self.places, start), bisect_left(self.places, end)


def plain(text: str) -> Seen:
    """A text that is seen as it is."""
    return Seen(text, range(len(text)), {})


def read(text: str, *, markup: bool, known: Iterable[Edit] = ()) -> Seen:
    """What is seen of a text; `markup`: tags, comments, links and entities are Markdown's, and not to be seen.

    What is `known` to be left out is neither looked into nor seen.

    Raises:
        VisibleError: a comment or a hidden element has no end, so that it would hide all that follows.
    """
    outer = sorted([*known, *(_Markup(text).walk() if markup else ())])
    starts, ends = [e.start for e in outer], [e.end for e in outer]
    inner = []
    for match in _CHARACTERS.finditer(text):
        at = bisect_right(starts, match.start()) - 1
        if at < 0 or match.start() >= ends[at]:
            inner.append(_character(match))
    edits = [edit for edit in sorted([*outer, *filter(None, inner)])]
    return _applied(text, edits) if edits else plain(text)


def _character(match: re.Match[str]) -> Edit | None:
    kind, text, (start, end) = match.lastgroup, match.group(), match.span()
    if kind == "dressed":
        new = unicodedata.normalize("NFKC", text)
        return Edit(start, end, new, "") if new.isascii() and (new.isalnum() or len(text) == len(new)) else None
    new = {"blank": " ", "foot": "\n"}.get(kind, "")
    reason = {
        "smuggled": f"{HIDDEN}tag characters",
        "ignored": "invisible character",
        "blank": "" if text.isspace() else "invisible character",
    }
    return Edit(start, end, new, reason.get(kind, "footnote mark"))


def _applied(text: str, edits: Sequence[Edit]) -> Seen:
    """The text with its edits; a line on which nothing stands but what is hidden inside a line is left out whole."""
    parts: list[str] = []
    places: list[int] = []
    ends: dict[int, int] = {}
    left, cursor = [], 0
    for edit in edits:
        if edit.start < cursor:
            continue
        parts.append(text[cursor : edit.start].replace("\0", "\ufffd"))
        places += range(cursor, edit.start)
        parts.append(edit.new)
        places += [edit.start] * len(edit.new)
        if edit.new.strip("\0"):
            ends[edit.start] = edit.end
        if edit.reason:
            left.append(edit)
        cursor = edit.end
    parts.append(text[cursor:].replace("\0", "\ufffd"))
    places += range(cursor, len(text))
    whole = "".join(parts)
    shown, seen, cursor = [], [], 0
    for match in re.finditer(r"(?:(?<=\n)|\A)[ \t]*+\0[ \t\0]*+(?:\r?\n|\Z)|\0", whole):
        shown.append(whole[cursor : match.start()])
        seen += places[cursor : match.start()]
        cursor = match.end()
    return Seen("".join([*shown, whole[cursor:]]), [*seen, *places[cursor:]], ends, tuple(left))


class _Markup:
    """One walk over a Markdown text from left to right; lives only inside `read`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.edits: list[Edit] = []
        self.opened: list[re.Match[str]] = []
        self.blank_lines = [m.start() for m in re.finditer(r"\n[ \t]*\r?(?=\n)", text)]
        self.runs: dict[int, list[int]] = {}
        for run in re.finditer("`+", text):
            self.runs.setdefault(len(run.group()), []).append(run.start())
        self.unclosed: dict[str, int] = {}

    def walk(self) -> list[Edit]:
        """What a page made of this Markdown would not show."""
        at, opening = 0, 0
        while match := _MARKUP.search(self.text, at):
            if bisect_left(self.blank_lines, opening) < bisect_left(self.blank_lines, match.start()):
                self.opened.clear()  # a link does not go on behind a blank line
            opening = match.start()
            at = getattr(self, f"_{match.lastgroup}")(match)
        return self.edits

    def _put(self, start: int, end: int, new: str, reason: str) -> int:
        self.edits.append(Edit(start, end, new, reason))
        return end

    def _escape(self, match: re.Match[str]) -> int:
        return match.end()

    def _fence(self, match: re.Match[str]) -> int:
        """Code is seen as it is written, if the fence has an end."""
        mark = match.group().lstrip(" \t>-*+0123456789.)")
        size = self.unclosed.get(mark[0], len(mark) + 1)
        end = re.compile(rf"^[ \t>]*+{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$", re.MULTILINE)
        close = end.search(self.text, match.end()) if len(mark) < size else None
        if close is None:
            self.unclosed[mark[0]] = min(size, len(mark))
        return close.end() if close else match.end()

    def _ticks(self, match: re.Match[str]) -> int:
        """A code span is seen as it is written."""
        places = self.runs[len(match.group())] if len(match.group()) in self.runs else []
        k = bisect_left(places, match.end())
        if k == len(places) or self._parted(match.end(), places[k]):
            return match.end()
        return places[k] + len(match.group())

    def _parted(self, start: int, end: int) -> bool:
        k = bisect_left(self.blank_lines, start)
        return k < len(self.blank_lines) and self.blank_lines[k] < end

    def _runs_on(self, start: int, end: int) -> str:
        """What stands for a hidden block: nothing, and the line goes too where a sentence runs on around it."""
        before = re.search(r"[a-z,][ \t]*\r?\n[ \t>]*\Z", self.text[max(0, start - 100) : start])
        return "\0" if before and re.compile(r"[ \t]*\r?\n[ \t>]*[a-z]").match(self.text, end) else ""

    def _line_before(self, at: int) -> str:
        return self.text[max(0, at - 40) : at].rpartition("\n")[2]

    def _comment(self, match: re.Match[str]) -> int:
        start = match.start()
        close = re.compile(r"(?<=<!--)-?>|--!?>").search(self.text, match.end())
        if close:
            doubt = self._line_before(start).strip(" \t") and self._parted(start, close.start())
            reason = HIDDEN + ("perhaps a comment" if doubt else "comment")
            return self._put(start, close.end(), self._runs_on(start, close.end()), reason)
        if not self._line_before(start).strip(" \t"):
            raise VisibleError(f"{self._line(start)}: an end --> of the comment <!-- was required; got none: it hides "
                               "all that follows: add it")  # fmt: skip
        return len(self.text)

    def _line(self, at: int) -> str:
        return f"line {self.text.count(chr(10), 0, at) + 1}"

    def _order(self, match: re.Match[str]) -> int:
        """A processing instruction, a declaration, or a CDATA section."""
        mark = "?>" if match.group() == "<?" else "]]>" if self.text.startswith("<![CDATA[", match.start()) else ">"
        end = self.text.find(mark, match.end(), match.end() + 10_000)
        return match.end() if end < 0 else self._put(match.start(), end + len(mark), "", f"{HIDDEN}declaration")

    def _raised(self, match: re.Match[str]) -> int:
        if notes(self.text[max(0, match.start() - 12) : match.start()]):
            return self._put(*match.span(), "", "footnote mark")
        return match.end()

    def _tag(self, match: re.Match[str]) -> int:
        text = match.group()
        name = re.match("</?([A-Za-z][A-Za-z0-9-]*)", text).group(1).lower()
        attributes = _attributes(text[1 + len(name) :]) if text[1] != "/" else {}
        reason = hidden(name, attributes) if text[1] != "/" else ""
        if reason and name not in VOID and not text.endswith("/>"):
            return self._element(match, name, reason)
        if name not in _DRESS and name not in _BLOCKS and name not in NO_TEXT:
            return match.end()
        spoken = next((key for key in SPOKEN if len(attributes.get(key, "").split()) > 1), "")
        inline = name in _DRESS or name in ("img", "input", "wbr", "link", "meta")
        before, after = self._line_before(match.start()), self.text[match.end() : match.end() + 1]
        edge = not re.sub(r"</?[^<>]*>|[ \t>*+\-\d.)]", "", before) or after in ("\n", "\r", "")
        new = "" if inline else " " if name == "br" else "" if edge else "\n\n"
        return self._put(*match.span(), new, f"{HIDDEN}{spoken}" if spoken and not new else "tag")

    def _element(self, match: re.Match[str], name: str, reason: str) -> int:
        """All of a hidden element, to its own end."""
        depth = 1
        for tag in re.compile(rf"<(/?){name}(?=[\s/>])[^<>]*>", re.I).finditer(self.text, match.end()):
            depth += -1 if tag.group(1) else 0 if tag.group().endswith("/>") else 1
            if depth == 0 or (tag.group(1) and name in NO_TEXT):
                new = "\0" if name in _DRESS else self._runs_on(match.start(), tag.end())
                return self._put(match.start(), tag.end(), new, reason)
        raise VisibleError(f"{self._line(match.start())}: an end </{name}> of the hidden <{name}> was required; got "
                           "none: it hides all that follows: add it")  # fmt: skip

    def _open(self, match: re.Match[str]) -> int:
        note = re.compile(r"\[\^[^\]\s]{1,40}\]").match(self.text, match.end() - 1)
        if note:
            return note.end()
        self.opened.append(match)
        return match.end()

    def _close(self, match: re.Match[str]) -> int:
        if self.opened:
            self.opened.pop()
        return match.end()

    def _link(self, match: re.Match[str]) -> int:
        """The address and title of a link or an image; the text of an image is its stand-in, not the page's."""
        if not self.opened:
            return match.start() + 2
        opener = self.opened.pop()
        if opener.group() == "![":
            while self.edits and self.edits[-1].start >= opener.start():
                self.edits.pop()
            return self._put(opener.start(), match.end(), "", f"{HIDDEN}image")
        titled = len(re.sub(r"\A\]\(\s*<?|\)\Z", "", match.group()).split()) > 1
        self._put(*opener.span(), "", "tag")
        return self._put(*match.span(), "", f"{HIDDEN}link title" if titled else "link address")

    def _entity(self, match: re.Match[str]) -> int:
        """A letter, a blank or another sign of no meaning to Markdown is what it stands for."""
        new = html.unescape(match.group())
        if len(new) == 1 and (new.isalnum() or new in "'\"" or not new.isascii()):
            special = _CHARACTERS.fullmatch(new)
            edit = _character(special) if special else None
            seen = edit.new if edit else new
            return self._put(*match.span(), seen, "" if seen.strip() else "invisible character")
        return match.end()


def notes(before: str) -> bool:
    """Whether a raised sign behind that text is a footnote's mark: it follows a word or a stop, no number or unit."""
    return re.search(rf"{_AFTER_WORD}\Z", before) is not None


def _attributes(text: str) -> dict[str, str]:
    attributes = {}
    for name, *values in _ATTRIBUTES.findall(text):
        attributes.setdefault(name.lower(), html.unescape("".join(values)))
    return attributes


# ---- what hides an element ---------------------------------------------------------------------------


class Simple(NamedTuple):
    """A simple selector with the sign before it, ">" or " ": classes and ids with their sign, tests of attributes."""

    sign: str
    tag: str
    names: tuple[str, ...]
    tests: tuple[tuple[str, str | None], ...]

    def fits(self, element: Element) -> bool:
        """Whether the selector means an element, wherever it stands."""
        tag, attributes = element
        classes = attributes.get("class", "").split()
        return (
            self.tag in ("*", tag)
            and all(n[1:] in classes if n[0] == "." else attributes.get("id") == n[1:] for n in self.names)
            and all(key in attributes and value in (None, attributes[key]) for key, value in self.tests)
        )


class Selector(NamedTuple):
    """A chain of simple selectors, the innermost last, and why what it selects is hidden."""

    parts: tuple[Simple, ...]
    reason: str


def hidden(tag: str, attributes: Mapping[str, str]) -> str:
    """Why a page does not show an element, by its name, its attributes and its own style; empty where it does."""
    if tag in NO_TEXT:
        return HIDDEN + NO_TEXT[tag]
    if "hidden" in attributes:
        return f"{HIDDEN}hidden"
    if tag == "dialog" and "open" not in attributes:
        return f"{HIDDEN}dialog"
    reason = hiding(declarations(attributes["style"])) if "style" in attributes else ""
    return HIDDEN + reason if reason else ""


def declarations(style: str | Sequence[Any]) -> dict[str, str]:
    """The properties of a style, a text or its tokens: values in lower case, with single blanks."""
    import tinycss2

    parsed = tinycss2.parse_blocks_contents(style, skip_comments=True, skip_whitespace=True)
    return {part.lower_name: _text(part.value).lower() for part in parsed if part.type == "declaration"}


def _text(tokens: Iterable[Any]) -> str:
    """Tokens of CSS as a text with single blanks; empty where brackets nest too deep."""
    import tinycss2

    try:
        written = tinycss2.serialize([token for token in tokens if token.type not in ("comment", "error")])
    except RecursionError:
        return ""
    return " ".join(written.split())


def hiding(style: Mapping[str, str]) -> str:
    """The property by which a style hides its text; empty for none."""
    for name, pattern in _NEVER.items():
        if name in style and re.fullmatch(pattern, style[name]):
            return f"{name}:{style[name]}"
    if style.get("position") in ("absolute", "fixed"):
        for name in ("left", "top", "right", "bottom"):
            if re.fullmatch(_FAR, style.get(name, "")):
                return f"{name}:{style[name]}"
    if style.get("overflow", "").startswith(("hidden", "clip")):
        for name in ("width", "height", "max-height", "max-width"):
            if re.fullmatch(_ZERO, style.get(name, "")):
                return f"{name}:{style[name]}"
    back = _colour(style.get("background-color") or style.get("background", ""))
    return f"color:{style['color']} on the same" if back and back == _colour(style.get("color", "")) else ""


def _colour(text: str) -> Any:
    """A colour, however it is written; None where the text is none."""
    from tinycss2.color3 import parse_color

    return parse_color(text) if text else None


def sheet(text: str) -> tuple[tuple[Selector, ...], tuple[str, ...]]:
    """The selectors of a style sheet that hide what they select on a screen, and those that may, but are not read."""
    import tinycss2

    selectors, unread = [], []
    rules = tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)[::-1]
    while rules:
        rule = rules.pop()
        if rule.type == "at-rule" and rule.content is not None:
            if _SCREEN.fullmatch(f"{rule.at_keyword} {_text(rule.prelude)}".strip()):
                rules += tinycss2.parse_rule_list(rule.content)[::-1]
        if rule.type != "qualified-rule":
            continue
        rules += [part for part in tinycss2.parse_blocks_contents(rule.content) if part.type.endswith("-rule")][::-1]
        reason = hiding(declarations(rule.content))
        for text in _text(rule.prelude).split(",") if reason else ():
            if parts := _selector(text.strip()):
                selectors.append(Selector(parts, f"{HIDDEN}{reason} by the style {shortened(text.strip(), 60)}"))
            elif not _PASSING.search(text):
                unread.append(shortened(text, 80))
    return tuple(selectors), tuple(unread)


def _selector(text: str) -> tuple[Simple, ...] | None:
    """The parts of a selector, at most 16; None where there is another kind in it."""
    parts, at = [], 0
    while at < len(text) and len(parts) < 16:
        match = _SIMPLE.match(text, at)
        if not match or not (match["tag"] or match["rest"]) or (at and not match["sign"]):
            return None
        names = tuple(re.findall(r"[.#][\w-]+", re.sub(r"\[[^\]]*\]", "", match["rest"])))
        tested = _TEST.findall(match["rest"])
        tests = tuple((name, value.strip("\"'") if sign else None) for name, sign, value in tested)
        parts.append(Simple((match["sign"] or " ").strip() or " ", (match["tag"] or "*").lower(), names, tests))
        at = match.end()
    return tuple(parts) if parts and at == len(text) else None


def selected(selector: Selector, path: Sequence[Element]) -> bool:
    """Whether a selector means the last element of a path from the root; descendants are found from the inside out."""
    *outer, last = selector.parts
    if not path or not last.fits(path[-1]):
        return False
    at, sign = len(path) - 2, last.sign
    for part in reversed(outer):
        while sign == " " and at >= 0 and not part.fits(path[at]):
            at -= 1
        if at < 0 or not part.fits(path[at]):
            return False
        at, sign = at - 1, part.sign
    return True
