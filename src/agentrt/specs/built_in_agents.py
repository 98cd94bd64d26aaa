"""The built-in agents that every agent may delegate to by name, unless its own agents have these names."""

from __future__ import annotations

from collections.abc import Mapping

from .agent import Agent
from .context import AgentContext
from .llm import INHERIT, LLM
from .tool import Tool

SAME_TOOLS = (Tool("*"),)
"""The tools of the delegating agent."""

READING = tuple(map(Tool, ("read_file", "list_directory", "grep", "glob", "read_document", "git_diff")))
"""Tools that only read files. They can do no more than a shell, or a tool that views files, of the delegating agent."""

_LOOKS = (
    " You have no tool that changes anything or runs a program. Report what you found, with the paths and lines where"
    " it stands; say what somebody should run to be sure."
)


def _agent(description: str, suffix: str, tools: tuple[Tool, ...] = SAME_TOOLS) -> Agent:
    """Return an agent with the confirmation policy and the tools of the delegating agent."""
    return Agent(
        llm=LLM(model=INHERIT),
        tools=tools,
        description=description,
        context=AgentContext(system_message_suffix=suffix.strip()),
        is_vouched_for=False,
    )


BUILT_IN_AGENTS: Mapping[str, Agent] = {
    "general-purpose": _agent(
        "Works on any task of several steps that can be described whole.",
        "You do one task for another agent, which sees nothing but your report.",
    ),
    "code-explorer": _agent(
        "Finds out how code works, or where something stands, without changing anything.",
        f"You explore code for another agent, which sees nothing but your report.{_LOOKS}",
        READING,
    ),
    "bash-runner": _agent(
        "Runs commands, such as builds and tests, and reports what matters of their output.",
        "You run commands for another agent, which sees nothing but your report. Report what failed, word for word, and"
        " leave out what does not matter.",
        (Tool("terminal"),),
    ),
    "web-researcher": _agent(
        "Looks something up on the web, and reports it with its sources.",
        "You look things up for another agent, which sees nothing but your report. Give the address of each source. Say"
        " so where you could not find something out.",
        (Tool("browser"), Tool("fetch"), Tool("web_search"), Tool("terminal")),
    ),
    "planner": _agent(
        "Makes a plan for a change, after it has looked at the code, without changing anything.",
        "You plan for another agent, which sees nothing but your report: steps in their order, each with its files, how"
        f" it is checked, and what may go wrong.{_LOOKS}",
        (*READING, Tool("task_tracker")),
    ),
    "reviewer": _agent(
        "Reviews changes: faults, missing tests, what is not as it was asked for.",
        "You review changes for another agent, which sees nothing but your report. Say of each fault how it shows, and"
        f" how grave it is; the gravest first. Praise nothing.{_LOOKS}",
        READING,
    ),
}
