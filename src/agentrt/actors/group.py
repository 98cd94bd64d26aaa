"""`ConversationGroup`: the supervised task group of one conversation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.to_thread
import msgspec

from ..decisions import asleep, recovery
from ..errors import ActorCrashed, ActorError, LogError, ServerMissing
from ..events import (
    ContextChanged,
    ContextResolved,
    DurabilityChanged,
    Event,
    ExecutionStatus,
    HookExecutionEvent,
    MessageEvent,
    PauseEvent,
    ResourceLost,
    RunRequested,
)
from ..loading import load
from ..mcp.asking import ListServers, ServerAnswer, ServerQuestion
from ..mcp.connections import Connections, Whose
from ..mcp.status import ServerList
from ..placing import Place
from ..protocols import Condenser, Critic, Journal, ModelClient, SecurityAnalyzer
from ..sandboxes.processes import listening, process_mark
from ..secrets import SecretRegistry
from ..security.rating import Own
from ..specs import AnyLLM, Durability, HookEvent, WorkspaceSpec
from ..specs.hooks import hooks_for
from ..specs.quota import Quota
from ..state import State
from ..storing import Shelf
from ..tools.definition import Tools
from ..workspaces.bases import Bases
from .agent import AgentActor
from .children import Children
from .core import Actor, RestartPolicy, Supervisor
from .core.leases import Leases
from .dispatcher import Dispatcher, Performer
from .event_log import EventLogActor, Log, Observer
from .feed import Feed
from .loaded import LoadedActor
from .patience import Patience
from .recollection import Earlier, Lately
from .servers import Servers
from .side_calls import SideCalls
from .tool import AtWork, ToolActor
from .tool_models import Retold, Saved, nothing_saved, nothing_told, told_anew
from .veil import Veil

if TYPE_CHECKING:
    from ..workspaces.commands import Commands
    from .file_keeper import FileKeeper
    from .hooks import HookActor

STOP_SECONDS = 5.0
"""Seconds that leaving a group waits for what it cut to end."""

SIDE_BY_SIDE = 64
"""Maximum number of conversations that work in the background at the same time."""

END_SECONDS = 3.0
"""Maximum number of seconds that a hook of the end may take."""


PerformerFactory: TypeAlias = Callable[[Log, "Parts"], Actor]


class Parts(msgspec.Struct, frozen=True):
    """The implementations that a conversation's actors use."""

    client: ModelClient
    tools: Tools
    secrets: SecretRegistry
    children: Children
    analyzers: Mapping[str, Callable[[], SecurityAnalyzer]]
    hooks: Mapping[str, Callable[..., Any]]
    critics: Mapping[str, Callable[[], Critic]]
    condensers: Mapping[str, Callable[[], Condenser]] = {}
    restarts: RestartPolicy = RestartPolicy()
    durability: Durability = Durability.COMMIT
    quota: Quota = Quota()
    observers: Sequence[Observer] = ()
    retired: Callable[[str], Event | None] = lambda conversation_id: None
    """Returns the event to log if values of secrets came to an end, else None."""
    own: Callable[[], Own] = Own
    """Returns what belongs to the runtime, for ratings."""
    store: str = ""
    """The address of the store, because a copy of a store has conversations with the same ids."""
    earlier: Earlier | None = None
    """Searches earlier conversations for words."""
    lately: Lately | None = None
    """Returns the texts of the newest earlier conversations."""
    connections: Connections | None = None
    """The connections to MCP servers; None: there are none, as in a replay."""
    leases: Leases | None = None
    """The resources that tools share, such as a browser; None: there are none, as in a replay."""
    shelf: Shelf | None = None
    """Holds the memories of owners."""
    held: Place | None = None
    """An open place of the workspace, which outlives the conversation; None: it opens one itself."""
    home: Path | None = None
    """The directory of the user's own memory."""
    beside: Callable[[str], str] | None = None
    """Returns the path of a directory beside a conversation's log; None: no files are kept."""
    bases: Bases | None = None
    """The first trees that conversations in one workspace share; None: each makes its own."""
    patience: Patience = Patience()
    """For how long a call waits until the files are kept."""
    saved: Saved = nothing_saved
    """Loads the models that the user has saved."""
    retold: Retold = nothing_told
    """Reads what a model of another family is told."""
    performers: Mapping[str, PerformerFactory] = {}
    """Replacements of performers, by the first word of their names: for a replay, which runs nothing."""


