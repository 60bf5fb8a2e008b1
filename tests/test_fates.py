"""The fate of one sentence by what was read of it, by what a person decided, and by what is waived of it."""

import pytest
from test_sentences_parts import BEARING, FLY, MEMBER, PAY, SEND, VAGUE, piece, rule

from wb.domain import policy
from wb.domain.policy import Clause
from wb.logic import cel
from wb.rules import fates, neighbours, sentences
from wb.rules.decisions import Ruling, clause_id
from wb.rules.fates import Clausal, Fate
from wb.rules.rule import Predicate, Rule, RuleSet, Undecided
from wb.rules.wording import Word

OK = Predicate("ok", "state", "", test=cel.parse("state.approved"))
ONLY, SENT, FREE = "ALWAYS (pay IMPLIES member)", "EVENTUALLY send", "ALWAYS (member IMPLIES ok)"
OTHER, FLIGHT, UNTOLD = "ALWAYS (pay IMPLIES NOT member)", "ALWAYS (fly IMPLIES member)", "ALWAYS (pay IMPLIES vague)"
EVERY = {one.name: one for one in (PAY, SEND, FLY, MEMBER, VAGUE, OK)}
HERE = [Clause("c1", "", 0, 1000), Clause("c2", "", 0, 1000)]


def made(*texts: str, why: tuple[str, ...] = ()) -> Clausal:
    rules = tuple(rule(f"r{k}", text) for k, text in enumerate(texts))
    return Clausal(rules, tuple(EVERY[name] for name in dict.fromkeys(n for r in rules for n in r.predicates)), why)


def read(text: str, *texts: str, why: tuple = (), lost: tuple = (), of: tuple = (), n: int = 1, **more: object) -> Fate:
    of_clause = {"c1": made(*texts, why=why), "c2": Clausal((), (), ("second",))}
    return fates.read(piece(text, **more), HERE[:n], of_clause, BEARING, lost, of)


PLAIN, LETTER, DEFINED = "Only members may pay an invoice.", "You must send a letter.", "A letter means a flight."
BANNED = "it restricts ({}), and no call can break what was read from it"
NO_TOOL = "no tool performs 'fly'"
READ = [
    (PLAIN, (ONLY,), "rule", "read completely", False),
    (PLAIN, (OTHER,), "open", "the sentence denies nothing, but its rule wants member not to hold", True),
    ("Red members may pay an invoice.", (ONLY,), "open", "not accounted for: 'red'", True),
    ("Never pay an invoice.", ("ALWAYS NOT pay",), "rule", "read completely", False),
    # what lacks a tool or a field keeps its rules, if shape and signs are right
    ("Do not fly unless a member.", (FLIGHT,), "open", NO_TOOL, False),
    (
        "Do not fly unless a member.",
        ("ALWAYS (fly IMPLIES NOT member)",),
        "open",
        f"the sentence takes a denial back (negations: 2), but its rule wants member not to hold; {NO_TOOL}",
        True,
    ),
    ("Do not pay unless vague.", (UNTOLD,), "open", "no field decides 'vague'", False),
    ("Do not fly.", (), "open", "no rule was read from it, and no reason was given", True),
    # a definition, where no tool performs an act of it
    (DEFINED, (FLIGHT,), "not a constraint", "a definition", False),
    (DEFINED, (), "not a constraint", "a definition", False),
    (DEFINED, (UNTOLD,), "open", "not accounted for: 'means'; no field decides 'vague'", True),
    # the opposite of what is said
    (LETTER, ("ALWAYS NOT send",), "open", "it asks for an act, and its rule forbids one", True),
    (LETTER, ("NOT EVENTUALLY send",), "open", "it asks for an act, and its rule forbids one", True),
    ("You may send a letter.", ("ALWAYS NOT send",), "open", "it asks for an act, and its rule forbids one", True),
    ("Never send a letter.", ("NOT EVENTUALLY send",), "rule", "read completely", False),
    ("You must fly.", ("ALWAYS NOT fly",), "open", f"it asks for an act, and its rule forbids one; {NO_TOOL}", True),
    (
        "You must send a letter and must not pay an invoice.",
        ("ALWAYS NOT send", "EVENTUALLY pay"),
        "open",
        "it forbids, and its rule asks for an act",
        True,
    ),
    # what no call can break
    (LETTER, (SENT,), "duty", "read completely; no call can break it", False),
    ("Never send a letter.", (SENT,), "open", BANNED.format("never"), True),
    ("Send at most one letter.", (SENT,), "open", BANNED.format("at most"), True),
    (
        "You must send a letter to a member.",
        ("EVENTUALLY (send AND member)",),
        "open",
        "it says how something is done: to do it otherwise may be forbidden",
        True,
    ),
    ("You must send a red letter.", (SENT,), "open", "not accounted for: 'red'", True),
    # what asks for the past, and what no guard decides
    (
        "Pay an invoice if the user was a member.",
        ("ALWAYS (pay IMPLIES ONCE member)",),
        "open",
        "it asks for a fact that was so once: whether it must be so now is not said",
        True,
    ),
    ("Members must be approved.", (FREE,), "open", "no guard can decide its rule: it names no action", True),
    (
        "Never pay an invoice.",
        ("ALWAYS NOT pay", SENT),
        "open",
        "not said by the sentence, but meant by its rule: send_letter",
        True,
    ),
]


