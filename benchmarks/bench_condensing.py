"""How does a long conversation fare in a small window, and what do its summaries keep?

    python benchmarks/bench_condensing.py                  2,000 steps with a window of 32k tokens
    python benchmarks/bench_condensing.py --peer PYTHON    the OpenHands SDK's default condenser on the same script
    python benchmarks/bench_condensing.py --runs DIR       recorded runs (*.traj of SWE-agent): what later steps use

The model's words are scripted behind real HTTP; its provider refuses what is longer than the window. All tokens are
counted there, from the requests, by one tokenizer.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import msgspec

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no network while it is imported

import litellm

os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(litellm.__file__).parent / "litellm_core_utils" / "tokenizers")

import tiktoken
from bench_condensing_runs import report_runs
from compare_openhands import Peer, PeerFailed
from rich.console import Console
from rich.table import Table

from agentrt import Agent, Conversation, Runtime, tool
from agentrt.context.replies import ModelReply
from agentrt.events import Condensation
from agentrt.specs import Limits, StuckDetection
from agentrt.testing import ScriptedProvider, call, context_window, finish, say
from agentrt.testing.turns import Turn
from agentrt.usage import Usage

WINDOW = 32_000
STEPS = 2000
WORK = Path(__file__).with_name("openhands_condensing.py")
ASKS = "is about to be taken out of your view"

SUMMARY = "\n".join(
    (
        "## Task",
        "Look at every module of the project and note what is wrong in it, as the user asked.",
        "## Decisions",
        *(f"- what module {n} does is not what its name says: its callers were looked at, too" for n in range(8)),
        "## Files",
        *(f"- src/package_{n}/module_{n}.py: read, its tests pass" for n in range(16)),
        "## Open",
        "- the modules that were not looked at yet, in the order of their numbers",
        "## Failed",
        *(f"- `make check-{n}`: no rule for that target" for n in range(6)),
    )
)


def seen(n: int) -> str:
    """What a step shows: between a line and some pages, the same on both sides."""
    chance = random.Random(n)
    lines = chance.choice((2, 4, 8, 8, 16, 40))
    words = ("def", "return", "value", "index", "parser", "token", "None", "state", "self", "error", "line", "import")
    return "\n".join(f"{at}: {' '.join(chance.choices(words, k=10))}" for at in range(lines))


class Count(msgspec.Struct):
    """What the provider saw."""

    requests: int = 0
    sent: int = 0
    prefix: int = 0
    """Tokens that stand at the beginning of the request before, too."""
    largest: int = 0
    summaries: int = 0
    refused: int = 0
    done: int = 0


class Server:
    """A provider's script: it asks for one step after the other, sums up when it is asked to, and counts."""

    def __init__(self, steps: int) -> None:
        self.count = Count()
        self._steps, self._before = steps, list[str]()
        self._encoding = tiktoken.get_encoding("cl100k_base")
        self._known: dict[str, int] = {}

    def answer(self, provider: ScriptedProvider, body: dict[str, Any]) -> Any:
        """The turn for a request."""
        provider.requests.clear()
        parts = [json.dumps(body.get("tools") or []), *(json.dumps(message) for message in body["messages"])]
        size = sum(map(self._tokens, parts))
        count = self.count
        count.requests += 1
        count.largest = max(count.largest, size)
        if size > WINDOW:
            count.refused += 1
            return context_window("chat")
        count.sent += size
        count.prefix += self._common(parts)
        self._before = parts
        turn = self._turn(body)
        return msgspec.structs.replace(
            turn, usage=Usage(prompt_tokens=size, completion_tokens=len(turn.text) // 4 + 20)
        )

    def _turn(self, body: dict[str, Any]) -> ModelReply:
        if not body.get("tools") or ASKS in json.dumps(body["messages"][-1]):
            self.count.summaries += 1
            return _reply(say(SUMMARY))
        if self.count.done == self._steps:
            return _reply(finish("All was looked at."))
        n = self.count.done
        self.count.done += 1
        return _reply(call("look", f"Next is module {n}, which the one before imports.", n=n))

    def _tokens(self, part: str) -> int:
        if part not in self._known:
            if len(self._known) > 5000:
                self._known.clear()
            self._known[part] = len(self._encoding.encode(part, disallowed_special=()))
        return self._known[part]

    def _common(self, parts: list[str]) -> int:
        common = 0
        for one, other in zip(parts, self._before, strict=False):
            if one != other:
                return common + len(self._encoding.encode(_prefix(one, other), disallowed_special=()))
            common += self._tokens(one)
        return common


def _prefix(one: str, other: str) -> str:
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:same]


