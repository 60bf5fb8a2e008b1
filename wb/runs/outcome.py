"""What a run made of its policy, as parts of a page: the sentences, the rules, and what each tool's guard can do.

Everything is read from the files that the run kept.  Texts of documents and models are escaped.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wb.logic import cel
from wb.rules import rulefile
from wb.rules.rule import Rule, RuleSet
from wb.runs import cards, show
from wb.runs.artifact import Version
from wb.runs.cards import Badge, Quote, Source

CLASSES = ("rule", "open", "duty", "waived", "not a constraint")
FATES = ("guarded", "blocked", "free")

Versions = Mapping[str, Version]
Row = Mapping[str, object]


@dataclass(frozen=True)
class Found:
    """What a run kept of its policy; None where it kept no such file."""

    rules: RuleSet | None
    sentences: Sequence[Row] | None
    summary: Row | None
    guards: Mapping[str, Row]
    groups: Sequence[Sequence[str]]
    findings: tuple[str, ...]


def read(run: Versions) -> Found:
    """What a run kept of its policy: the newest stage that wrote a file counts.

    Raises:
        ArtifactError: a file was changed or lost since it was written.
    """

    def newest(name: str, *stages: str) -> object:
        for number in stages:
            for stage, version in run.items():
                if stage.startswith(number) and name in version.digests:
                    return version.read(name)
        return None

    rules, graph = newest("rules.json", "02", "01"), newest("graph.json", "03")
    return Found(
        None if rules is None else rulefile.from_json(rules),
        newest("sentences.json", "02", "01"),
        newest("summary.json", "06"),
        {row["tool"]: row for row in newest("guards.json", "06") or ()},
        graph["groups"] if graph else (),
        tuple(
            f"{stage}: {version.manifest['summary']['findings']}"
            for stage, version in run.items()
            if "findings" in version.manifest["summary"]
        ),
    )


def lines(kept: Found) -> str:
    """What came of the policy, in a few lines."""
    rows = []
    if kept.sentences is not None:
        counts = Counter(str(row["cls"]) for row in kept.sentences)
        said = ", ".join(f"{counts[cls]} {cls}" for cls in CLASSES if counts[cls])
        rows.append(("sentences", f"{len(kept.sentences)}: {said}"))
    if kept.rules is not None:
        rows.append(("rules", str(len(kept.rules.rules))))
    if kept.summary is not None:
        tools = kept.summary["tools"]
        fates = Counter(tool["fate"] for tool in tools)
        rows.append(("tools", f"{len(tools)}: " + ", ".join(f"{fates[fate]} {fate}" for fate in FATES)))
        ruled = [tool for tool in tools if tool["rules"]]
        proved = sum(tool["grade"] == "proved" for tool in ruled)
        rows.append(("proved", f"{proved} of {len(ruled)} tools with rules, no open sentence bearing on them"))
        for head, key, value in (
            ("can never allow", "allows", "never"),
            ("allows only if told", "allows", "only if told"),
            ("can never deny", "denies", "never"),
            ("not settled", "allows", "not settled"),
        ):
            rows.append((head, _named([tool["tool"] for tool in tools if tool[key] == value])))
    parts = "".join(
        f'<tr><th scope="row" style="{cards.CELLS[""]}">{name}</th><td class="prose">{html.escape(text)}</td></tr>'
        for name, text in rows
        if text
    )
    return f'<div class="wb"><table><tbody>{parts}</tbody></table></div>' if parts else note("No stage was run.")


def _named(tools: Sequence[str], most: int = 20) -> str:
    more = f" and {len(tools) - most} more" if len(tools) > most else ""
    return f"{len(tools)}: {', '.join(tools[:most])}{more}" if tools else ""


def document(kept: Found, anchor: str) -> str:
    """Every sentence in its place, coloured by class, with its reason and a way to its rules."""
    if kept.sentences is None:
        return note("This run kept no classes of sentences (sentences.json): run `wb run` again.")
    heirs = _heirs(kept.rules)
    counts = Counter(str(row["cls"]) for row in kept.sentences)
    legend = " ".join(
        f'<span class="{_css(cls)}">{html.escape(cls)} ({n})</span>' for cls in CLASSES if (n := counts[cls])
    )
    titles = {title for row in kept.sentences for title in row["headings"]}
    parts, under = [], ""
    for row in kept.sentences:
        if row["headings"] and row["headings"][-1] != under and row["text"] not in titles:
            parts.append(f"<h4>{html.escape(' / '.join(row['headings']))}</h4>")
        is_title = row["text"] in titles
        under = row["text"] if is_title else (row["headings"] or [""])[-1]
        tag = "h4" if is_title else "p"
        parts.append(f"<{tag}>{_sentence(row, heirs, anchor)}</{tag}>")
    return f'<div class="document"><p>{legend}</p>{"".join(parts)}</div>'


def _sentence(row: Mapping[str, object], heirs: Mapping[str, str], anchor: str) -> str:
    said = f"{row['cls']}: {row['reason']}" + (f" — bears on {', '.join(row['tools'])}" if row["tools"] else "")
    rules = dict.fromkeys(heirs.get(name, name) for name in row["rules"])
    links = "".join(f' <a href="#{anchor}rule-{_id(name)}">{html.escape(name)}</a>' for name in rules)
    unseen = "<em>[no reader sees this]</em> " if str(row["reason"]).startswith("hidden: ") else ""
    return (
        f'{unseen}<span id="{anchor}sentence-{_id(str(row["id"]))}" class="{_css(str(row["cls"]))}" '
        f'title="{html.escape(said)}">{html.escape(str(row["text"]))}</span>{links}'
    )


def _heirs(rules: RuleSet | None) -> dict[str, str]:
    """The rule that an extracted rule lives on in, by its id."""
    found = {parent: one.id for one in (rules.rules if rules else ()) for parent in one.parents}
    return found | {one.id: one.id for one in (rules.rules if rules else ())}


def tools(kept: Found, anchor: str) -> str:
    """Each tool, to be opened: what bears on it, what its guard can do, the code."""
    if kept.summary is None:
        return note("This run made no guards, or did not keep what they can do (summary.json of stage 06).")
    if not kept.summary["tools"]:
        return note("The policy has no tools, so there is nothing to guard.")
    texts = {str(row["id"]): str(row["text"]) for row in kept.sentences or ()}
    rules = {one.id: one for one in (kept.rules.rules if kept.rules else ())}
    order = sorted(kept.summary["tools"], key=lambda row: (FATES.index(row["fate"]), row["tool"]))
    return "".join(_tool(row, kept.guards.get(row["tool"], {}), rules, texts, anchor) for row in order)


def _tool(row: Row, guard: Row, rules: Mapping[str, Rule], texts: Mapping[str, str], anchor: str) -> str:
    """One tool: what bears on it, what its guard can do, and the guard's code."""
    never = {
        "never allows": row["allows"] == "never",
        "never denies": row["denies"] == "never",
        f"allows only if told {', '.join(row['needs'])}": row["allows"] == "only if told",
    }
    grade = str(row["grade"])
    counted = {f"{len(row['rules'])} rule{'s' * (len(row['rules']) != 1)}": row["rules"]}
    counted |= {f"{len(row['open'])} open": row["open"]}
    shown = [words for words, what in counted.items() if what and " for " not in grade]  # which counts them itself
    told = "; ".join((grade, *filter(None, [", ".join(shown)]), *(words for words, holds in never.items() if holds)))
    card = cards.Card(
        str(row["tool"]),
        str(row["grade"]),
        (
            ("rules", tuple((r, Quote(rules[r].quote or rules[r].text)) if r in rules else r for r in row["rules"])),
            ("open", tuple((name, Quote(texts.get(name, ""))) for name in row["open"])),
            ("why not better", str(guard.get("reason", ""))),
            ("code", Source(str(guard.get("source", "")), "python")),
        ),
    )
    head = f"{cards.to_html(Badge(str(row['fate'])))} <b>{html.escape(str(row['tool']))}</b> {html.escape(told)}"
    return (
        f'<details id="{anchor}tool-{_id(str(row["tool"]))}"><summary>{head}</summary>'
        f'<div class="wb card" style="{cards.FRAME}">{card.inner()}</div></details>'
    )


