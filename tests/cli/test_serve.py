"""`agentrt serve`, as a process; each that is started costs a second, so one shows several things."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
from click.testing import CliRunner

from agentrt.cli.main import commands
from agentrt.errors import ConfigurationError
from agentrt.events import PauseEvent
from agentrt.server.principals import Scope
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedProvider, Stall
from agentrt.testing.turns import Turn
from tests.missing import without
from tests.proofs.waiting import eventually
from tests.stores import make_key

from .terminal import Terminal

pytestmark = pytest.mark.real

CANARY = "canary-value-4d1f"
_ADDRESS = re.compile(r"agentrt listens on (http://127\.0\.0\.1:\d+) \(its address with the token: (.+?)\) ")


class Serving:
    """A server's process."""

    def __init__(self, process: anyio.abc.Process, url: str, token: str) -> None:
        self.process, self.url, self.token = process, url, token
        self.errors = ""

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop; its exit code."""
        self.process.send_signal(number)
        with anyio.fail_after(20):
            assert self.process.stderr is not None
            async for data in self.process.stderr:
                self.errors += data.decode()
            return await self.process.wait()


@asynccontextmanager
async def agentrt_serve(directory: Path, *words: str, **more: str) -> AsyncIterator[Serving]:
    """The process, once it listens."""
    command = [sys.executable, "-m", "agentrt", "serve", "--port", "0", "--store", str(directory / "store"), *words]
    async with await anyio.open_process(command, cwd=directory, env={**os.environ, **more}) as process:
        try:
            assert process.stdout is not None
            line = ""
            with anyio.fail_after(20):
                while not line.endswith("\n"):
                    line += (await process.stdout.receive()).decode()
            found = _ADDRESS.match(line)
            assert found, line
            assert "#token=" not in line, "its commands might read what it prints"
            file = Path(found[2])
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert file.parent == directory / "store"
            url, _, token = file.read_text().strip().partition("/#token=")
            assert url == found[1]
            yield Serving(process, url, token)
        finally:
            if process.returncode is None:
                process.kill()


async def ready(session: aiohttp.ClientSession, server: Serving) -> None:
    """Return once it takes work, which the session may ask for from then on."""
    session.headers["Authorization"] = f"Bearer {server.token}"
    await eventually(lambda: takes_work(session, server.url), "it is ready", 30)


async def takes_work(session: aiohttp.ClientSession, url: str) -> bool:
    """Whether it takes work."""
    async with session.get(f"{url}/ready") as answer:
        return answer.status == 200


class Stalling:
    """What a model says that stalls at its first call, for a `ScriptedProvider`."""

    def __init__(self) -> None:
        self.begun = anyio.Event()

    def __call__(self, request: dict[str, Any]) -> Turn:
        self.begun.set()
        return Stall("Half a")


async def test_it_serves_a_run_and_keeps_it_when_it_is_told_to_stop(tmp_path: Path) -> None:
    model = Stalling()
    async with ScriptedProvider(model) as provider, aiohttp.ClientSession() as session:
        words = (
            "--model",
            "openai/scripted",
            "--base-url",
            provider.base_url,
            "--log-format",
            "json",
            "--drain",
            "0.3",
        )
        async with agentrt_serve(tmp_path, *words, OPENAI_API_KEY=CANARY) as server:
            async with session.get(f"{server.url}/alive") as answer:
                assert answer.status == 200, "it answers while the model client is being loaded"
            await ready(session, server)
            wanted = {"id": "c", "message": "Begin", "secrets": {"TOKEN": f"{CANARY}-2"}}
            async with session.post(f"{server.url}/conversations", json=wanted) as answer:
                assert answer.status == 201, await answer.text()
            with anyio.fail_after(10):
                await model.begun.wait()
            async with session.get(f"{server.url}/metrics?{CANARY}") as answer:
                assert 'agentrt_conversations{status="running"} 1.0' in await answer.text()
            assert await server.stop() == 0
            assert list((tmp_path / "store").glob("address-*")) == [], "the token is of no use any more"
    assert "stopping: new work is refused, and running steps have 0.3 s to end" in server.errors
    assert CANARY not in server.errors
    lines = [json.loads(line) for line in server.errors.splitlines() if line.startswith("{")]
    assert ("POST", "/conversations", 201) in {(e.get("method"), e.get("path"), e.get("status")) for e in lines}
    events = read_conversation(tmp_path / "store" / "conversations" / "c")
    assert any(isinstance(event, PauseEvent) and event.source == "environment" for event in events)
    assert type(events[-1]).__name__ == "ModelCalled", "what was cut has its end in the log"
    assert provider.keys[0].endswith(CANARY)


async def test_the_address_of_a_server_that_was_killed_is_removed(tmp_path: Path) -> None:
    async with agentrt_serve(tmp_path) as first:
        first.process.kill()
        await first.process.wait()
        assert len(list((tmp_path / "store").glob("address-*"))) == 1
    async with agentrt_serve(tmp_path) as second:
        (left,) = (tmp_path / "store").glob("address-*")
        assert left.name == f"address-{second.url.rpartition(':')[2]}"


async def test_a_second_signal_hurries_it(tmp_path: Path) -> None:
    model = Stalling()
    async with ScriptedProvider(model) as provider, aiohttp.ClientSession() as session:
        words = ("--model", "openai/scripted", "--base-url", provider.base_url, "--drain", "600")
        async with agentrt_serve(tmp_path, *words, OPENAI_API_KEY="none") as server:
            await ready(session, server)
            async with session.post(f"{server.url}/conversations", json={"message": "Begin"}) as answer:
                assert answer.status == 201
            with anyio.fail_after(10):
                await model.begun.wait()
            server.process.send_signal(signal.SIGINT)

            async def stops() -> bool:
                return not await takes_work(session, server.url)

            await eventually(stops, "it takes no work", 10)
            assert await server.stop(signal.SIGINT) == 0


async def test_a_terminal_shows_the_token(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agentrt", "serve", "--port", "0", "--store", str(tmp_path / "store")]
    async with Terminal(command, os.environ) as terminal:
        assert re.search(r"listens on http://127\.0\.0\.1:\d+/#token=\S{20,} ", await terminal.until("stops it)"))
        terminal.press_ctrl_c()
        assert await terminal.exit_code() == 0
    assert list((tmp_path / "store").glob("address-*")) == []


def invoke(*words: str) -> Exception:
    """What a command ends with that does not get as far as to listen."""
    error = CliRunner().invoke(commands, ["serve", *words]).exception
    assert isinstance(error, Exception)
    return error


def test_other_addresses_need_a_key(tmp_path: Path) -> None:
    error = invoke("--host", "0.0.0.0", "--store", str(tmp_path))
    assert isinstance(error, ConfigurationError)
    assert "agentrt keys create" in str(error)
    anyio.run(make_key, tmp_path, "ada", [Scope.ADMIN])
    with socket.create_server(("0.0.0.0", 0)) as taken:
        error = invoke("--host", "0.0.0.0", "--store", str(tmp_path), "--port", str(taken.getsockname()[1]))
    assert "is in use" in str(error), "with a key it gets as far as to listen"


def test_an_address_that_is_taken_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "agentrt", "serve", "--port", port, "--store", str(tmp_path)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert ran.returncode == 2
    assert ran.stderr == f"agentrt: 127.0.0.1, port {port} is in use: stop what listens there, or give another --port\n"


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agentrt", "serve", "--store", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, env=without(tmp_path, "starlette"), check=False)
    assert ran.returncode == 2
    assert "pip install 'agentrt[server]'" in ran.stderr


@pytest.mark.pure
def test_what_it_can_do_is_said() -> None:
    told = CliRunner().invoke(commands, ["serve", "--help"]).output
    for option in (
        "--resume-running",
        "--drain",
        "--workspaces",
        "--cors",
        "--allow-host",
        "--max-bytes",
        "--traces",
        "--keep-alive",
        "--backlog",
    ):
        assert option in told
    assert "A second one hurries it" in " ".join(told.split())
