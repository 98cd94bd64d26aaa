"""What an agent may use here, and where something was said."""

from __future__ import annotations

from functools import lru_cache

import anyio.to_thread

from ...errors import LogError
from ...storage.index import Hit
from ...storage.pages import read_created
from ...storage.store import FileStore
from ..principals import Principal, Scope
from ..routing import Call, Endpoint
from ..schemas import SearchQuery, SearchResults, ToolList

MOST = 2000
"""Hits that are looked through for those that a principal may see."""


async def list_tools(call: Call[None, None]) -> ToolList:
    """The tools that an agent may name here, as a model sees them; `think` and `finish` it has always."""
    return ToolList(await anyio.to_thread.run_sync(lambda: call.services.runtime.tools))


async def search(call: Call[None, SearchQuery]) -> SearchResults:
    """Events in which all words occur, in the conversations that the key may see."""
    wanted, store = call.query, call.services.runtime.store
    return SearchResults(await anyio.to_thread.run_sync(_seen, store, wanted, call.principal))


def _seen(store: FileStore, wanted: SearchQuery, principal: Principal) -> tuple[Hit, ...]:
    """The first hits that a principal may see; for a thread. Raises `ConfigurationError` without a word."""
    newest, limit = wanted.order == "newest", wanted.limit
    if Scope.ADMIN in principal.scopes:
        return tuple(store.catalogue.search(wanted.query, limit, newest=newest))

    @lru_cache(maxsize=MOST)
    def visible(name: str) -> bool:
        try:
            return principal.sees(read_created(store.directory(name)).owner)
        except (LogError, OSError):
            return False

    while True:
        hits = store.catalogue.search(wanted.query, limit, newest=newest)
        shown = [hit for hit in hits if visible(hit.conversation)][: wanted.limit]
        if len(shown) == wanted.limit or len(hits) < limit or limit >= MOST:
            return tuple(shown)
        limit = min(limit * 10, MOST)


ENDPOINTS = (
    Endpoint("GET", "/tools", list_tools, Scope.OBSERVE, "The tools that there are", reply=ToolList, group="server"),
    Endpoint(
        "GET",
        "/search",
        search,
        Scope.OBSERVE,
        "Search what was said and done",
        query=SearchQuery,
        reply=SearchResults,
        group="history",
    ),
)
