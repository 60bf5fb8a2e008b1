"""Decisions of a person about sentences: one YAML file beside the policy, `decisions.yaml`.

    decisions:
      - id: "3f2a90c1b7de"
        text: Session notes must be deleted within 24 hours.
        decision: waive            # or: not a constraint, reject, rule
        why: the archive deletes them
      - id: "0b51c2aa93f4"
        text: Refunds over $100 need a manager.
        decision: rule
        why: written by hand
        predicates:                # as in a rule file
          refund: {kind: action, tools: [refund_order]}
          manager: {kind: state, test: state.role == "manager"}
        rules:
          - {formula: ALWAYS (refund IMPLIES manager)}   # with a `modality` where the formula does not say it

A draft holds the readings of an open sentence as well, under `readings`, as predicates and rules, and above each what
it says, made from the formulas and tests alone: `decision: accept` takes the first for a person's own, unchanged,
`accept 2` the second; every other decision leaves them aside.  A reading that would leave its sentence open is none to
accept: it stands above, with the reason.

An entry without a decision changes nothing; one that rejects what was read leaves its sentence open.  The id is made
of the words and of what they are read with, titles, list openings, row and columns, and what an answer, a step or a
word that points back follows: a decision whose sentence was changed, or moved under others, is stale, and has no
effect either.  The id may be left out where the text is that of exactly one sentence; such a decision does not notice
other titles or another opening.  A state predicate without a test is the boolean field of its name.

An entry with `by: model` and its `assumption` is an answer that a model gave in the place of a person (VeriGuard's
autonomous mode, Sec. 3.2.1: default assumptions Omega(Q)).  It is in force at trust `read` alone, of a sentence that is
open alone, and what rests on it is *tested* at most; giving a constraint up (`waive`) is a person's alone.

      - id: "9a0c34e1d27b"
        text: Large refunds need a manager.
        by: model
        decision: rule
        assumption: large means over $100
        why: the next sentence speaks of $100

Beside the decisions, `struck` names examples that a model wrote from a sentence (`wb.guards.scenes`) and that are
wrong: they are tests no more and speak against no rule.

    struck:
      - id: "5be2a0f4c913"
        text: Refunds over $100 need a manager.
        why: in the example the manager himself asks

And `examples` are a person's own, tests like those of a model but taken before these: the tool, a sentence of one of
its policy items word for word, the decision wanted, and what is given (`arguments`, `state`, `history`, `answers`,
`now`) as a text of JSON, as it stands in a row of `scenes.json`, so that one of a model can be copied here to be kept
or edited; `instead` is the id of one whose place it takes.

    examples:
      - tool: refund_order
        text: Refunds over $100 need a manager.
        expect: deny
        given: '{"arguments": {"amount": 101}, "state": {"role": "clerk"}}'
        instead: "5be2a0f4c913"
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import pydantic

from wb import paths
from wb.domain.policy import Policy, named
from wb.domain.tools import Field, Toolbox, schemas
from wb.logic import facts, syntax, types
from wb.logic.formula import windows
from wb.logic.wording import shortened
from wb.rules import residual, rulefile
from wb.rules.rule import Predicate, Rule, RuleSet, rename
from wb.rules.rule import toolbox as with_questions
from wb.rules.rulefile import Form, Loc, PredicateForm, RuleForm, Written, decoded, read

ACCEPTED = "accepted as it was read"
REPLACED = "a person's example takes its place"


class DecisionError(ValueError):
    """A file is not one of decisions; the message says on which line, what was required and what was got."""


class Reading(Form):
    """One reading of a sentence: who read it so, predicates and rules as in a rule file, and their digest as a draft
    wrote them."""

    by: str = ""
    predicates: dict[str, PredicateForm] = {}
    rules: list[RuleForm] = []
    digest: str = ""

    def drafted(self, id: str, text: str) -> str:
        """The digest of what stands here, as read of that sentence."""
        said = self.model_dump(mode="json", exclude={"digest"})
        return paths.digest(json.dumps([id, _folded(text), said], sort_keys=True))[:12]


Decision = Literal["waive", "not a constraint", "reject", "rule", "accept", "accept 1", "accept 2", "accept 3"]


class Ruling(Form):
    """What a person decided about one sentence, and why; `predicates` and `rules` as in a rule file, `readings` as a
    draft offers them, word for word.  Of what a model decided (`by`), the `assumption` that it makes."""

    id: str = pydantic.Field(default="", pattern=r"^[0-9a-f]{12}(-[2-9]|-[1-9]\d+)?$")
    text: str = pydantic.Field(min_length=1)
    decision: Decision | None = None
    by: Literal["person", "model"] = "person"
    assumption: str | None = None
    why: str | None = None
    predicates: dict[str, PredicateForm] = {}
    rules: list[RuleForm] = []
    readings: list[Reading] = []

    def speaks_of(self, text: str) -> bool:
        """Whether the decision was made about these words, blanks folded."""
        return self.text.split() == text.split()

    @property
    def accepted(self) -> Reading | None:
        """The reading that is accepted; None where none is, or there is no such one."""
        if self.decision is None or not self.decision.startswith("accept"):
            return None
        number = int(self.decision.removeprefix("accept") or 1)
        return self.readings[number - 1] if number <= len(self.readings) else None

    def taken(self) -> Ruling:
        """The same with the rules that are accepted as its own."""
        if (read := self.accepted) is None:
            return self
        new = {"decision": "rule", "why": self.why or ACCEPTED, "predicates": read.predicates, "rules": read.rules}
        return self.model_copy(update={**new, "readings": []})


class Struck(Form):
    """An example that a person struck, by its id, with the words of the sentence that it rests on, and why."""

    id: str = pydantic.Field(pattern=r"^[0-9a-f]{12}$")
    text: str = pydantic.Field(min_length=1)
    why: str


class Shown(Form):
    """An example that a person wrote, with the sentence that it rests on, and the id of the one it stands for."""

    tool: str = pydantic.Field(min_length=1)
    text: str = pydantic.Field(min_length=1)
    expect: Literal["allow", "deny"]
    given: pydantic.Json[dict[str, Any]]
    instead: str = pydantic.Field(default="", pattern=r"^([0-9a-f]{12})?$")
    why: str = ""


class _File(Form):
    decisions: list[Any] = []  # each a `Ruling`
    struck: list[Any] = []  # each a `Struck`
    examples: list[Any] = []  # each a `Shown`


class Read(Protocol):
    """What a draft says of a sentence (`sentences.Account`)."""

    id: str
    text: str
    start: int
    place: str
    cls: str
    reason: str
    tools: tuple[str, ...]
    apart: tuple[str, ...]


def place(policy: Path) -> Path:
    """Where the decisions about a policy stand: in its folder, or beside its single document."""
    return paths.beside(policy, "decisions.yaml")


def load(path: Path, policy: Policy, trust: str = "agreed") -> tuple[Ruling, ...]:
    """The decisions of a file about a policy that count at a level of trust; none where there is no file.

    Raises:
        DecisionError: it cannot be read, is not of the form, or speaks of what the policy does not have.
    """
    return loads(decoded(path, DecisionError), policy, trust, source=path.name) if path.exists() else ()


def loads(text: str, policy: Policy, trust: str = "agreed", *, source: str = "decisions.yaml") -> tuple[Ruling, ...]:
    """The decisions of a text that are made, each with its id: entries without a decision are left out, and those of a
    model but at trust `read`.

    Raises:
        DecisionError: with all mistakes, a line each.
    """
    written = read(text, source, DecisionError)
    if written.data is None:
        return ()
    texts, wrong = named(policy), []
    if isinstance(written.data, dict) and "words" in written.data:
        raise DecisionError(f"{source}: no key 'words' was required: what words mean is said in vocabulary.yaml now")
    found: dict[int, Ruling] = {}
    for i, row in enumerate(written.checked(_File).decisions):
        if isinstance(row, dict) and row.keys() & {"part", "read"}:
            old = sorted(row.keys() & {"part", "read"})
            wrong.append(
                f"{written.where(('decisions', i))}: an entry of today's form was required; got {old}: take it from a "
                "new draft (`readings`), or write the whole rule"
            )
            continue
        one, mistakes = written.form(Ruling, row, ("decisions", i))
        if one is not None:
            one, mistakes = _identified(one, texts, written, ("decisions", i))
            mistakes += [f"{written.where(('decisions', i))}: {lacking}" for lacking in _unexplained(one)]
            mistakes += [f"{written.where(('decisions', i))}: {odd}" for odd in _unaccepted(one)]
            one = one.taken()
            mistakes += _mistakes(one, policy, texts, written, ("decisions", i))
            if one.id and one.id in {other.id for other in found.values()}:
                mistakes.append(
                    f"{written.where(('decisions', i))}: one decision a sentence was required; got {one.id!r} again"
                )
            found[i] = one
        wrong += mistakes
    wrong += _struck(written)[1] + _shown(written)[1]
    if wrong:
        raise DecisionError("\n".join(wrong))
    counting = ("person", "model") if trust == "read" else ("person",)
    return tuple(one for one in found.values() if one.decision is not None and one.by in counting)


def struck(path: Path) -> tuple[Struck, ...]:
    """The examples that a person struck in a file of decisions, or put others in the place of; none where there is no
    file.

    Raises:
        DecisionError: it cannot be read, or is not of the form.
    """
    replaced = [Struck(id=one.instead, text=one.text, why=REPLACED) for one in shown(path) if one.instead]
    return (*_listed(path, _struck), *replaced)


def shown(path: Path) -> tuple[Shown, ...]:
    """The examples that a person wrote in a file of decisions; raises as `struck`."""
    return _listed(path, _shown)


def _listed[E](path: Path, entries: Callable[[Written], tuple[list[E], list[str]]]) -> tuple[E, ...]:
    if not path.exists():
        return ()
    found, wrong = entries(read(decoded(path, DecisionError), path.name, DecisionError))
    if wrong:
        raise DecisionError("\n".join(wrong))
    return tuple(found)


def _shown(written: Written) -> tuple[list[Shown], list[str]]:
    """A person's examples in a file, and what is wrong with its entries."""
    rows = written.checked(_File).examples if written.data is not None else ()
    read = [written.form(Shown, row, ("examples", i)) for i, row in enumerate(rows)]
    return [one for one, _ in read if one is not None], [line for _, mistakes in read for line in mistakes]


