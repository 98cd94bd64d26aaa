"""The built-in critics: judges of what an agent has finished, that need no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import anyio

from ..context.judging import CriticResult
from ..events import ActionEvent, Event, MessageEvent, ObservationEvent, SystemPromptEvent
from ..protocols import Critic
from ..specs import Workspace

_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "diff.external=", "status", "--porcelain")


class PassCritic:
    """Is content with everything."""

    async def evaluate(self, events: Sequence[Event], workspace: Workspace) -> CriticResult:
        """Full marks."""
        return CriticResult(1.0)


class AgentFinishedCritic:
    """Wants the agent to end with the tool for that, `finish`."""

    async def evaluate(self, events: Sequence[Event], workspace: Workspace) -> CriticResult:
        """1 when it did, 0 when it only said something."""
        results = [event for event in events if isinstance(event, ObservationEvent) and not event.is_error]
        prompts = [event for event in events if isinstance(event, SystemPromptEvent)]
        last = {tool.name for prompt in prompts for tool in prompt.tools if tool.ends_turn}
        if results and results[-1].tool_name in last and not isinstance(events[-1], MessageEvent):
            return CriticResult(1.0)
        return CriticResult(0.0, "end with `finish`, once the task is done, and say how you know that it works")


class EmptyPatchCritic:
    """Wants files of the workspace, a git repository, to be changed."""

    async def evaluate(self, events: Sequence[Event], workspace: Workspace) -> CriticResult:
        """1 when git sees a change, 0 when it sees none. Raises `OSError` or `RuntimeError` where git fails."""
        if not any(isinstance(event, ActionEvent) for event in events):
            return CriticResult(0.0, "nothing was done: change what the task asks for")
        status = await anyio.run_process(_GIT, cwd=workspace.path, check=False)
        if status.returncode != 0:
            raise RuntimeError(f"git cannot say what has changed: {status.stderr.decode(errors='replace').strip()}")
        if status.stdout.strip():
            return CriticResult(1.0)
        return CriticResult(0.0, "no file of the repository is changed: make the change that the task asks for")


CRITICS: Mapping[str, Callable[[], Critic]] = {
    "pass": PassCritic,
    "agent_finished": AgentFinishedCritic,
    "empty_patch": EmptyPatchCritic,
}
"""Those that an agent can name without passing their implementation."""
