"""What a person sees of guards: contracts, code, proofs, counterexamples, planted faults."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from wb.domain.tools import Toolbox
from wb.guards import examples, parts, runtime, synthesis
from wb.guards import scenes as examples_of_models
from wb.guards.contract import Contract
from wb.guards.examples import Example
from wb.guards.faults import JudgedMutant, Planted
from wb.guards.reading import Reading, settled
from wb.guards.runtime import CallGuard, Guarded
from wb.guards.scenes import Refusal, Tried
from wb.guards.synthesis import Complaint, Draft
from wb.logic.syntax import render
from wb.rules.decisions import Struck
from wb.rules.items import Item
from wb.rules.mapper import Map
from wb.rules.residual import Unguarded
from wb.rules.rule import RuleSet
from wb.runs import cards
from wb.runs.cards import Badge, Card, Cards, Content, Quote, Source, Stack, Table, listed, mapping, table

NONE: Mapping[str, Sequence[object]] = MappingProxyType({})
# The columns of `inputs`, each with the sources of a field that it lists.
INPUTS = {
    "to be told": ("told", "clock"),
    "from other tools": ("result", "lookup", "operation", "detect"),
    "from what is said": ("said", "question", "step", "seen", "origin"),
    "from what was done": ("done",),
}


def guard(entry: Guarded, complaints: Sequence[Complaint] = (), *, claim: str = "") -> Card:
    """A tool's guard: what is claimed of it, its rules, its code, and what speaks against it."""
    rules = tuple(dict.fromkeys(f"{item.rule}: {item.text}" for item in entry.contract.items))
    trusted = tuple(assumption for parameter in entry.contract.trusted for assumption in parameter.trusts)
    rows: list[tuple[str, Content]] = [("rules", rules or ("no rule",)), ("code", Source(entry.source, "python"))]
    rows += [("taken on trust", trusted), ("why not better", entry.reason)]
    rows += [(f"found by {each.check}", _complaint(each)) for each in complaints]
    return Card(entry.contract.tool, claim or entry.grade, tuple(rows))


def draft(made: Draft, open: int = 0) -> Card:
    """A guard in the making: what may be claimed of it, its newest code, its attempts, what is wrong with it.

    `open` is how many open sentences bear on its tool.  Before any check nothing may be claimed.
    """
    entry = synthesis.guarded(made)
    checked = made.passed or made.complaints
    card = guard(entry, made.complaints, claim=runtime.claimed(entry, open) if checked else "not checked yet")
    return Card(card.title, card.badge, (*card.parts, ("attempts", str(len(made.attempts)))))


def drafts(made: Iterable[Draft], most: int = 2, open: Mapping[str, Sequence[object]] = NONE) -> Cards:
    """Guards in the making, at most `most` of them; `open` holds the open sentences that bear on each tool."""
    shown = [draft(each, len(open.get(each.contract.tool, ()))) for each in made]
    return cards.first(shown, most, "there is no guard")


def contracts(required: Iterable[Contract]) -> Cards:
    """What guards must satisfy: signature, statements, and the rules that they come from."""
    shown = []
    for each in required:
        source = Source("\n".join((each.signature, *(f"    {line}" for line in each.lines()))), "python")
        rules = tuple(f"{item.rule} from {item.clause}: {item.text}" for item in each.items)
        shown.append(Card(each.tool, "", (("contract", source), ("rules", rules))))
    return Cards(tuple(shown), none="no tool has a rule")


def inputs(required: Iterable[Contract], ruleset: RuleSet, toolbox: Toolbox) -> Table:
    """Where each guard's inputs come from, beside the call itself: what the agent's program has to tell, other tools,
    the conversation, what was done before (ToolGuard, Sec. 3.2: dependent tools)."""
    sources = {field.name: field.source for field in toolbox.state}
    rows = []
    for each in required:
        needed: dict[str, tuple[str, str]] = {}
        waiting = [*runtime.fields(each, ruleset)]
        while waiting:
            name = waiting.pop(0)
            source = sources.get(name)
            if name not in needed:
                needed[name] = ("told", name) if source is None else (source.kind, f"{name} ({source.called})")
                waiting += () if source is None else source.reads
        columns = (", ".join(text for kind, text in needed.values() if kind in kinds) for kinds in INPUTS.values())
        past = "; ".join(render(p.past) for p in each.parameters if p.past is not None)
        rows.append((each.tool, *columns, past and Source(past)))
    return listed(", ".join(("tool", *INPUTS, "earlier steps")), rows, none="no tool has a rule")


