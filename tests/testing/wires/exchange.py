"""Requests as they go over the wire, with nobody in between."""

from __future__ import annotations

from typing import Any

import aiohttp
import msgspec

from agentrt.testing import ScriptedProvider


async def post(provider: ScriptedProvider, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The status and the body of an answer."""
    async with aiohttp.ClientSession() as session, session.post(provider.url + path, json=body) as response:
        return response.status, msgspec.json.decode(await response.read())


async def stream(provider: ScriptedProvider, path: str, body: dict[str, Any]) -> list[tuple[str, Any]]:
    """The names and the data of an answer's events; text where it is not JSON."""
    events: list[tuple[str, Any]] = []
    async with aiohttp.ClientSession() as session:
        async with session.post(provider.url + path, json=body | {"stream": True}) as response:
            assert response.status == 200, await response.text()
            for frame in (await response.text()).removesuffix("\n\n").split("\n\n"):
                fields = dict(line.split(": ", 1) for line in frame.split("\n"))
                try:
                    events.append((fields.get("event", ""), msgspec.json.decode(fields["data"])))
                except msgspec.DecodeError:
                    events.append((fields.get("event", ""), fields["data"]))
    return events


def kinds(events: list[tuple[str, Any]]) -> list[str]:
    """The names of events, repeated ones once."""
    names = [name for name, _ in events]
    return [name for name, before in zip(names, ["", *names], strict=False) if name != before]
