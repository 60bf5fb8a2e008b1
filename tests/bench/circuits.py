"""Circuits beside peers, in one run: exactness and time of inference, and of clustering.

    python tests/bench/circuits.py [FOLDER …]

Peers are pgmpy's variable elimination, looked for in the environment and in the folders that are named
(`uv pip install --target FOLDER pgmpy`), and scikit-learn's dense spectral clustering with numpy's dense
eigenvalues.  Times are processor time: of one decision the best of several rounds, of a clustering one run.
"""

from __future__ import annotations

# ruff: noqa: E402
import random
import sys
import time
import warnings
from collections.abc import Callable
from importlib import util
from itertools import product
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]
sys.path += sys.argv[1:]

import networkx
import numpy as np
from oracles import worlds
from test_inference import case, said

from wb.logic.formula import Always, Atom, Implies, conjunction
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import circuit, cluster
from wb.shield.circuit import Circuit

RULES, CASES, PREDICATES = 50, 200, 5000


def best_us(work: Callable[[], object], times: int, rounds: int = 7) -> float:
    """Microseconds of one call: the least mean of several rounds."""
    found = []
    for _ in range(rounds):
        before = time.process_time()
        for _ in range(times):
            work()
        found.append((time.process_time() - before) / times * 1e6)
    return min(found)


def closed_form() -> None:
    """One decision over rules of which everything is known, and the same by the general way."""
    names = [f"p{i}" for i in range(RULES)]
    rules = tuple(
        Rule(f"r{i}", "", Always(Implies(Atom("act"), Atom(n))), "permit_only_if") for i, n in enumerate(names)
    )
    of, machines = Circuit("act", rules, (1.0,) * RULES), circuit.automata(rules)
    known = {name: i % 10 > 0 for i, name in enumerate(names)}
    fares = {r.id: circuit.faring(machines[r.id], "act", circuit.START, known) for r in rules}
    tables = {name: circuit.Factor((), {(): one}) for name, one in fares.items()}
    assert circuit.infer(of, fares) == circuit.infer(of, tables)
    closed = best_us(lambda: circuit.safe(circuit.infer(of, fares), -0.4), 2000)
    joint = best_us(lambda: circuit.infer(of, tables), 50)
    every = best_us(lambda: [circuit.faring(machines[r.id], "act", circuit.START, known) for r in rules], 200)
    print(
        f"closed form, {RULES} rules known: {closed:.1f} µs a decision (by elimination {joint / closed:.0f} times that)"
    )
    print(f"  reading how the rules fare off their automata, before it: {every:.1f} µs")


