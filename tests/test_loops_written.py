"""What loops are written for a test of lists, word by word; and that all which is said of them to the prover is true.

Nagini proves what is said where it is there (`test_nagini`); these tests see in no time that it is there, and run it.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import batched

import pytest
from test_loops import STATE, TOOL, guard

from wb.domain.tools import Field, Schema, schemas
from wb.guards import contract, loops, sandbox
from wb.logic import cel, evaluation, facts

READ = schemas(STATE), schemas(TOOL.arguments)


def made(text: str, kind: loops.Type = "bool", **taken: loops.Input | None) -> loops.Computed | None:
    return loops.computed("p", cel.parse(text), kind, READ, taken)


def plain(text: str) -> str:
    """Without the digests that tell loops of one kind apart."""
    return re.sub(r"_[0-9a-f]{6}(?![0-9a-z])", "", text).replace(sandbox.GENERATED, "")


def said(one: loops.Computed) -> tuple[str, str, str]:
    """What is read (of each item: *; on trust: !), what is asked of it, and what the test means in the definitions."""
    inputs = [f"{i.name}:{i.kind}{'*' * i.many}{'!' * i.trusted}" for i in one.inputs]
    asked = [*(f"{a}~{b}" for a, b in one.alike), *(f"{a}+" for a in one.filled), *["added"] * one.added, str(one.most)]
    return " ".join(inputs), " ".join(asked), plain(one.meant)


# A test; what it reads, what is asked of that, the longest list; what it means in the definitions.
TABLE = r"""
!call.items.all(i, i.paid)
    items_paid:bool* | 10000
    not (every_of(items_paid, 0))
!(call.items.all(i, i.paid))
    items_paid:bool* | 10000
    not (every_of(items_paid, 0))
call.items.all(i, i.paid || true)
    items_paid:bool* | 10000
    every_of(items_paid, 0)
call.items.all(i, i.paid ? i.cents > 1 : i.cents < 1)
    items_paid:bool* items_cents:int* | items_cents~items_paid 10000
    every_of(items_paid, items_cents, 0)
call.id == 'x' ? call.items.all(i, i.paid) : call.ids.exists(i, i == 'x')
    id:string items_paid:bool* ids:string* | 10000
    ((id == 'x') and (every_of(items_paid, 0))) or (not (id == 'x') and (some_of(ids, 0)))
call.items.all(i, i.paid) == call.items.exists(i, i.cents > 1)
    items_paid:bool* items_cents:int* | 10000
    (every_of(items_paid, 0)) == (some_of(items_cents, 0))
call.items.all(i, i.paid == (i.cents > 1))
    items_paid:bool* items_cents:int* | items_cents~items_paid 10000
    every_of(items_paid, items_cents, 0)
call.items.all(i, i.paid != (i.kind == 'card'))
    items_paid:bool* items_kind:string* | items_kind~items_paid 10000
    every_of(items_paid, items_kind, 0)
call.items.all(i, i.cents in [1, 2])
    items_cents:int* | 10000
    every_of(items_cents, 0)
call.items.all(i, i.cents in [1, state.least])
    items_cents:int* least:int | 518
    every_of(items_cents, least, 0)
call.items.all(i, i.kind in ['card'])
    items_kind:string* | 10000
    every_of(items_kind, 0)
call.items.all(i, i.kind < 'card')
    items_kind_card:bool*! | 10000
    every_of(items_kind_card, 0)
call.items.all(i, i.kind == null)
    items_kind_null:bool*! | 10000
    every_of(items_kind_null, 0)
call.items.all(i, i.tags == [])
    items_tags:bool*! | 518
    every_of(items_tags, 0)
call.items.all(i, i == i)
    items:bool*! | 518
    every_of(items, 0)
call.items.all(i, i.cents + 1 > i.cents - state.least)
    items_cents:int* least:int | added 10000
    every_of(items_cents, least, 0)
call.items.all(i, i.cents * 2 > 1)
    items_cents_2:int* | 10000
    every_of(items_cents_2, 0)
call.items.all(i, i.cents % 2 == 0)
    items_cents_2:int* | 10000
    every_of(items_cents_2, 0)