@pytest.mark.parametrize(("text", "texts", "cls", "reason", "refused"), READ)
def test_the_fate_of_a_sentence_by_its_rules(text: str, texts: tuple, cls: str, reason: str, refused: bool) -> None:
    found, one = read(text, *texts), made(*texts)
    assert (found.cls, found.reason, found.refused) == (cls, reason, refused)
    assert not found.worded and not found.decided
    assert (found.rules, found.predicates) == ((), ()) if cls == "not a constraint" else (one.rules, one.predicates)


def test_a_reason_why_something_was_not_read_opens_a_sentence() -> None:
    for found, reason in (
        (read(PLAIN, ONLY, why=("why", "why", "what")), "why; what"),
        (read(PLAIN, ONLY, lost=("lost",)), "lost"),
        (read(PLAIN, ONLY, n=2), "second"),
        (read(DEFINED, ONLY, why=("why",)), "why"),
        (read(DEFINED, FLIGHT, why=("why",), lost=("lost",)), f"why; lost; {NO_TOOL}"),
        (read(DEFINED, FLIGHT, why=("why",), stems=("If:",)), f"why; {NO_TOOL}"),
        (read("A letter means no flight.", FLIGHT, why=("why",)), f"why; {NO_TOOL}"),
    ):
        assert (found.cls, found.reason, found.refused) == ("open", reason, True) and found.rules and found.predicates
    assert read(DEFINED, FLIGHT, why=("why",)) == Fate("not a constraint", "a definition")


def test_without_a_clause_what_was_lost_or_its_words_tell() -> None:
    assert read(LETTER, n=0, lost=("one", "two")) == Fate("open", "one; two")
    must = Fate("open", "the words of a constraint that was not read (must)", worded=True)
    assert read(LETTER, n=0) == must
    assert read("A letter.", n=0).cls == "not a constraint"


@pytest.mark.parametrize(
    ("around", "banned"),
    [
        ({"label": "Never"}, "never"),
        ({"stems": ("Never:",)}, "never"),
        ({"headings": ("Top", "Forbidden")}, "forbidden"),
        ({"headings": ("Forbidden", "Top")}, ""),
        ({"row": (("Forbidden", "x"),)}, "forbidden"),
        ({"row": (("x", "never"),)}, "never"),
        ({"label": "Letters"}, ""),
    ],
)
def test_a_duty_is_none_where_what_stands_around_it_forbids(around: dict, banned: str) -> None:
    found = read(LETTER, SENT, **around)
    assert (found.cls, found.refused) == (("open", True) if banned else ("duty", False))
    assert not banned or found.reason == BANNED.format(banned)


