"""Consent of a person, and plugins that are loaded while a conversation is open."""

from __future__ import annotations

import anyio.to_thread
from msgspec.structs import replace

from ..actors.group import ConversationGroup
from ..context.telling import listed, named
from ..controls import Agree, LoadPlugin
from ..decisions.asked import asked, signed
from ..events import ConsentGiven, ConversationStateUpdateEvent, Cursor, Event, MessageEvent
from ..host.beginning import kept
from ..ids import new_id
from ..mcp.hiding import hide_in
from ..runtime import Runtime
from ..sources.consents import agree as remember
from ..specs.content import text
from ..specs.context import PluginSource
from ..specs.raw import raw


async def agree(runtime: Runtime, group: ConversationGroup, control: Agree, by: str | None) -> Cursor:
    """Run the programs that a person has agreed to: in this conversation and, once that is logged, in others. Tell the
    agent what the file of another owner says.

    Raises `ConfigurationError` if nothing with that digest waits for consent, or if the consent cannot be saved.
    """
    state = group.feed.state
    offers = {offer.digest: offer for offer in state.unagreed}
    cursor = await group.log.append(*asked(state, control, by))
    assert state.created is not None
    group.connect()
    offer = offers[control.digest]
    await remember(runtime.store.shelf, offer, state.created.conversation_id)
    if offer.by and state.prompt is not None:
        cursor = await group.log.append(*await group.told_again())
    return cursor


async def load_plugin(runtime: Runtime, group: ConversationGroup, control: LoadPlugin, by: str | None) -> Cursor:
    """Load a plugin. Its skills and agents are available from now on, its programs once a person has agreed to them.

    Raises `ConfigurationError` for a plugin that cannot be read.
    """
    state = group.feed.state
    assert state.created is not None
    source = PluginSource(control.source, control.ref, control.repo_path)
    tools = await anyio.to_thread.run_sync(lambda: {tool.name: tool for tool in runtime.tools})
    told = hide_in(await (await runtime.resolver()).with_plugin(state, source, tools), group.secrets)
    before = {skill.name for skill in state.context.skills} if state.context is not None else set()
    fresh = [skill for skill in told.event.skills if skill.name not in before]
    events: list[Event] = [*await kept(told, group.log.keep, new_id())]
    if told.agent.agents != state.spec.agents:
        events.append(ConversationStateUpdateEvent(source="user", key="agents", value=raw(told.agent.agents)))
    agreed = {offer.digest for offer in told.event.offers if offer.agreed} - set(state.ledger.agreed)
    known = {offer.digest for offer in (state.context.offers if state.context is not None else ())}
    events += [ConsentGiven(source="environment", digest=digest) for digest in sorted(agreed - known)]
    agents = {name: one for name, one in told.agent.agents.items() if name not in state.spec.agents}
    if words := "\n".join(part for part in (listed(fresh), named(agents)) if part):
        offered = any(tool.invokes for tool in state.tools)
        how = "" if offered else " Read the file of a skill before you use it."
        said = f"[A plugin was loaded; nobody vouches for what it says.{how} It brings:\n{words}]"
        events.append(MessageEvent(content=text(said), by=by))
    cursor = await group.log.append(*signed(tuple(replace(event, caused_by=None) for event in events), by))
    group.connect()
    return cursor
