"""`Implementations`: the code behind the names of tools, analyzers, hooks, critics and condensers in agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..actors.analyzers import ANALYZERS, MODEL
from ..critics import CRITICS
from ..decisions.agents import check_names
from ..hooks import HookFunction
from ..protocols import Condenser, Critic, SecurityAnalyzer
from ..specs import Agent, Tool, Workspace
from ..specs.built_in_agents import BUILT_IN_AGENTS
from ..specs.given import functions
from ..specs.quota import Quota
from ..specs.tool import ALWAYS
from ..tools import BUILT_IN, AnyTool, Tools, ToolType, as_tool_types, delegate, finish, structured, task
from ..tools.client import client_tool
from ..tools.delegate import to_agents


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
        self.types = {kind.name: kind for kind in (*BUILT_IN, *as_tool_types(tools))}
        self.analyzers = {**ANALYZERS, **functions(analyzers, "Runtime", "analyzers", made)}
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

    def with_types(self, more: Sequence[ToolType]) -> dict[str, ToolType]:
        """Return the tools, with those that one conversation brings."""
        return self.types | {kind.name: kind for kind in more}

    def tools_of(self, agent: Agent, workspace: Workspace, more: Sequence[ToolType], quota: Quota) -> Tools:
        """Return the tools of an agent in a workspace. Raise `ToolMissing`."""
        types = self.with_types(more)
        if agent.output is not None:
            types[finish.name] = structured(types[finish.name], agent.output)
        if agent.agents:
            types[delegate.name] = to_agents(types[delegate.name], agent.agents)
        types[task.name] = to_agents(types[task.name], {**BUILT_IN_AGENTS, **agent.agents})
        for spec in agent.client_tools:
            types[spec.name] = client_tool(spec)
        given = (*agent.tools, *(Tool(spec.name) for spec in agent.client_tools), *map(Tool, ALWAYS))
        names = {spec.name: spec for spec in given}
        return Tools(map(quota.of, names.values()), types, workspace, rated=MODEL in agent.analyzers)
