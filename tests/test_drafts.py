"""Drafts of guards by hand: what is asked of whom and how often, what is told, kept and shown; no author, no prover."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import replace

import pytest
import test_examples
from test_decided import OWN, of
from test_examples import CONTRACT, GUARD, truth
from test_veriguard import BOOK, RIGHT, WRONG, Prescribed

from wb.domain.policy import Clause
from wb.domain.tools import Field, Tool, Toolbox
from wb.guards import evidence, examples, sandbox, synthesis, veriguard
from wb.guards.contract import Parameter
from wb.guards.nagini import Objection, Proof
from wb.guards.runtime import Guarded
from wb.guards.synthesis import Attempt, Complaint, Draft, GuardCode
from wb.guards.trial import TrialFailed
from wb.logic import cel, syntax
from wb.models.client import Unanswered
from wb.rules.rule import Rule


def draft(*sources: str, dissent: tuple[str, ...] = ()) -> Draft:
    return Draft(BOOK, tuple(Attempt(source) for source in sources[:-1]) + (Attempt(sources[-1], (), dissent),))


def refusing(*words: str) -> synthesis.Check:
    """A check that complains of each source with one of these words."""
    name = f"no {' or '.join(words)}"

    def check(rows: Sequence[Draft]) -> list[tuple[Complaint, ...]]:
        SEEN.append((name, [row.source for row in rows]))
        return [tuple(Complaint(name, word) for word in words if word in row.source) for row in rows]

    return name, check


SEEN: list[tuple[str, list[str]]] = []


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


def test_each_check_sees_what_passed_those_before_it() -> None:
    rows = synthesis.checked([draft("a"), draft("b"), draft("ab"), draft("c")], [refusing("a"), refusing("b")])
    assert SEEN == [("no a", ["a", "b", "ab", "c"]), ("no b", ["b", "c"])]
    assert [row.passed for row in rows] == [(), ("no a",), (), ("no a", "no b")]
    assert [[c.message for c in row.complaints] for row in rows] == [["a"], ["b"], ["a"], []]
    synthesis.checked([draft("a")], [refusing("a"), refusing("b")])
    assert len(SEEN) == 3, "nobody is asked of nothing"


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 4])
def test_a_draft_is_mended_so_often_and_no_more(rounds: int) -> None:
    asked = []

    def revise(rows: Sequence[Draft]) -> list[Attempt]:
        asked.append([row.source for row in rows])
        return [Attempt(row.source[:-1]) for row in rows]

    start = [draft("aaaax"), draft("bx"), draft("ok")]
    found = synthesis.synthesise(start, revise, checks=[refusing("x", "a"), refusing("b")], max_rounds=rounds)
    assert len(asked) == min(rounds, 5) and all("ok" not in row for row in asked)
    assert [len(row.attempts) for row in found][::2] == [1 + rounds, 1]
    assert found[0].source == "aaaax"[: 5 - rounds] and found[2] == replace(start[2], passed=("no x or a", "no b"))
    assert found[1].source == "bx"[: max(0, 2 - rounds)] and bool(found[1].complaints) is (rounds < 2)


def test_three_rounds_unless_another_number_is_said_and_never_fewer_than_none() -> None:
    for function in (synthesis.synthesise, veriguard.prove):
        assert inspect.signature(function).parameters["max_rounds"].default == 3
    for rounds in (-1, -7):
        with pytest.raises(ValueError, match=f"max_rounds must be 0 or more; got {rounds}"):
            synthesis.synthesise([], lambda rows: [], checks=(), max_rounds=rounds)
    (found,) = synthesis.synthesise([draft("ok")], lambda rows: pytest.fail("nobody is asked"), checks=[refusing("x")])
    assert found.passed == ("no x",)


def test_who_has_no_idea_or_an_old_one_is_not_asked_again_and_what_is_said_is_kept() -> None:
    asked = []

    def revise(rows: Sequence[Draft]) -> list[Attempt | None]:
        asked.append([row.source for row in rows])
        return [None if row.source == "a1" else Attempt("a0", (), ("old", "said")) for row in rows]

    first, second = synthesis.synthesise(
        [draft("a1"), draft("a0", "a2", dissent=("old",))], revise, checks=[refusing("a")], max_rounds=3
    )
    assert asked == [["a1", "a2"]] and len(first.attempts) == 1 and first.dissent == ()
    assert [one.source for one in second.attempts] == ["a0", "a2"] and second.dissent == ("old", "said")
    assert [c.message for c in second.complaints] == ["a"]


def test_who_is_mended_loses_what_was_passed_before() -> None:
    (found,) = synthesis.synthesise(
        [draft("cb")], lambda rows: [Attempt("ca")], checks=[refusing("a"), refusing("b")], max_rounds=1
    )
    assert found.passed == () and [c.message for c in found.complaints] == ["a"] and len(found.attempts) == 2
    assert found.source == "ca" and found.attempts[0].complaints[0].message == "b"


def test_a_grade_says_what_was_passed_and_a_reason_why_no_more() -> None:
    wrong = (
        Complaint("tests", "one", said="why"),
        Complaint("tests", "two", (("age", 3),), said="unsaid"),
        Complaint("tests", "three"),
    )
    rows = [  # checks passed, dissent, complaints; grade and reason
        (("language", "tests", "proof"), (), (), "proved", ""),
        (("language", "tests"), (), (), "tested", ""),
        (("language",), (), (), "error", ""),
        ((), (), wrong, "error", "one (why); two"),
        (("language", "tests"), (), wrong[2:], "tested", "three"),
        (("language", "tests", "proof"), ("no", "never"), (), "tested", f"{synthesis.DISPUTED} no; never"),
        (("tests",), ("no",), wrong[:1], "tested", f"{synthesis.DISPUTED} no; one (why)"),
    ]
    for passed, dissent, complaints, grade, reason in rows:
        entry = synthesis.guarded(Draft(BOOK, (Attempt(RIGHT, complaints, dissent),), passed))
        assert (entry.grade, entry.reason) == (grade, reason) and "Ensures" in entry.source
    broken = synthesis.guarded(Draft(BOOK, (Attempt("no code"),), ()))
    assert (broken.source, broken.grade) == ("no code", "error")


def test_what_the_tests_say() -> None:
    cases = examples.examples(BOOK)
    right = [(case.allowed, "x") for case in cases]
    assert synthesis._failed(cases, right) == ()
    answers = [(not right[0][0], "y"), "TypeError: z", *right[2:]]
    found = synthesis._failed(cases, answers)
    assert [c.message for c in found] == [
        "allow was required (compliance); got denied: y",
        "deny was required (violation of r1); got TypeError: z",
    ]
    assert [(c.check, c.arguments, c.allowed) for c in found] == [
        ("tests", cases[0].arguments, True),
        ("tests", cases[1].arguments, False),
    ]
    (ended,) = synthesis._failed(cases, TrialFailed("late"))
    assert (ended.check, ended.said) == ("tests", "late") and "the tests did not end" in ended.message


def test_what_is_wrong_with_the_language_of_a_source() -> None:
    def told(source: str) -> list[str]:
        ((*found,),) = synthesis.language([Draft(BOOK, (Attempt(source),))])
        assert all(c.check == "language" for c in found)
        return [c.message for c in found]

    wanted = f"the signature {BOOK.signature!r} was required; got "
    assert told(RIGHT) == []
    (other,) = told(RIGHT.replace("age: int, level: str", "level: str, age: int"))
    assert other.startswith(wanted) and "policy_book(level: str, age: int" in other
    (bare,) = told(RIGHT.replace(" -> Tuple[bool, str]", ""))
    assert bare.startswith(wanted) and bare.endswith("-> nothing:'")
    assert told("")[0].startswith("one function was required")
    assert told(RIGHT.replace("    if age", "    Invariant(age)\n    if age")) != []


def test_what_an_author_is_told() -> None:
    clause = Clause("c1", "Say so.", 0, 7)
    told = synthesis._told(BOOK, {"book": (clause,), "other": (clause, clause)})
    assert told["signature"] == BOOK.signature
    assert told["sentences"] == [
        {"id": "c1", "text": clause.said, "headings": [], "context": [], "definitions": [], "scope": clause.scope}
    ]
    assert synthesis._told(BOOK, {})["sentences"] == []
    assert told["parameters"] == [
        {"name": "age", "type": "int", "about": "value of state.age", "field": "state.age", "measure": "value"},
        {"name": "level", "type": "str", "about": "value of state.level", "field": "state.level", "measure": "value"},
        {
            "name": "count_guests",
            "type": "int",
            "about": "count of book.guests",
            "field": "book.guests",
            "measure": "count",
        },
    ]
    term, test = cel.parse("sum(call.a) > 1").left, cel.parse("state.h < 1.5")
    assert synthesis._parameter(Parameter("p", "int", "of it", term=term)) == {
        **{"name": "p", "type": "int", "about": "of it"},
        "term": "sum(call.a)",
    }
    assert synthesis._parameter(Parameter("p", "bool", "", past=syntax.parse("ONCE a"), words=("w", "v"))) == {
        **{"name": "p", "type": "bool", "about": ""},
        "words": ["w", "v"],
        "past": "ONCE a",
    }
    fact = {"name": "p", "type": "bool", "about": "", "words": [], "fact": "f"}
    assert synthesis._parameter(Parameter("p", "bool", "", fact="f")) == fact
    assert synthesis._parameter(Parameter("p", "bool", "", fact="f", test=test)) == {**fact, "test": "state.h < 1.5"}
    box = Toolbox((Tool("t", "Does it.", (Field("a", "integer", "so many"),)),))
    assert synthesis._tool(box, "t") == {
        "name": "t",
        "description": "Does it.",
        "arguments": [{"name": "a", "type": "integer", "description": "so many"}],
    }
    assert synthesis._row("kind", "text", (("a", 1),), None) == {
        **{"kind": "kind", "text": "text"},
        "arguments": {"a": 1},
        "allowed": None,
    }
    mistaken = synthesis._mistaken(
        Draft(BOOK, (Attempt("x", (Complaint("c", "m", (("age", 1), ("b", 2)), True, "s"),)),)), {}, {}
    )
    assert mistaken["code"] == "x" and mistaken["signature"] == BOOK.signature
    assert mistaken["complaints"] == [{"kind": "c", "text": "m", "arguments": {"age": 1}, "allowed": True}]
    first = examples.examples(BOOK)[0]
    assert mistaken["examples"][0] == synthesis._row("compliance", "", first.arguments, True)


def test_what_becomes_of_a_reply() -> None:
    reply = GuardCode(code=RIGHT, uncovered=["c1", "c2"], disputed=["no", "said"])
    found = synthesis._attempt(reply, BOOK, ["said", "cannot express c2"])
    assert found == Attempt(RIGHT, (), ("cannot express c1", "cannot express c2", "said", "no"))
    assert synthesis._attempt(GuardCode(code=RIGHT), BOOK) == Attempt(RIGHT)
    assert synthesis._attempt(Unanswered("write_guard", "lost"), BOOK) == Attempt(synthesis.UNANSWERED)
    with pytest.raises(ValueError, match="extra"):
        GuardCode(code="", more=1)


def test_the_sentences_of_a_rule_are_its_own_and_those_of_its_ancestors() -> None:
    def rule(name: str, clause: str, *parents: str) -> Rule:
        return Rule(name, "", syntax.parse("ALWAYS (book IMPLIES adult)"), "forbid", clause=clause, parents=parents)

    known = {
        r.id: r for r in (rule("a", "c1", "b", "x"), rule("b", "", "d", "a"), rule("d", "c3", "b"), rule("e", "c9"))
    }
    assert synthesis._sources(known["a"], known, frozenset()) == {"c1", "c3"}
    assert synthesis._sources(known["b"], known, frozenset()) == {"c1", "c3"}
    assert synthesis._sources(known["e"], known, frozenset()) == {"c9"}


# ---- examples ---------------------------------------------------------------------------------------


def test_the_examples_of_a_contract_one_by_one() -> None:
    found = examples.examples(CONTRACT)
    assert [e.kind for e in found[:4]] == ["compliance", "violation", "violation", "violation"]
    assert [e.rule for e in found[:4]] == ["", "r1", "r2", "r3"] and [e.allowed for e in found[:4]] == [True] + [
        False
    ] * 3
    calm = dict(found[0].arguments)
    assert calm == {"age": 18, "level": "gold", "count_guests": 6, "confirmed": True}, "what is not read is the last"
    assert truth(**calm) and len({e.arguments for e in found}) == len(found)
    points = examples.program(CONTRACT, CONTRACT.allows).points
    moved = {tuple({**calm, name: value}.items()) for name, values in points.items() for value in values}
    assert {e.arguments for e in found} == moved | {e.arguments for e in found[:4]}
    assert points["count_guests"] == (4, 5, 6) and points["age"] == (17, 18, 19)


def test_a_rule_that_cannot_be_broken_alone_is_broken_with_others() -> None:
    """Who is older than 99 is of age: nobody breaks the second rule's part of the first alone."""
    made = test_examples.of("ALWAYS (book IMPLIES adult)", "ALWAYS (book IMPLIES old)")
    broken = {e.rule: dict(e.arguments)["age"] for e in examples.examples(made) if e.kind == "violation"}
    assert broken["r1"] < 18 <= broken["r2"] <= 99
    never = test_examples.of("ALWAYS (book IMPLIES (adult OR NOT adult))")
    assert not [e for e in examples.examples(never) if e.kind == "violation"]


