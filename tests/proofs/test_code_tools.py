"""A task with the tools for code that is killed in each of them, and goes on."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from agentrt import Conversation, ExecutionStatus
from agentrt.context.replies import ModelReply
from agentrt.events import ActionEvent, AgentErrorEvent, WorkspaceSnapshot
from agentrt.replaying import replay
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedProvider, call, finish

from . import code_worker
from .evidence import check_numbering, results
from .killing import killed_after

pytestmark = pytest.mark.long

PROJECT = Path(__file__).parent.parent.parent
MODULES = 40
PACE = 0.1
"""Seconds between pieces of a reply: no second call begins before the process is killed that has begun the first."""
UNKNOWN = "whether it took effect is unknown"
NOTE = "Renamed."


def make_project(root: Path) -> None:
    """Some modules that use a function, among files that do not."""
    for number in range(MODULES):
        place = root / f"part{number % 5}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"module{number}.py").write_text(f"# module {number}\nvalue = old_name({number})\n")
        (place / f"notes{number}.txt").write_text("nothing of interest\n" * 200)
    (root / "main.py").write_text("def main():\n    return old_name(40)\n")


def patch_for(numbers: list[int]) -> str:
    """A patch that renames the function in those modules."""
    files = (
        f"*** Update File: part{n % 5}/module{n}.py\n # module {n}\n-value = old_name({n})\n+value = new_name({n})\n"
        for n in numbers
    )
    return f"*** Begin Patch\n{''.join(files)}*** End Patch"


class Model:
    """What the model says: the next step, or after a call of unknown outcome a look at what has become of it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.steps: Mapping[str, Callable[[], ModelReply]] = {
            "grep": lambda: call("grep", "grep", pattern="old_name", include="*.py", output_mode="count", limit=1000),
            "glob": lambda: call("glob", "glob", pattern="**/module*.py"),
            "list": lambda: call("list_directory", "list", dir_path=str(root)),
            "read": lambda: call("read_file", "read", file_path=str(root / "main.py")),
            "write": lambda: call("write_file", "write", file_path=str(root / "NOTES.md"), content=NOTE),
            "edit": self._edit,
            "patch": lambda: call("apply_patch", "patch", patch=patch_for(list(range(MODULES)))),
            "plan": lambda: call(
                "planning_file_editor",
                "plan",
                command="insert",
                path=".agents_tmp/PLAN.md",
                insert_line=1,
                new_str="Go",
            ),
            "open vim": lambda: call(
                "terminal", "open vim", command=f"vim -n -u NONE {root}/vim.txt", session="vim", screen=True
            ),
            "type in vim": lambda: call(
                *("terminal", "type in vim"), command="ggdGiby hand<Esc>:wq<Enter>", is_input=True, session="vim"
            ),
            "open repl": lambda: call(
                "terminal", "open repl", command="python3 -q", session="repl", timeout=1, screen=True
            ),
            "type in repl": lambda: call(
                "terminal", "type in repl", command="print(6 * 7)<Enter>", is_input=True, session="repl", timeout=1
            ),
            "finish": lambda: finish("All is renamed."),
        }
        self.again: Mapping[str, str] = {
            "write": "write", "plan": "plan", "open vim": "open vim", "type in vim": "open vim",
            "open repl": "open repl", "type in repl": "open repl",
        }  # fmt: skip
        """The step that follows one of unknown outcome, where no look is needed."""

    def _edit(self) -> ModelReply:
        return call(
            *("edit", "edit"),
            file_path=str(self._root / "main.py"),
            old_string="return old_name(40)",
            new_string="return new_name(40) + 2",
        )

    def __call__(self, body: dict[str, Any]) -> ModelReply:
        """The next turn."""
        messages = body["messages"]
        asked = [m for m in messages if m["role"] == "assistant" and m.get("tool_calls")]
        if not asked:
            return next(iter(self.steps.values()))()
        step, told = asked[-1]["content"], str(messages[-1]["content"])
        assert messages[-1]["role"] in ("tool", "user"), messages[-1]
        said = next(str(m["content"]) for m in reversed(messages) if m["role"] == "tool")
        if UNKNOWN in said or UNKNOWN in told:
            if step in self.again:
                return self.steps[self.again[step]]()
            return call("grep", f"look after {step}", pattern="old_name", output_mode="count", limit=1000)
        if step.startswith("look after "):
            return self._after_look(step.removeprefix("look after "), said)
        return self._next(step)

    def _after_look(self, step: str, said: str) -> ModelReply:
        left = [int(n) for n in re.findall(r"module(\d+)\.py:1", said)]
        if step == "edit":
            return self._edit() if "main.py:1" in said else self._next(step)
        if step == "patch":
            return call("apply_patch", "patch", patch=patch_for(left)) if left else self._next(step)
        return self.steps[step]() if step in ("finish",) else self._next(step)

    def _next(self, step: str) -> ModelReply:
        names = list(self.steps)
        return self.steps[names[names.index(step) + 1]]()


async def killed_in(tool: str, program: list[str], seconds: float) -> bool:
    """Run the worker until `tool` has begun, and kill it so many seconds later; whether it came to that."""
    async with await anyio.open_process(program, cwd=PROJECT, stdout=subprocess.PIPE, stderr=None) as process:
        assert process.stdout is not None
        lines = BufferedByteReceiveStream(process.stdout)
        with anyio.fail_after(60):
            try:
                while (await lines.receive_until(b"\n", 1000)).decode() != tool:
                    pass
            except (anyio.IncompleteRead, anyio.EndOfStream):
                return False
        return await killed_after(process, seconds) != 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
async def test_it_goes_on_after_a_kill_in_each_tool(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store, root, chance = tmp_path / "store", tmp_path / "work", random.Random(seed)
    make_project(root)
    monkeypatch.setenv("SCRIPTED_KEY", "sk-scripted")
    async with ScriptedProvider(Model(root), pace=PACE) as provider:
        program = [sys.executable, "-m", code_worker.__name__, str(store), str(root), provider.base_url]
        tools = ["grep", "glob", "list_directory", "read_file", "write_file", "edit", "apply_patch"]
        for tool in (*tools, "planning_file_editor", *["terminal"] * 4):
            assert await killed_in(tool, program, chance.choice((0.0, chance.uniform(0, 0.03)))), tool
        async with Conversation(id=code_worker.NAME, store=store) as conversation:
            state = await conversation.run()
            assert (state.status, state.answer) == (ExecutionStatus.FINISHED, "All is renamed.")
        assert not provider.refused
    assert (root / "main.py").read_text() == "def main():\n    return new_name(40) + 2\n"
    for number in range(MODULES):
        module = root / f"part{number % 5}" / f"module{number}.py"
        assert module.read_text() == f"# module {number}\nvalue = new_name({number})\n"
    assert (root / "NOTES.md").read_text().strip() == NOTE
    assert (root / "vim.txt").read_text() == "by hand\n"
    assert "Go" in (root / ".agents_tmp" / "PLAN.md").read_text()
    log = read_conversation(store / "conversations" / code_worker.NAME)
    check_numbering(log)
    outcomes = results(log)
    assert set(outcomes) == {event.id for event in log if isinstance(event, ActionEvent)}
    assert any(isinstance(one, AgentErrorEvent) and UNKNOWN in one.error for one in outcomes.values())
    assert "42" in json.dumps([str(one) for one in outcomes.values()])
    assert any(isinstance(event, WorkspaceSnapshot) and event.tree for event in log)
    played = await replay(log)
    assert played.difference is None, played.difference
