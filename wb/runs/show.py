"""What a person sees in a notebook, instead of printed text: rules, sentences, verdicts, results.

Each function takes a value of the library and gives a table or a card (`cards`).  Guards are shown by
`guard_cards`, figures by `picture`, so that a stage depends on no more than it shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from wb.domain.policy import Clause
from wb.domain.trace import Verdict
from wb.logic import cel, syntax
from wb.rules import understood
from wb.rules.rule import Rule, RuleSet
from wb.runs.cards import Badge, Card, Cards, Note, Quote, Source, Stack, Table, mapping, table

RATES = ("accuracy", "precision", "recall", "fpr")
METHOD = ("method", "split", "n", *RATES, "undecided", "queries", "seconds")


def counts(title: str = "", **values: object) -> Table:
    """A few named numbers in one row; a name's underscores are read as blanks."""
    return table([{name.replace("_", " "): value for name, value in values.items()}], title=title)


def tally(values: Iterable[object], name: str, title: str = "") -> Table:
    """How often each value occurs, the most frequent first."""
    return table(({name: Badge(str(value)), "how many": n} for value, n in Counter(values).most_common()), title=title)


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
    """A rule: its sentence, its words, what was understood of it, its formula, and what it binds: tools, tests, and
    facts that no field tells."""
    predicates = [ruleset.predicate(name) for name in one.predicates]
    tools = tuple(dict.fromkeys(tool for p in predicates if p.kind == "action" for tool in p.tools))
    tests = tuple(
        Source(f"{p.name}: {cel.render(p.test)}") for p in predicates if p.kind == "state" and p.test is not None
    )
    facts = tuple(f"{p.name}: {p.description}" for p in predicates if p.kind == "state" and p.test is None)
    nothing = tuple(p.name for p in predicates if p.kind == "action" and not p.tools)
    return Card(
        one.id,
        grade or one.modality,
        (
            ("sentence", Quote(one.quote)),
            ("words", one.text if one.text != one.quote else ""),
            ("understood", understood.words(one, ruleset)),
            ("formula", Source(syntax.render(one.formula))),
            ("tools", ", ".join(tools)),
            ("tests", tests),
            ("objects", tuple(f"{p.name}: {', '.join(map(cel.render, p.objects))}" for p in predicates if p.objects)),
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
            "understood": understood.words(one, ruleset),
            "formula": Source(syntax.render(one.formula)),
            "tools": ", ".join(dict.fromkeys(tool for p in ruleset.actions(one) for tool in p.tools)) or "-",
        }
        for one in ruleset.rules
    ]
    return table(rows, "rule", "force", "sentence", "understood", "formula", "tools", title=title)


def predicates(ruleset: RuleSet, title: str = "") -> Table:
    """The vocabulary: what each predicate says and what tells its truth; those that nothing tells come first."""
    rows = [
        {
            "predicate": one.name,
            "kind": one.kind,
            "what it says": one.description,
            "told by": ", ".join(one.tools)
            if one.kind == "action"
            else Source(cel.render(one.test))
            if one.test
            else None,
        }
        for one in ruleset.predicates
    ]
    for row in rows:
        row["told by"] = row["told by"] or Badge("no tool" if row["kind"] == "action" else "no field")
    return table(sorted(rows, key=lambda row: not isinstance(row["told by"], Badge)), title=title)


def clauses(found: Iterable[Clause], title: str = "") -> Table:
    """Clauses with the place that they are quoted from."""
    return table(
        (
            {
                "clause": one.id,
                "under": (one.headings or ("",))[-1],
                "sentence": one.text,
                "place": f"{one.start}–{one.end}",
            }
            for one in found
        ),
        title=title,
        none="there is no clause",
    )


def changes(found: Iterable[object], title: str = "") -> Table:
    """Proposed changes of a rule set (`certify.Change`), each with its certificate or the reason of its refusal."""
    rows = [
        {"change": one.kind, "of": ", ".join(one.before), "certificate": one.certificate, "lost": one.loss}
        for one in found
    ]
    columns = ("change", "of", "certificate", *(["lost"] if any(row["lost"] for row in rows) else []))
    return table(rows, *columns, title=title, none="there is none")


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


def verdict(given: Verdict, ruleset: RuleSet | None = None, *, of: str = "", readings: Iterable[object] = ()) -> Card:
    """A decision: its reason, the violated rules with their sentences, what is missing, which sentences are open."""
    known = {one.id: one.quote or one.text for one in (ruleset.rules if ruleset else ())}
    quoted = dict(zip(given.violated, given.quotes, strict=False))
    texts = {str(row["id"]): str(row["text"]) for row in map(mapping, readings)}
    broken = tuple(
        (name, Quote(text)) if (text := quoted.get(name) or known.get(name)) else name for name in given.violated
    )
    unread = tuple((name, Quote(texts[name])) if name in texts else name for name in given.open)
    return Card(
        of or "verdict",
        given.decision,
        (
            ("because", given.reason),
            ("violated", broken),
            ("missing", ", ".join(given.missing)),
            ("open", unread),
            ("evidence", given.grade if given.grade != "none" else ""),
        ),
    )


def verdicts(given: Iterable[tuple[str, Verdict]], ruleset: RuleSet, most: int = 3) -> Cards:
    """Decisions, each under the name of its case, at most `most` of them."""
    found = list(given)
    shown = tuple(verdict(one, ruleset, of=name) for name, one in found[:most])
    return Cards(shown, max(len(found) - most, 0), "no case was judged")


def weighed(given: Iterable[tuple[Rule, float]], title: str = "") -> Table:
    """Rules with their weights."""
    rows = ({"rule": one.id, "weight": weight, "formula": Source(syntax.render(one.formula))} for one, weight in given)
    return table(rows, title=title, none="there is no rule")


def by_rule(counts: Mapping[str, Mapping[str, int]]) -> Table:
    """For each rule, how many of the calls that it stopped were to be stopped (`denied`), and how many not."""
    rows = (
        {"rule": name, "stopped rightly": n["denied"], "stopped wrongly": n["allowed"]} for name, n in counts.items()
    )
    return table(rows, none="no rule stopped anything")


def pairs(rows: Iterable[Mapping[str, object]]) -> Table:
    """Two methods each: the cases that only one of them got right, and McNemar's p."""
    heads = {"only_first": "only the first is right", "only_second": "only the second is right"}
    return table(rows, "first", "second", *heads, "p", none="there are no two methods to compare", **heads)


def findings(lines: Iterable[str], none: str = "nothing was found") -> Table:
    """What a stage found to be other than it should be, one a row."""
    return table(({"finding": line} for line in lines), none=none)


def stack(*parts: Table | Cards | Card | Note) -> Stack:
    """Several things that belong together, one under the other."""
    return Stack(parts)


def note(text: str) -> Note:
    """A sentence."""
    return Note(text)


def method_entry(row: Mapping[str, object], column: str) -> object:
    """What a row of the result table says in a column; None where it says nothing."""
    value = row.get(column)
    if column == "method":
        model = f" ({row['model']})" if row.get("published") and row.get("model") else ""
        return f"{value}{model}" + (", published" if row.get("published") else "")
    if column in RATES:
        return rate(value, (row.get("intervals") or {}).get(column))
    return round(value, 1) if isinstance(value, float) else value


def _few(names: Sequence[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
