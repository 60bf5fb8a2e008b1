"""What the offline engine writes when it is asked for a guard, and how it corrects one.

The offline answers to `write_guard` and `repair_guard`.  Writing goes from the sentences, by the grammar
(`deontic`) and the tools' vocabulary (`grounding`), to one early return a requirement; it sees neither
rules nor contract.  Correcting is a search: the one-place changes of `mutant`, kept when more examples
come out right.  That mends a wrong comparison, an edge off by one, a negation too many or a wrong
field; it cannot invent a missing requirement, and then gives the code back as it was.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wb import deontic, mutant, sandbox
from wb import formula as f
from wb.contract import bracketed
from wb.examples import Example, failures
from wb.formula import Formula
from wb.grounding import Reading, ground
from wb.policy import Clause
from wb.predicate import Predicate, Test
from wb.syntax import render
from wb.tool import Toolbox

EDITS = 3  # corrections in one go


OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
Row = Mapping[str, object]


class Unsaid(LookupError):
    """No parameter of the signature stands for what a sentence speaks of."""


def write(inputs: Mapping[str, object], toolbox: Toolbox) -> dict[str, object]:
    """The reply to `write_guard`: a function from the sentences, and the ids of those it cannot express."""
    requirements: dict[str, str] = {}
    uncovered: list[str] = []
    for sentence in inputs["sentences"]:
        try:
            for broken in _broken(sentence, inputs, toolbox):
                requirements.setdefault(broken, sentence["id"])
        except Unsaid:
            uncovered.append(sentence["id"])
    return {"code": _function(str(inputs["signature"]), requirements), "uncovered": uncovered}


def repair(inputs: Mapping[str, object]) -> dict[str, object]:
    """The reply to `repair_guard`: the code with up to three one-place changes, or as it was."""
    cases = [Example("boundary", "", tuple(row["arguments"].items()), row["allowed"])
             for row in (*inputs["complaints"], *inputs["examples"]) if row["allowed"] is not None and row["arguments"]]
    return {"code": corrected(str(inputs["code"]), cases), "uncovered": []}


def corrected(code: str, cases: Sequence[Example]) -> str:
    """The code after the changes that make most cases right, one at a time, each better than before."""
    best, wrong = code, _wrong(code, cases)
    for _ in range(EDITS):
        if not wrong:
            break
        scored = [(_wrong(m.source, cases), m.source) for m in mutant.mutants(best)]
        fewest = min(scored, key=lambda pair: pair[0], default=(wrong, best))
        if fewest[0] >= wrong:
            break
        wrong, best = fewest
    return best


def _broken(sentence: Row, inputs: Mapping[str, object], toolbox: Toolbox) -> Iterator[str]:
    """For each requirement that the sentence puts on the tool, the expression that is true where it is broken."""
    clause = Clause(sentence["id"], sentence["text"], 0, len(sentence["text"]), tuple(sentence["headings"]),
                    tuple(sentence["context"]), tuple(sentence["definitions"]), sentence["scope"])
    for norm in deontic.norms(clause):
        for reading in ground(norm, toolbox).readings:
            if reading.modality != "oblige" and inputs["tool"]["name"] in reading.action.tools:
                yield _Words(reading, inputs["parameters"]).text(reading.condition, negated=True)


def _function(signature: str, requirements: Mapping[str, str]) -> str:
    """Early returns in the order of the sentences; what is forbidden outright comes last."""
    lines = [signature]
    for broken, reason in requirements.items():
        if broken not in ("True", "False"):
            lines += [f"    if {broken}:", f"        return (False, {reason!r})"]
    last = f"(False, {requirements['True']!r})" if "True" in requirements else "(True, 'allowed')"
    return "\n".join([*lines, f"    return {last}", ""])


class _Words:
    """The expressions of one reading in the words of the signature."""

    def __init__(self, reading: Reading, parameters: Sequence[Row]) -> None:
        self.predicates = {p.name: p for p in reading.predicates}
        self.parameters = parameters

    def text(self, formula: Formula, *, negated: bool) -> str:
        """The formula, or its opposite with the negations moved inwards."""
        match formula:
            case f.Constant(value):
                return str(value != negated)
            case f.Not(body):
                return self.text(body, negated=not negated)
            case f.And(left, right) | f.Or(left, right):
                word = " or " if isinstance(formula, f.Or) != negated else " and "
                return word.join(bracketed(self.text(part, negated=negated)) for part in (left, right))
            case f.Atom(name):
                return self._state(self.predicates[name], negated)
            case f.Once():
                return _signed(self._past(formula), negated)
            case _:
                raise Unsaid(f"a sentence's condition is made of and, or, not and earlier; got {type(formula).__name__}")

    def _state(self, predicate: Predicate, negated: bool) -> str:
        if predicate.test is not None:
            for row in self.parameters:
                if (row.get("field"), row.get("measure")) == (predicate.test.field, predicate.test.measure):
                    return _compared(str(row["name"]), predicate.test, negated)
        return self._fact(predicate, negated)

    def _fact(self, predicate: Predicate, negated: bool) -> str:
        """The fact of that name, of that test or its opposite, else the one that took over all its keywords."""
        facts = [row for row in self.parameters if "fact" in row]
        for row in facts:
            if row["fact"] == predicate.name and not (predicate.test and "test" in row):
                return _signed(str(row["name"]), negated)
        for row in facts:
            told = _test(row)
            if predicate.test is not None and told in (predicate.test, _opposite(predicate.test)):
                return _signed(str(row["name"]), negated == (told == predicate.test))
        return _signed(_by_words(facts, predicate.keywords), negated)

    def _past(self, formula: Formula) -> str:
        told = [row for row in self.parameters if "past" in row]
        for row in told:
            if row["past"] == render(formula):
                return str(row["name"])
        return _by_words(told, tuple(w for name in f.atoms(formula) for w in self.predicates[name].keywords))


def _by_words(rows: Sequence[Row], words: Sequence[str]) -> str:
    """The parameter that has all the words, the one with fewest others; refinement renames but keeps keywords."""
    holding = [row for row in rows if words and set(words) <= set(row["words"])]
    if not holding:
        raise Unsaid(f"no parameter has the words {list(words)}")
    return str(min(holding, key=lambda row: len(row["words"]))["name"])


def _compared(name: str, test: Test, negated: bool) -> str:
    if isinstance(test.value, tuple):
        word, op = (" and ", "!=") if negated else (" or ", "==")
        return word.join(f"{name} {op} {value!r}" for value in test.value)
    if isinstance(test.value, bool):
        return _signed(name, (test.value == (test.op == "==")) == negated)
    return f"{name} {OPPOSITE[test.op] if negated else test.op} {test.value!r}"


def _signed(name: str, negated: bool) -> str:
    return f"not {name}" if negated else name


def _test(row: Row) -> Test | None:
    told = row.get("test")
    return Test(told["field"], told["op"], told["value"], told["measure"]) if isinstance(told, Mapping) else None


def _opposite(test: Test) -> Test | None:
    return Test(test.field, OPPOSITE[test.op], test.value, test.measure) if test.op in OPPOSITE else None


def _wrong(code: str, cases: Sequence[Example]) -> int:
    try:
        return len(failures(sandbox.load(code), cases))
    except sandbox.UnsafeSource:
        return len(cases) + 1
