"""What a decision costs in a session, at its first step and at its ten thousandth, beside evaluating all again.

    python tests/bench/sessions.py [--quick] [--json]

A guard of ten rules, four of which look back; each call is a step of its own, so that a decision includes taking in
the step before it.  The other side is the way of dba463f, `oracles/whole.py`: the whole trace evaluated again for
each call, conditions compiled at each denial.  Times are processor time, the best of several rounds.
"""

from __future__ import annotations

# ruff: noqa: E402
import argparse
import gc
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from oracles import whole

from wb.domain import tools
from wb.domain.session import Session
from wb.domain.tools import Field, Tool, Toolbox
from wb.domain.trace import Call, Step, Trace
from wb.guards.contract import assemble, contract
from wb.guards.runtime import CallGuard, Guarded
from wb.logic import cel
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import circuit
from wb.shield.shield import Shield

TOOLBOX = Toolbox(
    (
        Tool("book", arguments=(Field("guests", "array"), Field("cabin", "string", values=("economy", "first")))),
        Tool("search"),
        Tool("cancel"),
    ),
    (Field("age", "integer"), Field("level", "string", values=("tin", "gold")), Field("blocked", "boolean")),
)
PREDICATES = (
    Predicate("book", "action", "", tools=("book",)),
    Predicate("search", "action", "", tools=("search",)),
    Predicate("cancel", "action", "", tools=("cancel",)),
    Predicate("adult", "state", "", test=cel.parse("state.age >= 18")),
    Predicate("old", "state", "", test=cel.parse("state.age >= 90")),
    Predicate("few", "state", "", tools=("book",), test=cel.parse("size(call.guests) <= 8")),
    Predicate("first", "state", "", tools=("book",), test=cel.parse('call.cabin == "first"')),
    Predicate("gold", "state", "", test=cel.parse('state.level == "gold"')),
    Predicate("blocked", "state", "", test=cel.parse("state.blocked")),
    Predicate("confirmed", "state", ""),
    Predicate("paid", "state", ""),
)
TEXTS = (
    "ALWAYS (book IMPLIES adult)",
    "ALWAYS (book IMPLIES NOT old)",
    "ALWAYS (book IMPLIES few)",
    "ALWAYS ((book AND first) IMPLIES gold)",
    "ALWAYS (book IMPLIES NOT blocked)",
    "ALWAYS (book IMPLIES paid)",
    "ALWAYS (book IMPLIES ONCE search)",
    "ALWAYS (book IMPLIES ONCE (search AND confirmed))",
    "ALWAYS (book IMPLIES (NOT cancel) SINCE search)",
    "ALWAYS (book IMPLIES NOT PREVIOUSLY cancel)",
)
RULES = RuleSet(
    PREDICATES, tuple(Rule(f"r{i}", t, parse(t), "permit_only_if", quote=t) for i, t in enumerate(TEXTS, 1))
)
FINE = {"age": 30, "level": "gold", "blocked": False, "paid": True, "confirmed": True}
ARGUMENTS = {"guests": ["a", "b"], "cabin": "first"}
KINDS = {"allow": FINE, "deny": {**FINE, "age": 12, "blocked": True}}


def guard() -> CallGuard:
    """A guard of ten rules whose code is what the rules ask."""
    entries = []
    for tool in TOOLBOX.tools:
        made = contract(tool, RULES, TOOLBOX.state)
        tests = [f"    if not ({item.condition}):\n        return (False, {item.rule!r})\n" for item in made.items]
        source = f"{made.signature}\n{''.join(tests)}    return (True, 'no rule is broken')\n"
        entries.append(Guarded(made, assemble(source, made), "proved"))
    return CallGuard("bench", RULES, tuple(entries), frozenset({"proved"}), TOOLBOX)


def shield() -> Shield:
    """A shield over the same rules."""
    return Shield(PREDICATES, circuit.build(RULES, {"book": [r.id for r in RULES.rules]}), toolbox=TOOLBOX)


def session(judge: CallGuard | Shield, steps: int, **options: object) -> Session:
    """A session after that many steps: a search, then bookings."""
    one = Session(judge, **options)
    one.state(FINE)
    one.call("search")
    for _ in range(steps - 1):
        one.call("book", ARGUMENTS)
    return one


