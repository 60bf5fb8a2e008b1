"""Clusters of state predicates, and the rules that each action brings together (ShieldAgent, Alg. 3).

Two state predicates are neighbours when a rule holds both or their cosine reaches theta.  Spectral
clustering (von Luxburg 2007) cuts that graph; clusters that split a co-occurring pair are joined by
union-find until none does.  Settled here where the paper is silent: an isolated
predicate is its own cluster, k comes from the eigengap unless given, and a rule without state
predicates hangs on its actions directly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from wb.rules.rule import Predicate, RuleSet

if TYPE_CHECKING:
    from networkx import Graph


@dataclass(frozen=True, slots=True)
class Clusters:
    """A partition of the state predicates. `cut` is what spectral clustering said, `groups` its closure
    under co-occurrence; `k` the number of parts asked of the cut."""

    groups: tuple[tuple[str, ...], ...]
    cut: tuple[tuple[str, ...], ...]
    k: int


def states(ruleset: RuleSet) -> tuple[Predicate, ...]:
    """The state predicates that some rule uses, in the rule set's order."""
    return tuple(p for p in ruleset.without_unused().predicates if p.kind == "state")


def graph(ruleset: RuleSet, vectors: np.ndarray, theta: float) -> Graph:
    """The networkx graph of the state predicates: an edge where two co-occur or their cosine is >= theta.

    `vectors` are the rows of `states(ruleset)`, of norm 1.  Edges carry `together` (co-occurrence) and
    `cosine`; every edge weighs 1, as in Alg. 3.
    """
    import networkx

    if not -1 <= theta <= 1:
        raise ValueError(f"theta is a cosine and must be in -1..1; got {theta}")
    names = [p.name for p in states(ruleset)]
    if len(vectors) != len(names):
        raise ValueError(f"one vector a state predicate was required ({len(names)}); got {len(vectors)}")
    cosines = np.asarray(vectors) @ np.asarray(vectors).T if names else np.zeros((0, 0))
    together = cooccurring(ruleset)
    found = networkx.Graph()
    found.add_nodes_from(names)
    for (i, a), (j, b) in combinations(enumerate(names), 2):
        joined = frozenset((a, b)) in together
        if joined or cosines[i, j] >= theta:
            found.add_edge(a, b, together=joined, cosine=round(float(cosines[i, j]), 4))
    return found


def cooccurring(ruleset: RuleSet) -> frozenset[frozenset[str]]:
    """The pairs of state predicates that occur in one rule."""
    known = {p.name for p in ruleset.predicates if p.kind == "state"}
    return frozenset(
        frozenset(pair)
        for rule in ruleset.rules
        for pair in combinations([n for n in rule.predicates if n in known], 2)
    )


def clusters(graph: Graph, k: int | None = None, *, seed: int = 0) -> Clusters:
    """The clusters of Alg. 3, lines 3 to 11: spectral cut, then union of those that part a co-occurring pair.

    Without k the eigengap of the normalised Laplacian chooses it.  k counts clusters of predicates
    that have a neighbour at all; isolated ones are kept out, since they have no Laplacian row.
    """
    alone = [n for n in graph if graph.degree(n) == 0]
    joined = [n for n in graph if graph.degree(n) > 0]
    if k is not None and k < 1:
        raise ValueError(f"k must be at least 1; got {k}")
    k = min(k or eigengap(graph), max(len(joined), 1))
    labels = spectral(graph, joined, k, seed=seed)
    cut = _groups(joined, labels) + tuple((n,) for n in alone)
    pairs = [(a, b) for a, b, together in graph.edges(data="together") if together]
    return Clusters(groups=close(cut, pairs), cut=cut, k=k)


def survey(
    ruleset: RuleSet, vectors: np.ndarray, thetas: Sequence[float], ks: Sequence[int | None], *, seed: int = 0
) -> tuple[dict[str, object], ...]:
    """How much theta and k decide: for every pair of them the edges, the clusters of the cut and of its closure,
    and the rules of the largest circuit."""
    rows = []
    for theta in thetas:
        joined = graph(ruleset, vectors, theta)
        for k in ks:
            found = clusters(joined, k, seed=seed)
            largest = max(map(len, by_action(ruleset, found.groups).values()), default=0)
            rows.append(
                {
                    "theta": theta,
                    "k": found.k,
                    "edges": joined.number_of_edges(),
                    "cut": len(found.cut),
                    "clusters": len(found.groups),
                    "largest_circuit": largest,
                }
            )
    return tuple(rows)


