"""Every operation with every scope, and with the key of somebody else. The table is written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from agentrt.controls import AnyControl, tag_of
from agentrt.server.endpoints import ENDPOINTS
from agentrt.server.principals import Scope
from agentrt.storage import FileStore
from agentrt.testing import ScriptedLLM, say
from tests.stores import make_key

from .doors import AGENT, Doors, closed_with, doors

pytestmark = pytest.mark.real

TABLE = """
GET     /alive                                      -
GET     /health                                     -
GET     /ready                                      -
GET     /openapi.json                               -
GET     /server_info                                observe
GET     /tools                                      observe
GET     /search                                     observe
GET     /projects                                   steer
GET     /models                                     steer
GET     /conversations/{id}/model                   observe
GET     /conversations                              observe
GET     /conversations/count                        observe
GET     /conversations/{id}                         observe
GET     /conversations/{id}/events                  observe
GET     /conversations/{id}/events/count            observe
GET     /conversations/{id}/events/{seq:int}        observe
GET     /conversations/{id}/state                   observe
GET     /conversations/{id}/blobs/{sha256}          observe
GET     /conversations/{id}/files                   observe
GET     /conversations/{id}/files/content           observe
GET     /conversations/{id}/files/archive           observe
GET     /conversations/{id}/checkpoints/changes     observe
GET     /conversations/{id}/checkpoints/diff        observe
GET     /conversations/{id}/git/changes             observe
GET     /conversations/{id}/git/diff                observe
GET     /conversations/{id}/project                 observe
GET     /conversations/{id}/workspace               observe
GET     /conversations/{id}/commands                observe
GET     /conversations/{id}/commands/{command_id}   observe
GET     /conversations/{id}/commands/{command_id}/output observe
POST    /conversations/{id}/commands                execute
POST    /conversations/{id}/commands/{command_id}/stop execute
POST    /conversations/{id}/workspace/pause         execute
POST    /conversations/{id}/workspace/resume        execute
GET     /workspaces                                 observe
POST    /workspaces                                 execute
GET     /workspaces/{workspace_id}                  observe
DELETE  /workspaces/{workspace_id}                  execute
GET     /workspaces/{workspace_id}/files            observe
GET     /workspaces/{workspace_id}/files/content    observe
PUT     /workspaces/{workspace_id}/files/content    steer
GET     /workspaces/{workspace_id}/files/archive    observe
GET     /workspaces/{workspace_id}/git/changes      observe
GET     /workspaces/{workspace_id}/git/diff         observe
GET     /workspaces/{workspace_id}/commands         observe
POST    /workspaces/{workspace_id}/commands         execute
GET     /workspaces/{workspace_id}/commands/{command_id} observe
GET     /workspaces/{workspace_id}/commands/{command_id}/output observe
POST    /workspaces/{workspace_id}/commands/{command_id}/stop execute
POST    /workspaces/{workspace_id}/pause            execute
POST    /workspaces/{workspace_id}/resume           execute
POST    /tickets                                    any
POST    /conversations                              steer
PATCH   /conversations/{id}                         steer
DELETE  /conversations/{id}                         steer
PUT     /conversations/{id}/files/content           steer
POST    /conversations/{id}/message                 steer
POST    /conversations/{id}/run                     steer
POST    /conversations/{id}/pause                   steer
POST    /conversations/{id}/interrupt               steer
POST    /conversations/{id}/switch_llm              steer
POST    /conversations/{id}/secrets                 steer
POST    /conversations/{id}/goal                    steer
POST    /conversations/{id}/ask_agent               steer
POST    /conversations/{id}/generate_title          steer
POST    /conversations/{id}/rename                  steer
POST    /conversations/{id}/tags                    steer
POST    /conversations/{id}/rewind                  steer
POST    /conversations/{id}/condense                steer
POST    /conversations/{id}/fork                    steer
POST    /conversations/{id}/confirm                 approve
POST    /conversations/{id}/reject                  approve
POST    /conversations/{id}/tool_result             steer
POST    /conversations/{id}/input                   approve
POST    /conversations/{id}/actions/{action_id}/result steer
GET     /conversations/{id}/servers                 observe
POST    /conversations/{id}/servers/{server}/connect steer
POST    /conversations/{id}/servers/{server}/login  approve
POST    /conversations/{id}/servers/{server}/finish_login approve
POST    /conversations/{id}/servers/{server}/logout approve
POST    /conversations/{id}/rule                    approve
POST    /conversations/{id}/remove_rule             approve
POST    /conversations/{id}/configure               approve
POST    /conversations/{id}/confirmation_policy     approve
POST    /conversations/{id}/security_analyzer       approve
POST    /conversations/{id}/agree                   approve
POST    /conversations/{id}/load_plugin             admin
POST    /conversations/{id}/grant                   approve
GET     /metrics                                    admin
GET     /keys                                       admin
POST    /keys                                       admin
DELETE  /keys/{key_id}                              admin
GET     /settings/agent                             admin
PATCH   /settings/agent                             admin
GET     /settings/secrets                           admin
PUT     /settings/secrets/{name}                    admin
DELETE  /settings/secrets/{name}                    admin
"""
NEEDED = {(row.split()[0], row.split()[1]): row.split()[2] for row in TABLE.strip().splitlines()}

MODEL = {"type": "LLM", "model": "openai/a"}
BODIES: dict[str, Any] = {
    "message": {"content": "hello"},
    "commands": {"command": "true"},
    "rule": {"rule": {"verdict": "deny"}},
    "remove_rule": {"rule": {"verdict": "allow"}, "scope": "project"},
    "configure": {"changes": {"busy": "steer"}},
    "confirmation_policy": {"policy": {"type": "AlwaysConfirm"}},
    "switch_llm": {"llm": MODEL},
    "secrets": {"secrets": {"TOKEN": "a-secret-value"}},
    "goal": {"objective": "x"},
    "ask_agent": {"question": "x"},
    "rename": {"title": "x"},
    "tags": {"tags": {}},
    "grant": {"amount": 1},
    "agree": {"digest": "0"},
    "tool_result": {"action_id": "0", "content": "x"},
    "finish_login": {"address": "http://127.0.0.1/mcp/callback?state=x"},
    "servers/{server}/finish_login": {"address": "http://127.0.0.1/mcp/callback?state=x"},
    "result": {"content": "x"},
    "input": {"request_id": "0"},
    "actions/{action_id}/result": {"content": "x"},
    "load_plugin": {"source": "nowhere"},
    "rewind": {"to": 2},
}
ADMINS = ("/load_plugin",)
"""The controls that need an admin's key, on whatever conversation."""
QUERIES = {
    "checkpoints/changes": "?since=1&until=1",
    "checkpoints/diff": "?since=1&until=1",
    "files/content": "?path=x",
    "blobs/{sha256}": "",
    "git/diff": "?path=",
}


