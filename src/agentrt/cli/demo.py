"""`agentrt demo`: a complete conversation without a key or a network, on a small project with a failing test."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from rich.console import Console
from rich.text import Text

from ..context.messages import REJECTED
from ..context.replies import ModelReply
from ..conversation import Conversation
from ..runtime import Runtime
from ..specs import Agent, AlwaysConfirm, ConfirmRisky
from ..testing import ScriptedProvider, call, finish
from ..tools import ToolType
from .asking import ask_person, refuse
from .session import work
from .views import View

TASK = "A test of this project fails. Find out why, fix it, and show me that all tests pass."


def script(project: Path) -> list[ModelReply]:
    """Return the model's scripted replies."""
    module = str(project / "invoices.py")
    tests = f"{_python()} -m unittest discover tests"
    return [
        call("terminal", "I will look at the project first.", command="ls -R . && cat README.md"),
        call("terminal", "Next, I reproduce the failure.", command=tests),
        call("file_editor", "Two tests about rounding fail. Here is the code.", command="view", path=module),
        call(
            "think",
            thought="int() truncates the cents, and round() would round halves to even. Integer arithmetic"
            " rounds halves up: (cents * percent + 50) // 100.",
        ),
        call(
            "file_editor",
            "`int()` truncates the price where it should round. I switch to integer arithmetic.",
            command="str_replace",
            path=module,
            old_str="return int(self.quantity * self.price * (100 - self.discount) / 100)",
            new_str="return (self.quantity * self.price * (100 - self.discount) + 50) // 100",
        ),
        call("terminal", "Now I run the tests again.", command=tests),
        finish("Line.total() truncated the cents. It now rounds halves up. All three tests pass."),
    ]


def playing(replies: Sequence[ModelReply]) -> Callable[[dict[str, Any]], ModelReply]:
    """Return a model that gives the replies in turn, and ends with the truth if a person has refused its edit."""

    def reply(request: dict[str, Any]) -> ModelReply:
        turn: int = sum(message["role"] == "assistant" for message in request["messages"])
        edit = replies[turn - 1].tool_calls[0] if turn else None
        answer = str(request["messages"][-1].get("content"))
        if edit is not None and '"str_replace"' in edit.arguments and REJECTED in answer:
            return finish("You refused the edit, so the tests still fail. A real model would look for another way.")
        return replies[turn]

    return reply


async def demo(
    view: View,
    console: Console,
    *,
    pace: float = 0.0,
    ask: bool = False,
    store: str | None = None,
    tools: Sequence[ToolType] = (),
) -> int:
    """Run the demo and then the project's tests; return 0 only if the conversation finished and the tests pass.

    With `ask`, the person at the terminal is asked about each action.
    """
    project = await anyio.to_thread.run_sync(_scratch_project)
    console.print(
        Text(
            "The model's words are scripted. The HTTP, the shell, the files, the tests and the log are real.", "italic"
        ),
        soft_wrap=True,
    )
    console.print(Text(f"project {project} (a copy, which stays after the demo)", "dim"), soft_wrap=True)
    async with ScriptedProvider(playing(script(project)), pace=pace) as provider:
        agent = Agent(llm=provider.llm(), analyzer="rules", confirmation=AlwaysConfirm() if ask else ConfirmRisky())
        async with Runtime(store, tools=tools) as runtime:
            with console.status(Text("loading the model client", "dim")):
                await runtime.client.prepare(agent.llm)
            async with Conversation(agent, project, runtime=runtime) as conversation:
                await conversation.send_message(TASK)
                code = await work(
                    conversation, view, console, ask_person(console) if ask else refuse, runtime.store, resumes=False
                )
            log = runtime.store.where(conversation.id)
    passed = await _tests_pass(project, console)
    console.print(Text(f"log     {log}\nread it: agentrt show {conversation.id}", "dim"), soft_wrap=True)
    return code or (0 if passed else 1)


async def _tests_pass(project: Path, console: Console) -> bool:
    """Run the project's tests independently, instead of trusting what the agent says."""
    ran = await anyio.run_process([_python(), "-m", "unittest", "discover", "tests"], cwd=project, check=False)
    passed = ran.returncode == 0
    verdict = ("✓ the tests pass", "bold green") if passed else ("✗ the tests fail", "bold red")
    console.print(Text.assemble("checked by running the tests again: ", verdict))
    return passed


def _scratch_project() -> Path:
    place = Path(tempfile.mkdtemp(prefix="agentrt-demo-")) / "invoices"
    with as_file(files(__name__.rpartition(".")[0]) / "demo_project") as source:
        shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def _python() -> str:
    return "python3" if shutil.which("python3") else sys.executable
