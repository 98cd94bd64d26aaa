"""What a model sees of a tool's result is bounded, whoever wrote the tool; the whole is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Runtime, Tool, tool
from agentrt.actors.results import MAX_RESULT
from agentrt.context.replies import ModelReply
from agentrt.events import AgentErrorEvent, ObservationEvent
from agentrt.protocols import ModelRequest, ToolContext
from agentrt.specs import BlobReference, TextContent
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, say

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"), tools=())
LONG = 5_000_000


@tool
async def flood(kind: str) -> str:
    """Say much."""
    if kind == "fails":
        raise RuntimeError("y" * LONG)
    return "begins " + "x" * LONG + " ends"


async def test_a_custom_tools_result_is_clipped_and_kept_whole(tmp_path: Path) -> None:
    client = ScriptedLLM([call("flood", kind="says"), call("flood", kind="fails"), say("Well.")])
    async with Runtime(tmp_path / "s", client=client, tools=[flood]) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, tools=[flood], id="c") as conversation:
            await conversation.send_message("go")
            await conversation.run()
            events = [event async for event in conversation.events()]
    (result,) = [event for event in events if isinstance(event, ObservationEvent)]
    shown, kept = result.content
    assert isinstance(shown, TextContent)
    assert isinstance(kept, BlobReference)
    told = plain([kept])
    assert told.startswith(f"[all of it, 5,000,012 bytes in 1 lines, is in {kept.path}: ")
    assert plain(result.content).count(kept.path) == 1, "the whole is named once, in a form that a tool opens"
    assert kept.sha256[:12] not in plain(result.content)
    assert len(shown.text) <= MAX_RESULT
    assert shown.text.startswith("begins x")
    assert shown.text.endswith("x ends")
    assert "characters left out" in shown.text
    whole = next((tmp_path / "s").rglob(f"*{kept.sha256}*")).read_bytes()
    assert whole.decode() == "begins " + "x" * LONG + " ends"
    (failed,) = [event for event in events if isinstance(event, AgentErrorEvent)]
    assert len(failed.error) <= MAX_RESULT
    for request in client.requests:
        assert sum(len(plain(message.content)) for message in request.messages) < 4 * MAX_RESULT


@tool
async def reports() -> str:
    """Say much, a secret among it."""
    return "\n".join([*map(str, range(20_000)), "hunter2-and-more"])


async def test_the_models_own_tools_read_what_it_was_not_shown(tmp_path: Path) -> None:
    """The file that the last result names, which has no secret in it."""
    turns = 0

    def script(request: ModelRequest) -> ModelReply:
        nonlocal turns
        turns += 1
        said = "".join(plain(message.content) for message in request.messages if message.role == "tool")
        path = re.findall(r"is in (/\S+):", said)[-1] if turns > 1 else ""
        return [
            call("reports"),
            call("terminal", command=f"sed -n 9999,10000p {path}; tail -n 1 {path}; echo; seq 50000"),
            call("file_editor", command="view", path=path, view_range=[12345, 12345]),
            say("Well."),
        ][turns - 1]

    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"), Tool("file_editor"), Tool("reports")))
    async with Runtime(tmp_path / "s", client=ScriptedLLM(script), tools=[reports]) as runtime:
        secrets = {"TOKEN": "hunter2-and-more"}
        async with Conversation(agent, tmp_path, runtime=runtime, secrets=secrets, id="c") as conversation:
            await conversation.send_message("go")
            await conversation.run()
            results = [event async for event in conversation.events() if isinstance(event, ObservationEvent)]
    texts = [plain(event.content) for event in results]
    assert texts[1].startswith("9998\n9999\n<secret-hidden>\n1\n2\n")
    assert texts[2] == " 12345\t12342"
    assert not any(Path(path).exists() for path in re.findall(r"is in (/\S+):", "".join(texts)))


@tool
async def stores(context: ToolContext) -> str:
    """Store a file beside the log."""
    await context.keep(b"x", "a file")
    return "stored"


async def test_a_result_is_shown_clipped_if_it_cannot_be_stored_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Something is in the way of the directory of blobs, as a full disk would be."""
    turns = [call("flood", kind="says"), call("terminal", command="seq 50000"), call("stores"), say("Well.")]
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("flood"), Tool("terminal"), Tool("stores")))
    told = list[tuple[str, str]]()
    async with Runtime(tmp_path / "s", client=ScriptedLLM(turns), tools=[flood, stores]) as runtime:
        runtime.hosts.reports.append(lambda name, failure: told.append((name, type(failure).__name__)))
        async with Conversation(agent, tmp_path, runtime=runtime, id="c") as conversation:
            await conversation.send_message("go")
            (tmp_path / "s/conversations/c/blobs").write_text("in the way")
            await conversation.run()
            assert conversation.state.status is ExecutionStatus.FINISHED
            events = [event async for event in conversation.events()]
    long, listed = (plain(event.content) for event in events if isinstance(event, ObservationEvent))
    assert long.startswith("begins x")
    assert "49999\n50000" in listed
    for result in (long, listed):
        assert "could not be stored beside the log" in result
    (failed,) = [event.error for event in events if isinstance(event, AgentErrorEvent)]
    assert "cannot store a file beside the conversation's log: Not a directory; do this again" in failed
    assert not any(str(tmp_path / "s") in text for text in (failed, long.split("[")[-1]))
    assert told == [("c", "LogFailed")] * 3
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert [str(tmp_path / "s/conversations/c/blobs") in error for error in errors] == [True] * 3


@tool
async def binary(fails: bool) -> str:
    """Say a NUL."""
    if fails:
        raise RuntimeError("c\0d")
    return "a\0b"


async def test_a_nul_never_reaches_the_model(tmp_path: Path) -> None:
    client = ScriptedLLM([call("binary", fails=False), call("binary", fails=True), say("Well.")])
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client, tools=[binary]) as conversation:
        await conversation.send_message("go")
        await conversation.run()
    said = [plain(message.content) for message in client.requests[-1].messages]
    assert said[-3] == "a␀b"
    assert "c␀d" in said[-1]
    assert not any("\0" in text for text in said)
