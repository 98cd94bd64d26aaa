"""What a page of a stranger can have a browser send, and what comes back, over real connections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import aiohttp
import anyio
import pytest

from agentrt import Runtime
from agentrt.errors import ConfigurationError
from agentrt.server import ServerSettings, create_app
from agentrt.server.auth.headers import HEADERS
from agentrt.testing import ScriptedLLM

from ..served import agent, served
from .doors import doors, raw

pytestmark = pytest.mark.real

JSON = {"Content-Type": "application/json"}
SETTINGS = {"allow_hosts": ("agents.example", "*.b.example"), "cors": ("https://console.example",)}


def settings(directory: Path) -> ServerSettings:
    return ServerSettings(port=0, workspaces=(directory / "workspaces",), **SETTINGS)  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "agents.example.evil.example", "b.example"])
async def test_a_rebound_name_reaches_nothing(tmp_path: Path, host: str) -> None:
    """A stranger's name that leads to this machine (DNS rebinding): no page of it gets an answer."""
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:
        for method, path in (("GET", "/"), ("GET", "/alive"), ("GET", "/conversations"), ("POST", "/conversations")):
            status, problem = await client.ask(method, path, {} if method == "POST" else None, Host=host, **JSON)
            assert (status, problem["code"]) == (421, "host"), (method, path)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await client.session.ws_connect(client.url + "/events", headers={"Host": host})
        assert refused.value.status == 421


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]:8000", "agents.example", "AGENTS.example:443", "a.b.example"]
)
async def test_its_own_names_reach_it(tmp_path: Path, host: str) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:
        assert (await client.ask("GET", "/alive", Host=host))[0] == 200


