"""Alg. 3 on planted clusters, and the laws of the closure."""

from __future__ import annotations

import random

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import SpectralClustering

from wb.logic.formula import Always, Atom, Implies, Not, conjunction
from wb.rules.rule import Predicate, Rule, RuleSet
from wb.shield import cluster


def rules_over(*bodies: tuple[str, tuple[str, ...]]) -> RuleSet:
    """A rule ALWAYS(action IMPLIES all of the states) for every (action, states)."""
    actions = dict.fromkeys(action for action, _ in bodies)
    states = dict.fromkeys(name for _, names in bodies for name in names)
    return RuleSet(
        predicates=tuple(Predicate(n, "action", n) for n in actions) + tuple(Predicate(n, "state", n) for n in states),
        rules=tuple(
            Rule(
                f"r{i}",
                "",
                Always(Implies(Atom(action), conjunction(tuple(map(Atom, names))) if names else Not(Atom(action)))),
                "permit_only_if",
            )
            for i, (action, names) in enumerate(bodies, 1)
        ),
    )


def planted(groups: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """Unit vectors around orthogonal centres, shuffled, with the group of each."""
    centres = np.eye(groups + 3)[:groups]
    home = rng.permutation(np.repeat(np.arange(groups), size))
    rows = centres[home] + rng.normal(scale=0.1, size=(len(home), groups + 3))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), home.tolist()


@pytest.mark.parametrize("k", [4, None], ids=["k given", "k from the eigengap"])
def test_planted_clusters_are_found(k):
    vectors, home = planted(4, 9, np.random.default_rng(3))
    ruleset = rules_over(*((f"act{i}", (f"s{i}",)) for i in range(36)))
    found = cluster.clusters(cluster.graph(ruleset, vectors, 0.5), k)
    expected = {frozenset(f"s{i}" for i in range(36) if home[i] == group) for group in range(4)}
    assert found.k == 4 and set(map(frozenset, found.groups)) == expected


def test_a_bridge_does_not_hide_two_planted_clusters_from_the_cut():
    graph = networkx.union(
        networkx.complete_graph(6), networkx.relabel_nodes(networkx.complete_graph(6), lambda n: n + 10)
    )
    graph.add_edge(0, 10)
    found = cluster.clusters(graph, 2)
    assert {frozenset(g) for g in found.cut} == {frozenset(range(6)), frozenset(range(10, 16))}
    assert found.groups == found.cut, "nothing co-occurs, so nothing is joined"


def test_an_edge_needs_a_shared_rule_or_enough_cosine():
    ruleset = rules_over(("act", ("a", "b")), ("act", ("c",)), ("act", ("d",)))
    rows = {"a": (1, 0, 0), "b": (0, 1, 0), "c": (0.8, 0.6, 0), "d": (0, 0, 1)}
    graph = cluster.graph(ruleset, np.array([rows[p.name] for p in cluster.states(ruleset)], dtype=float), 0.8)
    assert {frozenset(e) for e in graph.edges} == {frozenset("ab"), frozenset("ac")}
    assert graph.edges["a", "b"]["together"] and not graph.edges["a", "c"]["together"]
    assert graph.edges["a", "c"]["cosine"] == pytest.approx(0.8)


def test_an_isolated_predicate_is_a_cluster_of_its_own():
    graph = networkx.Graph()
    graph.add_nodes_from(["lonely", "other"])
    assert cluster.clusters(graph).groups == (("lonely",), ("other",))
    graph.add_edge("other", "third", together=True)
    assert set(cluster.clusters(graph, 5).groups) == {("lonely",), ("other", "third")}


def test_no_state_predicate_at_all_gives_no_cluster():
    ruleset = rules_over(("act", ()))
    assert cluster.clusters(cluster.graph(ruleset, np.zeros((0, 3)), 0.5)).groups == ()
    assert cluster.by_action(ruleset, ()) == {"act": ("r1",)}


def test_a_cut_through_a_rule_is_closed_again():
    graph = networkx.path_graph(6)
    networkx.set_edge_attributes(graph, False, "together")
    graph.edges[2, 3]["together"] = True
    found = cluster.clusters(graph, 2)
    assert len(found.cut) == 2 and found.groups == (tuple(range(6)),)


@settings(max_examples=60)
@given(data=st.data())
def test_the_closure_parts_no_pair_and_joins_no_more_than_it_must(data):
    n = data.draw(st.integers(1, 9))
    labels = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=6))
    groups = tuple(tuple(i for i in range(n) if labels[i] == label) for label in dict.fromkeys(labels))
    oracle = networkx.Graph()
    oracle.add_nodes_from(range(n))
    oracle.add_edges_from(pairs + [(g[0], other) for g in groups for other in g])
    assert set(map(frozenset, cluster.close(groups, pairs))) == set(
        map(frozenset, networkx.connected_components(oracle))
    )