def _struck(written: Written) -> tuple[list[Struck], list[str]]:
    """The struck examples of a file, and what is wrong with its entries."""
    found, wrong = [], []
    for i, row in enumerate(written.checked(_File).struck if written.data is not None else ()):
        one, mistakes = written.form(Struck, row, ("struck", i))
        wrong += mistakes
        if one is None:
            continue
        at = written.where(("struck", i))
        if not any(letter.isalnum() for letter in one.why):
            wrong.append(f"{at}: a reason 'why' was required for a struck example; got none")
        if one.id in {other.id for other in found}:
            wrong.append(f"{at}: one entry an example was required; got {one.id!r} again")
        found.append(one)
    return found, wrong


FORM = Path(__file__).with_suffix(".yaml")  # the head of a draft: which decisions there are, and how a rule is written


class Offer(NamedTuple):
    """A reading that a person may choose: who read it so, the rules, and why it would leave its sentence open; empty
    where it settles it."""

    by: str
    ruleset: RuleSet
    idle: str = ""


def draft(accounts: Iterable[Read], toolbox: Toolbox, offered: Mapping[str, Sequence[Offer]] = {}) -> str:
    """The open sentences as a file of decisions to fill in, those that block most tools first.

    `offered` are the readings of some, by their ids.  It is a valid file that decides nothing.  Write it beside the
    artifacts, never over a person's file.
    """
    accounts, total = tuple(accounts), len(toolbox.tools)
    waiting = sorted((r for r in accounts if r.cls == "open"), key=lambda r: (-len(r.tools), r.start))
    head = (
        f"# {len(waiting)} sentences are open: a tool that one of them holds is not allowed.\n{FORM.read_text('utf-8')}"
    )
    aside = [f"{r.cls} ({r.reason}): {r.text}" for r in accounts if r.cls in ("not a constraint", "waived")]
    foot = ["", "Set aside; a permission among them may hide a condition:", *aside] if aside else []
    tail = "\n".join(map(_remark, foot)) + "\n" * bool(foot)
    if not waiting:
        return f"{head}decisions: []\n{tail}"
    return f"{head}decisions:\n" + "\n".join(_entry(r, total, offered.get(r.id, ())) for r in waiting) + tail