def test_where_two_guards_differ() -> None:
    right, wrong = sandbox.load(GUARD), sandbox.load(GUARD.replace("< 18", "<= 18"))
    over = {"age": (17, 18, 19), "level": ("gold", "~"), "count_guests": (5, 6), "confirmed": (False, True)}
    found = examples.difference(right, wrong, over)
    assert found["age"] == 18 and found["confirmed"] is True and found.keys() == over.keys()
    assert examples.difference(right, right, over) is None
    never = sandbox.load(f"{GUARD.strip().splitlines()[0]}\n    return (False, '')\n")
    assert found["level"] == "gold" and examples.difference(never, right, over) == {
        **{"age": 18, "level": "gold", "count_guests": 5},
        "confirmed": True,
    }, "what neither reads there is the first"
    assert examples.difference(right, wrong, {**over, "age": (17, 19)}) is None
    assert examples.answer(GUARD, tuple(found.items())) == (True, "allowed")


def test_which_examples_are_wrong_and_how() -> None:
    cases = examples.examples(CONTRACT)[:3]
    assert examples.wrong(cases, [(True, "a"), (False, "b"), (False, "c")]) == ()
    assert examples.wrong(cases, [(False, "a"), (True, "b"), "broke"]) == (
        (cases[0], "denied: a"),
        (cases[1], "allowed: b"),
        (cases[2], "broke"),
    )
    assert examples.failures(sandbox.load(GUARD), cases) == ()
    with pytest.raises(ValueError, match="zip"):
        examples.wrong(cases, [(True, "a")])


