from __future__ import annotations

import gzip
import re
from pathlib import Path

import aiohttp
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from agentrt.server import ServerSettings, pages
from agentrt.server.running import serving

pytestmark = pytest.mark.real


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>console</title>")
    (tmp_path / "assets" / "main-1a2b.js").write_text("export {};\n" * 100)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.html").write_text("<!doctype html><title>docs</title>")
    (tmp_path / "docs" / "page.js").write_text("show();\n")
    return tmp_path


async def _get(directory: Path, path: str, prefix: str = "", **headers: str) -> tuple[int, dict[str, str], bytes]:
    app = Starlette(routes=[Mount(prefix, routes=pages.routes(directory))])
    async with serving(app, ServerSettings(port=0)) as url, aiohttp.ClientSession(auto_decompress=False) as session:
        async with session.get(url + prefix + path, headers=headers) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, await answer.read()


async def test_the_console_is_at_the_root(built: Path) -> None:
    status, headers, body = await _get(built, "/")
    assert (status, body) == (200, (built / "index.html").read_bytes())
    assert headers["cache-control"] == "no-cache"
    assert headers["content-type"] == "text/html; charset=utf-8"


async def test_it_is_sent_once(built: Path) -> None:
    etag = (await _get(built, "/"))[1]["etag"]
    assert (await _get(built, "/", **{"If-None-Match": f'"other", W/{etag}'}))[::2] == (304, b"")
    assert (await _get(built, "/", **{"If-None-Match": '"other"'}))[0] == 200


async def test_what_has_a_hash_in_its_name_is_kept_for_ever(built: Path) -> None:
    _, headers, body = await _get(built, "/assets/main-1a2b.js", **{"Accept-Encoding": "gzip"})
    assert "immutable" in headers["cache-control"]
    assert re.match("(text|application)/javascript", headers["content-type"])
    assert gzip.decompress(body) == (built / "assets" / "main-1a2b.js").read_bytes()
    assert (await _get(built, "/assets/main-1a2b.js", **{"Accept-Encoding": "identity"}))[2] == gzip.decompress(body)


@pytest.mark.parametrize("prefix", ["", "/agents"])
async def test_the_operations_are_shown_at_docs(built: Path, prefix: str) -> None:
    status, headers, body = await _get(built, "/docs", prefix)
    assert (status, body) == (200, (built / "docs" / "index.html").read_bytes())
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert (await _get(built, "/docs/page.js", prefix))[::2] == (200, b"show();\n")


@pytest.mark.pure
def test_the_page_at_docs_names_no_other_place() -> None:
    page = (pages.BUILT / "docs" / "index.html").read_text()
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert loaded
    assert not [place for place in loaded if place.startswith("/") or ":" in place], "it may be mounted anywhere"


@pytest.mark.parametrize("path", ["/assets/other.js", "/assets/", "/assets/%2e%2e/index.html", "/index.html/"])
async def test_nothing_else_is_there(built: Path, path: str) -> None:
    assert (await _get(built, path))[0] == 404


@pytest.mark.parametrize("path", ["/", "/assets/main-1a2b.js"])
async def test_nothing_that_is_not_ours_may_run(built: Path, path: str) -> None:
    _, headers, _ = await _get(built, path)
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


async def test_it_says_how_to_build_it(tmp_path: Path) -> None:
    status, headers, body = await _get(tmp_path, "/")
    assert status == (await _get(tmp_path, "/docs"))[0] == 503
    assert b"npm --prefix src/agentrt/server/web run build" in body
    assert "content-security-policy" in headers
