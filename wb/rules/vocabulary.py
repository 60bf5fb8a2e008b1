"""The vocabulary of a policy: its acts and facts, written once for all readers of its sentences.

An *act* is done by some tools, or said, or nothing that is done here.  A *fact* is a test over call, state and results
(CEL), or, where nothing tells it, a question about the conversation.  A wrong entry is an error that all readers share,
so each binding (tools, test, question) is written twice, the second time from name and description alone, and compared
on all values worth trying (`logic.worlds`); where the two differ a third decides.  Where no two are alike, a fact is
known of just those calls on which all its bindings say the same (`Vocabulary.meant`); where fewer than two can be used
the entry is *disputed*, and a sentence that needs it stays open until a person settles it.  ShieldAgent's predicates
(Sec. 3.1) are these entries: positive names, descriptions, bindings.

    acts:
      rent_boat: {description: a boat is rented out, tools: [rent_boat]}
      greet: {description: the guest is greeted, does: speech}
    facts:
      can_swim: {description: the guest can swim, test: state.can_swim}
      injured: {description: the guest says that they are injured, question: Did the guest say so?, of: [user]}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import pydantic

from wb.domain.tools import SESSION, Toolbox, arguments_of, schemas, with_questions
from wb.logic import facts, worlds
from wb.logic import formula as f
from wb.logic.facts import Fact
from wb.logic.formula import Formula
from wb.logic.syntax import CONSTANTS
from wb.models.ledger import Unanswered
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


Row = NamedAct | NamedFact


class Entries(pydantic.BaseModel):
    """The reply to `write_vocabulary`, `add_vocabulary`, `bind_vocabulary` and `correct_bindings`."""

    acts: list[NamedAct] = []
    facts: list[NamedFact] = []


class Missing(pydantic.BaseModel):
    """What a reader needs to say a sentence and does not find."""

    kind: Literal["act", "fact"]
    description: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One act or fact.

    `by` is "agreed", "agreed 2 of 3", with " (bounded)" where not all values could be tried, "bindings differ",
    "person" or "one writer".  `disputed` says how the bindings differ; empty where they agree or a person wrote it.
    `others` are bindings beside `predicate` that are not the same to the letter: the fact is known of a call on which
    all of them say the same, and unknown of any other (`Vocabulary.enforced`, `Vocabulary.meant`).  No sentence may
    rest on a disputed entry without them.
    """

    predicate: Predicate
    does: Does = "tools"
    by: str = "agreed"
    disputed: str = ""
    others: tuple[Predicate, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether a sentence may rest on it."""
        return not self.disputed or bool(self.others)

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
    def enforced(self) -> tuple[Predicate, ...]:
        """The predicates that rules in force are made of.

        Two tests that agree on all values tried may differ on others: where they are not the same to the letter
        (`worlds.normal`), both have to say the same.  Of an entry whose bindings differ each has a name of its own
        (`meant`).
        """
        made: list[Predicate] = []
        for entry in self.entries:
            one = entry.predicate
            if entry.others and not entry.disputed and one.test is not None:
                one = replace(one, test=binding.both([one.test, *(p.test for p in entry.others if p.test is not None)]))
            made += [one, *(_alternatives(entry) if entry.others and entry.disputed else ())]
        return tuple(made)

    @property
    def disputed(self) -> dict[str, str]:
        """Why entries cannot be relied on, by name."""
        return {entry.name: entry.disputed for entry in self.entries if not entry.usable}

    def meant(self, formula: Formula) -> Formula:
        """The formula over `enforced`: what differing bindings all say of a step is so, and the rest unknown.

        A fact becomes (all of them) OR (first AND (any of them)), where nothing ever tells `first`.
        """
        differing = {entry.name: entry for entry in self.entries if entry.others and entry.disputed}
        replaced: dict[Formula, Formula] = {}
        for atom in map(f.Atom, f.atoms(formula)):
            if atom.predicate in differing:
                *each, first = (p.name for p in _alternatives(differing[atom.predicate]))
                said = tuple(f.Atom(name + atom.name.removeprefix(atom.predicate)) for name in each)
                replaced[atom] = f.Or(f.conjunction(said), f.And(f.Atom(first), f.disjunction(said)))
        return f.substitute(formula, replaced)

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
    """The vocabulary of a policy: entries by the first writer, each bound again, blind, by the second one,
    and where these differ by a third.

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
    """The vocabulary with new entries, after a second binding of each, and a third where two differ; names that are
    taken, or not free, are left out."""
    taken = {entry.name for entry in vocabulary.entries}
    given = [row for row in (*entries.facts, *entries.acts) if row.name not in taken and _free(row.name)]
    rows: dict[str, Row] = {row.name: row for row in given}
    if not rows:
        return vocabulary
    box, first = vocabulary.toolbox, _corrected(rows, rows, vocabulary.toolbox, writers[0])
    voices = [writers[k % len(writers)].name for k in range(3)]
    second = _bound_again(rows, box, writers[1 % len(writers)])
    found = {name: _entry(row, [first[name], second.get(name)], box, voices) for name, row in rows.items()}
    if apart := {name: rows[name] for name in reversed(rows) if found[name].disputed}:
        third = _bound_again(apart, box, writers[2 % len(writers)])
        found |= {k: _entry(row, [first[k], second.get(k), third.get(k)], box, voices) for k, row in apart.items()}
    return of_entries((*vocabulary.entries, *found.values()), box)


def _free(name: str) -> bool:
    """Whether an entry may have the name: `_alternatives` have two underscores, and a session fields of its own."""
    reserved = {*CONSTANTS, *(row["name"] for row in SESSION)}
    return bool(f.NAME.match(name)) and "__" not in name and name not in reserved


def _bound_again(rows: Mapping[str, Row], toolbox: Toolbox, writer: LLM) -> dict[str, Row]:
    """What a writer who sees names and descriptions alone binds each entry to."""
    asked = {
        "acts": [{"name": r.name, "description": r.description} for r in rows.values() if isinstance(r, NamedAct)],
        "facts": [{"name": r.name, "description": r.description} for r in rows.values() if isinstance(r, NamedFact)],
    }
    (reply,) = writer.ask_all("bind_vocabulary", Entries, [{**binding.described(toolbox), "entries": asked}])
    given = () if isinstance(reply, Unanswered) else (*reply.acts, *reply.facts)
    return _corrected({row.name: row for row in given}, rows, toolbox, writer)


def _corrected(given: Mapping[str, Row], rows: Mapping[str, Row], toolbox: Toolbox, writer: LLM) -> dict[str, Row]:
    """The bindings, those that cannot be used asked for once more of the same writer, with what is wrong."""
    wrong = []
    for name, row in given.items():
        problem = _bound(row, rows[name], toolbox).problem if name in rows else ""
        if problem and (not isinstance(row, NamedFact) or row.test or row.question):
            own = row.model_dump(exclude_defaults=True) | {"description": rows[name].description, "problem": problem}
            wrong.append({"kind": "fact" if isinstance(row, NamedFact) else "act", **own})
    if not wrong:
        return dict(given)
    (reply,) = writer.ask_all("correct_bindings", Entries, [{**binding.described(toolbox), "entries": wrong}])
    named = {row["name"] for row in wrong}
    again = () if isinstance(reply, Unanswered) else (*reply.acts, *reply.facts)
    return {**given, **{row.name: row for row in again if row.name in named}}


def of_entries(entries: Sequence[Entry], toolbox: Toolbox) -> Vocabulary:
    """The vocabulary of these entries: each question is a field of the state that is asked about at run time."""
    predicates = tuple(entry.predicate for entry in entries)
    return Vocabulary(tuple(entries), rule.toolbox(toolbox, RuleSet(predicates)))


class _Bound(NamedTuple):
    """What one writer binds an entry to, or why that cannot be used."""

    predicate: Predicate
    does: Does = "tools"
    problem: str = ""


def _bound(row: Row | None, entry: Row, toolbox: Toolbox) -> _Bound:
    """A writer's binding of an entry, whose description and objects are those of its own writer."""
    kind = "action" if isinstance(entry, NamedAct) else "state"
    bare = Predicate(entry.name, kind, entry.description)
    if not isinstance(row, type(entry)):
        return _Bound(bare, problem=f"no binding as {'an act' if kind == 'action' else 'a fact'} came")
    try:
        if isinstance(row, NamedAct):
            tools = binding.tools(row.tools, toolbox)
            objects = tuple(binding.argument(text, tools, toolbox) for text in entry.objects) if tools else ()
            return _Bound(replace(bare, tools=tools, objects=objects), "tools" if tools else _idle(row.does))
        if not row.test and not row.question:
            return _Bound(bare, problem="no test and no question tells it")
        if not row.test and entry.name in {field.name for field in toolbox.state}:
            return _Bound(bare, problem="a question tells it, and its name is that of a field of the state")
        return _Bound(_tested(row, bare, toolbox))
    except ValueError as error:
        return _Bound(bare, problem=f"its {'test' if kind == 'state' else 'tools'} cannot be used: {error}")


def _idle(does: Does) -> Does:
    return "nothing" if does == "tools" else does


def _entry(entry: Row, rows: Sequence[Row | None], toolbox: Toolbox, voices: Sequence[str] = ()) -> Entry:
    """What an entry's two bindings come to, or three of which two must be alike; `voices` are the models that wrote
    them.  Two bindings of one model are one voice beside another model's; where one model wrote all, the first, which
    saw the document, is a voice and the blind ones together another."""
    every = [_bound(row, entry, toolbox) for row in rows]
    usable = [k for k, one in enumerate(every) if not one.problem]
    pairs = [pair for pair in combinations(usable, 2) if _apart(pair, voices)]
    grade = "agreed" if len(rows) == 2 else f"agreed 2 of {len(rows)}"
    if not pairs:
        why = next((one.problem for one in every if one.problem), "all bindings that can be used are of one model")
        return Entry(every[0].predicate, every[0].does, "one writer", why)
    if isinstance(entry, NamedAct):
        return _act(every, pairs, grade, len(set(voices)) == len(rows))
    why = ""
    for one, other in ((every[a], every[b]) for a, b in pairs):
        found = _compared(one.predicate, other.predicate, toolbox)
        if found.test is None:
            why = why or found.why
            continue
        most = _tools([every[k].predicate for k in usable], len(rows)) if found.test.reads_call else ()
        shared = {*one.predicate.tools} & {*other.predicate.tools}  # on whose calls the two were compared
        tools = tuple(tool for tool in most if tool in shared)
        if found.test.reads_call and not tools:
            why = why or "no two writers read calls of the same tool"
            continue
        other = other.predicate if found.test.test == one.predicate.test else one.predicate
        whole = () if other.question else _whole(found.test.test, tools, toolbox)
        letter = other.question or worlds.normal(other.test, whole) == worlds.normal(found.test.test, whole)
        by = grade + " (bounded)" * found.bounded
        return Entry(replace(found.test, tools=tools), by=by, others=() if letter else (replace(other, tools=tools),))
    first, *others = (every[k].predicate for k in usable)
    return Entry(first, "tools", "bindings differ", why, () if len(rows) == 2 else tuple(others))


def _whole(test: Fact, tools: Sequence[str], toolbox: Toolbox) -> set[facts.Path]:
    """The fields and arguments that a test reads and that hold whole numbers, whichever of the tools is called."""
    flat = [path for path in facts.paths(test) if len(path.names) == 2]
    return {p for p in flat if all(binding.field(p, tool, toolbox).type == "integer" for tool in tools or ("",))}


def _apart(pair: tuple[int, int], voices: Sequence[str]) -> bool:
    """Whether two bindings are of two voices."""
    one, other = pair
    return not voices or voices[one] != voices[other] or (len(set(voices)) == 1 and one == 0)


def _act(every: Sequence[_Bound], pairs: Sequence[tuple[int, int]], grade: str, all_apart: bool) -> Entry:
    """An act is done by the tools that two voices name alike, or each by most of three."""
    usable, count = [one for one in every if not one.problem], len(every)
    first = usable[0]
    for one, other in ((every[a], every[b]) for a, b in pairs):
        if {*one.predicate.tools} == {*other.predicate.tools}:
            return Entry(one.predicate, one.does, grade)
    if count == 2 or not all_apart:
        both = " and ".join(str(list(one.predicate.tools)) for one in usable)
        return Entry(first.predicate, first.does, "bindings differ", f"writers have it done by {both}")
    tools = _tools([one.predicate for one in usable], count)
    objects = next((one.predicate.objects for one in usable if one.predicate.objects), ()) if tools else ()
    does = "tools" if tools else next((one.does for one in usable if one.does != "tools"), "nothing")
    return Entry(replace(first.predicate, tools=tools, objects=objects), does, grade)


def _tools(bound: Sequence[Predicate], count: int) -> tuple[str, ...]:
    """The tools that more than half of the writers name."""
    named = Counter(tool for one in bound for tool in one.tools)
    return tuple(tool for tool, votes in named.items() if 2 * votes > count)


class _Same(NamedTuple):
    """The one of two bindings of a fact that is unknown more often, None where they differ, and why they do."""

    test: Predicate | None
    bounded: bool = False
    why: str = ""


def _compared(one: Predicate, other: Predicate, toolbox: Toolbox) -> _Same:
    """Whether two bindings of a fact are the same, for each tool whose calls both read."""
    if bool(one.question) != bool(other.question):
        return _Same(None, why="one writer tells it by a test, the other by a question")
    if one.question:
        both = tuple(speaker for speaker in one.speakers if speaker in other.speakers)
        if both:  # an answer is yes where both writers' questions are answered so
            twice = "" if one.question == other.question else f" And, as another puts it: {other.question}"
            return _Same(replace(one, speakers=both, question=one.question + twice))
        return _Same(None, why=f"one writer asks what {one.speakers} said, the other what {other.speakers} said")
    if one.reads_call != other.reads_call:
        return _Same(None, why="one writer reads the call, the other the state alone")
    shared = [name for name in one.tools if name in other.tools]
    if one.reads_call and not shared:
        return _Same(None, why=f"one writer reads calls of {list(one.tools)}, the other of {list(other.tools)}")
    whole, careful = True, one.test
    for name in shared or ("",):
        call = arguments_of(toolbox.tool(name)) if name else {}
        found = worlds.compare(one.test, other.test, schemas(toolbox.state), call)
        if not found.same:
            where = f"differ where {found.apart}" if found.apart else "are never both known"
            return _Same(None, why=f"two tests {where}")
        whole, careful = whole and found.whole, found.careful
    return _Same(replace(one, test=careful), not whole)


def _alternatives(entry: Entry) -> tuple[Predicate, ...]:
    """Each binding of an entry under a name of its own, and last what would say that the first is meant."""
    each = [
        replace(one.under(f"{entry.name}__{k}"), description=f"{one.description} (binding {k})")
        for k, one in enumerate((entry.predicate, *entry.others), 1)
    ]
    meant = f"the first binding of {entry.name} is meant"
    return (*each, Predicate(f"{entry.name}__first", "state", meant, test=binding.UNKNOWN))


def _tested(fact: FactForm, bare: Predicate, toolbox: Toolbox) -> Predicate:
    """The predicate of a fact: of its test, or of the field that its question fills; `ValueError`: it cannot be."""
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
