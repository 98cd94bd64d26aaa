"""A program that runs a conversation full of secrets, shows all that it streams, and dies in the middle of a tool."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec

from agentrt import LLM, Agent, Conversation, Hook, HookEvent, HookInput, HookResult, Observation, Runtime, ToolContext
from agentrt.codec import encode
from agentrt.context.replies import ModelReply
from agentrt.deltas import Delta
from agentrt.errors import ConversationMissing
from agentrt.secrets import Cipher, EnvironmentSecret, LookupSecret
from agentrt.specs import Tool
from agentrt.specs.content import text
from agentrt.testing import call, finish
from agentrt.tools import ToolType

PRINT = """python3 - <<'END'
import base64, os, urllib.parse
for name in ("TOKEN", "DB", "VAULT", "MADE"):
    value = os.environ[name]
    print(value, repr(value), value.encode().hex(), value.encode().hex().upper(), urllib.parse.quote(value, safe=""))
    for before in ("", "a", "ab"):
        print(base64.b64encode((before + value).encode()).decode())
        print(base64.urlsafe_b64encode((before + value + "z").encode()).decode())
        print(base64.encodebytes((before + value).encode() * 9).decode())
END
# $TOKEN $DB $VAULT $MADE
"""
"""Prints all that there is in every form."""


class Canaries(msgspec.Struct, frozen=True):
    """Values that must be seen nowhere, and where to find what the program needs."""

    token: str
    db: str
    vault: str
    header: str
    made: str
    model_key: str
    cipher_key: str
    base_url: str = ""
    lookup_url: str = ""

    @property
    def values(self) -> tuple[str, ...]:
        """All that is secret."""
        return (self.token, self.db, self.vault, self.header, self.made, self.model_key, self.cipher_key)


def turns(canaries: Canaries) -> list[ModelReply]:
    """The model's part; it knows one of the secrets."""
    return [
        call("terminal", command=PRINT),
        call("terminal", command="seq 9000; " + PRINT),
        call("terminal", command="env; set; declare -p; cat /proc/self/environ"),
        call("fail"),
        call("leak", f"I pass {canaries.token} on.", said=f"the key is {canaries.token}"),
        call("leak", said="die"),
        call("terminal", command=PRINT),
        call("leak", said="again"),
        finish(f"The key was {canaries.token}."),
    ]