def test_a_circuit_holds_the_whole_clusters_that_its_action_touches_and_no_other():
    ruleset = rules_over(("pay", ("a",)), ("post", ("a", "b")), ("read", ("c",)), ("pay", ()))
    circuits = cluster.by_action(ruleset, (("a", "b"), ("c",)))
    assert circuits == {"pay": ("r1", "r2", "r4"), "post": ("r1", "r2"), "read": ("r3",)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cluster.graph(rules_over(("act", ("a",))), np.zeros((2, 3)), 0.5), "one vector a state predicate"),
        (lambda: cluster.graph(rules_over(("act", ("a",))), np.zeros((1, 3)), 1.5), "theta"),
        (lambda: cluster.clusters(networkx.path_graph(3), 0), "k must be at least 1"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_survey_shows_how_theta_and_k_decide():
    vectors, _ = planted(3, 5, np.random.default_rng(1))
    ruleset = rules_over(*((f"act{i % 2}", (f"s{i}",)) for i in range(15)))
    rows = cluster.survey(ruleset, vectors, (0.5, 1.0), (None, 2))
    assert [(r["theta"], r["clusters"]) for r in rows] == [(0.5, 3), (0.5, 2), (1.0, 15), (1.0, 15)]
    assert rows[0]["edges"] > 0 == rows[2]["edges"] and rows[0]["largest_circuit"] >= rows[2]["largest_circuit"]


def test_the_graph_as_json_names_every_predicate_once():
    ruleset = rules_over(("act", ("a", "b")), ("act", ("c",)))
    graph = cluster.graph(ruleset, np.eye(3), 0.9)
    value = cluster.to_json(graph, cluster.clusters(graph))
    assert sorted(n for g in value["groups"] for n in g) == ["a", "b", "c"]
    assert value["edges"] == [{"a": "a", "b": "b", "together": True, "cosine": 0.0}]


def dense(graph: networkx.Graph, k: int) -> set[frozenset]:
    """The parts by scikit-learn over the whole matrix; its ties are decided by rounding, and so by the nodes' order."""
    nodes = [n for n in graph if graph.degree(n) > 0]
    affinity = networkx.to_numpy_array(graph, nodelist=nodes, weight=None)
    labels = SpectralClustering(k, affinity="precomputed", assign_labels="cluster_qr", random_state=0).fit_predict(
        affinity
    )
    return {frozenset(n for n, label in zip(nodes, labels, strict=True) if label == one) for one in set(labels)}


def well_defined(graph: networkx.Graph, values: np.ndarray, k: int) -> bool:
    """Whether eigenvalues part the first k vectors from the others, and no order of the nodes gives other parts."""
    if not 1 < k < len(values) or values[k] - values[k - 1] < 1e-7:
        return False
    cuts = set()
    for seed in range(6):
        turned = networkx.Graph()
        turned.add_nodes_from(random.Random(seed).sample(list(graph), len(graph)))
        turned.add_edges_from(graph.edges)
        cuts.add(frozenset(dense(turned, k)))
    return len(cuts) == 1


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
@pytest.mark.parametrize("size", [(2, 8), (10, 30), (60, 90)], ids=["small", "middle", "large"])
def test_sparse_eigenvectors_cut_as_the_dense_ones(size, monkeypatch):
    """On random graphs of several components, small ones by Lanczos too; a gap that is a tie may go either way."""
    rng, compared, parted = random.Random(3), 0, 0
    for seed in range(24 if size[1] < 50 else 4):
        blocks = [rng.randint(*size) for _ in range(rng.randint(2, 5))]
        graph = networkx.random_partition_graph(blocks, rng.uniform(0.3, 0.9), rng.choice([0.0, 0.02]), seed=seed)
        joined = graph.subgraph([n for n in graph if graph.degree(n) > 0])
        if len(joined) < 4:
            continue
        values = np.sort(np.linalg.eigvalsh(networkx.normalized_laplacian_matrix(joined).toarray()))
        least = networkx.number_connected_components(joined)
        gaps = np.diff(values[:41])
        monkeypatch.setattr(cluster, "DENSE", rng.choice([0, 200]))
        found = cluster.eigengap(graph)
        assert found == least or gaps[found - 1] >= gaps[least - 1 :].max() - 1e-6
        for k in {found, least, rng.randint(2, 9)}:
            if well_defined(joined, values, k):
                networkx.set_edge_attributes(graph, False, "together")
                cut = {frozenset(g) for g in cluster.clusters(graph, k).cut if graph.degree(g[0]) > 0}
                assert cut == dense(joined, k)
                compared, parted = compared + 1, parted + (k > least)
    assert compared >= 4 and parted >= (size[1] > 8)


def test_a_long_chain_whose_eigenvalues_crowd_at_0_is_cut_in_the_middle():
    graph = networkx.path_graph(3000)
    networkx.set_edge_attributes(graph, False, "together")
    first, second = map(len, cluster.clusters(graph, 2).cut)
    assert abs(first - second) <= 2


def test_an_index_by_mention_looks_at_no_more_than_a_circuit():
    ruleset = rules_over(("pay", ("a",)), ("post", ("a", "b")), ("read", ("c",)), ("pay", ()))
    rows = cluster.costs(ruleset, cluster.by_action(ruleset, (("a", "b"), ("c",))))
    assert [(r["action"], r["way"], r["rules"], r["predicates"], r["queries"]) for r in rows[:4]] == [
        ("pay", "mention", 2, 1, 1),
        ("pay", "cluster", 3, 2, 2),
        ("post", "mention", 1, 2, 2),
        ("post", "cluster", 2, 2, 2),
    ]


def test_the_gap_of_eigenvalues_tells_how_many_parts_a_graph_has():
    pairs = networkx.Graph([(0, 1), (2, 3), (4, 5)])
    for graph, parts in (
        (networkx.Graph(), 1),
        (networkx.Graph([(0, 1)]), 1),
        (pairs, 3),
        (networkx.disjoint_union(networkx.complete_graph(4), networkx.complete_graph(4)), 2),
        (networkx.complete_graph(5), 1),
        (networkx.barbell_graph(5, 0), 2),
        (networkx.path_graph(3), 2),
    ):
        assert cluster.eigengap(graph) == parts
    assert cluster.eigengap(networkx.barbell_graph(5, 0), most=1) == 1
    assert cluster.eigengap(pairs, most=1) == cluster.eigengap(pairs, most=2) == 3, "never fewer than stand apart"
    lonely = networkx.Graph([(0, 1), (2, 3)])
    lonely.add_node(9)
    assert cluster.eigengap(lonely) == 2, "what has no neighbour is no part"