def _reply(turn: Turn) -> ModelReply:
    assert isinstance(turn, ModelReply)
    return turn


@tool
async def look(n: int) -> str:
    """Look at a module.

    Args:
        n: Its number.
    """
    return seen(n)


async def ours(steps: int) -> tuple[Count, float, str]:
    """What a conversation of so many steps has the provider see, the seconds it took, and how it ended."""
    server = Server(steps)
    with harness.workplace() as place:
        async with ScriptedProvider(lambda body: server.answer(provider, body)) as provider:
            llm = provider.llm(max_input_tokens=WINDOW, stream=False)
            agent = Agent(llm=llm, limits=Limits(max_steps=steps + 200), stuck=StuckDetection(monologue=99))
            async with Runtime(place / "store") as runtime:
                begun = time.perf_counter()
                async with Conversation(agent, place, tools=[look], runtime=runtime) as conversation:
                    await conversation.send_message("Look at every module, and note what is wrong in it.")
                    state = await conversation.run()
                    events = [event async for event in conversation.events() if isinstance(event, Condensation)]
                took = time.perf_counter() - begun
    assert len(events) == server.count.summaries, (len(events), server.count.summaries)
    assert not any(event.problem for event in events), [event.problem for event in events]
    return server.count, took, f"{state.status} {state.error.detail if state.error else ''}".strip()


async def theirs(steps: int, peer: Peer, timeout: float) -> tuple[Count, float, str]:
    """The same of the peer, whose program reaches the provider over loopback."""
    server = Server(steps)
    async with ScriptedProvider(lambda body: server.answer(provider, body)) as provider:
        given = json.dumps({"steps": steps, "window": WINDOW, "url": provider.base_url})
        begun = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *peer.command, "-", given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            async with asyncio.timeout(timeout):
                out, err = await process.communicate(WORK.read_bytes())
        except TimeoutError:
            process.kill()
            await process.wait()
            return server.count, time.perf_counter() - begun, f"not over after {timeout:.0f} s"
        took = time.perf_counter() - begun
    if process.returncode:
        raise PeerFailed((err or out).decode().strip()[-600:])
    return server.count, took, out.decode().splitlines()[-1]


LINES: tuple[tuple[str, Callable[[Count], float]], ...] = (
    ("steps", lambda c: c.done),
    ("requests", lambda c: c.requests),
    ("condensations", lambda c: c.summaries),
    ("tokens sent", lambda c: c.sent),
    ("tokens sent a step", lambda c: round(c.sent / max(c.done, 1))),
    ("of them in the request before, too", lambda c: c.prefix),
    ("their share, %", lambda c: round(100 * c.prefix / max(c.sent, 1), 1)),
    ("tokens that were new", lambda c: c.sent - c.prefix),
    ("the largest request", lambda c: c.largest),
    ("refused as too long", lambda c: c.refused),
)


def main() -> None:
    """Print both, side by side."""
    options = harness.parser(__doc__)
    options.add_argument("--steps", type=int, default=STEPS, help="steps of the conversation (default: %(default)s)")
    harness.add_peer(options)
    options.add_argument("--timeout", type=float, default=3000, help="seconds that the peer may take")
    options.add_argument("--runs", type=Path, help="a directory of recorded runs; nothing else is measured then")
    given: Namespace = options.parse_args()
    harness.set_directory(given.dir)
    if given.runs is not None:
        sys.exit(asyncio.run(report_runs(given.runs)))
    steps = 200 if given.quick else given.steps
    sides = {"agentrt": asyncio.run(ours(steps))}
    if given.peer:
        peer = Peer(given.peer, WORK.read_text())
        try:
            sides["OpenHands SDK"] = asyncio.run(theirs(steps, peer, given.timeout))
        except PeerFailed as failure:
            print(f"the peer gave no figure: {failure}")
    table = Table(title=f"{steps:,} steps, a window of {WINDOW:,} tokens", box=None)
    table.add_column("")
    for name in sides:
        table.add_column(name, justify="right")
    for what, of in LINES:
        table.add_row(what, *(f"{of(count):,}" for count, _, _ in sides.values()))
    table.add_row("seconds", *(f"{took:.1f}" for _, took, _ in sides.values()))
    table.add_row("ended", *(ended for _, _, ended in sides.values()))
    console = Console(width=120)
    console.print(harness.machine_line(harness.machine()))
    console.print(table)
    if given.json:
        figures = {name: {**msgspec.to_builtins(count), "seconds": took} for name, (count, took, _) in sides.items()}
        given.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
