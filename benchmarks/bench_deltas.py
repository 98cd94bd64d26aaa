"""What does it cost to show text as it streams in, and how soon is it seen?

100 conversations stream at once in one process, each 300 pieces at 100 a second, from a model that is scripted through
the real feed to one subscriber each. The same is run with nobody subscribed: the difference is what subscribers cost.
Beside it what one call of `Feed.show` takes, with nobody there and with a subscriber, its own part included.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import harness

from agentrt import LLM, Agent, Conversation, Delta, ExecutionStatus, Runtime, State
from agentrt.actors.feed import Feed
from agentrt.context.replies import ModelReply
from agentrt.protocols import ModelRequest, Watch
from agentrt.state import Branch, Calling
from agentrt.storage import FileStore
from agentrt.testing import ScriptedLLM, say

GOAL_US = 10.0
"""Microseconds of CPU that a subscriber may cost for each piece shown."""
GOAL_DELIVERED = 0.5
GOAL_FIRST_MS = 10.0

CONVERSATIONS = 100
PIECES = 300
PACE = 0.01
"""Seconds between two pieces of a conversation."""

SHOWS = 200_000
TURN = 5
"""Pieces shown in one turn of the event loop, where a single feed is measured."""


class Streaming(ScriptedLLM):
    """Streams pieces at a pace; `begun` has when the first one of each reply was shown, by that piece."""

    def __init__(self, pieces: int) -> None:
        super().__init__([], keep=False)
        self._pieces = pieces
        self.begun: dict[str, float] = {}

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """A reply of that many pieces."""
        first = f"{len(self.begun)}"
        said = [first]
        self.begun[first] = time.perf_counter()
        watch.show("text", first)
        for _ in range(self._pieces - 1):
            await asyncio.sleep(PACE)
            said.append(" word")
            watch.show("text", " word")
        return say("".join(said))


async def stream_many(directory: Path, conversations: int, pieces: int, subscribed: bool) -> dict[str, Any]:
    """CPU seconds in all, deltas delivered, and the seconds to the first delta of each conversation."""
    model, firsts, delivered = Streaming(pieces), list[float](), 0

    async def follow(conversation: Conversation) -> None:
        nonlocal delivered
        text = ""
        async for item in conversation.run().stream():
            if isinstance(item, Delta):
                if not item.start:
                    firsts.append(time.perf_counter() - model.begun[item.text.partition(" ")[0]])
                delivered += 1
                text += item.text
        if len(text.split()) < pieces * 0.8:
            raise RuntimeError(f"of {pieces} pieces {len(text.split())} were seen")

    async def run(conversation: Conversation) -> State:
        if subscribed:
            await follow(conversation)
            return conversation.state
        return await conversation.run()

    async with AsyncExitStack() as stack:
        runtime = await stack.enter_async_context(Runtime(directory / "store", client=model))
        live = []
        for _ in range(conversations):
            agent = Agent(llm=LLM(model="scripted"), tools=())
            conversation = await stack.enter_async_context(Conversation(agent, directory, runtime=runtime))
            await conversation.send_message("Begin.")
            live.append(conversation)
        begun = time.process_time()
        ended = await asyncio.gather(*map(run, live))
        cpu = time.process_time() - begun
        if any(state.status is not ExecutionStatus.FINISHED for state in ended):
            raise RuntimeError(f"runs ended {sorted({state.status.value for state in ended})}")
        return {"cpu": cpu, "delivered": delivered, "firsts": firsts}


def measure(conversations: int, pieces: int, subscribed: bool) -> dict[str, Any]:
    """One run of that many, in a directory of its own."""
    with harness.workplace() as directory:
        return asyncio.run(stream_many(directory, conversations, pieces, subscribed))


async def show_alone(directory: Path, shows: int, subscribed: bool) -> float:
    """Nanoseconds of CPU of one `Feed.show`, with what its subscriber does; the loop's own turns are taken off."""
    async with FileStore(directory / "store") as store:
        feed = Feed(await store.create("c"), State(branch=Branch(phase=Calling("call-1"))))

        async def follow() -> None:
            async for _ in feed.stream(0):
                pass

        following = asyncio.ensure_future(follow()) if subscribed else None
        await asyncio.sleep(0)
        spent = [0.0, 0.0]
        for shown in (0, TURN):
            begun = time.process_time()
            for _ in range(shows // TURN):
                for _ in range(shown):
                    feed.show("e", "text", " word", "call-1")
                await asyncio.sleep(0)
            spent[shown > 0] = time.process_time() - begun
        feed.close()
        if following is not None:
            await following
        await store.release("c")
    return (spent[1] - spent[0]) / shows * 1e9


def measure_show(shows: int, subscribed: bool) -> float:
    """The same, in a directory of its own."""
    with harness.workplace() as directory:
        return asyncio.run(show_alone(directory, shows, subscribed))


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    harness.set_directory(options.dir)
    repeats, conversations, pieces, shows = (
        (1, 10, 50, SHOWS // 10) if options.quick else (5, CONVERSATIONS, PIECES, SHOWS)
    )
    alone: list[float] = []
    followed: list[float] = []
    bare: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    for _ in range(repeats):
        alone.append(harness.fresh(measure_show, shows, False))
        followed.append(harness.fresh(measure_show, shows, True))
        bare.append(harness.fresh(measure, conversations, pieces, False))
        runs.append(harness.fresh(measure, conversations, pieces, True))
    shown = conversations * pieces
    cost = [(run["cpu"] - without["cpu"]) / shown * 1e6 for run, without in zip(runs, bare, strict=True)]
    firsts = [run["firsts"] for run in runs]
    figures = [
        harness.Figure("CPU a piece, nobody subscribed", [run["cpu"] / shown * 1e6 for run in bare], "us"),
        harness.Figure("CPU a piece, a subscriber each", [run["cpu"] / shown * 1e6 for run in runs], "us"),
        harness.Figure("of it the subscriber", cost, "us", GOAL_US),
        harness.Figure("deltas delivered a piece", [run["delivered"] / shown for run in runs], "x", GOAL_DELIVERED),
        harness.Figure("time to first delta, median", [harness.percentile(f, 50) * 1e3 for f in firsts], "ms"),
        harness.Figure(
            "time to first delta, p99", [harness.percentile(f, 99) * 1e3 for f in firsts], "ms", GOAL_FIRST_MS
        ),
        harness.Figure("Feed.show, nobody subscribed", alone, "ns"),
        harness.Figure("Feed.show, one subscriber", followed, "ns", note=f"{TURN} a turn of the loop"),
    ]
    harness.report(f"bench_deltas: {conversations} conversations stream at once", figures, options.json)


if __name__ == "__main__":
    main()
