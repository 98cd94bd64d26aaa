"""`fetch`, against servers on loopback."""

from __future__ import annotations

import base64
import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import msgspec
import pytest

from agentrt import LLM, Agent, Conversation
from agentrt.errors import ToolError
from agentrt.events import ObservationEvent
from agentrt.secrets import SecretRegistry
from agentrt.specs import ImageContent, Tool
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, say
from agentrt.tools.web import fetch
from agentrt.tools.web.fetch import MAX_SHOWN, Fetch, FetchAction, FetchObservation
from tests.clock import Time
from tests.documents.making import FILES
from tests.network.serving import Asked, Server, endless, page, pages, serving
from tests.tools.context import FakeContext

pytestmark = pytest.mark.real

HERE: Mapping[str, Any] = {"allow_private": "127.0.0.1"}

ARTICLE = """<!doctype html><html><head><title> All about
 &lt;herons&gt;</title><script>evil()</script></head><body>
<nav><a href="/">Home</a><a href="/login">Log in</a></nav>
<article><h1>Herons</h1>
<p>Herons are <b>long-legged</b> birds with <a href="../birds?x=1#top">many relatives</a>, and they stand in shallow
water for hours, until a fish comes by that is small enough to be eaten.</p>
<h2>Counting</h2><p>Count them with <code>count(pond)</code>, which is done once a year, in the early morning:</p>
<pre><code>def count(pond):
    return sum(1 for bird in pond)
</code></pre>
<table><tr><th>Pond</th><th>Herons</th></tr><tr><td>North</td><td>12</td></tr><tr><td>South</td><td>7</td></tr></table>
<ul><li>grey herons</li><li>purple herons</li></ul></article>
<footer>Imprint</footer></body></html>"""
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def fetched(executor: Fetch, context: FakeContext, url: str, **arguments: Any) -> FetchObservation:
    with anyio.fail_after(30):
        return await executor(FetchAction(url, **arguments), context)


async def one(tmp_path: Path, answer: bytes, params: Mapping[str, Any] = HERE, **arguments: Any) -> str:
    """What is shown of a page."""
    async with serving(pages({"/a/b": answer})) as server:
        observation = await fetched(Fetch(params), FakeContext(tmp_path), server.url("/a/b"), **arguments)
        return plain(observation.content)


async def test_a_page_is_markdown_of_its_main_content(tmp_path: Path) -> None:
    async with serving(pages({"/a/b": page("", status=301, Location="/a/c"), "/a/c": page(ARTICLE)})) as server:
        seen = await fetched(Fetch(HERE), FakeContext(tmp_path), server.url("/a/b"))
    said = plain(seen.content)
    assert (seen.title, seen.status, seen.url) == ("All about <herons>", 200, server.url("/a/c"))
    assert said.startswith(f"# All about <herons>\n[{server.url('/a/c')}: HTTP 200, text/html]")
    assert "# Herons" in said
    assert f"**long-legged** birds with [many relatives]({server.url('/birds?x=1#top')})" in said
    assert "```\ndef count(pond):\n    return sum(1 for bird in pond)\n```" in said
    assert "`count(pond)`" in said
    assert [cell.strip() for row in said.splitlines() if "North" in row for cell in row.split("|")][1:3] == [
        "North",
        "12",
    ]
    assert "- purple herons" in said
    assert not any(word in said for word in ("evil", "Log in", "Imprint"))


async def test_a_page_without_main_content_is_shown_whole(tmp_path: Path) -> None:
    said = await one(tmp_path, page("<base href='/x/'><ul><li><a href='y'>go</a><script>no</script></ul><img src=z>"))
    assert "[go](http://127.0.0.1:" in said
    assert "/x/y)" in said
    assert "no" not in said.partition("]")[2]
    assert "raw=true" in await one(tmp_path, page("<div id=app></div><script>render()</script>"))
    assert "[it is empty]" in await one(tmp_path, page(""))


async def test_raw_is_the_source(tmp_path: Path) -> None:
    assert ARTICLE in await one(tmp_path, page(ARTICLE), raw=True)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", '{"a": [1, 2]}'),
        ("application/vnd.api+json; charset=utf-8", '{"a": 1}'),
        ("text/plain", "<p>not a page\n  but text"),
        ("text/markdown", "# hello"),
        ("image/svg+xml", "<svg/>"),
        ("application/octet-stream", "plain text"),
        ("", "plain text"),
        ("application/x-yaml", "a: 1"),
    ],
)
async def test_other_texts_are_shown_as_they_are(tmp_path: Path, kind: str, body: str) -> None:
    assert body in await one(tmp_path, page(body, kind))