def test_words_that_a_person_accepted_are_told() -> None:
    def line(*mean: str) -> Word:
        return Word(say="friends", mean=list(mean), of=["0" * 12])

    told = "read completely, with words that a person accepted: 'friends'"
    found = read("Only friends may pay an invoice.", ONLY, of=(line("state.member"), line("state.member")))
    assert (found.cls, found.reason) == ("rule", told)
    found = read("Friends must send a letter.", SENT, of=(line("send_letter"),))
    assert (found.cls, found.reason) == ("duty", f"{told}; no call can break it")
    assert read("Only friends may pay an invoice.", ONLY).cls == "open"


# ---- what a person decided --------------------------------------------------------------------------

ID = "0" * 12
BY = "the rules of a person: so"
OFTEN = "ALWAYS EVENTUALLY pay"
NONE = "a person's rules for this sentence were required in the rule set; got none of them"
NOT = "a person's rules do not guard it: "
BRACKETS = "it asks something only where its left side always holds; write ALWAYS ( … ) around the whole"
DECIDED = [
    ((ONLY,), "rule", BY),
    ((SENT,), "duty", f"{BY} (no call can break {SENT})"),
    ((SENT, ONLY), "rule", f"{BY} (no call can break {SENT})"),
    ((SENT, OFTEN), "duty", f"{BY} (no call can break {SENT}; no call can break {OFTEN})"),
    ((), "open", NONE),
    (("ALWAYS pay IMPLIES member",), "open", f"{NOT}ALWAYS pay IMPLIES member guards nothing: {BRACKETS}"),
    (("ALWAYS (pay OR NOT pay)",), "open", f"{NOT}ALWAYS (pay OR NOT pay) forbids nothing: it holds whatever happens"),
    ((FREE,), "open", f"{NOT}{FREE} guards nothing: it names no action"),
    ((FREE, ONLY, SENT), "open", f"{NOT}{FREE} guards nothing: it names no action"),
    ((FLIGHT,), "open", f"{NOT}{NO_TOOL}; {FLIGHT} guards nothing: no tool carries out fly"),
    ((UNTOLD,), "open", f"{NOT}no field decides 'vague'"),
]


@pytest.mark.parametrize(("texts", "cls", "reason"), DECIDED)
def test_the_fate_that_a_person_gave_a_sentence(texts: tuple[str, ...], cls: str, reason: str) -> None:
    one = made(*texts)
    known = RuleSet(one.predicates, one.rules)
    for part in (None, "red"):
        by = Ruling(id=ID, text="x", decision="rule", why="so", part=part)
        found = fates.decided(by, {clause_id(ID): one}, known, BEARING.toolbox)
        waived = "; a part is waived by a person: 'red'" if part and cls != "open" else ""
        assert found == Fate(cls, reason + waived, one.rules, one.predicates)  # type: ignore[arg-type]
    missing = fates.decided(by, {"another": one}, known, BEARING.toolbox)
    assert missing == Fate("open", NONE)
    for decision, fate in (
        ("waive", Fate("waived", "so")),
        ("not a constraint", Fate("not a constraint", "decided by a person: so")),
    ):
        by = Ruling(id=ID, text="x", decision=decision, why="so")
        assert fates.decided(by, {clause_id(ID): one}, known, BEARING.toolbox) == fate


def partly(text: str, part: str, *texts: str, why: tuple[str, ...] = (), **more: object) -> Fate:
    by = Ruling(id=ID, text=text, decision="waive", why="so", part=part)
    return fates.partly(piece(text, **more), by, HERE[:1], {"c1": made(*texts, why=why)}, BEARING, ())


