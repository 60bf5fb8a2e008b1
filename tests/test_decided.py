"""What a person's rules demand is code made from the rules; the author is asked about the other sentences alone."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from wb.domain.policy import Clause
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Step, Trace
from wb.guards import contract, examples, faults, runtime, sandbox, synthesis, toolguard
from wb.logic import cel, semantics
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError
from wb.offline.engine import Offline
from wb.rules.rule import Predicate, Rule, RuleSet

BOX = Toolbox(
    (
        Tool("delete_record", "Delete a record.", (Field("kind", "string"), Field("years", "integer")), ("record",)),
        Tool("read_record", "Read a record."),
    ),
    (Field("clerk", "boolean", "whether the user is a clerk", keywords=("clerk",)), Field("night", "boolean")),
)
PREDICATES = (
    Predicate("deletes", "action", "Delete a record.", tools=("delete_record",)),
    Predicate("clerk", "state", "", test=cel.parse("state.clerk")),
    Predicate("night", "state", "", test=cel.parse("state.night")),
    Predicate("report", "state", "", tools=("delete_record",), test=cel.parse('call.kind == "report"')),
    Predicate("old", "state", "", tools=("delete_record",), test=cel.parse("call.years >= 7")),
)
READ = Clause("c1", "A record may be deleted only if the user is a clerk.", 0, 52)
SAID = {
    "c1": "ALWAYS (deletes IMPLIES clerk)",
    "decided-3f2a90c1b7de": "ALWAYS (deletes IMPLIES NOT report)",
    "decided-0b51c2aa93f4": "ALWAYS (deletes IMPLIES old OR NOT night)",
    "decided-ffffffffffff": "ALWAYS NOT deletes",
}
OWN = tuple(SAID)[1:3]


def of(*clauses: str) -> contract.Contract:
    rules = tuple(Rule(f"{c}.1", c, semantics.parse(SAID[c]), "forbid", clause=c) for c in clauses)
    return contract.contract(BOX.tool("delete_record"), RuleSet(PREDICATES, rules), BOX.state)


class Author:
    """The offline engine, or the codes it is given; what it is asked is kept."""

    name = "author"

    def __init__(self, *codes: str | None) -> None:
        self.codes, self.asked, self.offline = list(codes), [], Offline(BOX)

    def answer(self, prompt: object, inputs: Mapping[str, object], schema: dict) -> Reply:
        self.asked.append((prompt.name, inputs))
        if not self.codes:
            return self.offline.answer(prompt, inputs, schema)
        if (code := self.codes.pop(0)) is None:
            raise ModelError("no reply came")
        return Reply({"code": code, "uncovered": []})


def tried(made: contract.Contract, author: Author, sentences: tuple[Clause, ...] = (READ,)) -> synthesis.Draft:
    told = {"delete_record": sentences}
    first = synthesis.write([made], told, BOX, LLM(author))
    (draft,) = synthesis.synthesise(first, synthesis.reviser(told, LLM(author)))
    return draft


@pytest.mark.parametrize(
    "clauses", [OWN[:1], OWN, ("c1", *OWN), ("decided-ffffffffffff",), ("c1", "decided-ffffffffffff")]
)
def test_a_persons_rules_pass_every_test_with_and_without_a_read_sentence(clauses: tuple[str, ...]) -> None:
    draft = tried(of(*clauses), Author())
    assert synthesis.guarded(draft).grade == "tested" and len(draft.attempts) == 1, draft.complaints
    assert {e.allowed for e in examples.examples(draft.contract)} >= {False}


def test_without_a_read_sentence_nobody_is_asked() -> None:
    author = Author()
    tried(of(*OWN), author)
    tried(of("c1", "decided-ffffffffffff"), author)
    tried(of(), author)
    assert author.asked == []
    tried(of("c1", *OWN), author)
    assert [name for name, _ in author.asked] == ["write_guard"]


def test_the_author_is_told_neither_a_persons_rules_nor_their_sentences() -> None:
    made = of("c1", *OWN)
    rules = RuleSet(PREDICATES, tuple(Rule(f"{c}.1", c, semantics.parse(SAID[c]), "forbid", clause=c) for c in SAID))
    own = Clause("decided-3f2a90c1b7de", "Reports stay.", 0, 13)
    assert synthesis.concerning(made, rules, (READ, own)) == (READ,)
    author = Author("def policy_delete_record() -> bool:\n    return True\n")
    draft = tried(made, author)
    assert [name for name, _ in author.asked] == ["write_guard", "repair_guard"]
    told = author.asked[1][1]
    assert "decided-" not in str({**told, "complaints": ()})
    assert draft.complaints, "what is no guard is not made one by the person's part"


def test_the_author_is_told_what_a_model_assumed_and_nothing_else_changes() -> None:
    made, said = (
        of("c1"),
        {"delete_record": ("“Be brief.” is assumed by a model: at most 5 words (so it is elsewhere)",)},
    )
    told = []
    for assumed in ({}, {"another_tool": said["delete_record"]}, said):
        author = Author("def policy_delete_record() -> bool:\n    return True\n")
        (first,) = synthesis.write([made], {made.tool: (READ,)}, BOX, LLM(author), assumed)
        synthesis.reviser({made.tool: (READ,)}, LLM(author), assumed)([first])
        told.append([inputs["sentences"] for _, inputs in author.asked])
    assert told[0] == told[1] and all("assumptions" not in row for rows in told[0] for row in rows)
    assert told[2] == [[{**row, "assumptions": list(said["delete_record"])} for row in rows] for rows in told[0]]


@pytest.mark.parametrize("docstring", ["", '    """What it does."""\n'])
def test_the_persons_part_comes_before_whatever_the_author_returns_early(docstring: str) -> None:
    """The author lets a clerk through at once; what the person demands of clerks is asked first all the same."""
    made = of("c1", *OWN)
    early = f"{made.signature}\n{docstring}    if clerk:\n        return (True, 'a clerk')\n    return (False, 'c1')\n"
    joined = synthesis.joined(early, made)
    allows, whole = examples.program(made, made.allows), sandbox.load(joined)
    for case in examples.examples(made):
        assert whole.run(**dict(case.arguments))[0] is allows.run(**dict(case.arguments))[0] is case.allowed
    assert sandbox.load(early).run(**{**dict(case.arguments), "clerk": True})[0], "alone it would let him through"
    (function,) = [one for one in ast.parse(joined).body if isinstance(one, ast.FunctionDef)]
    assert ast.get_docstring(function) == ("What it does." if docstring else None), "it stays the first"
    assert len(function.body) == bool(docstring) + len(OWN) + 2
    assert synthesis.without(joined, made).strip().endswith(
        "return (False, 'c1')"
    ) and "decided-" not in synthesis.without(joined, made)


@pytest.mark.parametrize(
    "source", ["", "allowed = True\n", "def policy(", "def a():\n    pass\n\n\ndef b():\n    pass\n"]
)
def test_what_is_no_function_is_left_as_it_is_for_the_check(source: str) -> None:
    assert synthesis.joined(source, of("c1", *OWN)) == synthesis.without(source, of("c1", *OWN)) == source


WRONG = "{}\n    if clerk:\n        return (False, 'c1')\n    return (True, 'allowed')\n"


def test_a_mistake_of_the_author_goes_back_without_the_persons_part_and_comes_home_to_it() -> None:
    made = of("c1", *OWN)
    author = Author(WRONG.format(made.signature))
    draft = tried(made, author)
    name, inputs = author.asked[1]
    assert name == "repair_guard" and "report" not in inputs["code"] and "if clerk" in inputs["code"]
    assert synthesis.guarded(draft).grade == "tested" and "kind == 'report'" in draft.source


def test_a_reply_that_does_not_come_leaves_the_tool_denied_whatever_a_person_said() -> None:
    draft = tried(of("c1", *OWN), Author(None, None))
    guard = runtime.accepting("toolguard", RuleSet(PREDICATES), [synthesis.guarded(draft)])
    step = Step((Call("delete_record", {"kind": "note", "years": 9}),), {"clerk": True, "night": False})
    assert guard.decide(Trace("t", (step,))).decision == "deny"


def test_a_fault_in_the_persons_part_is_noticed_and_mended() -> None:
    made = of("c1", *OWN)
    right = tried(made, Author())
    kept, mended = 0, 0
    for mutant in faults.mutants(right.source):
        if not examples.failures(sandbox.load(mutant.source), examples.examples(made)):
            kept += 1
            continue
        broken = synthesis.Draft(made, (synthesis.Attempt(mutant.source),))
        author = Author()
        (after,) = synthesis.synthesise([broken], synthesis.reviser({"delete_record": (READ,)}, LLM(author)))
        mended += synthesis.guarded(after).grade == "tested"
        assert synthesis.joined(synthesis.without(after.source, made), made) == after.source
    assert mended > 5 and kept < mended


def test_a_docstring_of_the_author_stays_first() -> None:
    made = of("c1", *OWN)
    code = WRONG.format(made.signature + "\n    '''What c1 says.'''").replace("if clerk", "if not clerk")
    draft = tried(made, Author(code))
    assert synthesis.guarded(draft).grade == "tested"


def test_kept_candidates_hold_their_code_rules_examples_and_attempts_and_come_back() -> None:
    made = of("c1", *OWN)
    draft = tried(made, Author())
    (row,) = toolguard.to_rows([draft], RuleSet(PREDICATES), {})
    assert row["code"] == draft.source and row["rules"] == [item.rule for item in made.items]
    assert row["examples"] == examples.examples(made) and row["attempts"] == draft.attempts
    other = of("decided-ffffffffffff")
    (again,) = toolguard.drafts([row], [made])
    assert (again.contract, again.source, again.dissent) == (made, draft.source, draft.dissent)
    (bare,) = toolguard.drafts([], [other])
    assert (bare.contract, bare.source) == (other, "# there is no candidate\n")
    told = {**row, "attempts": [{"dissent": ["no"]}]}
    assert toolguard.drafts([told], [made])[0].dissent == ("no",)
    assert toolguard.drafts([{**row, "attempts": []}], [made])[0].dissent == ()
