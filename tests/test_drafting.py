"""Guards written from sentences: by the offline grammar or a model's reply, never from the contract."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from wb.domain.policy import Clause
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Step, Trace
from wb.guards import contract, examples, runtime, sandbox, synthesis, toolguard, veriguard
from wb.logic import cel, semantics
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError, Usage
from wb.models.prompt import Prompt
from wb.offline import engine
from wb.rules.rule import Predicate, Rule, RuleSet

TOOLS = Toolbox(
    (
        Tool(
            "water_plant",
            "Water a plant.",
            (Field("litres", "integer", "litres of water"), Field("plants", "array", "the plants")),
            ("water", "plant"),
        ),
        Tool("close_window", "Close a window.", keywords=("window",)),
    ),
    (
        Field("age", "integer", "age of the user in years", keywords=("age", "old")),
        Field("gardener", "boolean", "whether the user is a gardener", keywords=("gardener",)),
    ),
)
PREDICATES = (
    Predicate("water_plant", "action", "Water a plant.", tools=("water_plant",)),
    Predicate("close_window", "action", "Close a window.", tools=("close_window",)),
    Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("is_gardener", "state", "", test=cel.parse("state.gardener")),
    Predicate("little", "state", "", tools=("water_plant",), test=cel.parse("call.litres <= 5")),
)
SENTENCES = {
    "c1": ("A user under 18 must not water a plant.", "ALWAYS (water_plant IMPLIES adult)"),
    "c2": ("A plant may be watered only if the user is a gardener.", "ALWAYS (water_plant IMPLIES is_gardener)"),
    "c3": (
        "Before watering a plant, the assistant must close the window.",
        "ALWAYS (water_plant IMPLIES ONCE close_window)",
    ),
}
CLAUSES = tuple(Clause(i, text, 0, len(text)) for i, (text, _) in SENTENCES.items())


def ruleset(*ids: str) -> RuleSet:
    return RuleSet(
        PREDICATES,
        tuple(
            Rule(
                f"r{i[1:]}",
                SENTENCES[i][0],
                semantics.parse(SENTENCES[i][1]),
                "forbid",
                clause=i,
                quote=SENTENCES[i][0],
            )
            for i in ids
        ),
    )


def of(*ids: str) -> contract.Contract:
    return contract.contract(TOOLS.tool("water_plant"), ruleset(*ids), TOOLS.state)


class Author:
    """An engine that answers with what it is given, or as the offline engine does; it stands for any author."""

    name = "author"

    def __init__(self, *codes: str | None) -> None:
        self.codes, self.asked = list(codes), []

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
        prompt.render(**inputs)
        self.asked.append((prompt.name, inputs))
        if not self.codes:
            value = engine.write(inputs, TOOLS) if prompt.name == "write_guard" else engine.repair(inputs)
        elif (code := self.codes.pop(0)) is None:
            raise ModelError("no reply came")
        else:
            value = {"code": code, "uncovered": []}
        return Reply(value, Usage(), None, self.name)


def written(made: contract.Contract, author: Author, ids: tuple[str, ...] = tuple(SENTENCES)) -> synthesis.Draft:
    told = {"water_plant": synthesis.concerning(made, ruleset(*ids), CLAUSES)}
    (draft,) = synthesis.write([made], told, TOOLS, LLM(author))
    return draft


@pytest.mark.parametrize("ids", [("c1",), ("c2",), ("c3",), ("c1", "c2", "c3")])
def test_the_sentences_give_code_that_does_what_the_rules_say(ids: tuple[str, ...]) -> None:
    made = of(*ids)
    draft = written(made, Author(), ids)
    assert examples.failures(sandbox.load(draft.source), examples.examples(made)) == ()


def test_the_author_sees_sentences_and_signature_but_neither_rule_nor_contract() -> None:
    author = Author()
    written(of(*SENTENCES), author)
    ((_, inputs),) = author.asked
    assert {s["text"] for s in inputs["sentences"]} == {text for text, _ in SENTENCES.values()}
    assert not any(word in str(inputs) for word in ("Ensures", "IMPLIES", "Implies", "condition", ">= 18"))


def test_a_changed_sentence_changes_the_code_and_not_the_contract() -> None:
    made = of("c1")
    changed = Clause("c1", "A user under 21 must not water a plant.", 0, 39)
    (draft,) = synthesis.write([made], {"water_plant": (changed,)}, TOOLS, LLM(Author()))
    failed = examples.failures(sandbox.load(draft.source), examples.examples(made))
    assert {dict(e.arguments)["age"] for e, _ in failed} == {18, 19}
    assert "age >= 18" in made.allows


def test_a_sentence_that_no_parameter_stands_for_is_named_as_uncovered() -> None:
    inputs = synthesis._told(of("c1"), {"water_plant": CLAUSES}) | {"tool": {"name": "water_plant"}}
    reply = engine.write(inputs, TOOLS)
    assert reply["uncovered"] == ["c2", "c3"] and "age < 18" in reply["code"]


def test_refinement_renames_and_the_sentence_still_finds_its_fact() -> None:
    text = "Do not water a plant unless the user is a gardener."
    rule = Rule("r", text, semantics.parse("ALWAYS (water_plant IMPLIES tends_plants)"), "forbid", clause="c9")
    told = RuleSet((PREDICATES[0], Predicate("tends_plants", "state", "Seen to be one.", ("gardener",))), (rule,))
    made = contract.contract(TOOLS.tool("water_plant"), told)
    (draft,) = synthesis.write([made], {"water_plant": (Clause("c9", text, 0, len(text)),)}, TOOLS, LLM(Author()))
    assert "if not tends_plants:" in draft.source


def test_clauses_are_found_through_the_parents_of_a_refined_rule() -> None:
    before = ruleset("c1", "c2", "c3")
    heir = Rule(
        "r9", "", semantics.parse("ALWAYS (water_plant IMPLIES adult)"), "forbid", clause="c1", parents=("r2", "r3")
    )
    made = contract.contract(TOOLS.tool("water_plant"), RuleSet(PREDICATES, (heir,)))
    found = synthesis.concerning(made, RuleSet(PREDICATES, (heir,)), CLAUSES, before)
    assert [c.id for c in found] == ["c1", "c2", "c3"]


RIGHT = "def policy_water_plant(age: int) -> Tuple[bool, str]:\n    if age < 18:\n        return (False, 'c1')\n    return (True, 'allowed')\n"  # noqa: E501


def test_a_candidate_that_fails_goes_back_with_the_arguments_and_is_tested_again() -> None:
    made, author = of("c1"), Author(RIGHT.replace("<", "<="), RIGHT)
    (draft,) = synthesis.synthesise([written(made, author, ("c1",))], synthesis.reviser({}, LLM(author)))
    name, inputs = author.asked[1]
    assert name == "repair_guard" and {"age": 18} in [c["arguments"] for c in inputs["complaints"]]
    assert len(draft.attempts) == 2 and synthesis.guarded(draft).grade == "tested"


def test_rounds_are_a_budget_that_is_kept() -> None:
    wrong = [RIGHT.replace("18", str(n)) for n in (1, 2, 3, 4, 5, 6)]
    author = Author(*wrong)
    (draft,) = synthesis.synthesise(
        [written(of("c1"), author, ("c1",))], synthesis.reviser({}, LLM(author)), max_rounds=2
    )
    assert len(draft.attempts) == 3 and synthesis.guarded(draft).grade == "error" and draft.complaints


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os\n" + RIGHT.replace("if age < 18", "if os.getpid()"), "Attribute|Call"),
        (RIGHT.replace("age: int", "age: int, more: int"), "signature"),
        (RIGHT.replace("age: int", "age: str"), "an order of two numbers"),
        (RIGHT.replace("policy_water_plant", "policy"), "required"),
        (RIGHT.replace("    if", "    Ensures(True)\n    if"), "contract"),
        ("I am sorry, I cannot do that.", "required"),
        ("", "required"),
    ],
)
def test_a_reply_that_is_no_guard_ends_in_error_with_what_was_required(code: str, said: str) -> None:
    author = Author(code, None, None, None)
    (draft,) = synthesis.synthesise([written(of("c1"), author, ("c1",))], synthesis.reviser({}, LLM(author)))
    entry = synthesis.guarded(draft)
    assert entry.grade == "error" and any(word in entry.reason for word in said.split("|"))


def test_a_request_without_an_answer_ends_in_error_and_the_tool_is_denied() -> None:
    author = Author(None, None)
    (draft,) = synthesis.synthesise([written(of("c1"), author, ("c1",))], synthesis.reviser({}, LLM(author)))
    guard = runtime.accepting("toolguard", ruleset("c1"), [synthesis.guarded(draft)])

    assert guard.decide(Trace("t", (Step((Call("water_plant"),), {"age": 40}),))).decision == "deny"


def test_a_kept_candidate_comes_back_for_its_proof() -> None:
    made = of("c1")
    (draft,) = synthesis.synthesise([written(made, Author(RIGHT), ("c1",))], synthesis.reviser({}, LLM(Author())))
    (row,) = toolguard.to_rows([draft], RuleSet((), ()), {})
    assert row["grade"] == "tested" and toolguard.drafts([row], [made])[0].source == RIGHT
    assert "candidate" in toolguard.drafts([], [made])[0].source


def test_a_contract_without_an_example_passes_no_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    draft = written(of("c1"), Author(), ("c1",))
    monkeypatch.setattr(examples, "examples", lambda made: ())
    ((told,),) = synthesis.tests([draft])
    assert told.check == "tests" and "an example at least was required" in told.message


class Dissenter(Author):
    """An author who says against each question what it is told to say."""

    def __init__(self, *codes: str, **says: list[str]) -> None:
        super().__init__(*codes)
        self.says = says

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
        told = super().answer(prompt, inputs, schema)
        return Reply({**told.value, **self.says}, engine=told.engine)


PROVES = ("proof", lambda drafts: [() for _ in drafts])


@pytest.mark.parametrize("says", [{"uncovered": ["c1"]}, {"disputed": ["example 2 allows what c1 forbids"]}])
def test_what_its_author_disputes_is_shown_and_is_never_proved(says: dict) -> None:
    """The code passes every check, a prover's too; without the dissent it is proved."""
    made = of("c1")
    for author, grade in ((Author(RIGHT), "proved"), (Dissenter(RIGHT, **says), "tested")):
        (draft,) = synthesis.synthesise(
            [written(made, author, ("c1",))], lambda d: [], checks=(*synthesis.TESTED, PROVES)
        )
        entry = synthesis.guarded(draft)
        assert entry.grade == grade
        assert (says[min(says)][0] in entry.reason) == (grade == "tested")
    kept = toolguard.to_rows([draft], RuleSet((), ()), {})
    assert toolguard.drafts(kept, [made])[0].dissent == draft.dissent != (), "it goes with the candidate to its proof"


