"""A server gives its conversations titles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agentrt.context.replies import ModelReply
from agentrt.errors import ModelUnavailable
from agentrt.protocols import ModelRequest
from agentrt.server import ServerSettings
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, finish, say

from .endpoints.helpers import begin, settled
from .served import Client, served

pytestmark = pytest.mark.real


def reply(request: ModelRequest) -> ModelReply:
    """A title where one is asked for, else an answer."""
    return say("🦆 Ducks") if "title" in plain(request.messages[0].content)[:200] else finish("Done.")


def settings(directory: Path, **given: Any) -> ServerSettings:
    return ServerSettings(port=0, workspaces=(directory / "workspaces",), **given)


async def titled(client: Client, name: str) -> dict[str, Any]:
    """A conversation, once its title has changed."""
    with anyio.fail_after(20):
        while True:
            _, info = await client.ask("GET", f"/conversations/{name}")
            if info["title"] != "Count the ducks":
                return dict(info)
            await anyio.lowlevel.checkpoint()


async def test_a_title_comes_after_the_first_reply_and_its_cost_is_the_conversations(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM(reply), settings(tmp_path, titles=True)) as client:
        name = (await begin(client, message="Count the ducks"))["id"]
        info = await titled(client, name)
        assert (info["title"], info["status"], info["unpriced"]) == ("🦆 Ducks", "finished", 2)
        await client.ask("POST", f"/conversations/{name}/message", {"content": "And again", "run": True})
        await settled(client, name)
        _, page = await client.ask("GET", f"/conversations/{name}/events?type=TitleChanged")
        assert len(page["items"]) == 1


async def test_none_comes_where_there_is_one_or_where_they_are_off(tmp_path: Path) -> None:
    model = ScriptedLLM(reply)
    async with served(tmp_path, model, settings(tmp_path, titles=True)) as client:
        given = await settled(client, (await begin(client, message="Count", title="Mine"))["id"])
        assert given["title"] == "Mine"
    (tmp_path / "off").mkdir()
    async with served(tmp_path / "off", model, settings(tmp_path)) as client:
        info = await settled(client, (await begin(client, message="Count the ducks"))["id"])
        assert info["title"] == "Count the ducks"
    assert len(model.requests) == 2, "no title was asked for"


async def test_a_model_that_fails_leaves_the_first_words(tmp_path: Path) -> None:
    def fails(request: ModelRequest) -> ModelReply:
        if "title" in plain(request.messages[0].content)[:200]:
            raise ModelUnavailable("no titles here")
        return finish("Done.")

    async with served(tmp_path, ScriptedLLM(fails), settings(tmp_path, titles=True)) as client:
        name = (await begin(client, message="Count the ducks"))["id"]
        assert (await settled(client, name))["title"] == "Count the ducks"
        await settled(client, (await begin(client, message="Count the geese"))["id"])
