"""What a person sees in a notebook, instead of printed text: rules, sentences, guards, verdicts, results, progress.

Each function takes a value of the library and gives a table or a card (`cards`), or a figure with its still
picture (`picture`).  Nothing is computed here that is not already in the value.
"""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wb.domain.trace import Verdict
from wb.guards.runtime import Guarded
from wb.guards.synthesis import Complaint
from wb.logic import syntax
from wb.rules.rule import Rule, RuleSet
from wb.runs.cards import Badge, Card, Cards, Code, Part, Quote, Table, mapping, table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from wb.runs.picture import Drawn

RATES = ("accuracy", "precision", "recall", "fpr")
METHOD = ("method", "split", "n", *RATES, "undecided", "queries", "seconds")


def counts(title: str = "", **values: object) -> Table:
    """A few named numbers in one row; a name's underscores are read as blanks."""
    return table([{name.replace("_", " "): value for name, value in values.items()}], title=title)


def methods(rows: Iterable[Mapping[str, object]], title: str = "") -> Table:
    """A result table: rates in percent with their 95 % intervals, published rows marked; those not run are left out."""
    ran = [row for row in rows if not row.get("reason")]
    return table([{name: method_entry(row, name) for name in METHOD} for row in ran], *METHOD, title=title, fpr="FPR")


def rate(value: float | None, interval: Sequence[float] | None = None) -> str:
    """A fraction in percent with its interval, such as "97.0 [92, 99]"; "-" where nothing was counted."""
    if value is None:
        return "-"
    return f"{100 * value:.1f}" + (f" [{100 * interval[0]:.0f}, {100 * interval[1]:.0f}]" if interval else "")


def rule(one: Rule, ruleset: RuleSet, *, grade: str = "", vagueness: float | None = None) -> Card:
    """A rule: its sentence, its words, its formula, and what it binds: tools, tests, and facts that no field tells."""
    predicates = [ruleset.predicate(name) for name in one.predicates]
    tools = tuple(dict.fromkeys(tool for p in predicates for tool in p.tools))
    tests = tuple(Code(f"{p.name}: {p.test}") for p in predicates if p.kind == "state" and p.test is not None)
    facts = tuple(f"{p.name}: {p.description}" for p in predicates if p.kind == "state" and p.test is None)
    nothing = tuple(p.name for p in predicates if p.kind == "action" and not p.tools)
    return Card(
        one.id,
        grade or one.modality,
        (
            ("sentence", Quote(one.quote)),
            ("words", one.text if one.text != one.quote else ""),
            ("formula", Code(syntax.render(one.formula))),
            ("tools", ", ".join(tools)),
            ("tests", tests),
            ("no field tells", facts),
            ("no tool does", ", ".join(nothing)),
            ("made from", ", ".join(one.parents)),
            ("vagueness", "" if vagueness is None else f"{vagueness:.3f}"),
        ),
    )


def rules(ruleset: RuleSet, *ids: str, most: int = 3) -> Cards:
    """The rules with these ids, else the first ones, at most `most` of them."""
    found = [one for one in ruleset.rules if not ids or one.id in ids]
    return Cards(tuple(rule(one, ruleset) for one in found[:most]), max(len(found) - most, 0), "there is no rule")


def rule_table(ruleset: RuleSet, title: str = "") -> Table:
    """All rules, a row each."""
    rows = [
        {
            "rule": one.id,
            "force": Badge(one.modality),
            "sentence": one.quote or one.text,
            "formula": Code(syntax.render(one.formula)),
            "tools": ", ".join(dict.fromkeys(tool for p in ruleset.actions(one) for tool in p.tools)) or "-",
        }
        for one in ruleset.rules
    ]
    return table(rows, "rule", "force", "sentence", "formula", "tools", title=title)


def sentence(reading: object) -> Card:
    """A sentence of the document: its class, why, and what follows from it. Takes a `Reading` or its row."""
    row = mapping(reading)
    return Card(
        str(row["id"]),
        str(row["cls"]),
        (
            ("sentence", Quote(str(row["text"]))),
            ("under", " / ".join(row["headings"])),
            ("because", str(row["reason"])),
            ("rules", ", ".join(row["rules"])),
            ("bears on", ", ".join(row["tools"])),
        ),
    )


def sentences(readings: Iterable[object], *classes: str, title: str = "") -> Table:
    """The sentences of a document (all, or of these classes), a row each, with class, reason, rules and tools."""
    rows = [mapping(reading) for reading in readings]
    shown = [
        {
            "class": Badge(str(row["cls"])),
            "sentence": row["text"],
            "because": row["reason"],
            "rules": ", ".join(row["rules"]),
            "bears on": _few(row["tools"]),
        }
        for row in rows
        if not classes or row["cls"] in classes
    ]
    return table(shown, "class", "sentence", "because", "rules", "bears on", title=title)


