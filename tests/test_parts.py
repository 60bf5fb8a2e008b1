"""A tool's guard by its policy items: what makes up each, what each is worth, how they are put together."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from test_drafting import CLAUSES, SENTENCES, TOOLS, Author, of, ruleset

from wb.domain.trace import Call, Open, Step, Trace
from wb.guards import contract, evidence, parts, runtime, sandbox, synthesis, toolguard, veriguard
from wb.guards.nagini import Proof
from wb.guards.parts import Part
from wb.models.client import LLM
from wb.rules.items import Item, Reference
from wb.rules.sentences import Account

TEXT = " ".join(text for text, _ in SENTENCES.values())
IDS = tuple(SENTENCES)


def readings(*open_: str) -> tuple[Account, ...]:
    """The sentences, those named open."""
    found, at = [], 0
    for name, (text, _) in SENTENCES.items():
        cls, reason = ("open", "not read") if name in open_ else ("rule", "")
        found.append(Account(name, text, at, at + len(text), (), cls, reason, (f"r{name[1:]}",), ("water_plant",)))
        at += len(text) + 1
    return tuple(found)


def mapped(*groups: tuple[str, ...]) -> tuple[Item, ...]:
    spans = {one.id: Reference(one.text, one.start, one.end) for one in readings()}
    return tuple(
        Item("water_plant", f"item {'+'.join(group)}", "", tuple(spans[name] for name in group)) for group in groups
    )


WHOLE = of(*IDS)
ITEMS = mapped(("c1",), ("c2", "c3"))
PROVES = (veriguard.PROOF, lambda drafts: [() for _ in drafts])


def test_an_item_has_the_rules_of_its_sentences_and_each_rule_is_in_one() -> None:
    first, second = parts.parts(WHOLE, ITEMS, readings())
    assert (first.name, first.rules, first.sentences) == ("item c1", ("r1",), (SENTENCES["c1"][0],))
    assert (second.name, second.rules, len(second.sentences)) == ("item c2+c3", ("r2", "r3"), 2)
    assert {first.grade, second.grade} == {"error"}, "what was not judged is worth nothing"


def test_what_the_mapping_leaves_out_is_an_item_of_its_own() -> None:
    found = parts.parts(WHOLE, mapped(("c1",)), readings()[:2])
    assert [one.rules for one in found] == [("r1",), ("r2",), ("r3",)]
    assert found[1].name.startswith("A plant may be watered") and found[2].sentences == (SENTENCES["c3"][0],)
    other = replace(ITEMS[0], tool="close_window")
    assert parts.parts(WHOLE, (other,), readings()) == parts.parts(WHOLE, (), readings())


def test_an_item_with_an_open_sentence_is_a_stub_whatever_its_other_rules_are_worth() -> None:
    first, second = parts.parts(WHOLE, ITEMS, readings("c3"))
    assert (first.grade, second.grade, second.open) == ("error", "stub", ("c3",)) and "not read" in second.reason
    assert [one.grade for one in parts.under((first, second), "proved")] == ["proved", "stub"]
    elsewhere = replace(readings("c3")[2], tools=("close_window",), rules=())
    assert parts.parts(of("c1"), (), (elsewhere,)) == parts.parts(of("c1"), (), ())


@pytest.mark.parametrize(
    "wrong",
    [{"grade": "stub"}, {"open": ("s",)}, {"rules": ()}, {"grade": "bound"}, {"grade": "proved", "open": ("s",)}],
)
def test_an_item_that_says_more_than_is_known_cannot_be(wrong: dict) -> None:
    with pytest.raises(ValueError, match="required"):
        Part(**{"name": "n", "sentences": ("s",), "rules": ("r1",), **wrong})


def test_the_contract_of_an_item_states_its_rules_alone() -> None:
    own = parts.alone(WHOLE, ("r1",))
    assert [item.rule for item in own.items] == ["r1"] and [p.name for p in own.parameters] == ["age"]
    assert own.function == WHOLE.function and set(own.lines()) <= set(of("c1").lines())


def code(required: contract.Contract, *lines: str) -> str:
    return "\n".join((required.signature, *(f"    {line}" for line in lines), ""))


AGE, GARDENER = (parts.alone(WHOLE, (rule,)) for rule in ("r1", "r2"))
BOTH = parts.alone(WHOLE, ("r1", "r2"))
SOURCES = {
    "early returns": ("if age < 18:", "    return (False, 'young')", "return (True, 'allowed')"),
    "an expression": ("return (age >= 18, 'young')",),
    "two branches": ("if age >= 18:", "    return (True, '')", "else:", "    return (False, 'young')"),
    "allows first": ("if age >= 18:", "    return (True, '')", "return (False, 'young')"),
    "nested": ("if age < 18:", "    if age < 10:", "        return (False, 'child')", "    return (False, 'young')",
               "return (age > 0, '')"),
}  # fmt: skip


@pytest.mark.parametrize("one", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("turned", [False, True])
def test_a_conjunction_allows_what_all_allow_and_says_why_the_first_denies(one: tuple, turned: bool) -> None:
    own = [code(AGE, *one), code(GARDENER, "if not gardener:", "    return (False, 'none')", "return (True, '')")]
    both = sandbox.load(parts.conjunction(BOTH, own[::-1] if turned else own))
    first, second = map(sandbox.load, own)
    for age, gardener in itertools.product((0, 9, 10, 17, 18, 99), (False, True)):
        a, b = first.run(age), second.run(gardener)
        allowed, why = both.run(**{"age": age, "gardener": gardener})
        assert allowed is (a[0] and b[0])
        assert allowed or why == next(said for fine, said in ((b, a) if turned else (a, b)) if not fine)


def test_a_conjunction_that_would_be_too_large_is_refused_before_it_is_made() -> None:
    many = [line for n in range(400) for line in (f"if age == {n}:", "    return (True, '')")]
    big = code(AGE, *many, "return (False, '')")
    with pytest.raises(sandbox.UnsafeSource, match="together"):
        parts.conjunction(AGE, [big] * 5)
    with pytest.raises(sandbox.UnsafeSource):
        parts.conjunction(AGE, ["import os\n"])


def test_what_falls_off_its_end_never_allows() -> None:
    source = code(AGE, "if age < 18:", "    return (False, 'young')")
    both = sandbox.load(parts.conjunction(BOTH, [code(GARDENER, "return (gardener, 'none')"), source]))
    assert sandbox.tried(both, {"age": 40, "gardener": True}) == "answered None, not (bool, str)"


GRADED = (
    Part("a", ("A.",), ("r1",), grade="proved", reason=""),
    Part("b", ("B.",), ("r2",), grade="proved", reason=""),
    Part("c", ("C.",), ("r3",), grade="error", reason="wrong"),
    Part("d", ("D.",), (), ("s",), "stub", "open: unread"),
    Part("e", ("E.",), (), ("t",), "stub", "open: unread"),
    Part("f", ("F.",), (), ("u",), "stub", "open: unread"),
)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ((), ""),
        (GRADED[:1], "1 item proved"),
        (GRADED[:2], "2 items proved"),
        (GRADED[:4], "2 items proved, 1 open (item: d), 1 error (item: c)"),
        (GRADED[3:], "3 items open (item: d; e and 1 more)"),
        (tuple(parts.at_most(GRADED[:2], "tested", "why")), "2 items tested"),
        ((GRADED[0], *parts.at_most(GRADED[1:2], "tested", "why")), "1 item proved, 1 tested (item: b)"),
    ],
)
def test_what_is_said_of_items_names_those_that_are_not_kept(found: tuple, said: str) -> None:
    assert parts.said(found) == said


def test_items_are_counted_and_come_back_from_json() -> None:
    assert parts.counted(GRADED) == {"items proved": 2, "items open": 3, "items error": 1}
    assert parts.from_json(json.loads(json.dumps(parts.to_json(GRADED)))) == GRADED
    assert parts.failed(GRADED, {"proved"}) == GRADED[2:3]
    assert runtime.claim("proved", 2, 1, (GRADED[0], GRADED[3])) == (
        "proved for 2 rules, 1 sentence open: 1 item proved, 1 open (item: d)"
    )
    assert runtime.claim("proved", 2, 0, GRADED[:2]) == "proved" and runtime.claim("error", 2, 1, GRADED) == "error"


@pytest.mark.parametrize(
    ("own", "whole", "grade"),
    [
        ("error", "proved", "proved"),
        ("error", "tested", "tested"),
        ("proved", "tested", "proved"),
        ("tested", "error", "tested"),
        ("error", "error", "error"),
    ],
)
def test_an_item_is_worth_what_the_whole_is_or_what_it_was_judged_apart(own: str, whole: str, grade: str) -> None:
    (found,) = parts.under([Part("a", ("A.",), ("r1",), grade=own)], whole, "why")
    assert found.grade == grade and (found.reason == "") is (whole == "proved")
    (less,) = parts.at_most([found], "error", "forged")
    assert less.grade == "error"


# ---- a guard that is not accepted whole ---------------------------------------------------------------------------


def first(author: Author, *open_: str) -> tuple[synthesis.Draft, ...]:
    drafts = synthesis.write([WHOLE], {"water_plant": CLAUSES}, TOOLS, LLM(author))
    return toolguard.divided(drafts, mapped(("c1",), ("c2",), ("c3",)), readings(*open_))


def concerning(made: contract.Contract):
    return synthesis.concerning(made, ruleset(*IDS), CLAUSES)


def settled(drafts, revise):
    return synthesis.synthesise(drafts, revise, checks=(*synthesis.TESTED, PROVES), max_rounds=0)


WRONG = code(WHOLE, "return (True, 'allowed')")


def judged(*codes: str | None) -> tuple[synthesis.Draft, Author]:
    author = Author(WRONG, *codes)
    drafts = settled(first(author), lambda rows: [None] * len(rows))
    (found,) = toolguard.item_by_item(drafts, concerning, TOOLS, LLM(author), settled)
    return found, author


def test_items_that_are_accepted_apart_are_put_together_and_judged_once_more() -> None:
    found, author = judged()  # after the first answer the author reads each sentence as the offline engine does
    entry = synthesis.guarded(found)
    assert entry.grade == "proved" and [one.grade for one in entry.parts] == ["proved"] * 3
    assert [len(asked["sentences"]) for _, asked in author.asked] == [3, 1, 1, 1]
    assert len(found.attempts) == 2 and found.source != WRONG


def test_one_item_that_fails_denies_every_call_with_its_name_and_sentence() -> None:
    found, _ = judged(code(AGE, "return (True, 'allowed')"))  # of the first item's function
    entry = synthesis.guarded(found)
    assert entry.grade == "error" and [one.grade for one in entry.parts] == ["error", "proved", "proved"]
    assert parts.said(entry.parts) == "2 items proved, 1 error (item: item c1)"
    guard = runtime.accepting("veriguard", ruleset(*IDS), [entry], TOOLS)
    verdict = guard.decide(Trace("t", (Step((Call("water_plant", {"litres": 1}),), {"age": 40, "gardener": True}),)))
    assert verdict.decision == "deny" and "item 'item c1' is error" in verdict.reason
    assert SENTENCES["c1"][0] in verdict.reason and SENTENCES["c2"][0] not in verdict.reason


def test_a_guard_that_is_accepted_or_has_one_item_is_left_as_it_is() -> None:
    author = Author()
    drafts = settled(first(author), lambda rows: [None] * len(rows))
    assert toolguard.item_by_item(drafts, concerning, TOOLS, LLM(author), settled) == drafts
    one = replace(drafts[0], parts=drafts[0].parts[:1])
    failing = synthesis.checked([replace(one, attempts=(synthesis.Attempt(WRONG),), passed=())], synthesis.TESTED)
    before = len(author.asked)
    assert toolguard.item_by_item(failing, concerning, TOOLS, LLM(author), settled) == failing
    silent = synthesis.Complaint(veriguard.PROOF, veriguard.SILENT)
    timed_out = replace(drafts[0], attempts=(synthesis.Attempt(drafts[0].source, (silent,)),), passed=())
    assert toolguard.item_by_item([timed_out], concerning, TOOLS, LLM(author), settled) == (timed_out,)
    assert len(author.asked) == before, "nobody is asked again"


def test_an_open_item_stays_open_though_its_rules_are_accepted() -> None:
    author = Author(WRONG)
    drafts = settled(first(author, "c2"), lambda rows: [None] * len(rows))
    (found,) = toolguard.item_by_item(drafts, concerning, TOOLS, LLM(author), settled)
    entry = synthesis.guarded(found)
    assert entry.grade == "proved" and [one.grade for one in entry.parts] == ["proved", "stub", "proved"]
    assert "1 open (item: item c2)" in runtime.claimed(entry, 1)


def test_what_its_author_disputes_of_an_item_goes_with_the_conjunction() -> None:
    class Dissenter(Author):
        def answer(self, prompt, inputs, schema):
            told = super().answer(prompt, inputs, schema)
            disputed = ["c2 cannot be meant"] if [s["id"] for s in inputs["sentences"]] == ["c2"] else []
            return replace(told, value={**told.value, "disputed": disputed})

    author = Dissenter(WRONG)
    drafts = settled(first(author), lambda rows: [None] * len(rows))
    (found,) = toolguard.item_by_item(drafts, concerning, TOOLS, LLM(author), settled)
    entry = synthesis.guarded(found)
    assert entry.grade == "tested" and "c2 cannot be meant" in entry.reason
    assert [one.grade for one in entry.parts] == ["proved", "tested", "proved"]


# ---- what is kept --------------------------------------------------------------------------------------------------

OPEN = {"water_plant": (Open("c2", SENTENCES["c2"][0]),)}


def kept_rows() -> list[dict]:
    author = Author()
    (draft,) = settled(first(author, "c2"), lambda rows: [None] * len(rows))
    return json.loads(json.dumps(evidence.to_rows([synthesis.guarded(draft)], ruleset(*IDS), OPEN)))


def test_items_are_sealed_with_their_guard_and_nothing_is_known_of_those_that_are_not() -> None:
    (row,) = kept_rows()
    (fine,) = evidence.from_rows([row], [WHOLE], ruleset(*IDS), OPEN)
    assert [one.grade for one in fine.parts] == ["proved", "stub", "proved"]
    closed = [{**row["items"][1], "grade": "proved", "open": []}]
    for items in ([], [*row["items"][:1], *closed, *row["items"][2:]], "none", [{"grade": "proved"}], None, [3]):
        (found,) = evidence.from_rows([{**row, "items": items}], [WHOLE], ruleset(*IDS), OPEN)
        assert (found.grade, found.parts) == ("tested", ()), items
    (refused,) = evidence.from_rows([{**row, "grade": "error", "items": closed}], [WHOLE], ruleset(*IDS), OPEN)
    assert (refused.grade, refused.parts) == ("error", ())


def test_a_guard_that_proves_no_more_takes_its_items_with_it() -> None:
    class Prover:
        def __init__(self, status: str) -> None:
            self.status = status

        def verify(self, sources: list[str]) -> list[Proof]:
            return [Proof("proved" if "Refute(False)" in one else self.status) for one in sources]

    (entry,) = evidence.from_rows(kept_rows(), [WHOLE], ruleset(*IDS), OPEN)
    (again,) = veriguard.again([entry], Prover("proved"))
    assert again == entry
    (gone,) = veriguard.again([entry], Prover("unproved"))
    assert gone.grade == "bounded" and [one.grade for one in gone.parts] == ["bounded", "stub", "bounded"]
