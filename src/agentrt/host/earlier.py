"""A conversation's search in earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..actors.recollection import Earlier
from ..context.consolidating import consolidates
from ..events import ConversationCreated
from ..listing import Hit
from ..state import State
from ..storing import Listing, Storage


def of_storage(storage: Storage) -> dict[str, Any]:
    """Return what a storage adds to a conversation's `Parts`."""
    return {
        "store": storage.address,
        "earlier": earlier_in(storage.listing),
        "shelf": storage.shelf,
        "beside": storage.beside,
    }


def earlier_in(listing: Listing) -> Earlier:
    """Return a search in the other conversations of a conversation's owner, and of nobody else, in its workspace."""

    async def earlier(state: State, words: str, limit: int) -> Sequence[Hit]:
        here = state.created
        assert here is not None

        def is_meant(created: ConversationCreated) -> bool:
            same = (created.owner, created.workspace) == (here.owner, here.workspace)
            return same and created.conversation_id != here.conversation_id and not consolidates(created)

        place = here.workspace.path
        return await listing.search(words, limit, owner=here.owner, workspace=place, within=is_meant)

    return earlier
