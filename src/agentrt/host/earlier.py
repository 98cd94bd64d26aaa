"""A conversation's search in earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ..actors.recollection import Earlier, Lately
from ..codec import decode
from ..context.consolidating import consolidates
from ..errors import LogError
from ..events import SCHEMA_VERSION, ConversationCreated, Event
from ..listing import Filter, Hit
from ..state import State
from ..storing import Listing, Storage, Wanted

MOST_CONVERSATIONS, MOST_EVENTS = 20, 100
"""Maximum number of earlier conversations that are searched by meaning, and of events in each."""

MOST_LISTED = 500
"""Maximum number of conversations of an owner among which those of a workspace are looked for."""

_SAID = Wanted(0, 1 << 62, backwards=True, types=frozenset({"MessageEvent", "ActionEvent"}))


def of_storage(storage: Storage) -> dict[str, Any]:
    """Return what a storage adds to a conversation's `Parts`."""
    return {
        "store": storage.address,
        "earlier": earlier_in(storage.listing),
        "lately": lately_in(storage),
        "shelf": storage.shelf,
        "beside": storage.beside,
    }


def earlier_in(listing: Listing) -> Earlier:
    """Return a search in the other conversations of a conversation's owner, and of nobody else, in its workspace."""

    async def earlier(state: State, words: str, limit: int) -> Sequence[Hit]:
        here = _created(state)
        place = here.workspace.path
        is_meant = partial(_is_earlier, here)
        return await listing.search(words, limit, owner=here.owner, workspace=place, within=is_meant)

    return earlier


def lately_in(storage: Storage) -> Lately:
    """Return what gives the newest earlier conversations of a conversation's owner in its workspace."""

    async def lately(state: State) -> Sequence[tuple[str, Sequence[Event]]]:
        here, found = _created(state), list[tuple[str, Sequence[Event]]]()
        for row in await storage.listing.page(MOST_LISTED, None, Filter(owner=here.owner)):
            if row.workspace == here.workspace.path and len(found) < MOST_CONVERSATIONS:
                history = storage.history(row.id)
                with suppress(LogError):  # it was deleted, or is damaged
                    if _is_earlier(here, await history.created()):
                        page = await history.page(_SAID, MOST_EVENTS)
                        found.append((row.id, [decode(bytes(event), SCHEMA_VERSION) for event in page.events]))
        return found

    return lately


def _created(state: State) -> ConversationCreated:
    assert state.created is not None
    return state.created


def _is_earlier(here: ConversationCreated, created: ConversationCreated) -> bool:
    """Return whether another conversation belongs to the same owner and workspace."""
    same = (created.owner, created.workspace) == (here.owner, here.workspace)
    return same and created.conversation_id != here.conversation_id and not consolidates(created)
