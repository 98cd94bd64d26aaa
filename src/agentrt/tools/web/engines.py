"""`APIS`: the supported search engines, each with its request for a query and the parser of its answer. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from urllib.parse import urlencode, urlsplit

import msgspec

from ...network import Question


class Query(msgspec.Struct, frozen=True):
    """A search. `site` is the host that all results must be from, "" for any."""

    words: str
    most: int
    site: str = ""


class Found(msgspec.Struct, frozen=True):
    """A search result."""

    title: str
    url: str
    snippet: str


class Api(msgspec.Struct, frozen=True):
    """The HTTP API of a search engine.

    `variable` names the secret or environment variable that enables the engine. It has the engine's key, or its address
    if the engine is `keyless`. `results` raises `msgspec.MsgspecError` for an answer of another form.
    """

    name: str
    variable: str
    url: str
    question: Callable[[Query, str, str], Question]
    """Makes the request from a query, the engine's address and its key."""
    results: Callable[[bytes], tuple[Found, ...]]
    keyless: bool = False
    forbidden: str = ""
    """Hint for the error message if the engine answers 403."""


class _Tavily(msgspec.Struct):
    title: str
    url: str
    content: str | None = None


class _TavilyAnswer(msgspec.Struct):
    results: list[_Tavily]


class _Brave(msgspec.Struct):
    title: str
    url: str
    description: str | None = None


class _BraveWeb(msgspec.Struct):
    results: list[_Brave] = []


class _BraveAnswer(msgspec.Struct):
    type: str
    web: _BraveWeb | None = None


class _Searxng(msgspec.Struct):
    url: str
    title: str | None = None
    content: str | None = None


class _SearxngAnswer(msgspec.Struct):
    results: list[_Searxng]


def _ask_tavily(query: Query, url: str, key: str) -> Question:
    """https://docs.tavily.com/documentation/api-reference/endpoint/search"""
    body: dict[str, object] = {"query": query.words, "max_results": query.most}
    if query.site:
        body["include_domains"] = [query.site]
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return Question(_below(url, "search"), "POST", headers, msgspec.json.encode(body))


def _of_tavily(answer: bytes) -> tuple[Found, ...]:
    found = msgspec.json.decode(answer, type=_TavilyAnswer).results
    return tuple(Found(_plain(one.title), one.url, _plain(one.content)) for one in found)


def _ask_brave(query: Query, url: str, key: str) -> Question:
    """https://api-dashboard.search.brave.com/app/documentation/web-search/query"""
    given = urlencode({"q": _words(query), "count": query.most})
    headers = {"X-Subscription-Token": key, "Accept": "application/json"}
    return Question(f"{_below(url, 'res/v1/web/search')}?{given}", headers=headers)


def _of_brave(answer: bytes) -> tuple[Found, ...]:
    read = msgspec.json.decode(answer, type=_BraveAnswer)
    found = read.web.results if read.web is not None else []
    return tuple(Found(_plain(one.title), one.url, _plain(one.description)) for one in found)


def _ask_searxng(query: Query, url: str, key: str) -> Question:
    """https://docs.searxng.org/dev/search_api.html"""
    given = urlencode({"q": _words(query), "format": "json"})
    return Question(f"{_below(url, 'search')}?{given}", headers={"Accept": "application/json"})


def _of_searxng(answer: bytes) -> tuple[Found, ...]:
    found = msgspec.json.decode(answer, type=_SearxngAnswer).results
    return tuple(Found(_plain(one.title), one.url, _plain(one.content)) for one in found)


def _words(query: Query) -> str:
    return f"{query.words} site:{query.site}" if query.site else query.words


def _below(url: str, path: str) -> str:
    """Return the address of a path below an engine's address, which may already end with that path."""
    base = url.partition("?")[0].rstrip("/")
    return base if base.endswith(f"/{path}") else f"{base}/{path}"


_TAG = re.compile(r"<[^<>]{0,200}>")
_SPACE = re.compile(r"\s+")


def _plain(text: str | None) -> str:
    """Return a text on one line, without the tags that highlight matches."""
    return _SPACE.sub(" ", html.unescape(_TAG.sub("", text or ""))).strip()


def place(url: str) -> str:
    """Return the host and port of an address in the form that `Guard` takes, or "" if there is no host."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    named = f"[{host}]" if ":" in host else host
    return f"{named}:{port}" if port is not None and host else named


def password(url: str) -> str:
    """Return the password in an address, or "" if there is none."""
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""


APIS: Mapping[str, Api] = {
    api.name: api
    for api in (
        Api("tavily", "TAVILY_API_KEY", "https://api.tavily.com", _ask_tavily, _of_tavily),
        Api("brave", "BRAVE_API_KEY", "https://api.search.brave.com", _ask_brave, _of_brave),
        Api(
            "searxng",
            "SEARXNG_URL",
            "",
            _ask_searxng,
            _of_searxng,
            keyless=True,
            forbidden="have 'json' among the search.formats of its settings.yml",
        ),
    )
}
"""The supported engines by name, in the order in which they are tried."""
