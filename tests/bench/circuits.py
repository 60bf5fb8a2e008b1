"""Circuits beside peers, in one run: exactness and time of inference, and of clustering.

    python tests/bench/circuits.py [FOLDER …]

Peers are pgmpy's variable elimination and PySDD's weighted model counts, a step at a time, looked for in the
environment and in the folders that are named (`uv pip install --target FOLDER pgmpy pysdd`), scikit-learn's dense
spectral clustering with numpy's dense eigenvalues, and torch and scikit-learn for an epoch of learning.  Times are
processor time: of one decision the best of several rounds, of a clustering one run.
"""

from __future__ import annotations

# ruff: noqa: E402
import random
import sys
import time
import warnings
from collections.abc import Callable
from importlib import util
from itertools import combinations, product
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]
sys.path += sys.argv[1:]

import networkx
import numpy as np
from oracles import worlds
from test_inference import case, said

from wb.domain.trace import Call, Step
from wb.logic import cel
from wb.logic.formula import Always, Atom, Implies, conjunction
from wb.logic.syntax import parse
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import circuit, cluster
from wb.shield.circuit import Circuit
from wb.shield.shield import Shield

RULES, CASES, PREDICATES = 50, 200, 5000
CIRCUITS, STEPS = 60, 2000


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
    """One decision over rules of which everything is known: with what their automata say, whole as a shield makes it,
    and the same by the general way."""
    names = [f"p{i}" for i in range(RULES)]
    rules = tuple(
        Rule(
            f"r{i}",
            "",
            parse(f"ALWAYS (act IMPLIES ({n} OR ONCE {n}))" if i % 2 else f"ALWAYS (act IMPLIES {n})"),
            "forbid",
        )
        for i, n in enumerate(names)
    )
    of, machines = Circuit("act", rules, (1.0,) * RULES), circuit.automata(rules)
    places, rng = {rule.id: i for i, rule in enumerate(rules)}, random.Random(1)
    ready, at = circuit.Compiled(of, machines, places), (circuit.START,) * RULES
    steps = [{name: rng.random() < 0.9 for name in names} for _ in range(500)]

    def apart(step: dict) -> circuit.Inference:
        return circuit.infer(of, {r.id: circuit.faring(machines[r.id], "act", circuit.START, step) for r in rules})

    assert all(ready.infer(at, step) == apart(step) for step in steps)
    looked_up = best_us(lambda: [circuit.safe(ready.infer(at, step), -0.4) for step in steps], 4) / len(steps)
    general = best_us(lambda: [circuit.safe(apart(step), -0.4) for step in steps[:50]], 4) / 50
    fares = {r.id: circuit.faring(machines[r.id], "act", circuit.START, steps[0]) for r in rules}
    tables = {name: circuit.Factor((), {(): one}) for name, one in fares.items()}
    joint = best_us(lambda: circuit.infer(of, tables), 50)
    act = Predicate("act", "action", "", tools=("act",))
    facts = [Predicate(n, "state", "", test=cel.parse(f"state.{n}")) for n in names]
    one = Shield((act, *facts), {"act": of}, -0.4)
    watch, calls = one.watch(), [Step((Call("act"),), step) for step in steps]

    def anew() -> None:
        one._seen.clear()
        for call in calls:
            watch.judge(call)

    print(
        f"closed form, {RULES} rules known: {looked_up:.1f} µs a decision with their automata "
        f"({general / looked_up:.1f} times that rule by rule, {joint / looked_up:.0f} times by elimination)\n"
        f"  a verdict of a shield on what it has not seen, with its reason: {best_us(anew, 2) / len(steps):.1f} µs"
    )


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


def narrow(rng: random.Random) -> tuple[Circuit, dict, list[str]]:
    """A random circuit with three unknown predicates or more, of treewidth 5 or less; what is known, and is not."""
    while True:
        of, evidence, _, _ = case(rng, hard=False)
        graph = networkx.Graph()
        fares = frames(of, evidence)
        for one in fares.values():
            scope = one.scope if isinstance(one, circuit.Factor) else ()
            graph.add_nodes_from(scope)
            graph.add_edges_from(combinations(scope, 2))
        names = sorted({n for r in (*of.rules, *of.laws) for n in r.predicates} - {"act", *evidence})
        width = networkx.approximation.treewidth_min_degree(graph)[0] if len(graph) else 0
        if len(graph) >= 3 and width <= 5 and worlds.bounds(of, evidence, dict.fromkeys(names, 0.5), {}):
            return of, evidence, names


def frames(of: Circuit, evidence: dict) -> dict:
    """How the rules of a circuit may fare."""
    rules = (*of.rules, *of.laws)
    machines = circuit.automata(rules)
    return {r.id: circuit.faring(machines[r.id], "act", circuit.START, evidence) for r in rules}


def batches() -> None:
    """Soft evidence of many steps at once: exact, and the time of a step, beside one query of pgmpy and of PySDD."""
    rng, draw, most, ours, single, times = random.Random(9), np.random.default_rng(9), 0.0, [], [], {}
    for _ in range(CIRCUITS):
        of, evidence, names = narrow(rng)
        fares, likely = frames(of, evidence), {name: draw.uniform(0.02, 0.98, STEPS) for name in names}
        before = time.process_time()
        found = np.broadcast_to(circuit.expectation(of, fares, likely), STEPS)
        ours.append((time.process_time() - before) / STEPS * 1e6)
        each = [{name: float(p[i]) for name, p in likely.items()} for i in range(5)]
        expected = [worlds.bounds(of, evidence, one, {})[0] for one in each]
        most = max(most, float(np.abs(found[:5] - expected).max()))
        before = time.process_time()
        for one in each:
            circuit.infer(of, fares, one)
        single.append((time.process_time() - before) / 5 * 1e6)
        for peer, ask in (("pgmpy", asked_of_pgmpy), ("PySDD", asked_of_pysdd)):
            queries = ask(of, evidence, each)
            if queries is not None:
                before = time.process_time()
                answers = queries()
                times.setdefault(peer, []).append((time.process_time() - before) / 5 * 1e6)
                assert np.abs(np.array(answers) - expected).max() < 1e-6, (peer, answers, expected)
    print(
        f"soft evidence, {CIRCUITS} circuits of width <= 5, {STEPS} steps at once: {np.mean(ours):.2f} µs a step "
        f"(worst circuit {max(ours):.2f}), at most {most:.0e} from enumeration; one by one {np.mean(single):.0f} µs"
    )
    for peer, some in times.items():
        print(
            f"  {peer}: {np.mean(some):.0f} µs a query, {np.mean(some) / np.mean(ours):.0f} times as much ({len(some)})"
        )


