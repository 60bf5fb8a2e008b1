"""A number of those who do something, or of things that it has to be done to: no rule is read, for none counts them.

The sentences, and what is right for each, were written before any of them was read.
"""

from __future__ import annotations

import pytest

from wb.domain.policy import Clause
from wb.offline import norms

UNCOUNTED = """
At least two staff must approve the order before it ships.
At least two must approve before it ships.
At least three managers must sign a lease before it is filed.
At least one manager must approve a refund before it is issued.
No more than two may approve an order.
No more than two staff may open the safe.
No fewer than two managers must sign a lease.
Not more than two guests may enter the hall.
Both managers must approve a refund before it is issued.
Both must sign the lease before it is filed.
Both lamps must be cleaned before they are lent.
Neither may approve the order alone.
Neither of them may open the safe.
One of the managers must approve a refund before it is issued.
One of them must sign the lease before it is filed.
Either manager must approve the refund before it is issued.
Two managers must approve a refund before it is issued.
Two must approve a refund before it is issued.
Three of the five members must agree before a loan is granted.
A majority of members must agree before a loan is granted.
Half of the board must sign before the lease is filed.
All managers must approve a refund before it is issued.
Each of the two managers must approve a refund before it is issued.
Most members must agree before a loan is granted.
At most two managers may sign a lease before it is filed.
More than one manager must approve a refund before it is issued.
""".strip().splitlines()
NO_DEMAND = (  # that the reader takes for none, and its words keep open
    "Fewer than three guests may enter the hall.",
    "Nobody but two managers may open the safe.",
    "Any two managers may open the safe.",
)
READ = {  # a limit on a thing, everybody, nobody, what is there
    "No more than three lamps may be lent.": ("forbid", ("lend lamps",)),
    "Neither manager may approve a refund.": ("forbid", ("approve a refund",)),
    "All users must log in before ordering a lamp.": ("permit_only_if", ("order a lamp",)),
    "All lamps must be cleaned before they are lent.": ("permit_only_if", ("lend lamps",)),
    "At least two approvals are required to ship an order.": ("permit_only_if", ("ship an order",)),
    "An order can contain at most ten items.": ("permit_only_if", ("the order",)),
    "A manager must approve a refund before it is issued.": ("permit_only_if", ("issue refund",)),
}


def read(text: str) -> tuple[norms.Norm, ...]:
    return norms.norms(Clause("c1", text, 0, len(text), ()))


@pytest.mark.parametrize("text", UNCOUNTED)
def test_how_many_do_something_is_no_rule(text: str) -> None:
    found = read(text)
    assert found and all(norm.reason for norm in found), found


@pytest.mark.parametrize("text", NO_DEMAND)
def test_a_number_that_may_do_something_is_no_rule(text: str) -> None:
    assert all(norm.reason for norm in read(text))


@pytest.mark.parametrize("text", READ)
def test_a_number_of_what_is_there_everybody_and_nobody_are_read_as_before(text: str) -> None:
    (norm,) = read(text)
    assert not norm.reason and (norm.modality, norm.actions) == READ[text]
