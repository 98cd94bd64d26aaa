"""Commands in real containers: what they see, that a person can stop them, and that no container is left behind."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

import anyio
import anyio.to_thread
import pytest
from aiodocker import Docker
from msgspec.structs import replace

from agentrt import LLM, Agent, Conversation, DockerWorkspace, RemoteWorkspace, Runtime, Tool, ToolError, Workspace
from agentrt.errors import ConfigurationError
from agentrt.events import AgentErrorEvent, InterruptEvent, ObservationEvent
from agentrt.secrets import SecretRegistry
from agentrt.server import ServerSettings, create_app
from agentrt.server.running import serving
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, ScriptedProvider, call, finish, say
from agentrt.tools.files.file_editor import FileEditor, FileEditorAction
from agentrt.tools.terminals.terminal import Terminal, TerminalAction, TerminalObservation

from .. import programs
from ..steering import running
from ..tools.context import FakeContext
from ..tools.terminals.test_terminal import shown
from .engines import IMAGE
from .waiting import eventually

pytestmark = [pytest.mark.long, pytest.mark.timed]

DOCUMENTS = Path(__file__).parent.parent / "documents" / "files"
SECONDS = 0.2
"""How soon a person's interrupt has ended a command that heeds it."""

VALUE = "a secret that only one command has"


class Desk:
    """A terminal in a container."""

    def __init__(self, workspace: DockerWorkspace, context: FakeContext) -> None:
        self.workspace, self.context, self.terminal = workspace, context, Terminal({})

    async def run(self, command: str = "", **options: Any) -> TerminalObservation:
        """One call."""
        with anyio.fail_after(60):
            return await self.terminal(TerminalAction(command, **options), self.context)

    async def shown(self, command: str) -> str:
        """What a command prints."""
        return shown(await self.run(command))

    async def interrupted(self, command: str, pattern: str) -> tuple[re.Match[str], float]:
        """Run a command and cancel the call once it printed `pattern`; the match, and how long the cancelling took."""
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(self.terminal, TerminalAction(command), self.context)
                match = await self.context.until(pattern)
                begun = monotonic()
                group.cancel_scope.cancel()
        return match, monotonic() - begun

    async def lives(self, pid: int) -> bool:
        """Whether a process runs in the container."""
        state = await self.shown(f"read -r _ _ state _ 2>/dev/null </proc/{pid}/stat && echo $state || echo none")
        return state not in ("none", "Z")


@asynccontextmanager
async def sitting(workspace: DockerWorkspace, registry: SecretRegistry | None = None) -> AsyncIterator[Desk]:
    """A desk, until its container is gone."""
    async with anyio.create_task_group() as tasks:
        context = FakeContext(Path(workspace.path), registry=registry)
        context.workspace, context.tasks = workspace, tasks
        assert context.place.workspace == workspace  # before a thread asks for it
        desk = Desk(workspace, context)
        try:
            yield desk
        finally:
            with anyio.CancelScope(shield=True):
                await desk.terminal.aclose()
                await context.place.close()
    assert await containers(workspace) == []


async def containers(workspace: DockerWorkspace) -> list[str]:
    """The containers of a workspace that there are."""
    docker = Docker()
    try:
        labels = {"label": [f"agentrt.workspace={workspace.path}"]}
        return [container.id for container in await docker.containers.list(all=True, filters=labels)]
    finally:
        await docker.close()


async def gone(workspace: DockerWorkspace) -> None:
    """Wait until no container of the workspace is left."""

    async def none() -> bool:
        return not await containers(workspace)

    await eventually(none, "no container is left", 30)


