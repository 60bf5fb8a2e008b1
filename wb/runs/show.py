"""What a person sees in a notebook, instead of printed text: rules, sentences, verdicts, results.

Each function takes a value of the library and gives a table or a card (`cards`).  Guards are shown by
`guard_cards`, figures by `plots`, so that a stage depends on no more than it shows.  At the end stands the page in
which a policy is reviewed, by `review` its sentences and by `item_review` the policy items of its tools: it lays texts
out, never as markup (`review.js`), and sends back what a person does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from wb.domain.document import Sentence
from wb.domain.policy import Clause, Policy, pieces
from wb.domain.trace import Verdict
from wb.logic import cel, syntax
from wb.logic.wording import shortened
from wb.rules import entries, extract, understood
from wb.rules.extract import CLASSES, Extracted
from wb.rules.questions import Question
from wb.rules.requirements import Requirement
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.vocabulary import Vocabulary
from wb.runs import cards
from wb.runs.cards import Badge, Card, Cards, Note, Quote, Source, Stack, Table, listed, mapping, table

RATES = ("accuracy", "precision", "recall", "fpr")
note = Note
PAGE = Path(__file__).with_name("review.js")
STYLE = Path(__file__).with_name("review.css")
METHOD = ("method", "split", "n", *RATES, "undecided", "queries", "seconds")


def counts(title: str = "", **values: object) -> Table:
    """A few named numbers in one row; a name's underscores are read as blanks."""
    return table([{name.replace("_", " "): value for name, value in values.items()}], title=title)


def tally(values: Iterable[object], name: str, title: str = "") -> Table:
    """How often each value occurs, the most frequent first."""
    return listed(f"{name}, how many", ((Badge(str(v)), n) for v, n in Counter(values).most_common()), title)


def methods(rows: Iterable[Mapping[str, object]], title: str = "") -> Table:
    """A result table: rates in percent with their 95 % intervals, published rows marked; those not run are left out."""
    ran = [row for row in rows if not row.get("reason")]
    return table([{name: method_entry(row, name) for name in METHOD} for row in ran], *METHOD, title=title, fpr="FPR")


def shares(rows: Iterable[Mapping[str, object]], columns: Sequence[str], title: str = "", none: str = "") -> Table:
    """Rows in which these columns are shares of 1, in percent, as are those that `intervals` gives the ends of; what is
    not known is a dash."""

    def shown(row: Mapping[str, object]) -> dict[str, object]:
        ends = row.get("intervals", {})
        told = {k: v for k, v in row.items() if k != "intervals"}
        return {k: rate(v, ends.get(k)) if k in {*columns, *ends} else "-" if v is None else v for k, v in told.items()}

    return table(map(shown, rows), title=title, none=none)


def ranges(rows: Iterable[Mapping[str, object]], title: str = "") -> Table:
    """Rows in which a share of 1 that has ends (`X`, `X from`, `X to`) is one text in percent; without a value a
    dash."""
    shown = []
    for row in rows:
        ends = {key: (row[f"{key} from"], row[f"{key} to"]) for key in row if f"{key} from" in row}
        kept = {k: v for k, v in row.items() if k.removesuffix(" from").removesuffix(" to") not in ends or k in ends}
        shown.append({k: rate(v, ends[k]) if k in ends else "-" if v is None else v for k, v in kept.items()})
    return table(shown, title=title)


def rate(value: float | None, interval: Sequence[float] | None = None) -> str:
    """A fraction in percent with its interval, such as "97.0 [92, 99]"; "-" where nothing was counted."""
    if value is None:
        return "-"
    return f"{100 * value:.1f}" + (f" [{100 * interval[0]:.0f}, {100 * interval[1]:.0f}]" if interval else "")


def rule(shown: Rule, ruleset: RuleSet) -> Card:
    """A rule: its sentence, its words, its paraphrase, its formula, and what it binds: tools, tests, and facts that
    no field gives."""
    predicates = [ruleset.predicate(name) for name in shown.predicates]
    actions, states = ([p for p in predicates if p.kind == kind] for kind in ("action", "state"))
    parts = {
        "sentence": Quote(shown.quote),
        "words": shown.text if shown.text != shown.quote else "",
        "understood": understood.words(shown, ruleset),
        "formula": Source(syntax.render(shown.formula)),
        "tools": ", ".join(dict.fromkeys(tool for p in actions for tool in p.tools)),
        "tests": tuple(Source(f"{p.name}: {cel.render(p.test)}") for p in states if p.test is not None),
        "objects": tuple(f"{p.name}: {', '.join(map(cel.render, p.objects))}" for p in predicates if p.objects),
        "no field tells": tuple(f"{p.name}: {p.description}" for p in states if p.test is None),
        "no tool does": ", ".join(p.name for p in actions if not p.tools),
        "made from": ", ".join(shown.parents),
    }
    return Card(shown.id, shown.modality, tuple(parts.items()))


