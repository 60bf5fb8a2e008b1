"""How the class of a sentence is made, part by part: by words, by rules, by a person, by what stands beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_sentences import BOX

from wb.domain.document import Sentence
from wb.domain.policy import Clause
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules import fates, neighbours, sentences
from wb.rules.decisions import Ruling
from wb.rules.fates import Fate
from wb.rules.rule import Predicate, Rule, RuleSet, Undecided
from wb.rules.sentences import Account
from wb.rules.words import Bearing

BEARING = Bearing(BOX)
CHANGING = ("pay_invoice", "send_letter", "read_file", "greet")


def piece(text: str, start: int = 0, **more: object) -> Sentence:
    return Sentence(text, start, start + len(text), **more)  # type: ignore[arg-type]


def account(cls: str, *rules: str, tools: tuple[str, ...] = (), id: str = "a") -> Account:
    return Account(id, "x", 0, 1, (), cls, "so", rules, tools)  # type: ignore[arg-type]


def rule(id: str, text: str = "ALWAYS NOT pay", **more: object) -> Rule:
    return Rule(id, "", parse(text), "forbid", **more)  # type: ignore[arg-type]


PAY = Predicate("pay", "action", "", tools=("pay_invoice",))
SEND = Predicate("send", "action", "", tools=("send_letter",))
FLY = Predicate("fly", "action", "")
MEMBER = Predicate("member", "state", "", test=cel.parse("state.member"))
VAGUE = Predicate("vague", "state", "")


@pytest.mark.parametrize(
    ("one", "cls", "reason", "worded"),
    [
        (piece("never mind", kind="gap", label="code fence"), "open", "code fence with the words never", False),
        (piece("x = 1", kind="gap", label="code fence"), "not a constraint", "code fence", False),
        (
            piece("Pay:", kind="gap", label="label"),
            "not a constraint",
            "a label, read with the sentence behind it",
            False,
        ),
        (piece("Never pay:", kind="gap", label="label"), "open", "label with the words never", False),
        (
            piece("never", kind="gap", label="hidden: comment"),
            "not a constraint",
            "hidden: comment: no reader of the document sees it",
            False,
        ),
        (piece("never", kind="gap", label="hidden: span"), "open", "hidden: span with the words never", False),
        *(
            (piece("", kind="gap", label=label), "not a constraint", fates._EMPTY[label], False)
            for label in ("label", "column title", "image", "script", "style sheet")
        ),
        *(
            (
                piece("must", kind="gap", label=f"hidden: {label}"),
                "not a constraint",
                f"hidden: {label}: no reader of the document sees it",
                False,
            )
            for label in ("comment", "page title", "tag characters", "declaration", "script", "style sheet")
        ),
        (
            piece("", kind="gap", label="page without text"),
            "open",
            "page without text: what the reader of documents skipped is not known",
            False,
        ),
        (piece("x", kind="gap"), "open", "no sentence: what the reader of documents skipped is not known", False),
        (piece("Never pay", kind="heading"), "open", "a heading with the words of a constraint (never)", False),
        (
            piece("Forbidden acts", kind="heading"),
            "open",
            "a heading with the words of a constraint (forbidden)",
            False,
        ),
        (piece("Never?", kind="heading"), "not a constraint", "a heading", False),
        (piece("Letters", kind="heading"), "not a constraint", "a heading", False),
        (piece("No", kind="cell"), "open", "a cell that forbids something (no)", False),
        (piece("✗ foo", kind="cell"), "open", "a cell that forbids something (✗)", False),
        (
            piece("✓", kind="cell"),
            "open",
            "a cell that says of its row what the title of its column says (✓)",
            False,
        ),
        (
            piece("a letter", kind="cell"),
            "not a constraint",
            "a statement without force, exception or limit",
            True,
        ),
        (piece("No"), "open", "the answer to a question that was not read", True),
        (piece("Pay \u200bnow"), "open", "it has characters that cannot be seen: zero width space", False),
        (piece("You must pay."), "open", "the words of a constraint that was not read (must)", True),
        (piece("Support is here."), "not a constraint", "a statement without force, exception or limit", True),
        (
            piece("Support is here.", stems=("Never:",)),
            "open",
            "the words of a constraint that was not read (never)",
            True,
        ),
    ],
)
def test_what_words_alone_tell(one: Sentence, cls: str, reason: str, worded: bool) -> None:
    found = fates._by_words(one, BEARING)
    assert (found.cls, found.reason, found.worded) == (cls, reason, worded)
    assert not (found.decided or found.refused or found.rules or found.predicates)
    if one.kind == "gap":
        assert fates.gap(one) == found
        assert sentences._hidden(one) is one.label.startswith("hidden: ")
    assert not sentences._hidden(replace(one, kind="prose"))


@pytest.mark.parametrize(
    ("predicates", "missing"),
    [
        ((PAY, MEMBER), ()),
        ((FLY, PAY, VAGUE), ("no tool performs 'fly'", "no field decides 'vague'")),
    ],
)
def test_what_predicates_lack(predicates: tuple, missing: tuple) -> None:
    assert fates.incomplete(predicates) == missing


@pytest.mark.parametrize(
    ("text", "breakable", "unbracketed"),
    [
        ("ALWAYS (pay IMPLIES member)", True, False),
        ("ALWAYS pay IMPLIES member", False, True),
        ("EVENTUALLY pay", False, False),
        ("ALWAYS EVENTUALLY pay", False, False),
        ("(ALWAYS pay) OR member", True, True),
        ("member OR (ALWAYS pay)", True, False),
        ("(ALWAYS pay) IFF member", True, True),
        ("(ALWAYS pay) AND member", True, False),
    ],
)
def test_what_a_call_can_break_and_what_lacks_brackets(text: str, breakable: bool, unbracketed: bool) -> None:
    one = rule("r", text)
    assert fates._unbracketed(one.formula) is unbracketed
    assert fates._breakable(one) is breakable
    told = fates._idle(one, {"r": "it reads nothing"})
    assert ("write ALWAYS ( … ) around the whole" in told) is unbracketed and unbracketed is (
        told != "it reads nothing"
    )


@pytest.mark.parametrize(
    ("text", "always"),
    [
        ("ALWAYS (pay OR NOT pay)", True),
        ("ALWAYS (pay IMPLIES member)", False),
        ("EVENTUALLY pay", False),
    ],
)
def test_whether_anything_can_break_a_rule(text: str, always: bool) -> None:
    assert fates._holds_always(rule("r", text), (PAY, MEMBER), BOX) is always


def test_a_rule_is_grounded_by_its_own_acts() -> None:
    one = rule("r", "ALWAYS (fly IMPLIES member)")
    assert not fates._grounded(one, (FLY, MEMBER, PAY)), "another rule's act"
    assert fates._grounded(rule("r", "ALWAYS (pay IMPLIES member)"), (PAY, MEMBER))
    short = Predicate("short", "state", "", tools=("pay_invoice",), test=cel.parse("call.amount < 5"))
    assert not fates._grounded(rule("r", "ALWAYS (fly IMPLIES short)"), (short, FLY)), "whose calls a fact reads"


@pytest.mark.parametrize(
    ("clauses", "left"),
    [
        ([(0, 10)], ["a part was not read: 'and you must never send'"]),
        ([(0, 30)], []),
        ([(10, 30)], []),
        ([(14, 30), (0, 14)], []),
        ([(0, 24), (4, 6)], ["a part was not read: 'never send'"]),
        ([(-5, 10), (30, 60)], ["a part was not read: 'and you must never'"]),
    ],
)
def test_parts_with_words_of_a_constraint_are_told_where_no_clause_covers_them(clauses: list, left: list[str]) -> None:
    text = "Greet all  and you must never send"
    one = piece(text, 100)
    found = [Clause("c", "", 100 + a, 100 + (b if b < 30 else b + 10)) for a, b in clauses]
    assert fates._unread(one, found) == left


def test_clauses_belong_to_the_sentences_that_they_share_characters_with() -> None:
    every = [piece("x" * 10, at) for at in (0, 10, 25)]
    clauses = [Clause(str(i), "", a, b) for i, (a, b) in enumerate([(0, 10), (9, 11), (10, 25), (20, 26), (35, 40)])]
    found = sentences._covering(every, clauses)
    assert [[c.id for c in one] for one in found] == [["0", "1"], ["1", "2"], ["3"]]


def test_rules_and_reasons_are_those_of_their_clause_and_of_the_clauses_of_their_parents() -> None:
    clauses = [Clause("c1", "", 0, 1), Clause("c2", "", 1, 2), Clause("c4", "", 2, 3)]
    rules = (
        rule("c1.1", clause="c1"),
        rule("c2.1_1", "ALWAYS (send IMPLIES member)", clause="c2", parents=("c2.1", "c1.1")),
        rule("p", type="physical", clause="c1"),
    )
    undecided = (Undecided("c2", "q", "one"), Undecided("c2", "q", "two"), Undecided("c3", "q", "three"))
    found = fates.by_clause(clauses, RuleSet((PAY, SEND, MEMBER), rules, undecided))
    assert {name: [r.id for r in one.rules] for name, one in found.items()} == {
        "c1": ["c1.1", "c2.1_1"],
        "c2": ["c2.1_1"],
        "c3": [],
        "c4": [],
    }
    assert found["c1"].predicates == (PAY, SEND, MEMBER) and found["c2"].predicates == (SEND, MEMBER)
    assert {name: one.reasons for name, one in found.items()} == {
        "c1": (),
        "c2": ("one", "two"),
        "c3": ("three",),
        "c4": (),
    }


# ---- after reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "settled", "cls", "tools"),
    [
        (account("rule", "r1", tools=("greet",)), False, "open", ("greet",)),
        (account("duty", "r1"), False, "open", CHANGING),
        (account("rule", "r1", tools=("greet",)), True, "rule", ("greet",)),
        (account("rule", "r2"), False, "rule", ()),
        (account("waived", "r1"), False, "waived", ()),
        (account("open", "r1", tools=("greet",)), False, "open", ("greet",)),
        (account("not a constraint"), False, "not a constraint", ()),
    ],
)
def test_a_reading_whose_rule_has_a_question_is_open_until_a_person_decided(
    one: Account, settled: bool, cls: str, tools: tuple[str, ...]
) -> None:
    made = [Ruling(id="0" * 12, text="x")]
    one = replace(one, id="0" * 12 if settled else "1" * 12)
    (found,) = sentences.questioned([one], {"r1": "which?"}, made, BOX)
    assert (found.cls, found.tools, found.rules) == (cls, tools, one.rules)
    opened = cls == "open" and one.cls != "open"
    assert found.reason == ("it was read, and has to be decided: which?" if opened else "so")


def test_a_question_that_several_rules_have_is_told_once() -> None:
    asked = {"r1": "which?", "r2": "which?", "r3": "when?"}
    (found,) = sentences.questioned([account("rule", "r1", "r2", "r3")], asked, (), BOX)
    assert found.reason == "it was read, and has to be decided: which?; when?"


@pytest.mark.parametrize(
    ("one", "cls", "rules"),
    [
        (account("rule", "a"), "rule", ("a",)),
        (account("rule", "b"), "rule", ("b1", "b2")),
        (account("rule", "a", "b"), "rule", ("a", "b1", "b2")),
        (account("rule", "gone"), "open", ()),
        (account("duty", "gone"), "open", ()),
        (account("rule", "gone", "a"), "rule", ("a",)),
        (account("open", "gone"), "open", ()),
        (account("rule"), "rule", ()),
    ],
)
def test_a_refinement_leaves_a_sentence_its_heirs_or_opens_it(one: Account, cls: str, rules: tuple[str, ...]) -> None:
    refined = RuleSet((PAY,), (rule("a", parents=("a",)), rule("b1", parents=("b",)), rule("b2", parents=("b",))))
    (found,) = sentences.refined([one], refined)
    lost = one.cls in ("rule", "duty") and one.rules and not rules
    assert (found.cls, found.rules) == (cls, rules)
    assert found.reason == ("none of its rules is left after refinement" if lost else "so")


def test_rules_in_force_are_those_of_readings_of_no_clause_or_physical() -> None:
    every = (
        rule("named", clause="c1"),
        rule("unnamed", clause="c1"),
        rule("free"),
        rule("physical", type="physical", clause="c2"),
    )
    found = sentences.enforced(RuleSet((PAY, SEND), every), [account("open", "named")])
    assert [one.id for one in found.rules] == ["named", "free", "physical"] and found.predicates == (PAY,)


def test_readings_are_counted_and_grouped() -> None:
    every = [account("open", tools=("a", "b"), id="1"), account("rule", tools=("a",)), account("open", tools=("b",))]
    assert sentences.counted(every) == {"rule": 1, "open": 2, "not a constraint": 0, "duty": 0, "waived": 0}
    assert sentences.open_on(every) == {"a": (every[0],), "b": (every[0], every[2])}
    assert sentences.from_json(sentences.to_json(every)) == tuple(every)
    assert sentences.to_json(every)[0]["tools"] == ["a", "b"] and sentences.to_json(every)[0]["rules"] == []


def test_a_rejected_reading_is_open_and_keeps_what_it_bears_on() -> None:
    fate = Fate("rule", "read", (rule("r"),), (PAY,), worded=True)
    found = fates.rejected(fate, Ruling(text="x", decision="reject", why="wrong"))
    assert found == Fate("open", "what was read is rejected by a person: wrong", fate.rules, (PAY,), False, True, True)


@pytest.mark.parametrize(
    ("classes", "cls"),
    [
        (("rule", "open", "duty"), "open"),
        (("not a constraint", "duty", "rule"), "rule"),
        (("waived", "duty"), "duty"),
        (("not a constraint", "waived"), "waived"),
        (("not a constraint",), "not a constraint"),
    ],
)
def test_of_several_fates_the_gravest_counts(classes: tuple, cls: str) -> None:
    one, other = rule("a"), rule("b")
    fates = [Fate(name, "so", (one, other), (PAY,), refused=i > 0) for i, name in enumerate(classes)]
    assert neighbours._joined(fates) == Fate(cls, "", (one, other), (PAY,))  # type: ignore[arg-type]
    assert neighbours._joined([replace(fate, refused=True) for fate in fates]).rules == ()


# ---- what stands beside -----------------------------------------------------------------------------


def row(*cells: str) -> list[Sentence]:
    """A row of a table."""
    return [
        piece(cell, kind="cell", row=tuple((f"c{j}", other) for j, other in enumerate(cells) if j != i))
        for i, cell in enumerate(cells)
    ]


WORDED, READ = Fate("not a constraint", "said", worded=True), Fate("rule", "read", (rule("r"),), (PAY,))
DUTY, UNREAD = Fate("duty", "read", (rule("d"),), (PAY,)), Fate("open", "unread")


@pytest.mark.parametrize(
    ("fates", "found"),
    [
        ([WORDED, READ], [("rule", "a cell, read with the rest of its row"), ("rule", "read")]),
        ([READ, WORDED], [("rule", "read"), ("rule", "a cell, read with the rest of its row")]),
        ([WORDED, WORDED], [("not a constraint", "said")] * 2),
        ([WORDED, replace(READ, decided=True)], [("not a constraint", "said"), ("rule", "read")]),
        ([DUTY, UNREAD], [("open", "another cell of its row was not read: 'b'"), ("open", "unread")]),
        ([DUTY, READ], [("duty", "read"), ("rule", "read")]),
        ([DUTY, replace(UNREAD, rules=(rule("u"),))], [("duty", "read"), ("open", "unread")]),
    ],
)
def test_a_cell_goes_with_the_cells_of_its_row(fates: list[Fate], found: list) -> None:
    for before, behind in (([], []), (row("x", "y"), row("z", "w"))):
        every = [*before, *row("a", "b"), *behind]
        made = neighbours.rows(every, [*(READ for _ in before), *fates, *(READ for _ in behind)])
        made = made[len(before) : len(before) + 2]
        assert [(one.cls, one.reason) for one in made] == found
    assert made[0].refused is (found[0][1].startswith("another"))
    prose = [replace(one, kind="prose") for one in row("a", "b")]
    assert neighbours.rows(prose, fates) == fates


def test_the_cells_of_a_row_stand_next_to_it() -> None:
    every = [piece("t"), *row("a", "b", "c"), *row("d", "e"), piece("u"), *row("a", "b")]
    assert [neighbours._beside(every, k) for k in (1, 2, 3, 4, 5, 7, 8)] == [[2, 3], [1, 3], [1, 2], [5], [4], [8], [7]]


@pytest.mark.parametrize(
    ("label", "behind", "opened"),
    [
        ("Send a letter:", WORDED, True),
        ("Send a letter:", READ, False),
        ("A question:", WORDED, False),
    ],
)
def test_a_label_that_names_an_act_before_mere_words_is_open(label: str, behind: Fate, opened: bool) -> None:
    mere = Fate("not a constraint", "a label")
    for kind, title in (("gap", "label"), ("gap", "image"), ("prose", "label")):
        every = [piece(label, kind=kind, label=title), piece("x")]
        found = neighbours.labels(every, [mere, behind], BEARING)
        is_open = opened and (kind, title) == ("gap", "label")
        told = Fate("open", "a label that may say to do what send_letter does", worded=True)
        assert found == [told if is_open else mere, behind]
    assert neighbours.labels([piece(label, kind="gap", label="label")], [mere], BEARING)[0].cls == (
        "open" if label[:4] == "Send" else "not a constraint"
    )


def listed(opening: str, *items: str) -> list[Sentence]:
    return [
        piece(opening, kind="stem"),
        *(piece(item, kind="item", stems=(f"{opening.rstrip(' :-')}:",)) for item in items),
    ]


def test_the_opening_of_a_list_goes_with_its_items() -> None:
    every = [*listed("Never send -", "a letter;", "a card."), piece("behind")]
    told = "the opening of a list of 2, read with its items"
    found = neighbours.stems(every, [WORDED, READ, UNREAD, READ])
    assert [(one.cls, one.reason) for one in found] == [
        ("open", told),
        ("rule", "read"),
        ("open", "unread"),
        ("rule", "read"),
    ]
    assert neighbours.stems(every, [READ, WORDED, WORDED, READ]) == [READ, WORDED, WORDED, READ]
    assert neighbours.stems([piece("Never send:", kind="stem")], [WORDED]) == [WORDED]
    joined = [*listed("Pay only if:", "it is paid; or", "it is due.")]
    why = "its list has to be read as one: its items are joined by 'or'"
    found = neighbours.stems(joined, [WORDED, READ, replace(READ, decided=True)])
    assert [(one.cls, one.reason, one.refused) for one in found] == [
        ("open", "the opening of a list of 2, read with its items", False),
        ("open", why, True),
        ("rule", "read", False),
    ]


# ---- what an open sentence bears on -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "text", "rules", "predicates", "tools"),
    [
        ("rule", "x", ("ALWAYS (pay IMPLIES member)",), (PAY, MEMBER), ("pay_invoice",)),
        ("rule", "x", ("ALWAYS (pay IMPLIES ONCE send)",), (PAY, SEND), ("pay_invoice",)),
        ("duty", "x", ("EVENTUALLY send",), (SEND, PAY), ("send_letter",)),
        ("not a constraint", "send a letter", (), (), ()),
        ("waived", "send a letter", (), (), ()),
        ("open", "send a letter", (), (), ("send_letter",)),
        ("open", "never hum", (), (), CHANGING),
        ("open", "a hum", (), (), ()),
        ("open", "a hum", ("ALWAYS (pay IMPLIES ONCE send)",), (PAY, SEND), ("pay_invoice", "send_letter")),
        ("open", "never hum", ("ALWAYS NOT pay",), (PAY,), ("pay_invoice",)),
        ("open", "a hum", ("ALWAYS NOT fly",), (FLY,), CHANGING),
        ("open", "a hum", ("EVENTUALLY fly",), (FLY,), ()),
        ("open", "a hum", ("ALWAYS NOT pay",), (PAY, SEND), ("pay_invoice", "send_letter")),
    ],
)
def test_what_a_sentence_itself_bears_on(cls: str, text: str, rules: tuple, predicates: tuple, tools: tuple) -> None:
    made = tuple(rule(f"r{i}", one) for i, one in enumerate(rules))
    fate = Fate(cls, "so", made, predicates)  # type: ignore[arg-type]
    assert sentences._own(account(cls), piece(text), fate, BEARING) == tools


def test_a_heading_bears_on_what_the_sentences_below_it_bear_on_and_none_on_all() -> None:
    open_, fate = account("open"), Fate("open", "so")
    title = replace(open_, text="Never", headings=("Top",))
    below = replace(account("rule", "r"), headings=("Top", "Never", "Deep"))
    beside = replace(account("rule", "r"), headings=("Top", "Other"))
    readings = [title, below, beside, open_]
    every = [piece("Never", kind="heading", headings=("Top",)), piece("x"), piece("y"), piece("a hum")]
    fates = [
        fate,
        Fate("rule", "so", (rule("r"),), (PAY,)),
        Fate("rule", "so", (rule("r", "ALWAYS NOT send"),), (SEND,)),
        fate,
    ]
    found = sentences._with_tools(readings, every, fates, BEARING)
    assert found[1].tools == ("pay_invoice",) and found[2].tools == ("send_letter",) and found[3].tools == CHANGING
    assert found[0].tools == CHANGING, "a ban of what no tool is known by"
    every[0] = piece("Money", kind="heading", headings=("Top",))
    readings[0] = replace(title, text="Money")
    readings[1] = replace(below, headings=("Top", "Money"))
    assert sentences._with_tools(readings, every, fates, BEARING)[0].tools == ("pay_invoice",)
    every[0] = piece("Money", kind="prose", headings=("Top",))
    assert sentences._with_tools(readings, every, fates, BEARING)[0].tools == CHANGING


@pytest.mark.parametrize(
    ("label", "text", "words"),
    [
        ("image", "![Do not pay a bill.](x.png)", "do not"),
        ("alt", '<img src="must.png" alt="Never pay a bill.">', "must, never"),
        ("link title", '](http://x "Do not pay a bill.")', "do not"),
        ("title", "<abbr title='Do not pay a bill.'>", "do not"),
        ("placeholder", '<input placeholder="Don\'t pay">', "don't"),
        ("noscript", "<noscript>Do not pay a bill.</noscript>", "do not"),
        ("video", "<video>\nDo not pay a bill.\n</video>", "do not"),
        ("style sheet", '<style>p::after{content:"Do not pay a bill."}</style>', "do not"),
        ("script", "<script>document.write('Do not pay a bill.')</script>", "do not"),
        ("image", "![A bill that we pay](x.png)", ""),
        ("placeholder", '<input placeholder="Your name">', ""),
        ("noscript", "<noscript>Turn it on.</noscript>", ""),
        ("style sheet", '<style>p::after{content:"So it is."} .never must {a: b}</style>', ""),
        ("style sheet", '<style>p{font-family:"Do not pay"}</style>', ""),
        ("script", "<script>never = 'must'; // you must not</script>", ""),
        ("comment", "<!-- 'Do not pay a bill.' -->", ""),
    ],
)
def test_hidden_text_that_a_page_may_show_is_open_with_words_of_force(label: str, text: str, words: str) -> None:
    fate = fates.gap(piece(text, kind="gap", label=f"hidden: {label}"))
    assert fate.cls == ("open" if words else "not a constraint")
    assert fate.reason == f"hidden: {label} with the words {words}" if words else "with the words" not in fate.reason


@pytest.mark.parametrize(
    ("line", "kinds", "opened"),
    [
        ("Don'ts", ("item", "step"), (True, True)),
        ("**No-gos**", ("item", "item"), (True, True)),
        ("We refuse", ("item", "prose"), (True, False)),
        ("We refuse", ("prose", "item"), (False, False)),
        ("Dos", ("item", "item"), (False, False)),
        ("We refuse nobody who comes with a friend and a hat", ("item", "item"), (False, False)),
        ("We refuse.", ("item", "item"), (False, False)),
    ],
)
def test_items_behind_a_line_that_forbids_are_open(line: str, kinds: tuple, opened: tuple) -> None:
    plain = Fate("not a constraint", "so", worded=True)
    every = [piece(line), *(piece("a red hat", kind=kind) for kind in kinds)]
    found = neighbours.under(every, [plain] * 3)
    assert found[0] == plain and [one.cls == "open" for one in found[1:]] == list(opened)
    read = [plain, Fate("rule", "r"), Fate("not a constraint", "by", decided=True)]
    assert neighbours.under(every, read) == read, "what was read, or decided, stays"


def test_items_behind_an_item_that_is_a_head_are_open() -> None:
    plain = Fate("not a constraint", "so", worded=True)
    every = [piece(text, kind="item") for text in ("red hats", "Don'ts", "blue hats")]
    assert [one.cls for one in neighbours.under(every, [plain] * 3)] == ["not a constraint"] * 2 + ["open"]
    every[1] = piece("we wear no big hats here", kind="item")
    assert neighbours.under(every, [plain] * 3) == [plain] * 3


@pytest.mark.parametrize(
    ("headings", "column", "opened"),
    [
        (("House", "Don'ts"), "", True),
        (("Don'ts", "Hats"), "", True),
        (("House", "Hats"), "Exclusions", True),
        (("House", "Hats"), "Colours", False),
    ],
)
def test_a_cell_is_read_under_all_titles_that_forbid(headings: tuple, column: str, opened: bool) -> None:
    one = piece("red hats", kind="cell", headings=headings, column=column, row=(("", "x"),))
    assert (fates._by_words(one, BEARING).cls == "open") is opened