def conversation_operations() -> Iterator[tuple[str, str, Any]]:
    """Every operation on a conversation, with a body that is right."""
    for method, path in NEEDED:
        if "{id}" in path:
            tag = path.removeprefix("/conversations/{id}").strip("/")
            body = BODIES.get(tag, {}) if method == "POST" else {"title": "x"} if method == "PATCH" else None
            filled = path.replace("{seq:int}", "1").replace("{sha256}", "0" * 64)
            yield method, filled + QUERIES.get(tag, ""), body


@asynccontextmanager
async def one_scope_each(directory: Path) -> Any:
    """A server with a key for each scope, all of one owner."""
    async with doors(directory, ScriptedLLM([say("x")] * 100), rate=None) as at:
        at.keys |= {scope.value: await make_key(at.root, "ada", [scope]) for scope in Scope}
        yield at


@pytest.mark.pure
def test_the_table_has_every_operation() -> None:
    assert {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS} == set(NEEDED)


@pytest.mark.parametrize("scope", [scope.value for scope in Scope])
async def test_a_key_does_what_its_scope_allows_and_nothing_else(tmp_path: Path, scope: str) -> None:
    async with one_scope_each(tmp_path) as at:
        for (method, path), needed in NEEDED.items():
            made = await at.begin("ada")
            filled = path.replace("{id}", made).replace("{seq:int}", "1").replace("{sha256}", "0" * 64)
            filled = filled.replace("{key_id}", "000000000000")
            body = BODIES.get(path.rsplit("/", 1)[1], {}) if method in ("POST", "PATCH") else None
            if (method, path) == ("POST", "/conversations"):
                body = {"agent": msgspec.to_builtins(AGENT)}
            headers = at.header(scope) | {"Content-Type": "application/json"}
            data = msgspec.json.encode(body) if body is not None else None
            async with at.client.session.request(method, at.client.url + filled, data=data, headers=headers) as answer:
                allowed = needed in ("-", "any", scope) or scope == "admin"
                text = await answer.text()
                assert (answer.status not in (401, 403)) == allowed, (method, path, answer.status, text)
                if not allowed:
                    problem = msgspec.json.decode(text)
                    assert (problem["status"], problem["code"]) == (403, "scope"), (method, path)
                assert answer.status < 500, (method, path, text)


