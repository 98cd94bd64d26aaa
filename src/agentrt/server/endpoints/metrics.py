"""The REST operation that returns the server's metrics."""

from __future__ import annotations

from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import Response

from ..principals import Scope
from ..routing import Call, Endpoint


async def metrics(call: Call[None, None]) -> Response:
    """Return the server's metrics, in the format of Prometheus."""
    text = await call.services.metrics.text()
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST, "Cache-Control": "no-store"})


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET",
        "/metrics",
        metrics,
        Scope.ADMIN,
        "What the server counts, for Prometheus",
        media_type="text/plain",
        group="server",
    ),
)
