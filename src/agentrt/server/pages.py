"""The web console's files, as they were built."""

from __future__ import annotations

from starlette.routing import BaseRoute


def routes() -> list[BaseRoute]:
    """The console at "/", where it was built."""
    return []
