"""What a run made of its policy: the files that it left, and the texts and rows that its report shows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from wb.bench import summary
from wb.logic import cel
from wb.rules import rulefile
from wb.rules.rule import RuleSet
from wb.runs import show
from wb.runs.artifact import Version
from wb.runs.cards import Card, Quote, Source, count

CLASSES = ("rule", "open", "duty", "waived", "not a constraint")
FATES = ("guarded", "blocked", "free")

Versions = Mapping[str, Version]
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run stored of its policy; None where it stored no such file."""

    rules: RuleSet | None = None
    sentences: Sequence[Row] | None = None
    guarding: Row | None = None
    guards: Mapping[str, Row] | None = None
    groups: Sequence[Sequence[str]] = ()
    findings: tuple[str, ...] = ()
    results: Row = MappingProxyType({})
    rule_counts: tuple[int, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many sentences each class has; a class without one is left out."""
        numbers = Counter(str(row["cls"]) for row in self.sentences or ())
        return {cls: numbers[cls] for cls in CLASSES if numbers[cls]}

    @property
    def grades(self) -> str:
        """What the sentences in force rest on, and how many of each: `agreed 2 of 2: 26, person: 3`."""
        numbers = Counter(str(row.get("grade", "")) for row in self.sentences or () if row.get("rules"))
        return ", ".join(f"{grade}: {n}" for grade, n in numbers.most_common() if grade)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """What came of the policy as far as the run came, by heads."""
        if self.guarding is not None:
            return summary.lines(self.guarding)
        stages = zip(self.rule_counts, ("read", "after refinement"), strict=False)
        rows = {
            "sentences": summary.classes(self.counts) if self.sentences is not None else "",
            "rules": ", ".join(f"{n} {stage}" for n, stage in stages),
        }
        return tuple((head, text) for head, text in rows.items() if text)

    def document(self) -> Iterator[tuple[str, Row | None]]:
        """The document in its order: a heading that is no sentence of its own, or a sentence, with "h4" for a title."""
        rows = self.sentences or ()
        titles = {title for row in rows for title in row["headings"]}
        under = ""
        for row in rows:
            if row["headings"] and row["headings"][-1] != under and row["text"] not in titles:
                yield " / ".join(row["headings"]), None
            under = row["text"] if row["text"] in titles else (row["headings"] or [""])[-1]
            yield "h4" if row["text"] in titles else "p", row

    def rules_of(self, row: Row) -> list[str]:
        """The rules that the rules of a sentence live on in."""
        rules = self.rules.rules if self.rules else ()
        heirs = {parent: rule.id for rule in rules for parent in rule.parents} | {rule.id: rule.id for rule in rules}
        return list(dict.fromkeys(heirs.get(name, name) for name in row["rules"]))

    def tools(self) -> Iterator[tuple[Row, str, Card]]:
        """Each tool, guarded ones first: its row, a line that says what its guard can do, and the guard as a card."""
        texts = {str(row["id"]): str(row["text"]) for row in self.sentences or ()}
        quotes = {rule.id: rule.quote or rule.text for rule in (self.rules.rules if self.rules else ())}
        tools = self.guarding["tools"] if self.guarding else ()
        for row in sorted(tools, key=lambda row: (FATES.index(row["fate"]), row["tool"])):
            guard = (self.guards or {}).get(row["tool"], {})
            parts = {
                "rules": tuple((name, Quote(quotes[name])) if name in quotes else name for name in row["rules"]),
                "open": tuple((name, Quote(texts.get(name, ""))) for name in row["open"]),
                "why not better": str(guard.get("reason", "")),
                "code": Source(str(guard.get("source", "")), "python"),
            }
            yield row, _ability(row), Card(str(row["tool"]), str(row["grade"]), tuple(parts.items()))

    def predicates(self) -> Iterator[tuple[object, object, str, list[str]]]:
        """Each predicate with the number of its cluster, what it is read from, and the rules that use it."""
        cluster = {name: number for number, group in enumerate(self.groups, 1) for name in group}
        for p in self.rules.predicates if self.rules else ():
            source = ", ".join(p.tools) if p.kind == "action" else cel.render(p.test) if p.test else "no field"
            source += "".join(f", of {cel.render(path)}" for path in p.objects)
            users = [rule.id for rule in self.rules.rules if p.name in rule.predicates]
            yield p, cluster.get(p.name, ""), source, users

    def rule_cards(self) -> Iterator[tuple[str, str, Card]]:
        """Each rule: its id, its sentence and its card."""
        for rule in self.rules.rules if self.rules else ():
            yield rule.id, rule.quote or rule.text, show.rule(rule, self.rules)


def read(run: Versions) -> Outcome:
    """What a run stored of its policy: the newest stage that wrote a file counts.

    Raises:
        ArtifactError: a file was changed or lost since it was written.
    """

    def versions(name: str, *stages: str) -> list[object]:
        return [v.read(name) for n in stages for stage, v in run.items() if stage.startswith(n) and name in v.digests]

    def newest(name: str, *stages: str) -> object:
        return next(iter(versions(name, *stages)), None)

    rules, graph = versions("rules.json", "02", "01"), newest("graph.json", "03")
    results = next(reversed(versions("results.json", "")), None)
    findings = ((stage, version.manifest["summary"].get("findings")) for stage, version in run.items())
    return Outcome(
        rulefile.from_json(rules[0]) if rules else None,
        newest("sentences.json", "02", "01"),
        newest("summary.json", "06"),
        {row["tool"]: row for row in newest("guards.json", "06") or ()},
        graph["groups"] if graph else (),
        tuple(f"{stage}: {text}" for stage, text in findings if text),
        results if isinstance(results, Mapping) else {},
        tuple(len(each["rules"]) for each in reversed(rules)),
    )


def _ability(row: Row) -> str:
    """What a tool's guard can do, in a line; a grade that counts its rules says it once."""
    grade, rules, waiting = str(row["grade"]), len(row["rules"]), len(row["open"])
    counts = [count(rules, "rule")] * bool(rules) + [f"{waiting} open"] * bool(waiting)
    limits = [
        "never allows" if row["allows"] == "never" else "",
        "never denies" if row["denies"] == "never" else "",
        f"allows only if told {', '.join(row['needs'])}" if row["allows"] == "only if told" else "",
    ]
    return "; ".join(filter(None, (grade, "" if " for " in grade else ", ".join(counts), *limits)))
