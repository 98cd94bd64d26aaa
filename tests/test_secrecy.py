"""Secrets in real conversations: who gets them, and that nobody else sees them."""

from __future__ import annotations

import base64
import dataclasses
import json
import logging
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import anyio.to_thread
import msgspec
import pytest

from agentrt import LLM, Agent, Conversation, Delta, Event, ExecutionStatus, Observation, Runtime, ToolContext
from agentrt.codec import encode
from agentrt.context.replies import ModelReply
from agentrt.errors import ConfigurationError
from agentrt.events import AgentErrorEvent, MessageEvent, ObservationEvent, SecretsChanged
from agentrt.protocols import ModelRequest, Watch
from agentrt.secrets import HIDDEN, AnySecret, Cipher, EnvironmentSecret
from agentrt.specs import BlobReference, Tool
from agentrt.specs.content import plain, text
from agentrt.testing import ScriptedLLM, ScriptedProvider, call, say
from agentrt.tools import ToolType
from tests import canary, programs

from .secrets.lookups import LookupServer
from .steering import HeldModel, running

pytestmark = pytest.mark.real

VALUE = "ghp_0123456789abcdef"
OTHER = "rotated-9876543210"
AGENT = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))
SPEAKER = Agent(llm=LLM(model="scripted"), tools=())
KEY = Cipher.new_key()


class Words(msgspec.Struct, frozen=True):
    """What to say."""

    words: str = ""


class Speaker:
    """A tool that says what it was made to say: as output, in pieces of one character, and as its result."""

    def __init__(self, says: str | Exception, *, last: str = "") -> None:
        self.says, self.last = says, last
        self.said, self.go_on = anyio.Event(), anyio.Event()
        self.go_on.set()

    async def __call__(self, action: Words, context: ToolContext) -> Observation:
        if isinstance(self.says, Exception):
            raise self.says
        for character in self.says:
            context.output(character)
        self.said.set()
        await self.go_on.wait()
        context.output(self.last)
        return Observation(content=text(self.says + self.last))

    async def aclose(self) -> None:
        return None

    def tool(self) -> ToolType:
        return ToolType(name="speak", description="Speak.", action=Words, executor=lambda params: self)


async def everything(conversation: Conversation) -> list[Event]:
    return [event async for event in conversation.events()]


async def run(conversation: Conversation, words: str = "go") -> list[Event]:
    await conversation.send_message(words)
    return [event async for event in conversation.run()]


def result(request: ModelRequest) -> str:
    return plain(request.messages[-1].content)