def rules(ruleset: RuleSet, *ids: str, most: int = 3) -> Cards:
    """The rules with these ids, else the first ones, at most `most` of them."""
    picked = [rule(each, ruleset) for each in ruleset.rules if not ids or each.id in ids]
    return cards.first(picked, most, "there is no rule")


def rule_table(ruleset: RuleSet) -> Table:
    """All rules, a row each."""
    rows = []
    for each in ruleset.rules:
        tools = ", ".join(dict.fromkeys(tool for p in ruleset.actions(each) for tool in p.tools)) or "-"
        formula, paraphrase = Source(syntax.render(each.formula)), understood.words(each, ruleset)
        rows.append((each.id, Badge(each.modality), each.quote or each.text, paraphrase, formula, tools))
    return listed("rule, force, sentence, understood, formula, tools", rows)


def vocabulary(words: Vocabulary) -> Table:
    """The acts and facts that all readers share, the disputed first: what each says, what it is bound to, by whom."""
    rows = []
    for entry in sorted(words.entries, key=lambda entry: not entry.disputed):
        told = entry.predicate
        kind = entry.does if told.kind == "action" else "question" if told.question else "test"
        by = Badge(entry.by if entry.usable else "disputed")
        rows.append((entry.name, kind, told.description, _bound(told), by, entry.disputed))
    return listed("name, kind, what it says, bound to, by, why", rows, none="no reader used any word")


def _bound(predicate: Predicate) -> str | Source:
    if predicate.kind == "action":
        return ", ".join(predicate.tools)
    if predicate.question:
        return f"{predicate.question} (words of {', '.join(predicate.speakers)})"
    return Source(cel.render(predicate.test)) if predicate.test is not None else ""


def agreements(found: Extracted) -> Table:
    """How many sentences readers agree on, differ on, or could not read; of the offline engine what was parsed."""
    grades = [one.grade or one.reason if one.cls != "open" else f"open: {one.reason}" for one in found.extracts]
    return tally((shortened(grade, 60) for grade in grades), "came to")


def levels(policy: Policy, found: Extracted) -> Table:
    """What each level of trust would put in force of the same readings: rules, and sentences by class."""
    rows = []
    for trust in extract.TRUST if found.readings and found.vocabulary and found.agreements else ():
        made = extract.settled(policy, found.vocabulary, found.readings, found.agreements, trust, found.binding)
        classes = Counter(one.cls for one in made.extracts)
        rows.append((trust, len(made.ruleset.rules), *(classes[cls] for cls in CLASSES)))
    none = "no reader but the grammar read this document: what it parsed whole is in force"
    return listed(", ".join(("trust, rules in force", *CLASSES)), rows, none=none)


def clauses(given: Iterable[Clause]) -> Table:
    """Clauses with the place that they are quoted from."""
    rows = ((c.id, (c.headings or ("",))[-1], c.text, f"{c.start}–{c.end}") for c in given)
    return listed("clause, under, sentence, place", rows, none="there is no clause")


def changes(proposed: Iterable[object], title: str = "") -> Table:
    """Proposed changes of a rule set (`certify.Change`), each with its certificate or the reason of its refusal."""
    rows = [
        {"change": c.kind, "of": ", ".join(c.before), "certificate": c.certificate, "lost": c.loss} for c in proposed
    ]
    lost = ["lost"] if any(row["lost"] for row in rows) else []
    return table(rows, "change", "of", "certificate", *lost, title=title, none="there is none")


def sentences(readings: Iterable[object], *classes: str) -> Table:
    """The sentences of a document (all, or of these classes), a row each, with class, reason, rules and tools; of two
    readings that differ the run on which they part."""
    rows = []
    for row in map(mapping, readings):
        if not classes or row["cls"] in classes:
            why, rules = " | ".join((row["reason"], *row.get("apart", ()))), ", ".join(row["rules"])
            rows.append((Badge(str(row["cls"])), row["text"], why, rules, _few(row["tools"])))
    return listed("class, sentence, because, rules, bears on", rows)