# ---- a person's part --------------------------------------------------------------------------------


def test_a_persons_part_is_written_from_the_rules() -> None:
    made = of("c1", *OWN)
    head = f"{made.signature}\n"
    first, second = made.items[1:]
    tests = [ast.unparse(ast.parse(f"not ({item.condition})")) for item in (first, second)]
    clauses = (first.clause, second.clause)
    own = "".join(
        f"    if {test}:\n        return (False, '{clause}')\n" for test, clause in zip(tests, clauses, strict=True)
    )
    assert synthesis.alone(made) == f"{head}{own}    return (True, 'allowed')\n"
    assert synthesis.joined(f"{head}    return (clerk, 'x')\n", made) == f"{head}{own}    return (clerk, 'x')\n"
    asked = f"{synthesis.rest(made).signature}\n"  # of what the person's rules alone speak of, no author hears
    assert asked == "def policy_delete_record(clerk: bool) -> Tuple[bool, str]:\n" != head
    assert synthesis.without(synthesis.alone(made), made) == f"{asked}    return (True, 'allowed')\n"
    assert synthesis.without(f"{head}{own}", made) == f"{asked}    pass\n"
    mine = f"{asked}    if clerk:\n        return (False, 'c1')\n    return (True, 'x')\n"
    whole = f"{head}{own}    if clerk:\n        return (False, 'c1')\n    return (True, 'x')\n"
    assert synthesis.joined(mine, made) == whole and synthesis.without(whole, made) == mine
    other = mine.replace("clerk: bool", "clerk: int")
    assert other.partition("\n")[0] in synthesis.joined(other, made), "another signature is a check's to tell"
    both = (
        f"{asked}    if clerk:\n        return (False, '{OWN[0]}')\n    else:\n        pass\n    return (True, 'x')\n"
    )
    assert synthesis.without(both, made) == both, "a person's part has no other side"
    for contract, needs in ((of(), False), (of("c1"), True), (of(*OWN), False), (made, True)):
        assert synthesis.authored(contract) is needs
        assert [item.clause for item in synthesis.rest(contract).items] == ["c1"] * needs
    plain = of("c1")
    assert synthesis.joined(" x", plain) == synthesis.without(" x", plain) == " x"
    never = of("c1", "decided-ffffffffffff")
    assert synthesis.alone(never) == f"{never.signature}\n    return (False, 'decided-ffffffffffff')\n"
    assert not synthesis.authored(never)