async def test_without_a_key_only_what_needs_none_answers(tmp_path: Path) -> None:
    async with doors(tmp_path, rate=None) as at:
        made = await at.begin("ada")
        for (method, path), needed in NEEDED.items():
            filled = path.replace("{id}", made).replace("{seq:int}", "1").replace("{key_id}", "x")
            async with at.client.session.request(method, at.client.url + filled) as answer:
                assert (answer.status == 401) == (needed != "-"), (method, path, answer.status)


async def asked(at: Doors, name: str, method: str, path: str, body: Any) -> tuple[int, str]:
    data = msgspec.json.encode(body) if body is not None else None
    headers = at.header(name) | {"Content-Type": "application/json"}
    async with at.client.session.request(method, at.client.url + path, data=data, headers=headers) as answer:
        told = await answer.text()
        hints = {name: answer.headers[name] for name in answer.headers if name not in ("Date", "Content-Length")}
        return answer.status, f"{told} {sorted(hints.items())}"


async def test_the_conversations_of_others_are_as_if_they_were_not_there(tmp_path: Path) -> None:
    """What is said of another's is what is said of none, to the letter."""
    async with doors(tmp_path, ScriptedLLM([say("x")] * 100), rate=None) as at:
        mine = await at.begin("ada", title="the needle", message="a needle to be found")
        none = "0" * len(mine)
        for method, path, body in conversation_operations():
            foreign = await asked(at, "bob", method, path.replace("{id}", mine), body)
            missing = await asked(at, "bob", method, path.replace("{id}", none), body)
            assert foreign == (missing[0], missing[1].replace(none, mine)), (method, path)
            if path.endswith(ADMINS):
                assert foreign[0] == 403, "whatever there is"
                continue
            assert foreign[0] == 404, (method, path, foreign)
            assert "conversation-missing" in foreign[1]
        for path in ("/conversations", "/conversations?query=needle", "/search?query=needle"):
            status, page = await at.ask("bob", "GET", path)
            assert (status, page["items"]) == (200, []), path
            assert (await at.ask("ada", "GET", path))[1]["items"], path
            assert (await at.ask("root", "GET", path))[1]["items"], path
        assert (await at.ask("ada", "GET", f"/conversations/{mine}"))[1]["title"] == "the needle", "nothing was changed"


