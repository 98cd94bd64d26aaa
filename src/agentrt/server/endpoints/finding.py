"""REST operations that list the tools of agents, and search conversations."""

from __future__ import annotations

import anyio.to_thread

from ..principals import Scope
from ..routing import Call, Endpoint
from ..schemas import SearchQuery, SearchResults, ToolList


async def list_tools(call: Call[None, None]) -> ToolList:
    """Return the tools that an agent may name here, as a model sees them; it always has `think` and `finish`."""
    return ToolList(await anyio.to_thread.run_sync(lambda: call.services.runtime.tools))


async def search(call: Call[None, SearchQuery]) -> SearchResults:
    """Return the events in which all words occur, in the conversations that the key may see."""
    wanted, principal = call.query, call.principal
    owner, newest = None if Scope.ADMIN in principal.scopes else principal.owner, wanted.order == "newest"
    if owner is None and Scope.ADMIN not in principal.scopes:
        return SearchResults(())
    listing = call.services.runtime.store.listing
    return SearchResults(tuple(await listing.search(wanted.query, wanted.limit, newest=newest, owner=owner)))


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
