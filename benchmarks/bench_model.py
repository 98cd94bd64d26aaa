"""What does a model call cost over a bare HTTP client, litellm alone, and the vendor's SDK?

The same request goes over loopback to a scripted provider in a process of its own: by httpx2 with no more around it
than what takes the answer apart, by litellm alone, by the vendor's SDK, by `LiteLLMClient`, by `WireClient`, by the
client that a runtime has (`ModelsClient` behind limits, retries and routes), and as a step of a conversation, whose log
is written and whose deltas are followed. What litellm sends differently is listed.

CPU is that of the calling process, of all its threads. One call follows another, streamed as fast as it can be read or
whole, over each wire; then there are streams at the pace of a model, one at a time and 100 that begin at once. And it
is told what the messages of a request cost, when there are 2,000 and the request before it had two less.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import harness
import msgspec
from model_provider import SHORT, WIRES, provided, words
from model_sides import BARE, LITELLM, OLD, STEP, WIRE, Call, agreed, by_client, callers, members, sides_of
from rich.table import Table

from agentrt import LLM
from agentrt.context.messages import Message, ToolCall
from agentrt.llm import LiteLLMClient, WireClient
from agentrt.protocols import ModelRequest
from agentrt.specs import TextContent

FLOWING = (BARE, LITELLM, WIRE, STEP)
"""Those of whom streams at a pace are measured."""

GOAL_PIECE = 2.5
"""How much of the bare client's CPU a streamed piece may take in `WireClient`."""
GOAL_LITELLM = 0.1
"""The same, of litellm's."""
GOAL_WHOLE = 3.0
"""How much of the bare client's CPU a whole answer may take."""

PIECES = 200
"""Of a streamed reply; the provider cuts it in 12 characters each."""
PACED = 40
"""Of a stream at a pace."""
PACE, PACE_OF_MANY = 0.01, 0.1
"""Seconds between two of them, of one stream and of many: litellm takes about a thousand pieces a second in all."""

WARM = 2
"""Calls of each side before those that count."""
SETTLE = 0.05
"""Seconds for what litellm does after its calls, before the CPU is read."""

MESSAGES = 2_000
"""Of a long conversation."""


class Question(msgspec.Struct, frozen=True):
    """Calls of a model that has so many pieces to say, by these sides, which take turns."""

    wire: str
    llm: LLM
    pieces: int
    rounds: int
    calls: int
    at_once: bool = False
    sides: tuple[str, ...] = ()


class Timed(msgspec.Struct):
    """What the calls of one side took, in seconds: the CPU of a call by rounds, the others by calls."""

    cpu: list[float] = []
    walls: list[float] = []
    firsts: list[float] = []
    pieces: list[int] = []


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
    steps = WARM + question.rounds * question.calls
    async with callers(question.wire, question.llm, directory, steps) as by:
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


async def _differences(models: dict[tuple[str, bool], LLM], directory: Path) -> dict[str, list[str]]:
    found = {}
    for wire in WIRES:
        _, _, sent = await agreed(wire, models[wire, True], directory / wire)
        found[wire] = [*dict.fromkeys(members(sent[WIRE], sent[OLD]))]
    return found


def differences(models: dict[tuple[str, bool], LLM]) -> dict[str, list[str]]:
    """The members in which what litellm sends differs from what `WireClient` does, by wire."""
    with harness.workplace() as directory:
        return asyncio.run(_differences(models, directory))


def history(steps: int) -> list[Message]:
    """So many steps with a tool, a call and its result each, begun by two messages."""
    made = [Message("system", (TextContent("You help. " * 200),)), Message("user", (TextContent("Begin."),))]
    for number in range(steps):
        call = ToolCall(f"call-{number}", "terminal", f'{{"command": "sed -n {number},40p src/module_{number}.py"}}')
        made.append(Message("assistant", (TextContent(f"I read part {number} of it."),), tool_calls=(call,)))
        made.append(Message("tool", (TextContent(f"line {number}\n" * 30),), tool_call_id=call.id))
    return made


