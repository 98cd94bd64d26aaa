"""`Figures`: a server's counters and histograms. `metrics` has their names and formats."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ...events import ConversationErrorEvent, Event, ModelCalled, ModelCallRetried
from ...state import State

QUICK = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Bounds, in seconds, for durations that should be of milliseconds."""

SLOW = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 300.0)
"""Bounds, in seconds, for durations of model calls."""

MODELS = 100
"""Maximum number of models that are counted by name: the names come from users, so there may be any number."""

OTHER = "other"


class Distribution:
    """A histogram: the number of values up to each bound, and the sum of all values."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds, self.counts, self.sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def buckets(self) -> list[tuple[str, float]]:
        """The buckets of Prometheus: the number of values up to each bound, with "+Inf" for all."""
        total, found = 0, list[tuple[str, float]]()
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            total += count
            found.append((bound, float(total)))
        return found


class ModelFigures:
    """The usage of one model."""

    __slots__ = (
        "completion_tokens",
        "cost",
        "errors",
        "first_token",
        "latency",
        "prompt_tokens",
        "retries",
        "unpriced",
    )

    def __init__(self) -> None:
        self.latency, self.first_token = Distribution(SLOW), Distribution(SLOW)
        self.prompt_tokens = self.completion_tokens = 0
        self.cost = 0.0
        self.unpriced = 0
        self.errors: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()


class Figures:
    """A server's counters and histograms, to be used on its event loop."""

    def __init__(self) -> None:
        self.appends, self.lag = Distribution(QUICK), Distribution(QUICK)
        self.events = 0
        self.models: dict[str, ModelFigures] = {}
        self.errors: Counter[str] = Counter()
        """Runs that ended in an error, by its code."""
        self.log_failures = 0
        self.requests: Counter[tuple[str, str, int]] = Counter()
        """The number of requests, by method, path and status."""
        self.latencies: dict[str, Distribution] = {}
        """The durations of requests, by path."""
        self.in_flight = self.sockets = 0
        self._seen: dict[type[Event], Callable[[Any], None]] = {
            ModelCalled: self._called,
            ModelCallRetried: self._retried,
            ConversationErrorEvent: self._failed,
        }

    def committed(self, events: Sequence[Event], state: State, seconds: float) -> None:
        """Count a batch of durable events; an `Observer`."""
        self.appends.add(seconds)
        self.events += len(events)
        for event in events:
            if (seen := self._seen.get(type(event))) is not None:
                seen(event)

    def log_failed(self, conversation_id: str, failure: Exception) -> None:
        """Count a log that takes no more events, or has nothing stored beside it; a `Report`."""
        self.log_failures += 1

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.requests[method, path, status] += 1
        if (latency := self.latencies.get(path)) is None:
            latency = self.latencies[path] = Distribution(QUICK)
        latency.add(seconds)

    def _called(self, event: ModelCalled) -> None:
        used = self._model(event.model)
        used.latency.add(event.latency)
        if event.time_to_first_token is not None:
            used.first_token.add(event.time_to_first_token)
        used.prompt_tokens += event.usage.prompt_tokens
        used.completion_tokens += event.usage.completion_tokens
        used.cost += event.cost or 0.0
        used.unpriced += event.cost is None and event.usage.total > 0
        if event.error is not None:
            used.errors[event.error] += 1

    def _retried(self, event: ModelCallRetried) -> None:
        used = self._model(event.model)
        used.prompt_tokens += event.usage.prompt_tokens
        used.completion_tokens += event.usage.completion_tokens
        used.cost += event.cost or 0.0
        used.unpriced += event.cost is None and event.usage.total > 0
        used.retries[event.code] += 1

    def _failed(self, event: ConversationErrorEvent) -> None:
        self.errors[event.code] += 1

    def _model(self, name: str) -> ModelFigures:
        if (used := self.models.get(name)) is None:
            name = name if len(self.models) < MODELS else OTHER
            used = self.models.setdefault(name, ModelFigures())
        return used