def test_what_a_person_has_to_decide_is_never_proved_and_goes_with_the_candidate() -> None:
    """The code passes every check, a prover's too; without the finding it is proved."""
    made, found = of("c1"), {"pay": ("a model says that 'Half' is its policy",)}
    (draft,) = toolguard.doubted([written(made, Author(RIGHT), ("c1",))], {made.tool: found["pay"], "other": ("x",)})
    (draft,) = synthesis.synthesise([draft], lambda d: [], checks=(*synthesis.TESTED, PROVES))
    entry = synthesis.guarded(draft)
    assert entry.grade == "tested" and entry.reason == f"{runtime.UNSETTLED} {found['pay'][0]}"
    assert synthesis.guarded(replace(draft, findings=())).grade == "proved"
    (kept,) = toolguard.drafts(toolguard.to_rows([draft], RuleSet((), ()), {}), [made])
    assert kept.findings == draft.findings == found["pay"]
    assert veriguard.again([entry], None) == (entry,), "a proof decides nothing of it: nobody is asked"
    free = replace(entry, contract=replace(made, items=()))
    assert runtime.claimed(free, 0) == "no rule" and runtime.claimed(replace(free, reason=""), 0) == "free"
    assert runtime.claimed(entry, 0) == "tested"


def test_a_disputed_test_is_kept_though_the_code_stays_as_it_is() -> None:
    made, wrong = of("c1"), RIGHT.replace("< 18", "< 17")
    assert wrong != RIGHT
    author = Dissenter(wrong, wrong, disputed=["17 is allowed by the sentence"])
    (draft,) = synthesis.synthesise([written(made, author, ("c1",))], synthesis.reviser({}, LLM(author)))
    assert len(draft.attempts) == 1 and "17 is allowed by the sentence" in synthesis.guarded(draft).reason
    assert synthesis.guarded(draft).grade == "error", "the example stands, and the code fails it"


