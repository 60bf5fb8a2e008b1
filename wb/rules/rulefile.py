"""Rule sets on disk: YAML that a person edits, and JSON of the same form for programs.

    predicates:
      pays: {kind: action, description: the agent pays, tools: [pay, settle_invoice]}
      of_age: {kind: state, description: the user is of age, test: state.age >= 18}
      few_guests: {kind: state, tools: [book_table], test: size(call.guests) <= 8}
    rules:
      - id: r1
        text: Only adults may pay.
        formula: ALWAYS (pays IMPLIES of_age)
        modality: permit_only_if

A rule's modality is forbid, permit_only_if or oblige, and need not stand where the formula says it; its `force` is hard
or soft (advice) where it is not what is learned.  A test is CEL
(`logic.facts`); where it reads `call`, the predicate's tools say whose calls.  `objects: [call.id]` of a predicate
lists the arguments that tell its objects, and a rule names them by variables, `ALWAYS (cancel(r) IMPLIES ONCE get(r))`,
meaning all of them.  `ONCE[<= 24h]` and `COUNT[<= 3, 24h]` look back for a time, which the state's field `now` tells of
each step.  A state predicate may have a `question` about the conversation in place of a test, and `of`, whose words
count.  Further keys: `keywords` of a predicate; `type` (action or physical), `clause`, `quote` and `parents` of a rule;
the list `undecided` has entries with `clause`, `quote` and `reason`.

Every scalar is text as it is written (`yes`, `1e3`, `2026-01-01`), a key without a value is absent.  Keys that stand
twice, anchors, aliases and tags are refused: a text that begins with `!`, `&` or `*` needs quotation marks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_args

import pydantic

from wb import paths
from wb.logic import cel, facts, syntax
from wb.logic.facts import FactError
from wb.logic.wording import shortened
from wb.rules import residual
from wb.rules.rule import Force, Kind, Modality, Predicate, Rule, RuleSet, RuleType, Undecided

if TYPE_CHECKING:
    import yaml

Loc = Sequence[int | str]
WANTED = {
    "string_type": "a text was required",
    "list_type": "a list was required",
    "dict_type": "a mapping was required",
    "model_type": "a mapping was required",
    "missing": "it was required",
    "string_too_short": "a text that is not empty was required",
}


class RuleFileError(ValueError):
    """The file is not a rule set; the message says where, what was required and what was got."""


class Form(pydantic.BaseModel):
    """A mapping of a file: these keys and no others, each of exactly its type."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)


class PredicateForm(Form):
    """A predicate without its name."""

    kind: Kind
    description: str = ""
    keywords: list[str] = []
    tools: list[str] = []
    test: str | None = None
    objects: list[str] = []
    question: str = ""
    of: list[str] = []


class RuleForm(Form):
    """A rule without its id; its modality is that of its formula (`residual.modality`) where none stands there."""

    text: str = ""
    formula: str = pydantic.Field(min_length=1)
    modality: Modality | None = None
    type: RuleType = "action"
    clause: str = ""
    quote: str = ""
    parents: list[str] = []
    force: Force = "learned"

    @pydantic.model_serializer(mode="wrap")
    def _brief(self, dump: Callable[[RuleForm], dict[str, Any]]) -> dict[str, Any]:
        """Every key, but for a force that nobody gave: files and digests of before stay as they were."""
        return {key: value for key, value in dump(self).items() if (key, value) != ("force", "learned")}


class _Named(Form):
    id: str = pydantic.Field(min_length=1)


class _Rule(RuleForm, _Named):
    """A rule with its id, which comes first."""


class _Undecided(Form):
    clause: str = ""
    quote: str = ""
    reason: str = pydantic.Field(min_length=1)
    part: bool = False


class _File(Form):
    predicates: dict[str, PredicateForm] = {}
    rules: list[_Rule]
    undecided: list[_Undecided] = []


# ---- rule sets ----------------------------------------------------------------------------------


def load(path: str | Path) -> RuleSet:
    """The rule set of a file, JSON when it begins with `{`, else YAML."""
    path = Path(path)
    return loads(decoded(path, RuleFileError), source=path.name)


