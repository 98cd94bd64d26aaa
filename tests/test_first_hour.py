"""The page "A first hour", done as it stands with its stand-in for a model; in a browser: tests/proofs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import anyio
import pytest

from tests import first_hour, programs

pytestmark = pytest.mark.real

SECONDS = 120


async def ran(name: str, place: Path, environment: Mapping[str, str]) -> str:
    """What a program of the page prints."""
    done = await anyio.to_thread.run_sync(
        lambda: programs.run("-m", name, directory=place, environment={**environment, "PYTHONPATH": str(place)})
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


async def test_the_programs_print_what_the_page_says(tmp_path: Path) -> None:
    environment = first_hour.write(tmp_path)
    async with first_hour.stand_in(tmp_path, environment):
        assert await ran("hello", tmp_path, environment) == "Hello from the stand-in.\n"
        printed = (await ran("umbrella", tmp_path, environment)).splitlines()
    assert printed == ["ActionEvent forecast", "ObservationEvent forecast", "The tool said: It rains in Oslo."]


async def test_the_server_of_the_page_is_followed_both_ways(tmp_path: Path) -> None:
    environment = first_hour.write(tmp_path)
    seen: list[str] = []
    with anyio.fail_after(SECONDS):
        async with (
            first_hour.stand_in(tmp_path, environment),
            first_hour.server(tmp_path, environment) as url,
            aiohttp.ClientSession(url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as session,
        ):
            for page in ("/", "/socket"):
                async with session.get(page) as answer:
                    assert re.search(r"<title>(EventSource|WebSocket)", await answer.text())
            async with session.post("/agents/conversations", json={}) as answer:
                path = f"/agents/conversations/{(await answer.json())['id']}"
            async with session.ws_connect(f"{path}/events") as socket:
                control = {"type": "message", "content": "Do I need an umbrella?", "run": True}
                await socket.send_json([{"type": "do", "id": "1", "conversation": path[-36:], "control": control}])
                while "RunEnded" not in seen:
                    frames = json.loads((await socket.receive()).data)
                    seen += [frame["event"]["type"] for frame in frames if frame["type"] == "event"]
            async with session.get(f"{path}/events", headers={"Accept": "text/event-stream"}) as answer:
                sent = b""
                while b"RunEnded" not in sent:
                    sent += await answer.content.readany()
    assert "ActionEvent" in seen
    assert b"It rains in Oslo." in sent
