"""The first source of a guard: what a policy item says, written before anything of the contract is known.

One function a policy item (ToolGuard, Sec. 3.2), from every sentence of it, open ones too, over all that is declared:
the arguments of the call, the state with what lookups and questions tell, and which other tools were called before.
Its author is shown no rule, no contract, and not what the contract reads.  The first disagreement of the two is kept
with the values on which they part: a repair that turns code to fit a contract shows that the author can copy, not that
the contract is right.  So it stays open until a person decides the sentence (`decisions.yaml`; then its rules are the
person's, and nobody is asked), or another reader, as blind as the first, agrees with the contract.

What a contract reads that nothing declares (a sum over a list, an event of one object) no first source can express:
its rules are not compared, which is said.  A source that one grammar wrote from sentences whose rules the same grammar
read is compared too, but is no second reading (SPEC, on VeriGuard u: what a repair may change).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Literal, NamedTuple, get_args

from wb.domain.policy import Clause, Policy
from wb.domain.tools import Field, Tool, Toolbox
from wb.guards import contract as contracts
from wb.guards import examples, parts, sandbox
from wb.guards.contract import Contract, Parameter, bracketed
from wb.guards.loops import IDENTIFIER
from wb.guards.parts import Part
from wb.guards.sandbox import Argument, TooMany, UnsafeSource
from wb.guards.synthesis import (
    NOTHING,
    TESTED,
    UNABLE,
    UNANSWERED,
    Assumed,
    Attempt,
    Complaint,
    Draft,
    GuardCode,
    alone,
    authored,
    checked,
    counterexamples,
    joined,
    rest,
    sources,
    write,
)
from wb.logic import cel
from wb.logic import formula as f
from wb.logic.facts import Comparison, Node, Path, Scalar, Size
from wb.models.client import LLM, Unanswered
from wb.rules import decisions
from wb.rules.extract import PARSED
from wb.rules.items import Item
from wb.rules.rule import RuleSet
from wb.rules.sentences import Account

State = Literal["agrees", "differs", "not compared"]
DEEPEST = 3  # names of a nested value that is declared as a parameter, such as state.user.age
TYPES = {"integer": "int", "number": "int", "boolean": "bool", "string": "str"}
OPEN = "open sentences"  # what the item of all open sentences of a tool is called
GRAMMAR = "no second reading: one grammar wrote both the rules and the first source"


@dataclass(frozen=True, slots=True)
class Reading:
    """The first source of one policy item of a tool's guard, who wrote it, and how it stands to the contract.

    `rules` are the rules of the item, `compared` those that it could be held against.  `arguments` are the declared
    values on which both part; `allowed` is what the source says there.  `independent` is False where one grammar wrote
    both.
    """

    tool: str
    item: str
    sentences: tuple[str, ...]
    rules: tuple[str, ...]
    by: str
    source: str
    state: State = "not compared"
    reason: str = ""
    compared: tuple[str, ...] = ()
    arguments: tuple[tuple[str, Argument], ...] = ()
    allowed: bool | None = None
    independent: bool = True
    uncovered: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()


class Asked(NamedTuple):
    """One policy item that a first source is written of: the contract of its rules and of its tool, the declared
    parameters, the clauses that its author is shown, whether all that they say is in these rules, and whether the
    grammar read it."""

    item: str
    required: Contract
    tool: Contract
    given: Contract
    clauses: tuple[Clause, ...]
    whole: bool
    parsed: bool


def declared(tool: Tool, toolbox: Toolbox) -> Contract:
    """All that is declared of a call of the tool as parameters, of no rule: a first source's signature.

    Arguments and state fields that are numbers, truths or texts, also within objects; how many items a list holds; of
    each other tool whether it was called before.
    """
    found: list[Parameter] = []
    taken = set(contracts.RESERVED)

    def add(name: str, kind: str, about: str, **filled: object) -> None:
        free = next(n for n in (name, *(f"{name}_{i}" for i in range(2, 1000))) if n not in taken)
        taken.add(free)
        found.append(Parameter(free, kind, about, **filled))

    for owner, root, fields in ((tool.name, "call", tool.arguments), ("state", "state", toolbox.state)):
        for field in fields:
            _declare(field, owner, root, add)
    for other in toolbox.tools:
        if other.name != tool.name:
            about = f"whether {other.name} was called before: {other.description}"
            add(f"called_{other.name}", "bool", about, past=f.Once(f.Atom(other.name)), words=other.keywords)
    return Contract(tool.name, tuple(found), ())


def _declare(field: Field, owner: str, root: str, add: Callable[..., None]) -> None:
    """The parameters of a field: itself, or what stands in it."""
    place = "of the call" if root == "call" else "known when the call comes"
    about = f"{field.description or field.name.replace('_', ' ')} ({place})"
    if field.source is not None and field.source.text:
        about = f"{about}: {field.source.text}"
    if field.values:
        about = f"{about}; one of {', '.join(field.values)}"
    if field.type in TYPES:
        texts = field.values if field.type == "string" else ()
        within = tuple(v if type(v) is int else None for v in map(field.schema.get, ("minimum", "maximum")))
        filled = {"field": f"{owner}.{field.name}", "loose": field.type == "number", "values": texts, "within": within}
        add(field.name, TYPES[field.type], about, **filled)
    elif field.type == "array":
        add(f"count_{field.name}", "int", f"how many: {about}", field=f"{owner}.{field.name}", measure="count")
    else:
        for names, schema in _nested((root, field.name), field.schema):
            text = f"{schema.get('description', ' '.join(names[1:]))} ({place})"
            node: Node = Size(Path(names)) if schema.get("type") == "array" else Path(names)
            kind, head = TYPES.get(schema.get("type"), "int"), "count_" * isinstance(node, Size)
            more = {"measure": "count"} if head else {"loose": schema.get("type") == "number"}
            add(f"{head}{'_'.join(names[1:])}", kind, text, term=node, tool=owner if root == "call" else "", **more)


def _nested(names: tuple[str, ...], schema: Mapping) -> list[tuple[tuple[str, ...], Mapping]]:
    """The values and lists within an object by their names, at most `DEEPEST` names after the first."""
    found = []
    for name, inner in (schema.get("properties") or {}).items() if len(names) <= DEEPEST else ():
        if not IDENTIFIER.fullmatch(name) or not isinstance(inner, Mapping):
            continue
        if inner.get("type") in (*TYPES, "array"):
            found.append(((*names, name), inner))
        elif inner.get("type") == "object":
            found += _nested((*names, name), inner)
    return found


# ---- what is asked --------------------------------------------------------------------------------------------------


def asked(
    draft: Draft, mapped: Iterable[Item], accounts: Sequence[Account], clauses: Sequence[Clause], toolbox: Toolbox
) -> tuple[Asked, ...]:
    """What first sources are written of for a draft with its parts: each item that has rules, all sentences of the
    others together, which are open, and each item that was mapped onto the tool and is none of these.

    A rule that a person wrote is no reading: it is not compared, nor is its sentence told.  Of a tool without any other
    rule no guard is written, and nobody is asked of its open sentences.
    """
    required = draft.contract
    own = {item.rule for item in required.items if decisions.decided(item.clause)}
    given = declared(toolbox.tool(required.tool), toolbox)
    mine = {one.name: one for one in mapped if one.tool == required.tool and not one.archived}
    known = {part.name for part in draft.parts}

    def of(name: str, held: Sequence[Part], whole: bool) -> Asked | None:
        rules = tuple(rule for part in held for rule in part.rules if rule not in own)
        open_ = {id for part in held for id in part.open}
        read = [one for one in accounts if {*one.rules} & {*rules} or one.id in open_]
        names = {part.name for part in held} or {name}
        spans = [(one.start, one.end) for one in (*read, *(r for n in names if n in mine for r in mine[n].references))]
        told = _clauses(spans, clauses, accounts)
        parsed = bool(read) and all(one.grade == PARSED for one in read)
        return Asked(name, parts.alone(required, rules), required, given, told, whole, parsed) if told else None

    ruled = [part for part in draft.parts if {*part.rules} - own]
    waiting = [part for part in draft.parts if part.open and not part.rules]
    found = [of(part.name, [part], not part.open and not {*part.rules} & own) for part in ruled]
    found += [of(OPEN, waiting, False)] * bool(ruled and waiting)
    found += [of(name, (), True) for name in mine if name not in known]
    return tuple({(one.required, one.clauses): one for one in reversed(found) if one is not None}.values())[::-1]


def _clauses(
    spans: Sequence[tuple[int, int]], clauses: Sequence[Clause], accounts: Sequence[Account]
) -> tuple[Clause, ...]:
    """The clauses that stand at those places; a sentence that is none, as it stands."""

    def within(start: int, end: int) -> bool:
        return any(start < e and b < end for b, e in spans)

    found = [one for one in clauses if within(one.start, one.end)]
    for one in accounts:
        if within(one.start, one.end) and not any(c.start < one.end and one.start < c.end for c in found):
            found.append(Clause(one.id, one.text, one.start, one.end, one.headings))
    return tuple(sorted(found, key=lambda clause: clause.start))


def readings(
    every: Sequence[Asked], ruleset: RuleSet, toolbox: Toolbox, readers: Sequence[LLM], assumed: Assumed = NOTHING
) -> tuple[tuple[Reading, ...], ...]:
    """Of each item its first source, held against the contract, and where the two differ those of further readers, each
    as blind as the first, until one agrees with the contract or none is left."""
    found: list[list[Reading]] = [[] for _ in every]
    for llm in readers:
        open_ = [i for i, rows in enumerate(found) if not rows or not settled(rows)]
        batch = [(every[i].given, every[i].clauses) for i in open_]
        for i, reply in zip(open_, sources(batch, toolbox, llm, assumed) if batch else [], strict=True):
            found[i].append(_read(every[i], reply, llm.name, ruleset))
    return tuple(map(tuple, found))


def settled(rows: Sequence[Reading]) -> bool:
    """Whether no disagreement is open: the first reader had none, or a later one agrees with the contract."""
    return rows[0].state != "differs" or any(one.state == "agrees" and one.independent for one in rows[1:])


def _read(one: Asked, reply: GuardCode | Unanswered, by: str, ruleset: RuleSet) -> Reading:
    texts, rules = tuple(c.text for c in one.clauses), tuple(dict.fromkeys(i.rule for i in one.required.items))
    row = Reading(one.required.tool, one.item, texts, rules, by, "", independent=not (by == "offline" and one.parsed))
    if isinstance(reply, Unanswered):
        return replace(row, reason="its author gave no usable reply")
    row = replace(row, source=reply.code, uncovered=tuple(reply.uncovered), disputed=tuple(reply.disputed))
    try:
        return _compared(row, one, ruleset)
    except UnsafeSource as error:
        return replace(row, reason=f"its source is outside the language of guards: {error}")
    except TooMany as error:
        return replace(row, reason=f"too many values to try: {error}")


# ---- holding it against the contract ---------------------------------------------------------------------------------


def _compared(row: Reading, one: Asked, ruleset: RuleSet) -> Reading:
    """The reading with how it stands to the contract: values of a fixed order on which they part, where there are any.

    It may not allow what the rules of its item forbid; nor deny what all rules of the tool allow, for one sentence may
    say what another says too.  The second is not asked where the source is of more than the rules that it can be held
    against: what it denies beyond may be what the others demand.
    """
    function = sandbox.check(row.source)
    if {a.arg for a in function.args.args} - {p.name for p in one.given.parameters}:
        raise UnsafeSource(f"the signature {one.given.signature!r:.80} was required")
    said, missing = _translated(one.required, one, ruleset, row.uncovered)
    row = replace(row, compared=tuple(said), reason="; ".join(missing))
    whole = one.whole and not missing and not row.uncovered
    if not said and not whole:
        return replace(row, reason=row.reason or "open sentences alone: no rule to hold it against")
    source, own = f"{one.given.signature}\n{_body(function)}", _function(one, said)
    every = _function(one, _translated(one.tool, one, ruleset, ())[0])
    for allowing, other in ((source, own), (every, source))[: 1 + whole]:
        both = parts.conjunction(one.given, (allowing, other))
        over = _possible(one.given, examples.points(one.given, allowing, other))
        values = examples.difference(sandbox.load(allowing), sandbox.load(both), over)
        if values is not None:
            trees = map(sandbox.parse, (source, own))
            used = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
            shown = tuple((name, value) for name, value in values.items() if name in used)
            return replace(row, state="differs", arguments=shown, allowed=allowing is source)
    left = (*missing, *_untried(one, (source, own)))
    return replace(row, state="not compared" if left else "agrees", reason="; ".join(left))


def _possible(
    given: Contract, points: Mapping[str, tuple[sandbox.Argument, ...]]
) -> dict[str, tuple[sandbox.Argument, ...]]:
    """The values that are tried: all of an enumeration, and of numbers those that lie within what is declared, for no
    guard runs on others."""
    found = dict(points)
    for one in given.parameters:
        if one.name in found and one.values:
            found[one.name] = one.values
        elif one.name in found and one.type == "int":
            least, most = one.within
            fits = (v for v in points[one.name] if (least is None or v >= least) and (most is None or v <= most))
            found[one.name] = tuple(fits) or points[one.name]
    return found


def _untried(one: Asked, codes: Sequence[str]) -> tuple[str, ...]:
    """Why values that were tried alike do not show that two codes agree: an input, no enumeration that was tried whole,
    that one of them tells apart by more than comparisons with constants, or that may be a fraction and was tried at
    whole numbers alone."""
    trees = [sandbox.check(text) for text in codes]
    names = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    read = [p for p in one.given.parameters if p.name in names]
    told = [p.name for p in read if not p.values and any(p.name not in sandbox.simple(tree) for tree in trees)]
    parted = [p.name for p in read if p.loose]
    whys = (("told apart by more than constants", told), ("may be fractions, tried at whole numbers", parted))
    return tuple(f"{', '.join(some)}: {why}" for why, some in whys if some)


def _function(one: Asked, said: Mapping[str, str]) -> str:
    """The rules over what is declared as a function."""
    text = contracts.function(one.given, " and ".join(map(bracketed, said.values())) or "True")
    return text.replace(", '')\n", ", 'the rules')\n")  # `conjunction` needs a reason


def _body(function: ast.FunctionDef) -> str:
    return "".join(f"    {line}\n" for line in "".join(map(sandbox.text, function.body)).splitlines())


def _translated(
    required: Contract, one: Asked, ruleset: RuleSet, uncovered: Iterable[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """By rule of a contract its condition over what is declared, and why others have none."""
    known = {_key(p): p.name for p in one.given.parameters}
    names = {p.name: _expression(p, required.tool, known, ruleset) for p in required.parameters}
    terms = {name: sandbox.parse(text).body[0].value for name, text in names.items() if text is not None}
    heirs = {rule.id for rule in ruleset.rules if len(rule.parents) > 1}  # of sentences that may be among the uncovered
    found, missing, left = {}, [], {*uncovered}
    for item in required.items:
        tree = sandbox.parse(item.condition)
        unknown = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in terms]
        if item.clause in left or (left and item.rule in heirs):
            missing.append(f"{UNABLE} {', '.join(sorted(left))}")
        elif unknown:
            missing.append(f"{item.rule} reads {', '.join(dict.fromkeys(unknown))}, which nothing declares")
        else:
            found[item.rule] = sandbox.text(sandbox.put(tree, terms)).strip()
    return found, tuple(dict.fromkeys(missing))


def _key(p: Parameter) -> object:
    """What fills a parameter, whatever it is called."""
    if p.field is not None:
        return p.field, p.measure, p.type
    if p.term is not None:
        return cel.render(p.term), p.tool, p.type
    return p.past


def _expression(p: Parameter, tool: str, known: Mapping[object, str], ruleset: RuleSet) -> str | None:
    """A parameter of a contract over what is declared; None where nothing declared tells it."""
    match p.past:
        case f.Once(f.Atom() as atom) | f.Previously(f.Once(f.Atom() as atom)) if not atom.objects:
            done = ruleset.predicate(atom.predicate)
            plain = done.kind == "action" and done.test is None and len(done.tools) == 1  # any call of the one tool
            return known.get(f.Once(f.Atom(done.tools[0]))) if plain else None
    if p.fact is not None and tool not in (ruleset.predicate(p.fact).tools or (tool,)):
        return None
    match p.term if p.term is not None else p.test:
        case Comparison(op, Path((root, name)), Scalar(int() as limit, type="int")) if p.type == "bool":
            field = known.get((f"{'state' if root == 'state' else tool}.{name}", "value", "int"))
            return f"{field} {op} {limit}" if field else None
    return known.get(_key(p)) if p.fact is None else None


# ---- what follows from it --------------------------------------------------------------------------------------------


def finding(rows: Sequence[Reading]) -> str:
    """What a person has to decide of an item's first source and its contract; empty where nothing is open."""
    if settled(rows):
        return ""
    first, says = rows[0], {True: ("allows", "forbid"), False: ("denies", "allow"), None: ("", "")}
    verb, rules = says[first.allowed]
    values = ", ".join(f"{name}={value!r}" for name, value in first.arguments) or "any values"
    named = ", ".join(first.compared) or "no rule"
    source = f"the first source of “{' … '.join(first.sentences)}” ({first.by})"
    return f"{source} {verb} {values}, which the rules {rules} ({named})"


