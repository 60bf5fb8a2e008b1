"""What a reader sees of a text: hidden text set aside, spellings that no eye can tell apart made one.

A text is normalised here and nowhere else, and each character that is left knows its place, so that a quotation is
still a piece of the document.  Left out are characters without a width (Unicode's default-ignorable ones), tags that
only dress their text, link addresses, footnote marks, and text that is hidden: comments, `hidden`, `display:none`
and their like, titles of links, texts of images.  Blanks of any width are blanks; letters of another width or weight
are the letter.  What would change words is kept as it is, and whoever reads the sentence must say so: characters
that turn the order round, look-alike letters of other scripts, raised digits behind a number.

Style sheets: selectors of elements, classes, ids, attributes, descendants and children are applied as on a screen,
and one rule that hides is enough.  Any other selector is named as not applied.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

HIDDEN = "hidden: "
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
_NO_TEXT = {
    "script": "script", "style": "style sheet", "template": "template", "noscript": "noscript", "title": "page title",
    "iframe": "iframe", "object": "object", "video": "video", "audio": "audio", "canvas": "canvas",
    "datalist": "datalist", "noframes": "noframes", "noembed": "noembed", "rp": "rp",
}  # fmt: skip
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_DRESS = frozenset(
    "a abbr acronym b bdi big cite code data dfn em font i kbd label mark q samp small span strong time tt u"
    " var".split()
)
_BLOCKS = frozenset(
    "address article aside blockquote center details div figure figcaption footer header hr main nav p section summary"
    " h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table thead tbody tfoot tr td th br img input wbr link meta form".split()
)
SPOKEN = ("title", "alt", "placeholder", "aria-label", "aria-description", "content", "label", "summary")


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
    outer = sorted([*known, *(_markup(text) if markup else ())])
    starts, ends = [e.start for e in outer], [e.end for e in outer]
    inner = []
    for found in _CHARACTERS.finditer(text):
        at = bisect_right(starts, found.start()) - 1
        if at < 0 or found.start() >= ends[at]:
            inner.append(_character(found))
    edits = [edit for edit in sorted([*outer, *filter(None, inner)])]
    return _applied(text, edits) if edits else plain(text)


def _character(found: re.Match[str]) -> Edit | None:
    kind, text, (start, end) = found.lastgroup, found.group(), found.span()
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
    kept, seen, cursor = [], [], 0
    for found in re.finditer(r"(?:(?<=\n)|\A)[ \t]*+\0[ \t\0]*+(?:\r?\n|\Z)|\0", whole):
        kept.append(whole[cursor : found.start()])
        seen += places[cursor : found.start()]
        cursor = found.end()
    return Seen("".join([*kept, whole[cursor:]]), [*seen, *places[cursor:]], ends, tuple(left))


def _markup(text: str) -> list[Edit]:
    return _Markup(text).edits()


class _Markup:
    """One walk over a Markdown text from left to right; lives only inside `read`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[Edit] = []
        self.opened: list[re.Match[str]] = []
        self.blank_lines = [m.start() for m in re.finditer(r"\n[ \t]*\r?(?=\n)", text)]
        self.runs: dict[int, list[int]] = {}
        for run in re.finditer("`+", text):
            self.runs.setdefault(len(run.group()), []).append(run.start())
        self.unclosed: dict[str, int] = {}

    def edits(self) -> list[Edit]:
        """What a page made of this Markdown would not show."""
        at, opening = 0, 0
        while found := _MARKUP.search(self.text, at):
            if bisect_left(self.blank_lines, opening) < bisect_left(self.blank_lines, found.start()):
                self.opened.clear()  # a link does not go on behind a blank line
            opening = found.start()
            at = getattr(self, f"_{found.lastgroup}")(found)
        return self.found

    def _put(self, start: int, end: int, new: str, reason: str) -> int:
        self.found.append(Edit(start, end, new, reason))
        return end

    def _escape(self, found: re.Match[str]) -> int:
        return found.end()

    def _fence(self, found: re.Match[str]) -> int:
        """Code is seen as it is written, if the fence has an end."""
        mark = found.group().lstrip(" \t>-*+0123456789.)")
        size = self.unclosed.get(mark[0], len(mark) + 1)
        end = re.compile(rf"^[ \t>]*+{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$", re.MULTILINE)
        close = end.search(self.text, found.end()) if len(mark) < size else None
        if close is None:
            self.unclosed[mark[0]] = min(size, len(mark))
        return close.end() if close else found.end()

    def _ticks(self, found: re.Match[str]) -> int:
        """A code span is seen as it is written."""
        places = self.runs[len(found.group())] if len(found.group()) in self.runs else []
        k = bisect_left(places, found.end())
        if k == len(places) or self._parted(found.end(), places[k]):
            return found.end()
        return places[k] + len(found.group())

    def _parted(self, start: int, end: int) -> bool:
        k = bisect_left(self.blank_lines, start)
        return k < len(self.blank_lines) and self.blank_lines[k] < end

    def _runs_on(self, start: int, end: int) -> str:
        """What stands for a hidden block: nothing, and the line goes too where a sentence runs on around it."""
        before = re.search(r"[a-z,][ \t]*\r?\n[ \t>]*\Z", self.text[max(0, start - 100) : start])
        return "\0" if before and re.compile(r"[ \t]*\r?\n[ \t>]*[a-z]").match(self.text, end) else ""

    def _line_before(self, at: int) -> str:
        return self.text[max(0, at - 40) : at].rpartition("\n")[2]

    def _comment(self, found: re.Match[str]) -> int:
        start = found.start()
        close = re.compile(r"(?<=<!--)-?>|--!?>").search(self.text, found.end())
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

    def _order(self, found: re.Match[str]) -> int:
        """A processing instruction, a declaration, or a CDATA section."""
        mark = "?>" if found.group() == "<?" else "]]>" if self.text.startswith("<![CDATA[", found.start()) else ">"
        end = self.text.find(mark, found.end(), found.end() + 10_000)
        return found.end() if end < 0 else self._put(found.start(), end + len(mark), "", f"{HIDDEN}declaration")

    def _raised(self, found: re.Match[str]) -> int:
        if notes(self.text[max(0, found.start() - 12) : found.start()]):
            return self._put(*found.span(), "", "footnote mark")
        return found.end()

    def _tag(self, found: re.Match[str]) -> int:
        text = found.group()
        name = re.match("</?([A-Za-z][A-Za-z0-9-]*)", text).group(1).lower()
        attributes = _attributes(text[1 + len(name) :]) if text[1] != "/" else {}
        reason = hidden(name, attributes) if text[1] != "/" else ""
        if reason and name not in VOID and not text.endswith("/>"):
            return self._element(found, name, reason)
        if name not in _DRESS and name not in _BLOCKS and name not in _NO_TEXT:
            return found.end()
        told = next((key for key in SPOKEN if len(attributes.get(key, "").split()) > 1), "")
        inline = name in _DRESS or name in ("img", "input", "wbr", "link", "meta")
        before, after = self._line_before(found.start()), self.text[found.end() : found.end() + 1]
        edge = not re.sub(r"</?[^<>]*>|[ \t>*+\-\d.)]", "", before) or after in ("\n", "\r", "")
        new = "" if inline else " " if name == "br" else "" if edge else "\n\n"
        return self._put(*found.span(), new, f"{HIDDEN}{told}" if told and not new else "tag")

    def _element(self, found: re.Match[str], name: str, reason: str) -> int:
        """All of a hidden element, to its own end."""
        depth = 1
        for tag in re.compile(rf"<(/?){name}(?=[\s/>])[^<>]*>", re.I).finditer(self.text, found.end()):
            depth += -1 if tag.group(1) else 0 if tag.group().endswith("/>") else 1
            if depth == 0 or (tag.group(1) and name in _NO_TEXT):
                new = "\0" if name in _DRESS else self._runs_on(found.start(), tag.end())
                return self._put(found.start(), tag.end(), new, reason)
        raise VisibleError(f"{self._line(found.start())}: an end </{name}> of the hidden <{name}> was required; got "
                           "none: it hides all that follows: add it")  # fmt: skip

    def _open(self, found: re.Match[str]) -> int:
        note = re.compile(r"\[\^[^\]\s]{1,40}\]").match(self.text, found.end() - 1)
        if note:
            return note.end()
        self.opened.append(found)
        return found.end()

    def _close(self, found: re.Match[str]) -> int:
        if self.opened:
            self.opened.pop()
        return found.end()

    def _link(self, found: re.Match[str]) -> int:
        """The address and title of a link or an image; the text of an image is its stand-in, not the page's."""
        if not self.opened:
            return found.start() + 2
        opener = self.opened.pop()
        if opener.group() == "![":
            while self.found and self.found[-1].start >= opener.start():
                self.found.pop()
            return self._put(opener.start(), found.end(), "", f"{HIDDEN}image")
        told = len(re.sub(r"\A\]\(\s*<?|\)\Z", "", found.group()).split()) > 1
        self._put(*opener.span(), "", "tag")
        return self._put(*found.span(), "", f"{HIDDEN}link title" if told else "link address")

    def _entity(self, found: re.Match[str]) -> int:
        """A letter, a blank or another sign of no meaning to Markdown is what it stands for."""
        new = html.unescape(found.group())
        if len(new) == 1 and (new.isalnum() or new in "'\"" or not new.isascii()):
            special = _CHARACTERS.fullmatch(new)
            edit = _character(special) if special else None
            seen = edit.new if edit else new
            return self._put(*found.span(), seen, "" if seen.strip() else "invisible character")
        return found.end()