async def test_a_command_sees_the_workspace_and_nothing_else(workspace: DockerWorkspace, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("not to be seen")
    (Path(workspace.path) / "given").write_text("to be seen")
    async with sitting(workspace) as desk:
        assert await desk.shown("pwd; cat given; echo made > made") == f"{workspace.path}\nto be seen"
        assert await desk.shown(f"ls {tmp_path}") == "work"
        assert await desk.shown("id -u") == str(os.getuid())
        assert (await desk.shown("while read -r name _; do echo $name; done </proc/net/dev")).split()[2:] == ["lo:"]
        refused = await desk.run('echo x > "${BASH_SOURCE[0]}"')
        assert "Read-only file system" in shown(refused), "what we tell bash is not the commands' to change"
    made = Path(workspace.path) / "made"
    assert made.read_text() == "made\n"
    assert made.stat().st_uid == os.getuid()


async def test_the_shell_lasts_from_command_to_command_and_the_container_from_shell_to_shell(
    workspace: DockerWorkspace,
) -> None:
    async with sitting(workspace) as desk:
        assert (await desk.run("cd /; kept=1; false")).exit_code == 1
        assert await desk.shown("pwd; echo $kept; stty size") == "/\n1\n50 200"
        assert (await desk.run("echo installed > /tmp/tool; exit 7")).exit_code == 7
        assert await desk.shown("cat /tmp/tool; echo ${kept-gone}") == "installed\ngone"
        await desk.run("sleep 300", timeout=0.05)
        assert await desk.terminal.at_work()
        assert (await desk.run("cat /tmp/tool", reset=True)).exit_code == 0
        assert not await desk.terminal.at_work()


async def test_text_is_typed_and_output_comes_as_it_is_printed(workspace: DockerWorkspace) -> None:
    async with sitting(workspace) as desk:
        await desk.run("echo ready; read -r line; echo got $line", timeout=0.05)
        assert "got typed" in shown(await desk.run("typed", is_input=True))
        await desk.run("cat", timeout=0.05)
        assert (await desk.run("C-c", is_input=True)).exit_code == 130
        whole = await desk.shown(f"printf '%s' {shlex.quote('grüße 🙂 ' * 2000)} | wc -c")
        assert int(whole) == len(("grüße 🙂 " * 2000).encode())


async def test_a_secret_is_for_one_command(workspace: DockerWorkspace) -> None:
    async with sitting(workspace, SecretRegistry({"TOKEN": VALUE, "LONG": "x" * 100_000})) as desk:
        assert await desk.shown('printf "%s" "$TOKEN" | wc -c') == str(len(VALUE))
        assert await desk.shown("echo ${#LONG}") == "100000"
        assert await desk.shown("env | cat; set") != ""
        assert VALUE not in desk.context.shown
        assert await desk.shown("name=TO; name+=KEN; echo ${!name-none}") == "none"


@pytest.mark.parametrize(
    ("command", "signals"),
    [
        ("echo pid $BASHPID; sleep 300", "SIGINT"),
        ("sh -c 'echo pid $$; exec sleep 300' | cat", "SIGINT"),
        ("echo pid $BASHPID; while :; do :; done", "SIGINT"),
        ("setsid sh -c 'echo pid $$; exec sleep 300' & sleep 300", "SIGTERM"),
        ("(setsid sh -c 'echo pid $$; exec sleep 300' &) ; sleep 300", "SIGTERM"),
        ("( ( echo pid $BASHPID; while :; do sleep 0.01; done ) & ); sleep 300", "SIGTERM"),
        ("(env -i PATH=\"$PATH\" sh -c 'echo pid $$; exec sleep 300' &); sleep 300", "SIGTERM"),
        ("nohup sh -c 'echo pid $$ > /dev/tty; exec sleep 300' & disown; sleep 300", "SIGTERM"),
        ("bash -c 'trap \"\" INT TERM HUP; echo pid $$; while :; do sleep 0.01; done'", "SIGKILL"),
    ],
    ids=["simple", "pipe", "loop", "session", "session-orphan", "fork-orphan", "bare-orphan", "disowned", "deaf"],
)
async def test_an_interrupt_ends_all_that_a_command_started(
    workspace: DockerWorkspace, command: str, signals: str
) -> None:
    async with sitting(workspace) as desk:
        job = int(await desk.shown("kept=1; sleep 300 & echo $!"))
        match, _ = await desk.interrupted(command, r"pid (\d+)")
        assert signals in desk.context.shown.rpartition("[ended with ")[2]
        assert await desk.shown("echo $kept") == "1", "the shell goes on"
        ours = await desk.shown("echo $$")
        assert match[1] == ours or not await desk.lives(int(match[1]))
        assert await desk.lives(job), "what an earlier command put behind goes on"


async def test_an_interrupt_takes_little(workspace: DockerWorkspace) -> None:
    async with sitting(workspace) as desk:
        for ending in ("sleep 300", "(setsid sleep 300 &); sleep 300"):
            took = [
                (await desk.interrupted(f"echo n{n}-{len(ending)}; {ending}", f"n{n}-{len(ending)}"))[1]
                for n in range(9)
            ]
            assert median(took) < SECONDS


async def test_a_shell_that_cannot_be_interrupted_is_ended(workspace: DockerWorkspace) -> None:
    async with sitting(workspace) as desk:
        await desk.interrupted("trap '' INT TERM; echo begun; while :; do :; done", "begun")
        assert await desk.shown("echo anew") == "anew"


async def test_a_persons_interrupt_stops_the_container_work_of_a_conversation(
    workspace: DockerWorkspace, tmp_path: Path
) -> None:
    turns = [call("terminal", command=f"echo begun > begun{number}; sleep 300") for number in range(5)]
    script, took = ScriptedLLM([*turns, finish("Done.")]), list[float]()
    agent = Agent(llm=LLM(model="scripted"))
    async with Conversation(agent, workspace, id="c", store=tmp_path / "store", client=script) as conversation:
        await conversation.send_message("go")
        for number in range(5):
            async with running(conversation):
                await eventually((Path(workspace.path) / f"begun{number}").exists, "the command runs", 60)
                begun = monotonic()
                await conversation.interrupt()
                await eventually(lambda: conversation.state.status == "paused", "it is paused")
                took.append(monotonic() - begun)
        assert median(took) < SECONDS
        assert await containers(workspace) != []
        await conversation.run()
        assert conversation.state.status == "finished"
    await gone(workspace)
    events = read_conversation(tmp_path / "store" / "conversations" / "c")
    assert sum(isinstance(event, InterruptEvent) for event in events) == 5
    cut = [event for event in events if isinstance(event, AgentErrorEvent)]
    assert [("[interrupted with SIGINT" in repr(event)) for event in cut] == [True] * 5
    assert IMAGE in repr(events[0]), "the log says where commands ran"


CELL = """
import multiprocessing, os, sys
system = await tools.terminal(command="test -e /tests || echo inside")
parse_docx("report.docx")
print(system, os.path.exists("/tests"), os.path.exists(OUTSIDE), os.getcwd())
with multiprocessing.get_context("spawn").Pool(1) as pool:
    print(pool.map(abs, [-41]))
"""


async def test_code_in_a_container_calls_the_agents_tools(workspace: DockerWorkspace, tmp_path: Path) -> None:
    shutil.copy(DOCUMENTS / "report.docx", workspace.path)
    outside = tmp_path / "outside"
    outside.write_text("canary")
    turns = [call("ipython", code=f"OUTSIDE = {str(outside)!r}\n{CELL}"), finish("Done.")]
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("ipython"), Tool("terminal")))
    script = ScriptedLLM(turns)
    async with Conversation(agent, workspace, id="k", store=tmp_path / "store", client=script) as conversation:
        await conversation.send_message("go")
        state = await conversation.run()
        assert state.status == "finished", state.error
    await gone(workspace)
    events = read_conversation(tmp_path / "store" / "conversations" / "k")
    (said,) = [plain(e.content) for e in events if isinstance(e, ObservationEvent) and e.tool_name == "ipython"]
    assert "inside" in said
    assert f"False False {workspace.path}" in said
    assert "[41]" in said
    assert "report.docx: Word document" in said