def findings(found: Iterable[Sequence[Reading]]) -> dict[str, tuple[str, ...]]:
    """The open disagreements by tool."""
    rows: dict[str, tuple[str, ...]] = {}
    for one in found:
        if text := finding(one):
            rows[one[0].tool] = (*rows.get(one[0].tool, ()), text)
    return rows


def compared(found: Iterable[Sequence[Reading]]) -> frozenset[str]:
    """The tools of whose items with rules each was held against them."""
    rows = [one[0] for one in found if one[0].rules]
    return frozenset(row.tool for row in rows) - {row.tool for row in rows if row.state == "not compared"}


def second(found: Iterable[Sequence[Reading]]) -> dict[str, str]:
    """By tool what its grade has to say of a second reading; nothing for a tool without rules to compare."""
    of: dict[str, list[Sequence[Reading]]] = {}
    for one in found:
        if one[0].rules:
            of.setdefault(one[0].tool, []).append(one)
    return {tool: _second(rows) for tool, rows in of.items()}


def _second(rows: Sequence[Sequence[Reading]]) -> str:
    total, apart = len(rows), sum(not settled(one) for one in rows)
    agree = [one for one in rows if settled(one) and any(row.state == "agrees" and row.independent for row in one)]
    same = sum(not one[0].independent and one[0].state != "differs" for one in rows)
    said = [f"a second reading agrees on {len(agree)} of {total} items"] if agree or not same else []
    said += [f"differs on {apart}"] if apart else []
    said += [GRAMMAR if same == total else f"{GRAMMAR} of {same}"] if same else []
    return ", ".join(said)


