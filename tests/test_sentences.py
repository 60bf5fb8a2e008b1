"""Each sentence of a document has exactly one class; what is not read stays open, and bears on tools."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import prompt_path
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wb.domain import policy
from wb.domain.document import SILENT, Skipped
from wb.domain.tools import Field, Tool, Toolbox
from wb.logic import cel
from wb.logic.syntax import parse, render
from wb.models.client import LLM
from wb.offline import norms
from wb.offline.engine import Offline
from wb.rules import certify, check, decisions, extract, sentences
from wb.rules.rule import Predicate, Rule, RuleSet, Undecided

FOREIGN = Toolbox(
    tools=(
        Tool("issue_refund", arguments=(Field("amount", "number"),)),
        Tool("lend_book", arguments=(Field("book", "string"),), keywords=("loan", "renew a loan")),
        Tool("book_room", arguments=(Field("evening", "string"),), keywords=("reservation",)),
        Tool("dispense_medicine"),
        Tool("record_temperature"),
        Tool("withdraw_money", keywords=("withdrawal", "account")),
        Tool("print_permit", keywords=("parking permit",)),
    )
)
GOLD = [
    line.split("\t")
    for line in (Path(__file__).parent / "gold" / "sentence_classes.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


def read(text: str, toolbox: Toolbox = FOREIGN) -> tuple[sentences.Account, ...]:
    """The readings of a text by the offline grammar."""
    found = policy.of_text(text, toolbox)
    llm = LLM(Offline(toolbox))
    clauses = extract.clauses(found, llm, norms.constrains)
    return sentences.classify(found, clauses, extract.rules(clauses, found, llm, norms.constrains))


def unread(text: str, toolbox: Toolbox = FOREIGN) -> tuple[sentences.Account, ...]:
    """The readings of a text from which no engine took a clause."""
    return sentences.classify(policy.of_text(text, toolbox), (), RuleSet())


@pytest.mark.parametrize(("expected", "sentence"), GOLD, ids=range(1, len(GOLD) + 1))
def test_a_constraint_of_another_field_is_never_lost_and_a_plain_statement_blocks_nothing(
    expected: str, sentence: str
) -> None:
    (alone,) = unread(sentence)
    assert alone.cls == ("open" if expected == "constraint" else "not a constraint"), alone.reason
    *_, behind = read(f"A user must be a member to withdraw money. {sentence}")
    assert (behind.cls == "not a constraint") == (expected == "plain"), behind.reason


BOX = Toolbox(
    tools=(
        Tool("pay_invoice", arguments=(Field("amount", "number"),), keywords=("pay an invoice",)),
        Tool("send_letter", keywords=("letter",)),
        Tool("read_file", keywords=("file",)),
        Tool("greet"),
    ),
    state=(
        Field("member", "boolean", "the user is a member", keywords=("member",)),
        Field("approved", "boolean", "the invoice is approved", keywords=("approved",)),
    ),
)
HOUSE = """# Invoices

An invoice may be paid only if it is approved. An invoice of a stranger must be examined by moonlight.
"Stranger" means anybody without an account. The assistant may read any file.

- The assistant must not send:
    - a letter;
    - a threat.

# Manners

You must never hum.

| Case | Rule |
|---|---|
| Sending a letter | Allowed only if the user is a member. |

This must also be done at night.

# Greetings