async def test_a_held_container_is_shared_paused_and_outlives_conversations(
    workspace: DockerWorkspace, tmp_path: Path
) -> None:
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))
    async with Workspace(workspace) as held:
        first = await held.execute_command("echo kept > /tmp/kept; test -e /tests || echo inside")
        assert (first.exit_code, first.stdout) == (0, "inside\n")
        for number in range(2):
            script = ScriptedLLM([call("terminal", command="cat /tmp/kept"), finish("Done.")])
            name = f"shared-{number}"
            async with Conversation(agent, held, id=name, store=tmp_path / "store", client=script) as conversation:
                await conversation.send_message("go")
                state = await conversation.run()
                assert state.status == "finished", state.error
                assert (await conversation.workspace.execute_command("cat /tmp/kept")).stdout == "kept\n"
            events = read_conversation(tmp_path / "store" / "conversations" / name)
            (said,) = [
                plain(e.content) for e in events if isinstance(e, ObservationEvent) and e.tool_name == "terminal"
            ]
            assert "kept" in said
        assert len(await containers(workspace)) == 1
        assert await held.supports_pause()
        await held.execute_command("(while :; do echo x >> /tmp/ticks; sleep 0.01; done) > /dev/null 2>&1 &")
        await held.pause_or_raise()
        await held.resume()
        stopped = await held.execute_command("sleep 300", timeout=1)
        assert (stopped.exit_code, stopped.timeout_occurred) == (-1, True)
        copied = await held.file_upload(Path(__file__), "copied.py")
        assert copied.success, copied.error
        assert (await held.execute_command("wc -c < copied.py")).stdout == f"{Path(__file__).stat().st_size}\n"
    await gone(workspace)