def _remark(text: str) -> str:
    """A text as a remark of one line; "" as an empty line."""
    return f"# {''.join(c if c.isprintable() else ' ' for c in ' '.join(text.split()))}" if text else ""


def _entry(account: Read, total: int, offered: Sequence[Offer]) -> str:
    """One open sentence of the draft: what it blocks, why, where it stands, what is to be filled in, what was read."""
    import yaml  # here, not above: whoever loads guards writes no draft

    from wb.rules import understood

    settling = [one for one in offered if not one.idle]
    quoted = yaml.safe_dump(_folded(account.text), default_style='"', allow_unicode=True, width=10**9).strip()
    notes = [
        f"blocks all {total} tools"
        if len(account.tools) == total
        else f"blocks {len(account.tools)} of {total} tools: {', '.join(account.tools) or 'none'}",
        f"open because: {account.reason}",
        *([f"stands {account.place}"] if account.place else []),
        *([f"the readings part where: {' | '.join(account.apart)}"] if account.apart else []),
        *(
            f"{k} says ({one.by}): {understood.words(rule, one.ruleset)}"
            for k, one in enumerate(settling, 1)
            for rule in one.ruleset.rules
        ),
        *(
            f"not to be accepted, for the sentence would stay open, {one.idle}: {understood.words(rule, one.ruleset)}"
            for one in offered
            for rule in one.ruleset.rules
            if one.idle
        ),
    ]
    rows = [f"  {_remark(note)}" for note in notes]
    rows += [f'  - id: "{account.id}"', f"    text: {quoted}", "    decision:", "    why:"]
    if settling:
        made = {"readings": [offer(one.by, one.ruleset, account.id, account.text) for one in settling]}
        rows += [f"    {line}" for line in rulefile.written(made).rstrip("\n").split("\n")]
    return "\n".join(rows) + "\n"


