"""The server: many conversations of many users in one process, streamed to the web."""

from .app import create_app
from .settings import ServerSettings

__all__ = ["ServerSettings", "create_app"]
