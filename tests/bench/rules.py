"""How fast rules compile, run and are decided about, beside the peers that do the same.

    python tests/bench/rules.py [--quick] [--json]

Peers come with `pip install .[bench]` (flloat, ltlf2dfa, spottl) and Debian's `mona`; one that is absent is said to
be. Both sides are measured in one run: the best of N, process CPU with child processes, so that a busy machine
disturbs little. A formula is parsed outside the clock on every side.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from oracles import bits  # noqa: E402

from wb.logic import automaton, pairs, storm  # noqa: E402
from wb.logic.semantics import Monitor, holds, parse  # noqa: E402

TEMPLATES = ("G(a & !b -> !c)", "G(a -> F b)", "!b U a", "G(a -> X b)", "G(a -> F b) & G(b -> F c)")
MIXED = (
    "G({} & {} -> {})",
    "G({} -> F {})",
    "{} W ({} & {})",
    "G({} -> X {})",
    "G({} & {} -> O {})",
    "G({} -> {} & {})",
    "F ({} & {} & {})",
    "G({} & {} -> F {})",
    "G({} -> {} | {})",
    "G({} & {} -> Y {})",
    "G({} -> N({} W {}))",
    "G({} & O {} -> {})",
    "G({} -> F {}) & G({} -> F {})",
)
SAFETY = ("G({} & {} -> {})", "G({} -> {} | {})", "G({} -> {})")


def cpu() -> float:
    """Seconds of processor time used by this process and its finished children."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def best(work: Callable[[], object], rounds: int, inner: int = 1) -> float:
    """The least processor time of one call, in seconds, over so many rounds of `inner` calls."""
    found = float("inf")
    for _ in range(rounds):
        start = cpu()
        for _ in range(inner):
            work()
        found = min(found, (cpu() - start) / inner)
    return found


def peer(name: str, load: Callable[[], Callable]) -> Callable | None:
    """The peer's function, or None with a word to standard error where it is not installed."""
    try:
        return load()
    except ImportError as error:
        print(f"{name} is absent ({error}): pip install .[bench]", file=sys.stderr)
        return None


def flloat() -> Callable:
    from flloat.parser.ltlf import LTLfParser

    return lambda text: LTLfParser()(text)


def mona() -> Callable:
    import shutil

    from ltlf2dfa.parser.ltlf import LTLfParser

    if shutil.which("mona") is None:
        raise ImportError("no `mona` on the path: apt-get install mona")
    return lambda text: LTLfParser()(text)


def spot() -> Callable:
    import spot

    return lambda text: spot.formula(text.replace("X ", "X[!] "))