NESTED = {
    "type": "object",
    "properties": {
        "owner": {"type": "string"},
        "items": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "integer"}}}},
        "kept": {"type": "object", "properties": {"until": {"type": "string"}, "level": {"type": "integer"}}},
    },
}
ID = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
FOUND = {"owner": "u", "items": [{"price": n} for n in range(5)], "kept": {"until": "2024", "level": 3}}
ASKED = [  # ten facts over two records that are looked up
    *[f"state.order.kept.level <= {n} || state.user.kept.level == 3" for n in range(3, 6)],
    *[f'state.order.kept.until == "2024" && state.user.kept.level > {n}' for n in range(2)],
    'state.order.owner == "u"',
    "size(state.order.items) <= 9",
    "size(state.user.items) >= 1",
    "state.user.kept.level < 9",
    'call.id != ""',
]


def looking_up() -> CallGuard:
    """A guard of ten facts over nested records, two of which are looked up."""
    lookups = [
        {"name": name, **NESTED, "from": {"lookup": f"get_{name}", "arguments": {"id": text}, "changed_by": []}}
        for name, text in (("order", "call.id"), ("user", "state.order.owner"))
    ]
    reads = [{"name": f"get_{name}", "mutating": False, "parameters": ID} for name in ("order", "user")]
    box = tools.parse(json.dumps({"tools": [*reads, {"name": "pay", "parameters": ID}], "state": lookups}))
    pays = Predicate("pay", "action", "", tools=("pay",))
    asked = [
        Predicate(f"p{n}", "state", "", tools=("pay",) if "call" in text else (), test=cel.parse(text))
        for n, text in enumerate(ASKED)
    ]
    made_of = [f"ALWAYS (pay IMPLIES {one.name})" for one in asked]
    rules = RuleSet(
        (pays, *asked), tuple(Rule(f"r{n}", "", parse(text), "permit_only_if") for n, text in enumerate(made_of))
    )
    entries = []
    for tool in box.tools:
        made = contract(tool, rules, box.state)
        tests = [f"    if not ({item.condition}):\n        return (False, {item.rule!r})\n" for item in made.items]
        source = f"{made.signature}\n{''.join(tests)}    return (True, 'no rule is broken')\n"
        entries.append(Guarded(made, assemble(source, made), "proved"))
    return CallGuard("bench", rules, tuple(entries), frozenset({"proved"}), box)


def looked_up(steps: tuple[int, ...], rounds: int, inner: int) -> list[dict]:
    """The cost of a decision over what was seen, after so many steps, and after as many live objects."""
    rows = []
    for n in steps:
        one = Session(looking_up())
        for number in range(min(n, 1000)):
            one.call("get_order", {"id": str(number)}), one.result(FOUND)
        one.call("get_user", {"id": "u"}), one.result(FOUND)
        one.call("get_order", {"id": "o"}), one.result(FOUND)
        for _ in range(n - 1):
            one.call("pay", {"id": "o"})
        assert one.call("pay", {"id": "o"}).decision == "allow"
        rows.append({"step": n, "lookups_us": best(partial(one.call, "pay", {"id": "o"}), rounds, inner)})
    return rows


WORDS = 60  # of the text in each result


def streamed(steps: tuple[int, ...], rounds: int, inner: int) -> list[dict]:
    """The cost of taking in a result, and of a decision by where an argument comes from, after so many results, each of
    another text and other fields; the same without that field beside it."""
    payee = {"type": "object", "properties": {"payee": {"type": "string"}, "id": {"type": "string"}}}
    origins = {"name": "origin", "type": "string", "enum": ["user", "directory", "record", "text", "none"]}
    origins["from"] = {"origin": "call.payee", "of": ["user"], "directory": {"contacts": "[].mail"}}
    clock = {"name": "now", "type": "string", "from": "clock"}
    rows = []
    for n in steps:
        row: dict = {"step": n}
        for name, field, text in (("origin", origins, 'state.origin in ["user"]'), ("none", clock, 'call.payee != ""')):
            tools_of = [
                {"name": one, "mutating": one == "pay", "parameters": payee} for one in ("pay", "get", "contacts")
            ]
            box = tools.parse(json.dumps({"tools": tools_of, "state": [field]}))
            test = Predicate("named", "state", "", tools=("pay",) * (name == "none"), test=cel.parse(text))
            rules = RuleSet((Predicate("pay", "action", "", tools=("pay",)), test), (RULE,))
            entries = []
            for tool in box.tools:
                made = contract(tool, rules, box.state)
                lines = [f"    if not ({item.condition}):\n        return (False, '')\n" for item in made.items]
                source = f"{made.signature}\n{''.join(lines)}    return (True, '')\n"
                entries.append(Guarded(made, assemble(source, made), "proved"))
            one = Session(CallGuard("bench", rules, tuple(entries), frozenset({"proved"}), box))
            one.say("user", "pay b0 to U1")
            taking = itertools.count()
            for _ in range(n):
                result(one, taking)
            row[f"{name}_result_us"] = best(partial(result, one, taking), rounds, 20)
            assert paid(one) == "allow"
            row[f"{name}_decision_us"] = best(partial(paid, one), rounds, inner)
        rows.append(row)
    return rows