def loads(text: str, *, source: str = "rules") -> RuleSet:
    """The rule set of a text, JSON when it begins with `{`, else YAML."""
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return read(text, source, RuleFileError).ruleset()
    try:
        data = json.loads(text.lstrip("\ufeff"), object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        got = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except ValueError as error:  # a key twice, or a number of 5000 digits
        got = str(error)
    except RecursionError:
        got = "hundreds of nested levels"
    else:
        return from_json(data, source=source)
    raise RuleFileError(f"{source}: JSON was required; got {got}")


def from_json(data: object, *, source: str = "rules") -> RuleSet:
    """The rule set that `to_json` wrote; `RuleFileError` says where the data are something else."""
    return Written(data, {}, source, RuleFileError).ruleset()


def to_json(ruleset: RuleSet) -> dict[str, Any]:
    """The rule set as JSON values, with every key; `from_json` gives it back."""
    return _form(ruleset).model_dump()


def dumps(ruleset: RuleSet) -> str:
    """The rule set as YAML; `loads` gives it back."""
    return written({"predicates": {}} | _form(ruleset).model_dump(exclude_defaults=True))


def written(data: object) -> str:
    """Texts, lists and mappings as YAML that `read` gives back."""
    from wb.domain import yamltext  # here, not above: PyYAML is for those who read or write files

    return yamltext.dumps(data)


def _form(ruleset: RuleSet) -> _File:
    return _File(
        predicates={p.name: PredicateForm(**predicate_row(p)) for p in ruleset.predicates},
        rules=[
            _Rule(
                id=r.id,
                text=r.text,
                formula=syntax.render(r.formula),
                modality=r.modality,
                type=r.type,
                clause=r.clause,
                quote=r.quote,
                parents=list(r.parents),
                force=r.force,
            )
            for r in ruleset.rules
        ],
        undecided=[_Undecided(**asdict(u)) for u in ruleset.undecided],
    )


def predicate_row(predicate: Predicate) -> dict[str, Any]:
    """A predicate without its name as it stands in a file, every key."""
    return {
        "kind": predicate.kind,
        "description": predicate.description,
        "keywords": list(predicate.keywords),
        "tools": list(predicate.tools),
        "test": cel.render(predicate.test) if predicate.test is not None and not predicate.question else None,
        "objects": [cel.render(path) for path in predicate.objects],
        "question": predicate.question,
        "of": list(predicate.speakers),
    }


class Written:
    """The data of a file, with the places of what they hold: every mistake is told with its place."""

    def __init__(self, data: object, lines: Mapping[tuple, int], source: str, error: type[ValueError]) -> None:
        self.data, self.lines, self.source, self.error = data, lines, source, error

    def where(self, loc: Loc) -> str:
        """The file, the line where there are lines, and the path of keys."""
        known = [self.lines[found] for i in range(len(loc) + 1) if (found := tuple(loc[:i])) in self.lines]
        line = f", line {known[-1]}" if known else ""
        return f"{self.source}{line}" + (f": {'.'.join(map(str, loc))}" if loc else "")

    def refuse(self, loc: Loc, message: object) -> NoReturn:
        """Raise the error of this file about that place."""
        raise self.error(f"{self.where(loc)}: {message}") from None

    def checked[Model: pydantic.BaseModel](self, model: type[Model]) -> Model:
        """The data in that form; all that is wrong with it is raised, a line each."""
        found, wrong = self.form(model, self.data)
        if found is None:
            raise self.error("\n".join(wrong))
        return found

    def form[Model: pydantic.BaseModel](
        self, model: type[Model], data: object, at: Loc = ()
    ) -> tuple[Model | None, list[str]]:
        """A part of the data, at that place, in a form; None with all that is wrong with it where it is not."""
        try:
            return model.model_validate(data), []
        except pydantic.ValidationError as error:
            return None, [self._wrong(model, one, at) for one in error.errors(include_url=False)]

    def _wrong(self, model: type[pydantic.BaseModel], one: Mapping[str, Any], at: Loc) -> str:
        """What was required and got, of one of pydantic's errors."""
        kind, loc = one["type"], one["loc"]
        got = "none" if kind == "missing" else shortened(json.dumps(one["input"], ensure_ascii=False, default=str), 80)
        if kind == "extra_forbidden":
            wanted, got = f"a key of {_keys(model, loc[:-1])} was required", repr(loc[-1])
        elif kind == "literal_error":
            wanted = f"one of {one['ctx']['expected'].replace(' or ', ', ')} was required"
        elif kind == "model_type" and not loc:
            wanted = f"a mapping with the keys {list(model.model_fields)} was required"
        else:
            wanted = WANTED.get(kind, one["msg"])
        return f"{self.where((*at, *loc))}: {wanted}; got {got}"

    def ruleset(self) -> RuleSet:
        """The data as a rule set."""
        file = self.checked(_File)
        predicates = self.predicates(file.predicates, ())
        rules = [self.rule(row, row.id, ("rules", i)) for i, row in enumerate(file.rules)]
        undecided = [Undecided(**row.model_dump()) for row in file.undecided]
        try:
            return RuleSet(predicates, tuple(rules), tuple(undecided))
        except ValueError as error:
            self.refuse((), error)

    def predicates(self, rows: Mapping[str, PredicateForm], loc: Loc) -> tuple[Predicate, ...]:
        """The predicates of a mapping from their names."""
        return tuple(self._predicate(name, row, (*loc, "predicates", name)) for name, row in rows.items())

    def _predicate(self, name: str, row: PredicateForm, loc: Loc) -> Predicate:
        try:
            test = cel.parse(row.test) if row.test is not None else None
        except FactError as error:
            self.refuse((*loc, "test"), error)
        objects = tuple(self._object(text, (*loc, "objects", i)) for i, text in enumerate(row.objects))
        try:
            words = tuple(row.keywords), tuple(row.tools), test, objects, row.question, tuple(row.of)
            return Predicate(name, row.kind, row.description, *words)
        except ValueError as error:
            self.refuse(loc, error)

    def _object(self, text: str, loc: Loc) -> facts.Path:
        try:
            path = cel.parse(text)
        except FactError as error:
            self.refuse(loc, error)
        if not isinstance(path, facts.Path):
            self.refuse(loc, f"an argument such as call.id was required; got {shortened(text, 80)!r}")
        return path

    def rule(self, row: RuleForm, name: str, loc: Loc) -> Rule:
        """The rule of an entry, under that id."""
        try:
            formula = syntax.parse(row.formula)
        except syntax.FormulaError as error:
            self.refuse((*loc, "formula"), error)
        modality = row.modality or residual.modality(formula)
        if modality is None:
            wanted = f"one of {list(get_args(Modality))} was required, for the formula does not say it"
            self.refuse((*loc, "modality"), f"{wanted}; got none")
        return Rule(name, row.text, formula, modality, row.type, row.clause, row.quote, tuple(row.parents), row.force)


# ---- YAML that a person writes ------------------------------------------------------------------


def decoded(path: Path, error: type[ValueError]) -> str:
    """The text of a UTF-8 file; `error` where it cannot be read or is none."""
    try:
        return paths.content(path).decode("utf-8-sig")
    except OSError as problem:
        raise error(f"{path}: a readable file was required; got {problem.strerror or problem}") from None
    except UnicodeDecodeError as problem:
        line, byte = problem.object[: problem.start].count(b"\n") + 1, problem.object[problem.start]
        raise error(f"{path.name}, line {line}: UTF-8 text was required; got byte 0x{byte:02x}") from None


def read(text: str, source: str, error: type[ValueError]) -> Written:
    """The texts, lists and mappings of a YAML text; `error` tells the line of what is none of these."""
    from wb.domain import yamltext

    try:
        found = yamltext.parse(text, _text)
    except yamltext.YamlError as problem:
        raise error(f"{source}, {problem}") from None
    return Written(_filled(found.data), found.lines, source, error)


def _text(event: yaml.ScalarEvent) -> str | None:
    """Any scalar as the text that stands there, None where nothing does."""
    return None if not event.style and event.value in ("", "~", "null", "Null", "NULL") else event.value


def _filled(found: object) -> object:
    """The mappings without the keys at which nothing stands."""
    match found:
        case dict():
            return {key: _filled(value) for key, value in found.items() if value is not None}
        case list():
            return [_filled(item) for item in found]
    return found


def _keys(model: type[pydantic.BaseModel], loc: Loc) -> list[str]:
    """The keys that the form has at a path."""
    inner: Any = model
    for part in loc:
        inner = (
            inner.model_fields[part].annotation
            if isinstance(inner, type) and hasattr(inner, "model_fields")
            else get_args(inner)[-1]
        )
    return list(inner.model_fields)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        raise ValueError(f"the keys {sorted({n for n in names if names.count(n) > 1})} more than once in one object")
    return found
