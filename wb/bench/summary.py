"""What came of a policy, in the words of whoever wrote it: its sentences by class, its rules, and each tool's fate.

A tool is *free* if no rule and no open sentence concerns it, *blocked* if no call of it can be allowed, else
*guarded*.  What a guard can decide at all is told by its contract's conditions over every value that they tell
apart, exactly: enumerations have their declared values, numbers and texts the constants they are compared with and
one beside each (ToolGuard's boundary cases, Sec. 3.2).  A fact that no declared field or tool tells is taken as not
known: where a tool needs one to be allowed, it is allowed *only if told*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from wb.domain.tools import Toolbox, uncallable
from wb.guards import examples, parts, sandbox
from wb.guards.contract import Contract, Parameter
from wb.guards.runtime import Guarded, claimed
from wb.logic import cel, facts
from wb.logic import formula as f
from wb.rules import residual, sentences
from wb.rules.rule import Predicate, RuleSet
from wb.rules.sentences import Account

Allows = Literal["can", "never", "only if told", "not settled"]
Denies = Literal["can", "never", "not settled"]
Fate = Literal["free", "guarded", "blocked"]
FATES: tuple[Fate, ...] = ("free", "guarded", "blocked")
MOST = 50_000  # combinations of values that are tried before a question is left open


@dataclass(frozen=True, slots=True)
class ToolFate:
    """One tool: the rules and open sentences that bear on it, what may be said of its guard (`runtime.claim`: `grade`),
    whether it can ever be allowed and denied, the facts without which it is never allowed (`needs`), and what may be
    said of its policy items (`parts.said`); `unfit` is why no call of it fits its schema."""

    tool: str
    fate: Fate
    rules: tuple[str, ...]
    open: tuple[str, ...]
    grade: str
    allows: Allows
    denies: Denies
    needs: tuple[str, ...] = ()
    items: str = ""
    unfit: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a policy; `rules` says how many were read, stayed after refinement, are in some guard, in none."""

    policy: str
    model: str
    sentences: Mapping[str, int]
    rules: Mapping[str, int]
    tools: tuple[ToolFate, ...]
    titles: int = 0  # of the sentences


def summary(
    policy: str,
    model: str,
    toolbox: Toolbox,
    readings: Sequence[Account],
    extracted: RuleSet,
    refined: RuleSet,
    guarded: Sequence[Guarded],
) -> Summary:
    """What came of a policy: its readings, the rules before and after refinement, and the guards of its tools.

    Code that is proved is run; a tool whose guard is not is never allowed.
    """
    bearing = sentences.open_on(readings)
    kept = {entry.contract.tool: entry for entry in guarded}
    tools = []
    for tool in toolbox.tools:
        fate = _tool(tool.name, kept.get(tool.name), bearing.get(tool.name, ()), refined, toolbox)
        if why := uncallable(tool):
            fate = replace(fate, fate="blocked", allows="never", denies="can", needs=(), unfit=why)
        tools.append(fate)
    outside = len(residual.unguarded(toolbox, refined))
    read, stayed = len(extracted.rules), len(refined.rules)
    counts = {"read": read, "refined": stayed, "in guards": stayed - outside, "in no guard": outside}
    titles = sentences.titles((one.text, one.headings) for one in readings)
    return Summary(policy, model, sentences.counted(readings), counts, tuple(tools), titles)


def parameters(required: Contract, ruleset: RuleSet, toolbox: Toolbox) -> list[dict[str, object]]:
    """The parameters of a contract as JSON rows: name, type, what fills it, whether a declared field or tool tells it,
    and its values where it is an enumeration."""
    rows = []
    for p in required.parameters:
        term = cel.render(p.term) if p.term is not None else ""
        filled = p.field or term or p.fact or "the steps so far"
        row = {"name": p.name, "type": p.type, "filled": filled, "told": told(p, ruleset, toolbox), "count": False}
        rows.append({**row, "count": p.measure == "count", "values": list(_values(p, (), toolbox))})
    return rows


def classes(counts: Mapping[str, int], titles: int = 0) -> str:
    """How many sentences there are, how many of them are titles, and how many in each class."""
    own = f" ({titles} of them titles)" * bool(titles)
    return f"{sum(counts.values())}{own}: " + ", ".join(f"{n} {name}" for name, n in counts.items())


