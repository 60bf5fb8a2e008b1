"""Propose, check, repair: one loop for tested and for proved guards, under a budget of rounds.

ToolGuard's test loop (Sec. 3.2) and VeriGuard's verification loop (Sec. 3.2.2) are the same loop with
other checks.  Checks run in order, each on the drafts that passed all before it and on all of them
together, so that a prover is asked once a round.  A complaint is a value, never an exception.

The guard's author: sentences of the policy in, a tool's function out, and its corrections.

The author sees the tool, the signature and the sentences; never the contract, which comes from the
formulas (`contract`).  What its parameters are follows from the rules all the same: the first source of a guard, which
comes before, is not shown that either (`reading`).  A rule of
`decisions.yaml` is no reading that could be compared with another one: the person has said what the sentence
demands.  So its code, one early return on each condition, is written from the rule itself, and the author is
asked about the other sentences only; tests and proof treat the whole as any guard.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import pydantic

from wb.domain.policy import Clause
from wb.domain.tools import Toolbox
from wb.domain.trace import Grade
from wb.guards import bounded, branches, examples, faults, parts, sandbox, trial
from wb.guards import contract as contracts
from wb.guards.bounded import Bound
from wb.guards.contract import Contract, Item, Parameter, bracketed
from wb.guards.examples import Example
from wb.guards.parts import Part
from wb.guards.runtime import DISPUTED, UNSETTLED, Guarded
from wb.guards.sandbox import Answered, Argument, UnsafeSource
from wb.guards.trial import Difference, TrialFailed
from wb.logic import cel
from wb.logic.syntax import render
from wb.models.client import LLM, Unanswered
from wb.rules import decisions
from wb.rules.rule import Rule, RuleSet


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a check found wrong: its name, what was required and got, and arguments that show it.

    `allowed` is the decision that those arguments must get; None where the check names none.  `message` and
    arguments follow from code and contract alone: they are sent to models.  `said` is what the tool behind
    the check happened to say: it may differ from run to run and is kept for people.  `where`, for people too, names
    the sentences that are broken, the line and branch that answered, and the values.
    """

    check: str
    message: str
    arguments: tuple[tuple[str, Argument], ...] = ()
    allowed: bool | None = None
    said: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One source of a tool's guard, and what was wrong with it; nothing, where it passed.

    `dissent` is what its author says against what is asked of it: a sentence that this function cannot express,
    and tests that are wrong, also those that were said to be when an earlier source was written.
    """

    source: str
    complaints: tuple[Complaint, ...] = ()
    dissent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A tool's guard in the making: its contract, its attempts (the last one counts), the checks it passed, its policy
    items as they were judged apart, where they were, what was found against it that a person has to decide, examples
    of its sentences (`scenes`), which are tests beside those of the contract, and what a second reading says
    (`reading.second`)."""

    contract: Contract
    attempts: tuple[Attempt, ...]
    passed: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    findings: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    second: str = ""

    @property
    def source(self) -> str:
        """The newest source."""
        return self.attempts[-1].source

    @property
    def dissent(self) -> tuple[str, ...]:
        """What the author of the newest source, and of those before it, says against what is asked of it."""
        return self.attempts[-1].dissent

    @property
    def complaints(self) -> tuple[Complaint, ...]:
        """What is wrong with the newest source."""
        return self.attempts[-1].complaints


PROOF, BRANCHES = "proof", "branches"
UNREACHED = "nothing was proved: the body cannot be reached"
SILENT = "the prover gave no answer; no values that break the rules were found by running the code"
UNABLE = "cannot express"
Check = tuple[str, Callable[[Sequence[Draft]], Sequence[tuple[Complaint, ...]]]]
Revise = Callable[[Sequence[Draft]], Sequence[Attempt | None]]
Settle = Callable[[Sequence[Draft], Revise], Sequence[Draft]]
Assumed = Mapping[str, Sequence[str]]  # what a model assumed, by tool (`sentences.assumptions`)
NOTHING: Assumed = MappingProxyType({})


