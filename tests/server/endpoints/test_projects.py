"""The directories in which a new conversation may work."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentrt.server import ServerSettings
from agentrt.testing import ScriptedLLM, finish

from ..served import served
from .helpers import begin, settled

pytestmark = pytest.mark.real


async def test_recent_ones_and_those_that_begin_as_typed(tmp_path: Path) -> None:
    root, other = tmp_path / "code", tmp_path / "more"
    for path in (root / "invoices" / "src", root / "Inventory", root / ".hidden", root / "website", other / "tools"):
        path.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(root / "invoices")], check=True)
    (root / "link").symlink_to(tmp_path)
    settings = ServerSettings(port=0, workspaces=(root, other))
    async with served(tmp_path, ScriptedLLM([finish("Done.")] * 3), settings) as client:
        status, found = await client.ask("GET", "/projects")
        assert status == 200
        assert (found["roots"], found["recent"]) == ([str(root), str(other)], [])
        names = [Path(one["path"]).name for one in found["matching"]]
        assert names == ["Inventory", "invoices", "tools", "website"]
        for workspace in ("website", "invoices"):
            await settled(client, (await begin(client, workspace=workspace, message="Begin"))["id"])
        await settled(client, (await begin(client, message="In a directory of its own"))["id"])
        _, found = await client.ask("GET", "/projects?path=in")
        assert [one["path"] for one in found["recent"]] == [str(root / "invoices"), str(root / "website")]
        assert found["recent"][0] == {"path": str(root / "invoices"), "repository": True, "branch": "main"}
        assert [Path(one["path"]).name for one in found["matching"]] == ["Inventory", "invoices"]
        for typed, below in (
            ("invoices/", ["src"]),
            (f"{other}/t", ["tools"]),
            (".h", [".hidden"]),
            ("link/", []),
            ("../", []),
            ("/etc/", []),
            ("nowhere/", []),
        ):
            _, found = await client.ask("GET", f"/projects?path={typed}")
            assert [Path(one["path"]).name for one in found["matching"]] == below, typed


async def test_another_place_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        status, problem = await client.ask("POST", "/conversations", {"agent": agent_json(), "workspace": "/etc"})
        assert status == 422
        assert problem["detail"].endswith(f"name a directory in {tmp_path / 'workspaces'}")


def agent_json() -> dict[str, str]:
    return {"llm": "scripted/model"}
