"""`web_search`: results of a search engine, the configured one or else the first supported one that is set up."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from ...errors import ToolError
from ...network import Answer, Bounds, Guard
from ...network.exchange import LONGEST
from ...protocols import Observation, ToolContext
from ...secrets import HIDDEN
from ...specs import OnCrash, ToolAnnotations, WorkspaceSpec
from ...specs.content import sound, text
from ...specs.effects import Effects
from ..clipping import clip
from ..declared import nothing_shared
from ..definition import Params, ToolType
from .asked import allowed, ask, number, words
from .engines import APIS, Api, Found, Query, password, place

MAX_SNIPPET = 600
"""Characters of a result's snippet."""

MAX_ERROR = 500
"""Characters shown of an engine's error message."""

MOST_BYTES = 4 << 20

_SITE = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d+)?")


class WebSearchAction(msgspec.Struct, frozen=True):
    """Arguments of `web_search`."""

    query: Annotated[str, Meta(min_length=1, max_length=2000, description="What to look for.")]
    max_results: Annotated[int, Meta(ge=1, le=20, description="Results to show.")] = 10
    site: Annotated[str, Meta(description="Only results of this host, such as docs.python.org. Default: any.")] = ""


class WebSearchObservation(Observation, frozen=True, kw_only=True):
    """The name of the engine, "" for one that the program passed in, and the addresses of the results."""

    provider: str
    urls: tuple[str, ...] = ()


class SearchEngine(Protocol):
    """Searches the web."""

    async def search(self, query: Query) -> tuple[Found, ...]:
        """Return the results, the best first. Raises `ToolError`."""
        ...


