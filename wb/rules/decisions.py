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
          - {name: refund, kind: action, tools: [refund_order]}
          - {name: manager, kind: state, test: {field: state.role, op: ==, value: manager}}
        rules:
          - {formula: ALWAYS (refund IMPLIES manager), modality: permit_only_if}

An entry without a decision changes nothing.  The id is made of the words: a decision whose sentence was
changed is stale, and has no effect either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol

import pydantic
import yaml

from wb.domain.tools import Toolbox
from wb.rules import rulefile
from wb.rules.rule import Predicate, Rule, RuleSet, rename

KINDS = ("waive", "not a constraint", "rule")


class DecisionError(ValueError):
    """A file is not one of decisions; the message says on which line, what was required and what was got."""


class Decision(pydantic.BaseModel):
    """What a person decided about one sentence, and why; `predicates` and `rules` as in a rule file."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)
    id: str = pydantic.Field(pattern=r"^[0-9a-f]{12}(-[2-9]|-[1-9]\d+)?$")
    text: str = pydantic.Field(min_length=1)
    decision: Literal["waive", "not a constraint", "rule"] | None = None
    why: str | None = None
    predicates: list[dict] = []
    rules: list[dict] = []

    def speaks_of(self, text: str) -> bool:
        """Whether the decision was made about these words, blanks folded."""
        return self.text.split() == text.split()


class _File(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", strict=True)
    decisions: list[Decision] | None


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
    return policy / "decisions.yaml" if policy.is_dir() else policy.with_name(f"{policy.stem}.decisions.yaml")


def load(path: Path) -> tuple[Decision, ...]:
    """The decisions of a file; none where there is no file.

    Raises:
        DecisionError: it cannot be read, or is not of the form.
    """
    if not path.exists():
        return ()
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DecisionError(f"{path}: a readable file was required; got {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DecisionError(
            f"{path.name}, line {line}: UTF-8 text was required; got byte 0x{error.object[error.start]:02x}"
        ) from None
    return loads(text, source=path.name)


def loads(text: str, *, source: str = "decisions.yaml") -> tuple[Decision, ...]:
    """The decisions of a text that are made: entries without a decision are left out."""
    try:
        tree = yaml.compose(text, yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise DecisionError(
            f"{source}, line {mark.line + 1 if mark else 1}: YAML was required; got {problem}"
        ) from None
    except (RecursionError, ValueError) as error:
        raise DecisionError(f"{source}, line 1: YAML was required; got {error}") from None
    if data is None:
        return ()
    for line, key in _twice(tree):
        raise DecisionError(f"{source}, line {line}: each key once was required; got {key!r} again")
    if not isinstance(data, Mapping):
        raise DecisionError(f"{source}, line 1: a list under 'decisions:' was required; got {type(data).__name__}")
    try:
        found = _File.model_validate(data).decisions or []
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DecisionError(
            f"{source}, line {_line(tree, first['loc'])}: {where}: {first['msg']}; got {str(first.get('input'))[:80]!r}"
        ) from None
    for i, one in enumerate(found):
        _checked(one, f"{source}, line {_line(tree, ('decisions', i))} (sentence {one.id})")
    ids = [one.id for one in found]
    for i, name in enumerate(ids):
        if name in ids[:i]:
            line = _line(tree, ("decisions", i))
            raise DecisionError(f"{source}, line {line}: one decision a sentence was required; got {name!r} again")
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
    quoted = json.dumps(" ".join(reading.text.split()), ensure_ascii=False)
    title = f" (under {' / '.join(reading.headings)})" if reading.headings else ""
    notes = [
        f"blocks {len(reading.tools)} of {total} tools: {', '.join(reading.tools) or 'none'}",
        f"open because: {reading.reason}{title}",
    ]
    rows = [f"  # {' '.join(note.split())}" for note in notes]
    rows += [f'  - id: "{reading.id}"', f"    text: {quoted}", "    decision:", "    why:"]
    rows += [
        "    # decision: waive              # it stays a constraint, but no guard keeps it: say who does",
        "    # decision: not a constraint   # it demands nothing of any call",
        "    # decision: rule               # then write it, as in a rule file:",
        "    # predicates: [{name: ..., kind: action, tools: [...]}, {name: ..., kind: state, test: ...}]",
        "    # rules: [{formula: ALWAYS (... IMPLIES ...), modality: permit_only_if}]",
    ]
    return "\n".join(rows) + "\n"


def clause_id(sentence: str) -> str:
    """The clause that a person's rules for a sentence are of."""
    return f"decided-{sentence}"