def first(
    required: Sequence[Contract],
    told: Mapping[str, Sequence[Clause]],
    readers: Sequence[LLM],
    policy: Policy,
    ruleset: RuleSet,
    *,
    mapped: Sequence[Item],
    accounts: Sequence[Account],
    clauses: Sequence[Clause],
    assumed: Assumed = NOTHING,
) -> tuple[tuple[Draft, ...], tuple[tuple[Reading, ...], ...]]:
    """A first draft for each contract, in its policy items, with what its first sources leave open, and all readings.

    A draft begins with its first sources where they can be put in the words of its contract; of any other its author is
    told these words now (`synthesis.write`), with the sentences that its rules were read from.  While a first source is
    not there nobody is told anything of the contract: the guard is no function, and its tool's calls are denied.
    """
    toolbox = policy.toolbox
    drafts = [Draft(c, (Attempt(alone(c)),), parts=parts.parts(c, mapped, accounts)) for c in required]
    every = [asked(draft, mapped, accounts, clauses, toolbox) for draft in drafts]
    flat = readings([one for rows in every for one in rows], ruleset, toolbox, readers, assumed)
    waiting, begun = iter(flat), []
    for draft, rows in zip(drafts, every, strict=True):
        begun.append(_begun(draft.contract, [(one, next(waiting)[0]) for one in rows], ruleset))
    late = [c for c, attempt in zip(required, begun, strict=True) if attempt is None]
    written = {one.contract.tool: one.attempts for one in write(late, told, toolbox, readers[0], assumed)}
    open_, words = findings(flat), second(flat)
    made = []
    for draft, attempt in zip(drafts, begun, strict=True):
        tool = draft.contract.tool
        attempts = (attempt,) if attempt is not None else written[tool]
        made.append(replace(draft, attempts=attempts, findings=open_.get(tool, ()), second=words.get(tool, "")))
    return tuple(made), flat