async def test_a_page_that_does_not_say_what_it_is(tmp_path: Path) -> None:
    assert "**long-legged**" in await one(tmp_path, page(ARTICLE, ""))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain; charset=iso-8859-1", "Smörgås €".encode("cp1252")),
        ("text/plain; charset=utf-8", "Smörgås €".encode()),
        ("text/plain; charset=ascii", "Smörgås €".encode("cp1252")),
        ("text/plain; charset=latin1", "Smörgås €".encode("utf-8-sig")),
        ("text/plain", "Smörgås €".encode("utf-16")),
        ("text/plain; charset=no-such-charset", "Smörgås €".encode()),
        ("text/plain; charset=punycode", "Smörgås €".encode()),
        ("text/plain; charset=unicode_escape", "Smörgås €".encode()),
        ("text/html", '<meta charset="windows-1252"><p>Smörgås €'.encode("cp1252")),
        (
            "text/html",
            "<meta http-equiv=Content-Type content='text/html; charset=iso-8859-15'>Smörgås €".encode("latin9"),
        ),
        ("application/xml", '<?xml version="1.0" encoding="utf-8"?><a>Smörgås €</a>'.encode()),
        ("text/html", '<meta charset="utf-16"><p>Smörgås €'.encode()),
        (
            "text/plain",
            ("Es läuft schön über die Straße, und die Vögel hören nichts davon. Smörgås €" * 5).encode("cp1252"),
        ),
    ],
)
async def test_a_charset_is_that_of_the_header_the_page_or_the_likeliest(
    tmp_path: Path, kind: str, body: bytes
) -> None:
    assert "Smörgås €" in await one(tmp_path, page(body, kind))


@pytest.mark.parametrize(
    ("charset", "text"), [("shift_jis", "①日本語"), ("gb2312", "中文碼"), ("euc-kr", "한국어"), ("koi8-r", "Привет")]
)
async def test_charsets_of_other_scripts(tmp_path: Path, charset: str, text: str) -> None:
    codec = {"shift_jis": "cp932", "gb2312": "gb18030"}.get(charset, charset)
    assert text in await one(tmp_path, page(text.encode(codec), f"text/plain; charset={charset}"))


async def test_packed_pages_are_unpacked(tmp_path: Path) -> None:
    for coding, packed in (("gzip", gzip.compress(b"hello")), ("deflate", zlib.compress(b"hello"))):
        assert "hello" in await one(tmp_path, page(packed, "text/plain", Content_Encoding=coding))


@pytest.mark.parametrize("kind", ["application/pdf", "application/octet-stream", ""])
async def test_a_document_is_read(tmp_path: Path, kind: str) -> None:
    data = (FILES / "report.pdf").read_bytes()
    async with serving(pages({"/a.pdf": page(data, kind)})) as server:
        executor, context = Fetch(HERE), FakeContext(tmp_path)
        seen = await fetched(executor, context, server.url("/a.pdf"))
        again = await fetched(executor, context, server.url("/a.pdf"), start_from_char=100)
        with pytest.raises(ToolError, match="which is not text"):
            await fetched(executor, context, server.url("/a.pdf"), raw=True)
    said = plain(seen.content)
    assert said.startswith(f"# Report on herons\n[{server.url('/a.pdf')}: HTTP 200, ")
    assert "## Page 2" in said
    assert "| North | 12 |" in said
    assert (again.first, again.cached, len(server.asked)) == (100, True, 1)


async def test_an_image_is_seen(tmp_path: Path) -> None:
    for kind in ("image/png", "application/octet-stream"):
        async with serving(pages({"/": page(PNG, kind)})) as server:
            seen = await fetched(Fetch(HERE), FakeContext(tmp_path), server.url())
        (image,) = [block for block in seen.content if isinstance(block, ImageContent)]
        assert image.url == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
        assert seen.media_type == "image/png"


