"""What a guard's author is told of a failed proof: the same words whatever the prover's solver happened to answer."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.domain.policy import Clause
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Step, Trace
from wb.guards import contract, runtime, sandbox, synthesis, veriguard
from wb.guards.nagini import Objection, Proof
from wb.guards.runtime import Guarded
from wb.guards.synthesis import Attempt, Draft
from wb.logic import cel, semantics
from wb.models.client import LLM
from wb.models.endpoint import Endpoint, Replies, Reply, digest
from wb.models.ledger import ModelError
from wb.rules.rule import Predicate, Rule, RuleSet

PREDICATES = (
    Predicate("book", "action", "", tools=("book",)),
    Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("few", "state", "", tools=("book",), test=cel.parse("size(call.guests) <= 5")),
    Predicate("special", "state", "", test=cel.parse('state.level == "gold"')),
)
TEXTS = ("ALWAYS (book IMPLIES adult)", "ALWAYS ((book AND NOT special) IMPLIES few)")
RULES = RuleSet(PREDICATES, tuple(Rule(f"r{i}", t, semantics.parse(t), "forbid") for i, t in enumerate(TEXTS, 1)))
TOOLS = Toolbox((Tool("book", arguments=(Field("guests", "array"),)),))
(BOOK,) = contract.contracts(TOOLS, RULES)
RIGHT = (
    "def policy_book(age: int, level: str, count_guests: int) -> Tuple[bool, str]:\n    if age < 18:\n        return (False, 'young')\n"  # noqa: E501
    "    if level != 'gold' and count_guests > 5:\n        return (False, 'many')\n    return (True, 'allowed')\n"
)
WRONG = {
    "allows six": RIGHT.replace("> 5", "> 6"),
    "denies 18": RIGHT.replace("< 18", "<= 18"),
    "gold alone": RIGHT.replace("level != 'gold' and ", ""),
    "no limit": RIGHT.replace("age < 18", "False").replace("> 5", "> 500"),
}


class Prover:
    """Says what it is given of every source, and that each can be reached."""

    def __init__(self, proof: Proof) -> None:
        self.proof = proof

    def verify(self, sources):
        return [Proof("proved") if "Refute(False)" in source else self.proof for source in sources]


class Author:
    """Keeps what it is asked, as the endpoint would record it."""

    name = "author"

    def __init__(self, folder) -> None:
        self.endpoint, self.digests = Endpoint("m", replies=Replies(folder)), []

    def answer(self, asked, inputs, schema) -> Reply:
        self.digests.append(digest(self.endpoint.request(asked, inputs, schema)))
        return Reply({"code": RIGHT})


def complained(source: str, proof: Proof) -> Draft:
    _, check = veriguard.proof(Prover(proof))
    return Draft(BOOK, (Attempt(source, check([Draft(BOOK, (Attempt(source),))])[0]),))


@cache
def asked(source: str, proof: Proof, folder) -> str:
    """The identity of the repair that a failed proof leads to."""
    author = Author(folder)
    synthesis.reviser({}, LLM(author))([complained(source, proof)])
    return author.digests[0]


VALUES = st.lists(
    st.tuples(st.sampled_from(("age", "count_guests", "level")), st.one_of(st.integers(-9, 99), st.booleans())),
    max_size=3,
).map(tuple)
FINDINGS = st.lists(
    st.builds(
        Objection,
        st.just("postcondition.violated"),
        st.text(max_size=9),
        st.integers(1, 9),
        VALUES,
        st.lists(st.sampled_from(("age < 18", "not count_guests > 5")), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=3,
).map(tuple)


@pytest.mark.parametrize("source", [*WRONG.values(), RIGHT], ids=[*WRONG, "right but not proved"])
@settings(max_examples=8, deadline=None)
@given(st.sampled_from(("unproved", "timeout", "crash")), FINDINGS)
def test_a_repair_is_the_same_request_whatever_the_solver_answered(
    tmp_path_factory, source: str, status: str, findings: tuple
) -> None:
    folder, status = tmp_path_factory.getbasetemp(), "unproved" if source == RIGHT else status
    usual = Proof("unproved", (Objection("postcondition.violated", "It might not hold.", 3, (("age", 18),)),))
    assert asked(source, Proof(status, findings), folder) == asked(source, usual, folder)


@pytest.mark.parametrize(
    ("name", "allowed", "rules"),
    [("allows six", False, ("r2",)), ("denies 18", True, ()), ("gold alone", True, ()), ("no limit", False, ("r1",))],
)
def test_the_values_shown_break_the_rules_when_the_code_is_run(name: str, allowed: bool, rules: tuple) -> None:
    (complaint,) = complained(WRONG[name], Proof("unproved", (Objection("x", "said", 1, (("age", 40),)),))).complaints
    values = dict(complaint.arguments)
    right = values["age"] >= 18 and (values["level"] == "gold" or values["count_guests"] <= 5)  # the rules, by hand
    scope: dict = {"Tuple": tuple}
    exec(WRONG[name], scope)
    assert scope["policy_book"](**values)[0] is not right and right is complaint.allowed is allowed
    assert all(rule in complaint.message for rule in rules) and complaint.said == "unproved: line 1: said {'age': 40}"
    assert (
        synthesis.guarded(Draft(BOOK, (Attempt(WRONG[name], (complaint,)),))).reason
        == f"{complaint.message} ({complaint.where})"
    )
    assert all(
        f"“{text}” ({rule})" in complaint.where for rule, text in zip(("r1", "r2"), TEXTS, strict=True) if rule in rules
    )
    number = int(complaint.where.partition("line ")[2].partition(",")[0])
    answer = WRONG[name].splitlines()[number - 1].strip()
    assert f"`{answer}`" in complaint.where and answer.startswith(f"return ({not allowed}")
    assert all(f"{key}={value!r}" in complaint.where for key, value in values.items())
    last = number == len(WRONG[name].splitlines())
    assert ("after all branches" in complaint.where) is last is ("in the branch (" not in complaint.where)


def test_a_proof_that_failed_on_right_code_shows_no_values_and_keeps_what_the_prover_said() -> None:
    draft = complained(RIGHT, Proof("timeout", (Objection("timeout", "no answer within 240 s", 0),)))
    (complaint,) = draft.complaints
    assert complaint.arguments == () and complaint.allowed is None and complaint.message == veriguard.SILENT
    assert "timeout: no answer within 240 s" in synthesis.guarded(draft).reason
    assert complained(RIGHT, Proof("proved")).complaints == ()


@pytest.mark.parametrize("status", ["timeout", "crash"])
def test_a_prover_without_an_answer_asks_the_author_nothing_about_code_that_keeps_the_rules(status: str) -> None:
    asked_about = []

    def revise(drafts):
        asked_about.extend(d.source for d in drafts)
        return [Attempt(RIGHT) for _ in drafts]

    rows = [Draft(BOOK, (Attempt(RIGHT),)), Draft(BOOK, (Attempt(WRONG["no limit"]),))]
    right, wrong = veriguard.prove(rows, revise, Prover(Proof(status, (Objection(status, "late", 0),))))
    assert asked_about == [WRONG["no limit"]] and len(right.attempts) == 1 and wrong.source == RIGHT
    assert synthesis.guarded(right).grade == "bounded" and "late" in synthesis.guarded(right).reason


@pytest.mark.parametrize("status", ["unproved", "rejected", "timeout", "crash"])
def test_a_proof_counts_only_where_the_probe_is_proved_too(status: str) -> None:
    """The probe refutes `False` at the head of the body: a body that nothing reaches proves anything."""

    class Unreachable:
        def verify(self, sources):
            return [Proof(status if "Refute(False)" in source else "proved") for source in sources]

    (draft,) = veriguard.prove([Draft(BOOK, (Attempt(RIGHT),))], lambda drafts: [None for _ in drafts], Unreachable())
    assert "cannot be reached" in draft.complaints[0].message and synthesis.guarded(draft).grade == "tested"
    (proved,) = veriguard.prove([Draft(BOOK, (Attempt(RIGHT),))], lambda drafts: [], Prover(Proof("proved")))
    assert not proved.complaints and synthesis.guarded(proved).grade == "proved"


@pytest.mark.parametrize("status", ["proved", "unproved", "rejected", "timeout", "crash"])
def test_the_final_guard_runs_what_is_proved_and_nothing_else(status: str) -> None:
    (draft,) = veriguard.prove(
        [Draft(BOOK, (Attempt(RIGHT),))], lambda drafts: [None for _ in drafts], Prover(Proof(status))
    )
    entry = synthesis.guarded(draft)
    assert entry.grade == ("proved" if status == "proved" else "bounded")
    trace = Trace("t", (Step((Call("book", {"guests": []}),), {"age": 30, "level": "tin"}),))
    final = runtime.accepting("veriguard", RULES, (entry,), TOOLS).decide(trace)
    assert final.decision == ("allow" if status == "proved" else "deny")
    assert status == "proved" or "proved was required" in final.reason
    assert runtime.accepting("toolguard", RULES, (entry,), TOOLS).decide(trace).decision == "allow"


def test_code_that_breaks_when_it_is_run_breaks_the_contract() -> None:
    broken = RIGHT.replace("    return (True, 'allowed')\n", "    pass\n")
    (complaint,) = complained(broken, Proof("unproved", (Objection("x", "said", 1),))).complaints
    assert (
        dict(complaint.arguments)["age"] >= 18
        and "answered None, not (bool, str)" in complaint.message
        and complaint.allowed is True
    )


def test_what_a_rejected_source_lacks_is_told_in_the_type_checker_s_words() -> None:
    (complaint,) = complained(
        RIGHT, Proof("rejected", (Objection("type.error", "Incompatible return value type", 4),))
    ).complaints
    assert complaint.message.startswith("not proved: Incompatible return value type; no values")


@pytest.mark.parametrize("reason", ["HTTP 503 at 12:01", "budget"])
def test_a_draft_without_a_reply_holds_no_accident_of_the_network(reason: str) -> None:
    class Silent:
        name = "silent"

        def answer(self, asked, inputs, schema):
            raise ModelError(reason)

    (draft,) = synthesis.write([BOOK], {BOOK.tool: (Clause("c1", "Say so.", 0, 7),)}, TOOLS, LLM(Silent()))
    assert draft.source == synthesis.UNANSWERED and reason not in draft.source
    (draft,) = synthesis.checked([draft], synthesis.TESTED)
    assert synthesis.guarded(draft).grade == "error"


@pytest.mark.parametrize(
    ("name", "required", "allowed"),
    [
        ("allows six", "deny was required (violation of r2); got allowed: allowed", False),
        ("no limit", "deny was required (violation of r1); got allowed: allowed", False),
        ("denies 18", "allow was required (no rule is violated); got denied: young", True),
        ("gold alone", "allow was required (no rule is violated); got denied: many", True),
    ],
)
def test_a_counterexample_says_what_the_rules_require_there(name: str, required: str, allowed: bool) -> None:
    shown, none = synthesis.counterexamples([(BOOK, WRONG[name]), (BOOK, RIGHT)], veriguard.PROOF)
    assert none is None
    assert shown.message == required
    values = dict(shown.arguments)
    broken = values["age"] < 18 or (values["level"] != "gold" and values["count_guests"] > 5)
    assert broken is not allowed and sandbox.load(WRONG[name]).run(**values)[0] is broken


SOURCE_OF = "def policy_{}(adult: bool) -> Tuple[bool, str]:\n    return (adult, 'x')\n"


def adults_alone(name: str):
    """The contract of a tool that adults alone may use."""
    act = Predicate("act", "action", "", tools=(name,))
    adult = Predicate("adult", "state", "", test=cel.parse("state.adult"))
    rule = Rule("r", "", semantics.parse("ALWAYS (act IMPLIES adult)"), "forbid")
    return contract.contract(Tool(name), RuleSet((act, adult), (rule,)), (Field("adult", "boolean"),))


class Prescribed:
    """A prover whose answers are given beforehand: those of the sources, then those of their probes."""

    def __init__(self, *statuses: str) -> None:
        self.statuses, self.asked = statuses, []

    def verify(self, sources: list[str]) -> list[Proof]:
        self.asked += sources
        return [Proof(status) for status in self.statuses]


def test_kept_guards_are_what_the_prover_says_today() -> None:
    made = {name: adults_alone(name) for name in ("a", "b", "c", "d")}
    kept = [
        Guarded(made["a"], SOURCE_OF.format("a"), "proved"),
        Guarded(made["b"], SOURCE_OF.format("b"), "tested", "not proved"),
        Guarded(made["c"], SOURCE_OF.format("c"), "error", "no code"),
        Guarded(made["d"], SOURCE_OF.format("d"), "tested", f"{synthesis.DISPUTED} it is wrong"),
    ]
    prover = Prescribed("timeout", "proved", "proved", "proved")
    first, second, third, fourth = veriguard.again(kept, prover)
    assert len(prover.asked) == 4 and (third, fourth) == (kept[2], kept[3])
    assert (first.grade, bool(first.reason)) == ("bounded", True)
    assert (second.grade, second.reason) == ("proved", "")
    assert veriguard.again([kept[2]], Prescribed()) == (kept[2],)


def told(**values: int) -> Proof:
    return Proof("unproved", (Objection("post", "might not hold", 3, tuple(values.items())),))


def test_a_provers_own_values_are_replayed_and_called_spurious_where_the_code_is_right() -> None:
    """A finding of values in a state that no run has is labelled; one that the search did not come to is kept."""
    spurious = veriguard.replayed(BOOK, RIGHT, told(age=18, count_guests=5))
    assert spurious.message.startswith("its values are spurious") and not spurious.arguments
    real = veriguard.replayed(BOOK, WRONG["denies 18"], told(age=18))
    assert dict(real.arguments)["age"] == 18 and real.allowed is True
    assert veriguard.replayed(BOOK, RIGHT, told()) is None