def form(ruleset: RuleSet) -> dict[str, object]:
    """Predicates and rules as an entry says them; a modality where the formula does not say it."""
    rules = [{"formula": syntax.render(one.formula), "modality": one.modality} for one in ruleset.rules]
    for one, row in zip(ruleset.rules, rules, strict=True):
        if residual.modality(one.formula) == one.modality:
            del row["modality"]
    return {"predicates": {p.name: predicate_row(p) for p in ruleset.predicates}, "rules": rules}


def offer(by: str, ruleset: RuleSet, id: str, text: str) -> dict[str, object]:
    """A reading as a draft says it: with its digest, so that it is accepted as it was."""
    row = {"by": by, **form(ruleset)}
    return {**row, "digest": Reading(**row).drafted(id, text)}


def predicate_row(one: Predicate) -> dict[str, object]:
    """A predicate as an entry says it: what binds it."""
    row = rulefile.predicate_row(one)
    return {key: row[key] for key in ("kind", "tools", "test", "objects", "question", "of") if row[key]}


def to_text(ruleset: RuleSet) -> str:
    """Rules with their predicates as the text of a decision, to be edited."""
    return rulefile.written(form(ruleset))


DECIDED = "decided-"


def clause_id(sentence: str) -> str:
    """The clause that a person's rules for a sentence are of."""
    return f"{DECIDED}{sentence}"


def decided(clause: str) -> bool:
    """Whether a clause is one of a person's rules."""
    return clause.startswith(DECIDED)