class Screen:
    """Shows each frame of a stream, and what deltas come to, on the standard output."""

    def __init__(self) -> None:
        self.seq = 0
        """Of the last event that was shown."""
        self.outputs = 0
        """How many tools' outputs it has begun to show."""
        self._moved = anyio.Event()

    async def follow(self, conversation: Conversation) -> None:
        """Show all; for a task of its own."""
        grown: dict[tuple[str, str], str] = {}
        async for item in conversation.stream():
            if isinstance(item, Delta):
                key = (item.becomes, item.channel)
                self.outputs += item.channel == "output" and key not in grown
                grown[key] = grown.get(key, "") + item.text
                frame = msgspec.json.encode(grown[key]) + b"\n" + grown[key].encode()
            else:
                self.seq, frame = item.seq, encode(item)
            os.write(1, frame + b"\n")
            self._moved.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return once something holds after a frame."""
        while not holds():
            self._moved = anyio.Event()
            await self._moved.wait()


class Said(msgspec.Struct, frozen=True):
    """What to say."""

    said: str = ""


class Result(Observation, frozen=True, kw_only=True):
    """Shows what it was told also in its details."""

    seen: str


class Leak:
    """A tool that shows secrets in every way, in pieces, and may die."""

    def __init__(self, canaries: Canaries, screen: Screen) -> None:
        self._canaries, self._screen = canaries, screen

    async def __call__(self, action: Said, context: ToolContext) -> Observation:
        values = await context.secrets("TOKEN DB VAULT MADE")
        before = self._screen.outputs
        for value in values.values():
            for character in f"{value}\n{value.encode().hex()}\n":
                context.output(character)
        if action.said == "die":
            await self._screen.until(lambda: self._screen.outputs > before)
            os.kill(os.getpid(), signal.SIGKILL)
        kept = await context.keep(" ".join(self._canaries.values).encode() * 2000, "a dump")
        logging.getLogger("agentrt.leak").warning("values %s", values)
        try:
            raise ValueError(self._canaries.token)
        except ValueError:
            logging.getLogger("another").exception("it is %s", self._canaries.vault)
        return Result(content=(*text(f"{action.said} {values}"), kept), seen=" ".join(values.values()))

    async def aclose(self) -> None:
        return None


def tools(canaries: Canaries, screen: Screen) -> tuple[ToolType, ...]:
    """`leak`, and `fail`, whose error has a secret in it."""

    class Fail(Leak):
        async def __call__(self, action: Said, context: ToolContext) -> Observation:
            raise RuntimeError(f"cannot log in with {self._canaries.token}")

    return tuple(
        ToolType(name=name, description=name, action=Said, executor=lambda params, kind=kind: kind(canaries, screen))  # type: ignore[misc]
        for name, kind in (("leak", Leak), ("fail", Fail))
    )


async def talk(conversation: Conversation, canaries: Canaries, screen: Screen) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(screen.follow, conversation)
        await conversation.send_message(f"Use {canaries.token}, it is {canaries.token.encode().hex()}.", id="first")
        await conversation.ask_agent(f"Is {canaries.token} right?")
        await conversation.run()
        await conversation.generate_title()
        os.write(1, f"ended {conversation.state.status.value}\n".encode())
        await screen.until(lambda: screen.seq == conversation.state.seq)
        tasks.cancel_scope.cancel()


def agent(canaries: Canaries, key_file: Path) -> Agent:
    return Agent(
        llm=LLM(model="openai/scripted", base_url=canaries.base_url, num_retries=0, api_key_env="MODEL_ACCESS"),
        tools=(Tool("terminal"), Tool("leak"), Tool("fail")),
        hooks=(
            Hook(event=HookEvent.BEFORE_TOOL, function="chatty"),
            Hook(event=HookEvent.AFTER_TOOL, command=f"cat {key_file}; cat {key_file} >&2; exit 2"),
            Hook(event=HookEvent.END, command=f"cat {key_file}"),
        ),
    )


async def live(store: Path, workspace: Path, key_file: Path, canaries: Canaries) -> None:
    """Begin the conversation, or open it again."""

    async def chatty(given: HookInput) -> HookResult:
        return HookResult(
            context=f"by the way: {canaries.token}", stdout=canaries.vault if given.tool_name == "leak" else ""
        )

    secrets: Any = {
        "TOKEN": canaries.token,
        "DB": EnvironmentSecret("DB_ADDRESS", "the database"),
        "VAULT": LookupSecret(canaries.lookup_url, {"Authorization": f"Bearer {canaries.header}"}),
        "MADE": lambda: canaries.made,
    }
    cipher, screen = Cipher(canaries.cipher_key), Screen()
    async with Runtime(store, tools=tools(canaries, screen), hooks={"chatty": chatty}, cipher=cipher) as runtime:
        try:
            async with Conversation(id="c", runtime=runtime) as conversation:
                await conversation.update_secrets({"MADE": secrets["MADE"]})
                await talk(conversation, canaries, screen)
        except ConversationMissing:
            spec = agent(canaries, key_file)
            async with Conversation(spec, workspace, id="c", runtime=runtime, secrets=secrets) as conversation:
                await talk(conversation, canaries, screen)


def main() -> None:
    """The canaries come on the standard input, since a command line would show them."""
    logging.basicConfig(level=logging.DEBUG)
    canaries = msgspec.json.decode(sys.stdin.buffer.read(), type=Canaries)
    store, workspace, key_file = map(Path, sys.argv[1:4])
    anyio.run(live, store, workspace, key_file, canaries)


if __name__ == "__main__":
    main()
