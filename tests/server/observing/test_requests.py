from __future__ import annotations

import logging
from pathlib import Path

import pytest

from agentrt.testing import ScriptedLLM

from ..served import agent, served

pytestmark = pytest.mark.real

LOGGER = "agentrt.server.access"


async def test_a_line_says_who_asked_for_what_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    async with served(tmp_path, ScriptedLLM([])) as client:
        await client.ask("POST", "/conversations", {"id": "c", "agent": agent(), "title": "body-canary"})
        await client.ask("GET", "/conversations/c?query=query-canary")
        await client.ask("GET", "/conversations/c", Authorization="Bearer key-canary")
        await client.ask("GET", "/conversations/%0Aforged%20line")
        await client.ask("GET", "/path-canary")
        await client.ask("GET", "/alive")
    records = [record for record in caplog.records if record.name == LOGGER]
    told = [(vars(r)["method"], vars(r)["path"], vars(r)["status"], vars(r)["conversation"]) for r in records]
    assert told == [
        ("POST", "/conversations", 201, None),
        ("GET", "/conversations/{id}", 200, "c"),
        ("GET", "/conversations/{id}", 401, "c"),
        ("GET", "/conversations/{id}", 404, "?"),
        ("GET", "other", 404, None),
    ]
    assert all(vars(record)["ms"] > 0 for record in records)
    everything = "\n".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records)
    assert "canary" not in everything
    assert "\nforged" not in everything


async def test_a_socket_is_a_line_when_it_has_ended(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    async with served(tmp_path, ScriptedLLM([])) as client:
        async with client.session.ws_connect(client.url + "/conversations/nobody/events") as socket:
            await socket.receive()
    (line,) = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert line.startswith("SOCKET /conversations/{id}/events 4004 ")
