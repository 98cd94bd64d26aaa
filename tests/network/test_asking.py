"""Questions to servers that lead elsewhere, send too much, or never end."""

from __future__ import annotations

import gzip
import logging
import re
import ssl
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.abc
import pytest

from agentrt.errors import ToolError
from agentrt.network import Answer, Bounds, Guard, Question
from agentrt.network.asking import ask
from tests.certificates import self_signed
from tests.network.serving import Asked, endless, page, pages, serving

pytestmark = pytest.mark.real

HERE = Guard(["127.0.0.1"])


async def asked(url: str, guard: Guard = HERE, **bounds: float) -> Answer:
    with anyio.fail_after(20):
        return await ask(Question(url), guard, Bounds(**bounds))  # type: ignore[arg-type]


async def test_an_answer_is_what_the_server_said() -> None:
    async with serving(pages({"/": page("héllo", "Text/HTML; Charset='x y'; q=1")})) as server:
        answer = await asked(server.url("/?a=b c#part"))
        assert (answer.status, answer.media_type, answer.body, answer.size) == (200, "text/html", "héllo".encode(), 6)
        assert server.asked[0].path == "/?a=b%20c"
        assert server.asked[0].headers["accept-encoding"] == "gzip, deflate"
        assert server.asked[0].headers["host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2", "0.0.0.0", "2130706433", "[::ffff:127.0.0.1]", "127.1"])
async def test_a_redirect_to_a_private_address_is_refused(host: str) -> None:
    """Each stands for this machine, and only 127.0.0.1 was allowed."""
    async with serving(pages({"/": page("canary")}), "0.0.0.0") as canary:
        there = f"http://{host}:{canary.port}/"
        async with serving(pages({"/": page("", status=302, Location=there)})) as server:
            with pytest.raises(ToolError, match="private"):
                await asked(server.url())
        with pytest.raises(ToolError, match="private"):
            await asked(there)
        assert canary.asked == []


async def test_redirects_are_followed_and_counted() -> None:
    async def on(request: Asked, stream: anyio.abc.ByteSendStream) -> None:
        number = int(request.path[1:])
        await stream.send(page("end") if not number else page("", status=307, Location=f"/{number - 1}"))

    async with serving(on) as server:
        assert (await asked(server.url("/10"))).url == server.url("/0")
        with pytest.raises(ToolError, match="leads on more than 10 times"):
            await asked(server.url("/11"))
        assert (await asked(server.url("/3"), redirects=3)).body == b"end"


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://127.0.0.1/", "javascript:alert(1)", "data:text/plain,x"]
)
async def test_a_redirect_leads_to_the_web_only(location: str) -> None:
    async with serving(pages({"/": page("", status=302, Location=location)})) as server:
        with pytest.raises(ToolError):
            await asked(server.url())


async def test_the_body_of_a_redirect_is_not_read() -> None:
    async def on(request: Asked, stream: anyio.abc.ByteSendStream) -> None:
        if request.path == "/end":
            return await stream.send(page("end"))
        await stream.send(b"HTTP/1.1 302 X\r\nLocation: /end\r\nContent-Type: text/html\r\n\r\n")
        while True:
            await stream.send(bytes(65536))

    async with serving(on) as server:
        assert (await asked(server.url())).body == b"end"


async def test_an_endless_body_is_cut_in_bounded_memory() -> None:
    async def flood(request: Asked, stream: anyio.abc.ByteSendStream) -> None:
        await stream.send(endless())
        while True:
            await stream.send(bytes(65536))

    async with serving(flood) as server:
        await asked_too_long(server.url(), "has more")


async def test_a_bomb_is_cut_in_bounded_memory() -> None:
    bomb = gzip.compress(gzip.compress(bytes(200 << 20)) * 10)
    assert len(bomb) < 1 << 20
    for data in (bomb, gzip.compress(bytes(200 << 20))):
        async with serving(pages({"/": page(data, Content_Encoding="gzip")})) as server:
            await asked_too_long(server.url(), "has more")