async def test_killing_the_process_ends_its_container(workspace: DockerWorkspace, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"""import anyio
from agentrt import LLM, Agent, Conversation, DockerWorkspace
from agentrt.testing import ScriptedLLM, call
async def main():
    place = DockerWorkspace({workspace.path!r}, {IMAGE!r})
    script = ScriptedLLM([call("terminal", command="echo begun > begun; sleep 300")])
    async with Conversation(Agent(llm=LLM(model="scripted")), place, store={str(tmp_path / "store")!r},
                            client=script) as conversation:
        await conversation.send_message("go")
        await conversation.run()
anyio.run(main)
"""
    )
    process = subprocess.Popen([sys.executable, program])
    try:
        await eventually((Path(workspace.path) / "begun").exists, "the command runs", 60)
        assert len(await containers(workspace)) == 1
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    await gone(workspace)


async def test_a_container_that_somebody_ends_is_followed_by_another(workspace: DockerWorkspace) -> None:
    async with sitting(workspace) as desk:
        await desk.run("kept=1; sleep 300", timeout=0.05)
        docker = Docker()
        try:
            (name,) = await containers(workspace)
            await docker.containers.container(name).kill()
        finally:
            await docker.close()
        ended = await desk.run()
        assert ended.exit_code not in (0, -1)
        assert "the shell ended" in str(ended.content[-1])
        assert await desk.shown("echo ${kept-anew}") == "anew"


async def test_cancelling_while_a_container_starts_waits_for_nothing_and_leaves_nothing(
    workspace: DockerWorkspace,
) -> None:
    for moment in (0.0, 0.01, 0.05, 0.2):
        async with sitting(workspace) as desk:
            with anyio.move_on_after(moment):
                await desk.run("echo here")
    await gone(workspace)


async def test_an_interrupted_start_is_not_wasted(workspace: DockerWorkspace) -> None:
    async with sitting(workspace) as desk:
        with anyio.move_on_after(0.01):
            await desk.run("echo here")
        assert await desk.shown("echo there") == "there"
        assert len(await containers(workspace)) == 1


async def test_an_image_that_is_nowhere_is_said_so(workspace: DockerWorkspace) -> None:
    missing = DockerWorkspace(workspace.path, "127.0.0.1:9/agentrt-no-such-image:1")
    async with sitting(missing) as desk:
        for _ in range(2):
            with pytest.raises(ToolError, match="agentrt-no-such-image"):
                await desk.run("echo here")


async def test_a_container_has_no_more_processes_than_it_may(workspace: DockerWorkspace) -> None:
    few = DockerWorkspace(workspace.path, IMAGE, processes=20)
    async with sitting(few) as desk:
        await desk.run("for i in $(seq 40); do sleep 300 & done 2>/dev/null; echo $i", timeout=3.0)
        docker = Docker()
        try:
            (name,) = await containers(few)
            top = await docker.containers.container(name).top()
            assert len(top["Processes"]) <= 20
        finally:
            await docker.close()


async def test_a_conversation_without_an_engine_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
    place, agent = DockerWorkspace(str(tmp_path), IMAGE), Agent(llm=LLM(model="scripted"))
    with pytest.raises(ConfigurationError, match="no Docker engine answers"):
        async with Conversation(agent, place, store=tmp_path / "store", client=ScriptedLLM([])):
            raise AssertionError("it began")