async def _long(llm: LLM, calls: int, messages: int) -> dict[str, list[float]]:
    """CPU seconds of calls whose history grows by two messages each, up to so many, by client."""
    whole, found = history(messages // 2 - 1), dict[str, list[float]]()
    for name, client in ((WIRE, WireClient()), (OLD, LiteLLMClient())):
        async with aclosing(client):
            await client.prepare(llm)
            found[name] = []
            for left in range(calls, -1, -1):
                cpu = time.process_time()
                await by_client(client, ModelRequest(llm, whole[: messages - 2 * left], (), "long"))
                found[name].append(time.process_time() - cpu)
            found[name].pop(0)  # it had no shorter one before it
    return found


def long(models: Sequence[LLM], calls: int) -> list[dict[str, list[float]]]:
    """CPU seconds of a call with `MESSAGES` messages, less those of one with few, by client; for each model."""
    found = []
    for llm in models:
        many, few = (asyncio.run(_long(llm, calls, count)) for count in (MESSAGES, 2 * calls + 4))
        found.append({name: [took - statistics.median(few[name]) for took in many[name]] for name in many})
    return found


def ratios(of: Timed, by: Timed) -> list[float]:
    """CPU by CPU, round for round."""
    return [one / other for one, other in zip(of.cpu, by.cpu, strict=True)]


def print_calls(results: dict[str, dict[str, Timed]], facts: dict[str, Any]) -> None:
    """The table of the calls that follow one another."""
    title = f"bench_model: CPU and wall of a model call, in milliseconds; streamed: {PIECES} pieces"
    table = Table(title=title, caption=harness.machine_line(facts), title_justify="left", caption_justify="left")
    table.add_column("what", no_wrap=True)
    for name in ("CPU", "least", "most", "by bare", "by litellm", "wall", "p95"):
        table.add_column(name, justify="right", no_wrap=True)
    for where, result in results.items():
        table.add_section()
        for side, found in result.items():
            cpu = [value * 1e3 for value in (statistics.median(found.cpu), min(found.cpu), max(found.cpu))]
            others = [f"{statistics.median(ratios(found, result[other])):.2f} x" for other in (BARE, LITELLM)]
            walls = [harness.shown(harness.percentile(found.walls, percent) * 1e3) for percent in (50, 95)]
            table.add_row(f"{where}: {side}", *map(harness.shown, cpu), *others, *walls)
    harness.print_table(table)


def goals(results: dict[str, dict[str, Timed]]) -> list[harness.Figure]:
    """What `WireClient` takes of what the others do."""
    figures = []
    for where, result in results.items():
        streamed = where.endswith("streamed")
        of = "a streamed piece" if streamed else "a whole answer"
        by_bare, by_litellm = (ratios(result[WIRE], result[other]) for other in (BARE, LITELLM))
        what = f"{where}: CPU of {of}, {WIRE} by"
        figures.append(harness.Figure(f"{what} {BARE}", by_bare, "x", GOAL_PIECE if streamed else GOAL_WHOLE))
        figures.append(harness.Figure(f"{what} {LITELLM}", by_litellm, "x", GOAL_LITELLM if streamed else None))
    return figures


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
    for other, goal in ((BARE, GOAL_PIECE), (LITELLM, GOAL_LITELLM)):
        by = ratios(result[WIRE], result[other])
        figures.append(harness.Figure(f"{where}: CPU, {WIRE} by {other}", by, "x", goal))
    figures.append(harness.Figure(f"{where}: CPU, {STEP} by litellm", ratios(result[STEP], result[LITELLM]), "x"))
    figures.append(harness.Figure(f"{where}: deltas delivered a piece", delivered, "x"))
    return figures


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    harness.set_directory(options.dir)
    rounds, streamed, whole, flows, alone, many, longs = (
        (1, 2, 3, 1, 2, 10, 3) if options.quick else (5, 6, 25, 3, 5, 100, 10)
    )
    pace = PACE if options.quick else PACE_OF_MANY
    with provided(PIECES) as models:
        kinds = {True: ("streamed", PIECES, rounds, streamed), False: ("whole", SHORT, rounds, whole)}
        names = [f"{wire}, {kinds[stream][0]}" for wire, stream in models]
        asked = [
            Question(wire, llm, *kinds[stream][1:], sides=sides_of(wire)) for (wire, stream), llm in models.items()
        ]
        differ = harness.fresh(differences, models)
        results = dict(zip(names, harness.fresh(ask, asked), strict=True))
        grown = dict(zip(WIRES, harness.fresh(long, [models[wire, False] for wire in WIRES], longs), strict=True))
    with provided(PACED, PACE) as slow, provided(PACED, pace) as slower:
        one = Question("chat", slow["chat", True], PACED, flows, alone, False, FLOWING)
        at_once = Question("chat", slower["chat", True], PACED, flows, many, True, FLOWING)
        flowing = harness.fresh(ask, [one, at_once])
    facts = harness.machine()
    for wire, places in differ.items():
        print(f"over {wire}, litellm's request differs from {WIRE}'s in: {', '.join(places) or 'nothing'}")
    print_calls(results, facts)
    figures = goals(results) + [
        harness.Figure(f"{wire}: CPU of {MESSAGES:,} messages, {name}", [value * 1e3 for value in took], "ms")
        for wire, by in grown.items()
        for name, took in by.items()
    ]
    harness.report("bench_model: WireClient", figures, None)
    flows_of = figures_of("1 stream", flowing[0], alone) + figures_of(f"{many} streams", flowing[1], many)
    title = f"bench_model: streams over chat, {1 / PACE:g} pieces a second of one, {1 / pace:g} of each of {many}"
    harness.report(title, flows_of, None)
    calls = [(f"{where}: {side}", found) for where, result in results.items() for side, found in result.items()]
    made = [{"what": what} | msgspec.to_builtins(found) for what, found in calls]
    harness.write(options.json, "bench_model", facts, [*made, *map(msgspec.to_builtins, figures + flows_of)])


if __name__ == "__main__":
    main()