def items(mapped: Iterable[Item], changes: Mapping[str, bool | None]) -> Table:
    """The policy items of each tool, with what the document says of them, and why those in the archive are there.

    `changes` says of each tool whether it changes anything, None where nobody knows.
    """
    kind = {True: "", False: " (reads only)", None: " (may change something)"}
    rows = []
    for item in mapped:
        quote, rules = Quote(" … ".join(each.text for each in item.references)), ", ".join(item.rules)
        complies, violates = (Source("; ".join(each)) if each else "" for each in (item.compliance, item.violations))
        tool = f"{item.tool}{kind[changes.get(item.tool)]}"
        rows.append((tool, item.name, item.by, quote, rules, complies, violates, item.archived))
    heads = "tool, item, by, references, rules, complies, violates, archived"
    return listed(heads, rows, none="no sentence is policy of a tool")


def mapped(every: Iterable[Item], made: Map, doubts: Mapping[str, Sequence[str]]) -> Stack:
    """What came of mapping sentences onto tools: the items, what a person has to decide, what was refused, and edits
    without effect."""
    doubtful = ((tool, doubt) for tool, doubts_of in doubts.items() for doubt in doubts_of)
    clear = "every item that a model or a person mapped is held to by a rule, or open"
    findings = listed("tool, has to be decided", doubtful, "Findings", clear)
    refused = table(made.refused, title="Refused", none="nothing was refused")
    stale = listed("edit", ((edit,) for edit in made.stale), "Edits without effect", "no edit is stale")
    return Stack((items(every, made.changes), findings, refused, stale))


def unguarded(outside: Iterable[Unguarded], ruleset: RuleSet) -> Table:
    """The rules that no guard of a tool can decide, with their sentences and why."""
    texts = {rule.id: rule.quote or rule.text for rule in ruleset.rules}
    rows = ((each.rule, texts[each.rule], each.reason) for each in outside)
    return listed("rule, sentence, why no guard", rows, none="every rule is in a guard")


def cases(given: Iterable[Example], title: str = "") -> Table:
    """The examples of a contract: arguments, and the decision that they must get."""
    rows = ((e.kind, Badge("allow" if e.allowed else "deny"), Source(_call(e.arguments)), e.rule) for e in given)
    return listed("kind, decision, arguments, breaks", rows, title, "there is no example")


def scenes(judged: Iterable[Tried], refused: Iterable[Refusal] = (), stale: Iterable[Struck] = ()) -> Table:
    """The examples that a model wrote of sentences: what each says and the rules say, those against the rules first;
    then those that were refused, and what a person struck that is not there any more."""
    order = ("disagrees", "unknown", "open", "agrees")
    rows: list[tuple[object, ...]] = []
    for tried in sorted(judged, key=lambda tried: order.index(tried.fate)):
        scene, rules_say = tried.scene, examples_of_models.said(tried.verdict)
        given = Source(json.dumps(examples_of_models.row(scene)["given"], ensure_ascii=False))
        badges = Badge(tried.fate), Badge(scene.expect)
        rows.append((scene.tool, scene.id, *badges, Quote(scene.sentence), given, rules_say))
    rows += [(r.tool, None, Badge("refused"), None, None, None, f"{r.item}: {r.reason}") for r in refused]
    rows += [(None, s.id, Badge("stale"), None, Quote(s.text), None, f"struck: {s.why}") for s in stale]
    heads = "tool, example, fate, decision, sentence, example says, rules say"
    return listed(heads, rows, none="no model was asked for examples, or it gave none")


def candidates(rows: Iterable[Mapping[str, object]], open: Mapping[str, Sequence[object]] = NONE) -> Table:
    """Candidates as they are stored: what may be claimed of each, and why not better; those with rules first."""
    shown = []
    for row in sorted(rows, key=lambda row: not row["rules"]):
        waiting, own = len(open.get(str(row["tool"]), ())), parts.from_json(row.get("items", ()))
        claim = runtime.claim(str(row["grade"]), len(row["rules"]), waiting, own, bool(row.get("findings")))
        numbers = (len(row[name]) for name in ("rules", "examples", "attempts"))
        said = parts.said(own), str(row.get("second", ""))
        shown.append((row["tool"], Badge(claim), *said, *numbers, row["reason"]))
    heads = "tool, claim, items, second reading, rules, examples, attempts, why not better"
    return listed(heads, shown, none="the policy has no tools")


def parted(entries: Iterable[Guarded]) -> Table:
    """The policy items of all guards, a row each, with what each is worth; those that are not proved come first."""
    rows = []
    for entry in entries:
        for part in entry.parts:
            grade, quote = Badge(parts.WORDS[part.grade]), Quote(" … ".join(part.sentences))
            rows.append((entry.contract.tool, part.name, grade, quote, ", ".join(part.rules), part.reason))
    rows.sort(key=lambda row: row[2].text == "proved")
    heads = "tool, item, grade, sentences, rules, why not better"
    return listed(heads, rows, none="no tool has a policy item")


