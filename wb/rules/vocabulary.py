"""The vocabulary of a policy: its acts and facts, written once for all readers of its sentences.

An *act* is done by some tools, or said, or nothing that is done here.  A *fact* is a test over call, state and results
(CEL), or, where nothing tells it, a question about the conversation.  A wrong entry is an error that all readers share,
so each binding (tools, test, question) is written twice, the second time from name and description alone, and compared
on all values worth trying (`logic.worlds`); an entry on which the two differ is *disputed*, and a sentence that needs
it stays open until a person settles it.  ShieldAgent's predicates (Sec. 3.1) are these entries: positive names,
descriptions, bindings.

    acts:
      rent_boat: {description: a boat is rented out, tools: [rent_boat]}
      greet: {description: the guest is greeted, does: speech}
    facts:
      can_swim: {description: the guest can swim, test: state.can_swim}
      injured: {description: the guest says that they are injured, question: Did the guest say so?, of: [user]}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import pydantic

from wb.domain.tools import SESSION, Toolbox, arguments_of, schemas, with_questions
from wb.logic import worlds
from wb.rules import binding, rule, rulefile
from wb.rules.rule import Predicate, RuleSet
from wb.rules.rulefile import Form

if TYPE_CHECKING:
    from wb.domain.policy import Policy
    from wb.models.client import LLM

Does = Literal["tools", "speech", "nothing"]
ROUNDS = 1  # in which readers may ask for entries that are missing


class VocabularyError(ValueError):
    """A file is not a vocabulary; the message says where, what was required and what was got."""


class Act(Form):
    """What is done: by one of `tools`, by words alone (*speech*), or by nothing that is done here."""

    description: str = ""
    tools: list[str] = []
    objects: list[str] = []
    does: Does = "tools"


class FactForm(Form):
    """What is so: by a `test`, of the calls of `tools` where it reads them, or by a `question` about what the speakers
    in `of` said; `objects` are the arguments that tell of which object it is."""

    description: str = ""
    test: str | None = None
    tools: list[str] = []
    objects: list[str] = []
    question: str | None = None
    of: list[str] = []


class _File(Form):
    acts: dict[str, Act] = {}
    facts: dict[str, FactForm] = {}


class NamedAct(Act):
    """An act with its name, as a reply gives it."""

    name: str


class NamedFact(FactForm):
    """A fact with its name, as a reply gives it."""

    name: str


class Entries(pydantic.BaseModel):
    """The reply to `write_vocabulary`, `add_vocabulary` and `bind_vocabulary`."""

    acts: list[NamedAct] = []
    facts: list[NamedFact] = []


class Missing(pydantic.BaseModel):
    """What a reader needs to say a sentence and does not find."""

    kind: Literal["act", "fact"]
    description: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One act or fact.

    `disputed` says why it cannot be relied on; empty where two bindings agree or a person wrote it.
    `by` is "agreed", "agreed (bounded)" where not all values could be tried, "person" or "one writer"."""

    predicate: Predicate
    does: Does = "tools"
    by: str = "agreed"
    disputed: str = ""

    @property
    def name(self) -> str:
        """The name that formulas use."""
        return self.predicate.name


class Vocabulary(NamedTuple):
    """The entries of a policy, in their order, and the toolbox with a field for each question."""

    entries: tuple[Entry, ...]
    toolbox: Toolbox

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """The predicates of all entries."""
        return tuple(entry.predicate for entry in self.entries)

    @property
    def disputed(self) -> dict[str, str]:
        """Why entries cannot be relied on, by name."""
        return {entry.name: entry.disputed for entry in self.entries if entry.disputed}

    def entry(self, name: str) -> Entry:
        """The entry of that name; `KeyError` where there is none."""
        return next(entry for entry in self.entries if entry.name == name)

    def rows(self) -> dict[str, list[dict[str, object]]]:
        """The entries as a reader sees them: names, descriptions, objects and what an act is done by."""
        acts = [e for e in self.entries if e.predicate.kind == "action"]
        facts = [e for e in self.entries if e.predicate.kind == "state"]
        return {
            "acts": [
                {
                    "name": e.name,
                    "description": e.predicate.description,
                    "tools": list(e.predicate.tools) or ["(by words alone)" if e.does == "speech" else "(by no tool)"],
                    **_objects(e.predicate),
                }
                for e in acts
            ],
            "facts": [{"name": e.name, "description": e.predicate.description, **_objects(e.predicate)} for e in facts],
        }


def _objects(predicate: Predicate) -> dict[str, object]:
    return {"objects": [".".join(path.names) for path in predicate.objects]} if predicate.objects else {}


# ---- written by a model, twice ------------------------------------------------------------------