# ---- what the prover says ---------------------------------------------------------------------------


def test_what_the_prover_said_whole() -> None:
    rows = (
        Objection("c", "It may fail.", 3, (("age", 3), ("vip", True)), ("a > 1", "not b")),
        Objection("c", "It fails.", 4),
    )
    assert veriguard._said(Proof("unproved", rows)) == (
        "unproved: line 3: It may fail. where a > 1 and not b {'age': 3, 'vip': True}; line 4: It fails."
    )
    assert veriguard._said(Proof("crash")) == "crash: no reason given"


COMPLAINTS = [  # the source, what the prover says of it and of its probe; what is told, and what the prover said
    (RIGHT, "proved", "proved", None),
    (RIGHT, "proved", "unproved", "nothing was proved: the body cannot be reached"),
    (RIGHT, "timeout", "proved", veriguard.SILENT),
    (RIGHT, "crash", "crash", veriguard.SILENT),
    (RIGHT, "unproved", "proved", "not proved; no values that break the rules were found by running the code"),
    (RIGHT, "rejected", "proved", "not proved: m; n; no values that break the rules were found by running the code"),
    (WRONG["no limit"], "timeout", "proved", "deny was required (violation of r1); got allowed: allowed"),
    (WRONG["denies 18"], "unproved", "proved", "allow was required (no rule is violated); got denied: young"),
]