def synthesise(
    drafts: Sequence[Draft], revise: Revise, *, checks: Sequence[Check] | None = None, max_rounds: int = 3
) -> tuple[Draft, ...]:
    """Each draft after at most `max_rounds` repairs; one without complaints passed every check, those of `TESTED` if
    none are given.

    `revise` gives a new attempt for each draft that has complaints, or None where it has no idea.  One with a source
    that was tried before is no new one; what its author says against the tests is kept.
    """
    if max_rounds < 0:
        raise ValueError(f"max_rounds must be 0 or more; got {max_rounds}")
    checks = TESTED if checks is None else checks
    rows = list(checked(drafts, checks))
    for _ in range(max_rounds):
        wrong = [i for i, draft in enumerate(rows) if draft.complaints]
        given = zip(wrong, revise([rows[i] for i in wrong]) if wrong else [], strict=True)
        said = {i: attempt for i, attempt in given if attempt is not None}
        revised = {i: a for i, a in said.items() if a.source not in {old.source for old in rows[i].attempts}}
        for i in said.keys() - revised.keys():
            newest = rows[i].attempts[-1]
            newest = replace(newest, dissent=tuple(dict.fromkeys((*newest.dissent, *said[i].dissent))))
            rows[i] = replace(rows[i], attempts=(*rows[i].attempts[:-1], newest))
        if not revised:
            break
        fresh = [replace(rows[i], attempts=(*rows[i].attempts, a), passed=()) for i, a in revised.items()]
        for i, draft in zip(revised, checked(fresh, checks), strict=True):
            rows[i] = draft
    return tuple(rows)


def settling(loop: Callable[..., Sequence[Draft]] = synthesise, **options: Any) -> Settle:
    """A loop of drafts and their author alone, with its options."""
    return partial(loop, **options)


def checked(drafts: Sequence[Draft], checks: Sequence[Check]) -> tuple[Draft, ...]:
    """The drafts with the complaints of the first check that each one's newest source fails."""
    rows = list(drafts)
    for name, check in checks:
        open_ = [i for i, draft in enumerate(rows) if not draft.complaints]
        for i, complaints in zip(open_, check([rows[i] for i in open_]) if open_ else [], strict=True):
            newest = replace(rows[i].attempts[-1], complaints=tuple(complaints))
            passed = rows[i].passed if complaints else (*rows[i].passed, name)
            rows[i] = replace(rows[i], attempts=(*rows[i].attempts[:-1], newest), passed=passed)
    return tuple(rows)


def language(drafts: Sequence[Draft]) -> list[tuple[Complaint, ...]]:
    """Whether each source is the function that was asked for, in the language of guards."""
    return [_language(draft) for draft in drafts]


def tests(drafts: Sequence[Draft]) -> list[tuple[Complaint, ...]]:
    """The examples of its contract and of its sentences that each guard gets wrong, found by running it in a process
    of its own; where it gets none wrong, the first values that its own code tells apart and that break its contract."""
    cases = [_cases(draft) for draft in drafts]
    asked = [(d.source, [dict(e.arguments) for e in rows]) for d, rows in zip(drafts, cases, strict=True)]
    failed = [_failed(rows, answers) for rows, answers in zip(cases, trial.answers(asked), strict=True)]
    right = [i for i, complaints in enumerate(failed) if not complaints]
    found = counterexamples([(drafts[i].contract, drafts[i].source) for i in right], "tests")
    for i, one in zip(right, found, strict=True):
        failed[i] = (one,) if one is not None else ()
    return failed


def counterexamples(
    guards: Sequence[tuple[Contract, str]], check: str, given: Sequence[Mapping[str, Argument]] = ()
) -> tuple[Complaint | None, ...]:
    """For each contract and source the first values, in a fixed order, on which running the code breaks the contract,
    with those that are `given`; None where none were found.

    They depend on the code and the contract alone, and are those that either of the two tells apart; the code runs in a
    process of its own.  The values in a prover's finding are whatever its solver happened to meet: they differ from run
    to run, and texts are opaque to it.
    """
    asked = [
        trial.Compared(
            source,
            examples.function(contract, contract.allows),
            {n: (fixed[n],) if n in fixed else met for n, met in _points(contract, source).items()},
            [{n: fixed.get(n, v) for n, v in one.arguments} for one in examples.examples(contract)],
        )
        for (contract, source), fixed in zip(guards, given or [{}] * len(guards), strict=True)
    ]
    found = trial.differences(asked) if asked else ()
    return tuple(_broken(guard, one, check) for guard, one in zip(guards, found, strict=True))


def _points(contract: Contract, source: str) -> dict[str, tuple[Argument, ...]]:
    """The values that a source and its contract tell apart."""
    return examples.points(contract, contracts.stated(source, contract))