def write(policy: Policy, statements: Sequence[Mapping[str, object]], writers: Sequence[LLM]) -> Vocabulary:
    """The vocabulary of a policy: entries by the first writer, each bound again, blind, by the last one.

    One writer binds again what it wrote, in another question; with `writers` of two models the second binding is the
    other model's.  A person's entries (`vocabulary.yaml` beside the policy) replace those of the same name.

    Raises:
        ModelError: the entries could not be asked for.
    """
    described = binding.described(policy.toolbox)
    entries = writers[0].ask("write_vocabulary", Entries, **described, statements=list(statements))
    return join(Vocabulary((), policy.toolbox), entries, writers)


def add(vocabulary: Vocabulary, missing: Iterable[Missing], writers: Sequence[LLM]) -> Vocabulary:
    """The vocabulary with entries for what readers found missing, bound twice as all are."""
    wanted = [
        {"kind": kind, "description": text} for kind, text in dict.fromkeys((m.kind, m.description) for m in missing)
    ]
    if not wanted:
        return vocabulary
    vocabulary = vocabulary._replace(toolbox=in_session(vocabulary.toolbox))
    described = binding.described(vocabulary.toolbox)
    entries = writers[0].ask("add_vocabulary", Entries, **described, vocabulary=vocabulary.rows(), missing=wanted)
    return join(vocabulary, entries, writers)


def in_session(toolbox: Toolbox) -> Toolbox:
    """The toolbox with what every conversation tells of its present step."""
    known = {field.name for field in toolbox.state}
    return with_questions(toolbox, [row for row in SESSION if row["name"] not in known])


def join(vocabulary: Vocabulary, entries: Entries, writers: Sequence[LLM]) -> Vocabulary:
    """The vocabulary with new entries, after a second binding of each; names that are taken are left out."""
    taken = {entry.name for entry in vocabulary.entries}
    acts = {act.name: act for act in entries.acts if act.name not in taken}
    facts = {fact.name: fact for fact in entries.facts if fact.name not in taken | acts.keys()}
    if not acts and not facts:
        return vocabulary
    asked = {
        "acts": [{"name": a.name, "description": a.description} for a in acts.values()],
        "facts": [{"name": f.name, "description": f.description} for f in facts.values()],
    }
    again = writers[-1].ask("bind_vocabulary", Entries, **binding.described(vocabulary.toolbox), entries=asked)
    second = {row.name: row for row in (*again.acts, *again.facts)}
    found = [_act(act, second.get(name), vocabulary.toolbox) for name, act in acts.items()]
    found += [_fact(fact, second.get(name), vocabulary.toolbox) for name, fact in facts.items()]
    return of_entries((*vocabulary.entries, *found), vocabulary.toolbox)


def of_entries(entries: Sequence[Entry], toolbox: Toolbox) -> Vocabulary:
    """The vocabulary of these entries: each question is a field of the state that is asked about at run time."""
    predicates = tuple(entry.predicate for entry in entries)
    return Vocabulary(tuple(entries), rule.toolbox(toolbox, RuleSet(predicates)))


def _act(act: NamedAct, again: NamedAct | NamedFact | None, toolbox: Toolbox) -> Entry:
    bare = Predicate(act.name, "action", act.description)
    try:
        objects = tuple(binding.argument(text, act.tools, toolbox) for text in act.objects)
        bound = replace(bare, tools=binding.tools(act.tools, toolbox), objects=objects if act.tools else ())
    except ValueError as error:
        return Entry(bare, act.does, disputed=str(error))
    does: Does = "tools" if bound.tools else "nothing" if act.does == "tools" else act.does
    if not isinstance(again, NamedAct):
        return Entry(bound, does, by="one writer", disputed="no second binding as an act came")
    if {*again.tools} != {*act.tools}:
        return Entry(bound, does, disputed=f"one writer has it done by {act.tools}, the other by {again.tools}")
    return Entry(bound, does)


def _fact(fact: NamedFact, again: NamedAct | NamedFact | None, toolbox: Toolbox) -> Entry:
    bare = Predicate(fact.name, "state", fact.description)
    asked = (fact.question or "") if not fact.test else ""
    if not fact.test and not asked:
        return Entry(bare, disputed="no test and no question tells it")
    try:
        bound = _tested(fact, bare, toolbox)
    except ValueError as error:
        return Entry(bare, disputed=f"its test cannot be used: {error}")
    entry = Entry(bound)
    if not isinstance(again, NamedFact):
        return replace(entry, by="one writer", disputed="no second binding as a fact came")
    if bool(again.test) != bool(fact.test):
        ways = {True: "a test", False: "a question"}
        return replace(
            entry, disputed=f"one writer tells it by {ways[bool(fact.test)]}, the other by {ways[bool(again.test)]}"
        )
    if asked:
        other = tuple(dict.fromkeys(again.of)) or ("user",)
        said = f"one writer asks what {', '.join(bound.speakers)} said, the other what {', '.join(other)} said"
        return entry if {*other} == {*bound.speakers} else replace(entry, disputed=said)
    try:
        other = _tested(again, bare, toolbox)
    except ValueError as error:
        return replace(entry, disputed=f"the second test cannot be used: {error}")
    return _compared(entry, bound, other, toolbox)