class ConversationGroup:
    """An async context manager: the actors live between enter and exit; leaving it interrupts what runs."""

    def __init__(
        self,
        journal: Journal,
        state: State,
        parts: Parts,
        workspace: WorkspaceSpec,
        first: tuple[Event, ...] = (),
        more: tuple[Event, ...] = (),
    ) -> None:
        self._veil = Veil(parts.secrets)
        self.feed = Feed(journal, state, self._veil)
        self.secrets = parts.secrets
        self._first, self._more = first, more
        self._journal, self._parts, self._workspace = journal, parts, workspace
        self._stack = AsyncExitStack()
        self._looked: anyio.Event | None = None
        self._keeper: FileKeeper | None = None
        """The keeper, once a call may write or something is to be restored."""
        self._servers: Servers | None = None
        self._commands: Commands | None = None
        """What people and programs run beside the agent, once they do."""
        self._place = parts.held
        """Where its tools act, once one does."""
        self.stops = 0
        """How often a pause or an interrupt was requested, so that it also stops a run that is only being prepared."""
        self._leaving = False
        """Whether delegated conversations are only left. Those interrupted before are cut nevertheless."""
        self._to_end = set[str]()
        """The ids of the background tasks that were interrupted before."""

    async def __aenter__(self) -> ConversationGroup:
        async with AsyncExitStack() as stack:
            supervisor = await stack.enter_async_context(Supervisor(self._parts.restarts, self._stopped))
            self._dispatcher = Dispatcher(supervisor, self._performer)
            tasks = self._tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            tasks.start_soon(self._dispatcher.run)
            self._actor = EventLogActor(
                self._journal,
                self.feed,
                self._dispatcher.hand_out,
                lambda goes_on: self._dispatcher.cut(goes_on=goes_on),
                self._veil.event,
                self._parts.quota,
                self._parts.observers,
            )
            self.log = Log(self._actor, self.feed, self._journal, self._veil)
            self.calls = SideCalls(self.log, self._parts.client, self._veil)
            self._tasks = tasks
            self._dispatcher.attach(self.log)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cut what runs and stop the actors. The body's exception propagates as it is, not in an exception group."""
        self._actor.rest()
        keeper = self._keeper
        try:
            with anyio.CancelScope(shield=True), anyio.move_on_after(STOP_SECONDS):
                await self._catch_up()
                self._leaving = not self.feed.state.branch.cut
                self._to_end = {name for name, child in self.feed.state.background.items() if child.cut}
                await self._say_closed()
                self._dispatcher.cut()
                if self._commands is not None:
                    await self._commands.close()
                await self._dispatcher.wait_idle()
                await self._say_end()
                if keeper is not None:
                    await keeper.settle()
                await self._catch_up()
                await self._say_closed()
                if self.feed.state.durability is not Durability.COMMIT and not self.feed.failed:
                    epoch = self.feed.state.epoch
                    await self.log.append(DurabilityChanged(durability=Durability.COMMIT, epoch=epoch))
        finally:
            if keeper is not None:
                await keeper.aclose()
            self.feed.close()
            await self._stack.aclose()
            if self._place is not None and self._parts.held is None:
                with anyio.CancelScope(shield=True):
                    await self._place.close()
            self._actor.close()

    async def _catch_up(self) -> None:
        """Return once everything that was requested before is visible, with what it began."""
        with contextlib.suppress(ActorError, LogError):
            await self.log.append()

    async def _say_closed(self) -> None:
        """Log the intent to stop. The second call ends a run that was requested meanwhile and has begun nothing."""
        if self.feed.state.status is ExecutionStatus.RUNNING and not self.feed.failed:
            await self.log.interrupt("the conversation was closed")

    async def told_anew(self, llm: AnyLLM) -> tuple[Event, ...]:
        """Return the events for a model that the agent goes on with, if it is of another family."""
        return await told_anew(self.log, llm, self._parts.retold)

    async def told_again(self) -> tuple[Event, ...]:
        """Return the events that tell the agent anew what files say to it now."""
        state = self.feed.state
        return await self._parts.retold(state, state.spec.llm, self.log.keep)

    async def interrupt(self, reason: str, wait: float, by: str | None = None) -> None:
        """Log the intent, cut what runs, and wait at most `wait` seconds for its end. Raise `LogFailed`."""
        await self.log.interrupt(reason, by)
        with anyio.move_on_after(wait):
            await self._dispatcher.wait_idle()

    async def settle(self, reason: str) -> None:
        """Begin nothing new, and wait for the end of what is under way. Return at once if the log has failed."""
        try:
            await self.pause(reason)
            await self.log.wait_for(lambda state: state.at_rest or not state.in_flight)
        except (ActorError, LogError):
            return

    async def pause(self, reason: str) -> None:
        """Begin nothing new, on behalf of the runtime. Raise `LogError` or `ActorError`."""
        if self.feed.state.status is ExecutionStatus.RUNNING:
            await self.log.append(PauseEvent(source="environment", reason=reason))

    async def begin(self) -> None:
        """Append the first batch: that of a new conversation, or events that close what a dead process left open."""
        events = (*(self._first or await self._recovery()), *self._more)
        waits = self.feed.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        if self.feed.state.implied and waits and not any(isinstance(event, PauseEvent) for event in events):
            events = (*events, RunRequested(source="environment"))  # from here on an event says how the run ends
        durability = self._parts.durability
        if self.feed.state.ledger.started and self._has_hooks(HookEvent.START):
            # the log does not say that it left memory: the hooks of the start are due again
            events = (*events, HookExecutionEvent(hook_event=HookEvent.END))
        if durability is not Durability.COMMIT:
            epoch = self.feed.state.epoch + (self.feed.state.durability is not Durability.COMMIT)
            events = (*events, DurabilityChanged(durability=durability, epoch=epoch))
        await self.log.append(*events)  # even an empty batch starts the timers of overdue results
        if self.feed.state.ledger.restoring and self.keeper is not None:
            await self.keeper.restore()
        self.connect()
        if not self._first and self.feed.state.context is not None:
            self._looked = anyio.Event()
            self._tasks.start_soon(self._look_again, self._looked, self.feed.state.context)
        if durability is not Durability.COMMIT:
            await self._journal.sync()

    @property
    def place(self) -> Place:
        """Where its tools act; opened when it is asked for first. Raise `ConfigurationError` for a kind that is not
        installed.
        """
        if self._place is None:
            from ..placing import Setting
            from ..sandboxes.kinds import place_of

            secrets = self.secrets
            hidden = (self._parts.store,) if self._parts.store else ()
            setting = Setting(self._tasks.start_soon, lambda text: secrets.mask.text(text), self._mark, hidden)
            self._place = place_of(self._workspace, setting)
        return self._place

    @property
    def _mark(self) -> str:
        """The mark of the conversation's processes."""
        created = self.feed.state.created
        return process_mark(created.id, self._parts.store) if created is not None else ""

    @property
    def commands(self) -> Commands:
        """What people and programs run in its place, beside the agent. Raise as `place`."""
        if self._commands is None:
            from .beside import commands_beside

            self._commands = commands_beside(
                self.log, self.place, self._tasks.start_soon, self._mark, lambda: self.secrets.mask
            )
        return self._commands

    @property
    def keeper(self) -> FileKeeper | None:
        """The keeper of the workspace's files, made when it is asked for first; None if they are not kept."""
        if self._keeper is None:
            self._keeper = self._new_keeper()
        return self._keeper

    def _new_keeper(self) -> FileKeeper | None:
        created, beside = self.feed.state.created, self._parts.beside
        if created is None or beside is None:
            return None
        from ..workspaces.tree_limits import Most  # these were loaded with the agent's tools
        from ..workspaces.trees import Trees
        from .file_keeper import FileKeeper

        origins = () if created.parent is None else (beside(created.parent),)
        own, quota = self._parts.own().stores, self._parts.quota.bytes
        most = Most() if quota is None else Most(stored=min(quota, Most().stored))
        store, mirror = beside(created.conversation_id), self.place.checkpoints()
        if mirror is None:
            trees = Trees(store, self._workspace.path, origins, apart_from=own, most=most, bases=self._parts.bases)
        else:
            from ..workspaces.mirrored import MirroredTrees

            trees = MirroredTrees(store, mirror, origins, most=most)
        return FileKeeper(self.log, self._tasks, trees, self._parts.patience)

    def connect(self) -> None:
        """Connect to the MCP servers that the agent has by now, in the background."""
        created, parts = self.feed.state.created, self._parts
        if parts.connections is None or not self.feed.state.spec.mcp_servers:
            return
        if self._servers is None:
            assert created is not None
            path = created.workspace.path
            whose = Whose(created.conversation_id, created.delegated_by, created.owner, path, self.place)
            self._servers = Servers(
                self.log, parts.connections, parts.tools, parts.secrets, whose, self.calls, parts.shelf
            )
        self._servers.begin(self._tasks)

    async def ask_servers(self, question: ServerQuestion) -> ServerAnswer:
        """Return the answer to a question about its MCP servers. Raise `ServerMissing`, or as `Servers.ask` does."""
        if self._servers is not None:
            return await self._servers.ask(question)
        if isinstance(question, ListServers):
            return ServerList(items=())
        raise ServerMissing(question.name, ())

    async def attached(self, message: MessageEvent) -> tuple[MessageEvent, ...]:
        """Return what a user's message names of MCP servers, to log with it; nothing if it is logged already."""
        known = message.id in self.feed.state.ledger.message_ids
        return await self._servers.attached(message) if self._servers is not None and not known else ()

    async def ready(self) -> None:
        """Return when it is known which files of the agent's context have changed, and no files are being restored."""
        if self._looked is not None:
            await self._looked.wait()
        if self.feed.state.ledger.restoring and self.keeper is not None:
            await self.keeper.ready()

    async def _look_again(self, looked: anyio.Event, context: ContextResolved) -> None:
        """Log which files of the context have changed. Opening does not wait for it, since there may be hundreds."""
        try:
            gathering = await load("agentrt.sources.gathering")
            sources, path = context.sources, f"{self._workspace.path}/"
            if not self._workspace.seen_here:  # only the place has the files in it
                sources = tuple(one for one in sources if not one.path.startswith(path))
            paths = await anyio.to_thread.run_sync(gathering.changed, sources, abandon_on_cancel=True)
            if fresh := tuple(path for path in paths if path not in self.feed.state.ledger.changed_files):
                await self.log.append(ContextChanged(paths=fresh))
        except (ActorError, LogError):
            return
        finally:
            looked.set()

    async def _recovery(self) -> tuple[Event, ...]:
        """Return the events that close what a dead process left open. First end what its commands had started."""
        state, events = self.feed.state, recovery(self.feed.state)
        left = state.ledger.beside or any(isinstance(event, ResourceLost) for event in events)
        if state.created is None or not left:
            return events
        ended = await self.place.end_left(process_mark(state.created.id, self._parts.store))
        return events if ended else recovery(state, ended=False)

    async def may_rest(self) -> bool:
        """Return whether it may sleep: nothing runs, and no tool is at work. `say_asleep` tells of other losses."""
        state = self.feed.state
        if state.status is ExecutionStatus.RUNNING or state.in_flight or not state.at_rest or state.ledger.beside:
            return False
        return not any(await self._dispatcher.ask_tools(AtWork()))

    async def say_asleep(self) -> None:
        """Tell the model what is lost by sleeping."""
        if events := asleep(self.feed.state):
            await self.log.append(*events)

    async def _say_end(self) -> None:
        """Run the hooks of the end; their results can change nothing any more."""
        if not self.feed.failed and self._has_hooks(HookEvent.END) and "hooks" not in self._parts.performers:
            hooks = self._hooks(await load(f"{__package__}.hook_models"))
            _, event = await hooks.run(hooks.given(HookEvent.END), self.feed.state.spec.hooks, at_most=END_SECONDS)
            await self.log.append(event)

    def _has_hooks(self, event: HookEvent) -> bool:
        agent = self.feed.state.agent
        return agent is not None and bool(hooks_for(agent.hooks, event))

    def _performer(self, name: str) -> Performer:
        log, parts, workspace = self.log, self._parts, self._workspace
        concurrency = self.feed.state.spec.limits.tool_concurrency
        kind, _, tool = name.partition(":")
        if (replaced := parts.performers.get(kind)) is not None:
            return Performer(lambda: replaced(log, parts), concurrency)
        match kind:
            case "agent":
                return Performer(lambda: AgentActor(log, parts.client, parts.tools, self._veil))
            case "security":
                created = self.feed.state.created
                assert created is not None
                listens = partial(listening, mark=process_mark(created.id, parts.store))
                unheld = self.place.unheld if workspace.on_this_machine else None
                given = (log, parts.analyzers, parts.tools, workspace, parts.own, listens, unheld)
                return _loaded("security", lambda module: module.SecurityActor(*given))
            case "skills":
                return _loaded("skills", lambda module: module.SkillActor(log, parts.tools))
            case "condenser":
                return _loaded("condenser", lambda module: module.CondenserActor(log, self.calls, parts.condensers))
            case "hooks":
                return _loaded("hook_models", self._hooks, concurrency)
            case "critic":
                return _loaded("critic", lambda module: module.CriticActor(log, parts.critics, self.calls, workspace))
            case "background" | "delegate":
                most = SIDE_BY_SIDE if kind == "background" else concurrency
                return _loaded(
                    "delegate", lambda module: module.DelegateActor(log, parts.children, self._is_left), most
                )
            case _:
                return Performer(lambda: ToolActor(log, parts, tool, self.place, self.calls, self.keeper), concurrency)

    def _hooks(self, module: Any) -> HookActor:
        parts = self._parts
        models = module.HookModels(self.log, self.calls, parts.children, self._is_left)
        actor: HookActor = module.HookActor(self.log, parts.hooks, parts.tools, self.place, self._veil.text, models.ask)
        return actor

    def _is_left(self, child_id: str) -> bool:
        return self._leaving and child_id not in self._to_end

    def _stopped(self, name: str, crash: ActorCrashed) -> None:
        self._dispatcher.forget(name)


def _loaded(module: str, make: Callable[[Any], Actor], concurrency: int = 1) -> Performer:
    """Return a performer that few conversations need."""
    return Performer(lambda: LoadedActor(module, make), concurrency)
