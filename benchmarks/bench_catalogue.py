"""What does a store with 100,000 conversations cost: to open, to list, to search?

Each conversation is a directory with a log of one batch (created, system prompt, a user's message), written without a
store. Wall seconds, each in a fresh process: until the store is ready; of the first list, when there is no catalogue;
of a list of 20 with it, by status, and with a new conversation in the store; of the first search, that indexes every
log, and of the next; of a whole rebuild. The logs are in the page cache.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import harness
import msgspec
from msgspec.structs import replace

from agentrt import LLM, Agent
from agentrt.events import ConversationCreated, Event, MessageEvent, SystemPromptEvent
from agentrt.ids import new_id
from agentrt.listing import Filter
from agentrt.specs import LocalWorkspace, ToolDefinition
from agentrt.specs.content import text
from agentrt.state import State
from agentrt.storage import FileStore
from agentrt.storage.catalogue import CATALOGUE, Catalogue
from agentrt.storage.framing import frame

GOAL_READY = 1.5
GOAL_LIST = 0.1

NUMBER = 100_000
QUICK = 2_000
RARE = 1000
"""One conversation in so many has the word that is searched for."""


def log() -> bytes:
    """The log of a small conversation, with places for its id and its word."""
    schema = msgspec.Raw(b'{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}')
    tools = (ToolDefinition(name="terminal", description="Runs a command.", parameters=schema),)
    events: list[Event] = [
        ConversationCreated(
            conversation_id="CONVERSATION", agent=Agent(llm=LLM(model="scripted")), workspace=LocalWorkspace("/work")
        ),
        SystemPromptEvent(system_prompt="You are a careful agent. " * 20, tools=tools),
        MessageEvent(source="user", content=text("Find out why the WORD fails, and mend it.\nBe brief.")),
    ]
    return b"".join(frame([replace(event, seq=seq) for seq, event in enumerate(events, 1)], durable=0))


def filled(log: bytes, conversation_id: str, word: str) -> Iterator[bytes]:
    """The lines for one conversation, with checksums that are right."""
    for line in log.splitlines():
        body = line[: line.rindex(b',"crc"')]
        body = body.replace(b"CONVERSATION", conversation_id.encode()).replace(b"WORD", word.encode())
        yield b'%s,"crc":"%08x"}\n' % (body, crc32(body))


def fill(root: Path, number: int) -> float:
    """Make the conversations; the seconds that it took."""
    begun, pattern = time.perf_counter(), log()
    for count in range(number):
        add(root, pattern, "pelican" if count % RARE == 0 else f"test{count % 97}")
    return time.perf_counter() - begun


def add(root: Path, pattern: bytes, word: str) -> None:
    """Make one conversation."""
    name = new_id()
    directory = root / "conversations" / name
    os.makedirs(directory)
    with open(directory / "events.jsonl", "xb", buffering=0) as file:
        file.write(b"".join(filled(pattern, name, word)))


def timed(work: Callable[[], object]) -> float:
    """Wall seconds."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def ready(root: Path) -> float:
    """Seconds until a store is entered, in a loop that runs."""

    async def enter() -> float:
        begun = time.perf_counter()
        async with FileStore(root):
            return time.perf_counter() - begun

    return asyncio.run(enter())


def listed(root: Path, status: str | None = None) -> float:
    """Seconds of a list of 20."""
    return timed(lambda: Catalogue(root).page(20, wanted=Filter(status)))


def searched(root: Path, words: str) -> float:
    """Seconds of a search."""
    return timed(lambda: Catalogue(root).search(words))


def rebuilt(root: Path) -> float:
    """Seconds in which every log is read again."""
    return timed(Catalogue(root).rebuild)


def told(root: Path, times: int = 200) -> float:
    """Milliseconds of the two notes that a process makes of a conversation that it opens and lets go."""
    catalogue, state = Catalogue(root), State()
    names = [path.name for path, _ in zip((root / "conversations").iterdir(), range(times), strict=False)]

    def tell() -> None:
        for name in names:
            catalogue.begin(name)
            catalogue.note(name, state)

    seconds = timed(tell)
    catalogue.close()
    return seconds / len(names) * 1e3


def without_catalogue(root: Path) -> None:
    """Delete the cache."""
    for path in root.glob(f"{CATALOGUE}*"):
        path.unlink()


def main() -> None:
    """Measure, and report."""
    parser = harness.parser(__doc__)
    parser.add_argument("--number", type=int, metavar="N", help=f"conversations (default: {NUMBER}; quick: {QUICK})")
    options = parser.parse_args()
    harness.set_directory(options.dir)
    number = options.number or (QUICK if options.quick else NUMBER)
    repeats = range(1 if options.quick else 3)
    with harness.workplace() as root:
        made = fill(root, number)
        pattern = log()
        opened = [harness.fresh(ready, root) for _ in repeats]
        cold, warm, grown, by_status, first, next_, index = [], [], [], [], [], [], []
        for _ in repeats:
            without_catalogue(root)
            os.utime(root / "conversations", (0, 0))  # a store at rest
            cold.append(harness.fresh(listed, root))
            warm.append(harness.fresh(listed, root))
            by_status.append(harness.fresh(listed, root, "idle"))
            add(root, pattern, "heron")
            grown.append(harness.fresh(listed, root))
            first.append(harness.fresh(searched, root, "pelican"))
            next_.append(harness.fresh(searched, root, "pelican"))
            index.append((root / CATALOGUE).stat().st_size / 1e6)
        notes = [harness.fresh(told, root) for _ in repeats]
        whole = [harness.fresh(rebuilt, root) for _ in repeats]
    figures = [
        harness.Figure("the store is ready", opened, "s", GOAL_READY),
        harness.Figure("list of 20: no catalogue yet", cold, "s"),
        harness.Figure("list of 20", warm, "s", GOAL_LIST),
        harness.Figure("list of 20 by status", by_status, "s", GOAL_LIST),
        harness.Figure("list of 20 after one was copied in", grown, "s"),
        harness.Figure("search: nothing indexed yet", first, "s"),
        harness.Figure("search", next_, "s"),
        harness.Figure("rebuild: every log read", whole, "s"),
        harness.Figure("begin and note of one", notes, "ms"),
        harness.Figure("the catalogue with its index", index, "MB"),
        harness.Figure("making the conversations", [made], "s"),
    ]
    harness.report(f"bench_catalogue: a store with {number:,} conversations", figures, options.json)


if __name__ == "__main__":
    main()
