"""`Traces`: spans for the runs of conversations, and their steps, model calls and tool calls, made from the events.

Names and attributes follow OpenTelemetry's semantic conventions for generative AI. They contain nothing of messages,
arguments or results.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context

from ...events import (
    ActionEvent,
    ActionResult,
    AgentErrorEvent,
    Event,
    ExecutionStarted,
    ModelCalled,
    ModelCallStarted,
    ObservationEvent,
    RunRequested,
    UserRejectObservation,
)
from ...specs.llm import named
from ...state import State

PATH = "/v1/traces"
"""The path for traces at a receiver of OTLP over HTTP."""


def exporter(endpoint: str | None) -> SpanExporter:
    """Return an exporter of spans to `endpoint`, by OTLP over HTTP; without one, to the environment's endpoint."""
    logging.getLogger("opentelemetry").setLevel(logging.ERROR)  # it warns of each failed try
    return OTLPSpanExporter(None if endpoint is None else endpoint.rstrip("/") + PATH)


class Traces:
    """An observer that makes spans. A thread of its own sends them; if it cannot keep up, spans are dropped."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._provider = TracerProvider(resource=Resource.create({"service.name": "agentrt"}), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._runs: dict[str, _Run] = {}

    def committed(self, events: Sequence[Event], state: State, seconds: float) -> None:
        """Make spans from a batch of durable events; an `Observer`."""
        created = state.created
        if created is None or not events:
            return
        run = self._runs.get(created.conversation_id)
        for event in events:
            if run is None and isinstance(event, RunRequested | ModelCallStarted | ExecutionStarted):
                run = self._runs[created.conversation_id] = _Run(self._provider, event.timestamp, state)
            if run is not None:
                run.take(event, state)
        if run is not None and (state.at_rest and not state.in_flight):
            run.end(events[-1].timestamp, state)
            del self._runs[created.conversation_id]

    def close(self) -> None:
        """Send the remaining spans; for a thread, since it blocks."""
        self._provider.shutdown()


class _Run:
    """The spans of a run in progress."""

    def __init__(self, provider: TracerProvider, begun: datetime, state: State) -> None:
        assert state.created is not None
        created = state.created
        self._tracer = provider.get_tracer("agentrt")
        self._common = {"gen_ai.conversation.id": created.conversation_id}
        self._open: dict[str, Span] = {}
        """The open spans of commands and actions, by their ids."""
        self._step: Span | None = None
        self._steps = 0
        self._run = self._span("invoke_agent", begun, None, {"gen_ai.operation.name": "invoke_agent"})
        if created.delegated_by is not None:
            self._run.set_attribute("agentrt.delegated_by", created.delegated_by)

    def take(self, event: Event, state: State) -> None:
        """Begin or end the spans that an event is about."""
        match event:
            case ModelCallStarted():
                self._begin_step(event.timestamp)
                model = named(state.spec.llm)
                asked = _chat(model)
                self._open[event.command] = self._span(
                    f"chat {model}", event.timestamp, self._step, asked, SpanKind.CLIENT
                )
            case ModelCalled():
                self._called(event)
            case ExecutionStarted():
                self._begin_execution(event, state)
            case ObservationEvent() | AgentErrorEvent() | UserRejectObservation():
                self._executed(event)

    def end(self, at: datetime, state: State) -> None:
        """End all open spans."""
        for span in (*self._open.values(), self._step):
            if span is not None:
                span.end(_nanoseconds(at))
        self._run.set_attribute("agentrt.status", state.status.value)
        if state.error is not None and state.status.over:
            self._run.set_status(Status(StatusCode.ERROR))
            self._run.set_attribute("error.type", state.error.code)
        self._run.end(_nanoseconds(at))

    def _begin_step(self, at: datetime) -> None:
        if self._step is not None:
            self._step.end(_nanoseconds(at))
        self._steps += 1
        self._step = self._span("step", at, self._run, {"agentrt.step": self._steps})

    def _called(self, event: ModelCalled) -> None:
        span = self._open.pop(event.command, None)
        if span is None:  # a side question or a title, which is not part of the run
            begun = event.timestamp.timestamp() - event.latency
            span = self._span(f"chat {event.model}", begun, self._run, _chat(event.model), SpanKind.CLIENT)
        span.set_attribute("gen_ai.response.model", event.model)
        span.set_attribute("gen_ai.usage.input_tokens", event.usage.prompt_tokens)
        span.set_attribute("gen_ai.usage.output_tokens", event.usage.completion_tokens)
        if event.llm_response_id is not None:
            span.set_attribute("gen_ai.response.id", event.llm_response_id)
        if event.cost is not None:
            span.set_attribute("agentrt.cost_usd", event.cost)
        if event.error is not None:
            span.set_attribute("error.type", event.error)
            span.set_status(Status(StatusCode.ERROR))
        span.end(_nanoseconds(event.timestamp))

    def _begin_execution(self, event: ExecutionStarted, state: State) -> None:
        action = next((p.action for p in state.branch.pending if p.action.id == event.action_id), None)
        name = action.tool_name if isinstance(action, ActionEvent) else ""
        asked = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        if action is not None:
            asked["gen_ai.tool.call.id"] = action.id
        above = self._step or self._run
        self._open[event.action_id] = self._span(f"execute_tool {name}".strip(), event.timestamp, above, asked)

    def _executed(self, event: ActionResult) -> None:
        if (span := self._open.pop(event.action_id, None)) is None:
            return
        failed = not isinstance(event, ObservationEvent) or event.is_error
        if failed:
            span.set_attribute("error.type", "tool_error" if isinstance(event, ObservationEvent) else "not_run")
            span.set_status(Status(StatusCode.ERROR))
        span.end(_nanoseconds(event.timestamp))

    def _span(
        self,
        name: str,
        begun: datetime | float,
        above: Span | None,
        attributes: dict[str, str] | dict[str, int],
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        context = set_span_in_context(above) if above is not None else None
        return self._tracer.start_span(
            name, context, kind, {**self._common, **attributes}, start_time=_nanoseconds(begun)
        )


def _chat(model: str) -> dict[str, str]:
    asked = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
    provider, slash, _ = model.partition("/")
    return {**asked, "gen_ai.provider.name": provider} if slash else asked


def _nanoseconds(time: datetime | float) -> int:
    """Return a time in nanoseconds since 1970."""
    return int((time.timestamp() if isinstance(time, datetime) else time) * 1e6) * 1000