async def test_a_conversation_is_read_without_an_engine(
    workspace: DockerWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, store = Agent(llm=LLM(model="scripted")), tmp_path / "store"
    async with Conversation(agent, workspace, id="c", store=store, client=ScriptedLLM([])) as conversation:
        await conversation.rename("Kept")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
    async with Conversation(id="c", store=store, client=ScriptedLLM([])) as conversation:
        assert conversation.state.ledger.title == "Kept"


async def test_the_documentations_program_runs(workspace: DockerWorkspace, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "containers.md").read_text()
    (code,) = re.findall(r"```python engine\n(.*?)```", page, re.DOTALL)
    async with ScriptedProvider(lambda body: say("3.13")) as provider:
        scripted = f'LLM(model="openai/scripted", base_url="{provider.base_url}")'
        program = re.sub(r'LLM\((?:model=)?"anthropic/[^"]+"\)', scripted, code).replace("python:3.13", IMAGE)
        environment = os.environ | {"AGENTRT_HOME": str(tmp_path / "home")}
        ran = await anyio.to_thread.run_sync(
            lambda: programs.run("-c", program, directory=Path(workspace.path), environment=environment)
        )
    assert (ran.returncode, ran.stderr) == (0, "")


async def test_the_command_line_works_in_one(workspace: DockerWorkspace, tmp_path: Path) -> None:
    turns = iter([call("terminal", command="echo made > made; ls /"), finish("Done.")])
    words = ["run", "go", "--model", "openai/scripted", "--image", IMAGE, "--workspace", workspace.path]
    async with ScriptedProvider(lambda body: next(turns)) as provider:
        words += ["--base-url", provider.base_url, "--store", str(tmp_path / "store"), "--json"]
        ran = await anyio.to_thread.run_sync(
            lambda: programs.run("-m", "agentrt", *words, directory=tmp_path, environment=os.environ)
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (Path(workspace.path) / "made").read_text() == "made\n"
    (log,) = (tmp_path / "store" / "conversations").iterdir()
    assert IMAGE in repr(read_conversation(log)[0])


async def test_a_server_gives_each_conversation_a_container_of_its_own(
    workspace: DockerWorkspace, tmp_path: Path
) -> None:
    agent = Agent(llm=LLM(model="scripted"))
    script = ScriptedLLM(lambda request: call("terminal", command="echo $HOSTNAME > begun; sleep 300"))
    settings = ServerSettings(port=0, workspaces=(Path(workspace.path),), container=workspace)
    app = create_app(Runtime(tmp_path / "store", client=script), settings)
    hosts = set[str]()
    async with serving(app, settings) as url:
        place = RemoteWorkspace(app.state.access.address(url))
        async with Conversation(agent, place) as one, Conversation(agent, place) as other:
            both = [(conversation, directory_of(conversation)) for conversation in (one, other)]
            for conversation in (one, other):
                await conversation.send_message("go")
            async with running(one), running(other):
                for conversation, directory in both:
                    await eventually(partial(read, directory / "begun"), "it runs", 60)
                    hosts.add(read(directory / "begun"))
                    await conversation.interrupt()
    assert len(hosts) == 2
    for _, directory in both:
        await gone(replace(workspace, path=str(directory)))


def read(path: Path) -> str:
    """A file's text; none where there is no file."""
    return path.read_text() if path.exists() else ""


def directory_of(conversation: Conversation) -> Path:
    """Where it works."""
    assert conversation.state.created is not None
    return Path(conversation.state.created.workspace.path)


async def test_set_user_id_bits_do_not_leave_a_container(workspace: DockerWorkspace) -> None:
    path = Path(workspace.path)
    async with sitting(replace(workspace, root=True)) as desk:
        await desk.shown("mkdir d && cp /bin/bash d/x && chmod 6755 d/x && cp /bin/bash y && chmod u+s y")
        assert [file.stat().st_mode & 0o7777 for file in (path / "d/x", path / "y")] == [0o755, 0o755]
        await desk.run("(sleep 1; chmod 4755 y) &")
        await desk.shown("sleep 2")
        assert (path / "y").stat().st_mode & 0o7777 == 0o755


async def test_a_link_leads_the_file_editor_where_it_leads_the_commands(
    workspace: DockerWorkspace, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    canary.write_text("canary")
    async with sitting(workspace) as desk:
        await desk.shown(f"ln -s {canary} link; ln -s / root; echo mine > own; ln -s $PWD/own known; echo it > /tmp/it")
        editor = FileEditor({})
        for place in ("link", f"root{canary}", f"../{canary.name}"):
            for action in (
                FileEditorAction("view", f"{workspace.path}/{place}"),
                FileEditorAction("str_replace", f"{workspace.path}/{place}", old_str="canary", new_str="x"),
            ):
                with pytest.raises(ToolError):
                    await editor(action, desk.context)
        for place, words in (("known", "mine"), ("root/tmp/it", "it")):
            seen = await editor(FileEditorAction("view", f"{workspace.path}/{place}"), desk.context)
            assert words in plain(seen.content)
    assert canary.read_text() == "canary"