call.items.all(i, -i.cents > 1)
    items_cents:int* | 10000
    every_of(items_cents, 0)
call.items.all(i, timestamp(i.at) < timestamp('2026-01-01T00:00:00Z'))
    items_at:timestamp* | 10000
    every_of(items_at, 0)
call.items.all(i, timestamp(i.at) == timestamp('2026-01-01T00:00:00Z'))
    items_at:timestamp* | 10000
    every_of(items_at, 0)
call.items.all(i, timestamp(i.at) + duration('1h') < now)
    items_at_duration_1h:timestamp* now:timestamp | 10000
    every_of(items_at_duration_1h, now, 0)
call.items.all(i, now - timestamp(i.at) < duration('90m'))
    items_now_at:duration* | 10000
    every_of(items_now_at, 0)
call.items.all(i, has(i.kind))
    items_has_kind:bool*! | 10000
    every_of(items_has_kind, 0)
call.items.exists_one(i, i.cents > 3 && i.paid)
    items_cents:int* items_paid:bool* | items_paid~items_cents 10000
    (count_of(items_cents, items_paid, 0)) == 1
call.items.exists_one(i, i.paid) && call.items.all(i, i.cents > 0)
    items_paid:bool* items_cents:int* | 10000
    ((count_of(items_paid, 0)) == 1) and (every_of(items_cents, 0))
call.items.filter(i, i.paid).all(j, j.cents > 1)
    items_paid:bool* items_cents:int* | items_cents~items_paid 10000
    every_of(items_paid, items_cents, 0)
call.items.filter(i, i.paid).filter(i, i.cents > 3).exists(j, j.kind == 'card')
    items_paid:bool* items_cents:int* items_kind:string* | items_cents~items_paid items_kind~items_paid 10000
    some_of(items_paid, items_cents, items_kind, 0)
call.items.all(i, i.cents > 0 && call.items.exists(i, i.cents == 3))
    items_cents:int* | 221
    every_of(items_cents, 0)
call.items.all(i, has(i.kind) && i.kind.startsWith('c'))
    items_has_kind_startsWith_c:bool*! | 10000
    every_of(items_has_kind_startsWith_c, 0)
call.items.all(i, string(i.cents) == 'x')
    items_cents:string* | 10000
    every_of(items_cents, 0)
call.unknown.all(i, i > 3)
    unknown:int* | 10000
    every_of(unknown, 0)
state.unknown in call.ids
    ids:string* unknown:string | 10000
    some_of(ids, unknown, 0)
call.items[0].kind in call.items[0]
    names_of_items_0:string* items_0_kind:string | 10000
    some_of(names_of_items_0, items_0_kind, 0)
call.loose.all(i, i)
    loose:bool* | 10000
    every_of(loose, 0)
call.loose.all(i, i.ok)
    loose_ok:bool* | 10000
    every_of(loose_ok, 0)
call.loose.all(i, i.n <= 5)
    loose_n:int* | 10000
    every_of(loose_n, 0)
call.loose.all(i, i.n == i.m)
    loose_n_m:bool*! | 518
    every_of(loose_n_m, 0)
call.most in call.loose
    loose:int* most:int | 10000
    some_of(loose, most, 0)
call.id in call.items[0].tags
    items_0_tags:string* id:string | 10000
    some_of(items_0_tags, id, 0)
call.items.exists(i, call.id in i.tags)
    items_id_in_tags:bool*! | 518
    some_of(items_id_in_tags, 0)
call.items.exists(i, i.kind in i.tags)
    items_kind_in_tags:bool*! | 518
    some_of(items_kind_in_tags, 0)
call.items.exists(i, i.kind in call.ids)
    items_kind:string* ids:string* | 518
    some_of(items_kind, ids, 0)
call.items[0].cents in call.items.map(i, i.cents)
    items_cents:int* items_0_cents:int | 10000
    some_of(items_cents, items_0_cents, 0)
true in call.items.map(i, i.paid)
    items_paid:bool* true:bool! | 10000
    some_of(items_paid, true, 0)
call.items.all(i, i.paid in call.loose)
    items_paid:bool* loose:bool* | 518
    every_of(items_paid, loose, 0)