class HttpEngine:
    """A supported engine. Its key and the password in its address are masked in results and errors."""

    def __init__(self, api: Api, url: str, key: str, guard: Guard, bounds: Bounds) -> None:
        self._api, self._url, self._key, self._guard, self._bounds = api, url, key, guard, bounds

    async def search(self, query: Query) -> tuple[Found, ...]:
        """Return the results. Raises `ToolError`."""
        try:
            answer = await ask(self._api.question(query, self._url, self._key), self._guard, self._bounds)
            return self._results(answer)
        except ToolError as error:
            told = self._without(str(error))
        raise ToolError(f"{self._api.name}: {told}")

    def _results(self, answer: Answer) -> tuple[Found, ...]:
        if answer.status != 200:
            raise ToolError(_refused(self._api, answer, self._without))
        try:
            found = self._api.results(answer.body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ToolError(f"it answered with no results in its form ({error}): check its address") from error
        return tuple(Found(*map(self._without, (one.title, one.url, one.snippet))) for one in found)

    def _without(self, told: str) -> str:
        """Mask the engine's secrets in a text. The conversation does not mask a key that comes from the environment."""
        for secret in filter(None, (self._key, password(self._url))):
            told = told.replace(secret, HIDDEN)
        return told


class WebSearch:
    """The executor. Params: `provider`, the name of an engine; `url`, its address; `timeout` in seconds;
    `allow_private`, comma-separated hosts that may be private. The address of the engine itself always may be.

    If an `engine` is given, it is used instead.
    """

    def __init__(
        self, params: Params, environment: Mapping[str, str] | None = None, *, engine: SearchEngine | None = None
    ) -> None:
        self._params, self._own = params, engine
        self._environment = os.environ if environment is None else environment

    async def __call__(self, action: WebSearchAction, context: ToolContext) -> WebSearchObservation:
        """Return the results. Raises `ToolError` that says what to do instead."""
        query = Query(action.query.strip(), action.max_results, _site(action.site))
        if not query.words:
            raise ToolError("query is empty: give what to look for")
        provider, engine = ("", self._own) if self._own is not None else await self._engine(context)
        found = (await engine.search(query))[: action.max_results]
        said = context.masked(sound(_list(found)), by_line=True)
        return WebSearchObservation(content=text(said), provider=provider, urls=tuple(one.url for one in found))

    async def aclose(self) -> None: ...

    async def _engine(self, context: ToolContext) -> tuple[str, SearchEngine]:
        """Return the engine that the parameters name, else the first that is set up. Raises `ToolError` if none is."""
        named = words(self._params, "provider").lower()
        url = words(self._params, "url") if named else ""  # no other engine's key may go to this address
        if named and named not in APIS:
            raise ToolError(f"unknown provider {named!r}: known are {', '.join(APIS)}. Have the user correct it")
        apis = [APIS[named]] if named else list(APIS.values())
        variables = " ".join(f"${api.variable}" for api in apis)
        values = {**_of(self._environment, apis), **await context.secrets(variables)}
        for api in apis:
            value = values.get(api.variable, "").strip()
            if not (value.isascii() and value.isprintable()):
                raise ToolError(
                    f"{api.variable} has characters that no key and no address has: have the user correct it"
                )
            if value or (api.keyless and named and url):
                made = self._made(api, url or (value if api.keyless else api.url), "" if api.keyless else value)
                return api.name, made
        raise ToolError(_missing(apis))

    def _made(self, api: Api, url: str, key: str) -> SearchEngine:
        guard = Guard([*allowed(self._params), *filter(None, [place(url)])])  # a configured address may be private
        seconds = number(self._params, "timeout", LONGEST)
        return HttpEngine(api, url, key, guard, Bounds(most_bytes=MOST_BYTES, seconds=seconds, redirects=3))


def _of(environment: Mapping[str, str], apis: list[Api]) -> dict[str, str]:
    return {api.variable: environment[api.variable] for api in apis if api.variable in environment}


def _missing(apis: list[Api]) -> str:
    names = [api.variable for api in apis]
    one_of = names[0] if len(names) == 1 else f"one of {', '.join(names[:-1])} or {names[-1]}"
    return (
        f"no search engine is set up: have the user set {one_of}, as a secret of the conversation or in the"
        " environment. Until then fetch addresses that you know"
    )


def _site(given: str) -> str:
    """Return the host of a host or an address. Raises `ToolError` if it is none."""
    site = given.strip().lower().partition("://")[2] or given.strip().lower()
    site = site.partition("/")[0]
    if site and not _SITE.fullmatch(site):
        raise ToolError(f"site {clip(given, 100)!r} is not a host: give one such as docs.python.org")
    return site


_HINTS = {
    400: "say the query in other words",
    401: "have the user correct the key",
    403: "have the user correct the key",
}


def _refused(api: Api, answer: Answer, masked: Callable[[str], str]) -> str:
    if answer.status == 429:
        wait = f" for {answer.retry_after} s" if answer.retry_after.isdigit() else " a while"
        hint = f"it is asked too often or the plan is used up: wait{wait}"
    elif answer.status == 403 and api.forbidden:
        hint = api.forbidden
    elif answer.status >= 500:
        hint = "it has failed: try again later"
    else:
        hint = _HINTS.get(answer.status, "check its address")
    named = f" ({api.variable})" if answer.status in (401, 403) else ""
    words = clip(masked(answer.body.decode("utf-8", "replace").strip()), MAX_ERROR)
    return f"it answered HTTP {answer.status}: {hint}{named}.{f' It says: {words}' if words else ''}"


def _list(found: tuple[Found, ...]) -> str:
    if not found:
        return "Nothing was found. Use other words, or fewer."
    rows = []
    for number_, one in enumerate(found, 1):
        rows.append(f"{number_}. {clip(one.title, 300) or one.url}\n   {one.url}")
        if one.snippet:
            rows.append(f"   {clip(one.snippet, MAX_SNIPPET)}".replace("\n", " "))
    return "\n".join(rows)


def _effects(action: WebSearchAction, workspace: WorkspaceSpec) -> Effects:
    """Return the fixed addresses of all engines: which engine is called depends on secrets that are not known here."""
    return Effects(reaches=tuple(api.url for api in APIS.values() if api.url))


web_search = ToolType(
    name="web_search",
    description="Search the web: titles, addresses and snippets of what a search engine finds. Read one with fetch.",
    action=WebSearchAction,
    executor=WebSearch,
    annotations=ToolAnnotations(
        title="Search the web", read_only=True, destructive=False, idempotent=True, open_world=True
    ),
    on_crash=OnCrash.RETRY,
    resources=nothing_shared,
    labels=("web",),
    effects=_effects,
    same="query",
    headline=("{query} on {site}", "{query}"),
    aliases=("search_web", "internet_search", "websearch", "google", "google_search", "tavily_search", "brave_search"),
)
