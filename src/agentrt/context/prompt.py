"""The built-in system prompt."""

from __future__ import annotations

from ..specs import Agent, DockerWorkspace, Workspace

_PROMPT = """\
You are a software agent that works in the directory {path} by calling tools.{place}

- Look before you change something: read the files, reproduce the problem, then edit.
- Prefer small, complete steps. After a change, run what proves it.
- A tool's result may be cut in the middle; ask again for the part that you need.
- When a result is an error, read it: it says what to do instead.
- Never print, store or send secrets.
- When the task is done, call `finish` with a short account of what you did and how you know that it works.
"""


def system_prompt(agent: Agent, workspace: Workspace) -> str:
    """The agent's own prompt, or the built-in one for this workspace."""
    if agent.system_prompt is not None:
        return agent.system_prompt
    return _PROMPT.format(path=workspace.path, place=_place(workspace))


def _place(workspace: Workspace) -> str:
    if not isinstance(workspace, DockerWorkspace):
        return ""
    network = " without a network" if workspace.network == "none" else ""
    return f" Commands run in a container of the image {workspace.image}{network}, which sees only that directory."
