"""`Runtime`: the composition root. It owns the store, the model client and the tools of many conversations."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Never, cast

from msgspec.structs import replace

from .actors.core import RestartPolicy
from .actors.core.leases import Leases
from .actors.event_log import Append, EventLogActor, Observer
from .actors.feed import Feed
from .actors.group import ConversationGroup, Parts
from .actors.tool_models import Keep
from .actors.veil import Veil
from .context.resolving import Resolved, rejoined
from .context.routing import Rule
from .decisions import forked
from .decisions.agents import check_rules, sound_agent
from .decisions.first import first_batch, prompt_of, remembered
from .decisions.sharing import may_not_delegate
from .errors import ConfigurationError, EventRefused, ToolMissing
from .events import ConversationCreated, ConversationStateUpdateEvent, Event, SecretsChanged, Source
from .host import Hosts
from .host.beginning import keeping, kept, pinned, released_on_error
from .host.children import children_of
from .host.consolidating import Consolidations
from .host.earlier import of_storage
from .host.implementations import Implementations
from .host.profiles import Models, saved_in
from .ids import new_id
from .llm import LimitedClient, ModelsClient, PacedClient, ProviderLimits, RetryingClient, RoutedClient, ThinkingClient
from .llm.masking import keys_of
from .llm.profiles import saved_profile
from .loading import load
from .mcp.connections import Connections
from .mcp.hiding import hide_in
from .mcp.tokens import tokens_of
from .placing import Place
from .protocols import Condenser, Critic, ModelClient, SecurityAnalyzer, Storage
from .sandboxes.processes import runtime_files
from .secrets import AnySecret, Cipher, KeyFile, LogMask, SecretRegistry, StoreKey
from .security.rating import Own
from .specs import Agent, AnyLLM, Durability, ToolDefinition, WorkspaceSpec
from .specs.given import Amount, converted, functions, instance
from .specs.quota import Quota
from .specs.raw import raw
from .specs.secrets import SavedSecret
from .state import State, apply
from .storage import Probe, default_store, open_storage
from .tools import AnyTool, ToolType
from .workspaces import workspace_of
from .workspaces.bases import Bases
from .workspaces.project_rules import recover_project_rules

if TYPE_CHECKING:
    from .hooks import HookFunction
    from .sources.resolver import Resolve, Resolver


class Runtime:
    """An async context manager that runs conversations; one is enough for a process.

    `tools` are implementations that agents may name in addition to the built-in ones. `analyzers` rate actions; agents
    choose them by name. `durability` says when an event counts as committed. A conversation that was unused for
    `idle_after` seconds leaves memory until it is used again (None: never).

    Models are called through litellm, with keys from `environment` (None: the process's). Calls that fail temporarily
    are retried. `limits` apply per provider (by its name, "*" for all others). A `client`, if given, is used instead.
    `routers` are custom rules for `RouterLLM`, `hooks` are functions, `critics` judge an agent's work, and `condensers`
    shorten its view; agents choose them by name. With a `cipher`, static secrets are kept in the log, encrypted, and
    come back when it is reopened. Logins at MCP servers need a `cipher` or a `home`. `quota` limits the resources of
    this process for each conversation. `home` is the user's home directory, whose instructions, skills and agents are
    read for agents without a context of their own (None: they are not read). `recast` may replace parts of a
    conversation, as a replay does. Raises `ConfigurationError` for invalid values.
    """

    def __init__(
        self,
        store: Path | str | Storage | None = None,
        *,
        tools: Iterable[AnyTool] = (),
        client: ModelClient | None = None,
        environment: Mapping[str, str] | None = None,
        limits: Mapping[str, ProviderLimits] = {},
        routers: Mapping[str, Rule] = {},
        analyzers: Mapping[str, Callable[[], SecurityAnalyzer]] = {},
        hooks: Mapping[str, HookFunction] = {},
        critics: Mapping[str, Callable[[], Critic]] = {},
        condensers: Mapping[str, Callable[[], Condenser]] = {},
        cipher: Cipher | None = None,
        restarts: RestartPolicy = RestartPolicy(),
        durability: Durability = Durability.COMMIT,
        idle_after: float | None = 600.0,
        quota: Quota = Quota(),
        home: Path | None = None,
        resolve: Resolve | None = None,
        recast: Callable[[Parts], Parts] = lambda parts: parts,
        probe: Probe = lambda point: None,
        **unknown: Never,
    ) -> None:
        if unknown:
            from .specs.arguments import check_names  # only then

            check_names("Runtime", Runtime, unknown)
        if client is not None and not hasattr(client, "complete"):
            raise ConfigurationError(f"Runtime(client=...): expected a ModelClient, got {type(client).__name__}")
        given = os.environ if environment is None else environment
        self.variables: ChainMap[str, str] = ChainMap({}, cast("MutableMapping[str, str]", given))
        """The variables that keys and secrets come from: what a server has saved, above `environment`."""
        durability = converted(durability, Durability, "Runtime", "durability")
        self.store = open_storage(store, durability, probe)
        self.hosts = Hosts(self, converted(idle_after, Amount | None, "Runtime", "idle_after"))
        """The conversations that are open in this runtime; all users of a conversation share it."""
        self.consolidations = Consolidations(self, self.store)
        self._own_client = None if client is not None else ModelsClient(self.variables)
        if self._own_client is not None:
            client = RetryingClient(
                LimitedClient(self._own_client, converted(dict(limits), dict[str, ProviderLimits], "Runtime", "limits"))
            )
        assert client is not None
        self.client: ModelClient = PacedClient(
            ThinkingClient(RoutedClient(client, functions(routers, "Runtime", "routers")))
        )
        self.models = Models(self._own_client, self.client, self.store)
        self._known = Implementations(tools, analyzers, hooks, critics, condensers)
        self._cipher = None if cipher is None else instance(cipher, Cipher, "Runtime", "cipher")
        self._restarts, self._quota = restarts, instance(quota, Quota, "Runtime", "quota")
        self._recast = recast
        self._home, cache = home, Path(next(iter(self.store.places), default_store()))
        self.key = StoreKey(self._cipher, home)
        """The key for what the store keeps encrypted besides the secrets of conversations."""
        self.connections = Connections(tokens_of(self.store.shelf, self.key))
        """The connections to MCP servers, which conversations share where allowed."""
        self.leases = Leases()
        """Resources that tools share."""
        self._cache = cache
        self._resolver: Resolver | None = None
        self._bases = Bases()
        self._resolve = resolve
        self._hidden, self.ports = list[str](), set[int]()
        """`ports`: the ports that serve this runtime. Requests to these ports of this machine are rated HIGH."""
        self.observers: list[Observer] = []
        """Callbacks for every batch of events that is committed from now on; they must be quick, and no coroutines."""
        self.log_mask = LogMask()
        """Masks the secrets of all conversations in log records: for handlers that are added later."""

    async def __aenter__(self) -> Runtime:
        async with AsyncExitStack() as stack:
            self.log_mask.install()
            stack.callback(self.log_mask.uninstall)
            if self._own_client is not None:
                stack.push_async_callback(self._own_client.aclose)
            await stack.enter_async_context(self.store)
            await recover_project_rules(self.store)
            for part in (self.connections, self.leases, self.hosts, runtime_files(self.hosts), self.consolidations):
                await stack.enter_async_context(part)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def create(
        self,
        agent: Agent,
        workspace: Path | str | WorkspaceSpec,
        conversation_id: str | None = None,
        tools: Sequence[ToolType] = (),
        secrets: SecretRegistry | None = None,
        above: State | None = None,
        owner: str | None = None,
        more: Sequence[Event] = (),
        *,
        held: Place | None = None,
    ) -> tuple[str, ConversationGroup]:
        """Create a conversation, and return its id and its group, not yet entered. A delegated conversation has the
        state `above` of its parent, and its parent's owner. `more` events follow the first ones. `held` is an open
        place of the workspace, which outlives the conversation.

        Raises `WorkspaceMissing`, `ToolMissing`, `ConversationExists`, or `ConfigurationError` for a container if no
        Docker engine answers.
        """
        secrets = secrets or self.secrets()
        place, rules = await workspace_of(workspace, self.store)
        from .sandboxes.kinds import place_type  # loaded with the first conversation

        await place_type(place).check(place)
        owner = above.created.owner if above is not None and above.created is not None else owner
        told = hide_in(await self._resolved(sound_agent(agent), place, tools, owner, above), secrets)
        agent = await pinned(told.agent, place.path)
        name, parts = conversation_id or new_id(), await self._parts(agent, place, tools, secrets, held)
        check_rules(agent, parts.tools.definitions)
        if secrets.mask.text(place.path) != place.path:
            raise ConfigurationError("the workspace's path contains a secret, and would be masked: move the workspace")
        created = first_batch(name, agent, place, parts.tools.definitions, above, owner, (told.prompt, told.dynamic))
        journal = await self.store.create(name)
        async with released_on_error(self.store, name):
            texts = await kept(told, keeping(journal, secrets), created[0].id)
        first = (*created, *texts, *remembered(rules, agent.rules), *more)
        if secrets.names:
            first = (*first, SecretsChanged(secrets=self.saved(secrets, name)))
        return name, ConversationGroup(journal, State(), parts, place, first)

    async def open(
        self,
        conversation_id: str,
        tools: Sequence[ToolType] = (),
        secrets: SecretRegistry | None = None,
        held: Place | None = None,
    ) -> ConversationGroup:
        """Open an existing conversation from its log alone, and return its group, not yet entered. `held` is an open
        place of its workspace, which outlives it.

        Raises `ConversationMissing`, `LogLocked`, `LogCorrupt`, `WorkspaceMissing`, `ToolMissing`, or
        `ConfigurationError` if the kind of its workspace is not installed.
        """
        state = State()

        def replay(event: Event) -> None:
            nonlocal state
            state = apply(state, event)

        def recall(stored: State) -> None:
            nonlocal state
            state = stored

        journal = await self.store.open(conversation_id, replay, recall)
        async with released_on_error(self.store, conversation_id):
            assert state.created is not None
            from .sandboxes.kinds import place_type  # loaded with the first conversation

            place_type(state.created.workspace)
            if held is not None and held.workspace != state.created.workspace:
                raise ConfigurationError("this conversation has another workspace: open it with its own, or none")
            place, rules = await workspace_of(state.created.workspace, self.store)
            secrets = secrets or self.secrets()
            if not secrets.used:
                self._restore(secrets, state, conversation_id)
            added = remembered(rules, (*state.spec.rules, *state.ledger.rules, *state.ledger.withdrawn))
            parts = await self._parts(state.spec, place, tools, secrets, held)
            if state.ledger.goal is not None and (judge := state.ledger.goal.set.judge) is not None:
                self.hide_keys(secrets, judge)
            return ConversationGroup(journal, state, parts, place, more=added)

    def secrets(self, given: Mapping[str, AnySecret] = {}) -> SecretRegistry:
        """Return a registry of a conversation's secrets. Raises `ConfigurationError` for an invalid secret."""
        return SecretRegistry(given, environment=self.variables)

    def hide_keys(self, secrets: SecretRegistry, llm: AnyLLM) -> None:
        """Mask the keys of a model wherever these secrets are masked."""
        secrets.seed(keys_of(llm, self.variables))

    def hide(self, value: str) -> None:
        """Mask a value in all conversations, open ones and later ones: no tool may have it."""
        self._hidden.append(value)
        for registry in self.log_mask.watched:
            registry.seed((value,))

    def _restore(self, secrets: SecretRegistry, state: State, conversation_id: str) -> None:
        kept = state.ledger
        secrets.restore(kept.secrets, self._cipher, conversation_id, kept.past_secrets)

    def changed_secrets(
        self, secrets: SecretRegistry, conversation_id: str, by: str | None = None, source: Source = "user"
    ) -> SecretsChanged:
        """Return the event that records changed secrets."""
        saved = self.saved(secrets, conversation_id)
        return SecretsChanged(source=source, secrets=saved, past=secrets.retired(self._cipher), by=by)

    def _retired(self, secrets: SecretRegistry, conversation_id: str) -> SecretsChanged | None:
        """Return the event to log before a new value of a secret is used, or None if none is needed."""
        if self._cipher is None or not secrets.has_unsaved:
            return None
        return self.changed_secrets(secrets, conversation_id, source="environment")

    def saved(self, secrets: SecretRegistry, conversation_id: str) -> dict[str, SavedSecret]:
        """Return the secrets in the form in which the conversation's log may hold them."""
        return secrets.saved(self._cipher, conversation_id)

    @property
    def states(self) -> Iterator[tuple[State, bool]]:
        """The states of the open conversations, and whether each is awake; in no order."""
        return ((host.state, host.group is not None) for host in self.hosts if host.begun)

    async def load(self) -> None:
        """Load the dependencies of model calls off the event loop, so that the first call need not wait for them."""
        if self._own_client is not None:
            await self._own_client.load()

    async def fork(
        self,
        conversation_id: str,
        at: int,
        fork_id: str | None = None,
        secrets: SecretRegistry | None = None,
        agent: Agent | None = None,
        tools: Sequence[ToolType] = (),
        more: Sequence[Event] = (),
        place: WorkspaceSpec | None = None,
    ) -> str:
        """Begin a conversation that shares the first `at` events of another, which must be durable; return its id.

        Actions that are open at `at` are closed in the fork. It has the given `secrets`, or those in the log at `at`.
        `place` and `agent` replace the workspace and the agent. `more` events follow the first ones. Raises
        `EventRefused` if `at` is too early or too late, and the errors of `open` and `create`.
        """
        name, state = fork_id or new_id(), State()

        def replay(event: Event) -> None:
            nonlocal state
            state = apply(state, event)

        journal = await self.store.fork(conversation_id, name, at, replay)
        try:
            if state.created is None or state.prompt is None:
                raise EventRefused(f"event {at} is too early to fork from: the conversation has not begun there")
            place, prompt = place or state.created.workspace, tuple[Event, ...]()
            if secrets is None:
                secrets = self.secrets()
                self._restore(secrets, state, state.created.conversation_id)
            if agent is not None:
                told = hide_in(await self._resolved(sound_agent(agent), place, tools, state.created.owner), secrets)
                agent = await pinned(told.agent, place.path)
                offered = (await self._parts(agent, place, tools, secrets)).tools.definitions
                check_rules(agent, offered)
                prompt_event = prompt_of(offered, (told.prompt, told.dynamic))
                texts = await kept(told, keeping(journal, secrets), prompt_event.id)
                prompt = (prompt_event, *texts)
            created = ConversationCreated(
                conversation_id=name,
                agent=agent or state.spec,
                workspace=place,
                owner=state.created.owner,
                parent=conversation_id,
            )
            first = (*forked(state, created), *prompt, *more)
            if secrets.names or state.ledger.secrets:  # encrypted anew: the log's values are encrypted for the parent
                first = (*first, self.changed_secrets(secrets, name, source="environment"))
            hide = Veil(secrets).event
            log = EventLogActor(journal, Feed(journal, state), lambda commands: None, lambda goes_on: None, hide)
            await log.ask(Append(first))
        finally:
            await self.store.release(name)
        return name

    async def release(
        self, conversation_id: str, state: State | None = None, secrets: SecretRegistry | None = None
    ) -> None:
        """Release a conversation that was left in `state`. Raises a `LogFailed` that was not reported yet."""
        await self.store.release(conversation_id, state)
        if state is not None:
            self.consolidations.begin(state, secrets)

    async def _parts(
        self,
        agent: Agent,
        workspace: WorkspaceSpec,
        tools: Sequence[ToolType],
        secrets: SecretRegistry,
        held: Place | None = None,
    ) -> Parts:
        self.check(agent)
        await self._known.load(agent)
        for llm in agent.models:
            self.hide_keys(secrets, llm)
        secrets.seed((*self._hidden, *(self._cipher.spellings() if self._cipher else ())))
        self.log_mask.watch(secrets)
        parts = Parts(
            client=self.client,
            tools=self._known.tools_of(agent, workspace, tools, self._quota),
            secrets=secrets,
            retired=partial(self._retired, secrets),
            children=children_of(self, tools, secrets, held),
            held=held,
            **self._known.parts,
            restarts=self._restarts,
            durability=self.store.durability,
            quota=self._quota,
            observers=self.observers,
            own=self._own,
            **of_storage(self.store),
            saved=saved_in(self.store, self.variables),
            retold=partial(self._retold, tools, secrets),
            connections=self.connections,
            leases=self.leases,
            bases=self._bases,
            home=self._home,
        )
        return self._recast(parts)

    async def _resolved(
        self,
        agent: Agent,
        place: WorkspaceSpec,
        tools: Sequence[ToolType],
        owner: str | None,
        above: State | None = None,
    ) -> Resolved:
        known = self._known.definitions(tools, delegating=not may_not_delegate(agent, above))
        resolve = self._resolve or (await self.resolver()).resolve
        return await resolve(agent, place, known, owner)

    async def _retold(
        self, tools: Sequence[ToolType], secrets: SecretRegistry, state: State, llm: AnyLLM, keep: Keep
    ) -> tuple[Event, ...]:
        """Return the events that tell a conversation what a model of another family is told."""
        assert state.created is not None
        assert state.prompt is not None
        agent = replace(state.spec, llm=llm)
        told = hide_in(await self._resolved(agent, state.created.workspace, tools, state.created.owner), secrets)
        prompt = prompt_of(state.prompt.tools, (told.prompt, told.dynamic))
        agents = {**told.agent.agents, **state.spec.agents}
        more = ConversationStateUpdateEvent(source="environment", key="agents", value=raw(agents))
        changed = (more,) if agents.keys() != state.spec.agents.keys() else ()
        return (prompt, *await kept(rejoined(state, told), keep, prompt.id), *changed)

    async def resolver(self) -> Resolver:
        """Return what reads the files with instructions for agents."""
        if (found := self._resolver) is None:
            module = await load("agentrt.sources.resolver")
            made: Resolver = module.Resolver(self._home, self._cache, self.store.shelf, saved_profile)
            found = self._resolver = self._resolver or made
        return found

    @property
    def home(self) -> Path | None:
        """The user's home directory, whose files count as the user's own; None if they are not read."""
        return self._home

    def _own(self) -> Own:
        return Own((*self.store.places, *KeyFile.paths(self._home)), tuple(sorted(self.ports)))

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools that an agent may name, as a model sees them. Call this in a thread: it builds their schemas."""
        return tuple(self._known.definitions().values())

    def check(self, agent: Agent) -> None:
        """Check that all names in an agent but those of tools are known here. Raises `ConfigurationError`."""
        self._known.check(agent)

    def check_tools(self, agent: Agent) -> None:
        """Check that all tools of an agent are known here. Raises `ToolMissing`."""
        known = self._known.types()
        for spec in agent.tools:
            if spec.name not in known:
                raise ToolMissing(spec.name, tuple(known))