def shown(folder: Path) -> bytes:
    """All that stands in the files of a folder."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


async def test_a_command_has_the_secrets_that_it_names_and_the_next_one_has_not(tmp_path: Path) -> None:
    turns = [
        call("terminal", command='test "$TOKEN" = ghp_012""3456789""abcdef && echo "it is $TOKEN"'),
        call("terminal", command="env | grep -c ghp_012; set | grep -c 9abcdef; true"),
        say("Done."),
    ]
    client = ScriptedLLM(turns)
    secrets = {"TOKEN": VALUE, "UNUSED": OTHER}
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client, secrets=secrets) as conversation:
        await run(conversation)
    assert result(client.requests[1]).startswith(f"it is {HIDDEN}")
    assert result(client.requests[2]).startswith("0\n0")
    told = plain(client.requests[0].messages[1].content)
    assert "TOKEN" in told
    assert VALUE.encode() not in shown(tmp_path / "s")


async def test_what_streams_out_in_pieces_is_masked(tmp_path: Path) -> None:
    speaker = Speaker(f"before {VALUE} {base64.b64encode(VALUE.encode()).decode()} after")
    client = ScriptedLLM([call("speak"), say("Done.")])
    secrets = {"TOKEN": VALUE}
    async with Conversation(
        SPEAKER, tmp_path, store=tmp_path / "s", client=client, secrets=secrets, tools=[speaker.tool()]
    ) as conversation:
        await conversation.send_message("go")
        grown = ""
        speaker.go_on = anyio.Event()
        async for item in conversation.run().stream():
            if isinstance(item, Delta) and item.channel == "output":
                grown += item.text
                if grown.endswith("after"):
                    speaker.go_on.set()
    assert grown == f"before {HIDDEN} {HIDDEN} after"
    assert result(client.requests[1]) == grown


async def test_what_may_be_the_beginning_of_a_secret_is_shown_with_what_follows(tmp_path: Path) -> None:
    speaker = Speaker("key: ghp_012", last=" no key")
    client = ScriptedLLM([call("speak"), say("Done.")])
    async with Conversation(
        SPEAKER, tmp_path, store=tmp_path / "s", client=client, secrets={"TOKEN": VALUE}, tools=[speaker.tool()]
    ) as conversation:
        await conversation.send_message("go")
        speaker.go_on = anyio.Event()
        async for item in conversation.run().stream():
            if isinstance(item, Delta):
                assert item.text == "key: "
                speaker.go_on.set()
                break
        await conversation.run()
        assert result(client.requests[1]) == "key: ghp_012 no key"


async def test_half_a_secret_is_not_left_where_a_tool_is_cut(tmp_path: Path) -> None:
    speaker = Speaker(f"{'x' * 500}{VALUE}\n" * 8 + VALUE[:-1])
    speaker.go_on = anyio.Event()
    client = ScriptedLLM([call("speak")])
    async with Conversation(
        SPEAKER, tmp_path, store=tmp_path / "s", client=client, secrets={"TOKEN": VALUE}, tools=[speaker.tool()]
    ) as conversation:
        await conversation.send_message("go")
        async with running(conversation):
            await speaker.said.wait()
            await conversation.interrupt()
        (cut,) = [event for event in await everything(conversation) if isinstance(event, AgentErrorEvent)]
    assert "Its last output was:" in cut.error
    for place in range(len(VALUE) - 7):
        assert VALUE[place : place + 8] not in cut.error


@pytest.mark.simulated
async def test_half_a_secret_is_not_left_where_a_model_is_cut(tmp_path: Path) -> None:
    class Echo(HeldModel):
        async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
            watch.show("text", f"It is {VALUE} or {VALUE[:12]}")
            return await super().complete(request, Watch())

    client = Echo([say("Done.")])
    async with Conversation(
        SPEAKER, tmp_path, store=tmp_path / "s", client=client, secrets={"TOKEN": VALUE}
    ) as conversation:
        await conversation.send_message("go")
        async with running(conversation):
            await client.calling()
            await conversation.interrupt()
        (cut,) = [e for e in await everything(conversation) if isinstance(e, MessageEvent) and e.partial]
    assert plain(cut.content) == f"It is {HIDDEN} or "


async def test_a_large_blob_is_masked(tmp_path: Path) -> None:
    class Dump(Speaker):
        async def __call__(self, action: Words, context: ToolContext) -> Observation:
            kept = await context.keep(f"{'x' * 3_000_000}{VALUE}{'y' * 3_000_000}".encode(), "dump")
            return Observation(content=(kept,))

    client = ScriptedLLM([call("speak"), say("Done.")])
    async with Conversation(
        SPEAKER, tmp_path, store=tmp_path / "s", client=client, secrets={"TOKEN": VALUE}, tools=[Dump("").tool()]
    ) as conversation:
        events = await run(conversation)
    (blob,) = [block for e in events if isinstance(e, ObservationEvent) for block in e.content]
    assert isinstance(blob, BlobReference)
    assert blob.size == 6_000_000 + len(HIDDEN)
    assert VALUE.encode() not in shown(tmp_path / "s")


async def test_errors_are_masked(tmp_path: Path) -> None:
    client = ScriptedLLM([call("speak"), say("Done.")])
    tools = [Speaker(ValueError(f"cannot log in with {VALUE}")).tool()]
    async with Conversation(
        SPEAKER, tmp_path, store=tmp_path / "s", client=client, secrets={"TOKEN": VALUE}, tools=tools
    ) as conversation:
        await run(conversation)
    assert result(client.requests[1]) == f"Error: speak failed: ValueError: cannot log in with {HIDDEN}"


@pytest.mark.simulated
async def test_log_records_are_masked_while_the_runtime_lives(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Runtime(tmp_path / "s", client=ScriptedLLM([])) as runtime:
        async with Conversation(SPEAKER, tmp_path, runtime=runtime, secrets={"TOKEN": VALUE}):
            logging.getLogger("agentrt.host").warning("first %s", VALUE)
            logging.getLogger("of.a.tool").warning("second %s", VALUE)
    logging.getLogger("agentrt.host").warning("third")
    assert [record.getMessage() for record in caplog.records] == [f"first {HIDDEN}", f"second {HIDDEN}", "third"]
    assert logging.getLogger("agentrt").filters == []


async def test_a_secret_is_rotated_while_a_tool_runs(tmp_path: Path) -> None:
    """What it was stays hidden, what it is now is hidden from the same moment on."""
    speaker = Speaker(f"old {VALUE}\n", last=f"new {OTHER} old {VALUE}")
    speaker.go_on = anyio.Event()
    turns = [call("speak"), call("terminal", command='test "$TOKEN" = rotated""-987654""3210; echo $?'), say("Done.")]
    client = ScriptedLLM(turns)
    async with Conversation(
        AGENT, tmp_path, store=tmp_path / "s", client=client, secrets={"TOKEN": VALUE}, tools=[speaker.tool()]
    ) as conversation:
        await conversation.send_message("go")
        async with running(conversation):
            await speaker.said.wait()
            await conversation.update_secrets({"TOKEN": OTHER})
            speaker.go_on.set()
    results = [plain(m.content) for m in client.requests[2].messages if m.role == "tool"]
    assert results[0] == f"old {HIDDEN}\nnew {HIDDEN} old {HIDDEN}"
    assert results[1].startswith("0\n")


@pytest.mark.simulated
async def test_what_becomes_a_secret_after_it_was_said_is_sent_no_more(tmp_path: Path) -> None:
    client = ScriptedLLM([say(f"You said {VALUE}."), say("Fine."), say("Aside.")])
    async with Conversation(SPEAKER, tmp_path, store=tmp_path / "s", client=client) as conversation:
        await run(conversation, f"My key is {VALUE}.")
        await conversation.update_secrets({"TOKEN": VALUE})
        await run(conversation, "Go on.")
        await conversation.ask_agent("What is my key?")
    for request in client.requests[1:]:
        assert VALUE not in "".join(plain(message.content) for message in request.messages)
        assert f"My key is {HIDDEN}." in plain(request.messages[1].content)


TURN = call("terminal", command='test "$TOKEN" = ghp_012""3456789""abcdef; echo "$?"')


async def test_what_becomes_a_secret_after_a_tool_was_offered_is_offered_no_more(tmp_path: Path) -> None:
    tool = dataclasses.replace(Speaker("x").tool(), description=f"Speaks to {VALUE}.")
    client = ScriptedLLM([say("Fine."), say("Fine."), say("Aside.")])
    async with Conversation(SPEAKER, tmp_path, store=tmp_path / "s", client=client, tools=[tool]) as conversation:
        await run(conversation)
        await conversation.update_secrets({"TOKEN": VALUE})
        await run(conversation)
    offered = [next(one.description for one in asked.tools if one.name == "speak") for asked in client.requests]
    assert offered == [f"Speaks to {VALUE}.", f"Speaks to {HIDDEN}."]


async def test_an_encrypted_secret_comes_back(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "s", client=ScriptedLLM([]), cipher=Cipher(KEY)) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, secrets={"TOKEN": VALUE}, id="c"):
            pass
    client = ScriptedLLM([TURN, say("Done.")])
    async with Runtime(tmp_path / "s", client=client, cipher=Cipher(KEY)) as runtime:
        async with Conversation(id="c", runtime=runtime) as conversation:
            assert conversation.missing_secrets == ()
            await run(conversation, f"the cipher's key is {KEY}")
    assert result(client.requests[1]).startswith("0\n")
    for hidden in (VALUE, KEY):
        assert hidden.encode() not in shown(tmp_path / "s")
    async with Runtime(tmp_path / "s", client=client, cipher=Cipher(Cipher.new_key())) as runtime:
        with pytest.raises(
            ConfigurationError, match="cannot decrypt secret 'TOKEN': it was encrypted with another key"
        ):
            async with Conversation(id="c", runtime=runtime):
                pass


async def test_a_secret_that_was_not_kept_is_asked_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    secrets: dict[str, AnySecret] = {"TOKEN": VALUE, "DB": EnvironmentSecret("PATH")}
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=ScriptedLLM([]), secrets=secrets, id="c"):
        pass
    client = ScriptedLLM([TURN, TURN, say("Done.")])
    async with Conversation(id="c", store=tmp_path / "s", client=client) as conversation:
        assert conversation.missing_secrets == ("TOKEN",)
        assert "were not kept when it was closed: TOKEN; give them again with update_secrets" in caplog.text
        await conversation.send_message("go")
        async for event in conversation.run():
            if isinstance(event, ObservationEvent) and event.is_error:
                assert "secret 'TOKEN' was not kept over a restart" in plain(event.content)
                await conversation.update_secrets({"TOKEN": VALUE})
                assert not conversation.missing_secrets
        assert conversation.state.status is ExecutionStatus.FINISHED
    assert any(plain(m.content).startswith("0\n") for m in client.requests[-1].messages if m.role == "tool")
    caplog.clear()
    async with Conversation(id="c", store=tmp_path / "s", client=client, secrets={"TOKEN": OTHER}):
        assert caplog.text == ""


async def test_what_the_log_does_not_hold_outlives_a_sleep(tmp_path: Path) -> None:
    client = ScriptedLLM([say("Hello."), TURN, call("speak"), say("Done.")])
    tools = [Speaker(f"it was {OTHER}").tool()]
    async with Conversation(
        AGENT, tmp_path, store=tmp_path / "s", client=client, secrets={"TOKEN": OTHER}, tools=tools
    ) as conversation:
        await run(conversation)
        await conversation.update_secrets({"TOKEN": lambda: VALUE})
        assert await conversation.rest()
        await run(conversation)
    assert any(plain(m.content).startswith("0\n") for m in client.requests[-1].messages if m.role == "tool")
    assert result(client.requests[-1]) == f"it was {HIDDEN}", "what it was before is still hidden"


async def test_what_was_a_secret_stays_hidden_over_a_sleep_and_with_a_key_over_a_restart(tmp_path: Path) -> None:
    agent, tools = Agent(llm=LLM(model="scripted"), tools=(Tool("speak"),)), [Speaker(f"it was {VALUE}").tool()]
    client = ScriptedLLM([call("speak"), say("Done."), call("speak"), say("Done.")])
    async with Runtime(tmp_path / "s", client=client, cipher=Cipher(KEY), tools=tools) as runtime:
        async with Conversation(agent, tmp_path, runtime=runtime, secrets={"TOKEN": VALUE}, id="c") as conversation:
            await conversation.update_secrets({"TOKEN": None})
            assert await conversation.rest()
            await run(conversation)
        assert result(client.requests[-1]) == f"it was {HIDDEN}"
    async with Runtime(tmp_path / "s", client=client, cipher=Cipher(KEY), tools=tools) as runtime:
        async with Conversation(id="c", runtime=runtime) as conversation:
            await run(conversation)
        assert result(client.requests[-1]) == f"it was {HIDDEN}"
    assert VALUE.encode() not in shown(tmp_path / "s")


@pytest.mark.simulated
async def test_the_key_of_any_model_that_is_named_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"switched": "key-of-the-switched", "judge": "key-of-the-judge", "aside": "key-of-the-aside"}
    for name, key in asked.items():
        monkeypatch.setenv(f"{name.upper()}_ACCESS", key)
    models = {name: LLM(model="scripted", api_key_env=f"{name.upper()}_ACCESS") for name in asked}
    client = ScriptedLLM([say("Aside."), say(" ".join(asked.values()))])
    async with Conversation(SPEAKER, tmp_path, store=tmp_path / "s", client=client) as conversation:
        await conversation.ask_agent("What?", llm=models["aside"])
        await conversation.set_goal("all is well", judge=models["judge"])
        await conversation.set_goal("")
        await conversation.configure(llm=models["switched"])
        await run(conversation)
    assert not any(key.encode() in shown(tmp_path / "s") for key in asked.values())


@pytest.mark.parametrize("encrypted", [True, False])
async def test_a_fork_has_the_same_secrets(tmp_path: Path, encrypted: bool) -> None:
    client = ScriptedLLM([say("Hello."), TURN, say("Done."), TURN, say("Done.")])
    cipher = Cipher(KEY) if encrypted else None
    async with Runtime(tmp_path / "s", client=client, cipher=cipher) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, secrets={"TOKEN": VALUE}, id="trunk") as trunk:
            await run(trunk)
            async with await trunk.fork(id="twig") as twig:
                await twig.update_secrets({"OTHER": OTHER})
                await run(twig)
                assert result(client.requests[2]).startswith("0\n")
            await run(trunk)
            assert list(trunk.state.ledger.secrets) == ["TOKEN"], "what one is given the other has not"
    async with Runtime(tmp_path / "s", client=ScriptedLLM([TURN, say("Done.")]), cipher=cipher) as runtime:
        async with Conversation(id="twig", runtime=runtime) as twig:
            assert twig.missing_secrets == (() if encrypted else ("TOKEN", "OTHER"))
    assert VALUE.encode() not in shown(tmp_path / "s")


async def test_a_fork_of_a_log_can_decrypt_what_was_encrypted_for_its_parent(tmp_path: Path) -> None:
    client = ScriptedLLM([say("Hello."), TURN, say("Done.")])
    async with Runtime(tmp_path / "s", client=client, cipher=Cipher(KEY)) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, secrets={"TOKEN": VALUE}, id="trunk") as trunk:
            await run(trunk)
            seq = trunk.state.seq
        await runtime.fork("trunk", seq, "twig")
        await runtime.fork("twig", seq, "leaf")
        async with Conversation(id="leaf", runtime=runtime) as leaf:
            await run(leaf)
    assert result(client.requests[2]).startswith("0\n")


@pytest.mark.parametrize("word", ["text", "user", "HIGH", "static", "agent", "message", "content", "AlwaysConfirm"])
async def test_a_secret_that_is_a_word_of_the_format_leaves_the_format_whole(tmp_path: Path, word: str) -> None:
    client = ScriptedLLM([call("speak", words=word), say(f"It is {word}.")])
    tools = [Speaker(f"{word}!").tool()]
    spec = Agent(llm=LLM(model="scripted"), tools=())
    async with Conversation(
        spec, tmp_path, store=tmp_path / "s", client=client, secrets={"TOKEN": word}, tools=tools, id="c"
    ) as conversation:
        await run(conversation, f"It is {word}.")
        assert conversation.state.status is ExecutionStatus.FINISHED
        assert "name the secret in a command" in result(client.requests[1]), "it is not called with the mark"
        said = [e for e in await everything(conversation) if isinstance(e, MessageEvent)]
    assert {plain(event.content) for event in said} == {f"It is {HIDDEN}."}
    async with Conversation(id="c", store=tmp_path / "s", client=client, tools=tools) as conversation:
        assert conversation.state.status is ExecutionStatus.FINISHED


@pytest.mark.simulated
async def test_a_secret_that_is_a_part_of_the_workspaces_path_is_refused(tmp_path: Path) -> None:
    (place := tmp_path / "staging").mkdir()
    with pytest.raises(ConfigurationError, match="the workspace's path contains a secret"):
        async with Conversation(AGENT, place, store=tmp_path / "s", client=ScriptedLLM([]), secrets={"T": "staging"}):
            raise AssertionError


async def test_what_the_environment_replaced_stays_hidden_over_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has it before a command is given the next value, and the model is told nothing of that."""
    monkeypatch.setenv("SOME_ACCESS", VALUE)
    speaker = [Speaker(f"it was {VALUE}").tool()]
    client = ScriptedLLM([call("terminal", command="true $T"), say("."), call("terminal", command="true $T"), say(".")])
    async with Runtime(tmp_path / "s", client=client, cipher=Cipher(KEY), tools=speaker) as runtime:
        secrets = {"T": EnvironmentSecret("SOME_ACCESS")}
        agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"), Tool("speak")))
        async with Conversation(agent, tmp_path, runtime=runtime, secrets=secrets, id="c") as conversation:
            await run(conversation)
            monkeypatch.setenv("SOME_ACCESS", OTHER)
            await run(conversation)
            changes = [event for event in await everything(conversation) if isinstance(event, SecretsChanged)]
            assert [len(change.past) for change in changes] == [0, 1]
            view = [seen.type for seen in conversation.state.branch.view]
            assert view.count("SecretsChanged") == 1, "the model is told of the first only"
    client = ScriptedLLM([call("speak"), say("Done.")])
    async with Runtime(tmp_path / "s", client=client, cipher=Cipher(KEY), tools=speaker) as runtime:
        async with Conversation(id="c", runtime=runtime) as conversation:
            await run(conversation)
    assert result(client.requests[-1]) == f"it was {HIDDEN}"


