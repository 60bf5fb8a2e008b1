"""Words that a person lets a sentence say of a thing: what they bring into force, and what they never do."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from wb.domain import policy, tools
from wb.domain.clauses import clause_of, identities, pieces
from wb.domain.policy import Policy
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules import decisions, operators, sentences, wording
from wb.rules.decisions import DecisionError
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.rules.sentences import Account
from wb.rules.wording import Word

BOX = tools.parse(
    json.dumps(
        {
            "tools": [
                {
                    "name": "print_job",
                    "description": "Print a job.",
                    "mutating": True,
                    "parameters": {
                        "type": "object",
                        "properties": {
                            "pages": {"type": "integer", "description": "how many pages"},
                            "copies": {"type": "integer", "description": "how many copies"},
                        },
                    },
                },
                {
                    "name": "ship_parcel",
                    "description": "Ship a parcel.",
                    "mutating": True,
                    "parameters": {
                        "type": "object",
                        "properties": {"pages": {"type": "integer", "description": "how many pages are in it"}},
                    },
                },
                {
                    "name": "refund_payment",
                    "description": "Refund a payment.",
                    "mutating": True,
                    "parameters": {
                        "type": "object",
                        "properties": {"amount": {"type": "number", "description": "the amount in euros"}},
                    },
                },
                {"name": "look_up_order", "description": "Look up an order.", "mutating": False},
                {"name": "discard_order", "description": "Discard an order.", "mutating": True},
            ],
            "state": [
                {"name": "account_verified", "type": "boolean", "description": "the account was verified"},
                {"name": "card_valid", "type": "boolean", "description": "the card is valid"},
                {"name": "manager_approved", "type": "boolean", "description": "a manager approved it"},
                {
                    "name": "order_state",
                    "type": "string",
                    "enum": ["new", "printed", "sent"],
                    "description": "where the order is",
                },
                {"name": "credit", "type": "number", "description": "the credit of the customer in euros"},
            ],
        }
    )
)
P, S, R, L, D = "print_job", "ship_parcel", "refund_payment", "look_up_order", "discard_order"
TOOLS = {"print": P, "ship": S, "refund": R, "look": L, "discard": D}
TESTS = {
    "few": (P, "call.pages <= 500"),
    "fewer": (P, "call.pages < 500"),
    "many": (P, "call.pages >= 500"),
    "more": (P, "call.pages > 500"),
    "fifty": (P, "call.pages <= 50"),
    "copies": (P, "call.copies <= 500"),
    "light": (S, "call.pages <= 500"),
    "small": (R, "call.amount <= 200"),
    "smaller": (R, "call.amount < 200"),
    "large": (R, "call.amount >= 200"),
    "larger": (R, "call.amount > 200"),
    "tiny": (R, "call.amount <= 20"),
    "credit": ("", "state.credit <= 200"),
    "verified": ("", "state.account_verified"),
    "valid": ("", "state.card_valid"),
    "approved": ("", "state.manager_approved"),
    "new": ("", 'state.order_state == "new"'),
    "printed": ("", 'state.order_state == "printed"'),
    "sent": ("", 'state.order_state == "sent"'),
    "not_sent": ("", 'state.order_state != "sent"'),
    "moved": ("", 'state.order_state in ["printed", "sent"]'),
}
# Each sentence: the lines that a person who knows the shop takes for it, the right reading, and wrong ones.
CASES = {
    "Jobs over 500 pages must not be run.": (
        [("jobs run", [P])],
        ["ALWAYS (print IMPLIES few)"],
        """ALWAYS (print IMPLIES fewer) | ALWAYS (print IMPLIES many) | ALWAYS (print IMPLIES more)
        ALWAYS (print IMPLIES fifty) | ALWAYS (print IMPLIES copies) | ALWAYS (ship IMPLIES light) | ALWAYS NOT print
        ALWAYS (print IMPLIES NOT few) | ALWAYS (few IMPLIES print) | ALWAYS (print IMPLIES (few OR verified))
        ALWAYS (print IMPLIES (few AND verified)) | ALWAYS (print IMPLIES ONCE few) | ALWAYS (ship IMPLIES few)
        ALWAYS (print IMPLIES EVENTUALLY few)""",
    ),
    "A parcel may be dispatched only if the account was checked.": (
        [("dispatched parcel", [S]), ("checked", ["state.account_verified"])],
        ["ALWAYS (ship IMPLIES verified)"],
        """ALWAYS (ship IMPLIES NOT verified) | ALWAYS (ship IMPLIES valid) | ALWAYS (print IMPLIES verified)
        ALWAYS NOT ship | ALWAYS (verified IMPLIES ship) | ALWAYS (ship IMPLIES ONCE look)
        ALWAYS (ship IMPLIES (verified OR valid)) | ALWAYS (ship IMPLIES (verified AND valid))
        ALWAYS (ship IMPLIES ONCE verified) | ALWAYS (refund IMPLIES verified) | ALWAYS (ship IMPLIES approved)
        ALWAYS (ship IMPLIES EVENTUALLY verified) | ALWAYS (verified IMPLIES EVENTUALLY ship)""",
    ),
    "Do not reimburse more than 200 euros unless a supervisor approved it.": (
        [("reimburse", [R]), ("supervisor", ["state.manager_approved"])],
        ["ALWAYS (refund IMPLIES (small OR approved))"],
        """ALWAYS (refund IMPLIES small) | ALWAYS (refund IMPLIES approved)
        ALWAYS (refund IMPLIES (small AND approved))
        ALWAYS (refund IMPLIES (large OR approved)) | ALWAYS (refund IMPLIES (tiny OR approved))
        ALWAYS (refund IMPLIES (small OR NOT approved)) | ALWAYS (refund IMPLIES (credit OR approved))
        ALWAYS (refund IMPLIES (larger OR approved)) | ALWAYS (ship IMPLIES (small OR approved))
        ALWAYS (refund IMPLIES (NOT small OR approved)) | ALWAYS (refund IMPLIES (small OR verified))
        ALWAYS (refund IMPLIES (smaller OR approved)) | ALWAYS ((refund AND approved) IMPLIES small)
        ALWAYS (refund IMPLIES NOT approved) | ALWAYS NOT refund""",
    ),
    "Before dispatching a parcel, the assistant must check the order.": (
        [("dispatching parcel", [S]), ("check order", [L])],
        ["ALWAYS (ship IMPLIES ONCE look)"],
        """ALWAYS (look IMPLIES ONCE ship) | ALWAYS (ship IMPLIES EVENTUALLY look) | ALWAYS (ship IMPLIES NOT ONCE look)
        ALWAYS (look IMPLIES NOT ONCE ship) | ALWAYS (print IMPLIES ONCE look) | ALWAYS (ship IMPLIES ONCE refund)
        ALWAYS NOT ship | ALWAYS (look IMPLIES EVENTUALLY ship) | ALWAYS (ship IMPLIES ONCE discard)
        ALWAYS (ship IMPLIES verified)""",
    ),
    "No parcel may be dispatched unless the order is looked up.": (
        [("dispatched parcel", [S])],
        ["ALWAYS (ship IMPLIES ONCE look)"],
        """ALWAYS (look IMPLIES ONCE ship) | ALWAYS (ship IMPLIES NOT ONCE look) | ALWAYS (ship IMPLIES EVENTUALLY look)
        ALWAYS (look IMPLIES EVENTUALLY ship) | ALWAYS NOT ship | ALWAYS (print IMPLIES ONCE look)""",
    ),
    "An order that was mailed must not be binned.": (
        [("order binned", [D]), ("mailed", ['state.order_state == "sent"'])],
        ["ALWAYS (discard IMPLIES NOT sent)"],
        """ALWAYS (discard IMPLIES sent) | ALWAYS (discard IMPLIES NOT printed) | ALWAYS (discard IMPLIES NOT new)
        ALWAYS (discard IMPLIES printed) | ALWAYS (ship IMPLIES NOT sent) | ALWAYS NOT discard
        ALWAYS (sent IMPLIES discard) | ALWAYS (discard IMPLIES NOT not_sent) | ALWAYS (discard IMPLIES new)
        ALWAYS (discard IMPLIES NOT moved) | ALWAYS (look IMPLIES NOT sent)""",
    ),
    "A job can only be run if the account was checked, and you should look at the order before doing so.": (
        [("job run", [P]), ("checked", ["state.account_verified"])],
        ["ALWAYS (print IMPLIES verified)", "ALWAYS (print IMPLIES ONCE look)"],
        """ALWAYS (print IMPLIES verified) | ALWAYS (print IMPLIES ONCE look)
        ALWAYS (print IMPLIES NOT verified); ALWAYS (print IMPLIES ONCE look)
        ALWAYS (print IMPLIES verified); ALWAYS (look IMPLIES ONCE print)
        ALWAYS (print IMPLIES verified); ALWAYS (ship IMPLIES ONCE look)
        ALWAYS (ship IMPLIES verified); ALWAYS (print IMPLIES ONCE look)
        ALWAYS (print IMPLIES (verified OR ONCE look))
        ALWAYS (look IMPLIES verified); ALWAYS (print IMPLIES ONCE look)
        ALWAYS (print IMPLIES verified); ALWAYS (print IMPLIES ONCE look); ALWAYS (print IMPLIES valid)
        ALWAYS (print IMPLIES verified); ALWAYS (print IMPLIES NOT ONCE look) | ALWAYS NOT print; ALWAYS NOT look
        ALWAYS (print IMPLIES valid); ALWAYS (print IMPLIES ONCE look)
        ALWAYS (print IMPLIES verified); ALWAYS (print IMPLIES EVENTUALLY look)""",
    ),
}
WRONG = [
    (text, [one.strip() for one in wrong.split(";")])
    for text, (_, _, told) in CASES.items()
    for row in told.split("\n")
    for wrong in row.split("|")
]


def shop(*texts: str, title: str = "Orders") -> Policy:
    return policy.of_text("\n\n".join((f"# {title}", *texts)), BOX)


def written(text: str, formulas: list[str]) -> RuleSet:
    """The reading of a sentence as these formulas."""
    rules = tuple(
        Rule(f"c.{i}", text, parse(formula), "forbid", "action", "c", text) for i, formula in enumerate(formulas, 1)
    )
    names = dict.fromkeys(name for rule in rules for name in rule.predicates)
    return RuleSet(tuple(map(_predicate, names)), rules)


def _predicate(name: str) -> Predicate:
    if name in TOOLS:
        return Predicate(name, "action", name, (), (TOOLS[name],))
    tool, test = TESTS[name]
    return Predicate(name, "state", name, (), (tool,) * bool(tool), cel.parse(test))


def classed(text: str, formulas: list[str], lines: list[tuple[str, list[str]]], title: str = "Orders") -> Account:
    """What becomes of the one sentence, with these words accepted."""
    source = shop(text, title=title)
    (one,) = (s for s in source.sentences if s.kind != "heading")
    told, _ = wording.settled(source, wording.loads(file(source, text, lines), source))
    accounts = sentences.classify(source, [clause_of(one, "c")], written(text, formulas), (), told)
    return next(a for a in accounts if a.text == one.text)


def name_of(source: Policy, text: str) -> str:
    every = pieces(source)
    return next(i for i, s in zip(identities(every), every, strict=True) if s.text == text)


def file(source: Policy, text: str, lines: list[tuple[str, list[str]]]) -> str:
    of = [name_of(source, text)]
    return json.dumps({"words": [{"say": say, "mean": mean, "of": of} for say, mean in lines]})


@pytest.mark.parametrize("text", CASES)
def test_words_that_a_person_accepts_bring_a_right_reading_into_force(text: str) -> None:
    lines, right, _ = CASES[text]
    without, made = classed(text, right, []), classed(text, right, lines)
    assert without.cls == "open" and not without.rules
    assert made.cls == "rule", made.reason
    assert all(repr(say) in made.reason for say, _ in lines)
    for k in range(len(lines)):
        assert classed(text, right, lines[:k] + lines[k + 1 :]).cls == "open", lines[k]


@pytest.mark.parametrize(("text", "wrong"), WRONG)
def test_with_the_same_words_no_wrong_reading_is_in_force(text: str, wrong: list[str]) -> None:
    account = classed(text, wrong, CASES[text][0])
    assert account.cls == "open" and not account.rules, account.reason


def test_a_line_counts_in_its_sentences_alone_and_not_where_they_say_otherwise_now() -> None:
    text, twin = "Jobs over 500 pages must not be run.", "A job of more than 500 pages must not be run."
    source = shop(text, twin)
    two = [s for s in source.sentences if s.kind != "heading"]
    rules = RuleSet(
        (_predicate("print"), _predicate("few")),
        tuple(
            Rule(f"{c}.1", s.text, parse("ALWAYS (print IMPLIES few)"), "forbid", "action", c, s.text)
            for c, s in zip("ab", two, strict=True)
        ),
    )
    clauses = [clause_of(s, c) for c, s in zip("ab", two, strict=True)]
    lines = wording.loads(file(source, text, [("jobs run", [P])]), source)
    found = {a.text: a.cls for a in sentences.classify(source, clauses, rules, (), lines)}
    assert (found[text], found[twin]) == ("rule", "open")
    changed = shop(text.replace("500", "400"), twin)
    assert wording.settled(changed, lines) == ((), (f"the words 'jobs run' of sentence {lines[0].of[0]}",))


REFUSED = [
    ("not", [P], "counted strictly"),
    ("unless approved", [P], "counted strictly"),
    ("500", [P], "counted strictly"),
    ("five pages", [P], "counted strictly"),
    ("other account", ["state.account_verified"], "counted strictly"),
    ("different", ["state.account_verified"], "counted strictly"),
    ("both", [P], "counted strictly"),
    ("hours", [P], "counted strictly"),
    ("more than", [P], "counted strictly"),
    ("before", [P], "counted strictly"),
    ("same", [P], "counted strictly"),
    ("was", ["state.card_valid"], "counted strictly"),
    ("!", [P], "a word of the sentence was required"),
    ("expired", ["state.card_valid"], "says the opposite of 'valid'"),
    ("invalid", ["state.card_valid"], "says the opposite of 'valid'"),
    ("unverified", ["state.account_verified"], "says the opposite of 'verified'"),
    ("rejected", ["state.manager_approved"], "says the opposite of 'approved'"),
    ("received", ['state.order_state == "sent"'], "says the opposite of 'sent'"),
    ("mailed", ["state.order_state"], "a value of state.order_state was required"),
    ("mailed", ['state.order_state == "posted"'], "a value of state.order_state, one of ['new', 'printed', 'sent']"),
    ("run", ["start_press"], "tools.json was required; got 'start_press'"),
    ("run", ["state.pages"], "tools.json was required; got 'state.pages'"),
    ("run", [f"{S}.copies"], "tools.json was required"),
    ("run", [f'{P} == "x"'], "a value of print_job"),
]


@pytest.mark.parametrize(("say", "mean", "why"), REFUSED)
def test_words_that_no_thing_may_be_called_by_are_refused_with_their_line(say: str, mean: list[str], why: str) -> None:
    source = shop("Jobs over 500 pages must not be run.")
    with pytest.raises(DecisionError) as told:
        wording.loads(file(source, "Jobs over 500 pages must not be run.", [("run", [P]), (say, mean)]), source)
    assert why in str(told.value) and "words.1" in str(told.value) and "words.0" not in str(told.value)


def test_a_word_is_refused_where_its_sentence_turns_it_round_too() -> None:
    text = "A checked or unchecked account may not be closed."
    source = shop(text)
    with pytest.raises(DecisionError, match="it says 'unchecked' too"):
        wording.loads(file(source, text, [("checked", ["state.account_verified"])]), source)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"say": "run"}, "it was required"),
        ({"say": "run", "mean": [P]}, "it was required"),
        ({"say": "run", "mean": [], "of": ["x"]}, "at least 1"),
        ({"say": "run", "mean": [P], "of": ["x"], "surely": "yes"}, "a key of"),
        ("run", "a mapping with the keys"),
    ],
)
def test_a_line_of_another_form_is_refused(row: object, why: str) -> None:
    with pytest.raises(DecisionError, match=why):
        wording.loads(json.dumps({"words": [row]}), shop("Jobs must not be run."))
    with pytest.raises(DecisionError, match="a list was required"):
        wording.loads(json.dumps({"words": "run"}), shop("Jobs must not be run."))


def test_a_draft_ties_words_by_what_was_read_and_names_the_sentences_that_all_lines_bring() -> None:
    text, right = "A parcel may be dispatched only if the account was checked.", ["ALWAYS (ship IMPLIES verified)"]
    source, rules = shop(text), written(text, right)
    (one,) = (s for s in source.sentences if s.kind != "heading")
    clauses = [clause_of(one, "c")]
    named = {"ship": "the parcel is dispatched", "verified": "the account was checked"}
    rules = replace(rules, predicates=tuple(replace(p, description=named[p.name]) for p in rules.predicates))
    draft = sentences.drafted(source, clauses, rules, sentences.classify(source, clauses, rules))
    assert {line.say: line.mean for line in draft.lines} == {
        "dispatched": (S,),
        "checked": ("state.account_verified",),
    }
    assert draft.brought == (name_of(source, text),)
    assert any("the account was verified" in said for line in draft.lines for said in line.warnings)
    shown = decisions.draft(
        sentences.classify(source, clauses, rules), BOX, {}, wording.shown(draft, {draft.brought[0]: text})
    )
    assert wording.loads(shown, source) == () and decisions.loads(shown, source) == ()
    taken = "\n".join(row.replace("  # - ", "  - ", 1) for row in shown.split("\n"))
    lines = wording.loads(taken, source)
    assert {one.say for one in lines} == {"dispatched", "checked"}
    assert [a.cls for a in sentences.classify(source, clauses, rules, (), lines)][-1] == "rule"
    unsaid = written(text, right)  # where nothing ties a word, a person has to
    draft = sentences.drafted(source, clauses, unsaid, sentences.classify(source, clauses, unsaid))
    untied = {line.say: set(line.among) for line in draft.lines if not line.mean}
    assert untied == dict.fromkeys(("dispatched", "checked"), {S, "state.account_verified"})
    (parcel,) = [line for line in draft.lines if line.say == "parcel"]
    assert parcel.warnings == ("it says what ship_parcel is done to, and not that it is done",)
    assert "mean: [?]" in "\n".join(wording.shown(draft, {}))


def test_nothing_is_drafted_for_what_words_cannot_mend() -> None:
    for text, reading in (
        ("Jobs over 500 pages must not be run even for staff.", "ALWAYS (print IMPLIES few)"),
        ("Jobs over 500 pages must not be run.", "ALWAYS (print IMPLIES many)"),
        ("Jobs over 500 pages must not be run twice.", "ALWAYS (print IMPLIES few)"),
    ):
        source, rules = shop(text), written(text, [reading])
        (one,) = (s for s in source.sentences if s.kind != "heading")
        clauses = [clause_of(one, "c")]
        draft = sentences.drafted(source, clauses, rules, sentences.classify(source, clauses, rules))
        assert draft == wording.Draft((), ()), text


def test_two_demands_in_one_sentence_are_told_apart_only_where_each_is_whole() -> None:
    assert operators.demands("A job can only be run if it is paid, and you should look at it before doing so.") == (
        "A job can only be run if it is paid.",
        "you should look at it before it.",
    )
    for text in (
        "If it is paid, a job must be run, and you should look at it.",  # the condition is of both
        "A job must be run, and you should look at it unless it is paid.",  # the exception may be of both
        "A job must be run, and you should look at it if it is paid.",
        "A job must be run and looked at.",
        "A job must be run, and you should look at it, and you must log it.",
        "It is late, and you should look at it.",
    ):
        assert operators.demands(text) == (), text


@pytest.mark.parametrize(("text", "wrong"), WRONG)
def test_whoever_takes_every_line_that_a_wrong_reading_drafts_whole_still_leaves_it_open(
    text: str, wrong: list[str]
) -> None:
    """A line with a `?` asks for what it means: with such a line a wrong reading may come into force, as a rule that a
    person writes may be wrong."""
    source, rules = shop(text), written(text, wrong)
    (one,) = (s for s in source.sentences if s.kind != "heading")
    clauses = [clause_of(one, "c")]
    draft = sentences.drafted(source, clauses, rules, sentences.classify(source, clauses, rules))
    whole = [Word(say=line.say, mean=list(line.mean), of=list(line.of)) for line in draft.lines if line.mean]
    accounts = sentences.classify(source, clauses, rules, (), whole)
    assert next(a.cls for a in accounts if a.text == text) == "open"