def join(ruleset: RuleSet, decisions: Iterable[Decision], toolbox: Toolbox) -> RuleSet:
    """The rule set with the rules that a person wrote, each quoting its sentence.

    Predicates of the same name and binding are one; another of a name that is taken gets a number.

    Raises:
        DecisionError: a predicate names a tool that the toolbox does not have.
    """
    for decision in decisions:
        if decision.decision == "rule":
            ruleset = _joined(ruleset, decision, toolbox)
    return ruleset


def _joined(ruleset: RuleSet, decision: Decision, toolbox: Toolbox) -> RuleSet:
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


def fragment(decision: Decision) -> RuleSet:
    """The rules of a decision as a rule set of their own; `RuleFileError` where they are none."""
    clause = clause_id(decision.id)
    rows = [
        {"text": decision.text, "quote": decision.text, **row, "id": f"{clause}.{i}", "clause": clause}
        for i, row in enumerate(decision.rules, 1)
    ]
    return rulefile.from_json({"predicates": decision.predicates, "rules": rows}, source=f"sentence {decision.id}")


def _binding(predicate: Predicate) -> tuple:
    return predicate.kind, predicate.tools, predicate.test


def _checked(one: Decision, where: str) -> None:
    """`DecisionError` where an entry lacks what its decision needs, or has what it cannot use."""
    if one.decision is None:
        return
    if not (one.why or "").strip():
        raise DecisionError(f"{where}: a reason 'why' was required for {one.decision!r}; got none")
    if (one.decision == "rule") != bool(one.rules):
        need = "at least one rule" if one.decision == "rule" else "no rules"
        raise DecisionError(f"{where}: {need} was required for {one.decision!r}; got {len(one.rules)}")
    if one.predicates and not one.rules:
        raise DecisionError(f"{where}: rules over the predicates were required; got none")
    try:
        rules = fragment(one).rules if one.rules else ()
    except rulefile.RuleFileError as error:
        raise DecisionError(f"{where}: {error}") from None
    idle = [rule.id for rule in rules if rule.type != "action"]
    if idle:
        raise DecisionError(f"{where}: rules of type 'action' were required; got {_types(rules)}")


def _types(rules: Sequence[Rule]) -> list[str]:
    return sorted({rule.type for rule in rules})


def _twice(tree: yaml.Node | None) -> Iterator[tuple[int, str]]:
    """(line, key) of every key that stands twice in one mapping."""
    if isinstance(tree, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in tree.value:
            name = str(getattr(key, "value", ""))
            if name in seen:
                yield key.start_mark.line + 1, name
            seen.add(name)
            yield from _twice(value)
    elif isinstance(tree, yaml.SequenceNode):
        for item in tree.value:
            yield from _twice(item)


def _line(tree: yaml.Node, path: Sequence[object]) -> int:
    """The line of the value at a path, or of the deepest part of it that there is."""
    line = tree.start_mark.line
    for part in path:
        below = None
        if isinstance(tree, yaml.MappingNode):
            below = next(((k, v) for k, v in tree.value if k.value == part), None)
        elif isinstance(tree, yaml.SequenceNode) and isinstance(part, int) and part < len(tree.value):
            below = (tree.value[part],) * 2
        if below is None:
            break
        line, tree = below[0].start_mark.line, below[1]
    return line + 1
