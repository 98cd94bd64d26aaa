"""Workspaces that clients hold open on a server without a conversation, and commands over REST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agentrt import LLM, Agent, Conversation, RemoteWorkspace, Workspace
from agentrt.errors import ConfigurationError, RemoteError, WorkspaceError
from agentrt.server.principals import Scope
from agentrt.testing import ScriptedLLM, finish
from agentrt.workspaces.asking import RunCommand
from tests.remote.places import TOKEN, Remote, remote
from tests.stores import make_key

from ..auth.doors import doors

pytestmark = pytest.mark.real


def place_of(there: object) -> RemoteWorkspace:
    """The server."""
    assert isinstance(there, Remote)
    return there.place


async def test_one_holds_a_workspace_of_a_server(tmp_path: Path) -> None:
    async with remote(tmp_path, ScriptedLLM([finish("Seen.")])) as there:
        server = place_of(there)
        (tmp_path / "sent").write_text("sent")
        async with Workspace("workspace", host=server.url, api_key=TOKEN) as workspace:
            assert workspace.working_dir == str(there.workspace)
            result = await workspace.execute_command("pwd; echo warm >&2; exit 3")
            assert (result.exit_code, result.stdout, result.stderr) == (3, f"{there.workspace}\n", "warm\n")
            assert (await workspace.file_upload(tmp_path / "sent", "in/it")).success
            assert await workspace.read_file(f"{there.workspace}/in/it") == b"sent"
            assert [item.path for item in (await workspace.list_files("in")).items] == ["in/it"]
            copied = await workspace.file_download("in/it", tmp_path / "back")
            assert (copied.success, (tmp_path / "back").read_text()) == (True, "sent")
            assert not (await workspace.file_upload(tmp_path / "sent", "../out")).success
            with pytest.raises(WorkspaceError) as refused:
                await workspace.git_diff()
            assert refused.value.code == "git-missing"
            assert not await workspace.supports_pause()
            await workspace.pause()
            await workspace.resume()
            assert [state.command for state in await workspace.commands()] == ["pwd; echo warm >&2; exit 3"]
            agent = Agent(llm=LLM(model="scripted"), tools=())
            async with Conversation(agent, workspace) as conversation:
                assert await conversation.workspace.path() == str(there.workspace)
            assert (await workspace.execute_command("echo on")).stdout == "on\n"
        with pytest.raises(ConfigurationError, match="must be entered first"):
            await workspace.execute_command("ls")
        with pytest.raises((ConfigurationError, RemoteError)):
            async with Workspace("../..", host=server.url, api_key=TOKEN):
                pass


async def test_leaving_it_ends_what_runs_there(tmp_path: Path) -> None:
    async with remote(tmp_path, ScriptedLLM([])) as there:
        server = place_of(there)
        async with Workspace(RemoteWorkspace(server.url, TOKEN)) as workspace:
            assert Path(workspace.working_dir).parent == tmp_path
            await workspace.execute_command("(sleep 1; touch late) > /dev/null 2>&1 & true")
        async with Workspace(RemoteWorkspace(server.url, TOKEN, workspace.working_dir)) as again:
            assert (await again.execute_command("sleep 1.2; ls")).stdout == ""


async def test_who_may_not_execute_runs_nothing_and_sees_nothing_of_others(tmp_path: Path) -> None:
    async with doors(tmp_path) as there:
        key = await make_key(there.root, "eve", (Scope.OBSERVE, Scope.EXECUTE))
        there.keys["eve"] = key
        status, _ = await there.ask("ada", "POST", "/workspaces", {})
        assert status == 403
        conversation = await there.begin("ada")
        status, _ = await there.ask("ada", "POST", f"/conversations/{conversation}/commands", {"command": "touch x"})
        assert status == 403
        status, _ = await there.ask("eve", "POST", f"/conversations/{conversation}/commands", {"command": "touch x"})
        assert status == 404  # it is somebody else's
        status, held = await there.ask("eve", "POST", "/workspaces", {})
        assert status == 201
        base = f"/workspaces/{held['id']}"
        status, made = await there.ask("eve", "POST", f"{base}/commands", {"command": "echo $((6 * 7))"})
        assert status == 201
        status, said = await there.ask("eve", "GET", f"{base}/commands/{made['id']}/output?wait=20")
        assert (status, [piece["text"] for piece in said["items"]]) == (200, ["42\n"])
        for name, path in (("ada", base), ("ada", f"{base}/commands"), ("ada", f"{base}/files")):
            status, problem = await there.ask(name, "GET", path)
            assert (status, problem["code"]) == (404, "not-open")
        assert (await there.ask("ada", "GET", "/workspaces"))[1] == {"items": []}
        assert [one["id"] for one in (await there.ask("root", "GET", "/workspaces"))[1]["items"]] == [held["id"]]
        assert (await there.ask("eve", "DELETE", base))[0] == 204
        assert (await there.ask("eve", "GET", base))[0] == 404


async def test_output_is_followed_as_server_sent_events(tmp_path: Path) -> None:
    async with remote(tmp_path, ScriptedLLM([])) as there:
        server = place_of(there)
        async with Workspace("workspace", host=server.url, api_key=TOKEN) as workspace:
            place = workspace.place
            begun = await place.start(RunCommand(command="echo one; until test -e go; do sleep 0.01; done; echo two"))
            held = (await _json(server, "/workspaces"))["items"][0]["id"]
            path = f"{server.url}/workspaces/{held}/commands/{begun.id}/output"
            headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {TOKEN}"}
            async with aiohttp.ClientSession() as session, session.get(path, headers=headers) as answer:
                assert answer.content_type == "text/event-stream"
                first = await answer.content.readuntil(b"\n\n")
                assert first.startswith(b"id: 1\nevent: output\ndata: ")
                assert b'"text":"one\\n"' in first
                (there.workspace / "go").touch()
                rest = await answer.read()
            assert b"id: 2\nevent: output\n" in rest
            assert rest.split(b"\n\n")[-2].startswith(b"event: end\n")
            headers["Last-Event-ID"] = "1"
            async with aiohttp.ClientSession() as session, session.get(path, headers=headers) as answer:
                assert (await answer.read()).startswith(b"id: 2\n")


async def _json(server: RemoteWorkspace, path: str) -> Any:
    async with (
        aiohttp.ClientSession() as session,
        session.get(server.url + path, headers={"Authorization": f"Bearer {TOKEN}"}) as answer,
    ):
        return await answer.json()