def rules(kept: Found, anchor: str) -> str:
    """Each rule, to be opened as a card."""
    if kept.rules is None or not kept.rules.rules:
        return note("No rule was read from this document.")
    return "".join(
        f'<details id="{anchor}rule-{_id(one.id)}"><summary><b>{html.escape(one.id)}</b> '
        f"{html.escape(one.quote or one.text)}</summary>"
        f'<div class="wb card" style="{cards.FRAME}">{show.rule(one, kept.rules).inner()}</div></details>'
        for one in kept.rules.rules
    )


def predicates(kept: Found, anchor: str) -> str:
    """The vocabulary, with the rules that use each predicate and its cluster."""
    if kept.rules is None or not kept.rules.predicates:
        return note("There are no predicates.")
    cluster = {name: number for number, group in enumerate(kept.groups, 1) for name in group}
    head = "".join(
        f'<th style="{cards.CELLS[""]}">{name}</th>'
        for name in ("predicate", "cluster", "what it says", "read from", "rules")
    )
    rows = []
    for one in kept.rules.predicates:
        users = [rule.id for rule in kept.rules.rules if one.name in rule.predicates]
        links = " ".join(f'<a href="#{anchor}rule-{_id(name)}">{html.escape(name)}</a>' for name in users)
        bound = ", ".join(one.tools) if one.kind == "action" else cel.render(one.test) if one.test else "no field"
        bound += "".join(f", of {cel.render(path)}" for path in one.objects)
        rows.append(
            f'<tr id="{anchor}predicate-{_id(one.name)}"><td>{html.escape(one.name)}</td>'
            f'<td class="number">{cluster.get(one.name, "")}</td><td class="prose">{html.escape(one.description)}</td>'
            f'<td><code>{html.escape(bound)}</code></td><td class="prose">{links}</td></tr>'
        )
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="wb" style="{cards.TALL}"><table>{body}</table></div>'


def note(text: str) -> str:
    """A remark, such as that something is missing."""
    return f'<p class="note">{html.escape(text)}</p>'


def _css(cls: str) -> str:
    return cls if cls in ("rule", "open", "duty", "waived") else "other"


def _id(name: str) -> str:
    """A name as part of an address within the page."""
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
