"""`web_search`, against servers on loopback that answer as search engines do."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.abc
import msgspec
import pytest

from agentrt import LLM, Agent, Conversation
from agentrt.errors import ToolError
from agentrt.events import ObservationEvent
from agentrt.secrets import SecretRegistry
from agentrt.specs import Tool
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, say
from agentrt.tools.web import web_search
from agentrt.tools.web.engines import APIS, Found, Query
from agentrt.tools.web.web_search import WebSearch, WebSearchAction, WebSearchObservation
from tests.network.serving import Asked, Handler, page, pages, serving
from tests.tools.context import FakeContext

pytestmark = pytest.mark.real

KEY = "key-0123456789"
TAVILY = {
    "query": "herons",
    "answer": None,
    "results": [
        {"title": "Herons", "url": "https://birds.test/herons", "content": "Long-legged\nbirds.", "score": 0.9},
        {"title": "", "url": "https://birds.test/2", "content": None, "raw_content": None},
    ],
}
BRAVE = {
    "type": "search",
    "query": {"original": "herons"},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "Herons",
                "url": "https://birds.test/herons",
                "description": "Long-legged <strong>birds</strong>.",
            },
            {"title": "A &amp; B", "url": "https://birds.test/2", "language": "en"},
        ],
    },
}
SEARXNG = {
    "query": "herons",
    "number_of_results": 0,
    "results": [
        {"url": "https://birds.test/herons", "title": "Herons", "content": "Long-legged birds.", "engine": "x"},
        {"url": "https://birds.test/2", "title": "Two", "content": ""},
    ],
    "answers": [],
    "unresponsive_engines": [["a", "timeout"]],
}
ANSWERS: Mapping[str, Any] = {"tavily": TAVILY, "brave": BRAVE, "searxng": SEARXNG}
PATHS = {"tavily": "/search", "brave": "/res/v1/web/search", "searxng": "/search"}


def answering(answer: Any, path: str = "/search", status: int = 200, **headers: str) -> Handler:
    body = answer if isinstance(answer, str) else json.dumps(answer)
    return pages({path: page(body, "application/json", status, **headers)})


async def found(
    executor: WebSearch, context: FakeContext, query: str = "herons", **arguments: Any
) -> WebSearchObservation:
    with anyio.fail_after(20):
        return await executor(WebSearchAction(query, **arguments), context)


def keyed(provider: str, url: str, **params: Any) -> WebSearch:
    """One that is set up by parameters and by the environment."""
    environment = {"TAVILY_API_KEY": KEY, "BRAVE_API_KEY": KEY}
    return WebSearch({"provider": provider, "url": url, **params}, environment)


@pytest.mark.parametrize("provider", list(APIS))
async def test_results_are_a_list(tmp_path: Path, provider: str) -> None:
    async with serving(answering(ANSWERS[provider], PATHS[provider])) as server:
        seen = await found(keyed(provider, server.url()), FakeContext(tmp_path), max_results=5)
        (asked,) = server.asked
    assert plain(seen.content).startswith("1. Herons\n   https://birds.test/herons\n   Long-legged birds.\n2. ")
    assert (seen.provider, seen.urls) == (provider, ("https://birds.test/herons", "https://birds.test/2"))
    if provider == "tavily":
        assert (asked.method, asked.headers["authorization"]) == ("POST", f"Bearer {KEY}")
        assert json.loads(asked.body) == {"query": "herons", "max_results": 5}
    else:
        given = parse_qs(urlsplit(asked.path).query)
        assert given["q"] == ["herons"]
        assert given.get("count", given.get("format")) == (["5"] if provider == "brave" else ["json"])
        assert asked.headers.get("x-subscription-token") == (KEY if provider == "brave" else None)


@pytest.mark.parametrize("provider", list(APIS))
async def test_results_of_one_site(tmp_path: Path, provider: str) -> None:
    async with serving(answering(ANSWERS[provider], PATHS[provider])) as server:
        await found(
            keyed(provider, server.url()), FakeContext(tmp_path), site="https://Docs.Python.org/3/", max_results=1
        )
        (asked,) = server.asked
    if provider == "tavily":
        assert json.loads(asked.body)["include_domains"] == ["docs.python.org"]
    else:
        assert parse_qs(urlsplit(asked.path).query)["q"] == ["herons site:docs.python.org"]


async def test_as_many_as_were_asked_for_and_none(tmp_path: Path) -> None:
    async with serving(answering(SEARXNG)) as server:
        seen = await found(keyed("searxng", server.url()), FakeContext(tmp_path), max_results=1)
        assert "2. " not in plain(seen.content)
    async with serving(answering({"type": "search", "query": {}}, PATHS["brave"])) as server:
        seen = await found(keyed("brave", server.url()), FakeContext(tmp_path))
        assert plain(seen.content) == "Nothing was found. Use other words, or fewer."


async def test_the_engine_is_the_first_that_has_a_key(tmp_path: Path) -> None:
    """The secrets of the conversation come before the environment; an address that was given may be private."""
    async with serving(answering(SEARXNG)) as server:
        secrets = SecretRegistry({"SEARXNG_URL": server.url()})
        seen = await found(WebSearch({}, {}), FakeContext(tmp_path, registry=secrets))
        assert seen.provider == "searxng"
        seen = await found(WebSearch({}, {"SEARXNG_URL": server.url("/search?")}), FakeContext(tmp_path))
        assert seen.provider == "searxng"
    async with serving(answering(TAVILY)) as server:
        secrets = SecretRegistry({"TAVILY_API_KEY": "other-0123456"})
        executor = WebSearch({"provider": "tavily", "url": server.url()}, {"TAVILY_API_KEY": KEY})
        await found(executor, FakeContext(tmp_path, registry=secrets))
        assert server.asked[0].headers["authorization"] == "Bearer other-0123456"


@pytest.mark.simulated
async def test_without_a_key_the_variables_are_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="set one of TAVILY_API_KEY, BRAVE_API_KEY or SEARXNG_URL, as a secret"):
        await found(WebSearch({}, {}), FakeContext(tmp_path))
    with pytest.raises(ToolError, match="set BRAVE_API_KEY, as a secret"):
        await found(WebSearch({"provider": "Brave"}, {"TAVILY_API_KEY": KEY}), FakeContext(tmp_path))
    with pytest.raises(ToolError, match="unknown provider 'bing': known are tavily, brave, searxng"):
        await found(WebSearch({"provider": "bing"}, {}), FakeContext(tmp_path))
    with pytest.raises(ToolError, match="TAVILY_API_KEY has characters") as failed:
        await found(WebSearch({}, {"TAVILY_API_KEY": f"{KEY}\nX: y"}), FakeContext(tmp_path))
    assert KEY not in str(failed.value)


@pytest.mark.simulated
@pytest.mark.parametrize("arguments", [{"query": " "}, {"site": "not a host"}, {"site": "x\ny"}])
async def test_what_cannot_be_looked_for(tmp_path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match=r"query is empty|site .* is not a host"):
        await found(WebSearch({}, {}), FakeContext(tmp_path), **arguments)


@pytest.mark.parametrize("provider", list(APIS))
@pytest.mark.parametrize(
    "answer",
    ["", "no json", "[]", "{}", '{"results": {}}', '{"results": [{"title": 5}]}', '{"web": {"results": 5}}', "\xff"],
)
async def test_an_answer_of_another_form_is_one_error(tmp_path: Path, provider: str, answer: str) -> None:
    async with serving(answering(answer, PATHS[provider])) as server:
        with pytest.raises(ToolError, match=f"{provider}: it answered with no results in its form"):
            await found(keyed(provider, server.url()), FakeContext(tmp_path))


@pytest.mark.parametrize(
    ("provider", "status", "says"),
    [
        ("tavily", 401, r"HTTP 401: have the user correct the key \(TAVILY_API_KEY\)"),
        ("brave", 403, r"correct the key \(BRAVE_API_KEY\)"),
        ("searxng", 403, "'json' among the search.formats"),
        ("brave", 429, "too often or the plan is used up: wait for 7 s"),
        ("tavily", 503, "try again later"),
        ("searxng", 404, "check its address"),
        ("brave", 422, "check its address"),
    ],
)
async def test_an_error_of_an_engine_says_what_to_do(tmp_path: Path, provider: str, status: int, says: str) -> None:
    said = {"detail": {"error": f"bad key {KEY}"}}
    async with serving(answering(said, PATHS[provider], status, Retry_After="7")) as server:
        with pytest.raises(ToolError, match=says) as failed:
            await found(keyed(provider, server.url()), FakeContext(tmp_path))
    assert str(failed.value).startswith(f"{provider}: ")
    assert (KEY in str(failed.value)) == (provider == "searxng"), "there it is not a key"


async def test_an_engine_that_does_not_answer(tmp_path: Path) -> None:
    async def silent(asked: Asked, stream: anyio.abc.ByteSendStream) -> None:
        await anyio.sleep_forever()

    async with serving(silent) as server:
        with pytest.raises(ToolError, match=r"brave: .*took longer than 0\.2 s"):
            await found(keyed("brave", server.url(), timeout=0.2), FakeContext(tmp_path))
    with pytest.raises(ToolError, match="brave: .*does not answer"):
        await found(keyed("brave", server.url()), FakeContext(tmp_path))
    with pytest.raises(ToolError, match="searxng: .*not a web address"):
        await found(keyed("searxng", "not-an-address"), FakeContext(tmp_path))


async def test_an_engine_leads_to_no_other_private_host_and_shows_it_no_key(tmp_path: Path) -> None:
    async with serving(answering(BRAVE)) as canary:
        there = canary.url("/search", host="localhost")
        async with serving(pages({PATHS["brave"]: page("", status=307, Location=there)})) as server:
            with pytest.raises(ToolError, match="private"):
                await found(keyed("brave", server.url()), FakeContext(tmp_path))
            await found(keyed("brave", server.url(), allow_private="localhost"), FakeContext(tmp_path))
        assert [one.headers.get("x-subscription-token") for one in canary.asked] == [None]


async def test_a_key_is_in_no_result_no_error_and_no_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = {"results": [{"title": f"t {KEY}", "url": f"https://x.test/{KEY}", "content": f"{KEY} c"}]}
    async with serving(answering(echo)) as server:
        seen = await found(keyed("tavily", server.url()), FakeContext(tmp_path))
        url = server.url().replace("//", "//me:pass-0123456@")
        await found(WebSearch({}, {"SEARXNG_URL": url}), FakeContext(tmp_path))
        assert server.asked[1].headers["authorization"].startswith("Basic ")
    with pytest.raises(ToolError) as failed:
        await found(WebSearch({}, {"SEARXNG_URL": url}), FakeContext(tmp_path))
    told = plain(seen.content) + str(seen.urls) + str(failed.value) + caplog.text
    assert KEY not in told
    assert "pass-0123456" not in told


async def test_in_a_conversation_results_are_of_the_web(tmp_path: Path) -> None:
    async with serving(answering(SEARXNG)) as server:
        params: dict[str, Any] = {"provider": "searxng", "url": server.url()}
        llm = ScriptedLLM(
            [call("search_web", query="herons"), call("web_search", query="a", max_results=99), say("done")]
        )
        agent = Agent(llm=LLM(model="scripted"), tools=(Tool("web_search", params),))
        async with Conversation(agent, tmp_path, store=tmp_path / "s", client=llm) as conversation:
            await conversation.send_message("look")
            seen = [event async for event in conversation.run() if isinstance(event, ObservationEvent)]
    assert seen[0].labels == ("web",)
    assert msgspec.json.decode(seen[0].details_json)["provider"] == "searxng"


class Shelf:
    """A search engine of the program's own."""

    async def search(self, query: Query) -> tuple[Found, ...]:
        return tuple(Found(f"{query.words} {number}", f"https://x.test/{number}", "") for number in range(20))


@pytest.mark.simulated
async def test_an_engine_of_ones_own(tmp_path: Path) -> None:
    kind = replace(web_search, executor=lambda params: WebSearch(params, engine=Shelf()))
    seen = await kind.executor({})(WebSearchAction("herons", 2), FakeContext(tmp_path))
    assert plain(seen.content) == "1. herons 0\n   https://x.test/0\n2. herons 1\n   https://x.test/1"


@pytest.mark.pure
def test_each_engine_is_a_pair_of_pure_functions() -> None:
    for api in APIS.values():
        question = api.question(Query("a b&c", 3), f"https://host.test{PATHS[api.name]}", KEY)
        assert question.url.startswith(f"https://host.test{PATHS[api.name]}")
        assert KEY not in question.url
        assert api.results(json.dumps(ANSWERS[api.name]).encode())[0] == Found(
            "Herons", "https://birds.test/herons", "Long-legged birds."
        )


@pytest.mark.pure
def test_what_it_declares() -> None:
    effects = web_search.effects
    assert effects is not None
    assert effects(WebSearchAction("x"), None).reaches == ("https://api.tavily.com", "https://api.search.brave.com")  # type: ignore[arg-type]
    assert web_search.definition.annotations.read_only