call.items.exists(i, call.items.exists(j, i.cents == j.cents + 1))
    items_cents:int* items_cents_2:int* | added 160
    some_of(items_cents, items_cents_2, 0)
call.items.all(i, call.ids.all(n, call.items.exists(j, j.kind == n && j.cents > i.cents)))
    items_cents_2:int* items_kind:string* items_cents:int* ids:string* | items_cents~items_kind 20
    every_of(items_cents_2, items_kind, items_cents, ids, 0)
sum(call.items.map(i, i.cents)) + 1 <= 500
    items_cents:int* | added 10000
    ((total_of(items_cents, 0)) + 1) <= 500
sum(call.items.map(i, i.cents)) - call.most <= 500
    items_cents:int* most:int | added 10000
    ((total_of(items_cents, 0)) - most) <= 500
sum(call.items.map(i, i.cents + i.cents)) <= 500
    items_cents:int* | added 518
    (total_of(items_cents, 0)) <= 500
sum(call.items.map(i, i.cents + i.cents + i.cents)) <= 500
    items_cents:int* | added 377
    (total_of(items_cents, 0)) <= 500
sum(call.items.map(i, i.cents)) + sum(call.items.map(i, i.cents)) <= 500
    items_cents:int* | added 10000
    ((total_of(items_cents, 0)) + (total_of(items_cents, 0))) <= 500
sum(call.loose) <= 500
    loose:int* | added 10000
    (total_of(loose, 0)) <= 500
sum(call.loose.map(i, i.n)) <= 500
    loose_n:int* | added 10000
    (total_of(loose_n, 0)) <= 500
sum(call.loose.filter(i, i > 3)) <= 500
    loose:int* | added 10000
    (total_of(loose, 0)) <= 500
min(call.loose) > 0
    loose:int* | loose+ 10000
    (least_of(loose, 0)) > 0
max(call.items.map(i, i.cents + call.most)) < 100
    most:int items_cents:int* | items_cents+ added 518
    (most_of(items_cents, most, 0)) < 100
min(call.items.map(i, i.cents)) == max(call.items.map(i, i.cents))
    items_cents:int* | items_cents+ 10000
    (least_of(items_cents, 0)) == (most_of(items_cents, 0))
size(call.items.filter(i, i.paid)) == size(call.items)
    items_paid:bool* size_items:int | 10000
    (count_of(items_paid, 0)) == size_items
size(call.items.filter(i, i.paid)) == size(call.items.filter(i, i.cents > 1))
    items_paid:bool* items_cents:int* | 10000
    (count_of(items_paid, 0)) == (count_of(items_cents, 0))
size(call.items.filter(i, i.cents > 1 || i.kind == 'cash')) - 1 < call.most
    items_cents:int* items_kind:string* most:int | items_kind~items_cents added 10000
    ((count_of(items_cents, items_kind, 0)) - 1) < most
call.items.all(i, size(i.tags) > 1)
    items_size_tags:int* | 10000
    every_of(items_size_tags, 0)
call.items.all(i, size(call.ids.filter(n, n == i.kind)) == 1)
    items_kind:string* ids:string* | 59
    every_of(items_kind, ids, 0)
call.items.all(i, i.kind.startsWith('c'))
    items_kind_startsWith_c:bool*! | 10000
    every_of(items_kind_startsWith_c, 0)
call.ids.exists(i, i == 'it\'s')
    ids:string* | 10000
    some_of(ids, 0)
call.ids.exists(i, i == 'back\\slash')
    ids:string* | 10000
    some_of(ids, 0)
call.items.all(i, i.tags.exists(t, t == 'x'))
    items_tags_exists_x:bool*! | 246
    every_of(items_tags_exists_x, 0)
call.items.all(i, i.paid && i.tags.exists(t, t == i.kind))
    items_paid:bool* items_tags_exists_kind:bool*! | items_tags_exists_kind~items_paid 59
    every_of(items_paid, items_tags_exists_kind, 0)
call.items.all(i, i.tags.exists(t, t == call.id))
    items_tags_exists_id:bool*! | 59
    every_of(items_tags_exists_id, 0)
call.items.all(i, i.tags.all(t, call.ids.exists(n, n == t)))
    items_tags_all_ids_exists:bool*! | 20
    every_of(items_tags_all_ids_exists, 0)