def _broken(guard: tuple[Contract, str], found: Difference | TrialFailed | None, check: str) -> Complaint | None:
    """What values that break a contract are told as."""
    contract, source = guard
    if isinstance(found, TrialFailed):
        wanted = "an answer to all values that the code tells apart was required; the tests did not end"
        return Complaint(check, wanted, said=str(found))
    if found is None:
        return None
    broken = [i.rule for i in contract.items if not examples.program(contract, i.condition).run(**found.arguments)[0]]
    denied = f"deny was required (violation of {', '.join(broken)})"
    required = denied if broken else "allow was required (no rule is violated)"
    texts = [f"“{item.text}” ({item.rule})" for item in contract.items if item.rule in broken]
    values = ", ".join(f"{name}={value!r}" for name, value in found.arguments.items())
    where = "; ".join(filter(None, (*texts, branches.taken(source, found.arguments), f"with {values}")))
    return Complaint(check, f"{required}; got {found.got}", tuple(found.arguments.items()), not broken, where=where)


def _cases(draft: Draft) -> tuple[Example, ...]:
    """The examples of a draft; none where its contract is too large to give any."""
    computed = examples.examples(draft.contract)
    return (*computed, *draft.examples) if computed else ()


def _failed(cases: Sequence[Example], answers: Sequence[Answered | str] | TrialFailed) -> tuple[Complaint, ...]:
    if isinstance(answers, TrialFailed):
        return (Complaint("tests", "an answer to each example was required; the tests did not end", said=str(answers)),)
    if not cases:
        return (Complaint("tests", "an example at least was required; the contract is too large to give one"),)
    found = []
    for e, got in examples.wrong(cases, answers):
        of = f"{e.kind}{' of ' + e.rule if e.rule else ''}"
        required = f"{'allow' if e.allowed else 'deny'} was required ({of}); got {got}"
        found.append(Complaint("tests", required, e.arguments, e.allowed))
    return tuple(found)


def living(drafts: Sequence[Draft]) -> list[tuple[Complaint, ...]]:
    """The branches of each guard that no call takes (`branches`)."""
    required = "branches that some call takes were required; got"
    found = [branches.dead(one.source, examples.points(one.contract, one.source)) for one in drafts]
    return [tuple(Complaint(BRANCHES, f"{required} {said}") for said in dead) for dead in found]


def guarded(draft: Draft) -> Guarded:
    """The draft as it will be kept: `proved`, `bounded`, `tested`, or `error`, with the reason why not better.

    What its author says against it is a reason why it is not proved: a contract that its author disputes may be wrong.
    So is a finding that a person has to decide.
    """
    proved = PROOF in draft.passed and not draft.dissent and not draft.findings
    bound = within(draft) if "tests" in draft.passed else ""
    tested: Grade = "tested" if "tests" in draft.passed else "error"
    grade: Grade = "proved" if proved else "bounded" if isinstance(bound, Bound) else tested
    reasons = [str(bound)] if grade == "bounded" else []
    against = ((UNSETTLED, draft.findings), (DISPUTED, draft.dissent))
    reasons += [f"{head} {'; '.join(said)}" for head, said in against if said]
    reason = "; ".join([*reasons, *(_shown(c) for c in draft.complaints[:2])])
    try:
        source = contracts.assemble(draft.source, draft.contract)
    except UnsafeSource:
        source = draft.source
    return Guarded(draft.contract, source, grade, reason, parts.under(draft.parts, grade, reason), draft.second)


def _shown(complaint: Complaint) -> str:
    """A complaint as people read it: with where the code went wrong, or what the check said where nothing shows it."""
    more = complaint.where or ("" if complaint.arguments else complaint.said)
    return f"{complaint.message} ({more})" if more else complaint.message


def within(draft: Draft) -> Bound | str:
    """What was tried of a draft that the prover did not decide (`bounded.tried`); else why nothing is claimed.

    Not where values break its contract, its body was not reached, its author disputes it, or a person has to decide.
    """
    asked = draft.complaints and all(c.check == PROOF and c.message != UNREACHED for c in draft.complaints)
    if not asked or draft.dissent or draft.findings or any(c.arguments for c in draft.complaints):
        return "a guard that the prover alone did not decide was required"
    return bounded.tried(draft.contract, draft.source)


def unanswered(drafts: Iterable[Draft]) -> int:
    """How many drafts a checker gave no word on, because it was killed or did not end: they are to be asked again."""
    return sum(any(c.said and c.check in RUNNERS for c in draft.complaints) for draft in drafts)


RUNNERS = ("types", "tests")  # the checks that a process of their own makes
TESTED: tuple[Check, ...] = (("language", language), ("tests", tests), (BRANCHES, living))
TYPE_ERRORS = 3  # errors of type in one source that its author is told


