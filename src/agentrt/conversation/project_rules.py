"""Workspace rules that a conversation adds or removes: logged first, then saved for the workspace."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from ..actors.group import ConversationGroup
from ..errors import ActorError, ConfigurationError, LogFailed
from ..events import Cursor, Event, RuleAdded, RuleRemoved
from ..ids import new_id
from ..storing import Shelf
from ..workspaces.project_rules import Intent, fulfil, intend


async def append_with_rules(shelf: Shelf, group: ConversationGroup, events: Sequence[Event]) -> Cursor:
    """Append a batch of events, and apply its workspace rules to all conversations in that workspace.

    Raises the errors of `Log.append`. Raises `ConfigurationError` when the rules are logged but their document cannot
    be written: the next process that opens the storage writes it.
    """
    if not any(isinstance(event, RuleAdded | RuleRemoved) and event.scope == "project" for event in events):
        return await group.log.append(*events)
    state = group.feed.state
    assert state.created is not None
    intent = Intent(state.created.workspace.path, state.created.conversation_id, state.seq, new_id())
    try:
        await intend(shelf, intent)
    except ConfigurationError as error:
        raise ConfigurationError(f"the rule was not added: {error}") from error
    known = True
    """Whether it is known now if the log has the batch. If not, the next process that opens the storage finds out."""
    try:
        return await group.log.append(*events)
    except (LogFailed, ActorError):
        known = False
        raise
    except anyio.get_cancelled_exc_class():
        known = group.feed.state.seq > intent.after and await _is_logged(group, intent, events)
        raise
    finally:
        if known:
            with anyio.CancelScope(shield=True):
                await _fulfil(shelf, group, intent)


async def _is_logged(group: ConversationGroup, intent: Intent, events: Sequence[Event]) -> bool:
    logged: Sequence[Event] = ()
    with anyio.CancelScope(shield=True):
        logged = await group.feed.page(intent.after, group.feed.state.seq)
    return events[0].id in {event.id for event in logged}


async def _fulfil(shelf: Shelf, group: ConversationGroup, intent: Intent) -> None:
    logged = await group.feed.page(intent.after, group.feed.state.seq)
    try:
        await fulfil(shelf, intent, logged)
    except ConfigurationError as error:
        raise ConfigurationError(f"the rule holds in this conversation, and not in others: {error}") from error