@pytest.mark.parametrize(
    ("kind", "body", "says"),
    [
        ("video/mp4", b"\0" * 20, r"video/mp4 of 20 bytes.*curl -fL -o FILE 'http://.*\?a=1&b=2'"),
        ("application/pdf", b"%PDF-1.7", r"http://.*\?a=1&b=2 is damaged or cut off"),
        ("image/png", b"<html>no image", "image/png"),
        ("text/plain", bytes(range(256)) * 8, "which is not text"),
        ("", b"\x7fELF\2\1\1\0\0\0\0\0\0", "unknown type"),
    ],
)
async def test_what_is_no_text_is_named_with_its_size(tmp_path: Path, kind: str, body: bytes, says: str) -> None:
    async with serving(pages({"/": page(body, kind)})) as server:
        with pytest.raises(ToolError, match=says):
            await fetched(Fetch(HERE), FakeContext(tmp_path), server.url("/?a=1&b=2"))


@pytest.mark.parametrize(
    ("status", "hint"), [(404, "no such page"), (403, "without a login"), (429, "too often"), (503, "try again later")]
)
async def test_an_error_says_what_the_page_says_and_what_to_do(tmp_path: Path, status: int, hint: str) -> None:
    with pytest.raises(ToolError, match=rf"HTTP {status}\. .*{hint}") as failed:
        await one(tmp_path, page("<h1>Not today</h1>" + "<p>sorry</p>" * 2000, status=status))
    assert "# Not today" in str(failed.value)
    assert len(str(failed.value)) < 1500
    with pytest.raises(ToolError, match="secret of the house"):
        await one(tmp_path, page("the secret of the house", "text/plain", status=status))


@pytest.mark.simulated
@pytest.mark.parametrize("url", ["", "x", "file:///etc/passwd", "ftp://h/x", "//h/x", "http://" + "a" * 9000])
async def test_what_is_no_address(tmp_path: Path, url: str) -> None:
    with pytest.raises(ToolError, match="not a web address|at most"):
        await fetched(Fetch({}), FakeContext(tmp_path), url)


async def test_private_addresses_are_refused_unless_they_are_allowed(tmp_path: Path) -> None:
    async with serving(pages({"/": page("in here", "text/plain")})) as canary:
        context = FakeContext(tmp_path)
        for host in ("127.0.0.1", "localhost"):
            with pytest.raises(ToolError, match="private"):
                await fetched(Fetch({}), context, canary.url(host=host))
        with pytest.raises(ToolError, match="private"):
            await fetched(Fetch({"allow_private": f"127.0.0.1:{canary.port + 1}, other"}), context, canary.url())
        async with serving(pages({"/": page("", status=302, Location=canary.url(host="localhost"))})) as server:
            with pytest.raises(ToolError, match="private"):
                await fetched(Fetch(HERE), context, server.url())
        for metadata in ("http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/"):
            with pytest.raises(ToolError, match="private"):
                await fetched(Fetch(HERE), context, metadata)
        assert canary.asked == []
        seen = await fetched(
            Fetch({"allow_private": f"localhost:{canary.port}"}), context, canary.url(host="localhost")
        )
        assert "in here" in plain(seen.content)


async def test_endless_pages_and_bombs_are_errors(tmp_path: Path) -> None:
    async def flood(asked: Asked, stream: anyio.abc.ByteSendStream) -> None:
        await stream.send(endless())
        while asked.path == "/flood":
            await stream.send(b"<p>more</p>" * 4096)
        await anyio.sleep_forever()

    async with serving(flood) as server:
        executor = Fetch({**HERE, "max_bytes": 100_000, "timeout": 0.3})
        with pytest.raises(ToolError, match="100,000 bytes"):
            await fetched(executor, FakeContext(tmp_path), server.url("/flood"))
        with pytest.raises(ToolError, match="took longer"):
            await fetched(executor, FakeContext(tmp_path), server.url("/silence"))
    with pytest.raises(ToolError, match="has more"):
        await one(tmp_path, page(gzip.compress(bytes(50 << 20)), Content_Encoding="gzip"))


@pytest.mark.parametrize(
    "body", ["<div>" * 100_000, "<table><tr><td>" * 3000, "<a b=" * 50_000, "\0" * 10, "<ul><li>" * 9000]
)
async def test_odd_html_is_read_or_refused(tmp_path: Path, body: str) -> None:
    if "\0" in body:
        with pytest.raises(ToolError, match="which is not text"):
            await one(tmp_path, page(body + "x"))
    else:
        assert "HTTP 200, text/html" in await one(tmp_path, page(body + "x"))


