"""What a sentence forbids, permits only under conditions or obliges, by a table in short writing."""

import pytest

from wb.offline import modality, norms
from wb.offline.conditions import Condition, Earlier, Either, Every, Negated, Phrase


def short(condition: Condition | None) -> str:
    """A condition in one line: `once(…)` for what was so before, `&` and `v` between parts, `|` before its subject."""
    match condition:
        case Phrase(text, about):
            return f"{text}|{about}" if about else text
        case Negated(body):
            return f"not({short(body)})"
        case Earlier(body):
            return f"once({short(body)})"
        case Every(parts):
            return " & ".join(map(short, parts))
        case Either(parts):
            return " v ".join(map(short, parts))
    return ""


F, O, P = "forbid", "oblige", "permit_only_if"  # noqa: E741
NORMS = {  # modality, actions, when, requires
    "You must not lend a lamp.": [(F, "lend a lamp", "", "")],
    "Never lend a lamp.": [(F, "lend a lamp", "", "")],
    "You must not lend a lamp if it is broken.": [(F, "lend a lamp", "a lamp is broken", "")],
    "You must not lend a lamp unless the member has paid.": [(F, "lend a lamp", "", "the member has paid")],
    "You must not lend a lamp without asking the owner.": [(F, "lend a lamp", "", "once(ask the owner)")],
    "Do not lend a lamp without a card.": [(F, "lend a lamp", "", "a card")],
    "You must not lend a lamp until the member has paid.": [(F, "lend a lamp", "", "once(the member has paid)")],
    "You must not lend a lamp before the member has paid.": [(F, "lend a lamp", "", "once(the member has paid)")],
    "You must not lend a lamp without asking the owner, provided that he is old.": [
        (F, "lend a lamp", "not(once(ask the owner))", "he is old")
    ],
    "You must not lend a lamp unless it is old, unless the member has paid.": [
        (F, "lend a lamp", "", "a lamp is old v the member has paid")
    ],
    "You must not lend a lamp or sell a book.": [(F, "lend a lamp; sell a book", "", "")],
    "You must not lend lamps to members who are old.": [(F, "lend lamps to members", "members are old", "")],
    "Guests are not allowed to enter, except with a card.": [(F, "enter", "Guests", "a card")],
    "A bag must not exceed 10 kg.": [(P, "the bag", "", "not(exceed 10 kg|bag)")],
    "No lamp may be lent.": [(F, "lend lamp", "", "")],
    "None of our lamps may be lent to guests.": [(F, "lend lamps to guests", "", "")],
    "Nobody may enter the hall.": [(F, "enter the hall", "", "")],
    "No one may enter the hall.": [(F, "enter the hall", "", "")],
    "Nothing may be lent.": [(F, "lend anything", "", "")],
    "Neither lamps nor books may be lent.": [(F, "lend lamps or books", "", "")],
    "It is not possible to lend a lamp.": [(F, "lend a lamp", "", "")],
    "It is prohibited for guests to enter the hall.": [(F, "enter the hall", "guests", "")],
    "Smoking is prohibited.": [(F, "smoke", "", "")],
    "Tickets are not refundable.": [(F, "refund Tickets", "", "")],
    "If the member is a guest, do not lend a lamp.": [(F, "lend a lamp", "the member is a guest", "")],
    "Otherwise, do not lend a lamp.": [(F, "lend a lamp", "otherwise", "")],
    "You may lend a lamp unless it is broken.": [(F, "lend a lamp", "a lamp is broken", "")],
    "You may lend a lamp except on Sundays.": [(F, "lend a lamp", "on Sundays", "")],
    "You must lend a lamp.": [(O, "lend a lamp", "", "")],
    "Lend lamps.": [(O, "Lend lamps", "", "")],
    "You must lend a lamp if the member has paid.": [(O, "lend a lamp", "the member has paid", "")],
    "Make sure the lamp is clean.": [(O, "Make sure the lamp is clean", "", "")],
    "At night, you must lock the door.": [(O, "lock the door", "At night", "")],
    "As a member, you must lock the door.": [(O, "lock the door", "", "")],
    "You must ask the owner before lending a lamp.": [(P, "lend a lamp", "", "once(ask the owner)")],
    "When lending a lamp, you must ask the owner.": [(P, "lend a lamp", "", "once(ask the owner)")],
    "To lend a lamp, a card is required.": [(P, "lend a lamp", "", "a card")],
    "The member must have a card to lend a lamp.": [(P, "lend a lamp", "The member", "have a card")],
    "A card is required to lend a lamp.": [(P, "lend a lamp", "", "A card")],
    "A card is required for lending a lamp.": [(P, "lend a lamp", "", "A card")],
    "Lending a lamp requires a card.": [(P, "lend a lamp", "", "a card")],
    "The lamp must be clean.": [(P, "the lamp", "", "The lamp is clean")],
    "The lamp must be cleaned before it is lent.": [(P, "lend lamp", "", "once(clean lamp)")],
    "Members are obliged to pay the fee.": [(P, "the Members", "", "Members pay the fee")],
    "You may lend a lamp only if the member has paid.": [(P, "lend a lamp", "", "the member has paid")],
    "You may lend a lamp if and only if the member has paid.": [(P, "lend a lamp", "", "the member has paid")],
    "You may lend a lamp only after the member has paid.": [(P, "lend a lamp", "", "once(the member has paid)")],
    "You may lend a lamp only once it is clean.": [(P, "lend a lamp", "", "a lamp is clean")],
    "Lend a lamp only when it is clean.": [(P, "Lend a lamp", "", "a lamp is clean")],
    "Only members may lend lamps.": [(P, "lend lamps", "", "members")],
    "You may only lend lamps that are clean.": [(P, "lend lamps", "", "lamps are clean")],
    "You may lend at most two lamps.": [(P, "lend lamps", "", "at most two lamps|lend lamps")],
    "A member can have at most two lamps.": [(P, "the member", "", "at most two lamps|member")],
    "At most two lamps per member.": [(P, "", "", "At most two lamps per member")],
    "You may lend a lamp.": [],
    "You need not ask the owner.": [],
    "Lamps at most two.": [],
}


@pytest.mark.parametrize("text", NORMS)
def test_a_sentence_says_what_is_forbidden_required_or_ordered(text: str) -> None:
    found = norms.read(modality.plain(text))
    assert [(n.modality, "; ".join(n.actions), short(n.when), short(n.requires)) for n in found] == NORMS[text]
    assert not any(n.reason or n.review for n in found)


UNDECIDED = {
    "You must not only lend lamps.": "a prohibition with 'only' has two readings",
    "Not all lamps may be lent.": "'not' in 'Not all lamps may'",
    "No key is needed.": "'no' in 'No key is needed'",
    "This must not be lent.": "'This' points back",
    "You must ensure that the lamp is clean before lending it.": "'lend it' points back",
    "You may lend a lamp but not sell it.": "'sell it' points back",
}


@pytest.mark.parametrize("text", UNDECIDED)
def test_what_no_form_fits_is_undecided_with_its_reason(text: str) -> None:
    (found,) = norms.read(modality.plain(text))
    assert UNDECIDED[text] in found.reason


def test_a_permission_without_something_is_a_doubtful_restriction() -> None:
    (found,) = norms.read("Lamps may be lent without asking")
    assert (found.modality, short(found.requires)) == (P, "not(ask)") and "mere permission" in found.review
