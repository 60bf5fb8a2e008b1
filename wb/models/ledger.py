"""What asking models costs: usage, hard budgets and the ledger of a stage.

A budget is never exceeded, not even by requests that run at the same time: each reserves its worst
case before it is sent and settles what it really used afterwards.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Usage:
    """What some requests took. `calls` are requests that went out (retries among them), `replayed`
    replies that were read from disk; `cost` is in the currency of the prices, `seconds` is time
    spent waiting for the engine, summed over requests that may have run at the same time."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    retries: int = 0
    replayed: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def queries(self) -> int:
        """Questions put to a model service, answered now or from a recording (NoQ in ShieldAgent, Sec. 5.1)."""
        return self.calls - self.retries + self.replayed


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request of a batch that got no usable reply, and why; the others of the batch are kept."""

    prompt: str
    reason: str


class ModelError(RuntimeError):
    """No usable reply. `usage` is what was spent on the way, `events` what happened.

    `fatal` errors would meet every further request too (a spent budget, an unknown model, a missing
    recording), so they end a batch; the others leave one request unanswered.
    """

    fatal = False

    def __init__(self, message: str, usage: Usage = Usage(), events: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.usage, self.events = usage, events


class BudgetSpent(ModelError):
    """The next request might exceed the budget, so it was not sent."""

    fatal = True


@dataclass(frozen=True, slots=True)
class Price:
    """Money per million tokens of prompt and of completion, in one currency."""

    prompt: float = 0.0
    completion: float = 0.0

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """The cost of that many tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


@dataclass(frozen=True, slots=True)
class Budget:
    """Hard limits on requests sent, tokens (prompt + completion) and money; None is no limit."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None

    def __post_init__(self) -> None:
        for f in fields(self):
            limit = getattr(self, f.name)
            if limit is not None and limit < 0:
                raise ValueError(f"a budget's {f.name} must be 0 or more; got {limit}")


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity of each thing that a budget limits."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.money + other.money)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.money - other.money)


class Account:
    """Spending under one budget, safe to use from many threads.

    With a `shared` file, all processes that name it spend from the same budget.  What a killed process
    had set aside stays set aside: it may have been charged.
    """

    def __init__(self, budget: Budget, shared: Path | None = None) -> None:
        self.budget = budget
        self.spent = Amount()
        self._shared = shared
        self._reserved = Amount()
        self._changed = threading.Condition()

    def reserve(self, worst: Amount, what: str = "the next request") -> None:
        """Set the worst case aside; waits while requests under way might leave enough of the budget.

        Raises:
            BudgetSpent: it would not fit even then.
        """
        with self._changed:
            while not self._fits(worst, what):
                self._changed.wait()
            self._reserved += worst

    def settle(self, worst: Amount, used: Amount) -> None:
        """Give back what was set aside and record what was used."""
        with self._changed:
            self._reserved -= worst
            if not self._reserved.calls:
                self._reserved = Amount()  # no remainder of adding fractions may stay set aside
            self.spent += used
            with self._book():
                self._enter(used - worst)
            self._changed.notify_all()

    def _fits(self, worst: Amount, what: str) -> bool:
        """Whether the worst case fits now, and is entered; `BudgetSpent` where waiting cannot help."""
        with self._book() as held:
            over = self._over(held + worst)
            if over is None:
                self._enter(worst)
                return True
        settled = held - self._reserved
        if self._over(settled + worst):
            raise BudgetSpent(
                f"budget spent: {what} may need {getattr(worst, over):g} {over}, "
                f"{getattr(settled, over):g} of {getattr(self.budget, over):g} are spent; "
                "every finished reply is kept: raise the budget and run again"
            )
        return False

    @contextmanager
    def _book(self) -> Iterator[Amount]:
        """All that is spent or set aside, by every process, while nobody else can change it."""
        if self._shared is None:
            yield self.spent + self._reserved
            return
        from filelock import FileLock

        self._shared.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{self._shared}.lock"):
            lines = self._shared.read_text(encoding="utf-8").splitlines() if self._shared.exists() else []
            yield sum((Amount(*json.loads(line)) for line in lines), Amount())

    def _enter(self, change: Amount) -> None:
        """One line in the shared file, inside `_book`."""
        if self._shared is not None:
            with self._shared.open("a", encoding="utf-8") as file:
                file.write(json.dumps([change.calls, change.tokens, change.money]) + "\n")

    def _over(self, total: Amount) -> str | None:
        """The first limit that a total exceeds."""
        for f in fields(self.budget):
            limit = getattr(self.budget, f.name)
            if limit is not None and getattr(total, f.name) > limit:
                return f.name
        return None


class Ledger:
    """What one stage asked: totals, the same by prompt, and every retry and failure in words."""

    def __init__(self, stage: str = "") -> None:
        self.stage = stage
        self._rows: dict[str, Usage] = {}
        self._prompts: dict[str, str] = {}
        self._engines: set[str] = set()
        self._replies: set[str] = set()
        self._events: list[str] = []
        self._failed = 0
        self._lock = threading.Lock()

    def add(
        self,
        prompt: str,
        usage: Usage,
        *,
        prompt_digest: str = "",
        engine: str = "",
        reply: str | None = None,
        events: tuple[str, ...] = (),
        failed: bool = False,
    ) -> None:
        """Record one question: what it took, who answered, what went wrong on the way, whether it `failed` for good."""
        with self._lock:
            self._failed += failed
            self._rows[prompt] = self._rows.get(prompt, Usage()) + usage
            self._prompts[prompt] = prompt_digest
            self._engines |= {engine} - {""}
            self._replies |= {reply} - {None}
            self._events.extend(f"{prompt}: {event}" for event in events)

    @property
    def rows(self) -> dict[str, Usage]:
        """What was asked, by prompt, in the order of the first question of each."""
        with self._lock:
            return dict(self._rows)

    @property
    def total(self) -> Usage:
        """The sum over all prompts."""
        return sum(self.rows.values(), Usage())

    @property
    def events(self) -> tuple[str, ...]:
        """Retries and failures, in the order in which they were recorded."""
        with self._lock:
            return tuple(self._events)

    @property
    def failed(self) -> int:
        """How many questions got no usable reply."""
        with self._lock:
            return self._failed

    @property
    def replies(self) -> tuple[str, ...]:
        """Digests of the recorded replies that were used, sorted."""
        with self._lock:
            return tuple(sorted(self._replies))

    def to_json(self) -> dict[str, object]:
        """The ledger as JSON values, the same whatever order the answers came in."""
        total = self.total
        with self._lock:
            rows: Mapping[str, Usage] = dict(sorted(self._rows.items()))
            named = {"stage": self.stage} if self.stage else {}
            return {
                **named,
                "engines": sorted(self._engines),
                "total": asdict(total) | {"queries": total.queries},
                "prompts": {name: asdict(usage) | {"digest": self._prompts[name]} for name, usage in rows.items()},
                "replies": sorted(self._replies),
                "failed": self._failed,
                "events": sorted(self._events),
            }