RULE = Rule("r1", "", parse("ALWAYS (pay IMPLIES named)"), "permit_only_if")


def paid(one: Session) -> str:
    """The decision on a call whose payee the user named, and which gives nothing."""
    decision = one.call("pay", {"payee": "U1"}).decision
    one.result(None)
    return decision


def result(one: Session, taking: Iterator[int]) -> None:
    """A call that gives a record that was not seen before."""
    number = next(taking)
    text = " ".join(f"w{(number * 7 + n) % 5000}" for n in range(WORDS))
    one.call("get", {"id": f"b{number}"}), one.result({"to": f"R{number}", "text": text, "next": f"b{number + 1}"})


def best(work: Callable[[], object], rounds: int, inner: int) -> float:
    """The least microseconds of processor time of one call, over so many rounds of `inner` calls."""
    found = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(inner):
            work()
        found = min(found, (time.process_time() - start) / inner)
    return 1e6 * found


def measured(steps: tuple[int, ...], rounds: int, inner: int) -> list[dict]:
    """A row for each kind of decision and number of steps before it."""
    of, weighed, rows = guard(), shield(), []
    for kind, state in KINDS.items():
        for n in steps:
            one, other = session(of, n), session(weighed, n)
            one.state(state), other.state(state)
            assert one.call("book", ARGUMENTS).decision == other.call("book", ARGUMENTS).decision == kind
            past = (Step((Call("search"),), FINE), *[Step((Call("book", ARGUMENTS),), FINE)] * (n - 1))
            trace = Trace("t", (*past, Step((Call("book", ARGUMENTS),), state)))
            assert whole.decide(of, trace).decision == kind
            with open("/dev/null", "w", encoding="utf-8") as log:
                written = session(of, n, log=log)
                written.state(state)
                asked = {
                    "session_us": (one, inner),
                    "logged_us": (written, inner // 4),
                    "shield_us": (other, inner // 20),
                }
                row: dict = {"decision": kind, "step": n}
                for name, (judge, count) in asked.items():
                    row[name] = best(partial(judge.call, "book", ARGUMENTS), rounds, count)
            again = partial(whole.decide, of, trace)
            rows.append(row | {"dba463f_us": best(again, max(2, rounds // 4), max(1, 200 // n))})
    return rows


def held(steps: int) -> int:
    """By how many blocks of memory a session grows over so many steps, after as many."""
    one, found = session(guard(), steps), []
    for _ in range(2):
        gc.collect()
        found.append(sys.getallocatedblocks())
        for _ in range(steps):
            one.call("book", ARGUMENTS)
    return found[1] - found[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds and steps")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    options = parser.parse_args()
    steps, rounds, inner = ((1, 100, 1000), 5, 500) if options.quick else ((1, 100, 10_000), 25, 2000)
    rows, empty = measured(steps, rounds, inner), best(lambda: None, 200, 2000)
    grown, seen = held(1000), looked_up(steps, rounds, inner)
    results = streamed((1, 100, 1000), rounds, inner // 10)
    if options.json:
        print(
            json.dumps(
                {"rows": rows, "lookups": seen, "results": results, "grown_blocks": grown, "empty_call_us": empty},
                indent=1,
            )
        )
        return
    print(f"{'':10}{'step':>8}{'session':>12}{'with log':>12}{'shield':>12}{'dba463f':>14}   µs a decision")
    for row in rows:
        cells = "".join(f"{row[key]:12.1f}" for key in ("session_us", "logged_us", "shield_us"))
        print(f"{row['decision']:10}{row['step']:8}{cells}{row['dba463f_us']:14.1f}")
    for row in seen:
        print(f"two lookups seen, ten facts, step {row['step']:6}: {row['lookups_us']:.1f} µs a decision")
    for row in results:
        cells = [
            f"{row[f'origin_{key}_us']:.1f} (without {row[f'none_{key}_us']:.1f})" for key in ("result", "decision")
        ]
        print(f"origin after {row['step']:5} results of {WORDS} words: {' µs a result, '.join(cells)} µs a decision")
    print(f"an empty function of Python takes {empty:.3f} µs here")
    print(f"memory of a session grows by {grown} blocks over 1000 steps")


if __name__ == "__main__":
    main()
