"""Tools for the web that need no browser."""

from .fetch import fetch
from .web_search import web_search

__all__ = ["fetch", "web_search"]
