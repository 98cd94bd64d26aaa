"""A hook's program in the workspace is run only as it was when the hook was configured."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt import LLM, Agent, Conversation, Hook, HookEvent, Runtime, Tool
from agentrt.events import HookExecutionEvent, UserRejectObservation
from agentrt.hooks.pinning import pinned
from agentrt.pins import changed
from agentrt.testing import ScriptedLLM, call, say

pytestmark = pytest.mark.simulated

BEFORE = HookEvent.BEFORE_TOOL


def hook(command: str) -> Hook:
    return Hook(event=BEFORE, command=command)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("./check.sh", ["check.sh"]),
        ("check.sh", ["check.sh"]),
        ("python3 hooks/check.py --strict", ["hooks/check.py"]),
        ("$AGENTRT_PROJECT_DIR/check.sh", ["check.sh"]),
        ('"${AGENTRT_PROJECT_DIR}/hooks/check.py"', ["hooks/check.py"]),
        ("{w}/check.sh", ["check.sh"]),
        ("sh -c './check.sh && python3 hooks/check.py'", ["check.sh", "hooks/check.py"]),
        ("RULES=check.sh /usr/bin/env true", ["check.sh"]),
        ("./missing.sh", []),
        ("cat ../outside.sh /bin/true", []),
        ("exit 2", []),
        ("echo 'unbalanced", []),
    ],
)
def test_the_files_of_the_workspace_that_a_command_names_are_pinned(
    tmp_path: Path, command: str, named: list[str]
) -> None:
    workspace = tmp_path / "work"
    (workspace / "hooks").mkdir(parents=True)
    for there in ("work/check.sh", "work/hooks/check.py", "outside.sh"):
        (tmp_path / there).write_text("exit 0\n")
    (made,) = pinned([hook(command.replace("{w}", str(workspace)))], str(workspace))
    assert [path for path, _ in made.pinned] == named
    assert changed(made.pinned, str(workspace)) is None
    for path in named:
        (workspace / path).write_text("exit 1\n")
        assert changed(made.pinned, str(workspace)) == path
        (workspace / path).write_text("exit 0\n")
    if named:
        (workspace / named[0]).unlink()
        assert changed(made.pinned, str(workspace)) == named[0]


@pytest.mark.real
async def test_an_agent_that_rewrites_its_hook_is_denied_also_where_failures_are_ignored(tmp_path: Path) -> None:
    check = tmp_path / "check.sh"
    check.write_text("#!/bin/sh\nexit 0\n")
    check.chmod(0o755)
    given = Hook(event=BEFORE, command="./check.sh", on_failure="ignore")
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),), hooks=(given,))
    turns = [call("terminal", command="echo true > check.sh"), call("terminal", command="touch ran"), say("Well.")]
    client = ScriptedLLM([*turns, call("terminal", command="touch ran-then"), say("Well.")])
    async with Runtime(tmp_path / "s", client=client) as runtime:
        async with Conversation(agent, tmp_path, runtime=runtime, id="c") as conversation:
            await conversation.send_message("go")
            await conversation.run()
            refused = [e async for e in conversation.events() if isinstance(e, UserRejectObservation)]
            assert "check.sh in the workspace is not as it was" in refused[0].rejection_reason
            assert not (tmp_path / "ran").exists()
        async with Conversation(id="c", runtime=runtime) as conversation:
            await conversation.configure(hooks=conversation.state.spec.hooks)  # a person has looked at it
            await conversation.send_message("go")
            await conversation.run()
            verdicts = [e.verdict async for e in conversation.events() if isinstance(e, HookExecutionEvent)]
    assert verdicts == ["allow", "deny", "allow"]
    assert (tmp_path / "ran-then").exists()