async def test_on_a_socket_as_well(tmp_path: Path) -> None:
    async with doors(tmp_path, ScriptedLLM([say("x")] * 100)) as at:
        mine = await at.begin("ada")
        none = "0" * len(mine)
        for path in (mine, none):
            async with at.socket(f"/conversations/{path}/events", headers=at.header("bob")) as socket:
                assert await closed_with(socket) == 4004
        async with at.socket("/events", headers=at.header("bob")) as socket:

            async def told(frame: Any) -> str:
                await socket.send_bytes(msgspec.json.encode([frame]))
                return str(await socket.receive_str())

            for kind in get_args(AnyControl):
                control = {"type": tag_of(kind), **BODIES.get(tag_of(kind), {})}
                foreign, missing = [
                    await told({"type": "do", "id": "1", "conversation": name, "control": control})
                    for name in (mine, none)
                ]
                assert foreign == missing.replace(none, mine)
                assert '"code":"conversation-missing"' in foreign, tag_of(kind)
            foreign, missing = [await told({"type": "follow", "conversation": name}) for name in (mine, none)]
            assert foreign == missing.replace(none, mine)
            assert '"code":"conversation-missing"' in foreign


@pytest.mark.parametrize("scope", [scope.value for scope in Scope])
async def test_controls_on_a_socket_need_what_they_need_over_rest(tmp_path: Path, scope: str) -> None:
    async with one_scope_each(tmp_path) as at:
        for kind in get_args(AnyControl):
            made, tag = await at.begin("ada"), tag_of(kind)
            needed = NEEDED["POST", f"/conversations/{{id}}/{tag}"]
            async with at.socket("/events", headers=at.header(scope)) as socket:
                control = {"type": tag, **BODIES.get(tag, {})}
                frame = {"type": "do", "id": "1", "conversation": made, "control": control}
                await socket.send_bytes(msgspec.json.encode([frame]))
                answer = await socket.receive_str()
                assert ('"code":"scope"' not in answer) == (scope in (needed, "admin")), (tag, answer)


def _damage(directory: Path) -> bytes:
    """Let the second record of a conversation be none any more; its log as it was."""
    events = directory / "events.jsonl"
    whole = events.read_bytes()
    second = whole.index(b"\n") + 60
    events.write_bytes(whole[:second] + b"\x00" + whole[second + 1 :])
    for path in directory.iterdir():
        if path != events and path.is_file():
            path.unlink()
    return whole


async def test_what_is_damaged_or_locked_is_no_hint_either(tmp_path: Path) -> None:
    async with doors(tmp_path) as at:
        made = await at.begin("ada", title="one", tags={"two": "x"})
        await at.ask("ada", "POST", f"/conversations/{made}/rename", {"title": "three"})
    events = tmp_path / "store" / "conversations" / made / "events.jsonl"
    whole = _damage(events.parent)
    async with doors(tmp_path) as at:
        assert (await at.ask("bob", "GET", f"/conversations/{made}"))[0] == 404
        assert (await at.ask("ada", "GET", f"/conversations/{made}"))[0] == 409
        assert (await at.ask("root", "GET", f"/conversations/{made}"))[0] == 409
    events.write_bytes(whole)
    for path in (tmp_path / "workspaces").iterdir():
        path.rmdir()
    async with doors(tmp_path) as at:
        assert (await at.ask("bob", "GET", f"/conversations/{made}"))[0] == 404
        assert (await at.ask("ada", "GET", f"/conversations/{made}"))[0] not in (200, 404)


async def test_of_an_id_that_is_taken_that_is_all_that_is_told(tmp_path: Path) -> None:
    """Whosever it is, whether it works, sleeps, is damaged, or open in another process."""
    told: set[str] = set()

    async def take(at: Doors, name: str, **headers: str) -> None:
        own = await at.begin(name)
        body = {"agent": msgspec.to_builtins(AGENT), "id": "taken", "title": "mine"}
        for path, wanted in (("/conversations", body), (f"/conversations/{own}/fork", {"id": "taken"})):
            status, problem = await at.ask(name, "POST", path, wanted, **headers)
            assert status == 409
            told.add(msgspec.json.encode(problem).decode())

    async with doors(tmp_path, ScriptedLLM([say("x")] * 100)) as at:
        await at.begin("ada", id="taken", title="the needle", message="a needle to be found", tags={"needle": "x"})
        for name in ("ada", "bob", "root"):
            await take(at, name)
        await take(at, "bob", **{"Idempotency-Key": "needle"})
    async with doors(tmp_path) as at:
        await take(at, "bob")
        async with FileStore(tmp_path / "store") as other:
            await other.open("taken", lambda event: None)
            await take(at, "bob")
    _damage(tmp_path / "store" / "conversations" / "taken")
    async with doors(tmp_path) as at:
        await take(at, "bob")
    (problem,) = map(msgspec.json.decode, told)
    assert (
        problem.pop("detail") == "conversation 'taken' exists already: open it without an agent, or choose another id"
    )
    assert problem == {
        "title": "Conversation exists",
        "status": 409,
        "code": "conversation-exists",
        "data": {"name": "taken"},
    }


