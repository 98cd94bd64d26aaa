"""The security actor: what a command runs is rated by what is in it."""

from __future__ import annotations

import base64
import io
import json
import os
import socket
import tarfile
import time
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from agentrt import (
    LLM,
    Agent,
    AlwaysConfirm,
    ConfirmRisky,
    Conversation,
    ExecutionStatus,
    NeverConfirm,
    Scene,
    SecurityRisk,
)
from agentrt.actors.scripts import MAX_SCRIPT
from agentrt.events import ActionEvent, ActionRevised, AgentErrorEvent, ObservationEvent, RiskAssessed
from agentrt.protocols import Observation, ToolContext
from agentrt.specs import LocalWorkspace, TextContent, Tool, WorkspaceSpec
from agentrt.specs.content import plain
from agentrt.specs.effects import Effects
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, call, calls, say
from agentrt.tools import ToolType
from tests.security.corpus import written
from tests.security.test_budget import GROWING

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"), Tool("file_editor")), confirmation=ConfirmRisky())
BAD = "rm -rf ~/Documents\n"
ENCODED = base64.b64encode(BAD.encode()).decode()


async def rated(folder: Path, *commands: str) -> tuple[SecurityRisk, ExecutionStatus]:
    """How the last of some commands is rated, each in a call of its own, and where the run then stands."""
    turns = [*(call("terminal", command=command) for command in commands), say("Done.")]
    async with Conversation(AGENT, folder, store=folder.parent / "store", client=ScriptedLLM(turns)) as conversation:
        await conversation.send_message("go")
        events = [event async for event in conversation.run()]
        return [e for e in events if isinstance(e, RiskAssessed)][-1].risk, conversation.state.status


class Write(msgspec.Struct, frozen=True):
    number: int


class Configured:
    """A user's tool that reads its own settings, whatever it is called with."""

    def __init__(self, settings: Path) -> None:
        self._settings = settings

    async def __call__(self, action: Write, context: ToolContext) -> Observation:
        return Observation(content=(TextContent(context.files.read(str(self._settings)).decode()),))

    async def aclose(self) -> None:
        return None


class Writer:
    async def __call__(self, action: Write, context: ToolContext) -> Observation:
        return Observation()

    async def aclose(self) -> None:
        return None


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("written", "run"),
    [
        (f"cat > x.sh <<'E'\n{BAD}E", "bash x.sh"),
        (f"cat > x.sh <<'E'\n{BAD}E\nchmod +x x.sh", "./x.sh"),
        (f"cat > x.sh <<'E'\n{BAD}E", ". ./x.sh"),
        (f"echo {ENCODED} | base64 -d > x.sh", "sh x.sh"),
        (f"printf '%s\\n' 'bash y.sh' > x.sh; printf '%s' '{BAD.strip()}' > y.sh", "bash x.sh"),
        (f"printf 'all:\\n\\t@{BAD.strip()}\\n' > Makefile", "make"),
        (f"mkdir a; printf 'all:\\n\\t-cd x && \\\\\\n\\t{BAD.strip()}\\n' > a/Makefile", "make -C a"),
        (f'echo \'{{"scripts": {{"pretest": "{BAD.strip()}", "test": "true"}}}}\' > package.json', "npm test"),
        (f'echo \'{{"scripts": {{"x": "{BAD.strip()}"}}}}\' > package.json', "yarn x"),
        *(
            ("cat > x.py <<'E'\nimport shutil\nshutil.rmtree('/home/me')\nE", runs)
            for runs in ("python3 x.py", "uv run x.py", "python3 -m x", "python3 -c 'import x'", "pytest x.py::test_it")
        ),
    ],
)
async def test_a_script_that_was_written_before_is_rated_by_what_is_in_it(
    workspace: Path, written: str, run: str
) -> None:
    assert await rated(workspace, written, run) == (SecurityRisk.HIGH, ExecutionStatus.WAITING_FOR_CONFIRMATION)


