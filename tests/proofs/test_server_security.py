"""A whole run on a real server: the secrets and the keys are in no answer, frame, log line, metric or file.

Each line of what keeps strangers out has a test of its own, in `tests/server/auth/` and
`tests/server/test_permissions.py`.
"""

from __future__ import annotations

import base64
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import msgspec
import pytest
from anyio.abc import Process

from agentrt.secrets import HIDDEN
from agentrt.testing import Fault, ScriptedProvider, call, finish, say
from agentrt.testing.turns import Turn
from tests.test_secrecy import found_in, noise, shown

from .waiting import eventually

pytestmark = pytest.mark.long

PRINT = """python3 - <<'END'
import base64, os, sys, time, urllib.parse
for name in ("TOKEN", "DB"):
    value = os.environ[name]
    print(value, repr(value), value.encode().hex(), value.encode().hex().upper(), urllib.parse.quote(value, safe=""))
    for before in ("", "a", "ab"):
        print(base64.b64encode((before + value).encode()).decode())
        print(base64.urlsafe_b64encode((before + value + "z").encode()).decode())
        print(base64.encodebytes((before + value).encode() * 9).decode())
    for character in value:
        sys.stdout.write(character); sys.stdout.flush(); time.sleep(0.005)
    print(value, file=sys.stderr)
END
# $TOKEN $DB
"""
"""Prints what there is in every form, and once in pieces."""


class Canaries(msgspec.Struct, frozen=True):
    """What must be seen nowhere."""

    token: str
    db: str
    model_key: str
    unnamed: str
    """A variable of the server's environment that nobody names."""
    keys: dict[str, str]
    """API keys by name."""

    @property
    def values(self) -> list[str]:
        """All of it; of the keys the secret part, since the id is shown."""
        secrets = [key.split("_", 2)[2] for key in self.keys.values()]
        return [self.token, self.db, self.model_key, self.unnamed, *secrets]


def script(canaries: Canaries) -> Any:
    """The model's part: it knows the secrets, and says them."""
    turns: list[Turn] = [
        call("terminal", command=PRINT),
        call("terminal", command="seq 9000; " + PRINT),
        call("terminal", command="env; set; declare -p; cat /proc/self/environ; echo $TOKEN > kept; exit 3 # $DB"),
        call("file_editor", command="view", path=f"/{canaries.token}"),
        call("nothing", said=canaries.token),
        call("terminal", f"I pass {canaries.token} on.", command=f"echo {canaries.db.encode().hex()}"),
        finish(f"The key was {canaries.token}."),
        Fault(400, f"a bad request with {canaries.token} and {canaries.model_key}"),
    ]

    def answer(body: dict[str, Any]) -> Turn:
        messages: list[dict[str, Any]] = body["messages"]
        if "besides the task" in str(messages[-1]) or "a title of at most" in str(messages[0]):
            return say(f"It is {canaries.token}.")
        position = sum(bool(message["role"] == "assistant") for message in messages)
        return turns[min(position, len(turns) - 1)]

    return answer


