"""The built-in critics, which judge an agent's finished work without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..context.judging import CriticResult
from ..events import ActionEvent, Event, MessageEvent, ObservationEvent, SystemPromptEvent
from ..loading import load
from ..protocols import Critic
from ..specs import WorkspaceSpec


class PassCritic:
    """Accepts everything."""

    async def evaluate(self, events: Sequence[Event], workspace: WorkspaceSpec) -> CriticResult:
        """Return the highest score."""
        return CriticResult(1.0)


class AgentFinishedCritic:
    """Requires the agent to end with the `finish` tool."""

    async def evaluate(self, events: Sequence[Event], workspace: WorkspaceSpec) -> CriticResult:
        """Return 1 if the agent called it, and 0 if it ended with a message only."""
        results = [event for event in events if isinstance(event, ObservationEvent) and not event.is_error]
        prompts = [event for event in events if isinstance(event, SystemPromptEvent)]
        last = {tool.name for prompt in prompts for tool in prompt.tools if tool.ends_turn}
        if results and results[-1].tool_name in last and not isinstance(events[-1], MessageEvent):
            return CriticResult(1.0)
        return CriticResult(0.0, "end with `finish`, once the task is done, and say how you know that it works")


class EmptyPatchCritic:
    """Requires changed files in the workspace, a git repository."""

    async def evaluate(self, events: Sequence[Event], workspace: WorkspaceSpec) -> CriticResult:
        """Return 1 if git sees a change, else 0. Raises `WorkspaceError` if git fails."""
        if not any(isinstance(event, ActionEvent) for event in events):
            return CriticResult(0.0, "nothing was done: change what the task asks for")
        git = await load("agentrt.workspaces.git")
        if (await git.changes(workspace.directory)).items:
            return CriticResult(1.0)
        return CriticResult(0.0, "no file of the repository is changed: make the change that the task asks for")


CRITICS: Mapping[str, Callable[[], Critic]] = {
    "pass": PassCritic,
    "agent_finished": AgentFinishedCritic,
    "empty_patch": EmptyPatchCritic,
}
"""The critics that an agent can name without passing their implementation."""
