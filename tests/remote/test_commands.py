"""Commands of people and programs in a conversation's workspace: the same here and on a server."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

from agentrt import LLM, Agent, Tool
from agentrt.errors import ConfigurationError, WorkspaceError
from agentrt.events import CommandEnded, CommandStarted, MessageEvent
from agentrt.secrets import HIDDEN
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.workspaces.asking import OutputPiece, RunCommand

from ..sandboxes.living import is_held, until
from ..steering import running
from .places import At, everything

pytestmark = pytest.mark.real

SLEEPS = RunCommand(command="sleep 300")
AGENT = Agent(llm=LLM(model="scripted"), tools=())


async def test_a_command_has_its_result(at: At) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        workspace = conversation.workspace
        result = await workspace.execute_command("pwd; echo warm >&2; exit 3")
        assert (result.exit_code, result.stdout, result.stderr) == (3, f"{place.workspace}\n", "warm\n")
        assert (result.command, result.timeout_occurred, result.timeout) == ("pwd; echo warm >&2; exit 3", False, False)
        (place.workspace / "src").mkdir()
        assert (await workspace.execute_command("pwd", "src")).stdout == f"{place.workspace}/src\n"
        assert (await workspace.execute_command("pwd", cwd=place.workspace / "src")).stdout.endswith("/src\n")
        assert (await workspace.execute_command("kill -9 $$")).exit_code == 128 + 9
        assert (await workspace.execute_command("cat")).stdout == ""  # there is no input
        assert (await workspace.execute_command("printf '\\303'; sleep 0.1; printf '\\244'")).stdout == "ä"
        missing = await workspace.execute_command("pwd", "nowhere")
        assert missing.exit_code == 127
        assert "No such file" in missing.stderr


async def test_it_is_in_the_log_and_the_model_is_told_in_one_line(at: At) -> None:
    script = ScriptedLLM([finish("Seen.")])
    async with at(script) as place, place.begin(AGENT) as conversation:
        await conversation.send_message("Look.")
        await conversation.workspace.execute_command("echo done; false")
        await conversation.run()
        events = await everything(conversation)
        (begun,) = [event for event in events if isinstance(event, CommandStarted)]
        (ended,) = [event for event in events if isinstance(event, CommandEnded)]
        assert (begun.command_line, begun.cwd, begun.source) == ("echo done; false", str(place.workspace), "user")
        assert (ended.caused_by, ended.exit_code, ended.stdout) == (begun.id, 1, "done\n")
        told = "[The user ran a command in the workspace: echo done; false (exit code 1)]"
        assert told in [plain(event.content) for event in events if isinstance(event, MessageEvent)]
        assert told in str(script.requests[-1].messages)


async def test_one_beside_a_running_tool_is_told_after_it(at: At) -> None:
    script = ScriptedLLM(
        [call("terminal", command="until test -e go; do sleep 0.01; done; echo went"), finish("Seen.")]
    )
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))
    async with at(script) as place, place.begin(agent) as conversation:
        await conversation.send_message("Wait.")
        async with running(conversation):
            await until(lambda: conversation.state.branch.pending)
            await conversation.workspace.execute_command("touch go")
        roles = [message.role for message in script.requests[-1].messages][-4:]
        assert roles == ["user", "assistant", "tool", "user"]
        assert conversation.state.answer == "Seen."


async def test_its_output_comes_as_it_is_printed(at: At) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        heard = list[OutputPiece]()

        def hear(piece: OutputPiece) -> None:
            heard.append(piece)
            if "first" in piece.text:
                (place.workspace / "go").touch()

        command = "echo first; until test -e go; do sleep 0.01; done; echo second >&2"
        result = await conversation.workspace.execute_command(command, on_output=hear)
        assert result.exit_code == 0
        assert [piece.order for piece in heard] == list(range(1, len(heard) + 1))
        said = {name: "".join(one.text for one in heard if one.name == name) for name in ("stdout", "stderr")}
        assert said == {"stdout": "first\n", "stderr": "second\n"}


async def test_at_its_limit_it_is_ended_with_all_that_it_started(at: At) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        result = await conversation.workspace.execute_command(
            "echo begun; (flock held sleep 300 &); sleep 300", timeout=1
        )
        assert (result.exit_code, result.timeout_occurred, result.stdout) == (-1, True, "begun\n")
        assert not is_held(place.workspace / "held")


async def test_cancelling_ends_it(at: At) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(conversation.workspace.execute_command, "exec flock held sleep 300")
            await until(lambda: is_held(place.workspace / "held"))
            tasks.cancel_scope.cancel()
        (state,) = await conversation.workspace.commands()
        assert state.stopped
        assert state.result is not None
        assert state.result.exit_code == 128 + 15
        assert not is_held(place.workspace / "held")


async def test_leaving_here_ends_what_runs_and_the_log_says_so(at: At, tmp_path: Path) -> None:
    async with at(ScriptedLLM([])) as place:
        async with place.begin(AGENT, id="left") as conversation:
            state = await conversation.workspace.place.start(SLEEPS)
            if "remote" in type(place).__name__.lower():
                await conversation.workspace.place.stop(state.id)
        async with place.reopen("left") as conversation:
            (ended,) = [event for event in await everything(conversation) if isinstance(event, CommandEnded)]
            assert (ended.caused_by, ended.stopped) == (state.id, True)


async def test_a_long_output_keeps_its_end(at: At) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        result = await conversation.workspace.execute_command(f"{sys.executable} -c \"print('x' * (6 << 20) + 'end')\"")
        assert result.stdout.startswith("[")
        assert "characters before this are left out]" in result.stdout[:100]
        assert result.stdout.endswith("xend\n")
        (ended,) = [event for event in await everything(conversation) if isinstance(event, CommandEnded)]
        assert len(ended.stdout) < 11_000


@pytest.mark.parametrize("command", ["", "  ", "a\0b", "x" * 100_001])
async def test_what_is_not_a_command_is_refused(at: At, command: str) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        with pytest.raises(WorkspaceError) as refused:
            await conversation.workspace.execute_command(command)
        assert refused.value.code == "command"


async def test_secrets_are_masked_even_in_two_pieces_and_are_no_variables(at: At) -> None:
    async with at(ScriptedLLM([])) as place:
        async with place.begin(AGENT, secrets={"API_TOKEN": "s3cr3t-value-1"}) as conversation:
            heard = list[str]()
            command = "echo $API_TOKEN; printf s3cr3t-; sleep 0.3; echo value-1"
            result = await conversation.workspace.execute_command(command, on_output=lambda one: heard.append(one.text))
            assert result.stdout == f"\n{HIDDEN}\n"
            assert "".join(heard) == result.stdout
            assert "s3cr3t-value-1" not in repr(await everything(conversation))


async def test_too_many_at_once_are_refused(at: At) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        workspace = conversation.workspace
        running = [await workspace.place.start(SLEEPS) for _ in range(32)]
        with pytest.raises(WorkspaceError) as refused:
            await workspace.execute_command("echo")
        assert refused.value.code == "too-many-commands"
        for one in running:
            await workspace.place.stop(one.id)
        assert (await workspace.execute_command("echo fine")).stdout == "fine\n"


async def test_this_machine_is_not_paused(at: At) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        workspace = conversation.workspace
        assert not await workspace.supports_pause()
        await workspace.pause()
        await workspace.resume()
        with pytest.raises(ConfigurationError, match="cannot be paused"):
            await workspace.pause_or_raise()


async def test_a_secret_in_a_command_is_in_nothing_that_is_kept_or_told(at: At) -> None:
    script = ScriptedLLM([finish("Seen.")])
    async with at(script) as place, place.begin(AGENT, secrets={"API_TOKEN": "s3cr3t-value-1"}) as conversation:
        await conversation.send_message("Look.")
        long = f"echo {'x' * 185} s3cr3t-value-1"
        for command in ("echo s3cr3t-value-1", long):
            result = await conversation.workspace.execute_command(command)
            assert "s3cr3t" not in repr(result)
        assert "s3cr3t" not in repr(await conversation.workspace.commands())
        await conversation.run()
        assert "s3cr3t" not in repr(await everything(conversation))
        assert "s3cr3t" not in repr(script.requests[-1].messages)


async def test_a_cancelled_start_runs_on_nowhere(at: At) -> None:
    async with at(ScriptedLLM([])) as place, place.begin(AGENT) as conversation:
        for steps in range(12):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(conversation.workspace.execute_command, "sleep 300")
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()

        async def all_ended() -> bool:
            states = await conversation.workspace.commands()
            return all(state.result is not None for state in states)

        with anyio.fail_after(20):
            while not await all_ended():
                await anyio.sleep(0.05)
        events = await everything(conversation)
        begun = {event.id for event in events if isinstance(event, CommandStarted)}
        assert begun == {event.caused_by for event in events if isinstance(event, CommandEnded)}