async def test_html_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"too long to read.*raw=true"):
        await one(tmp_path, page("<p>word and word</p>" * 100_000), {**HERE, "timeout": 0.5})


async def test_a_page_is_fetched_once_in_a_quarter_of_an_hour(tmp_path: Path) -> None:
    time, context = Time(), FakeContext(tmp_path)
    async with serving(pages({"/": page(ARTICLE), "/bad": page("x", status=500)})) as server:
        executor = Fetch(HERE, time.clock)
        first = await fetched(executor, context, server.url())
        again = await fetched(executor, context, server.url())
        await fetched(executor, context, server.url(), raw=True)
        assert (first.cached, again.cached, len(server.asked)) == (False, True, 1)
        assert "as it was a while ago" in plain(again.content)
        assert again.content[1:] == first.content[1:]
        time.now += 15 * 60
        assert not (await fetched(executor, context, server.url())).cached
        await fetched(Fetch(HERE), context, server.url())
        for _ in range(2):
            with pytest.raises(ToolError):
                await fetched(executor, context, server.url("/bad"))
    assert server.paths == ["/", "/", "/", "/bad", "/bad"]


async def test_a_long_page_is_read_part_by_part(tmp_path: Path) -> None:
    context, body = FakeContext(tmp_path), "".join(f"line {number}\n" for number in range(8000))
    async with serving(pages({"/": page(body, "text/plain")})) as server:
        executor, at, seen = Fetch(HERE), 0, ""
        while at < len(body):
            part = await fetched(executor, context, server.url(), start_from_char=at)
            seen += part.content[1].text  # type: ignore[union-attr]
            assert (part.first, part.total_chars) == (at, len(body))
            at = part.last
            assert at == len(body) or f"go on with start_from_char={at}]" in plain(part.content)
        assert (seen, len(server.asked)) == (body, 1)
        assert [text == body for text in context.spilled.values()] == [True]  # type: ignore[union-attr]
        assert list(context.kept.values()) == [body.encode()]
        beginning = plain((await fetched(executor, context, server.url())).content)
        assert "/spilled/" in beginning
        assert len(beginning) < MAX_SHOWN + 500
        with pytest.raises(ToolError, match="past the end"):
            await fetched(executor, context, server.url(), start_from_char=len(body))


async def test_secrets_are_masked_before_a_page_is_cut(tmp_path: Path) -> None:
    secret = "sk-0123456789abcdef"
    context = FakeContext(tmp_path, registry=SecretRegistry({"KEY": secret}))
    body = "x" * (MAX_SHOWN - 5) + secret
    async with serving(pages({"/": page(body, "text/plain"), "/bad": page(secret, "text/plain", 500)})) as server:
        said = plain((await fetched(Fetch(HERE), context, server.url())).content)
        with pytest.raises(ToolError) as failed:
            await fetched(Fetch(HERE), context, server.url("/bad"))
    assert "sk-01" not in said + str(failed.value) + "".join(context.spilled.values())  # type: ignore[union-attr]


async def in_conversation(tmp_path: Path, server: Server) -> list[ObservationEvent]:
    llm = ScriptedLLM([call("fetch", url=server.url()), call("web_fetch", url=server.url("/none")), say("done")])
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("fetch", dict(HERE)),))
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=llm) as conversation:
        await conversation.send_message("look")
        return [event async for event in conversation.run() if isinstance(event, ObservationEvent)]


async def test_in_a_conversation_pages_and_errors_are_of_the_web(tmp_path: Path) -> None:
    async with serving(pages({"/": page(ARTICLE)})) as server:
        seen, missing = await in_conversation(tmp_path, server)
    assert (seen.labels, missing.labels) == (("web",), ("web",))
    assert (seen.is_error, missing.is_error, missing.tool_name) == (False, True, "fetch")
    assert msgspec.json.decode(seen.details_json)["title"] == "All about <herons>"


@pytest.mark.pure
def test_what_it_declares() -> None:
    assert fetch.definition.annotations.read_only
    assert fetch.definition.annotations.open_world
    assert not fetch.definition.may_write
