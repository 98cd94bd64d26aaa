"""`Metrics`: the figures of a server in the format of Prometheus, in a registry of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from ...events import ExecutionStatus
from ...runtime import Runtime
from .figures import Distribution, Figures

REFUSED: Mapping[int, str] = {
    401: "not-authenticated",
    403: "not-allowed",
    413: "too-large",
    421: "another-host",
    429: "too-often",
    503: "not-now",
}
"""Statuses of refused requests, and the reasons."""


class Metrics(Collector):
    """The figures of one server. Numbers that can be counted on request are counted only then.

    `gauges` has more of these by name: each one's description, and the function that returns its value.
    """

    def __init__(
        self, figures: Figures, runtime: Runtime, gauges: Mapping[str, tuple[str, Callable[[], float]]]
    ) -> None:
        self._figures, self._runtime, self._gauges = figures, runtime, gauges
        self._stored = 0
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    async def text(self) -> bytes:
        """Return all metrics, as text."""
        self._stored = await self._runtime.store.listing.count()
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the metrics depend on what was used."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the current figures."""
        yield from self._conversations()
        yield from self._server()
        yield from self._models()
        yield from self._requests()

    def _conversations(self) -> Iterator[Metric]:
        statuses, awake = Counter[ExecutionStatus](), 0
        for state, is_awake in self._runtime.states:
            statuses[state.status] += 1
            awake += is_awake
        by_status = GaugeMetricFamily(
            "agentrt_conversations", "Conversations that have a place in memory, by status", labels=["status"]
        )
        for status in ExecutionStatus:
            by_status.add_metric([status.value], statuses[status])
        yield by_status
        yield GaugeMetricFamily("agentrt_conversations_awake", "Those of them that are awake", awake)
        yield GaugeMetricFamily("agentrt_conversations_asleep", "Those of them that sleep", statuses.total() - awake)
        yield GaugeMetricFamily("agentrt_conversations_stored", "Conversations in the store", self._stored)
        failed = CounterMetricFamily(
            "agentrt_conversation_errors", "Runs that ended in an error, by its code", labels=["code"]
        )
        for code, count in self._figures.errors.items():
            failed.add_metric([code], count)
        yield failed

    def _server(self) -> Iterator[Metric]:
        figures = self._figures
        yield CounterMetricFamily("agentrt_events", "Events that were committed", figures.events)
        yield CounterMetricFamily("agentrt_log_failures", "Times that a log could not be written", figures.log_failures)
        yield _histogram("agentrt_append_seconds", "From an append to its commit", figures.appends)
        yield _histogram("agentrt_loop_lag_seconds", "How late the event loop was", figures.lag)
        yield GaugeMetricFamily(
            "agentrt_writer_waiting_batches", "Batches that the writer has not taken yet", self._runtime.store.waiting
        )
        for name, (said, count) in self._gauges.items():
            yield GaugeMetricFamily(name, said, count())

    def _models(self) -> Iterator[Metric]:
        latency = HistogramMetricFamily("agentrt_model_call_seconds", "Of model calls", labels=["model"])
        first = HistogramMetricFamily("agentrt_model_first_token_seconds", "To the first token", labels=["model"])
        tokens = CounterMetricFamily("agentrt_model_tokens", "Tokens that were used", labels=["model", "kind"])
        cost = CounterMetricFamily("agentrt_model_cost_usd", "What is known to be spent", labels=["model"])
        unpriced = CounterMetricFamily("agentrt_model_unpriced_calls", "Whose price nobody knows", labels=["model"])
        errors = CounterMetricFamily("agentrt_model_errors", "Model calls that failed", labels=["model", "code"])
        retries = CounterMetricFamily("agentrt_model_retries", "Tries that failed", labels=["model", "code"])
        for model, used in self._figures.models.items():
            latency.add_metric([model], used.latency.buckets, used.latency.sum)
            first.add_metric([model], used.first_token.buckets, used.first_token.sum)
            tokens.add_metric([model, "prompt"], used.prompt_tokens)
            tokens.add_metric([model, "completion"], used.completion_tokens)
            cost.add_metric([model], used.cost)
            unpriced.add_metric([model], used.unpriced)
            for code, count in used.errors.items():
                errors.add_metric([model, code], count)
            for code, count in used.retries.items():
                retries.add_metric([model, code], count)
        yield from (latency, first, tokens, cost, unpriced, errors, retries)

    def _requests(self) -> Iterator[Metric]:
        figures, refused = self._figures, Counter[str]()
        requests = CounterMetricFamily(
            "agentrt_http_requests", "Requests that were answered", labels=["method", "path", "status"]
        )
        for (method, path, status), count in figures.requests.items():
            requests.add_metric([method, path, str(status)], count)
            if (reason := REFUSED.get(status)) is not None:
                refused[reason] += count
        yield requests
        latency = HistogramMetricFamily("agentrt_http_request_seconds", "Of requests", labels=["path"])
        for path, latencies in figures.latencies.items():
            latency.add_metric([path], latencies.buckets, latencies.sum)
        yield latency
        refusals = CounterMetricFamily("agentrt_refused", "Requests that were not taken", labels=["reason"])
        for reason in REFUSED.values():
            refusals.add_metric([reason], refused[reason])
        yield refusals
        yield GaugeMetricFamily("agentrt_http_requests_in_flight", "Requests being answered", figures.in_flight)
        yield GaugeMetricFamily("agentrt_sockets", "WebSockets that are open", figures.sockets)


def _histogram(name: str, said: str, values: Distribution) -> Metric:
    return HistogramMetricFamily(name, said, buckets=values.buckets, sum_value=values.sum)
