"""A server that is killed in the middle of its work: the next one lists all of it, and goes on if told so."""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agentrt.events import ActionEvent, ObservationEvent, PauseEvent, RunRequested
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedProvider, call, finish
from agentrt.testing.turns import Turn
from tests.cli.test_serve import Serving, agentrt_serve, ready
from tests.sandboxes.living import lives

from .killing import killed_after
from .waiting import eventually

pytestmark = pytest.mark.long

MANY = 40
STEPS = 6


def script(body: dict[str, Any]) -> Turn:
    """Some steps that each think, then the end."""
    taken = sum(message["role"] == "assistant" for message in body["messages"])
    return call("think", thought=f"Step {taken}.") if taken < STEPS else finish("Done.")


MOMENTS = (0.0, 0.1, 0.2, 0.3)
"""Seconds after which a server that resumes is killed, mostly before it has opened a conversation."""

ROUNDS = 10
"""Maximum number of servers that are killed once a conversation is recovered, until one was killed before its run."""


async def statuses(session: aiohttp.ClientSession, url: str) -> dict[str, str]:
    async with session.get(f"{url}/conversations?limit=100") as answer:
        return {item["id"]: item["status"] for item in (await answer.json())["items"]}


@pytest.mark.parametrize("resume", [True, False], ids=["goes-on", "waits"])
async def test_what_ran_when_it_was_killed(tmp_path: Path, resume: bool) -> None:
    async with ScriptedProvider(script, pace=0.02) as provider, aiohttp.ClientSession() as session:
        model = ("--model", "openai/scripted", "--base-url", provider.base_url, "--log-level", "warning")
        names = [f"c{number}" for number in range(MANY)]
        async with agentrt_serve(tmp_path, *model, OPENAI_API_KEY="none") as server:
            await ready(session, server)
            for name in names:
                wanted = {"id": name, "message": "Begin"}
                async with session.post(f"{server.url}/conversations", json=wanted) as answer:
                    assert answer.status == 201, await answer.text()
            async with session.post(f"{server.url}/conversations", json={"id": "idle"}) as answer:
                assert answer.status == 201
            await eventually(lambda: len(provider.requests) >= 2 * MANY, "all are at work", 30)
            server.process.send_signal(signal.SIGKILL)
            await server.process.wait()
        before = {name: len(read_conversation(tmp_path / "store" / "conversations" / name)) for name in names}
        more = ("--resume-running",) if resume else ()
        async with agentrt_serve(tmp_path, *model, *more, OPENAI_API_KEY="none") as server:
            session.headers["Authorization"] = f"Bearer {server.token}"
            listed = await statuses(session, server.url)
            assert set(listed) == {*names, "idle"}, "all are listed at once"
            await ready(session, server)
            wanted_status = {"finished"} if resume else {"paused", "finished"}

            async def over() -> bool:
                return not set((await statuses(session, server.url)).values()) - {"idle"} - wanted_status

            await eventually(over, "none is at work", 60)
            found = await statuses(session, server.url)
            assert found["idle"] == "idle"
            assert resume or "paused" in found.values(), "some were at work"
            assert await server.stop() == 0
    assert not provider.refused
    for name in names:
        events = read_conversation(tmp_path / "store" / "conversations" / name)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert len(events) >= before[name], "what was durable is there"
        results = Counter(event.action_id for event in events if isinstance(event, ObservationEvent))
        asked = [event.id for event in events if isinstance(event, ActionEvent)]
        assert set(results.values()) <= {1}
        if resume:
            assert set(asked) == set(results)
            assert sum(isinstance(event, PauseEvent) for event in events) <= 1


