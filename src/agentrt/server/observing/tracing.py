"""`tracing`: turns traces on if they are configured; only then OpenTelemetry's SDK is imported."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module

import anyio
import anyio.to_thread

from ...errors import ConfigurationError
from ...runtime import Runtime
from ..settings import ServerSettings

VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Environment variables of OpenTelemetry's exporters, each of which turns traces on."""

Tracing = Callable[[Runtime], AbstractAsyncContextManager[None]]


def tracing(settings: ServerSettings) -> Tracing:
    """Return a context manager for a runtime. While entered, it sends a trace of each run, if traces are configured.

    Raises `ConfigurationError` if they are, but OpenTelemetry is not installed.
    """
    if settings.traces is None and not any(os.environ.get(name) for name in VARIABLES):
        return _none
    try:
        traces = import_module(".traces", __package__)
    except ImportError as error:
        raise ConfigurationError("traces need OpenTelemetry: pip install 'agentrt[otel]'") from error

    @asynccontextmanager
    async def sending(runtime: Runtime) -> AsyncIterator[None]:
        made = traces.Traces(traces.exporter(settings.traces))
        runtime.observers.append(made.committed)
        try:
            yield
        finally:
            runtime.observers.remove(made.committed)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(made.close)

    return sending


@asynccontextmanager
async def _none(runtime: Runtime) -> AsyncIterator[None]:
    yield
