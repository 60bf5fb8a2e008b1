"""Decisions of a person about sentences: one YAML file beside the policy, `decisions.yaml`.

    decisions:
      - id: "3f2a90c1b7de"
        text: Session notes must be deleted within 24 hours.
        decision: waive            # or: not a constraint, or: rule
        why: the archive deletes them
      - id: "0b51c2aa93f4"
        text: Refunds over $100 need a manager.
        decision: rule
        why: written by hand
        predicates:                # as in a rule file
          refund: {kind: action, tools: [refund_order]}
          manager: {kind: state, test: state.role == "manager"}
        rules:
          - {formula: ALWAYS (refund IMPLIES manager), modality: permit_only_if}

An entry without a decision changes nothing.  The id is made of the words: a decision whose sentence was
changed is stale, and has no effect either.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol

import pydantic
import yaml

from wb import paths
from wb.domain.tools import Toolbox
from wb.rules.rule import Predicate, RuleSet, rename
from wb.rules.rulefile import Form, Loc, PredicateForm, RuleForm, Written, decoded, read


class DecisionError(ValueError):
    """A file is not one of decisions; the message says on which line, what was required and what was got."""


class Ruling(Form):
    """What a person decided about one sentence, and why; `predicates` and `rules` as in a rule file."""

    id: str = pydantic.Field(pattern=r"^[0-9a-f]{12}(-[2-9]|-[1-9]\d+)?$")
    text: str = pydantic.Field(min_length=1)
    decision: Literal["waive", "not a constraint", "rule"] | None = None
    why: str | None = None
    predicates: dict[str, PredicateForm] = {}
    rules: list[RuleForm] = []

    def speaks_of(self, text: str) -> bool:
        """Whether the decision was made about these words, blanks folded."""
        return self.text.split() == text.split()


class _File(Form):
    decisions: list[Ruling] = []


class Read(Protocol):
    """What a draft says of a sentence (`sentences.Reading`)."""

    id: str
    text: str
    start: int
    headings: tuple[str, ...]
    cls: str
    reason: str
    tools: tuple[str, ...]


def place(policy: Path) -> Path:
    """Where the decisions about a policy stand: in its folder, or beside its single document."""
    return paths.decisions(policy)


def load(path: Path) -> tuple[Ruling, ...]:
    """The decisions of a file; none where there is no file.

    Raises:
        DecisionError: it cannot be read, or is not of the form.
    """
    if not path.exists():
        return ()
    return loads(decoded(path, DecisionError), source=path.name)


def loads(text: str, *, source: str = "decisions.yaml") -> tuple[Ruling, ...]:
    """The decisions of a text that are made: entries without a decision are left out."""
    written = read(text, source, DecisionError)
    if written.data is None:
        return ()
    found = written.checked(_File).decisions
    for i, one in enumerate(found):
        _checked(one, written, ("decisions", i))
    ids = [one.id for one in found]
    for i, name in enumerate(ids):
        if name in ids[:i]:
            written.refuse(("decisions", i), f"one decision a sentence was required; got {name!r} again")
    return tuple(one for one in found if one.decision is not None)


def draft(readings: Iterable[Read], toolbox: Toolbox) -> str:
    """The open sentences as a file of decisions to fill in, those that block most tools first.

    It is a valid file that decides nothing.  Write it beside the artifacts, never over a person's file.
    """
    waiting = sorted((r for r in readings if r.cls == "open"), key=lambda r: (-len(r.tools), r.start))
    total = len(toolbox.tools)
    head = (
        f"# {len(waiting)} sentences are open: a tool that one of them bears on is not allowed.\n"
        "# Decide, say why, and keep this file as decisions.yaml beside the policy.\n"
    )
    if not waiting:
        return f"{head}decisions: []\n"
    return f"{head}decisions:\n" + "\n".join(_entry(r, total) for r in waiting)


def _entry(reading: Read, total: int) -> str:
    """One open sentence of the draft, with the three decisions that can be made as comments."""
    said = " ".join(reading.text.split())
    quoted = yaml.safe_dump(said, default_style='"', allow_unicode=True, width=10**9).strip()
    title = f" (under {' / '.join(reading.headings)})" if reading.headings else ""
    notes = [
        f"blocks all {total} tools"
        if len(reading.tools) == total
        else f"blocks {len(reading.tools)} of {total} tools: {', '.join(reading.tools) or 'none'}",
        f"open because: {reading.reason}{title}",
    ]
    rows = [f"  # {''.join(c if c.isprintable() else ' ' for c in ' '.join(note.split()))}" for note in notes]
    rows += [f'  - id: "{reading.id}"', f"    text: {quoted}", "    decision:", "    why:"]
    rows += [
        "    # decision: waive              # it stays a constraint, but no guard keeps it: say who does",
        "    # decision: not a constraint   # it demands nothing of any call",
        "    # decision: rule               # then write it, as in a rule file:",
        "    # predicates:",
        "    #   does_it: {kind: action, tools: [...]}",
        "    #   may_do_it: {kind: state, test: state.age >= 18}",
        "    # rules:",
        "    #   - {formula: ALWAYS (does_it IMPLIES may_do_it), modality: permit_only_if}",
    ]
    return "\n".join(rows) + "\n"


DECIDED = "decided-"


def clause_id(sentence: str) -> str:
    """The clause that a person's rules for a sentence are of."""
    return f"{DECIDED}{sentence}"


