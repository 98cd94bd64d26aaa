"""`run_sync`: one task from start to end, for scripts and notebooks without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import anyio

from ..errors import ConfigurationError, ConversationMissing
from ..protocols import Storage
from ..secrets import AnySecret
from ..specs import Agent, RemoteWorkspace, WorkspaceSpec
from ..tools import AnyTool
from ..tools.functions import tools_in
from .conversation import Conversation
from .workspace import Workspace

if TYPE_CHECKING:
    from .callbacks import EventCallback

T = TypeVar("T")


@overload
def run_sync(
    agent: Agent,
    text: str,
    workspace: Path | str | Workspace | WorkspaceSpec | RemoteWorkspace = ...,
    *,
    tools: Sequence[AnyTool] = ...,
    secrets: Mapping[str, AnySecret] = ...,
    store: Path | str | Storage | None = ...,
    id: str | None = ...,
    on_event: EventCallback | None = ...,
) -> str: ...


@overload
def run_sync(
    agent: Agent,
    text: str,
    workspace: Path | str | Workspace | WorkspaceSpec | RemoteWorkspace = ...,
    *,
    output: type[T],
    tools: Sequence[AnyTool] = ...,
    secrets: Mapping[str, AnySecret] = ...,
    store: Path | str | Storage | None = ...,
    id: str | None = ...,
    on_event: EventCallback | None = ...,
) -> T: ...


def run_sync(
    agent: Agent,
    text: str,
    workspace: Path | str | Workspace | WorkspaceSpec | RemoteWorkspace = ".",
    *,
    output: Any = str,
    tools: Sequence[AnyTool] = (),
    secrets: Mapping[str, AnySecret] = {},
    store: Path | str | Storage | None = None,
    id: str | None = None,
    on_event: EventCallback | None = None,
    **unknown: Any,
) -> Any:
    """Return the agent's answer to `text`, in a new conversation, or in the one with this `id` if it is there; block
    until it is there.

    The arguments are those of `Conversation` and of its `prompt`. A conversation that goes on keeps its agent. Ctrl-C
    interrupts the agent. Raises the errors of `prompt`, and `ConfigurationError` if an event loop is already running:
    use `await conversation.prompt(text)` there.
    """
    if unknown:
        from ..specs.arguments import check_names  # only then

        check_names("run_sync", run_sync, unknown)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise ConfigurationError("run_sync blocks, and an event loop runs here: use 'await conversation.prompt(text)'")
    given: dict[str, Any] = {"tools": tools, "secrets": secrets, "store": store, "id": id, "on_event": on_event}
    return anyio.run(partial(_prompt, agent, workspace, given, text, output))


async def _prompt(agent: Agent, workspace: Any, given: Mapping[str, Any], text: str, output: Any) -> Any:
    if given["id"] is not None:
        with suppress(ConversationMissing):
            tools = (*given["tools"], *tools_in(agent))  # functions are not in the log
            async with Conversation(**{**given, "tools": tools}) as there:
                return await there.prompt(text, output=output)
    async with Conversation(agent, workspace, **given) as conversation:
        return await conversation.prompt(text, output=output)
