"""`agentrt chat`: the command, and the conversations that it opens one after the other."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click
import msgspec
from click.core import ParameterSource
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from ...conversation import Conversation
from ...errors import ConfigurationError
from ...llm.masking import keys_of
from ...llm.profiles import ProfileStore, profiles_file
from ...llm.providers import way
from ...runtime import Runtime
from ...secrets import Mask
from ...specs import LLM, Agent, WorkspaceSpec
from ...specs.llm import members
from ...specs.workspace import Confine
from ...tools import ToolType
from ..consenting import offer_consent
from ..defaults import default_model
from ..finding import Found, find, newest_in
from ..help import Command
from ..options import (
    Beginning,
    agent_of,
    agent_options,
    beginning_options,
    check_price,
    chosen_llm,
    store_option,
    titles_option,
    yes_option,
)
from ..own_tools import offered_tools, own_tools, tools_option
from ..places import place_of, place_options, workspace_option
from ..servers import secrets_of
from ..story import summary
from .kept import NAME, Kept

if TYPE_CHECKING:
    from .doing import Next
    from .talk import Place

_MODEL = frozenset({"model", "base_url", "profile", "price"})
_LIMITS = frozenset({"max_steps", "max_cost", "max_tokens", "max_seconds"})
_OF_A_NEW_ONE = frozenset({"image", "network", "preset", "flow", "hooks", "plugins", "servers", "project"})
"""Options for a new conversation, which do not change an existing one."""


@click.command(cls=Command)
@click.argument("conversation", required=False)
@click.option("--continue", "-c", "newest", is_flag=True, help="Continue the newest conversation of this workspace.")
@workspace_option
@place_options
@agent_options
@tools_option
@beginning_options
@titles_option
@yes_option
@store_option
def chat(
    conversation: str | None,
    newest: bool,
    workspace: Path,
    image: str | None,
    network: str | None,
    confine: Confine | None,
    beginning: Beginning,
    own: tuple[str, ...],
    titles: bool,
    yes: bool,
    store: str | None,
    **agent: Any,
) -> None:
    """Talk with an agent in the terminal; with a CONVERSATION, continue that one.

    Type a task; type on while the agent works, and it sees your message before its next step. /help lists the commands,
    @ attaches a file, Esc interrupts. Questions about risky actions appear in place of the prompt. Everything is kept:
    when you leave, the command to continue is shown.

    \b
    agentrt chat
    agentrt chat --continue
    agentrt chat 01a2 --model anthropic/claude-opus-4-5
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        raise ConfigurationError('a chat needs a terminal: without one, use agentrt run "TASK"')
    context = click.get_current_context()
    given = frozenset(
        name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )
    if conversation is not None or newest:
        if conversation is not None and newest:
            raise click.UsageError("--continue takes the newest conversation: give it, or a CONVERSATION")
        if wrong := sorted(_OF_A_NEW_ONE & given | ({"workspace"} & given if not newest else set())):
            option = next(one.opts[0] for one in context.command.params if one.name == wrong[0])
            raise click.UsageError(f"{option} is for a new conversation: that one has begun")
        found = find(conversation, store) if conversation is not None else newest_in(workspace, store)
        opening: Opening = _Old(found, given, agent)
    else:
        found = None
        place = place_of(workspace, image, network, confine)
        opening = _New(agent_of(store=store, **agent), place, secrets_of(agent["servers"]))
    chatting = Chatting(
        opening, beginning, own_tools(own), yes, found.store if found is not None else store, titles=titles
    )
    try:
        sys.exit(anyio.run(chatting.run))
    except KeyboardInterrupt:
        sys.exit(130)


class _New(msgspec.Struct, frozen=True):
    """A conversation to begin."""

    agent: Agent
    workspace: WorkspaceSpec
    secrets: Mapping[str, Any] = {}


class _Old(msgspec.Struct, frozen=True):
    """A conversation to reopen, and the options that were given for it."""

    found: Found
    given: frozenset[str] = frozenset()
    options: dict[str, Any] = {}


Opening = _New | _Old