The assistant must greet the user.
"""


def by_text(readings: tuple[sentences.Account, ...], start: str) -> sentences.Account:
    (found,) = [r for r in readings if " ".join(r.text.split()).startswith(start)]
    return found


def test_every_sentence_and_every_word_of_the_document_is_in_exactly_one_reading() -> None:
    readings = read(HOUSE, BOX)
    found = policy.of_text(HOUSE, BOX)
    assert all(r.text == found.text[r.start : r.end] and r.cls in sentences.CLASSES and r.reason for r in readings)
    assert all(a.end <= b.start for a, b in zip(readings, readings[1:], strict=False))
    left = "".join(found.text[a.end : b.start] for a, b in zip(readings, readings[1:], strict=False))
    assert not [c for c in left if c.isalnum()]
    assert len({r.id for r in readings}) == len(readings)


def test_the_five_classes_and_what_an_open_sentence_bears_on() -> None:
    readings = read(HOUSE, BOX)
    rule = by_text(readings, "An invoice may")
    assert rule.cls == "rule" and rule.tools == ("pay_invoice",) and rule.rules
    half = by_text(readings, "An invoice of a stranger")
    assert half.cls == "open" and "pay_invoice" in half.tools and "greet" not in half.tools
    assert by_text(readings, '"Stranger"').reason == "a definition"
    assert by_text(readings, "The assistant may read").reason == "a permission"
    assert by_text(readings, "Invoices").reason == "a heading"
    assert by_text(readings, "The assistant must greet").cls == "duty"
    assert by_text(readings, "The assistant must greet").tools == ("greet",)


def test_the_opening_of_a_list_and_the_cells_of_a_row_go_with_what_is_read_from_them() -> None:
    readings = read(HOUSE, BOX)
    stem = by_text(readings, "The assistant must not send:")
    assert stem.cls == "open"  # "a threat" is read into an action that no tool performs
    assert by_text(readings, "a threat").cls == "open"
    cell = by_text(readings, "Sending a letter")
    assert cell.cls == by_text(readings, "Allowed only if").cls == "rule"
    assert cell.rules == by_text(readings, "Allowed only if").rules
    assert by_text(readings, "Case").reason == "the title of a column, read with its cells"
    whole = read(HOUSE.replace("    - a threat.\n", ""), BOX)
    assert by_text(whole, "The assistant must not send:").cls == "rule"


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("You must never hum.", None),
        ("Letters go out on Fridays only.", None),  # which tool lets them out is not known
        ("No invoice may stay longer than a week.", None),
        ("Never pay by moonlight.", ("pay_invoice",)),
        ("No letter may be sent by moonlight.", ("send_letter",)),
        ("Letters must be answered by moonlight.", ("send_letter",)),  # a duty: nothing is forbidden
    ],
)
def test_a_ban_of_an_act_that_no_tool_is_known_by_bears_on_all_that_change_something(text, tools) -> None:
    (found,) = unread(text, BOX)
    assert found.cls == "open" and found.tools == (tools or ("pay_invoice", "send_letter", "read_file", "greet"))


def test_without_tools_nothing_is_borne_on() -> None:
    assert by_text(read(HOUSE, BOX), "This must also be done at night.").cls == "open"
    assert unread("You must never hum.", Toolbox())[0].tools == ()


def test_a_word_that_most_tools_have_or_that_stands_in_a_description_names_no_tool() -> None:
    tools = Toolbox(tuple(Tool(f"{verb}_order", f"a {verb} for the moon") for verb in ("cancel", "change", "return")))
    (open_,) = unread("An order must never be cancelled by moonlight.", tools)
    assert open_.tools == ("cancel_order",)


def test_a_repeated_sentence_is_read_twice_with_its_own_id() -> None:
    first, second = unread("You must never hum. You  must never\nhum.", BOX)
    assert second.id == f"{first.id}-2" and first.cls == second.cls == "open"


def test_what_a_quotation_leaves_of_its_sentence_is_open() -> None:
    found = policy.of_text("Invoices must be paid, and letters must never be sent.", BOX)
    quoted = policy.Clause("c1", "Invoices must be paid", 0, 21)
    (reading,) = sentences.classify(found, (quoted,), RuleSet())
    assert reading.cls == "open" and "letters must never be sent" in reading.reason


def test_what_the_reader_of_documents_skipped_never_disappears() -> None:
    whole = policy.of_text("Personal use is allowed. Never hum. Support is here.", BOX)
    torn = policy.Policy(
        whole.name, whole.text, whole.source, BOX, whole.digest, (whole.sentences[0], whole.sentences[2])
    )
    assert [r.cls for r in sentences.classify(torn, (), RuleSet())] == ["not a constraint", "open", "not a constraint"]
    fenced = unread("Support is here.\n\n```\nnever hum\n```\n\n```\nx = 1\n```\n", BOX)
    assert [(r.cls, r.reason) for r in fenced[1:]] == [
        ("open", "code fence with the words never"),
        ("not a constraint", "code fence"),
    ]
    page = Skipped(0, 0, "page without text")
    (scan, _) = sentences.classify(replace(whole, sentences=whole.sentences[:1], skipped=(page,)), (), RuleSet())
    assert scan.cls == "open" and scan.tools == ("pay_invoice", "send_letter", "read_file", "greet")


def test_readings_survive_json_and_are_grouped_by_tool() -> None:
    readings = read(HOUSE, BOX)
    assert sentences.from_json(sentences.to_json(readings)) == readings
    on = sentences.open_on(readings)
    assert all(r.cls == "open" and tool in r.tools for tool, those in on.items() for r in those)
    assert sum(sentences.counted(readings).values()) == len(readings)


def test_web_tasks_is_read_without_a_waiver_but_for_two_duties() -> None:
    source = policy.load("web_tasks")
    llm = LLM(Offline(source.toolbox))
    clauses = extract.clauses(source, llm, norms.constrains)
    readings = sentences.classify(source, clauses, extract.rules(clauses, source, llm, norms.constrains))
    turned, kept = sorted((r for r in readings if r.cls == "open"), key=lambda r: "deleted" in r.text)
    assert kept.text.startswith("Session notes must be deleted") and len(kept.tools) == 3
    assert turned.text == "Tracking cookies must always be rejected."
    assert turned.tools == ("reject_cookies", "accept_tracking_cookies", "accept_necessary_cookies")
    covered = {c.start for c in clauses}
    assert all(r.cls in ("rule", "duty") for r in readings if r.start in covered and r not in (turned, kept))


APPLICATIONS = Toolbox(
    (
        Tool("accept_application", "", (Field("number", "string"),)),
        Tool("reject_application", "", (Field("number", "string"),)),
        Tool("cancel_application", "", (Field("number", "string"),)),
        Tool("issue_permit", "", (Field("site", "string"),)),
        Tool("tell", "", (Field("what", "string"),)),
    ),
    (
        Field("protected", "boolean", "Whether the site is protected"),
        Field("declined", "boolean", "Whether the card was declined"),
    ),
)
ABOUT = {"accept_application", "reject_application", "cancel_application"}


@pytest.mark.parametrize(
    ("said", "cls", "tools"),
    [
        ("If the site is protected, reject the application.", "open", ABOUT),
        ("When the site is protected, you must always reject the application.", "open", ABOUT),
        ("A request must be turned down where there is no signature.", "open", {*ABOUT, "issue_permit", "tell"}),
        ("Applications without a signature shall be refused.", "open", {*ABOUT, "issue_permit", "tell"}),
        ("If the site is protected, cancel the application.", "duty", {"cancel_application"}),
        ("If the card was declined, cancel the application.", "open", {"cancel_application"}),
        ("Reject an application only if the site is protected.", "rule", {"reject_application"}),
    ],
)
def test_a_duty_to_turn_something_down_is_open_for_what_may_let_it_happen(said: str, cls: str, tools: set[str]) -> None:
    (found,) = read(said, APPLICATIONS)
    assert (found.cls, set(found.tools)) == (cls, tools), found.reason
    waiting = policy.of_text(said, APPLICATIONS)
    clauses = extract.clauses(waiting, LLM(Offline(APPLICATIONS)), norms.constrains)
    rules = extract.rules(clauses, waiting, LLM(Offline(APPLICATIONS)), norms.constrains)
    offered = sentences.offered(waiting, clauses, rules, [found])
    assert not any("EVENTUALLY reject" in render(r.formula) for one in offered.values() for r in one.rules)


def test_rules_that_were_split_and_absorbed_still_lead_back_to_their_sentences() -> None:
    text = (
        "An invoice may be paid only if it is approved. Pay an invoice only if the user is a member and it is approved."
    )
    source = policy.of_text(text, BOX)
    clauses = tuple(policy.Clause(f"c{i}", s.text, s.start, s.end) for i, s in enumerate(source.sentences, 1))
    pay = Predicate("pay", "action", "pay", tools=("pay_invoice",))
    facts = tuple(Predicate(n, "state", n, test=cel.parse(f"state.{n} == true")) for n in ("approved", "member"))
    first, second = (
        Rule(f"c{i}.1", "", parse(formula), "permit_only_if", clause=f"c{i}")
        for i, formula in enumerate(("ALWAYS (pay IMPLIES approved)", "ALWAYS (pay IMPLIES (member AND approved))"), 1)
    )
    before = RuleSet((pay, *facts), (first, second))
    readings = sentences.classify(source, clauses, before)
    assert [r.rules for r in readings] == [("c1.1",), ("c2.1",)]
    parts = [("", "ALWAYS (pay IMPLIES member)"), ("", "ALWAYS (pay IMPLIES approved)")]
    apart = certify.split(before, second, parts, ()).ruleset
    heir = next(r for r in apart.rules if r.id == "c2.1_2")
    after, change = certify.prune(apart, first, [heir], ())
    assert change.accepted
    found = sentences.refined(readings, after)
    assert [r.rules for r in found] == [("c2.1_2",), ("c2.1_1", "c2.1_2")]
    assert {r.cls for r in found} == {"rule"} and sentences.enforced(after, found) == after
    assert [set(r.rules) for r in sentences.classify(source, clauses, after)] == [set(r.rules) for r in found]
    gone = sentences.refined(readings, RuleSet((pay, *facts), (second,)))
    assert gone[0].cls == "open" and gone[0].tools == ("pay_invoice",)


def test_rules_read_from_what_is_no_constraint_are_not_enforced() -> None:
    source = policy.of_text('"Paying" means sending money. Support is here.', BOX)
    clause = policy.Clause("c1", source.sentences[0].text, 0, source.sentences[0].end)
    junk = Rule("c1.1", "", parse("EVENTUALLY mean_money"), "oblige", clause="c1")
    own = Rule("mine", "", parse("ALWAYS NOT mean_money"), "forbid")
    ruleset = RuleSet((Predicate("mean_money", "action", ""),), (junk, own))
    readings = sentences.classify(source, (clause,), ruleset)
    assert [r.cls for r in readings] == ["not a constraint"] * 2
    assert sentences.enforced(ruleset, readings).rules == (own,)


def test_an_opening_that_was_read_itself_keeps_its_own_class() -> None:
    source = policy.of_text("You must never do this:\n\n- Pay an invoice.\n- Send a letter.\n", BOX)
    stem, *items = source.sentences
    clauses = [policy.Clause(f"c{i}", s.text, s.start, s.end) for i, s in enumerate((stem, *items), 1)]
    pay = Predicate("pay", "action", "pay", tools=("pay_invoice",))
    send = Predicate("send", "action", "send", tools=("send_letter",))
    rules = tuple(
        Rule(f"{c}.1", "", parse(f"ALWAYS NOT {a}"), "forbid", clause=c) for c, a in (("c2", "pay"), ("c3", "send"))
    )
    undecided = (Undecided("c1", stem.text, "what is meant stands below"),)
    read_ = sentences.classify(source, clauses, RuleSet((pay, send), rules, undecided))
    assert [r.cls for r in read_] == ["open", "rule", "rule"]
    assert [r.cls for r in sentences.classify(source, clauses[1:], RuleSet((pay, send), rules))] == ["rule"] * 3


PIECES = [
    "# Letters\n\n",
    "You must never hum. ",
    "Support is here. ",
    "The assistant must not send:\n\n- a letter;\n    1. a card\n\n",
    "| Case | Rule |\n|---|---|\n| Paying | At most two. |\n\n",
    "```\nnever mind\n```\n\n",
    "Payment: an invoice must be paid.\n\n",
    "(a) a letter; ",
    "> Is it so?\n\n",
    "![a seal](seal.png) ",
]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8))
def test_no_word_of_any_document_is_in_no_reading_or_in_two(pieces: list[str]) -> None:
    source = policy.of_text("".join(pieces), BOX)
    readings = sentences.classify(source, (), RuleSet())
    quiet = {i for s in source.skipped if s.reason in SILENT for i in range(s.start, s.end)}
    hidden = {(r.start, r.end) for r in readings if r.reason.startswith("hidden: ")}
    shown = [r for r in readings if (r.start, r.end) not in hidden]
    covered = Counter(i for r in shown for i in range(r.start, r.end))
    covered |= Counter({i: 1 for start, end in hidden for i in range(start, end)})
    assert all(n == 1 for n in covered.values())
    assert all(i in covered or i in quiet for i, c in enumerate(source.text) if c.isalnum())
    assert [r.start for r in readings] == sorted(r.start for r in readings)
    assert len({r.id for r in readings}) == len(readings)
    assert all(r.cls == "open" for r in readings if "never" in r.text)


def test_a_language_model_s_rules_are_classed_the_same_way() -> None:
    source, llm = policy.load(prompt_path.FOLDER), prompt_path.replaying()
    found = extract.policies(source, llm, norms.constrains)
    readings = sentences.classify(
        source, found.clauses, extract.rules(found.clauses, source, llm, norms.constrains, found.lost)
    )
    assert sentences.counted(readings) == {"rule": 7, "open": 0, "not a constraint": 4, "duty": 1, "waived": 0}
    assert by_text(readings, "If a reader withdraws consent").cls == "duty"


def test_a_rule_that_stands_against_another_is_open_until_a_person_has_decided_its_sentence() -> None:
    hall = Toolbox((Tool("book_hall", "Book the hall", (Field("seats", "integer"),)),), (Field("member", "boolean"),))
    found = policy.of_text("Never book the hall. Only book the hall for members.", hall)
    llm = LLM(Offline(hall))
    clauses = extract.clauses(found, llm, norms.constrains)
    rules = extract.rules(clauses, found, llm, norms.constrains)
    first = sentences.classify(found, clauses, rules)
    assert [one.cls for one in first] == ["rule", "rule"]
    kept = sentences.enforced(rules, first)
    asked = check.questions(check.check(kept), kept)
    one, other = sentences.questioned(first, asked, (), hall)
    assert (one.cls, other.cls) == ("open", "open") and one.tools == other.tools == ("book_hall",)
    assert "“Only book the hall for members.”" in one.reason and "“Never book the hall.”" in other.reason
    assert sentences.enforced(rules, (one, other)) == sentences.enforced(rules, first), "its rules stay in force"
    waived = decisions.Ruling(id=first[0].id, text=first[0].text, decision="waive", why="nobody books it")
    assert [a.cls for a in sentences.questioned(first, asked, (waived,), hall)] == ["rule", "open"]
    assert sentences.questioned(first, {}, (), hall) == first


CLINIC = Toolbox(
    (
        Tool("check_badge", mutating=True),
        Tool("open_file", arguments=(Field("patient", "string"),), mutating=False),
        Tool("list_rooms", mutating=False),
        Tool("order_lunch", mutating=True),
    )
)


def test_what_no_tool_is_known_by_bears_on_what_changes_something_and_on_what_shares_a_word() -> None:
    """First contact with a clinic's sheet: a ban on looking into files left the tool that opens them alone."""
    (ban,) = read("Do not peruse patient files.", CLINIC)
    assert ban.cls == "open" and ban.tools == ("check_badge", "open_file", "order_lunch")
    (needs,) = read("Overseas lunches require next level approval.", CLINIC)
    assert needs.cls == "open" and needs.tools == ("check_badge", "order_lunch")


