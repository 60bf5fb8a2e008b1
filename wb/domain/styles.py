"""What hides the text of an element on a screen: its name, its attributes, its own style and the style sheets.

Selectors of elements, classes, ids, attributes, descendants and children are applied, and one rule that hides is
enough.  Any other selector of a rule that hides is named as not applied.  CSS is read by tinycss2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

HIDDEN = "hidden: "
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
SPOKEN = ("title", "alt", "placeholder", "aria-label", "aria-description", "content", "label", "summary")
NO_TEXT = {
    "script": "script", "style": "style sheet", "template": "template", "noscript": "noscript", "title": "page title",
    "iframe": "iframe", "object": "object", "video": "video", "audio": "audio", "canvas": "canvas",
    "datalist": "datalist", "noframes": "noframes", "noembed": "noembed", "rp": "rp",
}  # fmt: skip
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
                selectors.append(Selector(parts, f"{HIDDEN}{reason} by the style {text.strip()[:60]}"))
            elif not _PASSING.search(text):
                unread.append(text.strip()[:80])
    return tuple(selectors), tuple(unread)


def _selector(text: str) -> tuple[Simple, ...] | None:
    """The parts of a selector, at most 16; None where there is another kind in it."""
    parts, at = [], 0
    while at < len(text) and len(parts) < 16:
        match = _SIMPLE.match(text, at)
        if not match or not (match["tag"] or match["rest"]) or (at and not match["sign"]):
            return None
        names = tuple(re.findall(r"[.#][\w-]+", re.sub(r"\[[^\]]*\]", "", match["rest"])))
        tests = tuple(
            (name, value.strip("\"'") if sign else None) for name, sign, value in _TEST.findall(match["rest"])
        )
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
