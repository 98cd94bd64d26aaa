"""What tests of the operations do before they come to the point."""

from __future__ import annotations

from typing import Any

import anyio

from ..served import Client, agent


async def begin(client: Client, **fields: Any) -> dict[str, Any]:
    """A new conversation."""
    status, made = await client.ask("POST", "/conversations", {"agent": agent(), **fields})
    assert status == 201, made
    return dict(made)


async def settled(client: Client, name: str) -> dict[str, Any]:
    """A conversation, once it does not run any more."""
    with anyio.fail_after(20):
        while True:
            _, info = await client.ask("GET", f"/conversations/{name}")
            if info["status"] not in ("idle", "running"):
                return dict(info)
            await anyio.lowlevel.checkpoint()
