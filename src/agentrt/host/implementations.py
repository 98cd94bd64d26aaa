"""`Implementations`: the code behind the names of tools, analyzers, hooks, critics and condensers in agents."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread

from ..critics import CRITICS
from ..decisions.agents import check_names
from ..loading import load
from ..protocols import Condenser, Critic, SecurityAnalyzer
from ..specs import Agent, Tool, ToolDefinition, WorkspaceSpec
from ..specs.agent import MODEL, RULES
from ..specs.built_in_agents import BUILT_IN_AGENTS
from ..specs.given import functions
from ..specs.quota import Quota
from ..specs.tool import ALWAYS
from ..tools import BUILT_IN, AnyTool, Tools, ToolType, as_tool_types, structured
from ..tools.built_in import DELEGATING
from ..tools.client import client_tool
from ..tools.delegate import to_agents

if TYPE_CHECKING:
    from ..hooks import HookFunction


KEEPER = "agentrt.actors.file_keeper"


class Implementations:
    """Tools, security analyzers, hook functions, critics and condensers, by their names.

    Raises `ConfigurationError` for invalid ones.
    """

    def __init__(
        self,
        tools: Iterable[AnyTool] = (),
        analyzers: Mapping[str, Callable[[], SecurityAnalyzer]] = {},
        hooks: Mapping[str, HookFunction] = {},
        critics: Mapping[str, Callable[[], Critic]] = {},
        condensers: Mapping[str, Callable[[], Condenser]] = {},
    ) -> None:
        made = "a function that makes one"
        self._own = {kind.name: kind for kind in as_tool_types(tools)}
        self.analyzers = {RULES: _rules, MODEL: _model, **functions(analyzers, "Runtime", "analyzers", made)}
        self.hooks = functions(hooks, "Runtime", "hooks")
        self.critics = {**CRITICS, **functions(critics, "Runtime", "critics", made)}
        self.condensers = functions(condensers, "Runtime", "condensers", made)

    @property
    def parts(self) -> dict[str, Any]:
        """All but the tools, as fields of a conversation's `Parts`."""
        names = ("analyzers", "hooks", "critics", "condensers")
        return {name: getattr(self, name) for name in names}

    def check(self, agent: Agent) -> None:
        """Raise `ConfigurationError` if an agent names something that does not exist."""
        known = {"analyzers": self.analyzers, "hooks": self.hooks}
        check_names(agent, **known, critics=self.critics, condensers=self.condensers)

    def types(self, more: Sequence[ToolType] = ()) -> Mapping[str, ToolType]:
        """Return the tools, with those that one conversation brings. Looking a built-in one up may import it."""
        return BUILT_IN.overlaid({kind.name: kind for kind in more}, self._own)

    def definitions(self, more: Sequence[ToolType] = (), *, delegating: bool = True) -> Mapping[str, ToolDefinition]:
        """Return the definitions of the tools; with `delegating` false, without those that delegate.

        Look them up in a thread: that may import tools, and builds their schemas.
        """
        own = self._own | {kind.name: kind for kind in more}
        hidden = () if delegating else {name for name in (*own, *DELEGATING) if name not in own or own[name].delegates}
        return Definitions(self.types(more), frozenset(hidden))

    async def load(self, agent: Agent) -> None:
        """Import the built-in tools of an agent, and what keeps the files that they change, off the event loop."""
        if missing := BUILT_IN.unloaded((*(spec.name for spec in agent.tools), *ALWAYS)):
            await anyio.to_thread.run_sync(BUILT_IN.load, missing)
        if agent.checkpoints:
            await load(KEEPER)

    def tools_of(self, agent: Agent, workspace: WorkspaceSpec, more: Sequence[ToolType], quota: Quota) -> Tools:
        """Return the tools of an agent in a workspace. Raise `ToolMissing`."""
        types, brought = self.types(more), {spec.name: client_tool(spec) for spec in agent.client_tools}
        named = {spec.name: spec for spec in (*agent.tools, *map(Tool, brought), *map(Tool, ALWAYS))}
        special: dict[str, ToolType] = {}
        if agent.output is not None:
            special["finish"] = structured(types["finish"], agent.output)
        if agent.agents and "delegate" in named:
            special["delegate"] = to_agents(types["delegate"], agent.agents)
        if "task" in named:
            special["task"] = to_agents(types["task"], {**BUILT_IN_AGENTS, **agent.agents})
        known = ChainMap[str, ToolType](special | brought, cast(dict[str, ToolType], types))
        return Tools(map(quota.of, named.values()), known, workspace, rated=MODEL in agent.analyzers)


def _rules() -> SecurityAnalyzer:
    from ..actors.analyzers import RuleAnalyzer  # imported with the actor that rates

    return RuleAnalyzer()


def _model() -> SecurityAnalyzer:
    from ..actors.analyzers import ModelAnalyzer

    return ModelAnalyzer()


class Definitions(Mapping[str, ToolDefinition]):
    """The definitions of some tools, without those that are hidden. Each is made when it is looked up."""

    def __init__(self, types: Mapping[str, ToolType], hidden: frozenset[str]) -> None:
        self._types, self._hidden = types, hidden

    def __getitem__(self, name: str) -> ToolDefinition:
        if name in self._hidden:
            raise KeyError(name)
        return self._types[name].definition

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._types if name not in self._hidden)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._types and name not in self._hidden
