"""The server: many conversations of many users in one process, streamed to the web."""

from .app import create_app
from .mounting import lifespan_of
from .settings import ServerSettings

__all__ = ["ServerSettings", "create_app", "lifespan_of"]
