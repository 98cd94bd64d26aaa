"""`agentrt log`, as a person calls it but in this process, on real files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from agentrt import LLM, Agent, Conversation
from agentrt.cli.exports import as_markdown, as_openai
from agentrt.cli.main import commands, main
from agentrt.codec import decode, encode
from agentrt.llm.wire import wire_message
from agentrt.snapshot import snapshot
from agentrt.specs import Tool
from agentrt.state import fold
from agentrt.storage import FileStore, read_conversation
from agentrt.storage.framing import frame
from agentrt.storage.snapshots import read_snapshot, write_snapshot
from agentrt.testing import ScriptedLLM, call, finish, say
from tests import samples

pytestmark = pytest.mark.simulated

AGENT = Agent(llm=LLM(model="scripted"), tools=(Tool("task_tracker"),))
TURNS = [call("task_tracker", "I plan.", command="plan", task_list=[{"title": "Look"}]), finish("Looked.")]


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Call = Callable[..., Ran]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one conversation."""

    async def record() -> None:
        client = ScriptedLLM(TURNS)
        async with Conversation(AGENT, tmp_path, id="c", store=tmp_path / "store", client=client) as conversation:
            await conversation.send_message("Look.")
            await conversation.run()

    anyio.run(record)
    return tmp_path / "store"


