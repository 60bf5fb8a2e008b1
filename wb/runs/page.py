"""The page in which a policy is reviewed: the widget that shows a desk and hears what is done there.

It lays texts out, never as markup (`review.js`).  What is shown, and what comes of an act, is made by who reviews:
`review` the sentences of a document, `item_review` the policy items of its tools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from wb.domain.document import Sentence
from wb.domain.policy import Policy, pieces
from wb.rules import entries
from wb.rules.decisions import DecisionError
from wb.rules.edits import EditError

PAGE = Path(__file__).with_name("review.js")
STYLE = Path(__file__).with_name("review.css")


def laid_out(policy: Policy) -> Iterator[tuple[Sentence, dict[str, object]]]:
    """The pieces of the document, each with its text and how it is laid out."""
    last = None
    for piece in pieces(policy):
        between = policy.text[last.end : piece.start] if last else "\n\n"
        breaks = piece.kind != "prose" or last.kind != "prose" or bool(between.strip()) or between.count("\n") > 1
        text = piece.said if piece.kind != "gap" else piece.text
        yield piece, {"text": visible(text), "kind": piece.kind, "breaks": breaks}
        last = piece


def visible(text: str) -> str:
    """A text with blanks folded, and what cannot be seen or turns others round written by its number."""
    return "".join(c if c.isprintable() else f"⟨U+{ord(c):04X}⟩" for c in " ".join(text.split()))


@lru_cache(maxsize=1)
def page() -> type:
    """What both reviews have of a widget: a subclass says what it looks at (`looks`) and does (`do`), shows it (`see`),
    and which of the two it is (`of`)."""
    import anywidget
    import traitlets

    class Page(anywidget.AnyWidget):
        """Texts and classes go to the page, acts come back; both are plain data."""

        _esm = PAGE.read_text("utf-8")
        _css = STYLE.read_text("utf-8")
        rows = traitlets.List().tag(sync=True)
        shown = traitlets.Dict().tag(sync=True)
        stale = traitlets.List().tag(sync=True)
        told = traitlets.Dict().tag(sync=True)
        file = traitlets.Unicode().tag(sync=True)
        heard = traitlets.Int().tag(sync=True)  # how many acts were done or refused

        def __init__(self, desk: object) -> None:
            super().__init__(file=desk.file.name)
            self.desk, self.times = desk, 0
            self.see(self.looks(desk))
            self.on_msg(lambda _widget, content, _buffers: self.hear(content))

        def hear(self, content: object) -> None:
            """Do what the page asks, and tell what came of it."""
            try:
                self.do(content)
            except (ValueError, OSError) as error:
                self.tell(f"refused, nothing was written: {error}", False)
            finally:
                self.heard += 1

        def take(self, asked: object, act: Callable) -> None:
            """Show what is there once an act is done, also where it is refused for what somebody else wrote."""
            try:
                self.see(self.fresh() if asked.act == "pick" else act(self.desk, self.seen, asked))
            except (DecisionError, EditError):
                self.see(self.fresh())
                raise

        def fresh(self) -> object:
            """What was looked at, or what is there now where the file was changed since."""
            return self.seen if entries.stamp(self.desk.file) == self.seen.stamp else self.looks(self.desk)

        def tell(self, text: str, good: bool) -> None:
            self.times += 1
            self.told = {"text": text, "good": good, "times": self.times}

    return Page
