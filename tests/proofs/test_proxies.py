"""A server behind nginx and behind Caddy, with the configuration of the page "Deploying" but for TLS."""

from __future__ import annotations

import io
import re
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest

from agentrt import LLM, Agent, Runtime
from agentrt.server import ServerSettings, create_app
from agentrt.server.principals import Scope
from agentrt.server.running import serving
from agentrt.testing import ScriptedProvider, say
from tests.test_deploying import shown

pytestmark = pytest.mark.long

HOST = "agents.example.org"
MOST = 4 * 1024 * 1024
SECONDS = 60


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def nginx(place: Path, port: int, behind: int) -> list[str]:
    """The command that serves what the page shows."""
    written = re.sub(r" *ssl_.*\n", "", shown("agentrt.conf"))
    written = written.replace("listen 443 ssl", f"listen 127.0.0.1:{port}").replace(":8000", f":{behind}")
    config = place / "nginx.conf"
    kept = "".join(f"{name}_temp_path {place}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    config.write_text(
        f"daemon off; pid {place}/nginx.pid; error_log stderr;\nevents {{}}\n"
        f"http {{ access_log off; {kept}\n{written}}}\n"
    )
    return ["nginx", "-e", "stderr", "-p", str(place), "-c", str(config)]


def caddy(place: Path, port: int, behind: int) -> list[str]:
    """The like."""
    written = shown("reverse_proxy").replace(HOST, f"http://{HOST}:{port}").replace(":8000", f":{behind}")
    config = place / "Caddyfile"
    config.write_text("{\n    admin off\n}\n" + written)
    return ["env", f"HOME={place}", "caddy", "run", "--config", str(config), "--adapter", "caddyfile"]


PROXIES = [pytest.param(each, id=each.__name__) for each in (nginx, caddy)]
Proxy = Callable[[Path, int, int], list[str]]


@asynccontextmanager
async def proxied(make: Proxy, place: Path, **given: Any) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of a server with one key, through the proxy, which has the name of the page."""
    assert shutil.which(make.__name__), f"{make.__name__} is not installed: .ci/run installs it"
    port = free_port()
    async with ScriptedProvider(lambda body: say("Hello through the proxy. " * 20), pace=0.01) as provider:
        agent = Agent(llm=LLM(model="openai/scripted", base_url=provider.base_url), tools=())
        settings = ServerSettings(port=0, workspaces=(place,), agent=agent, allow_hosts=(HOST,), **given)
        app = create_app(Runtime(place / "store"), settings)
        async with serving(app, settings) as url:
            key = await app.state.access.create("ada", [Scope.OBSERVE, Scope.STEER, Scope.APPROVE])
            command = make(place, port, int(url.rpartition(":")[2]))
            async with await anyio.open_process(command, stdout=None, stderr=None) as process:
                try:
                    await _listens(port)
                    shown = {"Authorization": f"Bearer {key}", "Host": f"{HOST}:{port}"}
                    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", headers=shown) as session:
                        with anyio.fail_after(SECONDS):
                            yield session
                finally:
                    process.terminate()


async def _listens(port: int) -> None:
    with anyio.fail_after(SECONDS):
        while True:
            try:
                await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
            except OSError:
                await anyio.lowlevel.checkpoint()
            else:
                return


async def begun(session: aiohttp.ClientSession) -> str:
    async with session.post("/conversations", json={}) as answer:
        assert answer.status == 201, await answer.text()
        return str((await answer.json())["id"])


@pytest.mark.parametrize("make", PROXIES)
async def test_events_come_one_by_one_and_not_at_the_end(make: Proxy, tmp_path: Path) -> None:
    """Server-sent events: the first delta is here while the model still speaks."""
    async with proxied(make, tmp_path) as session:
        name = await begun(session)
        path = f"/conversations/{name}/events"
        async with session.get(path, headers={"Accept": "text/event-stream"}) as stream:
            assert stream.headers["Content-Type"].startswith("text/event-stream")
            body = {"content": "Say hello.", "run": True}
            async with session.post(f"/conversations/{name}/message", json=body) as answer:
                assert answer.status == 200
            sent, pieces = b"", 0
            while b"RunEnded" not in sent:
                piece = await stream.content.readany()
                assert piece, sent[-300:]
                sent += piece
                pieces += b"event: delta" in piece
    assert pieces > 3


@pytest.mark.parametrize("make", PROXIES)
async def test_a_socket_carries_controls_and_events(make: Proxy, tmp_path: Path) -> None:
    async with proxied(make, tmp_path) as session:
        name = await begun(session)
        async with session.ws_connect(f"/conversations/{name}/events") as socket:
            control = {"type": "message", "content": "Say hello.", "run": True}
            await socket.send_json([{"type": "do", "id": "1", "conversation": name, "control": control}])
            frames: list[dict[str, object]] = []
            while not any("RunEnded" in str(frame) for frame in frames):
                frames += await socket.receive_json()
    assert {"ack", "event", "delta"} <= {frame["type"] for frame in frames}


@pytest.mark.parametrize("make", PROXIES)
async def test_uploads_pass_up_to_the_limit_of_the_server(make: Proxy, tmp_path: Path) -> None:
    async with proxied(make, tmp_path, max_upload=MOST) as session:
        path, params = f"/conversations/{await begun(session)}/files/content", {"path": "big.bin"}
        async with session.put(path, params=params, data=io.BytesIO(b"x" * (MOST - 2**20))) as answer:
            assert answer.status == 201, await answer.text()
        async with session.get(path, params=params) as answer:
            assert len(await answer.read()) == MOST - 2**20
        async with session.put(path, params=params, data=io.BytesIO(b"x" * (MOST + 1))) as answer:
            assert answer.status == 413


@pytest.mark.parametrize("make", PROXIES)
async def test_hosts_origins_and_forged_headers(make: Proxy, tmp_path: Path) -> None:
    async with proxied(make, tmp_path) as session:
        own = str(session.headers["Host"])
        async with session.post("/conversations", json={}, headers={"Origin": f"http://{own}"}) as answer:
            assert answer.status == 201
        async with session.post("/conversations", json={}, headers={"Origin": "https://evil.example"}) as answer:
            assert answer.status == 403
        forged = {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "localhost", "X-Forwarded-Proto": "https"}
        async with session.get("/conversations", headers=forged | {"Authorization": "Bearer none"}) as answer:
            assert answer.status == 401
        async with session.get("/conversations", headers=forged) as answer:
            assert answer.status == 200


async def test_nginx_passes_another_host_on_and_the_server_refuses_it(tmp_path: Path) -> None:
    async with proxied(nginx, tmp_path) as session:
        async with session.get("/conversations", headers={"Host": "evil.example"}) as answer:
            assert answer.status == 421
