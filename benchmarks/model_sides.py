"""The sides of `bench_model`: how each makes one call, and whether all send the same request."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
import msgspec
from model_provider import SHORT, model, scripted
from msgspec.structs import replace

from agentrt import LLM, Agent, Conversation, Delta, Runtime, Tool
from agentrt.events import MessageEvent
from agentrt.llm import (
    LimitedClient,
    LiteLLMClient,
    ModelsClient,
    ProviderLimits,
    RetryingClient,
    RoutedClient,
    WireClient,
)
from agentrt.llm.library import acquire, release
from agentrt.llm.wire import wire_messages, wire_tool
from agentrt.loading import load
from agentrt.protocols import ModelClient, ModelRequest, Watch
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, ScriptedProvider, say

BARE, LITELLM, SDK, OLD, WIRE = "bare httpx2", "litellm", "the vendor's SDK", "LiteLLMClient", "WireClient"
STACK, STEP = "ModelsClient, limits, retries, routes", "a step of a conversation"
SIDES = (BARE, LITELLM, SDK, OLD, WIRE, STACK, STEP)

LIMITS = {"*": ProviderLimits(calls=1000, requests_per_minute=10**9, tokens_per_minute=10**12)}
"""They count everything, and nobody waits."""


_MINUTE = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d")


class Seen(msgspec.Struct, frozen=True):
    """A reply as the caller saw it; `first` is when its first piece came, on the clock of `time.perf_counter`."""

    first: float
    pieces: int
    text: str


class Gathered:
    """What a stream has given so far."""

    def __init__(self) -> None:
        self.first = 0.0
        self.pieces: list[str] = []

    def add(self, piece: str) -> None:
        """The next piece."""
        self.first = self.first or time.perf_counter()
        self.pieces.append(piece)

    def seen(self) -> Seen:
        """All of it."""
        return Seen(self.first, len(self.pieces), "".join(self.pieces))


Call: TypeAlias = Callable[[], Awaitable[Seen]]


class Show(Watch):
    """Keeps what is shown, as those who call litellm alone do."""

    def __init__(self) -> None:
        self.shown = Gathered()

    def show(self, channel: str, piece: str) -> None:
        """A piece."""
        self.shown.add(piece)


class _Text(msgspec.Struct):
    type: str = ""
    text: str = ""
    content: str | list[_Text] | None = None


class _Choice(msgspec.Struct):
    delta: _Text | None = None
    message: _Text | None = None


class _Event(msgspec.Struct):
    """What a bare client reads of an answer, or of an event of its stream, over any wire."""

    type: str = ""
    delta: _Text | str | None = None
    choices: list[_Choice] = []
    content: list[_Text] = []
    output: list[_Text] = []

    @property
    def text(self) -> str:
        """The piece of text in it, or all of it in a whole answer."""
        if self.choices:
            said = self.choices[0].delta or self.choices[0].message
            return said.content if said is not None and isinstance(said.content, str) else ""
        if self.delta is not None:
            if isinstance(self.delta, str):
                return self.delta if self.type == "response.output_text.delta" else ""
            return self.delta.text if self.type == "content_block_delta" else ""
        within = self.content or [
            part for item in self.output for part in item.content or () if isinstance(part, _Text)
        ]
        return "".join(part.text for part in within)


_decode = msgspec.json.Decoder(_Event).decode


async def by_hand(http: httpx2.AsyncClient, url: str, body: bytes, stream: bool) -> Seen:
    """A call by an HTTP client, with no more around it than what takes the answer apart."""
    request = http.build_request("POST", url, content=body, headers={"content-type": "application/json"})
    answer = await http.send(request, stream=True)
    gathered, held = Gathered(), b""
    try:
        answer.raise_for_status()
        if not stream:
            return Seen(time.perf_counter(), 1, _decode(await answer.aread()).text)
        async for data in answer.aiter_raw():
            *events, held = (held + data).split(b"\n\n")
            for event in events:
                said = event[event.find(b"data: ") + 6 :]
                if said != b"[DONE]" and (piece := _decode(said).text):
                    gathered.add(piece)
    finally:
        await answer.aclose()
    return gathered.seen()


async def by_litellm(litellm: Any, arguments: dict[str, Any]) -> Seen:
    """A call by litellm alone; of a stream the text is kept and nothing else."""
    gathered, responses = Gathered(), "input" in arguments
    answer = await (litellm.aresponses if responses else litellm.acompletion)(**arguments)
    if not arguments["stream"]:
        text = answer.output[0].content[0].text if responses else answer.choices[0].message.content
        return Seen(time.perf_counter(), 1, text)
    async for event in answer:
        if responses:
            piece = event.delta if event.type == "response.output_text.delta" else ""
        else:
            piece = event.choices[0].delta.content if event.choices else ""
        if piece:
            gathered.add(piece)
    return gathered.seen()


async def by_sdk(client: Any, wire: str, body: dict[str, Any]) -> Seen:
    """A call by the vendor's SDK, which is given the members of the body."""
    made = {"chat": "chat.completions", "responses": "responses", "anthropic": "messages"}[wire]
    for name in made.split("."):
        client = getattr(client, name)
    gathered, answer = Gathered(), await client.create(**body)
    if not body.get("stream"):
        match wire:
            case "chat":
                text = answer.choices[0].message.content
            case "responses":
                text = answer.output_text
            case _:
                text = answer.content[0].text
        return Seen(time.perf_counter(), 1, text)
    async for event in answer:
        if wire == "chat":
            piece = event.choices[0].delta.content if event.choices else ""
        elif event.type == "response.output_text.delta":
            piece = event.delta
        else:
            piece = event.delta.text if event.type == "content_block_delta" else ""
        if piece:
            gathered.add(piece)
    return gathered.seen()


