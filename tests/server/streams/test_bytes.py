"""The bytes of an event are those of its line in the log, wherever a client gets it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from agentrt.context.messages import ToolCall
from agentrt.context.replies import ModelReply
from agentrt.controls import SendMessage
from agentrt.frames import Live
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.usage import Usage
from tests.server.served import agent, served

from .following import Following, following, log_of
from .test_sse import source

pytestmark = pytest.mark.real

SECRET = "s3cret-é-0123456789"

NUMBERS = '{"n":1180591620717411303424,"x":1e-07,"y":0.1,"z":-1.5e300,"é":"\\u00e9\\ud83d\\ude00","s":" \\u2028"}'


def turns() -> list[ModelReply]:
    """A run with text of all kinds, numbers of all sizes, a secret, a blob, and what makes no sense."""
    odd = ModelReply(
        text="日本 \u2028 \x00 \x7f 😀 </script>",
        tool_calls=(ToolCall("a", "nobody", NUMBERS), ToolCall("b", "terminal", '{"command": "cut')),
        usage=Usage(prompt_tokens=2**52, completion_tokens=3),
    )
    return [
        odd,
        call("terminal", "Ünï", command='echo "$TOKEN"; seq 1 20000'),
        call("think", thought=f'the token is {SECRET}, \\ and " and \t'),
        finish("Fertig ✓"),
    ]


async def run(socket: Following, name: str) -> None:
    """Let the conversation work until its agent has finished."""
    await socket.do(name, SendMessage(content="Los: ☃ und ein Zeichen \U0001f9ea", run=True))
    while (await socket.until_event("ObservationEvent"))["tool_name"] != "finish":
        pass


async def test_everyone_gets_the_bytes_of_the_line(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM(turns())) as client:
        made = {"agent": agent(), "secrets": {"TOKEN": SECRET}}
        name = (await client.ask("POST", "/conversations", made))[1]["id"]
        path = f"/conversations/{name}/events"
        async with following(client, path) as live, source(client, name) as sent:
            await live.until_of(Live)
            await run(live, name)
            log = log_of(tmp_path, name)
            assert live.events[name] == log[: len(live.events[name])]
            streamed = list[bytes]()
            while len(streamed) < len(log):
                kind, data = await sent.next() or ("", b"")
                streamed += [data] if kind == "event" else []
            async with following(client, path) as beside:
                await beside.until_of(Live)
        async with following(client, path) as again:
            await again.until_of(Live)
        async with client.session.get(f"{client.url}{path}?limit=1000") as answer:
            page = msgspec.json.decode(await answer.read(), type=dict[str, msgspec.Raw])
        rest = [bytes(raw) for raw in msgspec.json.decode(page["items"], type=list[msgspec.Raw])]
    log = log_of(tmp_path, name)
    assert streamed == log[: len(streamed)]
    assert beside.events[name] == log[: len(beside.events[name])]
    assert again.events[name] == rest == log
    whole = b"".join(log)
    assert SECRET.encode() not in whole
    for part in ("☃", "日本", "1180591620717411303424", "1e-7", '"blob"', str(2**52)):
        assert part.encode() in whole, part