def test_of_a_sentence_that_is_waived_in_part_the_rest_has_to_be_accounted_for() -> None:
    waived = "a part is waived by a person: 'in red ink' (so)"
    text = "Only members may pay an invoice in red ink."
    found = partly(text, "in  red ink", ONLY)
    assert (found.cls, found.reason, found.decided) == ("rule", f"read completely; {waived}", True)
    assert found.rules == made(ONLY).rules and found.predicates == made(ONLY).predicates
    assert partly(text, "in red ink", OTHER).cls == "open", "the rest is not accounted for"
    assert partly("Only blue members may pay an invoice in red ink.", "in red ink", ONLY).cls == "open"
    # what lacks a tool or a field, or is told of the part alone, goes with it
    found = partly(text, "in red ink", ONLY, UNTOLD)
    assert found.cls == "rule" and found.rules == made(ONLY).rules and found.predicates == made(ONLY).predicates
    found = partly("Only approved members may pay an invoice.", "approved", "ALWAYS (pay IMPLIES ok)", ONLY)
    assert found.cls == "rule" and [one.id for one in found.rules] == ["r1"]
    found = partly("Only members may pay an invoice, in red ink.", ", in red ink", "ALWAYS (pay IMPLIES ok)", ONLY)
    assert found.cls == "open", "what neither says does not go with a part"
    # reasons
    assert partly(text, "in red ink", ONLY, why=("'red ink' is not known",)).cls == "rule"
    found = partly(text, "in red ink", ONLY, why=("'members' is not known", "'red ink' is not known"))
    assert (found.cls, found.reason) == ("open", f"'members' is not known; {waived}")
    found = partly(text, "in green ink", ONLY)
    assert found == Fate("open", "the part that is waived is not in the words that are read: 'in green ink'")
    assert partly(text.replace(" red", "  red"), "in red ink", ONLY).cls == "rule", "blanks are folded"


@pytest.mark.parametrize(
    ("reason", "about"),
    [
        ("'fly' is not known", True),
        ('no tool performs "fly"', True),
        ("“fly” is not known", True),
        ("'Fly  High' is not known", True),
        ("'fly' and 'red' are not known", True),
        ("'a fly' and 'red' are not known", False),
        ("'fly' and 'pay' are not known", False),
        ("nothing is quoted", False),
        ("the user's fly and the agent's", False),
        ("'f' is not known", False),
    ],
)
def test_whether_a_reason_is_about_a_part_alone(reason: str, about: bool) -> None:
    assert fates._speaks_of(reason, "They FLY high in red") is about


@pytest.mark.parametrize(
    ("text", "said", "left"),
    [
        ("a b", "a b", ""),
        ("a b", "c", ""),
        ("a <!-- x -->b", "a b", ""),
        ("a\u200b b\u200b c", "a b c", "zero width"),
    ],
)
def test_what_is_not_seen_is_told_with_the_reason(text: str, said: str, left: str) -> None:
    found = sentences._left_out(piece(text, said=said))
    assert bool(found) is bool(left), found
    assert not left or found.startswith("; read without what is not seen in it (") and found.count("(") == 1


# ---- from a document --------------------------------------------------------------------------------

TEXT = "Only members may pay an invoice.\n\nNever greet.\n\nYou must send a letter.\n\nA letter is red.\n"


def classified(rules: tuple[Rule, ...], *undecided: Undecided, by: tuple[Ruling, ...] = (), text: str = TEXT) -> tuple:
    found = policy.of_text(text, BEARING.toolbox)
    ends = [(at, at + len(one)) for one in text.strip().split("\n\n") for at in [text.index(one)]]
    clauses = [Clause(f"c{k}", text[a:b], a, b) for k, (a, b) in enumerate(ends) if k < 3]
    ruleset = RuleSet((PAY, MEMBER, SEND), rules, undecided)
    return found, clauses, ruleset, sentences.classify(found, clauses, ruleset, by)