def asked_of_pgmpy(of: Circuit, evidence: dict, each: list[dict]) -> Callable[[], list[float]] | None:
    """Each step's network, made before; None where pgmpy is not installed, or rules have too many parents for it."""
    inside = {name for r in of.rules for name in r.predicates} & each[0].keys()
    if util.find_spec("pgmpy") is None or not 1 <= len(inside) <= 8:
        return None
    networks = [network(of, evidence, one) for one in each]
    return lambda: [ask() for ask in networks]


def asked_of_pysdd(of: Circuit, evidence: dict, each: list[dict]) -> Callable[[], list[float]] | None:
    """P1 - P0 by weighted model counts: how the rules fare is compiled once into a decision diagram for each way."""
    if util.find_spec("pysdd") is None:
        return None
    from pysdd.sdd import SddManager

    names = sorted(each[0])
    manager = SddManager(var_count=len(names), auto_gc_and_minimize=False)
    literal = {n: manager.literal(i + 1) for i, n in enumerate(names)}

    def diagram(scope: tuple[str, ...], ways: list[tuple[bool, ...]]) -> object:
        found = manager.false()
        for way in ways:
            term = manager.true()
            for name, true in zip(scope, way, strict=True):
                term = term & (literal[name] if true else ~literal[name])
            found = found | term
        return found

    fares, parts = frames(of, evidence), {0.0: manager.true()}
    for rule, weight in zip(of.rules, of.weights, strict=True):
        one = circuit._factor(fares[rule.id])
        gains: dict[int, list] = {}
        for way, kept in one.rows.items():
            gains.setdefault(*circuit._gains(kept), []).append(way)
        split = {gain: diagram(one.scope, ways) for gain, ways in gains.items()}
        sums: dict[float, object] = {}
        for so_far, node in parts.items():
            for gain, own in split.items():
                total = round(so_far + weight * gain, 12)
                both = node & own
                sums[total] = sums[total] | both if total in sums else both
        parts = sums
    lawful = manager.true()
    for law in of.laws:
        one = circuit._law(fares[law.id])
        lawful = lawful & diagram(one.scope, list(one.rows))
    counts = {total: (node & lawful).wmc(log_mode=False) for total, node in parts.items()}

    def counted(likely: dict) -> float:
        masses = {}
        for total, counter in counts.items():
            for name in names:
                counter.set_literal_weight(literal[name], likely[name])
                counter.set_literal_weight(~literal[name], 1 - likely[name])
            masses[total] = counter.propagate()
        return sum(circuit.relative(t) * m for t, m in masses.items()) / sum(masses.values())

    return lambda: [counted(one) for one in each]


def learning() -> None:
    """An epoch of gradient descent on Eq. 6 over 1,000 examples of 50 rules, and what peers take for one."""
    import torch
    from sklearn.linear_model import SGDClassifier

    from wb.shield import descent

    draw, epochs = np.random.default_rng(3), 300
    table = draw.choice([-1, 0, 1], size=(1000, RULES), p=[0.1, 0.85, 0.05])
    labels = np.where(table @ draw.uniform(0, 2, RULES) + draw.normal(size=1000) < 0, -1, 1)
    examples = {"act": descent.Examples(table, labels, "real")}
    whole, parts = (
        best_us(lambda b=b: descent.learn_all(examples, (0,), epsilon=-0.4, epochs=epochs, batch=b), 1) / epochs
        for b in (0, 100)
    )
    rows, wanted = torch.tensor(table, dtype=torch.float64), torch.tensor(labels, dtype=torch.float64)

    def by_autograd() -> None:
        free = torch.zeros(RULES, dtype=torch.float64, requires_grad=True)
        adam = torch.optim.Adam([free], lr=0.05)
        for _ in range(epochs):
            theta = torch.nn.functional.softplus(free)
            short = 0.1 - wanted * ((rows @ theta / 2).tanh() + 0.4)
            loss = short.clamp(min=0).mean() + 1e-3 * ((theta - 1) ** 2).sum()
            adam.zero_grad()
            loss.backward()
            adam.step()

    torch.set_num_threads(1)
    autograd = best_us(by_autograd, 1) / epochs
    plain = SGDClassifier(loss="hinge", random_state=0)
    dense = table.astype(float)
    sgd = best_us(lambda: plain.partial_fit(dense, labels, classes=[-1, 1]), 50)
    print(
        f"learning, 1,000 examples of {RULES} rules: {whole:.0f} µs an epoch ({parts:.0f} in batches of 100); torch's "
        f"autograd and Adam on the same loss {autograd:.0f}, {autograd / whole:.1f} times as much; an epoch of "
        f"scikit-learn's linear SGDClassifier {sgd:.0f}, {sgd / whole:.1f} times as much"
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
    learning()
    batches()
    beside_pgmpy()
    for number in (40, 400):
        clustering(number)
