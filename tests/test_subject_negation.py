"""Negation on the subject's side, by truth: who lacks a thing is kept out, who has it never is.

The oracle is not the grammar: whether a sentence forbids is worked out from the value of the field and
from what the shape of the sentence says, in three-valued logic, so that what is not grounded is unknown.
"""

from collections import Counter
from itertools import cycle

import pytest

from wb.domain.policy import Clause
from wb.domain.tools import Field, Tool, Toolbox
from wb.logic import cel
from wb.logic.formula import FALSE, TRUE, And, Atom, Not, Once, Or
from wb.offline import grounding, norms

ROLES = "reader passenger driver visitor patient student diver tenant".split()
NOUNS = """passport licence ticket badge deposit membership permit visa voucher receipt reservation prescription
 certificate helmet wristband invitation subscription insurance contract signature account password token key card
 locker referral
 diploma warranty guarantor escort appointment invoice mandate lanyard pass stamp waiver registration consent""".split()
SHAPES = (
    "A {role} without a valid {noun} must not reserve a room.",
    "A {role} without a {noun} must not reserve a room.",
    "{Role}s without any {noun} may not reserve a room.",
    "A {role} with no {noun} cannot reserve a room.",
    "A {role} not holding a {noun} must not reserve a room.",
    "A {role} not in possession of a {noun} must not reserve a room.",
    "A {role} lacking a {noun} must not reserve a room.",
    "A {role} having no {noun} must not reserve a room.",
    "A {role} who does not have a {noun} must not reserve a room.",
    "A {role} who has no {noun} must not reserve a room.",
    "A {role} that lacks a {noun} must not reserve a room.",
    "A {role} whose {noun} is not valid must not reserve a room.",
    "No {role} without a {noun} may reserve a room.",
    "Nobody without a {noun} may reserve a room.",
    "A user without a valid {noun} must not reserve a room.",
    "A {role} must not reserve a room without a {noun}.",
)
FIELDS = {  # name, description, keywords, and whether True says that the thing is there
    "named by the role": ("{noun}_valid", "the {role} has a valid {noun}", ("valid {noun}", "{noun}"), True),
    "without the role": ("{noun}_valid", "a valid {noun} is there", ("valid {noun}", "{noun}"), True),
    "no keywords": ("has_{noun}", "whether the {role} holds a {noun}", (), True),
    "the name alone": ("{noun}", "", (), True),
    "negated": ("no_{noun}", "the {role} has no valid {noun}", ("{noun}",), False),
    "missing": ("{noun}_missing", "whether the {role} lacks a valid {noun}", ("valid {noun}", "{noun}"), False),
}


def box(noun, role, kind):
    name, description, keywords, _ = FIELDS[kind]
    field = Field(
        name.format(noun=noun),
        "boolean",
        description.format(noun=noun, role=role),
        (),
        tuple(k.format(noun=noun) for k in keywords),
    )
    return Toolbox((Tool("reserve_room", "Reserve a room.", (), ("reserve a room",)),), (field,))


def readings(text, toolbox):
    clause = Clause("c", text, 0, len(text))
    return [
        r for norm in norms.norms(clause) for r in grounding.ground(norm, toolbox).readings if r.modality != "oblige"
    ]


def truth(part, reading, known):
    """The value of a condition in Kleene's logic; None is unknown."""
    match part:
        case Atom(name):
            test = next(p for p in reading.predicates if p.name == name).test
            return None if test is None else compare(known, cel.render(test))
        case Not(body):
            value = truth(body, reading, known)
            return None if value is None else not value
        case And(left, right):
            values = truth(left, reading, known), truth(right, reading, known)
            return False if False in values else None if None in values else True
        case Or(left, right):
            values = truth(left, reading, known), truth(right, reading, known)
            return True if True in values else None if None in values else False
        case Once(_):
            return None
    return {TRUE: True, FALSE: False}[part]


def compare(known, test):
    """The only test that the boxes below allow is the flag itself."""
    return known[test]


def verdict(text, toolbox, known):
    """ "forbidden", "allowed" or "open" for a call of the tool where the fields have these values."""
    values = [truth(r.condition, r, known) for r in readings(text, toolbox)]
    return "forbidden" if False in values else "open" if None in values or not values else "allowed"


def outcome(shape, noun, role, kind):
    """ "right": read completely and as it is meant; "open": undecided somewhere; else what went wrong."""
    toolbox, holds = box(noun, role, kind), FIELDS[kind][3]
    path = f"state.{toolbox.state[0].name}"
    text = shape.format(role=role, Role=role.capitalize(), noun=noun)
    having, lacking = (verdict(text, toolbox, {path: value}) for value in (holds, not holds))
    if having == "forbidden" or lacking == "allowed":
        return f"wrong: {having} with, {lacking} without"
    return "right" if (having, lacking) == ("allowed", "forbidden") else "open"


def table(shapes=SHAPES, kinds=tuple(FIELDS)):
    """How often each outcome came, by shape and by field."""
    return {
        (shape, kind): Counter(
            outcome(shape, noun, role, kind) for noun, role in zip(NOUNS, cycle(ROLES), strict=False)
        )
        for shape in shapes
        for kind in kinds
    }


def test_there_are_forty_nouns():
    assert len(set(NOUNS)) == 40


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_who_lacks_a_thing_is_never_read_as_who_has_it(shape, kind):
    found = table((shape,), (kind,))[shape, kind]
    assert not [o for o in found if o.startswith("wrong")], dict(found)