def to_json(graph: Graph, found: Clusters) -> dict[str, object]:
    """The graph and its clusters as JSON values, as `plots.predicate_graph` draws them."""
    edges = [
        {"a": a, "b": b, "together": row["together"], "cosine": row["cosine"]} for a, b, row in graph.edges(data=True)
    ]
    return {
        "k": found.k,
        "groups": [list(g) for g in found.groups],
        "cut": [list(g) for g in found.cut],
        "edges": edges,
    }


def eigengap(graph: Graph, *, most: int = 40) -> int:
    """The k in 1..most after which the eigenvalues of the normalised Laplacian jump most.

    Never below the number of connected components: their zero eigenvalues come before any jump.
    """
    import networkx

    joined = graph.subgraph([n for n in graph if graph.degree(n) > 0])
    if len(joined) < 3:
        return max(networkx.number_connected_components(joined), 1) if len(joined) else 1
    values = np.sort(np.linalg.eigvalsh(networkx.normalized_laplacian_matrix(joined).toarray()))[: most + 1]
    least = networkx.number_connected_components(joined)
    if least >= len(values):
        return least
    return int(least + np.argmax(np.diff(values)[least - 1 :]))


def spectral(graph: Graph, names: Sequence[str], k: int, *, seed: int = 0) -> tuple[int, ...]:
    """A label for every name, by scikit-learn's spectral clustering of the graph between them into k parts."""
    if k <= 1 or len(names) <= 1:
        return (0,) * len(names)
    if k >= len(names):
        return tuple(range(len(names)))
    import warnings

    import networkx
    from sklearn.cluster import SpectralClustering

    affinity = networkx.to_numpy_array(graph, nodelist=list(names), weight=None)
    method = SpectralClustering(k, affinity="precomputed", assign_labels="cluster_qr", random_state=seed)
    with warnings.catch_warnings():
        # several components are expected here: each only adds a zero eigenvalue
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        return tuple(int(label) for label in method.fit_predict(affinity))


def close(groups: Sequence[Sequence[str]], pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """The groups joined by union-find until no pair is parted, in order of first appearance."""
    from networkx.utils import UnionFind

    names = [name for group in groups for name in group]
    home = UnionFind(names)
    for together in (*groups, *pairs):
        home.union(*together)
    return _groups(names, [home[name] for name in names])


def _groups(names: Sequence[str], labels: Sequence[object]) -> tuple[tuple[str, ...], ...]:
    found: dict[object, list[str]] = {}
    for name, label in zip(names, labels, strict=True):
        found.setdefault(label, []).append(name)
    return tuple(tuple(group) for group in found.values())


def rule_clusters(ruleset: RuleSet, groups: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """For each group of predicates, the ids of the rules that share one of them (Alg. 3, line 13)."""
    return tuple(tuple(rule.id for rule in ruleset.rules if set(rule.predicates) & set(group)) for group in groups)


def by_action(ruleset: RuleSet, groups: Sequence[Sequence[str]]) -> Mapping[str, tuple[str, ...]]:
    """For each action predicate, the ids of its circuit's rules (Alg. 3, lines 15 to 25).

    A rule cluster joins the circuit whole when one of its rules mentions the action; a rule that
    mentions the action and no state predicate joins alone.
    """
    bundles = [frozenset(rules) for rules in rule_clusters(ruleset, groups)]
    found = {}
    for action in (p.name for p in ruleset.predicates if p.kind == "action"):
        own = {rule.id for rule in ruleset.rules if action in rule.predicates}
        if own:
            whole = own.union(*(bundle for bundle in bundles if bundle & own))
            found[action] = tuple(rule.id for rule in ruleset.rules if rule.id in whole)
    return found


def findings(
    ruleset: RuleSet, found: Clusters, circuits: Mapping[str, Sequence[str]], survey: Sequence[Mapping[str, object]]
) -> tuple[str, ...]:
    """What clustering did for this policy, in sentences: which predicates it groups, how many of the rules are left to
    an action, and how far theta and k decide that (`survey`)."""
    sizes = [len(group) for group in found.groups if len(group) > 1]
    named = {rule.id: rule.predicates for rule in ruleset.rules}
    places = [action in named[rule] for action, ids in circuits.items() for rule in ids]
    few, *_, many = sorted(row["clusters"] for row in survey)
    least, *_, most = sorted(row["largest_circuit"] for row in survey)
    return (
        f"{sum(sizes)} of {sum(map(len, found.groups))} state predicates share a cluster with another one, in "
        f"{len(sizes)} clusters of up to {max(sizes, default=0)}; the others stand alone",
        f"a circuit holds {len(places) / max(len(circuits), 1):.1f} of {len(ruleset.rules)} rules on average; "
        f"{places.count(False)} of all {len(places)} places go to rules that do not mention the action",
        f"other theta and k make {few} to {many} clusters, and {least} to {most} rules in the largest circuit",
    )