def questions(found: Iterable[Question]) -> Table:
    """What a person has to decide of the policy, a question a row, with the run that tells the answers apart."""
    rows = []
    for one in found:
        answer = Badge("assumed") if one.assumed else ""
        asks = one.assumed or one.asks
        rows.append((Badge(one.kind), Quote(one.text), asks, " | ".join(one.run), _few(one.tools), answer))
    heads = "kind, sentence, to be decided, told apart by, waits, answer"
    return listed(heads, rows, none="nothing has to be decided")


def requirements(found: Iterable[Requirement]) -> Table:
    """The final requirements, a sentence a row: what was decided, by whom or what, why, and what it demands."""
    rows = ((Badge(one.decision), Quote(one.text), one.by, one.why, "; ".join(one.requirements)) for one in found)
    return listed("decision, sentence, by, why, requirement", rows, none="no sentence was decided")


def verdict(given: Verdict, ruleset: RuleSet, *, of: str = "verdict") -> Card:
    """A decision: its reason, the violated rules with their sentences, what is missing, which sentences are open."""
    quotes = {each.id: each.quote or each.text for each in ruleset.rules}
    quotes |= dict(zip(given.violated, given.quotes, strict=False))
    broken = tuple((name, Quote(quotes[name])) if quotes.get(name) else name for name in given.violated)
    parts = {"because": given.reason, "violated": broken, "missing": ", ".join(given.missing), "open": given.open}
    parts["evidence"] = given.grade if given.grade != "none" else ""
    return Card(of, given.decision, tuple(parts.items()))


def verdicts(given: Iterable[tuple[str, Verdict]], ruleset: RuleSet, most: int = 3) -> Cards:
    """Decisions, each under the name of its case, at most `most` of them."""
    return cards.first([verdict(each, ruleset, of=name) for name, each in given], most, "no case was judged")


def weighed(given: Iterable[tuple[Rule, float]], title: str = "") -> Table:
    """Rules with their weights."""
    rows = ((each.id, weight, Source(syntax.render(each.formula))) for each, weight in given)
    return listed("rule, weight, formula", rows, title, "there is no rule")


def by_rule(counts: Mapping[str, Mapping[str, int]]) -> Table:
    """For each rule, how many of the calls that it stopped were to be stopped (`denied`), and how many not."""
    rows = ((name, n["denied"], n["allowed"]) for name, n in counts.items())
    return listed("rule, stopped rightly, stopped wrongly", rows, none="no rule stopped anything")


def pairs(rows: Iterable[Mapping[str, object]]) -> Table:
    """Two methods each: the cases that only one of them got right, and McNemar's p."""
    heads = {"only_first": "only the first is right", "only_second": "only the second is right"}
    return table(rows, "first", "second", *heads, "p", none="there are no two methods to compare", **heads)


def findings(lines: Iterable[str], none: str = "nothing was found") -> Table:
    """What a stage found to be other than it should be, one a row."""
    return listed("finding", ((line,) for line in lines), none=none)


def stack(*parts: Table | Cards | Card | Note) -> Stack:
    """Several things that belong together, one under the other."""
    return Stack(parts)


def method_entry(row: Mapping[str, object], column: str) -> object:
    """What a row of the result table says in a column; "-" where it says nothing."""
    value = row.get(column)
    if column == "method":
        return method_name(row) + (", published" if row.get("published") else "")
    if column in RATES:
        return rate(value, (row.get("intervals") or {}).get(column))
    return "-" if value is None else round(value, 1) if isinstance(value, float) else value


def method_name(row: Mapping[str, object]) -> str:
    """A method by its name, a published one with its model."""
    return f"{row['method']} ({row['model']})" if row.get("published") and row.get("model") else str(row["method"])


def _few(names: Sequence[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


# ---- the page in which a policy is reviewed ----------------------------------------------------------------------


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
            except ValueError:  # a decision, or an edit, that cannot be
                self.see(self.fresh())
                raise

        def fresh(self) -> object:
            """What was looked at, or what is there now where the file was changed since."""
            return self.seen if entries.stamp(self.desk.file) == self.seen.stamp else self.looks(self.desk)

        def tell(self, text: str, good: bool) -> None:
            self.times += 1
            self.told = {"text": text, "good": good, "times": self.times}

    return Page
