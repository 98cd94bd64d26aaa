"""Model calls are recorded, and replayed to whoever asks the same."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import anyio
import msgspec
import pytest
from msgspec.structs import replace

from agentrt import Agent, Conversation, ExecutionStatus
from agentrt.context.messages import Message, ToolCall
from agentrt.context.replies import ModelReply
from agentrt.errors import (
    BudgetExceeded,
    ConfigurationError,
    ModelError,
    ModelUnavailable,
    NothingRecorded,
    RateLimited,
    RecordingFailed,
)
from agentrt.llm.recording import RecordingClient, ReplayingClient
from agentrt.protocols import ModelClient, ModelRequest, Watch
from agentrt.specs import LLM, Capabilities, Thinking, ToolDefinition
from agentrt.specs.content import text
from agentrt.state import State
from agentrt.testing import ScriptedLLM, call, finish, say
from agentrt.testing.scripted import Turn
from agentrt.usage import Usage

pytestmark = pytest.mark.simulated

TOOL = ToolDefinition(name="look", description="Look around.", parameters=msgspec.Raw(b'{"type":"object"}'))
MODEL = LLM(model="openai/gpt", api_key_env="MINE")
KEYS = {"MINE": "key-of-my-own", "GROQ_API_KEY": "gsk-0123456789"}


def request(*said: str, llm: LLM = MODEL, conversation: str = "c") -> ModelRequest:
    return ModelRequest(llm, [Message("user", text(one)) for one in said], (TOOL,), conversation)


async def record(path: Path, turns: Sequence[Turn], requests: Sequence[ModelRequest]) -> None:
    client = RecordingClient(ScriptedLLM(turns), path, ["hunter2"], environment=KEYS)
    for one in requests:
        try:
            await client.complete(one, Watch())
        except ModelError:
            continue


def replaying(path: Path) -> ReplayingClient:
    return ReplayingClient(path, ["hunter2"], environment=KEYS)


class Notes(Watch):
    """What was shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, str]] = []
        self.begun = 0

    def show(self, channel: Literal["text", "reasoning"], piece: str) -> None:
        self.shown.append((channel, piece))

    async def begin(self, request: ModelRequest, known: Capabilities) -> int | None:
        self.begun += 1
        return None


async def test_a_reply_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "new" / "calls.jsonl"
    blocks = msgspec.Raw(b'[{"type":"thinking","signature":"abc"}]')
    reply = ModelReply(
        text="I look.",
        tool_calls=(ToolCall("call_1", "look", '{"at": 1}'),),
        reasoning="Where?",
        thinking=Thinking("openai/gpt", blocks),
        usage=Usage(10, 5, 3),
        cost=0.25,
        model="openai/gpt",
        usage_id="default",
        finish_reason="tool_calls",
    )
    await record(path, [reply], [request("Go.")])
    notes, client = Notes(), replaying(path)
    await client.prepare(MODEL)
    asked = request("Go.", conversation="another", llm=replace(MODEL, usage_id="other"))
    again = await client.complete(asked, notes)
    assert msgspec.json.encode(again) == msgspec.json.encode(replace(reply, usage_id="other"))
    assert notes.shown == [("reasoning", "Where?"), ("text", "I look.")]
    assert notes.begun == 1


async def test_the_recorded_client_shows_prepares_and_knows_as_it_is(tmp_path: Path) -> None:
    notes, client = Notes(), RecordingClient(ScriptedLLM([say("Two words.")]), tmp_path / "calls", environment={})
    await client.prepare(MODEL)
    assert client.known(replace(MODEL, max_input_tokens=7)).max_input_tokens == 7
    await client.complete(request("Go."), notes)
    assert [piece for _, piece in notes.shown] == ["Two ", "words. "]
    assert replaying(tmp_path).known(replace(MODEL, vision=False)).vision is False