def joined(ruleset: RuleSet, own: RuleSet, toolbox: Toolbox) -> tuple[RuleSet, list[Rule]]:
    """The rule set with the predicates of a person's rules, and these rules over them.

    Predicates of the same name and binding are one; another of a name that is taken gets a number.
    """
    predicates, names = list(ruleset.predicates), {}
    for p in (_told(p, toolbox) for p in own.predicates):
        same = next((q for q in predicates if q.name == p.name and _binding(q) == _binding(p)), None)
        if same is None:
            name, number = p.name, 2
            while any(q.name == name for q in predicates):
                name, number = f"{p.name}_{number}", number + 1
            predicates.append(p.under(name))
            names[p.name] = name
    rules = [replace(rule, formula=rename(rule.formula, names)) for rule in own.rules]
    return replace(ruleset, predicates=tuple(predicates)), rules


def own(rulings: Iterable[Ruling], toolbox: Toolbox) -> RuleSet:
    """The rules that persons wrote or took, over predicates as the toolbox tells them."""
    ruleset, rules = RuleSet(), []
    for ruling in rulings:
        ruleset, fresh = joined(ruleset, fragment(ruling), toolbox)
        rules += fresh
    return replace(ruleset, rules=tuple(rules))


def _told(predicate: Predicate, toolbox: Toolbox) -> Predicate:
    """The predicate with the field of its name as its test, where it has none and the state has that field."""
    field = next((one for one in toolbox.state if one.name == predicate.name), None)
    if predicate.kind != "state" or predicate.test is not None or field is None or field.type != "boolean":
        return predicate
    return replace(predicate, test=facts.Path(("state", field.name)))


def fragment(decision: Ruling, written: Written | None = None, loc: Loc = ()) -> RuleSet:
    """The rules of a decision as a rule set of their own; `DecisionError` where they are none, at its place."""
    clause = clause_id(decision.id)
    written = written or Written(None, {}, f"sentence {decision.id}", DecisionError)
    rules = []
    for i, row in enumerate(decision.rules):
        rule = written.rule(row, f"{clause}.{i + 1}", (*loc, "rules", i))
        text, quote = rule.text or decision.text, rule.quote or decision.text
        rules.append(replace(rule, clause=clause, text=text, quote=quote))
    predicates = written.predicates(decision.predicates, loc)
    try:
        return RuleSet(predicates, tuple(rules))
    except ValueError as error:
        written.refuse(loc, error)


def decide(
    reading: Read,
    decision: str | None,
    why: str,
    rules: str,
    policy: Policy,
    *,
    source: str = "the rule",
    assumption: str | None = None,
) -> Ruling:
    """A decision about a sentence, of a model where it makes an assumption; `rules` is a text as of an entry, with its
    keys `predicates` and `rules`, or empty.

    Raises:
        DecisionError: it could not stand in a file of decisions about the policy; the lines are those of `rules`.
    """
    written = read(rules, source, DecisionError)
    given = {} if written.data is None else written.data
    if not isinstance(given, dict) or given.keys() - {"predicates", "rules"}:
        got = sorted(given.keys() - {"predicates", "rules"}) if isinstance(given, dict) else type(given).__name__
        raise DecisionError(f"{source}: a mapping with the keys ['predicates', 'rules'] was required; got {got}")
    row = {"id": reading.id, "text": reading.text, "why": why or None, **given}
    row |= {"decision": decision} if decision is not None else {}
    row |= {"by": "model", "assumption": assumption} if assumption is not None else {}
    one, wrong = written.form(Ruling, row)
    if one is not None:
        wrong += [*_unexplained(one), *_unaccepted(one), *_mistakes(one, policy, named(policy), written, ())]
    if wrong:
        raise DecisionError("\n".join(wrong))
    return one


def _binding(predicate: Predicate) -> tuple:
    told = predicate.question, predicate.speakers  # two questions fill a field of one name
    return predicate.kind, predicate.tools, predicate.test, predicate.objects, told


def _identified(one: Ruling, texts: Mapping[str, str], written: Written, loc: Loc) -> tuple[Ruling, list[str]]:
    """The decision with the id of the one sentence of its text, where it names none."""
    if one.id or one.decision is None:
        return one, []
    found = [name for name, text in texts.items() if one.speaks_of(text)]
    if len(found) == 1:
        return one.model_copy(update={"id": found[0]}), []
    got = f"several, {found}" if found else f"none that says {shortened(one.text, 80)!r}"
    return one, [
        f"{written.where((*loc, 'text'))}: without an id, the words of exactly one sentence were required; got {got}"
    ]