def claims(guard: CallGuard) -> Table:
    """What may be claimed of each tool's guard."""
    return listed("tool, claim", ((tool, Badge(claim)) for tool, claim in guard.claims().items()), none="no tools")


def abilities(tools: Iterable[object]) -> Table:
    """What each tool's guard can decide (`summary.Tool`): its fate, what bears on it, whether it can allow and deny."""
    rows = []
    for row in map(mapping, tools):
        badges = Badge(str(row["fate"])), Badge(str(row["grade"]))
        numbers = row.get("items", ""), len(row["rules"]), len(row["open"])
        rows.append((row["tool"], *badges, *numbers, row["allows"], row["denies"], ", ".join(row["needs"])))
    heads = "tool, fate, claim, items, rules, open, allows, denies, needs to be told"
    return listed(heads, rows, none="the policy has no tools")


def grades(entries: Iterable[Guarded], title: str = "", open: Mapping[str, Sequence[object]] = NONE) -> Table:
    """All guards, a row each, with what may be claimed of them; those that are proved come last."""
    rows = []
    for entry in entries:
        claim = Badge(runtime.claimed(entry, len(open.get(entry.contract.tool, ()))))
        numbers = parts.said(entry.parts), entry.second, len(entry.contract.items), len(entry.contract.trusted)
        rows.append((entry.contract.tool, claim, *numbers, entry.reason))
    rows.sort(key=lambda row: row[1].text == "proved")
    heads = "tool, claim, items, second reading, rules, trusted, why not better"
    return listed(heads, rows, title, "there is no tool")


def readings(found: Iterable[Sequence[Reading]]) -> Table:
    """The first sources of all policy items, those first that part from the rules, with the values on which they do."""
    rows = []
    for one in found:
        badge = Badge("differs" if not settled(one) else one[0].state)
        for read in one:
            values = Source(_call(read.arguments)) if read.arguments else ""
            says = {True: "allow", False: "deny", None: ""}[read.allowed]
            by = read.by if read.independent else f"{read.by}, which read the rules too"
            why = read.reason or ("the rules say the opposite" if read.state == "differs" else "")
            rows.append((read.tool, badge, Quote(" … ".join(read.sentences)), by, says, values, why))
    rows.sort(key=lambda row: ("differs", "not compared", "agrees").index(row[1].text))
    heads = "tool, to the rules, sentences, by, first source says, where, why"
    return listed(heads, rows, none="no sentence bears on a tool")


def fault(planted: Planted | None, broken: Draft | None = None) -> Card:
    """A planted fault and what the verifier says of it, with the values on which the code was run to confirm it."""
    if planted is None:
        return Card("planted fault", "", (("not shown", "there is no proved guard to break"),))
    mutant, complaint = planted.mutant, next(iter(broken.complaints), None) if broken else None
    rows: list[tuple[str, Content]] = [("planted", Source(mutant.change)), ("code", Source(mutant.source, "python"))]
    if complaint is not None:
        wanted = {True: "allowed", False: "denied", None: ""}[complaint.allowed]
        values = Source(_call(complaint.arguments))
        rows += [("the verifier says", complaint.said), ("so", complaint.message)]
        rows += [("counterexample", values), ("must be", wanted)]
        if complaint.arguments:
            answers = (str(examples.answer(code, complaint.arguments)) for code in (mutant.source, planted.source))
            heads = ("the planted guard answers", "the guard as it was answers")
            rows += zip(heads, answers, strict=True)
    return Card(planted.contract.tool, "not proved" if complaint else "proved", tuple(rows))


def fates(judged: Iterable[JudgedMutant], title: str = "") -> Table:
    """What became of planted faults, the worst first, with the values that tell each from the guard."""
    order = ("survived", "unsettled", "equivalent", "refuted")
    rows = []
    for each in sorted(judged, key=lambda each: order.index(each.fate)):
        witness = Source(_call(each.witness)) if each.witness else ""
        rows.append((Badge(each.fate), each.mutant.operator, each.tool, Source(each.mutant.change), witness))
    return listed("fate, fault, tool, change, differs where", rows, title, "no fault was planted")


def _complaint(complaint: Complaint) -> Content:
    """What a check found wrong, with the arguments that show it."""
    if not complaint.arguments:
        return complaint.message
    wanted = {True: "must be allowed", False: "must be denied", None: ""}[complaint.allowed]
    shown = Source(f"{_call(complaint.arguments)}  {wanted}".rstrip())
    return (complaint.message, shown, complaint.where) if complaint.where else (complaint.message, shown)


def _call(arguments: Iterable[tuple[str, object]]) -> str:
    """Arguments as they are written in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments)