async def test_a_steering_key_is_stopped_where_it_would_loosen_something(tmp_path: Path) -> None:
    """The rules are tested in `test_permissions`; here, that REST and sockets ask them."""
    async with one_scope_each(tmp_path) as at:
        agent = msgspec.to_builtins(AGENT)
        for change in (
            {"confirmation": {"type": "NeverConfirm"}, "analyzer": None},
            {"hooks": [{"event": "start", "command": "touch /tmp/x"}]},
            {"rules": [{"verdict": "allow"}]},
            {"llm": {**MODEL, "base_url": "http://evil.example"}},
            {"llm": {**MODEL, "api_key_env": "AWS_SECRET_ACCESS_KEY"}},
        ):
            body = {"agent": {**agent, **change}}
            status, problem = await at.ask("steer", "POST", "/conversations", body)
            assert (status, problem["code"]) == (403, "scope"), change
        made = await at.begin("ada")
        evil: dict[str, Any] = {"llm": {**MODEL, "base_url": "http://evil.example"}}
        controls: tuple[tuple[str, dict[str, Any]], ...] = (
            ("switch_llm", evil),
            ("ask_agent", {"question": "x", **evil}),
            ("generate_title", evil),
            ("goal", {"objective": "x", "judge": evil["llm"]}),
        )
        for tag, body in controls:
            status, problem = await at.ask("steer", "POST", f"/conversations/{made}/{tag}", body)
            assert (status, problem["code"]) == (403, "scope"), tag
            async with at.socket("/events", headers=at.header("steer")) as socket:
                frame = {"type": "do", "id": "1", "conversation": made, "control": {"type": tag, **body}}
                await socket.send_bytes(msgspec.json.encode([frame]))
                assert '"code":"scope"' in await socket.receive_str()
        changes = {"changes": evil}
        assert (await at.ask("approve", "POST", f"/conversations/{made}/configure", changes))[0] == 403
        named = {"secrets": {"TOKEN": {"type": "EnvironmentSecret", "variable": "OPENAI_API_KEY"}}}
        assert (await at.ask("steer", "POST", f"/conversations/{made}/secrets", named))[0] == 422
        assert (await at.ask("steer", "POST", "/conversations", {"agent": agent, **named}))[0] == 422


async def test_a_fork_from_before_stays_as_strict(tmp_path: Path) -> None:
    async with one_scope_each(tmp_path) as at:
        loose = {"policy": {"type": "NeverConfirm"}}
        made = await at.begin("ada")
        await at.ask("ada", "POST", f"/conversations/{made}/confirmation_policy", loose)
        then = (await at.ask("ada", "GET", f"/conversations/{made}"))[1]["cursor"]["seq"]
        strict = {"policy": {"type": "AlwaysConfirm"}}
        await at.ask("ada", "POST", f"/conversations/{made}/confirmation_policy", strict)
        status, problem = await at.ask("steer", "POST", f"/conversations/{made}/fork", {"at": then})
        assert (status, problem["code"]) == (403, "scope")
        assert (await at.ask("steer", "POST", f"/conversations/{made}/fork", {}))[0] == 200
        assert (await at.ask("ada", "POST", f"/conversations/{made}/fork", {"at": then}))[0] == 200