def _compared(entry: Entry, bound: Predicate, other: Predicate, toolbox: Toolbox) -> Entry:
    """The entry after its two tests are compared, for each tool whose calls they read."""
    if {*bound.tools} != {*other.tools}:
        both = f"one writer reads calls of {list(bound.tools)}, the other of {list(other.tools)}"
        return replace(entry, disputed=both)
    whole, careful = True, bound.test
    for name in bound.tools or ("",):
        call = arguments_of(toolbox.tool(name)) if name else {}
        found = worlds.compare(bound.test, other.test, schemas(toolbox.state), call)
        if not found.same:
            where = f"differ where {found.apart}" if found.apart else "are never both known"
            return replace(entry, disputed=f"the two tests {where}")
        whole, careful = whole and found.whole, found.careful
    by = "agreed" if whole else "agreed (bounded)"
    return replace(entry, predicate=replace(bound, test=careful), by=by)


def _tested(fact: FactForm, bare: Predicate, toolbox: Toolbox) -> Predicate:
    """The predicate of a fact: of its test, or of the field that its question fills."""
    if not fact.test:
        return replace(bare, question=fact.question or "", speakers=tuple(dict.fromkeys(fact.of)))
    return binding.state(bare, fact.test, fact.tools, toolbox)


# ---- a file that a person edits -----------------------------------------------------------------


def load(path: Path, toolbox: Toolbox) -> Vocabulary | None:
    """A person's entries in `vocabulary.yaml`; None where there is no file.

    Raises:
        VocabularyError: it cannot be read, is not of the form, or binds to what the toolbox does not have.
    """
    return loads(rulefile.decoded(path, VocabularyError), toolbox, path.name) if path.exists() else None


def dumps(vocabulary: Vocabulary) -> str:
    """The vocabulary as YAML; `loads` gives it back as a person's."""
    acts, facts = {}, {}
    for entry in vocabulary.entries:
        predicate = entry.predicate
        row = rulefile.predicate_row(predicate)
        kept = {key: row[key] for key in ("description", "tools", "test", "objects", "question", "of") if row[key]}
        if predicate.kind == "action":
            acts[entry.name] = kept | ({"does": entry.does} if entry.does != "tools" else {})
        else:
            facts[entry.name] = kept
    return rulefile.written({"acts": acts, "facts": facts})


def loads(text: str, toolbox: Toolbox, source: str = "vocabulary.yaml") -> Vocabulary:
    """The entries of a text, which a person wrote or accepted: none of them is disputed.

    Raises:
        VocabularyError: it is not of the form, or binds to what the toolbox does not have.
    """
    written = rulefile.read(text, source, VocabularyError)
    file = written.checked(_File) if written.data is not None else _File()
    found = []
    for name, act in file.acts.items():
        try:
            objects = tuple(binding.argument(one, act.tools, toolbox) for one in act.objects)
            bound = Predicate(name, "action", act.description, (), binding.tools(act.tools, toolbox), None, objects)
        except ValueError as error:
            written.refuse(("acts", name), error)
        found.append(Entry(bound, act.does if not act.tools else "tools", by="person"))
    for name, fact in file.facts.items():
        if bool(fact.test) == bool(fact.question):
            written.refuse(("facts", name), "a test or a question was required, and not both")
        try:
            bound = _tested(fact, Predicate(name, "state", fact.description), toolbox)
        except ValueError as error:
            written.refuse(("facts", name), error)
        found.append(Entry(bound, by="person"))
    return of_entries(found, toolbox)


def merged(vocabulary: Vocabulary, person: Vocabulary) -> Vocabulary:
    """The vocabulary with a person's entries in place of those of the same name, and after all others; one without a
    description keeps that of the name."""
    own = {entry.name: entry for entry in person.entries}
    kept = [_described(own.pop(entry.name, entry), entry) for entry in vocabulary.entries]
    asked = {entry.name for entry in kept if entry.predicate.question} - {
        e.name for e in kept if not e.predicate.question
    }
    box = replace(vocabulary.toolbox, state=tuple(f for f in vocabulary.toolbox.state if f.name not in asked))
    return of_entries((*kept, *own.values()), box)


def _described(entry: Entry, before: Entry) -> Entry:
    said = entry.predicate.description or before.predicate.description
    return replace(entry, predicate=replace(entry.predicate, description=said))