async def by_client(client: ModelClient, request: ModelRequest) -> Seen:
    """A call by a client of ours."""
    show = Show()
    answer = await client.complete(request, show)
    return Seen(show.shown.first or time.perf_counter(), len(show.shown.pieces), answer.text)


async def by_step(conversation: Conversation) -> Seen:
    """A step, with one who follows it."""
    first, pieces, text = 0.0, 0, ""
    await conversation.send_message("Begin.")
    async for item in conversation.run().stream():
        if isinstance(item, Delta):
            first = first or time.perf_counter()
            pieces += 1
        elif isinstance(item, MessageEvent) and item.source == "agent":
            text = plain(item.content)
    return Seen(first or time.perf_counter(), pieces, text)


def sides_of(wire: str) -> tuple[str, ...]:
    """Those who call over a wire: Anthropic's SDK is no dependency, and so may not be there."""
    return SIDES if wire != "anthropic" or find_spec("anthropic") else tuple(side for side in SIDES if side != SDK)


async def _sdk(wire: str, llm: LLM) -> Any:
    """A client of the vendor's SDK."""
    made = "AsyncAnthropic" if wire == "anthropic" else "AsyncOpenAI"
    library = await load("anthropic" if wire == "anthropic" else "openai")
    return getattr(library, made)(api_key="none", base_url=llm.base_url, max_retries=0, timeout=llm.timeout)


def agent(llm: LLM) -> Agent:
    """One with the usual tools, for the sake of their descriptions."""
    return Agent(llm=llm, tools=(Tool("terminal"), Tool("file_editor")))