def decided(clause: str) -> bool:
    """Whether a clause is one of a person's rules."""
    return clause.startswith(DECIDED)


def join(ruleset: RuleSet, decisions: Iterable[Ruling], toolbox: Toolbox) -> RuleSet:
    """The rule set with the rules that a person wrote, each quoting its sentence.

    Predicates of the same name and binding are one; another of a name that is taken gets a number.

    Raises:
        DecisionError: a predicate names a tool that the toolbox does not have.
    """
    for decision in decisions:
        if decision.decision == "rule":
            ruleset = _joined(ruleset, decision, toolbox)
    return ruleset


def _joined(ruleset: RuleSet, decision: Ruling, toolbox: Toolbox) -> RuleSet:
    own = fragment(decision)
    known = {tool.name for tool in toolbox.tools}
    strange = sorted({tool for p in own.predicates for tool in p.tools} - known)
    if strange:
        raise DecisionError(f"sentence {decision.id}: tools of {sorted(known)} were required; got {strange}")
    predicates, names = list(ruleset.predicates), {}
    for p in own.predicates:
        same = next((q for q in predicates if q.name == p.name and _binding(q) == _binding(p)), None)
        if same is None:
            name, number = p.name, 2
            while any(q.name == name for q in predicates):
                name, number = f"{p.name}_{number}", number + 1
            predicates.append(replace(p, name=name))
            names[p.name] = name
    rules = tuple(replace(rule, formula=rename(rule.formula, names)) for rule in own.rules)
    return replace(ruleset, predicates=tuple(predicates), rules=(*ruleset.rules, *rules))


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


def _binding(predicate: Predicate) -> tuple:
    return predicate.kind, predicate.tools, predicate.test


def _checked(one: Ruling, written: Written, loc: Loc) -> None:
    """`DecisionError` where an entry lacks what its decision needs, or has what it cannot use."""
    if one.decision is None:
        return
    if not (one.why or "").strip():
        written.refuse(loc, f"a reason 'why' was required for {one.decision!r}; got none")
    if (one.decision == "rule") != bool(one.rules):
        need = "at least one rule" if one.decision == "rule" else "no rules"
        written.refuse(loc, f"{need} was required for {one.decision!r}; got {len(one.rules)}")
    if one.predicates and not one.rules:
        written.refuse(loc, "rules over the predicates were required; got none")
    types = {rule.type for rule in fragment(one, written, loc).rules}
    if types - {"action"}:
        written.refuse(loc, f"rules of type 'action' were required; got {sorted(types)}")
