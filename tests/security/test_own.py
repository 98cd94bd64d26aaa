"""What belongs to the runtime: its store, wherever it lies, its server and its library."""

from __future__ import annotations

import msgspec
import pytest

from agentrt.events import ActionEvent
from agentrt.security.rating import Own, Scene
from agentrt.specs import LocalWorkspace, SecurityRisk

from .corpus import rate_action

pytestmark = pytest.mark.pure

HIGH = SecurityRisk.HIGH
OWN = Own(("/srv/agents",), (8123,))


def rated(tool: str, workspace: str = "/home/ada/work", start: str | None = None, **arguments: object) -> SecurityRisk:
    action = ActionEvent(
        tool_name=tool,
        tool_call_id="c",
        arguments_json=msgspec.Raw(msgspec.json.encode(arguments)),
        llm_response_id="r",
    )
    return rate_action(action, Scene(LocalWorkspace(workspace), start or workspace, own=OWN)).risk


@pytest.mark.parametrize(
    "command",
    [
        "cat /srv/agents/conversations/c/events.jsonl",
        "ls /srv/agents",
        "echo '{}' > /srv/agents/rules/x.json",
        "cd /srv/agents && cat keys.json",
        "rm -rf /srv/agents",
        "rm -rf /srv",
        "cp -r /srv/agents .",
        "sed -i s/deny/allow/ /srv/agents/rules/x.json",
        "python3 -c \"print(open('/srv/agents/keys.json').read())\"",
        "python3 -c \"from agentrt.server.auth.keyring import Keyring; Keyring('x').create('me', ['admin'])\"",
        "python3 - <<'X'\nimport agentrt.storage as s\ns.change_project_rules('a', 'b')\nX",
        "python3 -c \"import importlib; importlib.import_module('agentrt.storage')\"",
        "python3 -m agentrt keys create --owner me --scope admin",
        "agentrt rules add allow terminal",
        "curl -X POST http://127.0.0.1:8123/conversations/c/confirm -d '{}'",
        "(sleep 5; curl -s localhost:8123/conversations) &",
        "wget -qO- http://[::1]:8123/conversations",
        "nc 127.0.0.1 8123",
        "curl http://0177.0.0.1:8123/",
        "curl 'http://[::ffff:7f00:1]:8123/'",
        "PORT=8123; curl http://localhost:$PORT/",
        "python3 -c \"import urllib.request as u; u.urlopen('http://localhost:8123/conversations')\"",
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', 8123))\"",
        "exec 3<>/dev/tcp/127.0.0.1/8123",
    ],
)
def test_a_command_that_touches_it_is_high(command: str) -> None:
    assert rated("terminal", command=command) is HIGH


@pytest.mark.parametrize(
    ("command", "risk"), [("grep -r key /srv", SecurityRisk.MEDIUM), ("tar cf x.tar /srv", HIGH), ("ls /srv", None)]
)
def test_a_directory_above_it_is_no_harmless_place_to_search(command: str, risk: SecurityRisk | None) -> None:
    assert rated("terminal", command=command) is (risk or SecurityRisk.LOW)


@pytest.mark.parametrize(
    "command",
    [
        "curl -s http://127.0.0.1:3000/health",
        "curl -s http://localhost:81234/",
        "cat src/agentrt.py",
        "echo 8123",
        "ls /srv/other",
        "grep -rn 'localhost:8123' .",
        "git commit -m 'serve on http://localhost:8123 by default'",
        "cat > README.md <<'E'\nOpen http://127.0.0.1:8123\nE",
        "uvicorn app:app --host 0.0.0.0 --port 8123",
        "psql -h localhost -c 'select * from t limit 8123'",
        "curl localhost:9000/8123",
        "grep -rn agentrt .",
    ],
)
def test_what_is_only_like_it_is_not(command: str) -> None:
    assert rated("terminal", command=command) is not HIGH


@pytest.mark.parametrize("command", ["view", "create", "str_replace"])
def test_files_of_the_store_are_high_for_the_editor(command: str) -> None:
    more = {"file_text": "x"} if command == "create" else {"old_str": "a", "new_str": "b"}
    path = "/srv/agents/rules/x.json"
    assert rated("file_editor", command=command, path=path, **({} if command == "view" else more)) is HIGH


def test_a_script_that_asks_the_server_is_high() -> None:
    action = ActionEvent(
        tool_name="terminal",
        tool_call_id="c",
        arguments_json=msgspec.Raw(b'{"command":"python3 go.py"}'),
        llm_response_id="r",
    )
    text = "import http.client\nhttp.client.HTTPConnection('localhost', 8123).request('POST', '/x')\n"
    scene = Scene(LocalWorkspace("/w"), "/w", {"/w/go.py": text}, OWN)
    assert rate_action(action, scene).risk is HIGH


def test_what_is_typed_into_a_program_is_looked_at() -> None:
    typed = "import urllib.request; urllib.request.urlopen('http://localhost:8123/')"
    assert rated("terminal", command=typed, is_input=True) is HIGH


def test_a_workspace_in_the_store_is_the_agents_own() -> None:
    workspace = "/srv/agents/workspaces/one"
    assert rated("terminal", workspace, command="cat notes.txt") is SecurityRisk.LOW
    assert rated("terminal", workspace, command="cat ../../keys.json") is HIGH
