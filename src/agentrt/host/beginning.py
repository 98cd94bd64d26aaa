"""The beginning of a conversation in memory: its journal, the event with its agent's context, and pins of programs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..actors.tool_models import Keep
from ..actors.veil import Veil
from ..context.resolving import Resolved
from ..events import Event
from ..loading import load
from ..protocols import Journal
from ..secrets import SecretRegistry
from ..specs import Agent, BlobReference
from ..storing import Storage


def keeping(journal: Journal, secrets: SecretRegistry) -> Keep:
    """Return a function that stores bytes beside a log whose conversation is not open yet."""

    async def keep(data: bytes, name: str, media_type: str) -> BlobReference:
        return await journal.keep(await Veil(secrets).data(data), name, media_type)

    return keep


@asynccontextmanager
async def released_on_error(store: Storage, conversation_id: str) -> AsyncIterator[None]:
    """Release a conversation's journal if the body fails."""
    try:
        yield
    except BaseException:
        await store.release(conversation_id)
        raise


async def kept(told: Resolved, keep: Keep, cause: str) -> tuple[Event, ...]:
    """Store the texts of skills beside the log, and return the event of a context; nothing if it says nothing.

    Raise `LogFailed`.
    """
    if not told.says_something:
        return ()
    event = replace(told.event, caused_by=cause)
    if told.texts:
        blob = await keep(msgspec.json.encode(told.texts), "skills", "application/json")
        event = replace(event, texts=(*event.texts, blob))
    return (event,)


async def pinned(agent: Agent, workspace: str) -> Agent:
    """Return an agent with the programs of its hooks and MCP servers pinned as they are in the workspace now.

    So only a person changes what is run without a question.
    """
    if agent.mcp_servers:
        pin = (await load("agentrt.mcp.pinning")).pinned
        agent = replace(agent, mcp_servers=await anyio.to_thread.run_sync(pin, agent.mcp_servers, workspace))
    if agent.hooks:
        pin = (await load("agentrt.hooks.pinning")).pinned
        agent = replace(agent, hooks=await anyio.to_thread.run_sync(pin, agent.hooks, workspace))
    if any(other.hooks or other.mcp_servers for other in agent.agents.values()):
        agents = {name: await pinned(other, workspace) for name, other in agent.agents.items()}
        agent = replace(agent, agents=agents)
    return agent