def lines(found: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """The summary, as JSON holds it, in a few lines, each with its head."""
    tools: Sequence[Mapping[str, object]] = found["tools"]
    rules: Mapping[str, int] = found["rules"]
    fates = ", ".join(f"{sum(t['fate'] == fate for t in tools)} {fate}" for fate in FATES)
    ruled = [t for t in tools if t["rules"]]
    proved = sum(t["grade"] == "proved" for t in ruled)
    bounded = sum(str(t["grade"]).startswith("bounded") for t in ruled)
    alone = "; rules and code are one grammar's reading" * (proved > 0 and found["model"] == "offline")
    placed = f"{rules['in guards']} in guards, {rules['in no guard']} in no guard"
    rows = [
        ("sentences", classes(found["sentences"], found.get("titles", 0))),
        ("rules", f"{rules['read']} read, {rules['refined']} after refinement: {placed}"),
        ("tools", f"{len(tools)}: {fates}"),
        ("proved", f"{proved} of {len(ruled)} tools with rules, no open sentence bearing on them{alone}"),
        ("can never allow", _names(tools, "allows", "never")),
        ("only if told", _names(tools, "allows", "only if told")),
        ("can never deny", _names(tools, "denies", "never")),
    ]
    if bounded:
        rows.append(("bounded, not proved", f"{bounded} of {len(ruled)}: by trying; blocked where proof is required"))
    rows += [("fits no call", f"{t['tool']}: {t['unfit']}") for t in tools if t.get("unfit")]
    unsettled = [t["tool"] for t in tools if "not settled" in (t["allows"], t["denies"])]
    rows += [("not settled", f"{len(unsettled)}: {', '.join(unsettled)}")] if unsettled else []
    return tuple(rows)


def _names(tools: Sequence[Mapping[str, object]], key: str, value: str) -> str:
    def shown(tool: Mapping[str, object]) -> str:
        return f"{tool['tool']} ({', '.join(tool['needs'])})" if value == "only if told" else str(tool["tool"])

    found = [shown(tool) for tool in tools if tool[key] == value]
    return f"{len(found)}: {', '.join(found)}" if found else "0"


def _tool(name: str, entry: Guarded | None, waiting: Sequence[Account], ruleset: RuleSet, toolbox: Toolbox) -> ToolFate:
    opened = tuple(reading.id for reading in waiting)
    if entry is None:
        return ToolFate(name, "blocked", (), opened, "none", "never", "can")
    rules = tuple(dict.fromkeys(item.rule for item in entry.contract.items))
    allows, denies, needs = reach(entry.contract, ruleset, toolbox)
    grade, items = claimed(entry, len(opened)), parts.said(entry.parts)
    if entry.grade != "proved":
        return ToolFate(name, "blocked", rules, opened, grade, "never", "can", items=items)
    if opened:
        allows, needs = "never", ()
    fate: Fate = "free" if not rules and not opened else "blocked" if allows in ("never", "only if told") else "guarded"
    return ToolFate(name, fate, rules, opened, grade, allows, denies, needs, items)


def reach(required: Contract, ruleset: RuleSet, toolbox: Toolbox) -> tuple[Allows, Denies, tuple[str, ...]]:
    """Whether a guard that keeps the contract can ever allow a call, whether it can ever deny one, and which facts it
    must be told to allow one. Past subformulas count as free to be true or false."""
    if not required.items:
        return "can", "never", ()
    wanted = examples.program(required, required.allows)
    domains = {p.name: _values(p, wanted.points[p.name], toolbox) for p in required.parameters}
    untold = {p.name: domains[p.name] for p in required.parameters if not told(p, ruleset, toolbox)}
    known = {name: values for name, values in domains.items() if name not in untold}

    def everything(**values: object) -> tuple[bool, str]:
        return bool(wanted.run(**values)[0]), ""

    def certain(**values: object) -> tuple[bool, str]:
        outcomes = sandbox.completions(everything, values, untold, limit=MOST)
        return all(allowed for _, (allowed, _) in outcomes), ""

    possible, deniable = _found(everything, domains, True), _found(everything, domains, False)
    exact = wanted.exact >= domains.keys()
    denies: Denies = "can" if deniable else "never" if deniable is False and exact else "not settled"
    if possible is not True:
        return ("never" if possible is False and exact else "not settled"), denies, ()
    alone = _found(certain, known, True)
    if alone is None:
        return "not settled", denies, ()
    return ("can", denies, ()) if alone else ("only if told", denies, _needed(everything, known, untold))


def told(parameter: Parameter, ruleset: RuleSet, toolbox: Toolbox) -> bool:
    """Whether a declared field or tool tells a guard's parameter, so that nobody has to name a fact for it."""
    declared = {f"state.{field.name}" for field in toolbox.state}
    declared |= {f"{tool.name}.{argument.name}" for tool in toolbox.tools for argument in tool.arguments}
    if parameter.field is not None:
        return parameter.field in declared
    if parameter.term is not None:
        return _reads(parameter.term, (parameter.tool,), declared)
    named = [parameter.fact] if parameter.fact is not None else f.predicates(parameter.past)
    return all(_told(ruleset.predicate(name), declared) for name in named)


def _told(predicate: Predicate, declared: set[str]) -> bool:
    if predicate.kind == "action":
        return bool(predicate.tools)
    if predicate.test is None:
        return f"state.{predicate.name}" in declared
    owners = predicate.tools or tuple({name.partition(".")[0] for name in declared} - {"state"})
    return _reads(predicate.test, owners, declared)


def _reads(node: facts.Node, owners: Sequence[str], declared: set[str]) -> bool:
    """Whether every path that a node reads is declared, of the state or of some of those tools."""
    named = ((path.names[1], ("state",) if path.names[0] == "state" else owners) for path in facts.paths(node))
    return all(any(f"{owner}.{name}" in declared for owner in of) for name, of in named)


def _values(parameter: Parameter, points: Sequence[object], toolbox: Toolbox) -> tuple[object, ...]:
    """The values that a parameter can have: an enumeration's are all there are, for any other is not known."""
    fields = {f"state.{field.name}": field for field in toolbox.state}
    fields |= {f"{tool.name}.{argument.name}": argument for tool in toolbox.tools for argument in tool.arguments}
    field = fields.get(parameter.field or "")
    closed = field is not None and field.values and parameter.type == "str" and parameter.measure == "value"
    return tuple(field.values) if closed else tuple(points)


def _found(run: Callable[..., object], over: Mapping[str, Sequence[object]], wanted: bool) -> bool | None:
    """Whether some values give that answer; None where not all could be tried."""
    try:
        return any(bool(answer[0]) is wanted for _, answer in sandbox.completions(run, {}, over, limit=MOST))
    except sandbox.TooMany:
        return None


def _needed(
    run: Callable[..., object], known: Mapping[str, Sequence[object]], untold: Mapping[str, Sequence[object]]
) -> tuple[str, ...]:
    """The untold facts that are read on the way to being allowed, each of which matters there."""
    for chosen, answer in sandbox.completions(run, {}, {**known, **untold}, limit=MOST):
        if answer[0]:
            return tuple(name for name in untold if name in chosen)
    return ()