class Chatting:
    """The conversations of a chat: the first one, and those that commands lead to."""

    def __init__(
        self,
        opening: Opening,
        beginning: Beginning,
        tools: tuple[ToolType, ...],
        yes: bool,
        store: Path | str | None,
        *,
        titles: bool,
    ) -> None:
        self._opening, self._beginning, self._tools = opening, beginning, tools
        self._yes, self._store, self._titles = yes, store, titles
        self._console = Console()

    async def run(self) -> int:
        """Run until the person leaves, and return the exit code."""
        from .doing import Anew  # with prompt_toolkit, which nothing else needs

        async with Runtime(self._store, tools=offered_tools(), home=Path.home()) as runtime:
            place, opened = self._place(runtime), self._opened(runtime)
            new, told = isinstance(self._opening, _New), False
            if isinstance(self._opening, _New) and all(way(one) == "wire" for one in members(self._opening.agent.llm)):
                await runtime.client.prepare(self._opening.agent.llm)  # at once; litellm is loaded beside the talk
            while True:
                async with _entered(opened, runtime, new=new) as conversation:
                    after = await self._talk(conversation, place, runtime, new=new, told=told)
                    self._beginning = replace(self._beginning, goal="", title="", tags={})
                    used = not new or _was_used(conversation)
                    following = self._following(after, conversation, runtime)
                if used:
                    self._console.print(summary(conversation.state), soft_wrap=True)
                    self._say(f"To go on: agentrt chat {conversation.id}", "yellow")
                if following is None:
                    return 0
                opened, new, told = following, isinstance(after, Anew), not isinstance(after, Anew)
                self._console.print()

    def _following(self, after: Next, conversation: Conversation, runtime: Runtime) -> Conversation | None:
        """Return the next conversation, not yet entered, or None if the person leaves."""
        from .doing import Anew, Beside

        match after:
            case Anew():
                return self._again(conversation, runtime)
            case Beside(fork):
                return fork
            case _:
                return None

    async def _talk(self, conversation: Conversation, place: Place, runtime: Runtime, *, new: bool, told: bool) -> Next:
        from .talk import Talk

        created = conversation.state.created
        assert created is not None
        self._say(f"conversation {conversation.id} in {created.workspace.path}")
        self._say("/help lists the commands, @ attaches a file, Esc interrupts, Ctrl-D leaves")
        if isinstance(self._opening, _Old) and not told:
            await self._changed(conversation, self._opening)
        await self._beginning.of(conversation)
        if new:
            store = None if self._store is None else str(self._store)
            await offer_consent(conversation, self._console, ask=not self._yes, store=store)
        return await Talk(conversation, place, _ready(conversation, runtime)).run(told=new or told)

    def _opened(self, runtime: Runtime) -> Conversation:
        secrets = self._beginning.secrets
        match self._opening:
            case _New(agent, workspace, more):
                return Conversation(agent, workspace, runtime=runtime, tools=self._tools, secrets={**more, **secrets})
            case _Old(found):
                return Conversation(id=found.id, runtime=runtime, tools=self._tools, secrets=secrets)

    def _again(self, conversation: Conversation, runtime: Runtime) -> Conversation:
        """Return a new conversation with the same agent, in the same workspace."""
        created, state = conversation.state.created, conversation.state
        assert created is not None
        secrets = {**(self._opening.secrets if isinstance(self._opening, _New) else {}), **self._beginning.secrets}
        return Conversation(state.spec, created.workspace, runtime=runtime, tools=self._tools, secrets=secrets)

    async def _changed(self, conversation: Conversation, old: _Old) -> None:
        """Apply the options to an existing conversation."""
        given, options = old.given, old.options
        if given & _MODEL:
            names = {name: options[name] for name in _MODEL}
            store = None if self._store is None else str(self._store)
            await conversation.switch_llm(chosen_llm(**names, store=store))
        if limits := {name: options[name] for name in _LIMITS & given}:
            await conversation.configure(limits=replace(conversation.state.spec.limits, **limits))
        if "confirm" in given:
            await conversation.set_confirmation_policy(options["confirm"])
        for rule in (*options["deny"], *options["allow"]):
            await conversation.add_rule(rule)

    def _place(self, runtime: Runtime) -> Place:
        from .talk import Place

        directory = next(iter(runtime.store.places), None)
        hidden = Mask(keys_of(LLM(model=default_model(os.environ)), os.environ))
        kept = Kept(Path(directory) / NAME if directory is not None else None, hidden.text)
        store = None if self._store is None else str(self._store)
        return Place(runtime.store, kept, ProfileStore(profiles_file(store)), self._yes, self._titles)

    def _say(self, words: str, style: str = "dim") -> None:
        self._console.print(Text(words, style), soft_wrap=True)


def _ready(conversation: Conversation, runtime: Runtime) -> Callable[[], Awaitable[None]]:
    async def ready() -> None:
        await runtime.client.prepare(conversation.state.spec.llm)
        check_price(conversation.state.spec, runtime.client)

    return ready


@asynccontextmanager
async def _entered(opened: Conversation, runtime: Runtime, *, new: bool) -> AsyncIterator[Conversation]:
    """Open a conversation; a new one without any message is deleted afterwards."""
    unused = False
    try:
        async with opened as conversation:
            try:
                yield conversation
            finally:
                unused = new and not _was_used(conversation)
    finally:
        if unused:
            await runtime.consolidations.delete(opened.id)


def _was_used(conversation: Conversation) -> bool:
    """Return whether anything was said in a conversation."""
    return bool(conversation.state.ledger.message_ids)