def notes(before: str) -> bool:
    """Whether a raised sign behind that text is a footnote's mark: it follows a word or a stop, no number or unit."""
    return re.search(rf"{_AFTER_WORD}\Z", before) is not None


def _attributes(text: str) -> dict[str, str]:
    found = {}
    for name, *values in _ATTRIBUTES.findall(text):
        found.setdefault(name.lower(), html.unescape("".join(values)))
    return found


def hidden(tag: str, attributes: Mapping[str, str]) -> str:
    """Why a page does not show an element, by its name, its attributes and its own style; empty where it does."""
    if tag in _NO_TEXT:
        return HIDDEN + _NO_TEXT[tag]
    if "hidden" in attributes:
        return f"{HIDDEN}hidden"
    if tag == "dialog" and "open" not in attributes:
        return f"{HIDDEN}dialog"
    why = hiding(declarations(attributes["style"])) if "style" in attributes else ""
    return HIDDEN + why if why else ""


def declarations(style: str) -> dict[str, str]:
    """The properties of a style, in lower case without blanks."""
    found = {}
    for part in re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL).split(";"):
        name, _, value = part.partition(":")
        value = re.sub(r"\s*!\s*important\s*\Z", "", value.strip(), flags=re.I)
        found[name.strip().lower()] = re.sub(r"\s+", " ", value.strip().lower())
    return found