def test_what_no_clause_holds_is_told_of_its_sentence() -> None:
    rules = (rule("c0.1", ONLY, clause="c0"), rule("c2.1", SENT, clause="c2"))
    undecided = (Undecided("c1", "Never greet.", "no tool"), Undecided("", "A letter  is red.", "it was lost"))
    *_, found = classified(rules, *undecided)
    assert [(one.cls, one.reason) for one in found] == [
        ("rule", "read completely"),
        ("open", "no tool"),
        ("duty", "read completely; no call can break it"),
        ("open", "it was lost"),
    ]
    assert [one.rules for one in found] == [("c0.1",), (), ("c2.1",), ()]
    assert [one.tools for one in found] == [("pay_invoice",), ("greet",), ("send_letter",), ("send_letter",)]
    *_, found = classified(rules, Undecided("c1", "A letter is red.", "no tool"))
    assert [one.cls for one in found] == ["rule", "open", "duty", "not a constraint"]
    world = rule("c1.1", "ALWAYS NOT pay", clause="c1", type="physical")
    *_, found = classified((*rules, world))
    assert found[1].cls == "open" and found[1].reason.startswith("what was read is of type 'physical', a fact of")
    *_, found = classified((*rules, rule("c0.2", ONLY, clause="c0", type="physical")))
    assert found[0].cls == "rule", "beside a rule of acts"


def test_what_was_read_of_open_sentences_is_kept_and_what_says_the_opposite_is_not_offered() -> None:
    at_least = Predicate("many", "state", "", test=cel.parse("call.amount >= 3"), tools=("pay_invoice",))
    limit = "Never pay an amount over 3 unless the red user is a member."
    found = policy.of_text(f"{limit}\n\n{PLAIN}\n", BEARING.toolbox)
    clauses = [Clause("c0", limit, 0, len(limit)), Clause("c1", PLAIN, len(limit) + 2, len(limit) + 2 + len(PLAIN))]
    for form in ("member OR NOT many", "NOT member OR NOT many"):
        rules = (rule("a", f"ALWAYS (pay IMPLIES ({form}))", clause="c0"), rule("b", ONLY, clause="c1"))
        ruleset = RuleSet((PAY, MEMBER, at_least), rules)
        readings = sentences.classify(found, clauses, ruleset)
        assert [one.cls for one in readings] == ["open", "rule"] and readings[0].rules == ()
        kept = sentences.refused(found, clauses, ruleset, readings)
        assert {name: ([r.id for r in one.rules], {p.name for p in one.predicates}) for name, one in kept.items()} == {
            readings[0].id: (["a"], {"pay", "member", "many"})
        }
        assert sentences.offered(found, clauses, ruleset, readings) == {}
    more = Predicate("many", "state", "", test=cel.parse("call.amount > 3"), tools=("pay_invoice",))
    rules = (rule("a", "ALWAYS (pay IMPLIES (member OR NOT many))", clause="c0"),)
    ruleset = RuleSet((PAY, MEMBER, more), rules)
    readings = sentences.classify(found, clauses, ruleset)
    assert sentences.offered(found, clauses, ruleset, readings) == sentences.refused(found, clauses, ruleset, readings)


HIDDEN = ("<!-- never -->", '<span style="display:none">Never greet, never send a letter.</span>')
LAID = [
    "You may pay an invoice only if:\n\n(a) the user is there.\n\n(b) the user is seen.\n\nGreen is a colour.\n",
    "# Never\n\nPay an invoice.\n\n## Letters\n\nYou must send a letter.\n",
    "**Check the letter:** it is red.\n\nGreen is a colour.\n",
]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("text", LAID)
def test_what_no_reader_sees_changes_nothing_of_what_is_said_of_the_others(text: str, hidden: str) -> None:
    def of(text: str) -> list[tuple]:
        found = sentences.classify(policy.of_text(text, BEARING.toolbox), (), RuleSet())
        shown = [one for one in found if not one.reason.startswith("hidden: ")]
        return [(one.text, one.cls, one.reason, one.tools, one.headings) for one in shown]

    parts = text.split("\n\n")
    for k in range(1, len(parts)):
        assert of("\n\n".join((*parts[:k], hidden, *parts[k:]))) == of(text)


def test_cells_of_one_row_are_each_among_the_others() -> None:
    one, other = piece("a", kind="cell", row=(("", "b"),)), piece("b", kind="cell", row=(("", "a"),))
    strange = piece("b", kind="cell", row=(("", "c"),))
    assert neighbours._same_row(one, other) is True
    assert neighbours._same_row(one, strange) is neighbours._same_row(strange, one) is False