def network(of: Circuit, evidence: dict, likely: dict) -> Callable[[], float]:
    """The same circuit as a Bayesian network of pgmpy: physical rules are children that are observed to hold."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork

    parents = sorted({n for r in of.rules for n in r.predicates} & likely.keys())
    laws = {law.id: sorted(set(law.predicates) & likely.keys()) for law in of.laws}
    names = sorted({*parents, *(n for some in laws.values() for n in some)})
    model = DiscreteBayesianNetwork([(n, "act") for n in parents] + [(n, i) for i, some in laws.items() for n in some])
    model.add_nodes_from([*names, "act", *laws])
    tables = [TabularCPD(n, 2, [[1 - likely[n]], [likely[n]]]) for n in names]
    ways = list(product((False, True), repeat=len(parents)))
    bare = Circuit(of.action, of.rules, of.weights)
    taken = [(1 + said(bare, evidence | dict(zip(parents, way, strict=True)), {}, {}).low) / 2 for way in ways]
    tables.append(TabularCPD("act", 2, [[1 - p for p in taken], taken], parents, [2] * len(parents)))
    for law in of.laws:
        some = laws[law.id]
        only = Circuit("act", (), (), (law,))
        holds = [
            float(not said(only, evidence | dict(zip(some, way, strict=True)), {}, {}).impossible)
            for way in product((False, True), repeat=len(some))
        ]
        tables.append(TabularCPD(law.id, 2, [[1 - h for h in holds], holds], some, [2] * len(some)))
    model.add_cpds(*tables)
    ask = VariableElimination(model)
    observed = dict.fromkeys(laws, 1)

    def answer() -> float:
        values = ask.query(["act"], evidence=observed, show_progress=False).values
        return float(values[1] - values[0])

    return answer


def beside_pgmpy() -> None:
    """Soft evidence: the same number, and the time of one query once the network or the factors are made."""
    if util.find_spec("pgmpy") is None:
        print("pgmpy: not installed, not compared")
        return
    rng, most, ours, theirs, n = random.Random(5), 0.0, 0.0, 0.0, 0
    while n < CASES:
        of, evidence, likely, _ = case(rng, hard=False)
        names = {name for r in (*of.rules, *of.laws) for name in r.predicates} - {"act"}
        likely = {name: likely.get(name, rng.random()) for name in names - evidence.keys()}
        inside = {name for r in of.rules for name in r.predicates} & likely.keys()
        if not 1 <= len(inside) <= 8 or worlds.bounds(of, evidence, likely, {}) is None:
            continue
        rules = (*of.rules, *of.laws)
        machines = circuit.automata(rules)
        fares = {r.id: circuit.faring(machines[r.id], "act", circuit.START, evidence) for r in rules}
        ask = network(of, evidence, likely)
        before = time.process_time()
        peer = ask()
        middle = time.process_time()
        found = circuit.infer(of, fares, likely)
        ours, theirs, n = ours + time.process_time() - middle, theirs + middle - before, n + 1
        most = max(most, abs(found.low - peer), abs(found.high - peer))
    print(
        f"pgmpy, {n} random circuits with soft evidence and physical rules: differs by at most {most:.1e}; "
        f"{theirs / n * 1e3:.2f} ms a query, wb {ours / n * 1e3:.2f} ms, {theirs / ours:.1f} times faster"
    )


def clustering(groups: int) -> None:
    """Graph, eigengap and cut of many predicates, and the dense way to the two latter."""
    from sklearn.cluster import SpectralClustering

    rng, draw = random.Random(1), np.random.default_rng(1)
    names = [f"s{i}" for i in range(PREDICATES)]
    pairs = rng.sample(names, PREDICATES)
    rules = tuple(
        Rule(f"r{i}", "", Always(Implies(Atom(f"a{i % 200}"), conjunction(tuple(map(Atom, two))))), "permit_only_if")
        for i, two in enumerate(zip(pairs[::2], pairs[1::2], strict=True))
    )
    acts = tuple(Predicate(f"a{i}", "action", "") for i in range(200))
    ruleset = RuleSet((*acts, *(Predicate(name, "state", name) for name in names)), rules)
    centres = draw.normal(size=(groups, 384))
    vectors = (centres / np.linalg.norm(centres, axis=1, keepdims=True))[draw.integers(groups, size=PREDICATES)]
    vectors += draw.normal(scale=0.035, size=vectors.shape)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    start = time.process_time()
    graph = cluster.graph(ruleset, vectors, 0.6)
    made = time.process_time()
    found = cluster.clusters(graph)
    done = time.process_time()
    affinity = networkx.to_numpy_array(graph, weight=None)
    degrees = 1 / np.sqrt(np.maximum(affinity.sum(axis=0), 1))
    before = time.process_time()
    np.linalg.eigvalsh(np.eye(len(graph)) - affinity * degrees * degrees[:, None])
    middle = time.process_time()
    SpectralClustering(max(found.k, 2), affinity="precomputed", assign_labels="cluster_qr", random_state=0).fit(
        affinity
    )
    dense = time.process_time()
    print(
        f"{PREDICATES} predicates around {groups} centres, {graph.number_of_edges()} edges, k {found.k}: graph "
        f"{made - start:.2f} and clusters {done - made:.2f} CPU-s; dense: eigenvalues {middle - before:.1f}, "
        f"scikit-learn {dense - middle:.1f}, {(dense - before) / (done - made):.0f} times as much"
    )


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    closed_form()
    beside_pgmpy()
    for number in (40, 400):
        clustering(number)
