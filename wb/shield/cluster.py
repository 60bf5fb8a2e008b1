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
from wb.rules.truths import source

if TYPE_CHECKING:
    from networkx import Graph
    from scipy.sparse import csr_array


BLOCK = 1024  # rows of cosines at a time
COUNTED = ("rules", "predicates", "queries", "physical")
MOST = 40  # clusters that the eigengap chooses among
DENSE = 200  # nodes below which all eigenvalues are computed
TRIES = 60  # restarts of the Lanczos method
EQUAL = 1e-9  # eigenvalues nearer than this are equal


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
    place, rows = {name: i for i, name in enumerate(names)}, np.asarray(vectors)
    together = {tuple(sorted(map(place.__getitem__, pair))) for pair in cooccurring(ruleset)}
    found = networkx.Graph()
    found.add_nodes_from(names)
    for start in range(0, len(names), BLOCK):
        cosines = rows[start : start + BLOCK] @ rows[start:].T
        near = np.triu(cosines >= theta, 1)
        here = np.array([(i, j) for i, j in together if start <= i < start + BLOCK], dtype=int).reshape(-1, 2) - start
        near[here[:, 0], here[:, 1]] = True
        one, other = near.nonzero()
        found.add_edges_from(
            (names[i], names[j], {"together": (i, j) in together, "cosine": cosine})
            for i, j, cosine in zip(
                (one + start).tolist(),
                (other + start).tolist(),
                cosines[one, other].astype(float).round(4).tolist(),
                strict=True,
            )
        )
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
    affinity = _affinity(graph, joined)
    k = min(k or _gap(affinity, MOST), max(len(joined), 1))
    labels = _cut(affinity, k, seed)
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


def eigengap(graph: Graph, *, most: int = MOST) -> int:
    """The k in 1..most after which the eigenvalues of the normalised Laplacian jump most.

    Never below the number of connected components: their zero eigenvalues come before any jump.
    """
    return _gap(_affinity(graph, [n for n in graph if graph.degree(n) > 0]), most)


def spectral(graph: Graph, names: Sequence[str], k: int, *, seed: int = 0) -> tuple[int, ...]:
    """A label for every name, by spectral clustering of the graph between them into k parts.

    Labels are read off the eigenvectors by pivoted QR (Damle, Minden & Ying 2019), so that `seed` only starts the
    solver.  With as many parts as the graph falls into these are its components, whose indicators span the
    eigenvectors of 0 (von Luxburg 2007, Proposition 4).
    """
    return _cut(_affinity(graph, names), k, seed)


def _affinity(graph: Graph, names: Sequence[str]) -> csr_array:
    """The 0-1 adjacency of the graph between the names, sparse."""
    from scipy import sparse

    place = {name: i for i, name in enumerate(names)}
    ends = np.array([(place[a], place[b]) for a, b in graph.edges if a in place and b in place]).reshape(-1, 2)
    one, other = np.concatenate([ends, ends[:, ::-1]]).T
    return sparse.csr_array((np.ones(len(one)), (one, other)), shape=(len(names), len(names)))


def _gap(affinity: csr_array, most: int) -> int:
    from scipy.sparse import csgraph

    least, nodes = csgraph.connected_components(affinity, directed=False)[0], affinity.shape[0]
    if nodes < 3 or least > min(most, nodes - 1):
        return max(least, 1)
    gaps = np.diff(_lowest(affinity, most + 1)[0])[least - 1 :]
    return int(least + np.flatnonzero(gaps >= gaps.max() - EQUAL)[-1])


def _cut(affinity: csr_array, k: int, seed: int) -> tuple[int, ...]:
    from scipy import linalg
    from scipy.sparse import csgraph

    nodes = affinity.shape[0]
    if k <= 1 or nodes <= 1:
        return (0,) * nodes
    if k >= nodes:
        return tuple(range(nodes))
    parts, labels = csgraph.connected_components(affinity, directed=False)
    if parts != k:
        vectors = _lowest(affinity, k, seed)[1] / np.sqrt(np.maximum(affinity.sum(axis=1), 1))[:, None]
        pivots = linalg.qr(vectors.T, mode="r", pivoting=True)[1]
        left, _, right = linalg.svd(vectors[pivots[:k]].T)
        labels = np.abs(vectors @ (left @ right)).argmax(axis=1)
    return tuple(labels.tolist())