@pytest.mark.parametrize(
    ("text", "cls"),
    [
        ('- Check the badge: "May I see your badge, please?"', "open"),
        ('- The badge: "May I see your badge, please?"', "not a constraint"),
        ('- A question: "May I see your badge, please?"', "not a constraint"),
        ("- Check the badge: it must be valid.", "not a constraint"),
    ],
)
def test_a_label_that_names_an_act_before_mere_words_may_be_an_order(text: str, cls: str) -> None:
    label = read(f"- Never order lunch.\n{text}", CLINIC)[1]
    assert label.text.endswith(":") and label.cls == cls, label.reason


@pytest.mark.parametrize("form", ["{}\n\n- the hat\n", "## {}\n\n- the hat\n", "{}:\n\n- the hat\n",
                                  "## {}\n\n### Hats\n\n- the hat\n", "| {} |\n|---|\n| the hat |\n"])  # fmt: skip
def test_what_stands_under_a_head_that_forbids_is_open_in_every_form(form: str) -> None:
    for head, cls in (("Taboos", "open"), ("Manners", "not a constraint")):
        hat = by_text(read(f"# House\n\n{form.format(head)}\n\n# Other\n\nYou must never hum.\n", BOX), "the hat")
        assert hat.cls == cls, (head, hat.reason)
