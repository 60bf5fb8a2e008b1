"""What the grammar reads of a sentence, a list, a row or a page, by tables: each reading beside what must stay open."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from wb.domain import policy, tools
from wb.domain.policy import Policy, pieces
from wb.domain.tools import Toolbox
from wb.logic import cel
from wb.logic.syntax import render
from wb.offline import engine, reader
from wb.rules import sentences
from wb.rules.extract import Parse
from wb.rules.rule import RuleDraft


def tool(name: str, description: str, keywords: tuple[str, ...] = (), **arguments: dict[str, object]) -> dict:
    parameters = {"type": "object", "properties": arguments}
    return {"name": name, "description": description, "keywords": list(keywords), "parameters": parameters}


def flag(name: str, description: str, *keywords: str) -> dict:
    return {"name": name, "type": "boolean", "description": description, "keywords": list(keywords)}


BOATS = tools.parse(
    json.dumps(
        {
            "tools": [
                tool(
                    "rent_boat",
                    "Rent a boat.",
                    ("boat",),
                    guests={"type": "integer", "description": "number of guests"},
                    hours={"type": "integer", "description": "hours of the rental"},
                    price={"type": "number", "description": "price in dollars"},
                    damaged={"type": "boolean", "description": "whether the boat is damaged"},
                ),
                tool("open_boathouse", "Open the boathouse.", ("boathouse",)),
                tool("admit_guests", "Admit guests to the house.", guests={"type": "integer"}),
                tool("cancel_order", "Cancel an order.", order_id={"type": "string"}),
                tool("show_price", "Show the price."),
                tool("sell_map", "Sell a map.", colours={"type": "array", "description": "the colours"}),
            ],
            "state": [
                flag("licence", "the user has a licence", "licence"),
                flag("member", "the user is a member", "member"),
                flag("agent_trained", "the agent is trained", "trained"),
                flag("not_insured", "the user is not insured", "insured"),
                flag("weather_good", "the weather is good", "good weather"),
                {"name": "order_status", "type": "string", "enum": ["pending", "sent"], "description": "its status"},
                {"name": "age", "type": "integer", "description": "age in years"},
            ],
        }
    )
)
MEMBER, LICENCE = "rent_boat: member", "rent_boat: licence"
READ = {
    "Never rent a boat.": "rent_boat: never",
    "Renting a boat is forbidden.": "rent_boat: never",
    "It is forbidden to rent a boat.": "rent_boat: never",
    "No boat may be rented.": "rent_boat: never",
    "The assistant must not rent a boat or open the boathouse.": "rent_boat: never; open_boathouse: never",
    "Do not rent or open a boat.": None,  # nothing opens a boat
    "Do not rent a boat and open the boathouse.": None,  # one alone may be allowed
    "Only members may rent a boat.": MEMBER,
    "Users must be members to rent a boat.": MEMBER,
    "A user must not be a member to rent a boat.": "rent_boat: NOT member",
    "A boat may be rented only if the user is a member.": MEMBER,
    "A boat can only be rented if the user is a member.": MEMBER,
    "A boat may be rented if the user is a member.": None,  # whether only if is not said
    "Do not rent a boat unless the user is a member.": MEMBER,
    "Do not rent a boat unless the user is not a member.": "rent_boat: NOT member",
    "Unless the user is a member, the assistant may rent a boat.": "rent_boat: NOT member",
    "Renting a boat requires a licence.": LICENCE,
    "Renting a boat is not allowed unless the user has a licence.": LICENCE,
    "A user without a licence must not rent a boat.": LICENCE,
    "A user who has no licence must not rent a boat.": LICENCE,
    "A user with a licence must not rent a boat.": "rent_boat: NOT licence",
    "The assistant must not rent a boat without a licence.": LICENCE,
    "The assistant must not rent a boat or open the boathouse without a licence.": None,  # or the last alone
    "The assistant must not rent a boat or open the boathouse unless the user has a licence.": None,
    "A user without a licence must not rent a boat or open the boathouse.": f"{LICENCE}; open_boathouse: licence",
    "If the user is a member, do not open the boathouse.": "open_boathouse: NOT member",
    "Do not rent a boat if the user is under 18 or has no licence.": "rent_boat: age >= 18 AND licence",
    "Do not rent a boat if the user is under 18 and has no licence.": "rent_boat: age >= 18 OR licence",
    "Do not rent a boat if the user is not a member or a guest.": None,
    "Never rent a boat to a member without a licence.": "rent_boat: NOT member OR licence",
    "Do not rent a boat to non-members.": None,
    "Books may be borrowed by cardholders in good standing.": None,
    "Boats may be rented by members.": None,  # by others perhaps not
    "A user may rent a boat without a licence.": None,
    "Members only may rent a boat.": None,
    "The assistant may not only rent a boat.": None,
    "Nobody but members may rent a boat.": None,
    "It is not forbidden to rent a boat.": None,
    "It must not be rented.": None,
    "Do not rent it.": None,
    "Do not rent a boat, except to members.": None,
    "A user who is insured must not rent a boat.": None,  # the field says the opposite
    "Do not rent a boat unless the boat has a licence.": None,  # the field is of the user
    "Do not rent a boat unless the agent is a member.": None,  # and of no agent
    "Do not rent a boat unless the agent is trained.": "rent_boat: agent_trained",
    "Guests under 18 must not rent a boat.": None,
    "Users under 18 must not rent a boat.": "rent_boat: age >= 18",
    "Users must be 18 or older to rent a boat.": "rent_boat: age >= 18",
    "Users must be over 18 to rent a boat.": "rent_boat: NOT age <= 18",
    "You can rent a boat for up to 3 hours.": "rent_boat: hours <= 3",
    "You can rent a boat for at least 3 hours.": None,
    "You must not rent a boat for less than 3 hours.": "rent_boat: hours >= 3",
    "You must not rent a boat for less than 3 days.": None,
    "You must not rent a boat above $50.": "rent_boat: price <= 50",
    "You must not rent a boat above €50.": None,
    "The assistant must not rent more than one boat.": None,  # nothing counts them
    "The assistant must not rent a second boat.": None,
    "The assistant must not rent all boats.": None,
    "No more than 30 guests may be admitted.": None,
    "A map can contain at most two colours.": "sell_map: size(colours) <= 2",
    "A map must not contain more than two colours.": "sell_map: size(colours) <= 2",
    "Do not rent a boat that is damaged.": "rent_boat: NOT damaged",
    "Never rent a damaged boat.": "rent_boat: NOT damaged",
    "Never cancel an order that is sent.": "cancel_order: NOT order_status == sent",
    "You should not rent a boat in good weather.": "rent_boat: NOT weather_good",
    "You should not rent a boat in bad weather.": None,
    "The assistant must show the price before renting a boat.": "rent_boat: ONCE show_price",
    "Do not rent a boat until the price is shown.": "rent_boat: ONCE show_price",
    "Before renting a boat, show it.": None,
    "If the user is a member, the assistant must show the price.": "member: EVENTUALLY show_price",
    "The assistant must show the price or cancel an order.": None,
    "An order must be cancelled.": None,  # by whom, and when, is not said
    "Do not rent a boat, and do not cancel an order that is sent.": "rent_boat: never; "
    "cancel_order: NOT order_status == sent",
    "Do not rent a boat, and do not open the boathouse without a licence.": None,
}
FREE = {
    "You may cancel orders.": "a permission",
    "The assistant need not show the price.": "an exemption",
    "The assistant need not show the price to members who have a licence.": "",
    '"Member" means a user who has paid.': "a definition",
    '"Member" means that the user must have paid.': "",
    "A canoe is not a boat.": "a definition",
    "The desk keeps a list of the trips.": "a statement without force, exception or limit",
    "The trips are listed in local time.": "a statement without force, exception or limit",
    "The trips are listed only in local time.": "",
    "The trips are listed before noon.": "",
    "Guests are admitted.": "",  # what a tool does
    "The boathouse remains shut.": "",
    "Boats are for members.": "",
    "Boats are unwelcome.": "",
    "List the trips in local time.": "",
    "Trips cost $5.": "",
    "Smoking.": "",
}


def told(draft: RuleDraft) -> str:
    """A rule in short: the act, and what it requires, with tests for the names of predicates."""
    text = render(draft.rule.formula).removeprefix("ALWAYS ").strip("()")
    for p in draft.predicates:
        test = cel.render(p.test) if p.test is not None else p.name
        text = re.sub(rf"\b{p.name}\b", re.sub(r'state\.|call\.|"', "", test), text)
    if text.startswith("NOT "):
        return f"{text.removeprefix('NOT ')}: never"
    return text.replace(" IMPLIES ", ": ", 1)


def parsed(text: str, toolbox: Toolbox = BOATS) -> list[tuple[str, Parse]]:
    source = policy.of_text(text, toolbox)
    return list(zip([piece.text for piece in pieces(source)], reader.read(source), strict=True))


@pytest.mark.parametrize(("text", "expected"), READ.items())
def test_a_sentence_is_read_in_full_or_open(text: str, expected: str | None) -> None:
    ((_, one),) = parsed(text)
    assert one.cls == ("open" if expected is None else "duty" if "EVENTUALLY" in expected else "rule"), one
    assert "; ".join(map(told, one.drafts)) == (expected or "")
    assert one.reason and all(d.rule.quote == text for d in one.drafts)


@pytest.mark.parametrize(("text", "reason"), FREE.items())
def test_that_a_sentence_demands_nothing_is_recognised_never_inferred(text: str, reason: str) -> None:
    ((_, one),) = parsed(text)
    assert (one.cls, reason) == ("not a constraint", one.reason) if reason else one.cls == "open"


PAGES = {
    "an item is read with the opening of its list": (
        "Do not:\n\n- rent a boat;\n- cancel an order without a licence.\n",
        ["rule", "rule: rent_boat: never", "rule: cancel_order: licence"],
    ),
    "an opening of which one item is not read is open": (
        "Do not:\n\n- rent a boat;\n- feed the ducks.\n",
        ["open", "rule: rent_boat: never", "open"],
    ),
    "a head that forbids is no statement, nor are the items below it": (
        "The following is forbidden:\n\n- renting a boat\n- The price is shown.\n",
        ["open", "open", "open"],
    ),
    "of a list of conditions it is not said whether one or all are meant": (
        "A boat may be rented only if:\n\n- the user is a member\n- the user has a licence\n",
        ["open", "open", "open"],
    ),
    "a permission under a condition is none": (
        "You may do the following only for members:\n\n- cancel an order\n",
        ["open", "open"],
    ),
    "a row is read with its act": (
        "| Act | Rule |\n|---|---|\n| Renting a boat | At most 3 guests. |\n| Cancelling an order | Not allowed |\n",
        ["free", "free", "rule", "rule: rent_boat: guests <= 3", "rule", "rule: cancel_order: never"],
    ),
    "a column may forbid what stands in it": (
        "| Act | Forbidden for |\n|---|---|\n| Renting a boat | guests |\n",
        ["free", "open", "free", "open"],
    ),
    "a row about somebody narrows its rule": (
        "| Who | Rule |\n|---|---|\n| Guests | Never rent a boat. |\n",
        ["free", "free", "open", "open"],
    ),
    "a title of whom narrows what stands below": ("## Members\n\nNever rent a boat.\n", ["free", "open"]),
    "so does one of an exception": ("## Exceptions\n\nNever rent a boat.\n", ["free", "open"]),
    "and a label": ("**Members:** Never rent a boat.\n", ["open"]),
    "a title of what the rules are about does not": (
        "## Boats\n\nNever rent a boat.\n",
        ["free", "rule: rent_boat: never"],
    ),
    "a title may forbid by itself": ("## No smoking\n\nThe desk shows trips.\n", ["open", "open"]),
}


@pytest.mark.parametrize(("text", "expected"), PAGES.values(), ids=PAGES)
def test_what_a_sentence_is_read_with(text: str, expected: list[str]) -> None:
    found = [
        ": ".join((one.cls.replace("not a constraint", "free"), *map(told, one.drafts))) for _, one in parsed(text)
    ]
    assert found == expected


GAPS = {
    "a page's code": ("<script>never()</script><style>a {}</style><!-- Never rent. --><title>Never</title>", None),
    "an image": ("<img src='a.png'>", None),
    "an image with words": ("<img src='a.png' alt='Never rent a boat.'>", "hidden: alt of img: what the reader"),
    "words that are hidden": ("<p hidden>Never rent a boat.</p>", "hidden: hidden: what the reader"),
}


@pytest.mark.parametrize(("markup", "why"), GAPS.values(), ids=GAPS)
def test_what_no_reader_sees_demands_nothing_and_other_gaps_are_open(tmp_path, markup: str, why: str | None) -> None:
    path = tmp_path / "policy.html"
    path.write_text(f"<body><p>The lake is old.</p>{markup}", "utf-8")
    found = [one for one in reader.read(policy.load(path)) if one.cls != "not a constraint"]
    assert [one.cls for one in found] == ["open"] * bool(why) and all(one.reason.startswith(why) for one in found)


def test_an_open_sentence_names_the_tools_that_it_may_speak_of() -> None:
    ((_, one),) = parsed("No more than 30 guests may be admitted to the boathouse.")
    assert set(one.tools) == {"open_boathouse", "admit_guests"}
    ((_, one),) = parsed("Nobody is told of it.")
    assert one.cls == "open" and one.tools == ()


@pytest.fixture(scope="module")
def handbook() -> Policy:
    return policy.load("web_tasks")


HANDBOOK = """shop: membership
book_flight: vaccine
buy_car: dr_license; rent_car: dr_license
book_hotel: age >= 18
search_media: domestic
apply_for_job: age >= 15
place_order: ONCE show_total
place_order: order_confirmed
place_order: order_confirmed
place_order: total <= 500 OR amount_approved
place_order: size(items) <= 10
place_order: size(items) <= 10
use_saved_card: card_selected
enter_card_details: page_https
enter_card_details: page_https
apply_promotional_code: NOT voucher_applied
start_subscription: consent
start_subscription: consent
transfer_money: payee_listed; transfer_money: amount <= 1000
transfer_money: ONCE show_payee
disclose_password: never
disclose_card_number: never
disclose_health_record: health_record_requested
share_personal_data: consent
share_personal_data: consent
fill_field: field_mandatory
read_location: location_on
change_password: never
keep_screenshot: days <= 30
accept_tracking_cookies: never
accept_necessary_cookies: NOT user_objects
delete_account: ONCE export_data
delete_account: written_confirmation
delete_file: file_named
delete_file: ONCE make_backup
sign_contract: consent
sign_contract: age >= 18
sign_contract: age >= 18; sign_contract: consent
open_social_media_account: age >= 13
open_social_media_account: NOT age <= 12
consent_withdrawn: EVENTUALLY stop_task
ONCE login_failed: EVENTUALLY wait_for_user
install_extension: never
solve_captcha: captcha_requested
send_email: ONCE preview_email
send_email: ONCE preview_email
send_message: characters <= 2000
send_email: size(recipients) <= 20
send_email: NOT size(recipients) >= 21
post_review: product_used
post_review: NOT review_has_personal_data
post_review: NOT review_has_insult
EVENTUALLY answer_user
supervisor_requested: EVENTUALLY forward_complaint
reserve_table: guests <= 8
upload_file: NOT size_mb >= 25
download_file: site_allowed
open_tab: open_tabs <= 12
retry_payment: attempts <= 2"""


def test_the_handbook_is_read_but_for_two_sentences(handbook: Policy) -> None:
    found = reader.read(handbook)
    assert Counter(one.cls for one in found) == {"rule": 61, "duty": 4, "not a constraint": 47, "open": 2}
    assert ["; ".join(map(told, one.drafts)) for one in found if one.drafts] == HANDBOOK.splitlines()
    assert [one.tools for one in found if one.cls == "open"] == [
        ("delete_session_notes",),
        ("reject_cookies", "accept_tracking_cookies"),
    ]


def test_a_guard_is_written_from_the_sentences_by_the_same_parse() -> None:
    def sentence(id: str, text: str) -> dict[str, object]:
        return {"id": id, "text": text, "headings": [], "context": [], "definitions": [], "scope": ""}

    asked = {
        "tool": {"name": "rent_boat"},
        "signature": "def guard(guests: int, member: bool) -> tuple[bool, str]:",
        "parameters": [
            {"name": "guests", "field": "rent_boat.guests", "measure": "value"},
            {"name": "member", "field": "state.member", "measure": "value"},
        ],
        "sentences": [
            sentence("s1", "The assistant must not rent a boat for more than 3 guests."),
            sentence("s2", "Only members may rent a boat."),
            sentence("s3", "Never cancel an order."),
            sentence("s4", "Renting a boat requires a licence."),
            sentence("s5", "Members only may rent a boat."),
        ],
    }
    reply = engine.write(asked, BOATS)
    assert reply["uncovered"] == ["s4", "s5"]  # no parameter tells of a licence, and s5 is not read
    space: dict[str, object] = {}
    exec(reply["code"], space)
    guard = space["guard"]
    assert [guard(3, True), guard(4, True), guard(3, False)] == [(True, "allowed"), (False, "s1"), (False, "s2")]


BIRDS = {"weigh_bird": "Weigh a bird.", "fly_bird": "Fly a bird.", "book_session": "Book a session for visitors."}


@pytest.mark.parametrize(
    ("said", "held"),
    [  # what nouns alone name may be about any act: all that change something are held
        ("Nobody under fourteen handles a bird without a guardian beside them.", {"fly_bird", "book_session"}),
        ("A bird in moult is neither exercised nor handed to visitors.", {"fly_bird", "book_session"}),
        ("Nobody may fly a bird whose jesses are, as the falconer says, worn or so.", {"weigh_bird", "fly_bird"}),
    ],
)
def test_an_open_sentence_holds_what_it_names_by_an_act_and_else_all_that_changes_something(tmp_path, said, held):
    (tmp_path / "policy.md").write_text(f"# Birds\n\n{said}\n", "utf-8")
    rows = [{**tool(name, about), "mutating": name != "weigh_bird"} for name, about in BIRDS.items()]
    (tmp_path / "tools.json").write_text(json.dumps({"tools": rows}), "utf-8")
    source = policy.load(tmp_path)
    (account,) = [row for row in sentences.classify(source, reader.extracted(source)).accounts if row.cls == "open"]
    assert {*account.tools} == held