async def test_equal_requests_get_their_answers_in_order_and_each_once(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    await record(path, [say("one"), say("other"), say("two")], [request("a"), request("b"), request("a")])
    client = replaying(path)
    assert [(await client.complete(request(said), Watch())).text for said in "aab"] == ["one", "two", "other"]
    with pytest.raises(NothingRecorded, match="each recorded call is given once, and all that are equal to it were"):
        await client.complete(request("a"), Watch())
    with pytest.raises(NothingRecorded, match="all recorded calls were given already"):
        await client.complete(request("c"), Watch())


async def test_errors_come_back_as_what_they_were(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"

    class Unheard(ModelError):
        code = "unheard"

    failures = [RateLimited("slow down", retry_after=2.5), ModelUnavailable("gone"), Unheard("never")]
    await record(path, failures, [request("a")] * 3)
    path.write_text(path.read_text().replace('"unheard"', '"unheard_of"'))
    client = replaying(path)
    with pytest.raises(RateLimited, match="slow down") as limited:
        await client.complete(request("a"), Watch())
    assert limited.value.retry_after == 2.5
    with pytest.raises(ModelUnavailable, match="gone"):
        await client.complete(request("a"), Watch())
    with pytest.raises(ModelError, match="never") as unknown:
        await client.complete(request("a"), Watch())
    assert (type(unknown.value), unknown.value.code) == (ModelError, "unheard_of")


async def test_the_file_is_for_its_owner_and_has_no_secret_in_it(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    llm = replace(MODEL, extra_headers={"X-Api-Key": "in the header"})
    asked = replace(
        request("It is hunter2.", "And key-of-my-own.", llm=llm),
        tools=(replace(TOOL, parameters=msgspec.Raw(b'{"default":"gsk-0123456789"}')),),
    )
    turns: list[Turn] = [call("look", "key-of-my-own", at="hunter2"), ModelUnavailable("refused key-of-my-own")]
    await record(path, turns, [asked, asked])
    written = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for secret in ("hunter2", "in the header", *KEYS.values()):
        assert secret not in written
    assert written.count("<secret-hidden>") == 2 * 4 + 3
    assert [set(json.loads(line)) for line in written.splitlines()] == [{"request", "reply"}, {"request", "error"}]


async def test_secrets_may_have_changed_since(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    await record(path, [say("Yes.")], [request("With hunter2?")])
    client = ReplayingClient(path, ["correct horse"], environment={})
    assert (await client.complete(request("With correct horse?"), Watch())).text == "Yes."


async def test_what_was_never_sent_or_was_cancelled_is_not_recorded(tmp_path: Path) -> None:
    class Costly(Watch):
        async def begin(self, request: ModelRequest, known: Capabilities) -> int | None:
            raise BudgetExceeded("max_cost", "no money left")

    path = tmp_path / "calls.jsonl"
    client = RecordingClient(ScriptedLLM([say("a"), say("b")], delay=60), path, environment={})
    with pytest.raises(BudgetExceeded):
        await client.complete(request("a"), Costly())
    with anyio.CancelScope() as scope:
        scope.cancel()
        await client.complete(request("a"), Watch())
    assert not path.exists()


async def test_calls_at_the_same_time_are_a_line_each(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    model = ScriptedLLM(lambda request: say(request.messages[0].content[0].text * 20_000))  # type: ignore[union-attr]
    clients = [RecordingClient(model, path, environment={}) for _ in range(2)]
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(clients[number % 2].complete, request(f"call {number}"), Watch())
    client = replaying(path)
    for number in range(20):
        assert (await client.complete(request(f"call {number}"), Watch())).text == f"call {number}" * 20_000


async def test_what_a_crash_left_of_a_line_is_taken_off(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    await record(path, [say("one"), say("two")], [request("a"), request("b")])
    whole = path.read_bytes()
    for cut in (1, 5, 100):
        path.write_bytes(whole[:-cut])
        assert (await replaying(path).complete(request("a"), Watch())).text == "one"
        await record(path, [say("three")], [request("c")])
        client = replaying(path)
        assert [(await client.complete(request(said), Watch())).text for said in "ac"] == ["one", "three"]


async def test_another_kind_of_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    client = RecordingClient(ScriptedLLM([say("a")]), path, environment={})
    with pytest.raises(RecordingFailed, match=r"cannot record to .*notes.txt: it does not end in a recorded call"):
        await client.complete(request("a"), Watch())
    assert path.read_text() == "my notes"


async def test_where_nothing_can_be_written_the_call_fails(tmp_path: Path) -> None:
    client = RecordingClient(ScriptedLLM([say("a")]), tmp_path, environment={})
    with pytest.raises(RecordingFailed, match="Is a directory; fix that, or do without a recording") as failed:
        await client.complete(request("a"), Watch())
    assert not failed.value.retryable


async def test_a_file_that_is_no_recording_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with pytest.raises(ConfigurationError, match=r"cannot read the recording .*: No such file .*RecordingClient makes"):
        await replaying(path).prepare(MODEL)
    await record(path, [say("one")], [request("a")])
    path.write_text(path.read_text() + '{"request": 5}\n')
    with pytest.raises(ConfigurationError, match=r"calls.jsonl:2: not a recorded call \(Expected `object`, got `int`"):
        await replaying(path).prepare(MODEL)


async def test_the_nearest_request_is_named_with_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    asked = [request("Go."), request("Go.", "Left."), request("Go.", "Left.", "Left again.")]
    await record(path, [say("1"), say("2"), say("3")], asked)
    client = replaying(path)
    await client.complete(asked[0], Watch())
    with pytest.raises(NothingRecorded) as nothing:
        await client.complete(request("Go.", "Left.", "Right."), Watch())
    assert str(nothing.value) == (
        f"no recorded answer to this request in {path}: compared with line 3, the nearest that is left,\n"
        "message 3 (user) differs:\n--- recorded\n+++ now\n-Left again.\n+Right.\n"
        "If that is meant, record it again."
    )
    assert (nothing.value.code, nothing.value.retryable) == ("nothing_recorded", False)


async def test_among_equally_near_ones_the_one_with_the_same_settings_is_named(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    await record(path, [say("1"), say("2")], [request("a", llm=replace(MODEL, seed=1)), request("a", "b")])
    with pytest.raises(NothingRecorded, match="compared with line 2"):
        await replaying(path).complete(request("a", "c"), Watch())


@pytest.mark.real
async def test_a_conversation_runs_again_from_its_recording(tmp_path: Path) -> None:
    """Its ids are new, and its results must be the same: it is told where they are not."""
    path, place = tmp_path / "calls.jsonl", tmp_path / "place"
    place.mkdir()

    async def run(client: ModelClient) -> State:
        agent = Agent(llm=LLM(model="openai/gpt"))
        async with Conversation(agent, place, store=tmp_path / "store", client=client) as conversation:
            await conversation.send_message("What is there?")
            return await conversation.run()

    turns = [call("terminal", "I look.", command="ls"), call("terminal", command="ls"), finish("Nothing.")]
    await run(RecordingClient(ScriptedLLM(turns), path))
    assert (await run(ReplayingClient(path))).status is ExecutionStatus.FINISHED
    (place / "file").touch()
    state = await run(ReplayingClient(path))
    assert state.status is ExecutionStatus.ERROR
    assert state.error is not None
    assert state.error.code == "nothing_recorded"
    assert "compared with line 2, the nearest that is left,\nmessage 4 (tool) differs:" in state.error.detail
    assert "\n+file" in state.error.detail
