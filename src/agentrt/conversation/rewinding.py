"""Rewinding a conversation together with the files of its workspace."""

from __future__ import annotations

from ..actors.group import ConversationGroup
from ..controls import Rewind
from ..decisions.asked import asked
from ..errors import EventRefused, WorkspaceError
from ..events import Cursor, FilesRestored
from ..state import checkpoint, seq_of


async def rewind(group: ConversationGroup, control: Rewind, by: str | None) -> Cursor:
    """Rewind the conversation and restore its files. Return the cursor after the resulting events.

    Raises `EventRefused` during a run, and `CursorExpired`. Raises `WorkspaceError` before anything is changed if the
    files were not kept, and afterwards if they could not all be restored.
    """
    keeper, state = group.keeper, group.feed.state
    if keeper is None:
        raise WorkspaceError("no-checkpoint", "this store keeps none")
    if state.in_flight:
        raise EventRefused("a conversation that runs cannot be rewound: interrupt it first")
    await keeper.check(checkpoint(state, seq_of(Cursor(control.epoch, control.to), state)).seq)
    moved = await group.log.append(*asked(group.feed.state, control, by))
    await keeper.restore()
    async for event in group.log.events(moved.seq):
        if isinstance(event, FilesRestored) and event.error:
            raise WorkspaceError("no-checkpoint", event.error)
    return Cursor(group.feed.state.epoch, group.feed.state.seq)