@pytest.mark.parametrize(
    ("written", "run"),
    [
        ("printf 'echo fine\\n' > x.sh", "bash x.sh"),
        ("printf 'import os\\nprint(os.getcwd())\\n' > x.py", "python3 x.py"),
        ("true", "bash not-there.sh"),
        ("printf 'CC = gcc\\nall: x.o\\n\\t$(CC) -o x $^ && ./x $(ARGS)\\n' > Makefile", "make -n"),
        ('echo \'{"scripts": {"test": "jest --ci && eslint ."}}\' > package.json', "npm run lint; npm test || true"),
        ("echo '{' > package.json", "npm run x || true"),
        ("mkfifo x.sh", "bash -n x.sh < /dev/null & true"),
    ],
)
async def test_a_harmless_one_asks_nobody(workspace: Path, written: str, run: str) -> None:
    risk, status = await rated(workspace, written, run)
    assert risk in (SecurityRisk.LOW, SecurityRisk.MEDIUM)
    assert status is ExecutionStatus.FINISHED


@pytest.mark.parametrize("goes", ["true\ncd ..", "true; pushd ..", "true\n. ./x.sh"])
async def test_after_a_command_that_may_go_elsewhere_nobody_knows_where_the_next_of_the_batch_is(
    workspace: Path, goes: str
) -> None:
    turns = [calls(("terminal", {"command": goes}), ("terminal", {"command": "rm -rf Documents"})), say("Done.")]
    async with Conversation(AGENT, workspace, store=workspace.parent / "s", client=ScriptedLLM(turns)) as conversation:
        await conversation.send_message("go")
        events = [event async for event in conversation.run()]
        assert [e for e in events if isinstance(e, RiskAssessed)][1].risk is SecurityRisk.HIGH


async def test_a_time_stamp_that_was_set_back_does_not_make_a_script_old(workspace: Path) -> None:
    script = workspace / "clean.sh"
    script.write_text(BAD)
    os.utime(script, (time.time() - 10 * 86_400,) * 2)
    assert (await rated(workspace, "bash clean.sh"))[0] is SecurityRisk.HIGH


async def test_what_the_conversation_wrote_is_read_whatever_the_clock_says(workspace: Path) -> None:
    path = str(workspace / "x.sh")
    turns = [call("file_editor", command="create", path=path, file_text=BAD), call("terminal", command="bash x.sh")]
    client = ScriptedLLM([*turns, say("Done.")])
    async with Conversation(AGENT, workspace, store=workspace.parent / "s", client=client) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        assert conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        name = conversation.id
    events = read_conversation(workspace.parent / "s" / "conversations" / str(name))
    made = [event for event in events if isinstance(event, ActionEvent)]
    scene = Scene(LocalWorkspace(str(workspace)), str(workspace))
    assert path in {path for action in made for path in written(action, scene)}


PATCH = "*** Begin Patch\n*** Update File: {}\n@@\n-mine\n+theirs\n*** End Patch"
LINKED = Agent(
    llm=LLM(model="scripted"),
    tools=tuple(Tool(name) for name in ("terminal", "file_editor", "write_file", "edit", "apply_patch", "read_file")),
    confirmation=ConfirmRisky(),
)


@pytest.mark.parametrize(
    ("tool", "arguments", "to"),
    [
        ("file_editor", {"command": "str_replace", "path": "{}", "old_str": "mine", "new_str": "theirs"}, ".bashrc"),
        ("file_editor", {"command": "view", "path": "{}"}, ".ssh/id_rsa"),
        ("write_file", {"file_path": "{}", "content": "theirs"}, ".bashrc"),
        ("write_file", {"file_path": "notes", "content": "theirs"}, ".bashrc"),
        ("edit", {"file_path": "{}", "old_string": "mine", "new_string": "theirs"}, ".bashrc"),
        ("apply_patch", {"patch": PATCH}, ".bashrc"),
        ("read_file", {"file_path": "{}"}, ".ssh/id_rsa"),
    ],
)
async def test_a_file_is_rated_by_the_place_where_links_lead(
    workspace: Path, tool: str, arguments: dict[str, str], to: str
) -> None:
    """A script makes the link, so no rating of a command has seen it."""
    (file := workspace.parent / "home" / to).parent.mkdir(parents=True)
    file.write_text("mine\n")
    (workspace / "notes").symlink_to(file)
    given = {key: value.replace("{}", str(workspace / "notes")) for key, value in arguments.items()}
    client = ScriptedLLM([call(tool, **given), say("Done.")])
    async with Conversation(
        LINKED, LocalWorkspace(str(workspace), confine="off"), store="memory://", client=client
    ) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        assert conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        (pending,) = conversation.state.branch.pending
        assert pending.risk is SecurityRisk.HIGH
        assert file.read_text() == "mine\n"
        await conversation.confirm()
        await conversation.run()
    changed = tool != "read_file" and arguments.get("command") != "view"
    assert file.read_text().strip() == ("theirs" if changed else "mine"), "a person has allowed it"
    assert (workspace / "notes").is_symlink()