@pytest.mark.parametrize(("source", "status", "probe", "told"), COMPLAINTS)
def test_what_is_told_of_a_proof(source: str, status: str, probe: str, told: str | None) -> None:
    found = (Objection("c", "m", 1), Objection("c", "n", 2))
    complaints = veriguard._complaints(Draft(BOOK, (Attempt(source),)), Proof(status, found), Proof(probe))
    assert [c.message for c in complaints] == ([] if told is None else [told])
    for one in complaints:
        assert one.check == "proof"
        assert one.said == ("unproved: no reason given" if status == "proved" else f"{status}: line 1: m; line 2: n")
        assert one.allowed is ((None, True)["allow was" in told] if "deny was" not in told else False)


def test_a_draft_as_the_prover_alone_sees_it_and_kept_guards_as_it_sees_them_today() -> None:
    prover = Prescribed("unproved", "proved")
    found = veriguard.asked(BOOK, RIGHT, prover)
    assert found.source == RIGHT and found.passed == () and len(found.complaints) == 1
    assert ["Refute(False)" in source for source in prover.asked] == [False, True]
    assert veriguard.asked(BOOK, RIGHT, Prescribed("proved", "proved")).passed == ("proof",)
    (kept,) = veriguard.again([Guarded(BOOK, RIGHT, "proved", "before")], Prescribed("unproved", "proved"))
    assert kept.grade == "bounded" and kept.reason.endswith("; unproved: no reason given")
    (kept,) = veriguard.again([Guarded(BOOK, RIGHT, "tested", "before")], Prescribed("proved", "proved"))
    assert (kept.grade, kept.reason) == ("proved", "")


# ---- what is kept -----------------------------------------------------------------------------------


def test_a_row_that_was_changed_says_what_differs() -> None:
    from test_evidence import OPEN, REQUIRED, ROWS, RULES

    def reason(**changes: object) -> str:
        row = {**ROWS[0], "evidence": {**ROWS[0]["evidence"], **changes}}
        (entry,) = evidence.from_rows([row], REQUIRED, RULES, OPEN)
        assert entry.grade == "tested"
        return entry.reason.partition(";")[0]

    said = {"contract": "its contract", "rules": "the rules", "prover": "the prover"}
    said["open"] = "the open sentences that bear on its tool"
    for part, words in said.items():
        assert reason(**{part: "x"}) == f"changed since it was judged: {words}"
    assert reason(rules=1, prover=2) == "changed since it was judged: the rules, the prover"
    assert reason(trusted=1) == "its seal is not one of this key"