def hiding(style: Mapping[str, str]) -> str:
    """The property by which a style hides its text; empty for none."""
    zero, far = r"[+-]?0*\.?0+(?:[a-z]+|%)?", r"-\d{3,}(?:\.\d+)?(?:px|em|rem|pt|vw|vh|%)?"
    never = {
        "display": "none",
        "visibility": "hidden|collapse",
        "font-size": zero,
        "opacity": zero,
        "color": "transparent",
        "text-indent": far,
        "clip": r"rect\((?:0|0px|1px|,| )+\)",
        "clip-path": r"inset\((?:50|100)%\)|circle\(0(?:px|%)?\)",
        "content-visibility": "hidden",
        "transform": r"scale(?:[xy])?\(0(?:, ?0)?\)",
        "filter": r"opacity\(0%?\)",
    }
    for name, pattern in never.items():
        if name in style and re.fullmatch(pattern, style[name]):
            return f"{name}:{style[name]}"
    if style.get("position") in ("absolute", "fixed"):
        for name in ("left", "top", "right", "bottom"):
            if re.fullmatch(far, style.get(name, "")):
                return f"{name}:{style[name]}"
    if style.get("overflow", "").startswith(("hidden", "clip")):
        for name in ("width", "height", "max-height", "max-width"):
            if re.fullmatch(zero, style.get(name, "")):
                return f"{name}:{style[name]}"
    back = _colour(style.get("background-color") or style.get("background", ""))
    if back and back == _colour(style.get("color", "")):
        return f"color:{style['color']} on the same"
    return ""