def types(command: Sequence[str] = trial.CHECKER, seconds: float = trial.WAIT_S) -> Check:
    """The type checker's check of a round's drafts; a source is looked at once, however often it comes again.

    Whatever goes wrong with the checker is a complaint, never a pass.
    """
    known: dict[str, tuple[Complaint, ...]] = {}

    def check(drafts: Sequence[Draft]) -> list[tuple[Complaint, ...]]:
        asked = list(dict.fromkeys(draft.source for draft in drafts if draft.source not in known))
        errors = trial.typed(asked, command, seconds) if asked else {}
        if isinstance(errors, str):
            failed = Complaint("types", "the type checker's word was required; it gave none", said=errors)
            return [known.get(draft.source, (failed,)) for draft in drafts]
        wanted = "code without errors of type was required; got"
        for source in asked:
            known[source] = tuple(Complaint("types", f"{wanted} {error}") for error in errors[source][:TYPE_ERRORS])
        return [known[draft.source] for draft in drafts]

    return "types", check


def checks() -> tuple[Check, ...]:
    """What a candidate has to pass, in order: the language of guards, the type checker, the tests; then that no branch
    is dead, without which it is *tested* at most."""
    return ("language", language), types(), ("tests", tests), (BRANCHES, living)


def _language(draft: Draft) -> tuple[Complaint, ...]:
    wanted = draft.contract.signature
    try:
        got = _signature(sandbox.check(draft.source))
        if got != wanted:
            return (Complaint("language", f"the signature {wanted!r} was required; got {got!r}"),)
        faults.refuse(contracts.stated(draft.source, draft.contract))
    except UnsafeSource as error:
        return (Complaint("language", str(error)),)
    return ()


def _signature(function: ast.FunctionDef) -> str:
    listed = ", ".join(ast.unparse(a) for a in function.args.args)
    returns = ast.unparse(function.returns) if function.returns else "nothing"
    return f"def {function.name}({listed}) -> {returns}:"


UNANSWERED = "# the author gave no usable reply\n"
UNSAID = "# no sentence is known that its rules were read from\n"


class GuardCode(pydantic.BaseModel, extra="forbid"):
    """The reply to `write_guard` and `repair_guard`: a function, the sentences it leaves out, and what of the examples
    and complaints is wrong."""

    code: str
    uncovered: list[str] = []
    disputed: list[str] = []


def write(
    required: Sequence[Contract],
    sentences: Mapping[str, Sequence[Clause]],
    toolbox: Toolbox,
    llm: LLM,
    assumed: Assumed = NOTHING,
) -> tuple[Draft, ...]:
    """A first draft for each contract. `sentences` holds each tool's clauses, as `concerning` finds them; `assumed`
    what a model assumed of others, which the author is told (VeriGuard's A of G_t and H_t), where there is any.

    Nobody is asked where no read sentence demands anything.  An unanswered request gives a draft that every check
    refuses, so that the tool ends denied; so do rules none of whose sentences is known, of which nobody is asked.
    """
    unsaid = {c.tool: Attempt(UNSAID) for c in required if authored(c) and not sentences.get(c.tool)}
    asked = [c for c in required if authored(c) and c.tool not in unsaid]
    batch = [{**_told(c, sentences, assumed), "tool": _tool(toolbox, c.tool)} for c in asked]
    replies = llm.ask_all("write_guard", GuardCode, batch)
    written = unsaid | {c.tool: _attempt(reply, c) for c, reply in zip(asked, replies, strict=True)}
    return tuple(Draft(c, (written.get(c.tool) or Attempt(alone(c)),)) for c in required)


def sources(
    asked: Sequence[tuple[Contract, Sequence[Clause]]], toolbox: Toolbox, llm: LLM, assumed: Assumed = NOTHING
) -> Sequence[GuardCode | Unanswered]:
    """The replies to `write_source`: of clauses a function over the parameters of a contract without rules
    (`reading.declared`)."""
    batch = [{**_told(c, {c.tool: said}, assumed), "tool": _tool(toolbox, c.tool)} for c, said in asked]
    return llm.ask_all("write_source", GuardCode, batch)