def _unexplained(one: Ruling) -> list[str]:
    """That a decision has no reason, if it has none; of a model's, that it assumes nothing, or is not its to make."""
    wrong, model = [], one.by == "model"
    free = one.decision is None or (one.decision.startswith("accept") and not model)
    if not free and not any(letter.isalnum() for letter in one.why or ""):
        wrong.append(f"a reason 'why' was required for {one.decision!r}; got none")
    if one.decision is not None and model != any(letter.isalnum() for letter in one.assumption or ""):
        wrong.append(f"an 'assumption' was required with 'by: model', and with it alone; got {one.assumption!r}")
    if one.decision == "waive" and model:
        wrong.append("a decision of a person was required for 'waive'; got one by: model")
    return wrong


def _unaccepted(one: Ruling) -> list[str]:
    """What of the reading that an entry accepts does not go with its decision."""
    if one.decision is None or not one.decision.startswith("accept"):
        return []
    if (read := one.accepted) is None or not read.rules:
        return [f"a reading under 'readings' was required for {one.decision!r}; got {len(one.readings)}"]
    if one.rules or one.predicates:
        return [f"no rules beside 'readings' were required for {one.decision!r}; got some: write 'rule' to use them"]
    if read.digest != read.drafted(one.id, one.text):
        return [
            "a reading was required as a draft wrote it of this sentence, with its digest; it was changed: write "
            "'rule' with a reason for rules of your own"
        ]
    return []


def _folded(text: str) -> str:
    return " ".join(text.split())


def _mistakes(one: Ruling, policy: Policy, texts: Mapping[str, str], written: Written, loc: Loc) -> list[str]:
    """What an entry lacks that its decision needs, or has and cannot use; of a stale one only what its form tells."""
    if one.decision is None:
        return []
    wrong = []
    if (one.decision == "rule") != bool(one.rules):
        need = "at least one rule" if one.decision == "rule" else "no rules"
        wrong.append(f"{written.where(loc)}: {need} was required for {one.decision!r}; got {len(one.rules)}")
    if one.predicates and not one.rules:
        wrong.append(f"{written.where(loc)}: rules over the predicates were required; got none")
    if others := {rule.type for rule in one.rules} - {"action"}:
        wrong.append(f"{written.where(loc)}: rules of type 'action' were required; got {sorted(others)}")
    broken = [*_unreadable(one, written, loc)]
    if not broken and one.decision == "rule":
        try:
            whole = fragment(one, written, loc)
        except DecisionError as error:
            return [*wrong, str(error)]
        if one.id in texts and one.speaks_of(texts[one.id]):
            broken += _undeclared(whole, with_questions(policy.toolbox, whole), written, loc)
    return wrong + broken


def _unreadable(one: Ruling, written: Written, loc: Loc) -> Iterator[str]:
    """The predicates and rules of an entry that cannot be read."""
    parts = [partial(written.predicates, {name: row}, loc) for name, row in one.predicates.items()]
    parts += [partial(written.rule, row, "", (*loc, "rules", i)) for i, row in enumerate(one.rules)]
    for part in parts:
        try:
            part()
        except DecisionError as error:
            yield str(error)


_CLOCK = ', which is declared as {"name": "now", "type": "string", "from": "clock"}'


