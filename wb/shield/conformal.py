"""A threshold with a guarantee on finite samples, and a zone in which nothing is decided: split conformal prediction.

Of n safe calls that nothing was learned from, let l be the k-th least P1 - P0, k = floor(alpha (n + 1)).  If one more
safe call is exchangeable with them, in any order as likely, it is below l with a probability of at most k / (n + 1) <=
alpha, exactly that where no two are equal (Vovk, Gammerman & Shafer 2005; Papadopoulos 2002).  So calls below l are
denied.  The same of m unsafe calls from above: only a call above the k-th largest, u, is allowed, and an unsafe one is
with a probability of at most beta.  What lies between is undecided, and does not run.

The probability is over the draw of these calls and of the next one together; for given ones the rate of a continuous
score is Beta(k, n + 1 - k).  Assumed is that they are exchangeable, which calls of one run are not (so one of each is
drawn), and that nothing was learned or tuned on them.  Nothing is said of undecided calls, of which the first bound
leaves any number, nor of calls that no circuit judges, or that one who knows the threshold makes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class TooFew(ValueError):
    """No bound can be proved from so few calls; the message says how many are required."""


@dataclass(frozen=True, slots=True)
class Bound:
    """At most `rate` of all calls of a kind are on the wrong side of `value`; `rank` is k, of `n` calls."""

    value: float
    rate: float
    rank: int
    n: int

    @classmethod
    def of(cls, scores: Sequence[float], rate: float, kind: str, *, largest: bool = False) -> Bound:
        """The k-th least of the scores, or the k-th largest, with k the most that the rate admits.

        Raises:
            ValueError: the rate is not between 0 and 1, or a score is no number.
            TooFew: there are fewer scores than 1 / rate - 1.
        """
        if not 0 < rate < 1:
            raise ValueError(f"a rate of {kind} calls between 0 and 1 was required; got {rate}")
        if any(math.isnan(score) for score in scores):
            raise ValueError(f"numbers were required as scores of {kind} calls; got nan")
        rank = math.floor(rate * (len(scores) + 1) + 1e-9)
        if rank < 1:
            least = math.ceil(1 / rate - 1e-9) - 1
            raise TooFew(
                f"a bound of {rate:g} needs {least} {kind} calls to calibrate with, one of a run; got {len(scores)}: "
                "record more runs, or ask for a weaker bound"
            )
        return cls(float(sorted(scores, reverse=largest)[rank - 1]), rate, rank, len(scores))


@dataclass(frozen=True, slots=True)
class Zone:
    """Where calls are denied, and where they are allowed: below `deny`, and above `allow`; None is no bound."""

    deny: Bound | None = None
    allow: Bound | None = None

    def safe(self, low: float, high: float, epsilon: float) -> bool | None:
        """Whether a call runs whose P1 - P0 is between low and high; None where it is undecided.

        None runs that epsilon forbids: whoever wants the bounds alone asks for an epsilon of -1.
        """
        least = self.deny.value if self.deny else epsilon
        if high < least:
            return False
        above = self.allow is None or low > self.allow.value
        return True if low >= max(least, epsilon) and above else None

    def __str__(self) -> str:
        said = [
            f"P({what}) <= {b.rate:g}, by {b.n} {kind} calls, one of a run, if the next is exchangeable with them: "
            f"{side} {b.value:.3f} (rank {b.rank})"
            for b, what, kind, side in (
                (self.deny, "a safe call is denied", "safe", "denied below"),
                (self.allow, "an unsafe call is allowed", "unsafe", "allowed above"),
            )
            if b
        ]
        return "; ".join(said) or "no bound"


NOWHERE = Zone()


def drawn(names: Iterable[str], seed: int = 0) -> tuple[str, ...]:
    """One call of each run, of calls called RUN#NUMBER: the first by SHA-256 of the seed and the name."""
    first: dict[str, tuple[bytes, str]] = {}
    for name in names:
        run, told = name.rpartition("#")[0] or name, (hashlib.sha256(f"{seed}:{name}".encode()).digest(), name)
        first[run] = min(first.get(run, told), told)
    return tuple(name for _, name in first.values())