def reviser(
    sentences: Mapping[str, Sequence[Clause]], llm: LLM, assumed: Assumed = NOTHING
) -> Callable[[Sequence[Draft]], list[Attempt | None]]:
    """The author asked again: a corrected attempt for each draft, None where there is no answer."""

    def revise(drafts: Sequence[Draft]) -> list[Attempt | None]:
        silent = (UNSAID, UNANSWERED)  # there is nothing to mend: what has no reply is asked for again by the next run
        asked = [
            i for i, d in enumerate(drafts) if authored(d.contract) and without(d.source, d.contract) not in silent
        ]
        replies = llm.ask_all("repair_guard", GuardCode, [_mistaken(drafts[i], sentences, assumed) for i in asked])
        found = [None if authored(d.contract) else Attempt(alone(d.contract)) for d in drafts]
        for i, reply in zip(asked, replies, strict=True):
            said = [one for one in drafts[i].dissent if not one.startswith(UNABLE)]  # taken back in words only
            found[i] = None if isinstance(reply, Unanswered) else _attempt(reply, drafts[i].contract, said)
        return found

    return revise


def concerning(
    contract: Contract, ruleset: RuleSet, clauses: Sequence[Clause], before: RuleSet | None = None
) -> tuple[Clause, ...]:
    """The clauses that the contract's rules were read from, in the document's order, a person's own rules left out.

    A refined rule names its parents; `before` is the rule set they are in.
    """
    ancestors = {rule.id: rule for rule in (*(before.rules if before else ()), *ruleset.rules)}
    wanted: set[str] = set()
    for item in rest(contract).items:
        wanted |= _sources(ancestors[item.rule], ancestors, frozenset())
    return tuple(clause for clause in clauses if clause.id in wanted)


def concerned(
    ruleset: RuleSet, clauses: Sequence[Clause], before: RuleSet | None = None
) -> Callable[[Contract], tuple[Clause, ...]]:
    """`concerning`, of a contract alone."""
    return partial(concerning, ruleset=ruleset, clauses=clauses, before=before)


def _sources(rule: Rule, ancestors: Mapping[str, Rule], seen: frozenset[str]) -> set[str]:
    found = {rule.clause} if rule.clause else set()
    for parent in rule.parents:
        if parent in ancestors and parent not in seen:
            found |= _sources(ancestors[parent], ancestors, seen | {rule.id, parent})
    return found


def _told(
    contract: Contract, sentences: Mapping[str, Sequence[Clause]], assumed: Assumed = NOTHING
) -> dict[str, object]:
    more = {"assumptions": list(assumed[contract.tool])} if assumed.get(contract.tool) else {}
    lists = ("headings", "context", "definitions")
    rows = [
        {"id": c.id, "text": c.said} | {name: list(getattr(c, name)) for name in lists} | {"scope": c.scope, **more}
        for c in sentences.get(contract.tool, ())
    ]
    own = rest(contract)
    return {"signature": own.signature, "parameters": [_parameter(p) for p in own.parameters], "sentences": rows}


def _mistaken(draft: Draft, sentences: Mapping[str, Sequence[Clause]], assumed: Assumed) -> dict[str, object]:
    """What an author is told of a draft: its own part of the code, and what that part must do."""
    own = rest(draft.contract)
    cases, named = examples.examples(own), {p.name for p in own.parameters}
    return {
        **_told(draft.contract, sentences, assumed),
        "code": without(draft.source, draft.contract),
        "complaints": [
            _row(c.check, c.message, tuple(one for one in c.arguments if one[0] in named), c.allowed)
            for c in draft.complaints
        ],
        "examples": [_row(e.kind, e.rule, e.arguments, e.allowed) for e in cases],
    }


def _parameter(parameter: Parameter) -> dict[str, object]:
    row: dict[str, object] = {"name": parameter.name, "type": parameter.type, "about": parameter.about}
    if parameter.field is not None:
        return {**row, "field": parameter.field, "measure": parameter.measure}
    if parameter.term is not None:
        return {**row, "term": cel.render(parameter.term)}
    row["words"] = list(parameter.words)
    if parameter.past is not None:
        return {**row, "past": render(parameter.past)}
    told = {} if parameter.test is None else {"test": cel.render(parameter.test)}
    return {**row, "fact": parameter.fact} | told


def _tool(toolbox: Toolbox, name: str) -> dict[str, object]:
    tool = toolbox.tool(name)
    return {
        "name": tool.name,
        "description": tool.description,
        "arguments": [{"name": a.name, "type": a.type, "description": a.description} for a in tool.arguments],
    }


def _row(kind: str, text: str, arguments: tuple[tuple[str, object], ...], allowed: bool | None) -> dict[str, object]:
    return {"kind": kind, "text": text, "arguments": dict(arguments), "allowed": allowed}