def _undeclared(own: RuleSet, toolbox: Toolbox, written: Written, loc: Loc) -> Iterator[str]:
    """What a person's predicates name that the policy's tools do not have: tools, state fields, arguments."""
    tools = {tool.name: tool.arguments for tool in toolbox.tools}
    called = [tool for p in own.predicates if p.kind == "action" for tool in p.tools]
    for p in own.predicates:
        at = written.where((*loc, "predicates", p.name))
        if strange := sorted(set(p.tools) - set(tools)):
            yield f"{at}: tools of {sorted(tools)} were required; got {strange}"
            continue
        told = False
        own_paths = (*(facts.paths(p.test) if p.test is not None else ()), *p.objects)
        listed = [tool for tool in p.tools or called if tool in tools]
        telling = {tool: _telling(own_paths, toolbox, tools[tool]) for tool in listed}
        for path, told_by in dict.fromkeys((*((path, "") for path in own_paths), *chain(*telling.values()))):
            if path.names[0] == "state":
                owners = [("a field of the state", toolbox.state)]
            else:
                readers = [tool for tool in listed if not told_by or (path, told_by) in telling[tool]]
                owners = [(f"an argument of {tool}", tools[tool]) for tool in readers]
            missing = [(what, fields) for what, fields in owners if not _declares(fields, path.names[1:])]
            if missing and (p.tools or len(missing) == (len(listed) if told_by else len(owners))):
                what, fields = missing[0]
                hint = _CLOCK * (path == facts.NOW.arguments[0])
                yield f"{at}: {what} that tools.json declares was required, one of {[f.name for f in fields]}; " + (
                    f"got {'.'.join(path.names[1:])!r}{hint}{told_by}"
                )
                told = True
        if not told:
            yield from (f"{at}: {wrong}" for wrong in _mistyped(p, toolbox))
    for i, rule in enumerate(own.rules):
        if windows(rule.formula) and not any(field.name == "now" for field in toolbox.state):
            got = [field.name for field in toolbox.state]
            yield f"{written.where((*loc, 'rules', i))}: a field now of the state, the time, was required; got {got}"


def _telling(paths: Iterable[facts.Path], toolbox: Toolbox, own: Sequence[Field]) -> dict[tuple[facts.Path, str], None]:
    """What the calls of a tool with those arguments must tell for fields of the state that come from elsewhere, and
    which field that is."""
    sources = {field.name: field.source for field in toolbox.state if field.source is not None}
    waiting = [path.names[1] for path in paths if path.names[0] == "state"]
    found: dict[tuple[facts.Path, str], None] = {}
    for name in waiting:
        nodes = [node for _, node in sources[name].arguments] if name in sources else []
        if nodes and sources[name].kind == "origin":  # of several arguments those count that the tool has
            nodes = [node for node in nodes if any(one.name == node.names[1] for one in own)] or nodes
        for path in dict.fromkeys(path for node in nodes for path in _read_of(node, own)):
            if path.names[0] == "call":
                found[path, f", which tells state.{name}"] = None
            elif path.names[1] not in waiting:
                waiting.append(path.names[1])
    return found


def _read_of(node: facts.Node, own: Sequence[Field]) -> Iterator[facts.Path]:
    """The paths that a value reads at a call with those arguments: of `has(call.x) ? a : b` those of the side that is
    taken, of both where `x` may be there or not."""
    match node:
        case facts.Path():
            yield node
        case facts.Choice(facts.Has(facts.Path(("call", name))), then, otherwise):
            field = next((one for one in own if one.name == name), None)
            sides = (otherwise,) if field is None else (then,) if field.required else (then, otherwise)
            yield from (path for side in sides for path in _read_of(side, own))
        case _:
            yield from (path for child in facts.children(node) for path in _read_of(child, own))


def _mistyped(predicate: Predicate, toolbox: Toolbox) -> tuple[str, ...]:
    """What a predicate's test asks of values that tools.json declares to be of another type, of calls of each tool."""
    if predicate.test is None:
        return ()
    state = schemas(toolbox.state)
    calls = [schemas(tool.arguments) for tool in toolbox.tools if tool.name in predicate.tools] or [None]
    return tuple(dict.fromkeys(wrong for call in calls for wrong in types.mistakes(predicate.test, state, call)))


def _declares(fields: Iterable[Field], names: Sequence[str]) -> bool:
    """Whether one of the fields has the name, and, where its schema lists what it holds, the names below it."""
    field = next((one for one in fields if one.name == names[0]), None)
    if field is None:
        return False
    schema: object = field.schema
    for name in names[1:]:
        inside = schema.get("properties") if isinstance(schema, Mapping) else None
        if not isinstance(inside, Mapping) or not inside:
            return True
        if name not in inside:
            return False
        schema = inside[name]
    return True