call.items.all(i, state.least > 1 && i.paid)
    items_paid:bool* least:int | 10000
    every_of(items_paid, least, 0)
call.items.all(i, i.cents >= 1) || state.least > 1
    items_cents:int* least:int | 10000
    (every_of(items_cents, 0)) or (least > 1)
call.items.all(i, i.cents >= 1) || call.id.startsWith('x')
    items_cents:int* id_startsWith_x:bool! | 10000
    (every_of(items_cents, 0)) or id_startsWith_x
call.items.all(i, i.cents >= 1) || has(state.least)
    items_cents:int* has_least:bool! | 10000
    (every_of(items_cents, 0)) or has_least
call.items.all(i, i.cents >= 1 && (has(i.kind) || i.paid))
    items_cents:int* items_has_kind:bool*! items_paid:bool* | items_has_kind~items_cents items_paid~items_cents 10000
    every_of(items_cents, items_has_kind, items_paid, 0)
call.items.exists(i, i.paid) ? true : false
    items_paid:bool* | 10000
    ((some_of(items_paid, 0)) and True) or (not (some_of(items_paid, 0)) and False)
call.loose.all(i, i.n + i.m > 3)
    loose_n_m:int* | 518
    every_of(loose_n_m, 0)
call.items.all(i, i.cents + i.price > 3)
    items_cents_price_3:bool*! | 518
    every_of(items_cents_price_3, 0)
call.items.all(i, i.cents - call.loose[0] > 3)
    items_cents_loose_0_3:bool*! | 10000
    every_of(items_cents_loose_0_3, 0)
"""
NONE = r"""
sum(call.items.map(i, i.paid)) <= 3
sum(call.items.map(i, i.kind)) <= 3
max(call.items.map(i, i.paid)) <= 3
sum(call.loose.map(i, i.n > 3)) <= 3
max(call.loose.map(i, i.n)) == min(call.loose.map(i, i.m))
true
call.items.all(i, true)
call.items.map(i, i.cents).all(j, j > 1)
[1, 2].all(j, j > 1)
call.most in call.ids
call.id in call.items
call.id in call.id
call.items.all(i, call.items.all(i, i.paid))
sum(call.items.map(i, i.price)) <= 500
sum(call.items.map(i, i.price)) <= 500.0
sum(call.items.map(i, 3)) <= 500
sum(call.loose.filter(i, i > 3).map(j, j + 1)) <= 500
min(call.items.filter(i, i.paid).map(j, j.cents)) > 0
max(call.items.map(i, i.cents - 9223372036854775807)) < 100
max(call.items.map(i, sum(call.items.map(j, j.cents)))) < 100
"""
WRITTEN = {
    "call.items.all(i, i.cents >= state.least)": """\
@Pure
def every_of(items_cents: Tuple[int, ...], least: int, at: int) -> bool:
    Requires(0 <= at and at <= len(items_cents))
    Decreases(len(items_cents) - at)
    if at == len(items_cents):
        return True
    return (items_cents[at] >= least) and every_of(items_cents, least, at + 1)


def every(items_cents: Tuple[int, ...], least: int) -> bool:
    Ensures(Result() == every_of(items_cents, least, 0))
    at = 0
    found = True
    while at < len(items_cents):
        Invariant(0 <= at and at <= len(items_cents))
        Invariant((found and every_of(items_cents, least, at)) == every_of(items_cents, least, 0))
        if not (items_cents[at] >= least):
            found = False
        at = at + 1
    return found


def guard(items_cents: Tuple[int, ...], least: int) -> Tuple[bool, str]:
    Ensures(Implies(Result()[0], every_of(items_cents, least, 0)))
    Ensures(Implies(every_of(items_cents, least, 0), Result()[0]))
    return policy_pay(every(items_cents, least))
""",
    "call.items.exists(i, call.ids.exists(n, n == i.kind))": """\
@Pure
def some_of(ids: Tuple[str, ...], items_kind_here: str, at: int) -> bool:
    Requires(0 <= at and at <= len(ids))
    Decreases(len(ids) - at)
    if at == len(ids):
        return False
    return (ids[at] == items_kind_here) or some_of(ids, items_kind_here, at + 1)