async def test_a_link_that_a_call_of_the_same_batch_makes_leads_nowhere(workspace: Path) -> None:
    (file := workspace.parent / "home/.bashrc").parent.mkdir()
    file.write_text("mine\n")
    (workspace / "make.py").write_text(f"import os\nos.symlink({str(file)!r}, 'notes')\n")
    os.utime(workspace / "make.py", (0, 0))
    turn = calls(
        ("terminal", {"command": "python3 make.py"}), ("write_file", {"file_path": "notes", "content": "theirs"})
    )
    agent = msgspec.structs.replace(LINKED, confirmation=NeverConfirm())
    async with Conversation(agent, workspace, store="memory://", client=ScriptedLLM([turn, say("Done.")])) as talk:
        await talk.send_message("go")
        await talk.run()
        events = [event async for event in talk.events()]
    assert file.read_text() == "mine\n"
    failed = [event.error for event in events if isinstance(event, AgentErrorEvent)]
    failed += [plain(event.content) for event in events if isinstance(event, ObservationEvent) and event.is_error]
    assert f"{workspace / 'notes'} leads to {file}, and was not rated as that" in "".join(failed)


@pytest.mark.parametrize("declared", [False, True])
async def test_a_tool_that_declares_no_effects_reads_its_own_files_through_links(
    workspace: Path, declared: bool
) -> None:
    """It is rated by its arguments, so no place of its files was looked up; one that declares them is held to them."""
    (workspace.parent / "settings").write_text("colour: red")
    (link := workspace / "settings").symlink_to(workspace.parent / "settings")
    kind = ToolType(
        "configured",
        "Reads its settings.",
        Write,
        lambda params: Configured(link),
        effects=(lambda action, workspace: Effects(reads=("other",))) if declared else None,
    )
    client = ScriptedLLM([call("configured", number=1), say("Done.")])
    agent = replace(AGENT, tools=(Tool("configured"),), confirmation=NeverConfirm())
    async with Conversation(
        agent, LocalWorkspace(str(workspace), confine="off"), store="memory://", client=client, tools=[kind]
    ) as talk:
        await talk.send_message("go")
        events = [event async for event in talk.run()]
    told = "".join(plain(event.content) for event in events if isinstance(event, ObservationEvent))
    told += "".join(event.error for event in events if isinstance(event, AgentErrorEvent))
    assert ("colour: red" in told) is not declared
    assert ("was not rated as that" in told) is declared


async def test_a_link_that_leads_elsewhere_once_a_person_has_agreed_is_rated_again(workspace: Path) -> None:
    for name in ("one", "two"):
        (workspace.parent / name).write_text("mine\n")
    (link := workspace / "notes").symlink_to("../one")
    client = ScriptedLLM([call("write_file", file_path="notes", content="theirs"), say("Done.")])
    agent = msgspec.structs.replace(LINKED, confirmation=AlwaysConfirm())
    async with Conversation(
        agent, LocalWorkspace(str(workspace), confine="off"), store="memory://", client=client
    ) as talk:
        await talk.send_message("go")
        await talk.run()
        link.unlink()
        link.symlink_to("../two")
        await talk.confirm()
        await talk.run()
        assert talk.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION, "it is asked about again"
        assert [event async for event in talk.events() if isinstance(event, ActionRevised)]
        await talk.confirm()
        await talk.run()
    assert [(workspace.parent / name).read_text() for name in ("one", "two")] == ["mine\n", "theirs"]


