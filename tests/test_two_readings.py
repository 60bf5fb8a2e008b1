"""Code and contract are two readings of the sentences: where they part at first, a repair settles nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from test_veriguard import BOOK, RIGHT, RULES, TOOLS, WRONG, Prover

from wb.domain.policy import Clause
from wb.guards import contract, evidence, reading, runtime, synthesis, toolguard, veriguard
from wb.guards.nagini import Proof
from wb.guards.reading import APART
from wb.guards.synthesis import Attempt, Draft
from wb.logic.syntax import parse
from wb.models.client import LLM
from wb.models.endpoint import Reply
from wb.models.ledger import ModelError
from wb.rules.rule import Predicate, Rule, RuleSet

SAID = {"book": (Clause("c", "No minors, and at most five guests.", 0, 35),)}
TURNED = RIGHT.replace("age < 18", "age >= 18")


class Author:
    """Writes and repairs by a list of sources in turn."""

    def __init__(self, *sources: str, disputed: tuple[str, ...] = (), name: str = "author") -> None:
        self.sources, self.disputed, self.name, self.asked = list(sources), disputed, name, []

    def answer(self, prompt, inputs: Mapping[str, object], schema: dict) -> Reply:
        self.asked.append((prompt.name, inputs))
        if not self.sources:
            raise ModelError("nothing to say")
        return Reply({"code": self.sources.pop(0), "disputed": list(self.disputed)}, engine=self.name)


def settled(*sources: str, others: tuple[Author, ...] = ()) -> Draft:
    """What becomes of a guard that is first written so, then repaired so."""
    author = LLM(Author(*sources))
    first = synthesis.write([BOOK], SAID, TOOLS, author)
    drafts = synthesis.synthesise(first, synthesis.reviser(SAID, author), max_rounds=len(sources) - 1)
    (draft,) = reading.kept_apart(drafts, SAID, TOOLS, [LLM(one) for one in others])
    return draft


def graded(draft: Draft) -> runtime.Guarded:
    """The guard, as if its code had been proved."""
    return synthesis.guarded(draft if draft.complaints else Draft(**{**fields(draft), "passed": ("tests", "proof")}))


def fields(draft: Draft) -> dict[str, object]:
    return {name: getattr(draft, name) for name in Draft.__dataclass_fields__}


@pytest.mark.parametrize("first", [TURNED, *WRONG.values()], ids=["reversed", *WRONG])
def test_a_repair_that_turns_the_code_to_fit_leaves_the_first_disagreement_with_its_values(first: str) -> None:
    draft = settled(first, RIGHT)
    assert not draft.complaints and draft.source == RIGHT
    (finding,) = draft.findings
    assert finding.startswith(APART) and "age=" in finding and "the rules" in finding
    entry = graded(draft)
    assert entry.grade == "tested" and entry.reason.startswith(runtime.UNSETTLED)
    assert runtime.claimed(entry, 0).startswith("tested")


def test_code_that_agreed_at_first_is_proved_and_nobody_else_is_asked() -> None:
    other = Author(RIGHT)
    draft = settled(RIGHT, others=(other,))
    assert draft.findings == () and graded(draft).grade == "proved" and other.asked == []


def test_a_reversed_contract_does_not_turn_right_code_into_its_opposite_unseen() -> None:
    """The sentence forbids more than sixty; the contract, misread, less than sixty."""
    long = Predicate("long", "state", "", tools=("book",), test=contract.cel.parse("call.length > 60"))
    acts = (Predicate("book", "action", "", tools=("book",)), long)
    box = TOOLS.__class__(
        (TOOLS.tools[0].__class__("book", arguments=(TOOLS.tools[0].arguments[0].__class__("length", "integer"),)),)
    )
    (required,) = contract.contracts(
        box, RuleSet(acts, (Rule("r", "", parse("ALWAYS (book IMPLIES long)"), "forbid"),))
    )
    right = f"{required.signature}\n    if length > 60:\n        return (False, 'c')\n    return (True, 'allowed')\n"
    turned = right.replace("length > 60", "length <= 60")
    author = LLM(Author(right, turned))
    first = synthesis.write([required], SAID, box, author)
    drafts = synthesis.synthesise(first, synthesis.reviser(SAID, author), max_rounds=1)
    assert not drafts[0].complaints and drafts[0].source == turned, "it fits the contract now"
    (draft,) = reading.kept_apart(drafts, SAID, box)
    assert draft.findings and graded(draft).grade == "tested"


@pytest.mark.parametrize(
    ("other", "settles"),
    [
        (Author(RIGHT), True),  # the first one's slip: another reading of the same words is the rules'
        (Author(RIGHT.replace("> 5", ">= 6")), True),  # in other code
        (Author(WRONG["denies 18"]), False),  # another slip
        (Author(TURNED), False),  # two against the rules
        (Author(RIGHT, disputed=("the sentence says six",)), False),
        (Author(RIGHT.replace("_guests: int", "_guests: str")), False),  # no code of that signature
        (Author(), False),  # no answer
    ],
)
def test_another_author_settles_it_who_writes_what_the_rules_say(other: Author, settles: bool) -> None:
    draft = settled(TURNED, RIGHT, others=(other,))
    assert (draft.findings == ()) is settles and (graded(draft).grade == "proved") is settles
    ((name, inputs),) = other.asked
    assert name == "write_guard" and inputs.keys() == {"signature", "parameters", "sentences", "tool"}, "blind"


def test_the_next_of_others_is_asked_where_one_does_not_settle_it() -> None:
    wrong, right, last = Author(TURNED), Author(RIGHT), Author(RIGHT)
    assert settled(TURNED, RIGHT, others=(wrong, right, last)).findings == ()
    assert [len(one.asked) for one in (wrong, right, last)] == [1, 1, 0]


def test_a_value_between_the_examples_is_found_too() -> None:
    """A back door at a value that no example of the contract has, for the other author as for the first."""
    door = RIGHT.replace(
        "    return (True, 'allowed')", "    if age == 333:\n        return (False, 'x')\n    return (True, 'allowed')"
    )
    assert settled(TURNED, RIGHT, others=(Author(door),)).findings
    assert synthesis.counterexamples([(BOOK, door)], "tests") != (None,)


def test_it_is_a_question_about_its_sentences() -> None:
    draft = settled(TURNED, RIGHT)
    (asked,) = toolguard.questions((), (draft,), ())
    assert asked.kind == "logic error" and asked.asks == draft.findings[0] and asked.tools == ("book",)


def test_code_that_never_ran_is_no_reading() -> None:
    draft = settled("no code", RIGHT)
    assert draft.findings == () and graded(draft).grade == "proved"
    assert reading.disagreement(Draft(BOOK, (Attempt(RIGHT),))) is None


def test_a_slip_of_type_does_not_hide_what_the_first_code_decided() -> None:
    """Types are looked at before tests are run; the code runs all the same."""
    first = TURNED.replace(
        "    return (True, 'allowed')", "    if level == 5:\n        return (False, 'x')\n    return (True, 'allowed')"
    )
    draft = Draft(BOOK, (Attempt(first, (synthesis.Complaint("types", "str and int"),)), Attempt(RIGHT)))
    shown = reading.disagreement(draft)
    assert shown is not None and shown.arguments and shown.allowed is not None
    (kept,) = reading.kept_apart([draft], SAID, TOOLS)
    assert kept.findings[0].startswith(APART)


@pytest.mark.parametrize("why", ["findings", "dissent"])
def test_a_proof_on_other_evidence_settles_nothing_that_a_person_has_to_decide(why: str) -> None:
    """A guard is kept tested; then its rules, or the prover, change: proved again it is what it was."""
    made = Draft(BOOK, (Attempt(RIGHT, dissent=("six are meant",) if why == "dissent" else ()),), ("tests", "proof"))
    made = Draft(**{**fields(made), "findings": ("two readings",) if why == "findings" else ()})
    entry = synthesis.guarded(made)
    rows = [{**row, "seal": "another"} for row in evidence.to_rows([entry], RULES, {})]
    (kept,) = evidence.from_rows(rows, [BOOK], RULES, {})
    assert kept.grade == "tested" and entry.reason in kept.reason
    (again,) = veriguard.again([kept], Prover(Proof("proved")))
    assert again.grade == "tested" and again.reason.startswith((synthesis.DISPUTED, runtime.UNSETTLED))