def compiling(rounds: int) -> list[dict]:
    """Microseconds to compile each template, and how many times longer the peers take."""
    by_spot, by_mona, by_flloat = peer("spottl", spot), peer("ltlf2dfa", mona), peer("flloat", flloat)
    rows = []
    for text in TEMPLATES:
        formula = parse(text)
        row = {"what": f"compile {text}", "wb_us": 1e6 * best(partial(automaton.compile, formula), rounds, 50)}
        if by_spot:
            import spot as module

            other = by_spot(text)
            row["spot_us"] = 1e6 * best(lambda other=other: module.translate(module.from_ltlf(other)), rounds, 20)
        if by_mona:
            parsed = by_mona(text)
            row["mona_us"] = 1e6 * best(parsed.to_dfa, max(3, rounds // 4))
        if by_flloat:
            read = by_flloat(text)
            row["flloat_us"] = 1e6 * best(read.to_automaton, max(2, rounds // 8))
        rows.append(with_ratios(row))
    return rows


def follow(monitor: Monitor, trace: list[set[str]]) -> None:
    """A monitor led along a trace from its start."""
    monitor.reset()
    for step in trace:
        monitor.step(step)


def stepping(rounds: int) -> list[dict]:
    """Microseconds for one monitored step of each template, the letter read from a set of names."""
    rng, by_flloat, rows = random.Random(1), peer("flloat", flloat), []
    for text in TEMPLATES:
        formula = parse(text)
        trace = [{name for name in "abc" if rng.random() < 0.5} for _ in range(200)]
        monitor = Monitor(formula)

        row = {"what": f"step {text}", "wb_us": 1e6 * best(partial(follow, monitor, trace), rounds, 20) / 200}
        if by_flloat:
            machine = by_flloat(text).to_automaton()
            word = [dict.fromkeys("abc", False) | dict.fromkeys(step, True) for step in trace[:20]]
            row["flloat_us"] = 1e6 * best(partial(machine.accepts, word), max(3, rounds // 4)) / 20
        rows.append(with_ratios(row))
    return rows


def with_ratios(row: dict) -> dict:
    """The row with each peer's time over ours."""
    return row | {
        key.replace("_us", "_ratio"): value / row["wb_us"]
        for key, value in row.items()
        if key.endswith("_us") and key != "wb_us"
    }


def made(templates: tuple[str, ...], count: int, rng: random.Random, signs: bool = True) -> list:
    """Rules over 60 predicates, each from a template, four literals in ten negated."""
    names = [f"p{i}" for i in range(60)]

    def one() -> str:
        text = rng.choice(templates)
        return text.format(
            *("!" * (signs and rng.random() < 0.4) + name for name in rng.sample(names, text.count("{}")))
        )

    return [parse(one()) for _ in range(count)]


def many(rounds: int) -> list[dict]:
    """A thousand rules: compiled, followed step by step, and evaluated on whole traces."""
    rng = random.Random(2)
    rules = made(
        ("G({} & !{} -> !{})", "G({} -> F {})", "!{} U {}", "G({} -> X {})", "G({} -> F {}) & G({} -> F {})"),
        1000,
        rng,
        signs=False,
    )
    names = [f"p{i}" for i in range(60)]
    trace = [{name for name in names if rng.random() < 0.2} for _ in range(100)]
    monitors, batch = [Monitor(rule) for rule in rules], bits.Batch(rules, names)
    whole = bits.matrix(trace, names)

    def followed() -> None:
        for monitor in monitors:
            follow(monitor, trace)

    followed()
    truths = [holds(rule, trace) for rule in rules]
    assert truths == [monitor.verdict.endswith("true") for monitor in monitors] == batch.holds([whole])[0].tolist()
    return [
        {
            "what": "compile 1000 rules",
            "wb_us": 1e6 * best(lambda: [automaton.compile(rule) for rule in rules], max(2, rounds // 10)),
        },
        {"what": "one step of 1000 rules", "wb_us": 1e6 * best(followed, rounds) / 100},
        {
            "what": "100 steps of 1000 rules, bool array to verdicts",
            "goal_us": 300,
            "wb_us": 1e6 * best(lambda: batch.holds([whole]), rounds, 20),
        },
    ]


def deciding(rounds: int) -> list[dict]:
    """All pairs that share a predicate, of 1000 rules over 60: compiled, related, and listed."""
    rows = []
    for what, templates, goal in (("mixed", MIXED, 2e6), ("safety", SAFETY, 1e5)):
        rules = made(templates, 1000, random.Random(3))
        found = pairs.relations(rules)
        rows.append(
            {
                "what": f"{found.compared} sharing pairs of 1000 {what} rules ({len(found.implied)} implied, "
                f"{len(found.contradictory)} contradictory)",
                "goal_us": goal,
                "wb_us": 1e6 * best(partial(pairs.relations, rules), max(3, rounds // 4)),
            }
        )
    return rows


def model_checking(rounds: int, count: int) -> list[dict]:
    """Storm on many traces of 20 steps: in one model, and one after the other."""
    rng = random.Random(4)
    rule = parse("G(a -> F b)")
    traces = [[{name for name in "ab" if rng.random() < 0.5} for _ in range(20)] for _ in range(count)]
    together = best(lambda: storm.check([rule], traces), max(3, rounds // 4))
    each = best(lambda: [storm.check([rule], [trace]) for trace in traces], 3)
    return [
        {
            "what": f"Storm, {count} traces of 20 steps, stacked",
            "wb_us": 1e6 * together,
            "one_by_one_us": 1e6 * each,
            "one_by_one_ratio": each / together,
        }
    ]


def main() -> None:
    """Measure everything and print one row each."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="few rounds: to see that it runs, not to be quoted")
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    rounds = 3 if chosen.quick else 40
    rows = [
        *compiling(rounds),
        *stepping(rounds),
        *many(rounds),
        *deciding(rounds),
        *model_checking(rounds, 100 if chosen.quick else 1000),
    ]
    if chosen.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        rest = "  ".join(f"{key} {value:,.2f}" for key, value in row.items() if key not in ("what", "wb_us"))
        print(f"{row['what']:75} {row['wb_us']:14,.2f} us  {rest}")


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