def _begun(required: Contract, read: Sequence[tuple[Asked, Reading]], ruleset: RuleSet) -> Attempt | None:
    """The conjunction of a tool's first sources in the words of its contract; None where it cannot be put so."""
    rows = [(one, row) for one, row in read if one.required.items]
    known = {item.rule for one, _ in rows for item in one.required.items}
    if any(not row.source for _, row in rows):
        return Attempt(joined(UNANSWERED, required))
    if not rows or any(row.uncovered for _, row in rows):
        return None
    if {item.rule for item in rest(required).items} - known or not authored(required):
        return None
    try:
        source = parts.conjunction(required, [_carried(required, one, row, ruleset) for one, row in rows])
    except (UnsafeSource, KeyError):
        return None
    return Attempt(joined(source, required), dissent=tuple(dict.fromkeys(d for _, row in rows for d in row.disputed)))


def _carried(required: Contract, one: Asked, read: Reading, ruleset: RuleSet) -> str:
    """A first source in the words of a contract; `KeyError` where it reads what the contract does not."""
    known = {_key(p): p.name for p in one.given.parameters}
    names = {_expression(p, required.tool, known, ruleset): p.name for p in required.parameters}
    function = sandbox.check(read.source)
    read = {node.id for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    terms: dict[str, ast.expr] = {name: ast.Name(names[name], ast.Load()) for name in read}
    function.body = [sandbox.put(statement, terms) for statement in function.body]
    return f"{required.signature}\n{_body(function)}"


# ---- code that was first written with the contract's parameters in view ---------------------------------------------


APART = "its code, as first written from the sentences, and its rules were two readings:"


def kept_apart(
    drafts: Sequence[Draft],
    sentences: Mapping[str, Sequence[Clause]],
    toolbox: Toolbox,
    others: Sequence[LLM] = (),
    assumed: Assumed = NOTHING,
    compared: Collection[str] = (),
) -> tuple[Draft, ...]:
    """The drafts, each with a finding where its first source and its rules decided a call differently.

    Code and contract are two readings of the sentences only until the code is made to fit: a repair settles which of
    the two stands, and not which is right.  So the first disagreement stays, with its values, and the guard is *tested*
    at most until a person decides, unless one of the `others`, who is shown the same sentences and nothing of the
    rules, code or tests, wrote at first what the rules say, on all values that tell the two apart.  Nobody else is
    asked where the first source agreed, and of no tool that was `compared` before, by sources that were blind also to
    what the rules read.
    """
    late = [draft for draft in drafts if draft.contract.tool not in compared]
    apart = {draft.contract.tool: shown for draft in late if (shown := disagreement(draft)) is not None}
    required = [draft.contract for draft in drafts if draft.contract.tool in apart]
    confirmed = set[str]()
    for other in others:
        asked = [contract for contract in required if contract.tool not in confirmed]
        written = write(asked, sentences, toolbox, other, assumed) if asked else ()
        confirmed |= {one.contract.tool for one in checked(written, TESTED) if agrees(one)}
    found = {tool: (f"{APART} {_in_words(shown)}",) for tool, shown in apart.items() if tool not in confirmed}
    return tuple(replace(one, findings=(*one.findings, *found.get(one.contract.tool, ()))) for one in drafts)


def disagreement(draft: Draft) -> Complaint | None:
    """The first call that the first source of a draft decided otherwise than its rules, whatever else was wrong with
    it; None where there is none, or where it was no guard that could be run."""
    first = draft.attempts[0]
    if not authored(draft.contract) or not first.complaints:
        return None
    found = next((c for c in first.complaints if c.arguments and c.allowed is not None), None)
    if found is None:
        with suppress(UnsafeSource):
            (found,) = counterexamples([(draft.contract, first.source)], "values")
    return found if found is not None and found.arguments else None


def agrees(draft: Draft) -> bool:
    """Whether a source that was checked decides as its rules do, and its author says nothing against it."""
    return not draft.complaints and not draft.dissent


def _in_words(shown: Complaint) -> str:
    values = ", ".join(f"{name}={value!r}" for name, value in shown.arguments)
    return f"at {values} the rules {'allow' if shown.allowed else 'deny'}, and the code did not"


def counted(found: Iterable[Sequence[Reading]]) -> dict[str, int]:
    """How many first sources agree, differ, are not compared, and how many of all are no second reading."""
    first = [one[0] for one in found]
    states = {f"first sources: {state}": sum(one.state == state for one in first) for state in get_args(State)}
    return states | {"by the grammar of the rules": sum(not one.independent for one in first)}


def to_json(found: Iterable[Sequence[Reading]]) -> list[dict[str, object]]:
    """The readings of all items as JSON values, a row each, further readers of an item after its first."""
    return [
        {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(row).items()} | {"open": not settled(one)}
        for one in found
        for row in one
    ]
