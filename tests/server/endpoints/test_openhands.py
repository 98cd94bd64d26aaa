"""The paths of the OpenHands agent server, as its clients use them."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agentrt import Runtime
from agentrt.server import ServerSettings, create_app
from agentrt.server.running import serving

from .test_git import git

pytestmark = pytest.mark.real

TOKEN = "token-of-these-tests"


class Client:
    """Sends what that client sends."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session, self.url = session, url

    async def ask(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        headers = {"X-Session-API-Key": TOKEN}
        async with self.session.request(method, f"{self.url}/api/{path}", headers=headers, **options) as answer:
            json = "json" in answer.content_type
            return answer.status, await answer.json(content_type=None) if json else await answer.read()

    async def search(self, **params: Any) -> list[Any]:
        status, page = await self.ask("GET", "bash/bash_events/search", params=params)
        assert status == 200, page
        items: list[Any] = page["items"]
        return items


@asynccontextmanager
async def served(root: Path, **settings: Any) -> AsyncIterator[Client]:
    """A server whose first directory is `root`/work."""
    (root / "work").mkdir(exist_ok=True)
    asked = ServerSettings(port=0, token=TOKEN, workspaces=(root / "work",), drain=1.0, **settings)
    async with (
        serving(create_app(Runtime(root / "store"), asked), asked) as url,
        aiohttp.ClientSession() as session,
    ):
        yield Client(session, url)


async def test_they_are_not_there_unless_asked_for(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        assert (await client.ask("POST", "bash/start_bash_command", json={"command": "ls"}))[0] == 404


async def test_commands(tmp_path: Path) -> None:
    async with served(tmp_path, compat="openhands") as client:
        work = tmp_path / "work"
        command = {"command": "pwd; echo warm >&2; exit 3", "timeout": 20, "cwd": str(work)}
        status, begun = await client.ask("POST", "bash/start_bash_command", json=command)
        assert (status, begun["kind"], begun["command"]) == (200, "BashCommand", command["command"])
        outputs: list[Any] = []
        while not outputs or outputs[-1].get("exit_code") is None:
            last = outputs[-1]["order"] if outputs else -1
            outputs += await client.search(command_id__eq=begun["id"], kind__eq="BashOutput", order__gt=last)
        assert len({output["id"] for output in outputs}) == len(outputs)
        assert "".join(output.get("stdout") or "" for output in outputs) == f"{work}\n"
        assert "".join(output.get("stderr") or "" for output in outputs) == "warm\n"
        assert outputs[-1]["exit_code"] == 3
        newest = await client.search(kind__eq="BashOutput", sort_order="TIMESTAMP_DESC", limit=1)
        assert [one["exit_code"] for one in newest] == [3]
        assert [one["kind"] for one in await client.search(limit=1)] == ["BashCommand"]
        status, whole = await client.ask("POST", "bash/execute_bash_command", json={"command": "echo whole"})
        assert (status, whole["exit_code"], whole["stdout"]) == (200, 0, "whole\n")
        status, slow = await client.ask("POST", "bash/start_bash_command", json={"command": "sleep 300"})
        assert (await client.ask("POST", f"bash/bash_commands/{slow['id']}/stop"))[0] == 200
        (stopped,) = await client.search(command_id__eq=slow["id"], kind__eq="BashOutput")
        assert stopped["exit_code"] == 128 + 15
        assert (await client.ask("POST", "bash/bash_commands/nothing/stop"))[0] == 200


async def test_files(tmp_path: Path) -> None:
    async with served(tmp_path, compat="openhands", max_upload=1 << 20) as client:
        work = tmp_path / "work"
        (tmp_path / "outside").write_text("canary")
        (work / "link").symlink_to("../outside")

        def form(data: bytes) -> aiohttp.FormData:
            made = aiohttp.FormData()
            made.add_field("file", io.BytesIO(data), filename="it")
            return made

        status, told = await client.ask("POST", "file/upload", params={"path": f"{work}/in/it"}, data=form(b"sent"))
        assert (status, told) == (200, {"success": True, "file_size": 4})
        assert (work / "in/it").read_bytes() == b"sent"
        assert await client.ask("GET", "file/download", params={"path": f"{work}/in/it"}) == (200, b"sent")
        refused = [
            ("in/it", 400),
            (f"{tmp_path}/outside", 403),
            (f"{work}/../outside", 403),
            (f"{work}/link", 403),
            (f"{work}/none", 404),
        ]
        for path, expected in refused:
            assert (await client.ask("GET", "file/download", params={"path": path}))[0] == expected, path
        for path in ("in/it", f"{tmp_path}/outside", f"{work}/../outside"):
            assert (await client.ask("POST", "file/upload", params={"path": path}, data=form(b"x")))[0] in (400, 403)
        large = await client.ask("POST", "file/upload", params={"path": f"{work}/large"}, data=form(bytes(2 << 20)))
        assert large[0] == 413
        assert (tmp_path / "outside").read_text() == "canary"


async def test_git(tmp_path: Path) -> None:
    async with served(tmp_path, compat="openhands") as client:
        work = tmp_path / "work"
        inner = work / "inner"
        inner.mkdir()
        assert await client.ask("GET", "git/changes", params={"path": str(work)}) == (200, [])
        empty = {"modified": None, "original": None}
        assert await client.ask("GET", "git/diff", params={"path": f"{work}/a"}) == (200, empty)
        git(inner, "init", "-q")
        (inner / "a").write_text("old\n")
        git(inner, "add", "a")
        git(inner, "commit", "-q", "-m", "a")
        (inner / "a").write_text("new\n")
        (inner / "b").write_text("b\n")
        status, found = await client.ask("GET", "git/changes", params={"path": str(inner)})
        assert (status, sorted((one["status"], one["path"]) for one in found)) == (
            200,
            [("ADDED", "b"), ("UPDATED", "a")],
        )
        changed = {"modified": "new\n", "original": "old\n"}
        assert await client.ask("GET", "git/diff", params={"path": f"{inner}/a"}) == (200, changed)
        added = {"modified": "b\n", "original": None}
        assert await client.ask("GET", "git/diff", params={"path": f"{inner}/b"}) == (200, added)