def some(ids: Tuple[str, ...], items_kind_here: str) -> bool:
    Ensures(Result() == some_of(ids, items_kind_here, 0))
    at = 0
    found = False
    while at < len(ids):
        Invariant(0 <= at and at <= len(ids))
        Invariant((found or some_of(ids, items_kind_here, at)) == some_of(ids, items_kind_here, 0))
        if ids[at] == items_kind_here:
            found = True
        at = at + 1
    return found


@Pure
def some_of(items_kind: Tuple[str, ...], ids: Tuple[str, ...], at: int) -> bool:
    Requires(0 <= at and at <= len(items_kind))
    Decreases(len(items_kind) - at)
    if at == len(items_kind):
        return False
    return (some_of(ids, items_kind[at], 0)) or some_of(items_kind, ids, at + 1)


def some(items_kind: Tuple[str, ...], ids: Tuple[str, ...]) -> bool:
    Ensures(Result() == some_of(items_kind, ids, 0))
    at = 0
    found = False
    while at < len(items_kind):
        Invariant(0 <= at and at <= len(items_kind))
        Invariant((found or some_of(items_kind, ids, at)) == some_of(items_kind, ids, 0))
        part_1 = some(ids, items_kind[at])
        if part_1:
            found = True
        at = at + 1
    return found


def guard(items_kind: Tuple[str, ...], ids: Tuple[str, ...]) -> Tuple[bool, str]:
    Ensures(Implies(Result()[0], some_of(items_kind, ids, 0)))
    Ensures(Implies(some_of(items_kind, ids, 0), Result()[0]))
    return policy_pay(some(items_kind, ids))
""",
    "sum(call.items.filter(i, i.paid).map(j, j.cents)) <= 5": """\
@Pure
def total_of(items_paid: Tuple[bool, ...], items_cents: Tuple[int, ...], at: int) -> int:
    Requires(len(items_cents) == len(items_paid))
    Requires(0 <= at and at <= len(items_paid))
    Decreases(len(items_paid) - at)
    if at == len(items_paid):
        return 0
    return (items_cents[at] if items_paid[at] else 0) + total_of(items_paid, items_cents, at + 1)


def total(items_paid: Tuple[bool, ...], items_cents: Tuple[int, ...]) -> int:
    Requires(len(items_cents) == len(items_paid))
    Ensures(Result() == total_of(items_paid, items_cents, 0))
    at = 0
    found = 0
    while at < len(items_paid):
        Invariant(0 <= at and at <= len(items_paid))
        Invariant((found + total_of(items_paid, items_cents, at)) == total_of(items_paid, items_cents, 0))
        if items_paid[at]:
            found = found + items_cents[at]
        at = at + 1
    return found


def guard(items_paid: Tuple[bool, ...], items_cents: Tuple[int, ...]) -> Tuple[bool, str]:
    Requires(len(items_cents) == len(items_paid))
    Ensures(Implies(Result()[0], total_of(items_paid, items_cents, 0) <= 5))
    Ensures(Implies(total_of(items_paid, items_cents, 0) <= 5, Result()[0]))
    return policy_pay(total(items_paid, items_cents))
""",
    "max(call.items.map(i, i.cents)) < 9": """\
@Pure
def most_of(items_cents: Tuple[int, ...], at: int) -> int:
    Requires(len(items_cents) > 0)
    Requires(0 <= at and at < len(items_cents))
    Decreases(len(items_cents) - at)
    if at + 1 == len(items_cents):
        return items_cents[at]
    return items_cents[at] if items_cents[at] > most_of(items_cents, at + 1) else most_of(items_cents, at + 1)


def most(items_cents: Tuple[int, ...]) -> int:
    Requires(len(items_cents) > 0)
    Ensures(Result() == most_of(items_cents, 0))
    at = 0
    found = items_cents[at]
    at = 1
    while at < len(items_cents):
        Invariant(1 <= at and at <= len(items_cents))
        Invariant((found if at == len(items_cents) or found > most_of(items_cents, at) else most_of(items_cents, at)) \
== most_of(items_cents, 0))
        if items_cents[at] > found:
            found = items_cents[at]
        at = at + 1
    return found