@pytest.mark.parametrize(
    "lines",
    ["", "Host: localhost\r\nHost: evil.example\r\n", "Host: localhost, evil.example\r\n", "Host: a@localhost\r\n"],
)
async def test_a_request_has_one_host(tmp_path: Path, lines: str) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        answer = await raw(client.url, f"GET /alive HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
        assert answer.split()[1] == b"400"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_a_page_of_another_origin_changes_nothing_and_opens_no_socket(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    """On an open server, where no key stands between a page and what it asks for."""
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:
        made = (await client.ask("POST", "/conversations", {"agent": agent()}, **JSON))[1]["id"]
        for method, path in (
            ("POST", "/conversations"),
            ("POST", f"/conversations/{made}/run"),
            ("PATCH", f"/conversations/{made}"),
            ("DELETE", f"/conversations/{made}"),
            ("PUT", f"/conversations/{made}/files/content?path=x"),
            ("POST", "/keys"),
            ("POST", "/tickets"),
        ):
            # as a form or a plain text, which a browser sends without asking first
            status, problem = await client.ask(method, path, {}, **headers, **{"Content-Type": "text/plain"})
            assert (status, problem["code"]) == (403, "origin"), (method, path)
        for path in ("/events", f"/conversations/{made}/events"):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await client.session.ws_connect(client.url + path, headers=headers)
            assert refused.value.status == 403
        assert (await client.ask("GET", f"/conversations/{made}"))[0] == 200


async def test_a_page_of_the_server_and_one_that_is_named_may(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:
        for origin in (client.url, "https://console.example"):
            status, _ = await client.ask("POST", "/conversations", {"agent": agent()}, Origin=origin, **JSON)
            assert status == 201
            async with client.session.ws_connect(client.url + "/events", headers={"Origin": origin}):
                pass


async def test_another_origin_may_read_only_where_it_is_named(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:

        async def allowed(method: str, origin: str, **more: str) -> str | None:
            headers = {"Origin": origin, **more}
            async with client.session.request(method, client.url + "/conversations", headers=headers) as answer:
                found = answer.headers.get("Access-Control-Allow-Origin")
                assert answer.headers.get("Access-Control-Allow-Credentials") is None
                return found

        preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        assert await allowed("GET", "https://console.example") == "https://console.example"
        assert await allowed("OPTIONS", "https://console.example", **preflight) == "https://console.example"
        assert await allowed("GET", "https://evil.example") is None
        assert await allowed("OPTIONS", "https://evil.example", **preflight) is None
        assert await allowed("GET", "https://console.example.evil.example") is None
    async with served(tmp_path, ScriptedLLM([])) as client:
        assert await allowed("GET", "https://console.example") is None


async def test_no_page_embeds_what_the_server_has(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
        assert (await client.ask("GET", "/conversations", **foreign))[0] == 403


async def test_every_answer_is_as_harmless_as_it_can_be(tmp_path: Path) -> None:
    async with doors(tmp_path) as at:
        made = await at.begin("ada")
        session, url, ada = at.client.session, at.client.url, at.header("ada")
        page = f"{url}/conversations/{made}/files/content?path=page.html"
        async with session.put(page, data=b"<script>alert(1)</script>", headers=ada) as answer:
            assert answer.status == 201
        for method, address, headers, expected in (
            ("GET", f"{url}/alive", {}, 200),
            ("GET", f"{url}/conversations", ada, 200),
            ("GET", f"{url}/conversations", {}, 401),
            ("GET", f"{url}/nowhere", {}, 404),
            ("GET", f"{url}/conversations/{made}/git/changes", ada, 404),
            ("DELETE", f"{url}/alive", {}, 405),
            ("POST", f"{url}/conversations", {"Origin": "null", **ada}, 403),
            ("GET", f"{url}/alive?token=x", {}, 400),
            ("GET", page, ada, 200),
        ):
            async with session.request(method, address, headers=headers) as answer:
                assert answer.status == expected, address
                for name in ("Cross-Origin-Resource-Policy", "X-Frame-Options", "Referrer-Policy"):
                    assert answer.headers[name] == HEADERS[name]
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                policy = answer.headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy
                assert "sandbox" in policy
                assert answer.headers["Cache-Control"] in ("no-store", "private, no-cache")
                assert "hypercorn" not in answer.headers.get("Server", "").lower()


async def test_a_server_that_fails_says_no_more_than_that(tmp_path: Path) -> None:
    async def broken(connection: object) -> object:
        raise RuntimeError("the secret reason")

    async with served(tmp_path, ScriptedLLM([]), authenticate=broken) as client:  # type: ignore[arg-type]
        async with client.session.get(client.url + "/conversations") as answer:
            assert answer.status == 500
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "secret reason" not in await answer.text()


async def test_headers_cannot_be_injected(tmp_path: Path) -> None:
    async with doors(tmp_path) as at:
        made = await at.begin("ada")
        key = at.keys["ada"].encode()
        for path in (
            b"/conversations/%0d%0aX-Evil:%201/events",
            f"/conversations/{made}/files/content?path=a%0d%0aX-Evil:%201".encode(),
            f"/conversations/{made}/files/archive?path=%22%0d%0aX-Evil:%201".encode(),
        ):
            for method in (b"GET", b"PUT"):
                request = (
                    method
                    + b" "
                    + path
                    + b" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                    + key
                    + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
                head = (await raw(at.client.url, request)).partition(b"\r\n\r\n")[0]
                assert head.startswith(b"HTTP/1.1 ")
                assert b"\r\nx-evil" not in head.lower()
        smuggled = b"GET /alive HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\rX-Evil: 1\r\n\r\n"
        assert (await raw(at.client.url, smuggled)).split()[1] == b"400"


async def test_bodies_and_headers_have_bounds(tmp_path: Path) -> None:
    async with doors(tmp_path, max_body=10_000, max_upload=20_000) as at:
        made = await at.begin("ada")
        large = {"content": "x" * 20_000}
        status, problem = await at.ask("ada", "POST", f"/conversations/{made}/message", large, **JSON)
        assert (status, problem["code"]) == (413, "body-too-large")
        place = f"{at.client.url}/conversations/{made}/files/content?path=x"

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(30):
                yield b"x" * 1000

        for data in (b"x" * 20_001, pieces()):
            async with at.client.session.put(place, data=data, headers=at.header("ada")) as answer:
                assert answer.status == 413
        assert (await at.ask("ada", "GET", f"/conversations/{made}/files"))[1]["items"] == []
        head = b"GET /alive HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000 + b"\r\n\r\n"
        with suppress(ConnectionError):  # it does not read that much
            assert (await raw(at.client.url, head)).split()[1] in (b"400", b"431")


async def test_who_sends_half_a_body_is_not_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with doors(tmp_path, patience=0.2) as at:
        made = await at.begin("ada")
        for line in ("POST /conversations", f"PUT /conversations/{made}/files/content?path=x"):
            head = f"{line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
            request = f"{head}Authorization: Bearer {at.keys['ada']}\r\n\r\n{{".encode()
            answer = await raw(at.client.url, request)
            assert answer.split()[1] == b"408"
            assert b"\r\nconnection: close" in answer.lower()
            host, port = at.client.url.removeprefix("http://").split(":")
            async with await anyio.connect_tcp(host, int(port)) as gone:
                await gone.send(request)
        with anyio.fail_after(30):
            while (await at.ask("ada", "GET", f"/conversations/{made}/files"))[1]["items"]:
                await anyio.lowlevel.checkpoint()  # until it was seen that the second is gone
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.simulated
@pytest.mark.parametrize("origin", ["*", "console.example"])
def test_no_server_is_made_that_all_may_read(tmp_path: Path, origin: str) -> None:
    with pytest.raises(ConfigurationError, match="not an origin"):
        create_app(Runtime(tmp_path), ServerSettings(cors=(origin,)))