@pytest.mark.parametrize(
    ("says", "grade"), [({"disputed": ["17 is allowed"]}, "tested"), ({"uncovered": ["c1"]}, "proved")]
)
def test_an_author_who_disputed_a_test_and_then_obeys_it_is_not_proved(says: dict, grade: str) -> None:
    """What a function cannot express, the next one may."""

    class Once(Dissenter):
        def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
            told = super().answer(prompt, inputs, schema)
            self.says = {}
            return told

    author = Once(RIGHT.replace("< 18", "< 17"), RIGHT, **says)
    checks = (*synthesis.TESTED, PROVES)
    (draft,) = synthesis.synthesise(
        [written(of("c1"), author, ("c1",))], synthesis.reviser({}, LLM(author)), checks=checks
    )
    entry = synthesis.guarded(draft)
    assert len(draft.attempts) == 2 and entry.grade == grade
    assert (says[min(says)][0] in entry.reason) == (grade == "tested")


def test_a_guard_that_its_author_disputes_is_not_proved_again() -> None:
    class Never:
        def verify(self, sources: list[str]) -> list:
            assert not sources, "what is disputed is not put to the prover"
            return []

    made = of("c1")
    (draft,) = synthesis.synthesise([written(made, Dissenter(RIGHT, uncovered=["c1"]), ("c1",))], lambda d: [])
    entry = synthesis.guarded(draft)
    assert veriguard.again([entry], Never()) == (entry,)


def test_nobody_is_asked_about_rules_whose_sentences_are_not_known_and_their_tool_is_denied() -> None:
    author, made = Author(), of("c1")
    drafts = synthesis.write([made], {}, TOOLS, LLM(author))
    (draft,) = synthesis.synthesise(drafts, synthesis.reviser({}, LLM(author)))
    assert author.asked == [] and synthesis.guarded(draft).grade == "error"
    assert len(written(made, author, ("c1",)).attempts) == len(author.asked) == 1, "with its sentence it is asked"


def test_what_is_no_code_of_the_language_is_told_as_such_and_a_contract_that_cannot_run_has_no_examples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draft = written(of("c1"), Author("import os", "import os"), ("c1",))
    ((told,),) = synthesis.language([draft])
    assert told.check == "language" and synthesis.language([written(of("c1"), Author(RIGHT), ("c1",))]) == [()]

    def refuse(*_: object) -> object:
        raise sandbox.UnsafeSource("too large")

    monkeypatch.setattr(examples, "program", refuse)
    assert examples.examples(of("c1")) == ()