async def test_servers_that_are_killed_while_they_resume_strand_nobody(tmp_path: Path) -> None:
    async with ScriptedProvider(script, pace=0.02) as provider, aiohttp.ClientSession() as session:
        model = ("--model", "openai/scripted", "--base-url", provider.base_url, "--log-level", "warning")
        names = {f"c{number}" for number in range(MANY)}
        async with agentrt_serve(tmp_path, *model, OPENAI_API_KEY="none") as server:
            await ready(session, server)
            for name in names:
                async with session.post(f"{server.url}/conversations", json={"id": name, "message": "Begin"}) as answer:
                    assert answer.status == 201, await answer.text()
            await eventually(lambda: len(provider.requests) >= MANY, "all are at work", 30)
            await killed_after(server.process, 0.0)
        logs = {name: tmp_path / "store" / "conversations" / name for name in names}

        def paused() -> set[str]:
            found = {name: read_conversation(log) for name, log in logs.items()}
            last = {
                name: [e for e in events if isinstance(e, PauseEvent | RunRequested)][-1]
                for name, events in found.items()
            }
            return {name for name, event in last.items() if isinstance(event, PauseEvent)}

        def size() -> int:
            return sum(file.stat().st_size for log in logs.values() for file in log.iterdir() if file.is_file())

        def grown_since(before: int) -> bool:
            return size() > before

        for moment in MOMENTS:
            async with agentrt_serve(tmp_path, *model, "--resume-running", OPENAI_API_KEY="none") as server:
                await killed_after(server.process, moment)
        left = paused()
        for _ in range(ROUNDS):
            if left:
                break
            before = size()
            async with agentrt_serve(tmp_path, *model, "--resume-running", OPENAI_API_KEY="none") as server:
                await eventually(partial(grown_since, before), "a conversation is recovered", 60)
                await killed_after(server.process, 0.0)
            left = paused()
        assert left, "some were killed between their recovery and their run"
        async with agentrt_serve(tmp_path, *model, "--resume-running", OPENAI_API_KEY="none") as server:
            await ready(session, server)

            async def over() -> bool:
                return set((await statuses(session, server.url)).values()) == {"finished"}

            await eventually(over, f"all have finished, also the {len(left)} that were left paused once", 60)
            assert await server.stop() == 0


IN_BACKGROUND = "setsid sh -c 'echo $$ > started; exec sleep 4321' &"


def ended(pid: int) -> None:
    """End a process that a failed test has left."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def in_background(body: dict[str, Any]) -> Turn:
    """A process in the background of the shell, outside of its session, then the end."""
    done = any(message["role"] == "assistant" for message in body["messages"])
    return finish("It runs.") if done else call("terminal", command=IN_BACKGROUND)


async def test_the_next_server_removes_what_a_killed_one_left_before_anyone_asks_for_it(tmp_path: Path) -> None:
    """Beside a server that lives, with a store of its own: nothing of that one is touched."""
    more = {"OPENAI_API_KEY": "none", "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    with ExitStack() as stack:
        async with ScriptedProvider(in_background) as provider, aiohttp.ClientSession() as session:
            model = ("--model", "openai/scripted", "--base-url", provider.base_url, "--log-level", "warning")
            words = (*model, "--confine", "off")  # what it starts is known by its number here

            async def begun(server: Serving, directory: Path) -> int:
                await ready(session, server)
                async with session.post(f"{server.url}/conversations", json={"id": "c", "message": "Begin"}) as answer:
                    assert answer.status == 201, await answer.text()

                started = directory / "c" / "started"

                async def over() -> bool:
                    done = (await statuses(session, server.url))["c"] == "finished"
                    return done and started.exists() and started.read_text().endswith("\n")

                await eventually(over, "nothing runs but what was started in the background", 30)
                pid = int(started.read_text())
                stack.callback(ended, pid)
                return pid

            for name in ("killed", "alive"):
                (tmp_path / name).mkdir()
            async with agentrt_serve(tmp_path / "alive", *words, **more) as beside:
                living = await begun(beside, tmp_path / "alive")
                (kept,) = (tmp_path / "tmp").glob("agentrt-run-*")
                async with agentrt_serve(tmp_path / "killed", *words, **more) as server:
                    left = await begun(server, tmp_path / "killed")
                    await killed_after(server.process, 0.0)
                assert lives(left)
                async with agentrt_serve(tmp_path / "killed", *words, **more) as server:
                    await eventually(lambda: not lives(left), "what the killed server had started has ended", 30)
                    await eventually(
                        lambda: len(list(kept.parent.glob("agentrt-run-*"))) == 2, "its files are gone", 30
                    )
                    assert await server.stop() == 0
                assert lives(living)
                assert list(kept.glob("shell-*"))
                assert await beside.stop() == 0
            assert not lives(living)
            assert list((tmp_path / "tmp").iterdir()) == []
