"""What does a model call cost over a bare litellm call, and that over a bare HTTP request?

The same request, byte for byte, goes over loopback to a scripted provider in a process of its own: by aiohttp alone,
by litellm alone, by `LiteLLMClient`, by that behind limits, retries and routes, and as a step of a conversation, whose
log is written and whose deltas are followed. CPU is that of the calling process, of all its threads. One call follows
another, streamed as fast as it can be read or whole, over each wire; then there are streams at the pace of a model,
one at a time and 100 that begin at once.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import harness
import msgspec
from msgspec.structs import replace
from rich.table import Table

from agentrt import LLM, Agent, Conversation, Delta, Runtime, Tool
from agentrt.events import MessageEvent
from agentrt.llm import LimitedClient, LiteLLMClient, ProviderLimits, RetryingClient, RoutedClient
from agentrt.llm.library import acquire, release
from agentrt.llm.wire import wire_messages, wire_tool
from agentrt.protocols import ModelClient, ModelRequest, Watch
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, ScriptedProvider, say

HTTP, LITELLM, CLIENT = "aiohttp", "litellm", "LiteLLMClient"
STACK, STEP = "behind limits, retries, routes", "a step of a conversation"
SIDES = (HTTP, LITELLM, CLIENT, STACK, STEP)
FLOWING = (HTTP, LITELLM, STEP)
"""Those of whom streams at a pace are measured."""

WIRES = ("chat", "responses", "anthropic")

PIECES = 200
"""Of a streamed reply; the provider cuts it in 12 characters each."""
SHORT = 10
"""Of one that is not streamed, in which they are not told apart."""
PACED = 40
"""Of a stream at a pace."""
PACE, PACE_OF_MANY = 0.01, 0.1
"""Seconds between two of them, of one stream and of many: litellm takes about a thousand pieces a second in all."""

WARM = 2
"""Calls of each side before those that count."""
SETTLE = 0.05
"""Seconds for what litellm does after its calls, before the CPU is read."""

LIMITS = {"*": ProviderLimits(calls=1000, requests_per_minute=10**9, tokens_per_minute=10**12)}
"""They count everything, and nobody waits."""


class Seen(msgspec.Struct, frozen=True):
    """A reply as the caller saw it; `first` is when its first piece came, on the clock of `time.perf_counter`."""

    first: float
    pieces: int
    text: str


Call: TypeAlias = Callable[[], Awaitable[Seen]]


class Question(msgspec.Struct, frozen=True):
    """Calls of a model that has so many pieces to say, by these sides, which take turns."""

    wire: str
    llm: LLM
    pieces: int
    rounds: int
    calls: int
    at_once: bool = False
    sides: tuple[str, ...] = SIDES


class Timed(msgspec.Struct):
    """What the calls of one side took, in seconds: the CPU of a call by rounds, the others by calls."""

    cpu: list[float] = []
    walls: list[float] = []
    firsts: list[float] = []
    pieces: list[int] = []


class Show(Watch):
    """Keeps what is shown, as those who call litellm alone do."""

    def __init__(self) -> None:
        self.first = 0.0
        self.pieces: list[str] = []

    def show(self, channel: str, piece: str) -> None:
        """A piece."""
        self.first = self.first or time.perf_counter()
        self.pieces.append(piece)


def words(pieces: int) -> str:
    """What the provider says; no two pieces are the same, since litellm refuses a model that repeats itself."""
    return "".join(f"word {number:6} " for number in range(pieces))


def scripted(pieces: int, pace: float = 0.0) -> ScriptedProvider:
    """A provider that streams so many."""
    return ScriptedProvider(lambda body: say(words(pieces if body.get("stream") else SHORT)), pace=pace)


def model(provider: ScriptedProvider, wire: str, stream: bool) -> LLM:
    """A model that the provider answers for."""
    made = {"chat": provider.llm, "responses": provider.responses_llm, "anthropic": provider.anthropic_llm}[wire]
    return made(stream=stream)


def _provide(pipe: Connection, pieces: int, pace: float) -> None:
    async def serve() -> None:
        async with scripted(pieces, pace) as provider:
            pipe.send({(wire, stream): model(provider, wire, stream) for wire in WIRES for stream in (True, False)})
            await asyncio.to_thread(pipe.poll, None)  # until the other end is closed

    asyncio.run(serve())


@contextmanager
def provided(pieces: int, pace: float = 0.0) -> Iterator[dict[tuple[str, bool], LLM]]:
    """The models of a provider in another process, by wire and by whether they stream; it is ended at the end."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_provide, args=(there, pieces, pace), daemon=True)
    process.start()
    there.close()
    try:
        yield here.recv()
    finally:
        here.close()
        process.join(10)
        if process.is_alive():
            process.kill()