def _lowest(affinity: csr_array, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The lowest eigenvalues of the normalised Laplacian, at most `count`, and their vectors, shape (nodes, values).

    Each connected component by itself, so that no eigenvalue that several share is missed.
    """
    from scipy.sparse import csgraph

    parts, home = csgraph.connected_components(affinity, directed=False)
    where = np.split(np.argsort(home, kind="stable"), np.cumsum(np.bincount(home, minlength=parts))[:-1])
    found = [_eigen(csgraph.laplacian(affinity[at][:, at], normed=True), count, seed) for at in where]
    values = np.concatenate([one for one, _ in found])
    order = np.argsort(values.round(9), kind="stable")[:count]
    vectors = np.zeros((affinity.shape[0], len(order)))
    owners = np.concatenate([[(part, i) for i in range(len(one))] for part, (one, _) in enumerate(found)])
    for column, (part, i) in enumerate(owners[order]):
        vectors[where[part], column] = found[part][1][:, i]
    return values[order], vectors


def _eigen(laplacian: csr_array, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The lowest eigenvalues, at most `count`, and their vectors: all of a small matrix, else by Lanczos."""
    from scipy.sparse import linalg

    size = laplacian.shape[0]
    if size < max(DENSE, 3 * count):
        values, vectors = np.linalg.eigh(laplacian.toarray())
        return values[:count], vectors[:, :count]
    start = np.random.default_rng(seed).uniform(-1, 1, size)
    try:  # cheap where edges are many
        values, vectors = linalg.eigsh(laplacian, count, which="SA", v0=start, maxiter=TRIES, ncv=3 * count)
    except linalg.ArpackNoConvergence:  # eigenvalues close to 0, as of a long chain: inverted, they lie apart
        values, vectors = linalg.eigsh(laplacian.tocsc(), count, sigma=-0.01, v0=start)
    order = np.argsort(values)
    return values[order], vectors[:, order]


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


def costs(ruleset: RuleSet, circuits: Mapping[str, Sequence[str]]) -> tuple[dict[str, object], ...]:
    """What each action has to look at, by its circuit and by an index of the rules that mention it: rules, physical
    rules among them, state predicates, and queries (fields, arguments or questions that tell these, each asked once).

    Action rules that do not mention the action cancel in its decision; physical ones may settle what is unknown.
    """
    rules = {rule.id: rule for rule in ruleset.rules}
    told = {p.name: source(p) for p in ruleset.predicates if p.kind == "state"}
    found = []
    for action, ids in circuits.items():
        for way, some in (("mention", [i for i in ids if action in rules[i].predicates]), ("cluster", ids)):
            names = dict.fromkeys(n for i in some for n in rules[i].predicates if n in told)
            found.append(
                {
                    "action": action,
                    "way": way,
                    "rules": len(some),
                    "physical": sum(rules[i].type == "physical" for i in some),
                    "predicates": len(names),
                    "queries": len({told[name] for name in names}),
                }
            )
    return tuple(found)


def findings(
    ruleset: RuleSet, found: Clusters, circuits: Mapping[str, Sequence[str]], survey: Sequence[Mapping[str, object]]
) -> tuple[str, ...]:
    """What clustering did for this policy, in sentences: which predicates it groups, how many of the rules are left to
    an action, and how far theta and k decide that (`survey`)."""
    sizes = [len(group) for group in found.groups if len(group) > 1]
    named = {rule.id: rule.predicates for rule in ruleset.rules}
    places = [action in named[rule] for action, ids in circuits.items() for rule in ids]
    by = {way: [row for row in costs(ruleset, circuits) if row["way"] == way] for way in ("mention", "cluster")}
    sums = {way: {key: sum(row[key] for row in rows) for key in COUNTED} for way, rows in by.items()}
    more = [f"{sums['cluster'][key] - sums['mention'][key]} more {key}" for key in COUNTED[:3]]
    laws = sums["cluster"]["physical"] - sums["mention"]["physical"]
    bought = f"{laws} of these rules are physical and can settle what is unknown" if laws else "they buy nothing here"
    few, *_, many = sorted(row["clusters"] for row in survey)
    least, *_, most = sorted(row["largest_circuit"] for row in survey)
    return (
        f"{sum(sizes)} of {sum(map(len, found.groups))} state predicates share a cluster with another one, in "
        f"{len(sizes)} clusters of up to {max(sizes, default=0)}; the others stand alone",
        f"a circuit holds {len(places) / max(len(circuits), 1):.1f} of {len(ruleset.rules)} rules on average; "
        f"{places.count(False)} of all {len(places)} places go to rules that do not mention the action",
        f"over all {len(circuits)} actions, circuits look at {', '.join(more)} than an index of the rules that mention "
        f"the action: {bought}, and all others cancel in every decision",
        f"other theta and k make {few} to {many} clusters, and {least} to {most} rules in the largest circuit",
    )