class Server:
    """`agentrt serve` as a process; all that comes out of it is kept in `seen`, by where it was seen."""

    def __init__(self, process: Process, session: aiohttp.ClientSession) -> None:
        self.process, self.session = process, session
        self.url = ""
        self.seen: dict[str, bytearray] = {}
        self.listening = anyio.Event()

    def note(self, where: str, data: bytes | str) -> None:
        """Keep what was seen."""
        self.seen.setdefault(where, bytearray()).extend((data.encode() if isinstance(data, str) else data) + b"\n")

    async def read(self, where: str, stream: Any) -> None:
        """Keep what the process says."""
        async for piece in stream:
            self.note(where, piece)
            if found := re.search(rb"listens on (\S+)", self.seen[where]):
                self.url = found[1].decode()
                self.listening.set()

    async def ask(self, key: str | None, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status, and the JSON of an answer, all of which is kept."""
        headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        data = msgspec.json.encode(body) if body is not None else None
        async with self.session.request(method, self.url + path, data=data, headers=headers) as answer:
            raw = await answer.read()
            told = "metrics" if path == "/metrics" else "answers"
            self.note(told, f"{answer.status} {sorted(answer.headers.items())}")
            self.note(told, raw)
            is_json = "json" in answer.content_type
            return answer.status, msgspec.json.decode(raw) if raw and is_json else raw

    async def follow(self, where: str, place: str, **options: Any) -> None:
        """Keep what a socket sends, and what its deltas come to."""
        grown: dict[tuple[str, str], str] = {}
        async with self.session.ws_connect(self.url + place, **options) as socket:
            async for message in socket:
                self.note(where, message.data)
                for frame in msgspec.json.decode(message.data):
                    if frame["type"] == "delta":
                        delta = frame["delta"]
                        key = (delta["becomes"], delta["channel"])
                        grown[key] = grown.get(key, "") + delta["text"]
        for text in grown.values():
            self.note(f"{where}: deltas", text)

    async def stream(self, key: str, conversation: str) -> None:
        """Keep what server-sent events say."""
        headers = {"Authorization": f"Bearer {key}", "Accept": "text/event-stream"}
        async with self.session.get(f"{self.url}/conversations/{conversation}/events", headers=headers) as answer:
            with anyio.move_on_after(120):
                try:
                    async for piece in answer.content.iter_any():
                        self.note("event stream", piece)
                except aiohttp.ClientError:
                    return  # the server ended


@asynccontextmanager
async def serving(folder: Path, environment: dict[str, str], *options: str) -> AsyncIterator[Server]:
    command = [sys.executable, "-m", "agentrt", "serve", "--port", "0", "--store", str(folder / "s"), *options]
    process = await anyio.open_process(command, env=environment, cwd=folder / "work")
    async with aiohttp.ClientSession() as session, anyio.create_task_group() as tasks:
        server = Server(process, session)
        tasks.start_soon(server.read, "standard output", process.stdout)
        tasks.start_soon(server.read, "standard error", process.stderr)
        try:
            with anyio.fail_after(60):
                await server.listening.wait()
            yield server
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(30):
                if process.returncode is None:
                    process.send_signal(signal.SIGTERM)
                await process.wait()
            if process.returncode is None:
                process.kill()
    assert process.returncode == 0, bytes(server.seen["standard error"][-3000:]).decode()


async def new_key(folder: Path, environment: dict[str, str], owner: str, *scopes: str) -> str:
    words = [word for scope in scopes for word in ("--scope", scope)]
    command = [
        sys.executable,
        "-m",
        "agentrt",
        "keys",
        "create",
        "--owner",
        owner,
        *words,
        "--store",
        str(folder / "s"),
    ]
    made = await anyio.run_process(command, env=environment, cwd=folder)
    return made.stdout.decode().strip()


async def wait_for(server: Server, key: str, conversation: str, *statuses: str) -> None:
    async def is_so() -> bool:
        return (await server.ask(key, "GET", f"/conversations/{conversation}"))[1]["status"] in statuses

    await eventually(is_so, " or ".join(statuses), 90)


async def test_no_canary_leaves_a_server(tmp_path: Path) -> None:
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
    plain = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    model_key, unnamed = f"sk-{noise(20)}", f"unnamed-{noise(14)}"
    environment = plain | {
        "OPENAI_API_KEY": model_key,
        "SOME_API_KEY": unnamed,
        "HOME": str(tmp_path / "home"),
        "AGENTRT_HOME": str(tmp_path / "home"),
    }
    keys = {
        "ada": await new_key(tmp_path, environment, "ada", "observe", "steer", "approve"),
        "bob": await new_key(tmp_path, environment, "bob", "observe", "steer"),
        "root": await new_key(tmp_path, environment, "root", "admin"),
    }
    canaries = Canaries(
        token=f"tok_{noise(12)}+/=&<{noise(4)}>'\"\\$",
        db=f"postgres://me:{noise(10)}@db/x?y=%20",
        model_key=model_key,
        unnamed=unnamed,
        keys=keys,
    )
    ada, bob, root = keys["ada"], keys["bob"], keys["root"]
    async with ScriptedProvider(script(canaries), pace=0.001) as provider:
        options = ("--model", "openai/scripted", "--base-url", provider.base_url, "--confirm", "never")
        logs = ("--log-format", "json", "--log-level", "debug", "--workspaces", str(tmp_path / "work"))
        async with serving(tmp_path, environment, *options, *logs) as server, anyio.create_task_group() as tasks:
            given = {"secrets": {"TOKEN": canaries.token, "DB": canaries.db}, "title": "a run"}
            status, made = await server.ask(ada, "POST", "/conversations", given)
            assert status == 201, made
            conversation = made["id"]
            place = f"/conversations/{conversation}"
            status, ticket = await server.ask(bob, "POST", "/tickets")
            headers = {"Authorization": f"Bearer {ada}"}
            tasks.start_soon(lambda: server.follow("socket", f"{place}/events", headers=headers))
            tasks.start_soon(lambda: server.follow("stranger's socket", f"/events?ticket={ticket['ticket']}"))
            tasks.start_soon(server.stream, ada, conversation)

            text = f"Use {canaries.token}, it is {base64.b64encode(canaries.token.encode()).decode()}."
            assert (await server.ask(ada, "POST", f"{place}/message", {"content": text, "run": True}))[0] == 200
            await wait_for(server, ada, conversation, "finished", "error")
            await server.ask(ada, "POST", f"{place}/message", {"content": "Again.", "run": True})
            await wait_for(server, ada, conversation, "error")

            asked: tuple[tuple[str, str, Any], ...] = (
                ("POST", f"{place}/ask_agent", {"question": f"Is {canaries.token} right?"}),
                ("POST", f"{place}/generate_title", {}),
                ("POST", f"{place}/rename", {"title": f"about {canaries.db}"}),
                ("POST", f"{place}/tags", {"tags": {"it": "x"}}),
                ("POST", f"{place}/goal", {"objective": f"do not say {canaries.token}"}),
                ("POST", f"{place}/fork", {}),
                ("POST", f"{place}/secrets", {"secrets": {"NEXT": canaries.unnamed}}),
                ("GET", place, None),
                ("GET", f"{place}/state", None),
                ("GET", f"{place}/events?limit=1000", None),
                ("GET", f"{place}/git/changes", None),
                ("GET", "/conversations", None),
                ("GET", "/search?query=token", None),
                ("GET", "/search?query=key", None),
                ("GET", "/tools", None),
                ("GET", "/server_info", None),
                ("GET", "/openapi.json", None),
            )
            for method, path, body in asked:
                answered, _ = await server.ask(ada, method, path, body)
                assert answered < 500, path
            _, page = await server.ask(ada, "GET", f"{place}/events?limit=1000")
            blobs = set(re.findall(r'"sha256":"([0-9a-f]{64})"', msgspec.json.encode(page).decode()))
            for blob in blobs:
                assert (await server.ask(ada, "GET", f"{place}/blobs/{blob}"))[0] == 200

            # what fails, with keys and secrets in it
            wrong = f"{ada[:-6]}AAAAAA"
            failing: tuple[tuple[str | None, str, str, Any, int], ...] = (
                (wrong, "GET", place, None, 401),
                (None, "GET", f"{place}?api_key={ada}", None, 400),
                (None, "GET", f"/conversations/{ada}", None, 400),
                (ada, "GET", f"/search?query={root}", None, 400),
                (bob, "POST", f"{place}/run", {}, 404),
                (bob, "POST", "/keys", {"owner": "x", "scopes": ["admin"]}, 403),
                (ada, "POST", f"{place}/secrets", {"secrets": {"TOKEN": [canaries.token]}}, 422),
                (ada, "POST", f"{place}/secrets", {"secrets": {canaries.token: "a value"}}, 422),
                (ada, "POST", f"{place}/message", canaries.token, 422),
                (
                    ada,
                    "POST",
                    f"{place}/switch_llm",
                    {"llm": {"type": "LLM", "model": "x", "base_url": "http://x"}},
                    403,
                ),
            )
            for key, method, path, body, expected in failing:
                answered, told = await server.ask(key, method, path, body)
                assert answered == expected, (path, answered, told)
            assert (await server.ask(root, "GET", "/metrics"))[0] == 200
            assert (await server.ask(root, "GET", "/keys"))[0] == 200
            assert (await server.ask(root, "DELETE", f"/keys/{bob.split('_')[1]}"))[0] == 204
            assert (await server.ask(bob, "GET", "/conversations"))[0] == 401
            server.process.send_signal(signal.SIGTERM)
        sent = msgspec.json.encode(provider.requests)
        assert set(provider.keys) == {f"Bearer {model_key}"}
    seen = {where: bytes(data) for where, data in server.seen.items()} | {
        "store": shown(tmp_path / "s"),
        "home": shown(tmp_path / "home"),
        "requests to the model": sent,
    }
    found = {where: found_in(data, [*canaries.values, str(ticket["ticket"])]) for where, data in seen.items()}
    found["answers"] = [
        form for form in found["answers"] if form != str(ticket["ticket"]).encode()
    ]  # where it was made
    assert found == {where: [] for where in found}
    for where in ("answers", "socket", "socket: deltas", "event stream", "store", "requests to the model"):
        assert seen[where].count(HIDDEN.encode()) > 3, f"{where}: it is known that something was there"
    assert len(seen["metrics"]) > 1000
    assert b'"level"' in seen["standard error"] or b"{" in seen["standard error"]