async def test_a_word_is_spared_only_where_the_format_needs_it(tmp_path: Path) -> None:
    class Free(Speaker):
        def tool(self) -> ToolType:
            class Any(msgspec.Struct, frozen=True):
                """Anything."""

                status: str = ""

            return ToolType(name="speak", description="Speak.", action=Any, executor=lambda params: self)

    client = ScriptedLLM([call("speak", status="correcthorse"), say("Done.")])
    async with Conversation(
        SPEAKER,
        tmp_path,
        store=tmp_path / "s",
        client=client,
        secrets={"TOKEN": "correcthorse"},
        tools=[Free("yes").tool()],
    ) as conversation:
        events = await run(conversation)
    assert b"correcthorse" not in b"".join(encode(event) for event in events)


def forms(value: str) -> Iterator[bytes]:
    """How a value may be written; of base64 what does not depend on what stands before and behind it."""
    yield from (value.encode(), json.dumps(value)[1:-1].encode(), escape(value).encode(), repr(value)[1:-1].encode())
    yield quote(value, safe="").encode()
    yield from (value.encode().hex().encode(), value.encode().hex().upper().encode())
    for before in range(3):
        for encoder in (base64.b64encode, base64.urlsafe_b64encode):
            yield encoder(b"x" * before + value.encode())[4:-4]