def guard(entry: Guarded, complaints: Sequence[Complaint] = (), *, claim: str = "") -> Card:
    """A tool's guard: what is claimed of it, its rules, its code, and what speaks against it."""
    said = tuple(dict.fromkeys(f"{item.rule}: {item.text}" for item in entry.contract.items))
    return Card(
        entry.contract.tool,
        claim or entry.grade,
        (
            ("rules", said or ("no rule",)),
            ("code", Code(entry.source, "python")),
            ("why not better", entry.reason),
            *((f"found by {c.check}", _complaint(c)) for c in complaints),
        ),
    )


def verdict(given: Verdict, ruleset: RuleSet | None = None, *, of: str = "", readings: Iterable[object] = ()) -> Card:
    """A decision: its reason, the violated rules with their sentences, what is missing, which sentences are open."""
    known = {one.id: one.quote or one.text for one in (ruleset.rules if ruleset else ())}
    quoted = dict(zip(given.violated, getattr(given, "quotes", ()), strict=False))
    texts = {str(row["id"]): str(row["text"]) for row in map(mapping, readings)}
    broken = tuple(
        (name, Quote(text)) if (text := quoted.get(name) or known.get(name)) else name for name in given.violated
    )
    unread = tuple((name, Quote(texts[name])) if name in texts else name for name in getattr(given, "open", ()))
    return Card(
        of or "verdict",
        given.decision,
        (
            ("because", given.reason),
            ("violated", broken),
            ("missing", ", ".join(getattr(given, "missing", ()))),
            ("open", unread),
            ("evidence", given.grade if given.grade != "none" else ""),
        ),
    )


def figure(drawn: Figure) -> Drawn | Card:
    """A figure with its still picture; where it holds no point, a sentence says so instead of empty axes."""
    from wb.runs import plots
    from wb.runs.picture import Drawn

    if plots.empty(drawn):
        return Card(drawn.layout.title.text or "figure", "", (("not drawn", "there is nothing to draw"),))
    return Drawn(drawn)


@dataclass(slots=True)
class Progress:
    """A line in the notebook that says how far a long step is; what stays in the file is its last state.

        verifier = nagini.Verifier(cache=…, tell=show.Progress("proofs"))

    It is called with how many are done, and of how many; where all are, the next call begins a line of its own,
    in the cell that runs then.  Outside a notebook it says nothing.
    """

    what: str
    every_s: float = 0.3
    _line: object = field(default=None, init=False)
    _began: float = field(default=0.0, init=False)
    _said: float = field(default=0.0, init=False)

    def __call__(self, done: int, of: int) -> None:
        """Show that `done` of `of` are done."""
        now = time.monotonic()
        if self._line is None:
            if done >= of:
                return  # nothing had to be waited for
            self._began = now
        took = now - self._began
        if done >= of:
            self._say(f"{self.what}: {of} in {took:.1f} s", "")
            self._line = None
        elif self._line is None or now - self._said >= self.every_s:
            self._said = now
            bar = f'<progress max="{of}" value="{done}"></progress> '
            self._say(f"{self.what}: {done} of {of}, {took:.0f} s", bar)

    def _say(self, text: str, bar: str) -> None:
        if _shell() is None:
            return
        from IPython.display import display

        said = {"text/plain": text, "text/html": bar + html.escape(text)}
        if self._line is None:
            self._line = display(said, raw=True, display_id=True)
        else:
            self._line.update(said, raw=True)


def _shell() -> object | None:
    """The notebook's shell, if this runs in one."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    return shell if shell is not None and hasattr(shell, "kernel") else None


def method_entry(row: Mapping[str, object], column: str) -> object:
    """What a row of the result table says in a column; None where it says nothing."""
    value = row.get(column)
    if column == "method":
        model = f" ({row['model']})" if row.get("published") and row.get("model") else ""
        return f"{value}{model}" + (", published" if row.get("published") else "")
    if column in RATES:
        return rate(value, (row.get("intervals") or {}).get(column))
    return round(value, 1) if isinstance(value, float) else value


def _complaint(complaint: Complaint) -> Part:
    """What a check found wrong, with the arguments that show it."""
    if not complaint.arguments:
        return complaint.message
    call = ", ".join(f"{name}={value!r}" for name, value in complaint.arguments)
    wanted = {True: "must be allowed", False: "must be denied", None: ""}[complaint.allowed]
    return (complaint.message, Code(f"{call}  {wanted}".rstrip()))


def _few(names: Sequence[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