@pytest.fixture
def log(store: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls `agentrt log`, as its entry point does."""

    def run(*words: str) -> Ran:
        code = 0
        try:
            main(["log", *words, "--store", str(store)])
        except SystemExit as left:
            code = int(left.code or 0)
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run


def path_of(store: Path, name: str = "c") -> Path:
    return store / "conversations" / name / "events.jsonl"


def rewrite(store: Path, old: str, new: str) -> None:
    """Change the recorded events, with right checksums, as another version of the program would have written them."""
    directory = path_of(store).parent
    lines = [encode(event).replace(old.encode(), new.encode()) for event in read_conversation(directory)]
    assert b"".join(lines) != b"".join(map(encode, read_conversation(directory)))
    path_of(store).write_bytes(b"")
    for line in lines:
        event = decode(line)
        with path_of(store).open("ab") as file:
            file.write(b"".join(frame([event], durable=event.seq - 1)))


def test_verify_says_ok(store: Path, log: Call) -> None:
    size = path_of(store).stat().st_size
    count = len(read_conversation(path_of(store).parent))
    assert log("verify") == Ran(0, f"c  ok: {count} events, {size:,} bytes\n", "")
    assert log("verify", "c").out == log("verify", str(path_of(store).parent)).out == log("verify", "--all").out


def test_verify_and_repair_a_torn_tail(store: Path, log: Call) -> None:
    path, count = path_of(store), len(read_conversation(path_of(store).parent))
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"half")
    ran = log("verify", "c")
    assert ran.code == 1
    assert f"torn: {path}:{count + 1}: 4 bytes from byte {size} on are not a complete batch" in ran.out
    ran = log("repair", "c")
    assert ran == Ran(
        0, f"c  a torn tail was set aside: {count} events remain\nits 4 bytes are kept in {path}.torn-1\n", ""
    )
    assert log("verify").code == 0
    assert log("repair").out == f"c  nothing to repair: {count} events\n"


def test_verify_and_repair_damage(store: Path, log: Call) -> None:
    path = path_of(store)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b'"type"', b'"tyqe"')
    path.write_bytes(b"".join(lines))
    ran = log("verify", "--all")
    assert ran.code == 1
    assert re.match(
        rf"c  corrupt: {path}:5: record 5 is damaged, .*; before it \d events, [\d,]+ bytes in whole", ran.out
    )
    ran = log("repair", "c")
    assert (ran.code, ran.out) == (1, "")
    assert f"{path}:5:" in ran.err
    assert "agentrt log repair --force" in ran.err
    assert path.read_bytes() == b"".join(lines)
    ran = log("repair", "c", "--force")
    assert ran.code == 0
    assert re.match(
        r"c  cut by [\d,]+ bytes: \d events remain\nthe whole file as it was is kept in .*corrupt-1\n", ran.out
    )
    assert Path(f"{path}.corrupt-1").read_bytes() == b"".join(lines)
    assert log("verify").code == 0


@pytest.mark.parametrize("content", [b"garbage\n" * 9, None])
def test_no_repair_is_named_where_nothing_would_remain(store: Path, log: Call, content: bytes | None) -> None:
    """The log is garbage, or its first batch is damaged."""
    path = path_of(store)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[0] = lines[0].replace(b'"type"', b'"tyqe"')
    path.write_bytes(b"".join(lines) if content is None else content)
    for words in (("verify",), ("repair",), ("repair", "--force"), ("replay",)):
        ran = log(*words)
        assert ran.code
        assert "--force" not in ran.out + ran.err, words
        assert "restore it from a copy, or delete the conversation with 'agentrt delete'" in ran.out + ran.err
    assert ("'agentrt show' shows them" in log("verify").out) is (content is None)


def test_verify_all_has_a_line_for_each(store: Path, log: Call) -> None:
    for name in ("torn", "corrupt"):
        path = path_of(store, name)
        path.parent.mkdir()
        path.write_bytes(path_of(store).read_bytes())
    path_of(store, "torn").write_bytes(path_of(store).read_bytes()[:-5])
    path_of(store, "corrupt").write_bytes(path_of(store).read_bytes().replace(b"Look.", b"LOOK."))
    ran = log("verify", "--all")
    assert ran.code == 1
    assert sorted(line.split(":")[0] for line in ran.out.splitlines()) == ["c  ok", "corrupt  corrupt", "torn  torn"]


def test_repair_is_refused_while_someone_writes(store: Path, log: Call) -> None:
    async def hold() -> Ran:
        async with FileStore(store) as held:
            await held.open("c", lambda event: None)
            return await anyio.to_thread.run_sync(log, "repair", "c")

    ran = anyio.run(hold)
    assert ran.code == 2
    assert ran.err.startswith("agentrt: conversation 'c' is open elsewhere")


@pytest.mark.parametrize("words", [("verify", "no"), ("repair", "no"), ("export", "no"), ("replay", "no")])
def test_what_is_not_there_is_a_clear_line(log: Call, words: tuple[str, ...]) -> None:
    ran = log(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "agentrt: no conversation 'no': 'agentrt list' shows those that exist\n"


def test_export_json_is_all_events(store: Path, log: Call, tmp_path: Path) -> None:
    ran = log("export", "--format", "json")
    events = json.loads(ran.out)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["type"] == "ConversationCreated"
    assert "crc" not in events[0]
    output = tmp_path / "c.json"
    assert log("export", "c", "-f", "json", "--output", str(output)) == Ran(0, "", "")
    assert output.read_text() == ran.out


def test_export_openai_is_what_the_model_was_sent(tmp_path: Path) -> None:
    """With the next call: the same as the client gets, then."""
    client = ScriptedLLM([*TURNS[:1], say("Planned."), say("Again.")])

    async def record() -> str:
        async with Conversation(AGENT, tmp_path, id="c", store=tmp_path, client=client) as conversation:
            await conversation.send_message("Look.")
            await conversation.run()
            await conversation.send_message("And now?")
            exported = as_openai([event async for event in conversation.events()])
            await conversation.run()
            return exported

    exported = json.loads(anyio.run(record))
    assert exported == [wire_message(message) for message in client.requests[-1].messages]
    assert [message["role"] for message in exported] == ["system", "user", "assistant", "tool", "assistant", "user"]


def test_export_markdown_is_a_transcript(log: Call) -> None:
    told = log("export").out
    assert "# Conversation c\n" in told
    assert "\n## User\n\nLook.\n\n## Agent\n\nI plan.\n\n### `task_tracker`\n\n```json\n{\n" in told
    assert "\nResult of `task_tracker`:\n\n```\n1. [ ] Look\n```\n" in told


@pytest.mark.pure
def test_markdown_cannot_be_broken_out_of_and_long_arguments_are_readable() -> None:
    code = "one\n```\ntwo\n````\n\x1b[31mred"
    asked = samples.action(id="a1")
    wrote = type(asked.arguments_json)(json.dumps({"command": "create", "text": code}).encode())
    spoken = samples.numbered(
        [
            *samples.beginning(),
            samples.message("go"),
            replace(asked, arguments_json=wrote),
            samples.observation(asked, code),
        ]
    )
    told = as_markdown(spoken)
    fenced = "`````\none\n```\ntwo\n````\n[31mred\n`````"
    assert f'```json\n{{\n  "command": "create"\n}}\n```\n\n`text`:\n\n{fenced}' in told
    assert f"Result of `terminal`:\n\n{fenced}" in told
    every = as_markdown(samples.numbered(samples.every_event()[:-2]))
    for words in ("It looked.\n```", "was rejected:", ": stop*", "![image](<data:", "*timeout: try again*"):
        assert words in every


def test_replay_compares_with_the_snapshot(store: Path, log: Call) -> None:
    directory = path_of(store).parent
    events = read_conversation(directory)
    (directory / "snapshot.json").unlink(missing_ok=True)
    ran = log("replay")
    assert ran == Ran(0, f"c  {len(events)} events, finished; no snapshot to compare with\n", "")
    write_snapshot(directory, snapshot(fold(events)))
    assert log("replay") == Ran(0, f"c  the state after {len(events)} events is that of the snapshot\n", "")
    write_snapshot(directory, snapshot(fold(events[:-3])))
    assert "(3 came later)" in log("replay").out
    stored = read_snapshot(directory)
    assert stored is not None
    write_snapshot(directory, replace(stored, cost=9.0, model_calls=5))
    ran = log("replay")
    assert ran.code == 1
    assert "is not what the events give: model_calls: stored 5, recomputed 2" in ran.out
    assert "and 1 more difference\n" in ran.out


def test_replay_with_the_recorded_words(store: Path, log: Call) -> None:
    count = len(read_conversation(path_of(store).parent))
    ran = log("replay", "--model", "scripted")
    assert ran == Ran(0, f"c  {count} events with 2 model calls came as recorded\n", "")
    rewrite(store, "- Look before you change", "- Think before you change")
    ran = log("replay", "--model", "scripted")
    assert ran == Ran(
        1,
        "c  event 2 differs, SystemPromptEvent.system_prompt\n"
        "  recorded  line 3: - Think before you change something: read the files, reproduce the problem, then edit.\n"
        "  replayed  line 3: - Look before you change something: read the files, reproduce the problem, then edit.\n",
        "",
    )


@pytest.mark.pure
def test_help_says_what_each_does() -> None:
    told = CliRunner().invoke(commands, ["log", "--help"]).output
    for command in ("verify", "repair", "export", "replay"):
        assert re.search(rf"^  {command}\s+\S", told, re.MULTILINE), command
    assert "Usage:" in CliRunner().invoke(commands, ["log", "verify", "c", "--all"]).output


@pytest.mark.real
def test_it_works_as_a_process(store: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "agentrt", "log", "replay", "--model", "scripted", "--store", str(store)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "came as recorded" in ran.stdout