def _colour(text: str) -> str:
    names = {"white": "ffffff", "black": "000000"}
    value = names.get(text, text.removeprefix("#"))
    return "".join(c * 2 for c in value) if len(value) == 3 else value


class Selector(NamedTuple):
    """A chain of simple selectors, the innermost last; each has the sign before it, ">" or " "."""

    parts: tuple[tuple[str, str, tuple[str, ...], tuple[tuple[str, str | None], ...]], ...]
    why: str


_SIMPLE = re.compile(
    r"(?P<sign>\s*>\s*|\s+)?(?P<tag>\*|[A-Za-z][\w-]*)?"
    r"""(?P<rest>(?:[.#][\w-]+|\[[\w-]+(?:=(?:"[^"]*"|'[^']*'|[\w-]+))?\])*)"""
)


def sheet(text: str) -> tuple[tuple[Selector, ...], tuple[str, ...]]:
    """The selectors of a style sheet that hide what they select on a screen, and those that may, but are not read."""
    found, unread = [], []
    text = re.sub(r"/\*.*?\*/|<!--|-->", " ", text, flags=re.DOTALL)
    outer: list[bool] = []  # of each group that is open, whether it holds on a screen
    for rule in re.finditer(r"([^{};]*)(\{|\}|;)", text):
        head, mark = rule[1].strip(), rule[2]
        if mark == "}" and outer:
            outer.pop()
        if mark != "{":
            continue
        if head.startswith("@"):
            on = re.fullmatch(r"@(?:media\s+(?:only\s+)?(?:screen|all)|layer\b[^(]*|supports\b.*)", head, re.I | re.S)
            outer.append(bool(on) and all(outer[-1:]))
            continue
        end = text.find("}", rule.end(), rule.end() + 10_000)
        body = text[rule.end() : end if end >= 0 else rule.end() + 10_000]
        outer.append(all(outer[-1:]))
        why = hiding(declarations(body)) if outer[-1] else ""
        for one in head.split(",") if why else ():
            selector = _selector(one.strip(), why)
            if selector:
                found.append(selector)
            elif not re.search(r":{1,2}(?:before|after|hover|focus|active|visited|empty|placeholder)", one):
                unread.append(" ".join(one.split())[:80])
    return tuple(found), tuple(unread)


def _selector(text: str, why: str) -> Selector | None:
    parts, at = [], 0
    while at < len(text) and len(parts) < 16:
        found = _SIMPLE.match(text, at)
        if not found or found.end() == at or not (found["tag"] or found["rest"]) or (at and not found["sign"]):
            return None
        names = tuple(re.findall(r"[.#][\w-]+", re.sub(r"\[[^\]]*\]", "", found["rest"])))
        tests = tuple(
            (name, value.strip("\"'") if given else None)
            for name, given, value in re.findall(r"\[([\w-]+)(=)?([^\]]*)\]", found["rest"])
        )
        parts.append(((found["sign"] or " ").strip() or " ", (found["tag"] or "*").lower(), names, tests))
        at = found.end()
    return Selector(tuple(parts), f"{HIDDEN}{why} by the style {text[:60]}") if parts and at == len(text) else None


Element = tuple[str, Mapping[str, str]]


def selected(selector: Selector, path: Sequence[Element]) -> bool:
    """Whether a selector means the last element of a path from the root; descendants are found from the inside out."""
    *outer, (sign, *last) = selector.parts
    if not path or not _is(path[-1], *last):
        return False
    at = len(path) - 2
    for mark, *one in reversed(outer):
        if sign == ">":
            if at < 0 or not _is(path[at], *one):
                return False
        else:
            while at >= 0 and not _is(path[at], *one):
                at -= 1
            if at < 0:
                return False
        sign, at = mark, at - 1
    return True


def _is(element: Element, tag: str, names: tuple[str, ...], tests: tuple[tuple[str, str | None], ...]) -> bool:
    own, attributes = element
    classes = attributes.get("class", "").split()
    return (
        tag in ("*", own)
        and all(n[1:] in classes if n[0] == "." else attributes.get("id") == n[1:] for n in names)
        and all(name in attributes and value in (None, attributes[name]) for name, value in tests)
    )