def guard(items_cents: Tuple[int, ...]) -> Tuple[bool, str]:
    Requires(len(items_cents) > 0)
    Ensures(Implies(Result()[0], most_of(items_cents, 0) < 9))
    Ensures(Implies(most_of(items_cents, 0) < 9, Result()[0]))
    return policy_pay(most(items_cents))
""",
    "size(call.items.filter(i, i.paid && i.kind == 'card')) <= size(call.ids)": """\
@Pure
def count_of(items_paid: Tuple[bool, ...], items_kind: Tuple[str, ...], at: int) -> int:
    Requires(len(items_kind) == len(items_paid))
    Requires(0 <= at and at <= len(items_paid))
    Decreases(len(items_paid) - at)
    if at == len(items_paid):
        return 0
    return (1 if items_paid[at] and (items_kind[at] == 'card') else 0) + count_of(items_paid, items_kind, at + 1)


def count(items_paid: Tuple[bool, ...], items_kind: Tuple[str, ...]) -> int:
    Requires(len(items_kind) == len(items_paid))
    Ensures(Result() == count_of(items_paid, items_kind, 0))
    Ensures(Result() >= 0)
    at = 0
    found = 0
    while at < len(items_paid):
        Invariant(0 <= at and at <= len(items_paid))
        Invariant((found + count_of(items_paid, items_kind, at)) == count_of(items_paid, items_kind, 0))
        Invariant(found >= 0)
        if items_paid[at] and (items_kind[at] == 'card'):
            found = found + 1
        at = at + 1
    return found


def guard(count_ids: int, items_paid: Tuple[bool, ...], items_kind: Tuple[str, ...]) -> Tuple[bool, str]:
    Requires(count_ids >= 0)
    Requires(len(items_kind) == len(items_paid))
    Ensures(Implies(Result()[0], count_of(items_paid, items_kind, 0) <= count_ids))
    Ensures(Implies(count_of(items_paid, items_kind, 0) <= count_ids, Result()[0]))
    return policy_pay(count(items_paid, items_kind), count_ids)
