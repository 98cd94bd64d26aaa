"""Requests that may change what listens on this machine."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentrt import Effects, SecurityRisk
from agentrt.security.command_rules import rate_command, wanted_by
from agentrt.security.paths import site
from agentrt.security.request_rules import ANY_PORT, local_port
from agentrt.security.rules import rate_action, wanted
from agentrt.specs import DockerWorkspace, Sent

from .corpus import SCENE, call

pytestmark = pytest.mark.pure

LOW, MEDIUM, HIGH, UNKNOWN = SecurityRisk.LOW, SecurityRisk.MEDIUM, SecurityRisk.HIGH, SecurityRisk.UNKNOWN
HERE = site("/home/me/project", "/home/me/project")
PYTHON = "python3 -c '{}'".format


CHANGING = [
    ("curl -X POST http://127.0.0.1:2375/containers/create", 2375),
    ("curl -XDELETE http://127.0.0.1:9200/idx", 9200),
    ("curl --request DELETE localhost:9200/idx", 9200),
    ("curl -L -X DELETE http://127.0.0.1:9200/idx", 9200),
    ("curl -d x=1 127.1:2375/x", 2375),
    ("curl --json '{}' http://[::1]:2375/x", 2375),
    ("curl --data-raw x http://0x7f000001:2375/x", 2375),
    ("curl -F a=b http://localhost:2375/x", 2375),
    ("curl -T notes.txt http://localhost:2375/x", 2375),
    ("curl -G -X PUT -d x http://localhost:2375/x", 2375),
    ("curl -H 'X-HTTP-Method-Override: DELETE' http://localhost:2375/x", 2375),
    ("curl -X POST http://docker.localhost:2375/x", 2375),
    ("curl -X POST http://localhost/x", 80),
    ("p=2375; curl -X POST http://localhost:$p/x", 2375),
    ("sh -c 'curl -X POST http://localhost:2375/x'", 2375),
    ("wget --method=DELETE http://localhost:9200/idx", 9200),
    ("wget --post-data=x http://localhost:9200/idx", 9200),
    ("wget --body-data=x --method GET http://localhost:9200/idx", 9200),
    ("http DELETE :9200/idx", 9200),
    ("http localhost:9200/idx name=x", 9200),
    ("http POST http://localhost:9200/idx", 9200),
    ("echo x | http :9200/idx", 9200),
    ("printf 'DELETE /idx HTTP/1.0\\r\\n\\r\\n' | nc localhost 9200", 9200),
    (PYTHON('import requests; requests.post("http://127.0.0.1:2375/x")'), 2375),
    (PYTHON('import requests; requests.request("DELETE", "http://127.0.0.1:9200/x")'), 9200),
    (PYTHON('import requests; s = requests.Session(); s.delete("http://127.0.0.1:9200/x")'), 9200),
    (PYTHON('import httpx; httpx.Client(base_url="http://127.0.0.1:9200").put("/x", json={})'), 9200),
    (PYTHON('from urllib.request import *; urlopen("http://127.0.0.1:2375/x", b"x")'), 2375),
    (PYTHON('import urllib.request as u; u.urlopen(u.Request("http://localhost:2375/x", method="DELETE"))'), 2375),
    (PYTHON('import http.client as h; c = h.HTTPConnection("localhost", 2375); c.request("POST", "/x")'), 2375),
    (PYTHON('import socket; s = socket.create_connection(("127.0.0.1", 2375)); s.sendall(b"x")'), 2375),
    ('node -e \'fetch("http://127.0.0.1:2375/x", {method: "POST"})\'', 2375),
    ("curl --resolve example.com:2375:127.0.0.1 -d x http://example.com:2375/", 2375),
    ("curl --resolve example.com:2375:::1 -d x http://example.com:2375/", 2375),
    ("curl --connect-to ::localhost:2375 -d x http://example.com/", 2375),
    ("curl --connect-to '[::2]:80:[::1]:2375' -d x http://example.com/", 2375),
    ("curl -x localhost:2375 -d x http://example.com/", 2375),
    ("curl --proxy=http://127.0.0.1:2375 -d x http://example.com/", 2375),
    ("http_proxy=http://localhost:2375 curl -d x http://example.com/", 2375),
    ("curl -d x http:///localhost:2375/x", 2375),
    ("curl -d x http://a@b@localhost:2375/x", 2375),
    ("curl -d x http://%6cocalhost:2375/x", 2375),
    ("curl -d x 'http://[::1]:2375/{a,b}'", 2375),
    ("http localhost:9200 @file", 9200),
    ("curlie -d x localhost:9200", 9200),
    ("curlie DELETE localhost:9200", 9200),
    ("lwp-request -m POST http://localhost:2375", 2375),
    ("echo x | socat - TCP:127.0.0.1:2375", 2375),
    ("echo x | socat STDIO TCP4-CONNECT:localhost:2375,retry=3", 2375),
    ("echo x | telnet localhost 2375", 2375),
    ("echo x | openssl s_client -connect localhost:2375", 2375),
    ("""node -e 'axios.post("http://localhost:2375")'""", 2375),
    ("""node -e 'require("got").post("http://localhost:2375")'""", 2375),
    ("""node -e 'require("undici").request("http://localhost:2375", {method: "POST"})'""", 2375),
    ("""node -e 'fetch("HTTP://127.0.0.1:2375", {method: "POST"})'""", 2375),
    ("""node -e 'http.request({host: "localhost", port: 2375, method: "POST"}).end()'""", 2375),
    ("""node -e 'http.request({port: 2375, method: "POST"}).end()'""", 2375),
    ("""node -e 'require("net").connect(2375, "localhost").write("x")'""", 2375),
    ("""node -e 'require("net").connect(2375).write("x")'""", 2375),
    ("""perl -e 'LWP::UserAgent->new->post("http://localhost:2375")'""", 2375),
    ("""perl -e 'print {IO::Socket::INET->new(PeerAddr => "localhost", PeerPort => 2375)} "x"'""", 2375),
    ("""ruby -e 'Net::HTTP.new("localhost", 2375).post("/x", "")'""", 2375),
    ("""ruby -e 'TCPSocket.new("localhost", 2375).puts "x"'""", 2375),
    ('ruby -e \'require "net/http"; Net::HTTP.post(URI("http://127.0.0.1:2375/x"), "")\'', 2375),
]


@pytest.mark.parametrize(("command", "port"), CHANGING)
def test_a_request_that_may_change_this_machine_is_high(command: str, port: int) -> None:
    rating = rate_command(command, HERE)
    assert (rating.risk, "outside" in rating.sinks) == (HIGH, True)
    reason = f"sends to port {port} of this machine, where nothing of this conversation listens"
    assert rating.reason.startswith(reason)
    assert port in wanted_by(command, HERE).ports


@pytest.mark.parametrize(("command", "port"), CHANGING)
def test_not_where_the_conversation_listens(command: str, port: int) -> None:
    where = site("/home/me/project", "/home/me/project", listening=frozenset({port}))
    assert rate_command(command, where).risk in (LOW, MEDIUM)
    assert rate_command(command, replace(HERE, listening=None)).risk in (LOW, MEDIUM)


@pytest.mark.parametrize(
    "command",
    [
        "curl http://127.0.0.1:9200/idx",
        "curl -I -X HEAD http://127.0.0.1:9200/idx",
        "curl -G -d q=x http://127.0.0.1:9200/idx",
        "curl -s -H 'Accept: x' -o out.json http://localhost:9200/",
        "wget -q http://localhost:9200/idx",
        "http :9200/idx q==x Accept:x",
        "http GET localhost:9200/idx",
        "nc -z localhost 9200",
        PYTHON('import requests; requests.get("http://127.0.0.1:9200/x", timeout=3).json().get("a")'),
        PYTHON('import urllib.request as u; u.urlopen("http://localhost:9200/x", timeout=3)'),
        "node -e 'fetch(\"http://127.0.0.1:2375/x\")'",
        """node -e 'http.request({host: "localhost", port: 2375}).end()'""",
        """node -e 'const m = new Map(); m.delete("a"); console.log("http://localhost:3000")'""",
        """node -e 'require("net").createServer(s => s.end("x")).listen(3000, "localhost")'""",
        """node -e 'app.listen({port: 3000}); fetch("https://example.com", {method: "POST"})'""",
        "curl --resolve example.com:80:127.0.0.1 http://example.com/",
        "curl -d x 'http://example.com/{a,b}'",
        "echo x | socat - TCP:example.com:80",
        "telnet localhost 2375",
    ],
)
def test_a_request_that_only_reads_is_not(command: str) -> None:
    assert rate_command(command, HERE).risk in (LOW, MEDIUM)
    assert not wanted_by(command, HERE).ports


@pytest.mark.parametrize(
    "command",
    [
        "curl -X POST http://localhost:$PORT/x",
        "curl -X POST 'http://localhost:{2375,2376}/x'",
        "curl -X POST http://localhost:[1-9]/x",
        "curl -X POST 'http://{localhost,example.com}:2375/x'",
        "curl -X POST 'http://loca[l-l]host:2375/x'",
        "wget -i urls --post-data=x",
        """node -e 'fetch("http://localhost:" + port, {method: "POST"})'""",
        """node -e 'fetch(`http://localhost:${port}`, {method: "POST"})'""",
        """node -e 'http.request({host: "localhost", port, method: "POST"}).end()'""",
        """ruby -e 'Net::HTTP.new("localhost", port).post("/x", "")'""",
    ],
)
def test_a_port_that_is_not_known_is_unknown(command: str) -> None:
    assert rate_command(command, HERE).risk is UNKNOWN
    assert rate_command("curl -X POST http://localhost:{1..9}/x", HERE).risk in (UNKNOWN, HIGH)


def python(code: str) -> str:
    """The command that runs Python code."""
    return f"python3 - <<'E'\n{code}\nE\n"


SENDING = [
    ("import subprocess, requests; subprocess.run(('echo', '2375')); requests.post('http://127.0.0.1:2375/x')", 2375),
    ("def never(): app.run(port=2375)\nimport requests; requests.post('http://127.0.0.1:2375/x')", 2375),
    (
        "import socket, requests\ntry: socket.socket().bind(('127.0.0.1', 2375))\nexcept OSError: pass\n"
        "requests.post('http://127.0.0.1:2375/x')",
        2375,
    ),
    ("import socket, requests; socket.create_server(('', 0)); requests.post('http://127.0.0.1:2375/x')", 2375),
    ("import requests; requests.post('HTTP://127.0.0.1:2375/x')", 2375),
    ("import requests, functools; functools.partial(requests.post, 'http://localhost:2375')()", 2375),
    ("import requests; list(map(requests.post, ['http://localhost:2375']))", 2375),
    ("import niquests; niquests.post('http://127.0.0.1:2375/x')", 2375),
    ("import requests; requests.get('http://localhost:9200/', headers={'X-HTTP-Method-Override': 'DELETE'})", 9200),
    ("from urllib.request import build_opener; build_opener().open('http://localhost:2375/x', b'x')", 2375),
    ("import urllib.request as u; o = u.build_opener(); o.open('http://localhost:2375/x', data=b'x')", 2375),
    ("import http.client as h; c = h.HTTPConnection('localhost', 2375); c.putrequest('POST', '/x')", 2375),
    ("import http.client as h; c = h.HTTPConnection('127.1:2375'); c.request('POST', '/x')", 2375),
    ("import xmlrpc.client; xmlrpc.client.ServerProxy('http://localhost:9001').supervisor.shutdown()", 9001),
    ("import socket; s = socket.create_connection(('localhost', 2375)); s.makefile('w').write('x')", 2375),
    ("import socket; a = ('127.0.0.1', 2375); s = socket.socket(); s.connect(a); s.send(b'x')", 2375),
    ("import socket; s = socket.socket(); s.sendto(b'x', ('127.0.0.1', 2375))", 2375),
    ("async def f():\n r, w = await asyncio.open_connection('localhost', 2375)\n w.write(b'x')\nimport asyncio", 2375),
    ("import requests\nrequests.get('http://localhost:9200/')\ndef f(s, u): s.delete(u)", 9200),
    ("import requests\nrequests.get('http://localhost:9200/')\ndef f(u): s = requests.Session(); s.delete(u)", 9200),
    (
        "import requests, copy\nrequests.get('http://localhost:9200/')\ns = copy.copy(requests.Session()); s.put(u)",
        9200,
    ),
    ("import requests, queue\nrequests.get('http://localhost:9200/')\nq = queue.Queue(); q.put = f; q.put(u)", 9200),
]


@pytest.mark.parametrize(("code", "port"), SENDING)
def test_python_code_that_may_change_this_machine_is_high(code: str, port: int) -> None:
    rating = rate_command(python(code), HERE)
    assert (rating.risk, rating.reason.split(",")[0]) == (HIGH, f"sends to port {port} of this machine")
    assert wanted_by(python(code), HERE).ports == {port}
    assert rate_command(python(code), replace(HERE, listening=frozenset({port}))).risk in (LOW, MEDIUM)


@pytest.mark.parametrize(
    "code",
    [
        "import os, requests; requests.post('http://127.0.0.1:' + os.environ['P'])",
        "import requests\ndef f(p): requests.post(f'http://localhost:{p}')",
        "import requests\ndef f(p): requests.post('http://localhost:%d/x' % p)",
        "import requests\ndef f(p): g(f'http://localhost:{p}')\ndef g(u): requests.post(u)",
        "import requests\nfor h in ['localhost']: requests.post('http://' + h + ':2375/x')",
        "import socket\ndef f(p): s = socket.create_connection(('localhost', p)); s.send(b'x')",
        "import http.server as h, requests; s = h.HTTPServer(('', 0), None); "
        "requests.post(f'http://localhost:{s.server_port}/x')",
    ],
)
def test_a_port_that_python_code_works_out_is_unknown(code: str) -> None:
    assert rate_command(python(code), HERE).risk is UNKNOWN
    assert rate_command(python(code), replace(HERE, listening=frozenset({2375}))).risk is UNKNOWN


@pytest.mark.parametrize(
    "code",
    [
        "import queue; q = queue.Queue(); q.put(r)",
        "from queue import Queue\nwith Queue() as q: q.put(r)",
        "import asyncio\nclass A:\n async def f(self): self.q = asyncio.Queue(); await self.q.put(r)",
        "import diskcache; cache = diskcache.Cache('x'); cache.delete(k)",
        "from django.core.cache import cache; cache.delete(k)",
        "from sqlalchemy.orm import Session\nwith Session(engine) as session: session.delete(r)",
        "d = {}; d.put(r)",
        "def numbers():\n x = yield\ng = numbers(); next(g); g.send(2)",
        "def f(g): g.send(2)",
        "import sys; sys.stdout.write(r.text)",
        "open('notes.txt', 'w').write(r.text)",
    ],
)
def test_what_is_no_network_client_sends_nothing(code: str) -> None:
    code = f"import requests; r = requests.get('http://localhost:9200/x')\n{code}"
    assert rate_command(python(code), HERE).risk in (LOW, MEDIUM)
    assert not wanted_by(python(code), HERE).ports


def test_a_program_that_serves_excuses_itself_from_nothing() -> None:
    code = "import http.server, urllib.request\nserver = http.server.HTTPServer(('127.0.0.1', 8765), None)\n"
    code = python(f"{code}urllib.request.urlopen('http://127.0.0.1:8765/x', b'x')")
    assert rate_command(code, HERE).risk is HIGH
    assert rate_command(code, replace(HERE, listening=frozenset({8765}))).risk in (LOW, MEDIUM)


@pytest.mark.parametrize(
    ("sent", "listening", "risk"),
    [
        (Sent("http://127.0.0.1:2375/containers/create", "POST"), (), HIGH),
        ("localhost:9200", (), HIGH),
        ("localhost:9200", (9200,), LOW),
        ("localhost:9200", (9201,), HIGH),
        ("https://example.com/", (), MEDIUM),
    ],
)
def test_a_tool_says_what_it_sends(sent: str | Sent, listening: tuple[int, ...], risk: SecurityRisk) -> None:
    scene = replace(SCENE, effects=Effects(sends=(sent,)), listening=frozenset(listening))
    assert rate_action(call("mine"), scene).risk is risk


def test_a_tool_of_a_server_is_rated_by_its_arguments() -> None:
    action = call("mcp_http", url="http://127.0.0.1:2375/x", method="POST")
    assert rate_action(action, replace(SCENE, only_reads=True)).risk is HIGH
    assert wanted(action, SCENE) == (frozenset(), frozenset({2375}))
    read = call("mcp_http", url="http://127.0.0.1:2375/x", method="get")
    assert rate_action(read, replace(SCENE, only_reads=True)).risk is LOW


def test_what_listens_in_a_container_is_the_conversations_own_but_a_tool_is_not_in_the_container() -> None:
    scene = replace(SCENE, workspace=DockerWorkspace("/home/me/project", image="x"))
    posts = "curl -X POST http://127.0.0.1:2375/x"
    assert rate_action(call("terminal"), replace(scene, effects=Effects(runs=(posts,)))).risk is LOW
    assert rate_action(call("mine"), replace(scene, effects=Effects(sends=("localhost:2375",)))).risk is HIGH
    shared = replace(scene, workspace=DockerWorkspace("/home/me/project", image="x", network="host"))
    assert rate_action(call("terminal"), replace(shared, effects=Effects(runs=(posts,)))).risk is HIGH


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("http://localhost", 80),
        ("https://127.0.0.1/x", 443),
        ("http://user:1@127.0.0.1:81/x:2", 81),
        ("localhost:8000", 8000),
        ("[::1]:8000", 8000),
        ("http://localhost:x/", ANY_PORT),
        ("http://localhost:123456/", ANY_PORT),
        ("redis://localhost", ANY_PORT),
        ("http://localhost@example.com:80/", None),
        ("https://example.com", None),
    ],
)
def test_the_port_of_an_address(text: str, port: int | None) -> None:
    assert local_port(text) == port