def bare(request: ModelRequest, sent: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by litellm alone that sends the same."""
    llm = request.one
    given: dict[str, Any] = {"model": llm.model, "api_base": llm.base_url, "api_key": "none", "timeout": llm.timeout}
    given |= {"stream": llm.stream, "num_retries": 0, "max_retries": 0}
    if "input" in sent:
        return given | {
            name: sent[name] for name in ("input", "instructions", "tools", "store", "include") if name in sent
        }
    messages = wire_messages(request.messages, llm, marks=llm.model.startswith("anthropic/"))
    given |= {"messages": messages, "tools": [wire_tool(definition) for definition in request.tools]}
    return given | ({"stream_options": {"include_usage": True}} if llm.stream else {})


def members(one: Any, other: Any, path: str = "") -> list[str]:
    """Where two bodies differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = dict.fromkeys([*one, *other])
        return [place for name in names for place in members(one.get(name), other.get(name), f"{path}.{name}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [place for each, its in zip(one, other, strict=True) for place in members(each, its, f"{path}[]")]
    return [] if one == other else [path.removeprefix(".")]


async def agreed(wire: str, llm: LLM, directory: Path) -> tuple[ModelRequest, str, dict[str, dict[str, Any]]]:
    """What a conversation asks, where, and what each side sends for it.

    Raises `RuntimeError` where two of our own do not send the same over one wire, or a side does not send what it is
    compared with.
    """
    sent: dict[str, dict[str, Any]] = {}
    asked = ScriptedLLM([say("Yes.")])
    async with scripted(SHORT) as provider, AsyncExitStack() as stack:
        there = model(provider, wire, llm.stream)
        litellm = await acquire()
        stack.push_async_callback(release, litellm)
        old, wired = LiteLLMClient(), WireClient()
        stack.push_async_callback(old.aclose)
        stack.push_async_callback(wired.aclose)
        await _step(there, directory / "asked", asked)
        request = asked.requests[0]
        calls: dict[str, Call] = {
            OLD: lambda: by_client(old, request),
            LITELLM: lambda: by_litellm(litellm, bare(request, sent[OLD])),
            WIRE: lambda: by_client(wired, request),
            STEP: lambda: _step(there, directory / "step", None),
        }
        if SDK in sides_of(wire):
            sdk = await stack.enter_async_context(await _sdk(wire, there))
            calls[SDK] = lambda: by_sdk(sdk, wire, sent[WIRE])
        for side, call in calls.items():
            await call()
            (sent[side],) = provider.requests
            provider.requests.clear()
        _check(wire, sent, provider)
        assert llm.base_url is not None
        return replace(request, llm=llm), llm.base_url.removesuffix("/v1") + provider.paths[0], sent


def _check(wire: str, sent: dict[str, dict[str, Any]], provider: ScriptedProvider) -> None:
    for one, other in ((OLD, LITELLM), (WIRE, STEP), (WIRE, SDK)):
        if other in sent and (places := members(*(_timeless(sent[side]) for side in (one, other)))):
            raise RuntimeError(f"over {wire}, the requests of {one} and {other} differ in {places}")
    if len(set(provider.paths)) != 1:
        raise RuntimeError(f"the requests over {wire} went to {provider.paths}")


def _timeless(body: dict[str, Any]) -> Any:
    """A request without the minute at which its conversation began, which the prompt tells."""
    return msgspec.json.decode(_MINUTE.sub(b"", msgspec.json.encode(body)))


async def _step(llm: LLM, store: Path, client: ModelClient | None) -> Seen:
    async with Runtime(store, client=client) as runtime:
        async with Conversation(agent(llm), store.parent, runtime=runtime) as conversation:
            return await by_step(conversation)


@asynccontextmanager
async def callers(wire: str, llm: LLM, directory: Path, steps: int) -> AsyncIterator[dict[str, Call]]:
    """How each side makes one call; as many steps as were said."""
    async with AsyncExitStack() as stack:
        litellm = await acquire()
        stack.push_async_callback(release, litellm)
        request, url, sent = await agreed(wire, llm, directory)
        encoded, arguments = msgspec.json.encode(sent[WIRE]), bare(request, sent[OLD])
        old, wired, models = LiteLLMClient(), WireClient(), ModelsClient()
        for client in (old, wired, models):
            stack.push_async_callback(client.aclose)
        http = await stack.enter_async_context(httpx2.AsyncClient(timeout=None, limits=httpx2.Limits()))
        routed = RoutedClient(RetryingClient(LimitedClient(models, LIMITS)))
        runtime = await stack.enter_async_context(Runtime(directory / "store", limits=LIMITS))
        waiting = [Conversation(agent(llm), directory, runtime=runtime) for _ in range(steps)]
        for conversation in waiting:
            await stack.enter_async_context(conversation)
        by: dict[str, Call] = {
            BARE: lambda: by_hand(http, url, encoded, llm.stream),
            LITELLM: lambda: by_litellm(litellm, arguments),
            OLD: lambda: by_client(old, request),
            WIRE: lambda: by_client(wired, request),
            STACK: lambda: by_client(routed, request),
            STEP: lambda: by_step(waiting.pop()),
        }
        if SDK in sides_of(wire):
            sdk = await stack.enter_async_context(await _sdk(wire, llm))
            by[SDK] = lambda: by_sdk(sdk, wire, sent[WIRE])
        yield by