def found_in(data: bytes, values: Sequence[str]) -> list[bytes]:
    """The forms of values that stand in some data, also where it is broken over lines."""
    joined = data.replace(b"\n", b"").replace(b"\\n", b"").replace(b"\r", b"")
    return sorted({form for value in values for form in forms(value) if form in data or form in joined})


def start(folder: Path, canaries: canary.Canaries) -> Callable[[], subprocess.CompletedProcess[str]]:
    """A life of the program; for a thread."""
    words = ("-m", "tests.canary", str(folder / "s"), str(folder / "work"), str(folder / "out/key"))
    environment = os.environ | {
        "DB_ADDRESS": canaries.db,
        "MODEL_ACCESS": canaries.model_key,
        "TMPDIR": str(folder / "scratch"),
        "HOME": str(folder / "home"),
        "AGENTRT_HOME": str(folder / "home"),
    }
    given = msgspec.json.encode(canaries).decode()
    return lambda: programs.run(*words, directory=Path(__file__).parents[1], environment=environment, input=given)


def noise(length: int) -> str:
    return base64.b32encode(os.urandom(length)).decode().rstrip("=").lower()


async def test_no_canary_is_seen_anywhere_in_a_whole_run(tmp_path: Path) -> None:
    for name in ("work", "scratch", "home", "out"):
        (tmp_path / name).mkdir()
    canaries = canary.Canaries(
        token=f"tok_{noise(12)}+/=&<{noise(4)}>'\"\\$",
        db=f"postgres://me:{noise(10)}@db/x?y=%20",
        vault=f"väult-{noise(14)}",
        header=f"hdr.{noise(15)}",
        made=f"made_{noise(11)}",
        model_key=f"sk-{noise(20)}",
        cipher_key=Cipher.new_key(),
    )
    turns = canary.turns(canaries)

    def script(body: dict[str, Any]) -> ModelReply:
        messages: list[dict[str, Any]] = body["messages"]
        if "besides the task" in str(messages[-1]) or "a title of at most" in str(messages[0]):
            return say(f"It is {canaries.token}.")
        position = sum(bool(message["role"] == "assistant") for message in messages)
        return turns[position]

    (tmp_path / "out/key").write_text(canaries.token)
    async with ScriptedProvider(script) as provider, LookupServer(canaries.vault) as vault:
        canaries = msgspec.structs.replace(canaries, base_url=provider.base_url, lookup_url=f"{vault.url}/v1/secret")
        first = await anyio.to_thread.run_sync(start(tmp_path, canaries))
        assert first.returncode == -9, first.stderr[-3000:]
        second = await anyio.to_thread.run_sync(start(tmp_path, canaries))
        assert second.returncode == 0, second.stderr[-3000:]
        assert "ended finished" in second.stdout
        assert {request.headers["Authorization"] for request in vault.requests} == {f"Bearer {canaries.header}"}
        assert set(provider.keys) == {f"Bearer {canaries.model_key}"}
        sent = msgspec.json.encode(provider.requests)
    seen = {
        "requests": sent,
        "frames": (first.stdout + second.stdout).encode(),
        "standard error": (first.stderr + second.stderr).encode(),
        "store": shown(tmp_path / "s"),
        "workspace": shown(tmp_path / "work"),
        "scratch": shown(tmp_path / "scratch"),
        "home": shown(tmp_path / "home"),
    }
    assert {name: found_in(data, canaries.values) for name, data in seen.items()} == {name: [] for name in seen}
    for name in ("requests", "frames", "standard error", "store"):
        assert seen[name].count(HIDDEN.encode()) > 5, f"{name}: it is known that something was there"
    assert b"cannot log in with" in sent
    assert b"not kept over a restart" not in sent