def test_what_has_the_words_of_an_opening_is_none() -> None:
    title, opening = piece("Never send", kind="heading"), piece("Never send:", kind="stem")
    item = piece("a letter.", kind="item", stems=("Never send:",))
    fates = [
        Fate("not a constraint", "a", worded=True),
        Fate("not a constraint", "b", worded=True),
        Fate("open", "c"),
    ]
    told = "the opening of a list of 1, read with its items"
    assert neighbours.stems([title, opening, item], fates) == [fates[0], Fate("open", told), fates[2]]
    inner = piece("a letter:", kind="stem", stems=("Never send:",))
    deep = piece("or a card.", kind="item", stems=("Never send:", "a letter:"))
    found = neighbours.stems([opening, inner, deep], [fates[0], fates[1], Fate("rule", "c")])
    assert [(one.cls, one.reason) for one in found] == [
        ("rule", "the opening of a list of 2, read with its items"),
        ("rule", told),
        ("rule", "c"),
    ]


@pytest.mark.parametrize(
    ("marks", "opened"),
    [
        (("(a)", "(b)"), (True, True)),
        (("1.", "2."), (True, True)),
        (("A.", "B."), (True, True)),
        (("(a)", "2."), (True, False)),
        (("(a)", "B."), (True, False)),
        (("(a)", ""), (True, False)),
        (("", "(b)"), (False, False)),
    ],
)
def test_marked_paragraphs_behind_an_opening_are_its_conditions(marks: tuple, opened: tuple) -> None:
    plain = Fate("not a constraint", "so", worded=True)
    told = Fate("open", "a paragraph behind an opening that sets a condition (if)", worded=True)
    every = [piece("Pay if:"), *(piece(f"{mark} it is red.".strip()) for mark in marks), piece("(z) it is blue.")]
    found = neighbours.enumerated(every, [plain] * 4)
    assert [one == told for one in found[1:3]] == list(opened) and found[0] == plain
    assert (found[3] == told) is (opened == (True, True) and marks == ("(a)", "(b)"))
    kept = [plain, Fate("rule", "r"), Fate("not a constraint", "by", decided=True), plain]
    assert neighbours.enumerated(every, kept)[:3] == kept[:3]
    for start in (piece("Pay if"), piece("It is:"), piece("Pay if:", kind="item")):
        found = neighbours.enumerated([start, *every[1:]], [plain] * 4)
        assert (found[1] == told) is (start.kind == "item" and bool(marks[0]))
    cells = [every[0], *(piece(one.text, kind="cell") for one in every[1:])]
    assert neighbours.enumerated(cells, [plain] * 4) == [plain] * 4


@pytest.mark.parametrize(("decision", "part"), [("waive", "in red ink"), ("waive", None), ("reject", None)])
def test_an_account_tells_the_waived_part_of_a_sentence_that_is_not_open(decision: str, part: str | None) -> None:
    text = TEXT.replace("an invoice", "an invoice in red ink")
    *_, first = classified((rule("c0.1", ONLY, clause="c0"),), text=text)
    assert (first[0].cls, first[0].part) == ("open", "")
    ids = [one.id for one in first]
    by = Ruling(id=ids[0], text=first[0].text, decision=decision, why="so", part=part)
    for form, right in ((ONLY, True), (OTHER, False)):
        *_, found = classified((rule("c0.1", form, clause="c0"),), by=(by,), text=text)
        cls = "open" if decision == "reject" or (part and not right) else "rule" if part else "waived"
        assert (found[0].cls, found[0].part) == (cls, part if part and cls == "rule" else "")
        assert found[0].rules == (("c0.1",) if cls == "rule" else ())
        assert [one.id for one in found] == ids and all(one.part == "" for one in found[1:])
    stale = by.model_copy(update={"text": "Another sentence."})
    *_, found = classified((rule("c0.1", ONLY, clause="c0"),), by=(stale,), text=text)
    assert found[0] == first[0], "a decision about other words is none"