""",
}


@pytest.mark.parametrize(("text", "inputs", "meant"), list(batched(TABLE.strip().splitlines(), 3)))
def test_what_loops_read_and_mean(text: str, inputs: str, meant: str) -> None:
    read, asked, means = said(made(text))
    assert f"{read} | {asked}" == inputs.strip() and means == meant.strip()


@pytest.mark.parametrize("text", NONE.strip().splitlines())
def test_what_has_no_loop(text: str) -> None:
    assert made(text) is None


def test_a_variable_of_no_list_and_what_is_no_whole_number_have_no_loop() -> None:
    stray = facts.Macro("all", facts.Path(("call", "ids")), facts.Variable("i"), facts.Variable("j"))
    assert loops.computed("p", stray, "bool", READ, {}) is None
    for text in ("call.items.map(i, i.price)", "call.items.map(i, i.paid)", "call.ids", "call.id"):
        total = cel.parse(f"sum({text}) == 1").left
        assert loops.computed("p", total, "int", READ, {}) is None
    assert loops.computed("p", cel.parse("sum(call.items.map(i, i.cents)) == 1").left, "int", READ, {}) is not None


@pytest.mark.parametrize("text", WRITTEN)
def test_what_is_written_for_the_prover(text: str) -> None:
    contracted, _ = guard(text)
    whole = contract.assemble(f"{contracted.signature}\n    return (True, '')\n", contracted)
    assert plain(whole).endswith(f"\n\n\n{WRITTEN[text]}")


def checked(source: str) -> dict[str, Callable]:
    """The functions as they run, with each statement to the prover as an assertion: of what is given, of every round of
    a loop, of the result."""
    lines, ensured = ["from __future__ import annotations"], "True"
    for line in source.splitlines():
        indent, statement, said, returned = re.fullmatch(
            r"( *)(?:(Requires|Ensures|Invariant|Decreases)\((.*)\)|return (.*)|.*)", line
        ).groups()
        if line.startswith("def "):
            ensured = "True"
        match statement:
            case "Ensures":
                ensured += f" and ({said.replace('Result()', 'result')})"
            case "Decreases":
                lines.append(f"{indent}assert 0 <= {said}")
            case "Requires" | "Invariant":
                lines.append(f"{indent}assert {said}")
            case _ if returned is not None:
                lines.append(f"{indent}result = {returned}\n{indent}assert {ensured}\n{indent}return result")
            case _ if line != "@Pure":
                lines.append(line)
    space: dict[str, Callable] = {"Implies": lambda one, other: not one or other}
    exec(compile("\n".join(lines), "<checked>", "exec"), space)
    return space


def items(chance: random.Random) -> list[dict]:
    return [
        {
            "cents": chance.randrange(-1, 4),
            "kind": chance.choice(("card", "cash", "x")),
            "paid": chance.random() < 0.7,
            "price": 1.5,
            "tags": ["x"] * chance.randrange(3),
            "at": f"202{chance.randrange(4, 8)}-01-01T00:00:00Z",
            "n": chance.randrange(4),
            "m": 2,
            "ok": chance.random() < 0.5,
        }
        for _ in range(chance.randrange(4))
    ]


@pytest.mark.parametrize("text", [text for text in TABLE.strip().splitlines()[::3] if "now" not in text])
def test_all_that_is_said_to_the_prover_is_true_of_lists(text: str) -> None:
    loop, chance, met = made(text), random.Random(1), Counter()
    functions, whole = checked("\n\n".join(loop.sources)), evaluation.compiled(cel.parse(text))
    for _ in range(40):
        loose = chance.choice((items(chance), chance.choices((1, 4, 9), k=2), chance.choices((False, True), k=2)))
        call = {"items": items(chance), "loose": loose, "ids": chance.choices("xyz", k=chance.randrange(4))}
        call |= {"id": chance.choice("xy"), "most": chance.randrange(4)}
        state = {"least": chance.randrange(3)}
        given = [loops.given(one, loop, {})(state, call) for one in loop.inputs]
        if None not in given and all(given[[i.name for i in loop.inputs].index(name)] for name in loop.filled):
            truth = functions[loop.function](*given)
            assert truth is whole(state, call)
            met[truth] += 1
    assert set(met) <= {True, False} and met.total()


MOST = 2**40
NUMBERS, PLAIN = "sum(call.loose) == 0", "call.loose.all(n, n >= 0)"
PAIRS = "sum(call.items.filter(i, i.paid).map(i, i.cents)) == 0"


@pytest.mark.parametrize(
    ("text", "call", "asked"),
    [
        (NUMBERS, {"loose": [MOST, -MOST]}, False),
        (NUMBERS, {"loose": [MOST + 1, -MOST]}, True),
        (NUMBERS, {"loose": [MOST, -MOST - 1]}, True),
        (NUMBERS, {"loose": (1, -1)}, False),
        (NUMBERS, {"loose": [True]}, True),
        (NUMBERS, {"loose": [1.0]}, True),
        (NUMBERS, {"loose": "12"}, True),
        (NUMBERS, {"loose": None}, True),
        (PLAIN, {"loose": [MOST + 1, 2**62]}, False),
        (PLAIN, {"loose": [0] * 10_000}, False),
        (PLAIN, {"loose": [0] * 10_001}, True),
        ("call.most + 1 in call.loose", {"loose": [3], "most": MOST}, False),
        ("call.most + 1 in call.loose", {"loose": [3], "most": MOST + 1}, True),
        ("call.most + 1 in call.loose", {"loose": [3], "most": -MOST}, False),
        ("call.most + 1 in call.loose", {"loose": [3], "most": -MOST - 1}, True),
        ("call.most in call.loose", {"loose": [3], "most": MOST + 1}, False),
        ("call.most in call.loose", {"loose": [3], "most": True}, True),
        ("call.loose.all(t, timestamp(t) < now)", {"loose": ["2025-01-01T00:00:00Z"]}, False),
        ("call.loose.all(t, timestamp(t) < now)", {"loose": ["2025-01-01"]}, True),
        ("call.id in state.methods", {"id": "a"}, False),
        ("call.id in state.many", {"id": "a"}, False),
        ("call.id in state.too_many", {"id": "a"}, True),
        ("call.id in state.listed", {"id": "a"}, True),
        ("min(call.loose.map(n, n.n)) > 0", {"loose": [{"n": 1}]}, False),
        ("min(call.loose.map(n, n.n)) > 0", {"loose": []}, True),
        ("max(call.loose.map(n, n.n)) > 0", {"loose": []}, True),
    ],
)
def test_loops_are_asked_only_of_what_they_hold_for(text: str, call: dict, asked: bool) -> None:
    """The evaluator is asked beside: of other types, of longer lists, of larger numbers where numbers are added."""
    record = Field("", "object", schema=Schema({"type": "object", "additionalProperties": {"type": "object"}}))
    state = (*STATE, *(replace(record, name=name) for name in ("many", "too_many", "listed")))
    loop = loops.computed("p", cel.parse(text), "bool", (schemas(state), schemas(TOOL.arguments)), {})
    told = {"now": "2026-01-01T00:00:00Z", "methods": {"a": {}}, "listed": ["a"]}
    told |= {"many": dict.fromkeys(map(str, range(10_000)), {}), "too_many": dict.fromkeys(map(str, range(10_001)), {})}
    answer = object()
    found = loops.reading(loop, lambda state, call: answer, {})(told, call)
    assert (found is answer) is asked and (asked or found is evaluation.compiled(cel.parse(text))(told, call))


def test_items_of_one_list_that_are_read_apart_are_as_many() -> None:
    """Two reads of one list cannot differ in length; where they did, the evaluator would be asked."""
    loop = made(PAIRS)
    apart = replace(loop, inputs=(loop.inputs[0], replace(loop.inputs[1], node=cel.parse("call.loose"))))
    read = loops.reading(apart, lambda state, call: None, {})
    paid = [{"paid": True}, {"paid": False}]
    assert read({}, {"items": paid, "loose": [0, 5]}) is True and read({}, {"items": paid, "loose": [0, 5, 5]}) is None
    assert read({}, {"items": paid, "loose": [0]}) is None


def test_what_is_taken_has_its_meaning_and_an_input_keeps_its_name() -> None:
    first = made("call.items.all(i, i.paid)", items_paid=None)
    assert [one.name for one in first.inputs] == ["items_paid_2"]
    again = made("call.items.exists(i, i.paid)", items_paid=None, items_paid_2=first.inputs[0])
    assert again.inputs == first.inputs
    other = made("call.items.exists(i, i.cents > 1)", items_cents=first.inputs[0])
    assert [one.name for one in other.inputs] == ["items_cents_2"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sum(call.items.map(i, i.cents))", "sum_items_cents"),
        ("call.items[0].cents", "items_0_cents"),
        ("call.items.filter(i, i.kind == 'x')", "items_filter_kind_x"),
        ("'é'", "value"),
        ("'__a__'", "a"),
        ("'_7_'", "value_7"),
        ("string(call.n)", "n"),
        ("2", "value_2"),
        ("timestamp(state.at) - timestamp(call.at)", "at"),
        ("[call.a, call.a, call.b]", "a_b"),
        ("call." + "x" * 47 + "_y", "x" * 47),
        ("call." + "x" * 48, "x" * 48),
        ("call." + "x" * 49, "x" * 48),
    ],
)
def test_a_name_is_made_of_the_words_of_a_text(text: str, name: str) -> None:
    assert loops.named(cel.parse(f"[{text}] == []").left.items[0]) == name


@pytest.mark.parametrize("word", ["at", "found", "len", "class", "part_3", "items_here"])
def test_no_input_has_a_name_that_loops_use(word: str) -> None:
    listed = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    tool = schemas((Field(word, "array", schema=Schema({"type": "array", "items": {"type": "integer"}})),))
    loop = loops.computed("p", cel.parse(f"call.{word}.all(n, n > 0)"), "bool", ({}, tool), {})
    assert [one.name for one in loop.inputs] == [f"{word}_2"]
    tool = schemas((Field("part_no", "array", schema=Schema(listed)),))
    loop = loops.computed("p", cel.parse("call.part_no.all(i, i.n > 0)"), "bool", ({}, tool), {})
    assert [one.name for one in loop.inputs] == ["part_no_n"]