async def asked_too_long(url: str, says: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ToolError, match=says):
            await asked(url, most_bytes=1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


async def test_a_gigabyte_is_refused_by_its_length() -> None:
    head = endless(Content_Length=str(1 << 30))
    async with serving(pages({"/": head})) as server:
        with pytest.raises(ToolError, match=r"1,073,741,824 bytes.*terminal"):
            await asked(server.url())
        answer = await ask(Question(server.url()), HERE, Bounds(wanted=lambda kind: False))
        assert (answer.size, answer.body) == (1 << 30, b"")


@pytest.mark.parametrize("where", ["connection", "head", "body"])
async def test_what_trickles_ends_with_the_time(where: str) -> None:
    async def trickle(request: Asked, stream: anyio.abc.ByteSendStream) -> None:
        if where != "connection":
            await stream.send(endless() if where == "body" else b"HTTP/1.1 200 OK\r\n")
            async for piece in slowly():
                await stream.send(piece)
        await anyio.sleep_forever()

    async def slowly() -> AsyncIterator[bytes]:
        for number in range(1000):
            yield b"X-%d: a\r\n" % number
            await anyio.sleep(0.01)

    async with serving(trickle) as server:
        with pytest.raises(ToolError, match=r"took longer than 0\.3 s"):
            await asked(server.url(), seconds=0.3)


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (b"", "broken off"),
        (b"HTTP/9.9 what\r\n\r\n", "broken off"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "broken off"),
        (page("x", Content_Encoding="br"), "'br' was not asked for"),
        (page("not gzip at all", Content_Encoding="gzip"), "damaged"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 200_000 + b"\r\n\r\n", "broken off"),
    ],
)
async def test_what_is_no_answer_is_said_to_be_none(said: bytes, says: str) -> None:
    async with serving(pages({"/": said})) as server:
        with pytest.raises(ToolError, match=says):
            await asked(server.url())


async def test_where_nobody_listens() -> None:
    async with serving(pages({})) as server:
        pass
    with pytest.raises(ToolError, match="does not answer"):
        await asked(server.url())
    for url in ("nothing", "http://", "http://[", "https://a b/", "mailto:x@y"):
        with pytest.raises(ToolError, match="not a web address|is not known"):
            await asked(url)


async def test_tls_that_nobody_vouches_for() -> None:
    async with serving(pages({"/": page("x")})) as server:
        with pytest.raises(ToolError, match="no valid TLS certificate, or speaks no TLS"):
            await asked(server.url().replace("http:", "https:"))


async def test_a_certificate_is_held_against_the_name(tmp_path: Path) -> None:
    """Though an address is connected to."""
    context, seen = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), list[str | None]()
    context.load_cert_chain(*self_signed(tmp_path))
    context.sni_callback = lambda connection, server_name, context: seen.append(server_name)
    async with serving(pages({}), tls=context) as server:
        url = server.url(host="localhost").replace("http:", "https:")
        with pytest.raises(ToolError, match=r"no valid TLS certificate.*self.signed"):
            await asked(url, Guard(["localhost"]))
    assert seen == ["localhost"]
    assert server.asked == []


async def test_of_an_error_as_much_is_read_as_there_is_room() -> None:
    async with serving(pages({"/": page("x" * 5000, status=500)})) as server:
        answer = await asked(server.url(), most_bytes=1000)
        assert answer.status == 500


async def test_headers_stay_with_the_origin_they_were_meant_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(pages({"/": page("there")})) as other:
        there = {"/": page("", status=302, Location="/2"), "/2": page("", status=302, Location=other.url())}
        async with serving(pages(there)) as server:
            url = server.url().replace("//", "//me:pass%20word@")
            headers = {"X-Key": "very-secret", "Accept": "text/html"}
            answer = await ask(Question(url, headers=headers), HERE)
    assert answer.url == other.url()
    assert [one.headers.get("x-key") for one in server.asked] == ["very-secret"] * 2
    assert [one.headers["authorization"] for one in server.asked] == ["Basic bWU6cGFzcyB3b3Jk"] * 2
    assert not {"x-key", "authorization"} & set(other.asked[0].headers)
    assert other.asked[0].headers["accept"] == "text/html"
    assert not re.search("very-secret|pass.{1,3}word|bWU6", caplog.text)


async def test_the_address_that_was_checked_is_the_one_that_is_asked() -> None:
    """`localhost` may be ::1 and 127.0.0.1: what does not answer at the first is asked at the next."""
    async with serving(pages({"/": page("here")})) as server:
        answer = await asked(server.url(host="localhost"), Guard(["localhost"]))
        assert (answer.body, answer.url) == (b"here", server.url(host="localhost"))
        assert server.asked[0].headers["host"] == f"localhost:{server.port}"
