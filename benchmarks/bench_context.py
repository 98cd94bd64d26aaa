"""What context costs: reading 500 skills, and opening a conversation that has them, beside one that has none.

python benchmarks/bench_context.py
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from agentrt import LLM, Agent, Conversation, Runtime
from agentrt.sources.gathering import gather
from agentrt.specs import AgentContext, LocalWorkspace
from agentrt.testing import ScriptedLLM, say

SKILLS, TIMES = 500, 20
BODY = "Do this, then that.\n" * 100


def project(root: Path, skills: int) -> Path:
    """A workspace with so many skills of 2 KB."""
    root.mkdir(parents=True)
    for number in range(skills):
        place = root / f".agents/skills/skill-{number}"
        place.mkdir(parents=True)
        head = f"---\nname: skill-{number}\ndescription: What it is for, and when to use it.\n---\n"
        (place / "SKILL.md").write_text(head + BODY)
    return root


def reading(root: Path) -> float:
    """Milliseconds to read all of it."""
    begun = time.perf_counter()
    found = gather(AgentContext(), LocalWorkspace(str(root)))
    took = (time.perf_counter() - begun) * 1000
    assert len(found.skills) in (0, SKILLS), len(found.skills)
    return took


async def opening(root: Path, store: Path) -> tuple[float, float, float]:
    """Milliseconds to begin a conversation and to open it again, and the longest that the loop stood still."""
    agent, longest = Agent(llm=LLM(model="scripted/model")), 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - begun - 0.001)

    async with Runtime(store, client=ScriptedLLM([say("Done.")])) as runtime:
        async with Conversation(agent, root, runtime=runtime):
            pass  # what is loaded once
        watcher = asyncio.create_task(watch())
        await asyncio.sleep(0.01)
        longest = 0.0
        begun = time.perf_counter()
        async with Conversation(agent, root, runtime=runtime) as conversation:
            created = time.perf_counter() - begun
            name = conversation.id
        stood = longest
        begun = time.perf_counter()
        async with Conversation(id=name, runtime=runtime):
            opened = time.perf_counter() - begun
            await asyncio.sleep(0.02)
        watcher.cancel()
    return created * 1000, opened * 1000, stood * 1000


def main() -> None:
    """Print both, for a workspace with skills and for one without."""
    with tempfile.TemporaryDirectory() as place:
        for skills in (0, SKILLS):
            root = project(Path(place, f"with-{skills}"), skills)
            reading(root)
            read = statistics.median(reading(root) for _ in range(TIMES))
            runs = [asyncio.run(opening(root, Path(place, f"store-{skills}-{n}"))) for n in range(TIMES // 2)]
            begun, opened, stood = (statistics.median(values) for values in zip(*runs, strict=True))
            print(
                f"{skills:4} skills: reading {read:.1f} ms, beginning {begun:.1f} ms, opening {opened:.1f} ms,"
                f" the loop stood still for {stood:.1f} ms at most"
            )


if __name__ == "__main__":
    main()
