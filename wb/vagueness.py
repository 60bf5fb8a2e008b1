"""Vagueness: how hard a predicate is to tell from its neighbours, and a rule from the others.

ShieldAgent (Sec. 3.2.3, Eq. 3) scores a predicate by the mean cosine of its k nearest predicates of
the same kind: higher is vaguer.  The printed index runs from m to n; it is read as the k largest,
the predicate itself left out (SPEC 4 f).  Vectors come from outside; nothing is embedded here.
"""
from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

import numpy as np

from wb.predicate import Predicate
from wb.rule import RuleSet


def describe(predicate: Predicate) -> str:
    """The text that stands for a predicate when it is embedded: its name in words, its description.

    A final full stop is left out: it moves a sentence embedding and says nothing.
    """
    words, said = predicate.name.replace("_", " "), predicate.description.strip().rstrip(".")
    return f"{words}: {said}" if said else words


def scores(vectors: np.ndarray, kinds: Sequence[str], k: int = 5, *, chunk: int = 1024) -> np.ndarray:
    """V_p of every predicate (Eq. 3): mean of its k largest cosines within its kind, in -1..1.

    `vectors` has shape (n, d) with rows of norm 1; `kinds` names the kind of each row.  k is capped
    at the number of other predicates of the kind; a predicate alone in its kind scores 0, since
    there is nothing to mistake it for.  Memory is chunk × n; time O(n² d).
    """
    vectors = np.asarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(kinds):
        raise ValueError(f"one vector a kind was required; got shape {vectors.shape} for {len(kinds)} kinds")
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}")
    if len(vectors) and not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3):
        raise ValueError("rows of norm 1 were required; normalise the vectors first")
    found = np.zeros(len(vectors), dtype=np.float64)
    for kind in dict.fromkeys(kinds):
        rows = np.flatnonzero([other == kind for other in kinds])
        found[rows] = _nearest_mean(vectors[rows], k, chunk)
    return found


def _nearest_mean(vectors: np.ndarray, k: int, chunk: int) -> np.ndarray:
    n = len(vectors)
    k = min(k, n - 1)
    found = np.zeros(n, dtype=np.float64)
    if k == 0:
        return found
    for start in range(0, n, chunk):
        cosines = vectors[start:start + chunk] @ vectors.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf
        found[start:start + chunk] = np.partition(cosines, n - k, axis=1)[:, n - k:].mean(axis=1, dtype=np.float64)
    return found


def of_predicates(predicates: Sequence[Predicate], encoder, k: int = 5) -> dict[str, float]:
    """V_p of every predicate by name, with vectors from `encoder.encode(texts)`."""
    if not predicates:
        return {}
    vectors = encoder.encode([describe(p) for p in predicates])
    found = scores(vectors, [p.kind for p in predicates], k)
    return {p.name: float(score) for p, score in zip(predicates, found, strict=True)}


def of_rules(ruleset: RuleSet, of: Mapping[str, float]) -> dict[str, float]:
    """V_r of every rule by id: the largest V_p among its predicates (Sec. 3.2.3); 0 for a rule without any."""
    return {rule.id: max((of[name] for name in rule.predicates), default=0.0) for rule in ruleset.rules}


def vaguest(of: Mapping[str, float], count: int) -> tuple[str, ...]:
    """The `count` highest-scoring names, highest first (the heap of Alg. 2); ties in their given order."""
    order = {name: i for i, name in enumerate(of)}
    return tuple(heapq.nsmallest(count, of, key=lambda name: (-of[name], order[name])))