def _attempt(reply: GuardCode | Unanswered, contract: Contract, disputed: Iterable[str] = ()) -> Attempt:
    """The source of a reply with a person's part, and what its author says against it; without a reply, a text that is
    no function. Why there is none is in the ledger: it is what happened once, and no later request may depend on it."""
    if isinstance(reply, Unanswered):
        return Attempt(joined(UNANSWERED, contract))
    dissent = (*(f"{UNABLE} {one}" for one in reply.uncovered), *disputed, *reply.disputed)
    return Attempt(joined(reply.code, contract), dissent=tuple(dict.fromkeys(dissent)))


# ---- a person's rules -----------------------------------------------------------------------------------------------


def rest(contract: Contract) -> Contract:
    """The contract without what a person decided, and what only that speaks of: what an author is asked for."""
    own = _own(contract)
    if not own:
        return contract
    items = tuple(item for item in contract.items if item not in own)
    named = {node.id for one in items for node in ast.walk(ast.parse(one.condition)) if isinstance(node, ast.Name)}
    return replace(contract, items=items, parameters=tuple(p for p in contract.parameters if p.name in named))


def authored(contract: Contract) -> bool:
    """Whether a guard needs an author: a read sentence demands something, and no person forbids the tool outright."""
    return bool(rest(contract).items) and not any(item.condition == "False" for item in _own(contract))


def alone(contract: Contract) -> str:
    """The guard that needs no author."""
    return joined(f"{contract.signature}\n    return (True, 'allowed')\n", contract)


def of_rules(contract: Contract) -> str:
    """The guard that is written from all rules of the tool, whoever read them."""
    return _headed(f"{contract.signature}\n    return (True, 'allowed')\n", contract, contract.items)


def joined(source: str, contract: Contract) -> str:
    """An author's source with a person's part at its head; as it is where it is no function, which a check tells."""
    return _headed(_signed(source, rest(contract), contract), contract, _own(contract))


def _signed(source: str, written: Contract, wanted: Contract) -> str:
    """A source with the signature of another contract, where it has the one it was asked for; else as it is."""
    if written.signature == wanted.signature:
        return source
    tree, function = _one_function(source)
    if function is None or _signature(function) != written.signature:
        return source
    (shell,) = sandbox.parse(f"{wanted.signature}\n    pass\n").body
    assert isinstance(shell, ast.FunctionDef)
    function.args = shell.args
    return _text(tree, source)


def _headed(source: str, contract: Contract, items: Sequence[Item]) -> str:
    """A source with an early return for each condition of these items at its head."""
    own = {item.condition: item.clause for item in reversed(items)}
    if not own:
        return source
    if "False" in own:
        return f"{contract.signature}\n    return (False, {own['False']!r})\n"
    tree, function = _one_function(source)
    if function is None:
        return source
    returns = [f"if not {bracketed(c)}:\n    return (False, {clause!r})" for c, clause in reversed(own.items())]
    first = 1 if ast.get_docstring(function) is not None else 0
    try:
        function.body[first:first] = sandbox.parse("\n".join(returns)).body
    except sandbox.UnsafeSource:
        return source
    return _text(tree, source)


def without(source: str, contract: Contract) -> str:
    """The author's part of what `joined` gave, whatever became of the person's part."""
    tree, function = _one_function(source) if _own(contract) else (None, None)
    if function is None:
        return source
    function.body = [statement for statement in function.body if not _decided(statement)] or [ast.Pass()]
    return _signed(_text(tree, source), contract, rest(contract))


def _own(contract: Contract) -> tuple[Item, ...]:
    """The items that a person decided."""
    return tuple(item for item in contract.items if decisions.decided(item.clause))


def _one_function(source: str) -> tuple[ast.Module, ast.FunctionDef | None]:
    """The one function of a source, with the module that it stands in; None where there is not exactly one."""
    try:
        tree = sandbox.parse(source)
    except sandbox.UnsafeSource:
        return ast.Module([], []), None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return tree, functions[0] if len(functions) == 1 else None


def _text(tree: ast.Module, source: str) -> str:
    """The changed tree as source; the source as it was where the tree cannot be written, which a check tells too."""
    try:
        return sandbox.text(tree)
    except sandbox.UnsafeSource:
        return source


def _decided(statement: ast.stmt) -> bool:
    """Whether a statement is an early return that names a person's rules as its reason."""
    match statement:
        case ast.If(body=[ast.Return(value=ast.Tuple(elts=[_, ast.Constant(value=str(reason))]))], orelse=[]):
            return decisions.decided(reason)
    return False