def text_of(event: dict[str, Any]) -> str:
    """The piece of text in an event of any wire, or all of it in a whole answer."""
    match event:
        case {"type": "response.output_text.delta", "delta": str(piece)}:
            return piece
        case {"type": "content_block_delta", "delta": {"text": str(piece)}}:
            return piece
        case {"choices": [{"delta": {"content": str(piece)}} | {"message": {"content": str(piece)}}, *_]}:
            return piece
        case {"output": [{"content": [{"text": str(whole)}]}]} | {"content": [{"text": str(whole)}]}:
            return whole
        case _:
            return ""


async def by_http(session: aiohttp.ClientSession, url: str, body: bytes, stream: bool) -> Seen:
    """A call by hand."""
    pieces: list[str] = []
    first = 0.0
    async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as response:
        response.raise_for_status()
        if not stream:
            return Seen(time.perf_counter(), 1, text_of(json.loads(await response.read())))
        async for line in response.content:
            if line.startswith(b"data: {") and (piece := text_of(json.loads(line[6:]))):
                first = first or time.perf_counter()
                pieces.append(piece)
    return Seen(first, len(pieces), "".join(pieces))


async def by_litellm(litellm: Any, arguments: dict[str, Any]) -> Seen:
    """A call by litellm alone; of a stream the text is kept and nothing else."""
    pieces: list[str] = []
    first = 0.0
    responses = "input" in arguments
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
            first = first or time.perf_counter()
            pieces.append(piece)
    return Seen(first, len(pieces), "".join(pieces))


async def by_client(client: ModelClient, request: ModelRequest) -> Seen:
    """A call by a client of ours."""
    show = Show()
    answer = await client.complete(request, show)
    return Seen(show.first or time.perf_counter(), len(show.pieces), answer.text)


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


async def agreed(litellm: Any, wire: str, llm: LLM, directory: Path) -> tuple[ModelRequest, str, dict[str, Any]]:
    """What a conversation asks, where, and what is sent for it: by all sides the same, or there is an error."""
    client, asked = LiteLLMClient(), ScriptedLLM([say("Yes.")])
    async with scripted(SHORT) as provider:
        there = model(provider, wire, llm.stream)
        for name, used in (("asked", asked), ("sent", client)):
            async with Runtime(directory / name, client=used) as runtime:
                async with Conversation(agent(there), directory, runtime=runtime) as conversation:
                    await by_step(conversation)
        request = asked.requests[0]
        sent = provider.requests[0]
        await by_client(client, request)
        await by_litellm(litellm, bare(request, sent))
        await client.aclose()
        if len(provider.requests) != 3 or any(body != sent for body in provider.requests):
            raise RuntimeError(f"the requests over {wire} differ: {provider.requests}")
        assert llm.base_url is not None
        return replace(request, llm=llm), llm.base_url.removesuffix("/v1") + provider.paths[0], sent


@asynccontextmanager
async def callers(question: Question, directory: Path, steps: int) -> AsyncIterator[dict[str, Call]]:
    """How each side makes one call; as many steps as were said."""
    llm = question.llm
    async with AsyncExitStack() as stack:
        litellm = await acquire()
        stack.push_async_callback(release, litellm)
        request, url, sent = await agreed(litellm, question.wire, llm, directory)
        encoded, arguments, client = msgspec.json.encode(sent), bare(request, sent), LiteLLMClient()
        stack.push_async_callback(client.aclose)
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        routed = RoutedClient(RetryingClient(LimitedClient(client, LIMITS)))
        runtime = await stack.enter_async_context(Runtime(directory / "store", limits=LIMITS))
        waiting = [Conversation(agent(llm), directory, runtime=runtime) for _ in range(steps)]
        for conversation in waiting:
            await stack.enter_async_context(conversation)
        yield {
            HTTP: lambda: by_http(session, url, encoded, llm.stream),
            LITELLM: lambda: by_litellm(litellm, arguments),
            CLIENT: lambda: by_client(client, request),
            STACK: lambda: by_client(routed, request),
            STEP: lambda: by_step(waiting.pop()),
        }


async def make_calls(into: Timed, call: Call, calls: int, expected: str, at_once: bool) -> None:
    """Make them, and note what they took."""

    async def one() -> None:
        begun = time.perf_counter()
        seen = await call()
        into.walls.append(time.perf_counter() - begun)
        into.firsts.append(seen.first - begun)
        into.pieces.append(seen.pieces)
        if seen.text != expected:
            raise RuntimeError(f"a reply was {seen.text!r}")

    cpu = time.process_time()
    if at_once:
        await asyncio.gather(*(one() for _ in range(calls)))
    else:
        for _ in range(calls):
            await one()
    await asyncio.sleep(SETTLE)
    into.cpu.append((time.process_time() - cpu) / calls)