@pytest.mark.parametrize(
    "batch",
    [
        (
            ("file_editor", {"command": "create", "path": "{w}/x.sh", "file_text": BAD}),
            ("terminal", {"command": "bash x.sh"}),
        ),
        (("terminal", {"command": f"printf '{BAD.strip()}' > x.sh"}), ("terminal", {"command": "bash x.sh"})),
        (("terminal", {"command": "cp n.txt x.sh"}), ("terminal", {"command": "sh x.sh"})),
        (("terminal", {"command": "sed -i s/a/b/ ok.sh"}), ("terminal", {"command": "bash ok.sh"})),
        (
            ("file_editor", {"command": "str_replace", "path": "{w}/ok.sh", "old_str": "true", "new_str": BAD}),
            ("terminal", {"command": "bash ok.sh"}),
        ),
        (("terminal", {"command": "cp n.txt r.sh; sh ./r.sh"}),),
        (("terminal", {"command": "cp n.txt r.sh; chmod +x r.sh; ./r.sh"}),),
        (("terminal", {"command": "mkdir -p d && mv n.txt d/ && bash d/n.txt"}),),
    ],
)
async def test_a_batch_that_writes_a_script_and_runs_it_is_asked_about(
    workspace: Path, batch: tuple[tuple[str, dict[str, str]], ...]
) -> None:
    (workspace / "n.txt").write_text(BAD)
    (workspace / "ok.sh").write_text("true\n")
    os.utime(workspace / "n.txt", (0, 0))
    turn = calls(
        *((name, {key: text.replace("{w}", str(workspace)) for key, text in given.items()}) for name, given in batch)
    )
    client = ScriptedLLM([turn, say("Done.")])
    async with Conversation(AGENT, workspace, store=workspace.parent / "s", client=client) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        assert batch[-1][1]["command"] in [
            json.loads(bytes(waiting.action.arguments_json))["command"] for waiting in conversation.pending_confirmation
        ]


def packed(folder: Path, script: str) -> None:
    """An archive with a script: which files it makes is not said."""
    with tarfile.open(folder / "made.tar", "w") as archive:
        entry = tarfile.TarInfo("x.sh")
        entry.size = len(script)
        archive.addfile(entry, io.BytesIO(script.encode()))


@pytest.mark.parametrize("before", ["echo ran first\n", None])
async def test_a_file_that_changed_between_the_rating_and_the_run_has_the_call_rated_again(
    workspace: Path, before: str | None
) -> None:
    """By a call before it, or by anybody while a person thinks."""
    script = workspace / "x.sh"
    if before is not None:
        script.write_text(before)
    packed(workspace, "echo ran second\n")
    turns = [calls(("terminal", {"command": "tar xf made.tar"}), ("terminal", {"command": "bash x.sh"})), say("Done.")]
    async with Conversation(AGENT, workspace, store=workspace.parent / "s", client=ScriptedLLM(turns)) as conversation:
        await conversation.send_message("go")
        events = [event async for event in conversation.run()]
    rated = [event.action_id for event in events if isinstance(event, RiskAssessed)]
    [revised] = [event for event in events if isinstance(event, ActionRevised)]
    assert (len(rated), rated.count(revised.action_id), revised.source) == (3, 2, "environment")
    assert plain([event for event in events if isinstance(event, ObservationEvent)][-1].content).startswith(
        "ran second"
    )


async def test_a_call_that_became_dangerous_while_it_waited_its_turn_is_asked_about(workspace: Path) -> None:
    (workspace / "x.sh").write_text("true\n")
    packed(workspace, BAD)
    turns = [calls(("terminal", {"command": "tar xf made.tar"}), ("terminal", {"command": "bash x.sh"})), say("Done.")]
    async with Conversation(AGENT, workspace, store=workspace.parent / "s", client=ScriptedLLM(turns)) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        [waiting] = conversation.pending_confirmation
        assert waiting.risk is SecurityRisk.HIGH
        assert conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION


async def test_what_a_person_allowed_is_asked_about_again_when_it_has_changed_since(workspace: Path) -> None:
    script = workspace / "x.sh"
    script.write_text("rm -rf ~/one\n")
    turns = [call("terminal", command="bash x.sh"), say("Done.")]
    async with Conversation(AGENT, workspace, store=workspace.parent / "s", client=ScriptedLLM(turns)) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        script.write_text("rm -rf ~/two\n")
        await conversation.confirm()
        await conversation.run()
        [waiting] = conversation.pending_confirmation
        assert waiting.risk is SecurityRisk.HIGH
        assert [e async for e in conversation.events() if isinstance(e, ObservationEvent)] == []


@pytest.mark.parametrize(
    ("edited", "before", "after", "runs"),
    [
        ("Makefile", "all:\n\ttrue\n", f"all:\n\t{BAD}", "make"),
        ("package.json", '{"scripts": {"test": "true"}}', f'{{"scripts": {{"test": "{BAD.strip()}"}}}}', "npm test"),
        ("helper.py", "x = 1\n", "import shutil\nshutil.rmtree('/home/me')\n", "python3 main.py"),
        ("pkg/__init__.py", "x = 1\n", "import shutil\nshutil.rmtree('/home/me')\n", "python3 -c 'import pkg'"),
    ],
)
async def test_what_a_known_program_runs_is_known_too_when_the_same_reply_edits_it(
    workspace: Path, edited: str, before: str, after: str, runs: str
) -> None:
    (workspace / "main.py").write_text("import helper\n")
    path = workspace / edited
    path.parent.mkdir(exist_ok=True)
    path.write_text(before)
    edit = {"command": "str_replace", "path": str(path), "old_str": before, "new_str": after}
    client = ScriptedLLM([calls(("file_editor", edit), ("terminal", {"command": runs})), say("Done.")])
    async with Conversation(AGENT, workspace, store=workspace.parent / "s", client=client) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        [waiting] = conversation.pending_confirmation
        assert json.loads(bytes(waiting.action.arguments_json))["command"] == runs


async def test_what_is_no_text_or_too_long_is_not_read(workspace: Path) -> None:
    (workspace / "program").write_bytes(b"\x7fELF\xff\xfe")
    (workspace / "long.sh").write_text("true\n" * MAX_SCRIPT)
    assert (await rated(workspace, "./program; bash long.sh"))[0] is SecurityRisk.LOW


async def test_a_command_that_expands_without_end_is_asked_about_while_the_server_goes_on(workspace: Path) -> None:
    risk, status = await rated(workspace, GROWING["assignments"])
    assert (risk, status) == (SecurityRisk.UNKNOWN, ExecutionStatus.WAITING_FOR_CONFIRMATION)


async def test_each_call_of_a_reply_is_examined_once_for_all_that_come_after_it(workspace: Path) -> None:
    count = 40
    examined = dict.fromkeys(range(count), 0)

    def effects(call: Write, workspace: WorkspaceSpec) -> Effects:
        examined[call.number] += 1
        return Effects(runs=(f"echo {call.number} > {call.number}.txt",))

    turn = calls(*(("write", {"number": number}) for number in range(count)))
    kind = ToolType("write", "Writes a file.", Write, lambda params: Writer(), effects=effects)
    client = ScriptedLLM([turn, say("Done.")])
    agent = replace(AGENT, tools=(Tool("write"),))
    async with Conversation(
        agent, workspace, store=workspace.parent / "s", client=client, tools=[kind]
    ) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        assert conversation.state.status is ExecutionStatus.FINISHED
    assert max(examined.values()) <= 8


async def test_a_request_that_may_change_this_machine_is_asked_about_unless_the_conversation_listens_there(
    workspace: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        serve = (
            f'python3 -c \'import os, socket; s = socket.create_server(("127.0.0.1", {port}))\n'
            "os.fork() or s.accept()' > answer.txt 2>&1"
        )
        post = "curl -s -m 1 -X POST http://127.0.0.1:{}/x || true"
        assert (await rated(workspace, serve, post.format(port)))[0] is SecurityRisk.LOW
        asked = SecurityRisk.HIGH, ExecutionStatus.WAITING_FOR_CONFIRMATION
        assert await rated(workspace, post.format(foreign.getsockname()[1])) == asked
        assert await rated(workspace, f"printf 'curl -X POST localhost:{port}' > x.sh", "sh x.sh") == asked