async def answer(question: Question, directory: Path) -> dict[str, Timed]:
    """What the sides took."""
    result = {side: Timed() for side in question.sides}
    expected = words(question.pieces)
    async with callers(question, directory, WARM + question.rounds * question.calls) as by:
        for side in question.sides:
            await make_calls(Timed(), by[side], WARM, expected, question.at_once)
        gc.collect()  # takes 0.2 s with litellm there, and so is for none of them
        for number in range(question.rounds):
            first = number % len(question.sides)
            for side in question.sides[first:] + question.sides[:first]:
                await make_calls(result[side], by[side], question.calls, expected, question.at_once)
    return result


def ask(questions: Sequence[Question]) -> list[dict[str, Timed]]:
    """The answers, each found in a directory of its own."""
    answers = []
    for question in questions:
        with harness.workplace() as directory:
            answers.append(asyncio.run(answer(question, directory)))
    return answers


def ratios(of: Timed, by: Timed) -> list[float]:
    """CPU by CPU, round for round."""
    return [one / other for one, other in zip(of.cpu, by.cpu, strict=True)]


def print_calls(results: dict[str, dict[str, Timed]], facts: dict[str, Any]) -> None:
    """The table of the calls that follow one another."""
    title = f"bench_model: CPU and wall of a model call, in milliseconds; streamed: {PIECES} pieces"
    table = Table(title=title, caption=harness.machine_line(facts), title_justify="left", caption_justify="left")
    table.add_column("what", no_wrap=True)
    for name in ("CPU", "least", "most", "by aiohttp", "by litellm", "wall", "p95"):
        table.add_column(name, justify="right", no_wrap=True)
    for where, result in results.items():
        table.add_section()
        for side, found in result.items():
            cpu = [value * 1e3 for value in (statistics.median(found.cpu), min(found.cpu), max(found.cpu))]
            others = [f"{statistics.median(ratios(found, result[other])):.2f} x" for other in (HTTP, LITELLM)]
            walls = [harness.shown(harness.percentile(found.walls, percent) * 1e3) for percent in (50, 95)]
            table.add_row(f"{where}: {side}", *map(harness.shown, cpu), *others, *walls)
    harness.print_table(table)


def figures_of(where: str, result: dict[str, Timed], calls: int) -> list[harness.Figure]:
    """Streams at a pace."""

    def rounds(values: Sequence[float]) -> list[Sequence[float]]:
        return [values[at : at + calls] for at in range(0, len(values), calls)]

    figures = []
    for side, found in result.items():
        figures.append(harness.Figure(f"{where}, {side}: CPU a piece", [c / PACED * 1e6 for c in found.cpu], "us"))
        for what, percent in (("median", 50), ("p95", 95)):
            firsts = [harness.percentile(values, percent) * 1e3 for values in rounds(found.firsts)]
            figures.append(harness.Figure(f"{where}, {side}: first piece, {what}", firsts, "ms"))
    delivered = [sum(counts) / calls / PACED for counts in rounds(result[STEP].pieces)]
    figures.append(harness.Figure(f"{where}: CPU, {STEP} by litellm", ratios(result[STEP], result[LITELLM]), "x"))
    figures.append(harness.Figure(f"{where}: deltas delivered a piece", delivered, "x"))
    return figures


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    harness.set_directory(options.dir)
    rounds, streamed, whole, flows, alone, many = (1, 2, 3, 1, 2, 10) if options.quick else (4, 6, 25, 3, 5, 100)
    pace = PACE if options.quick else PACE_OF_MANY
    with provided(PIECES) as models:
        kinds = {True: ("streamed", PIECES, rounds, streamed), False: ("whole", SHORT, rounds, whole)}
        names = [f"{wire}, {kinds[stream][0]}" for wire, stream in models]
        asked = [Question(wire, llm, *kinds[stream][1:]) for (wire, stream), llm in models.items()]
        results = dict(zip(names, harness.fresh(ask, asked), strict=True))
    with provided(PACED, PACE) as slow, provided(PACED, pace) as slower:
        one = Question("chat", slow["chat", True], PACED, flows, alone, False, FLOWING)
        at_once = Question("chat", slower["chat", True], PACED, flows, many, True, FLOWING)
        flowing = harness.fresh(ask, [one, at_once])
    facts = harness.machine()
    print_calls(results, facts)
    figures = figures_of("1 stream", flowing[0], alone) + figures_of(f"{many} streams", flowing[1], many)
    title = f"bench_model: streams over chat, {1 / PACE:g} pieces a second of one, {1 / pace:g} of each of {many}"
    harness.report(title, figures, None)
    calls = [(f"{where}: {side}", found) for where, result in results.items() for side, found in result.items()]
    made = [{"what": what} | msgspec.to_builtins(found) for what, found in calls]
    harness.write(options.json, "bench_model", facts, [*made, *map(msgspec.to_builtins, figures)])


if __name__ == "__main__":
    main()
