from __future__ import annotations

import errno
import os
from pathlib import Path

import anyio
import pytest

from agentrt.errors import LogFailed
from agentrt.server.problems import Refusal
from agentrt.server.readiness import Readiness
from agentrt.testing import ScriptedLLM, say
from tests.storage.failing_disk import FailingDisk

from .endpoints.helpers import begin
from .served import Client, agent, served

pytestmark = pytest.mark.simulated

FULL = LogFailed(Path("/store/events.jsonl"), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))


async def until_ready(client: Client) -> None:
    """Return when the server takes work."""
    with anyio.fail_after(10):
        while (await client.ask("GET", "/ready"))[0] != 200:
            await anyio.lowlevel.checkpoint()


class Logs:
    """Logs of which a test says whether they can be written."""

    def __init__(self) -> None:
        self.committed = self.probes = 0
        self.full = True

    async def probe(self) -> None:
        self.probes += 1
        if self.full:
            raise FULL


def readiness(logs: Logs) -> Readiness:
    """The readiness of a server that has loaded what it needs."""
    made = Readiness(lambda: logs.committed, logs.probe)
    made.waits_for = None
    return made


@pytest.mark.parametrize("heal", ["commit", "probe"])
async def test_a_server_is_not_ready_until_an_append_or_a_probe_works(heal: str) -> None:
    logs = Logs()
    ready = readiness(logs)
    await ready.check()
    ready.log_failed("c", FULL)
    for _ in range(3):
        with pytest.raises(Refusal) as refused:
            await ready.check()
        assert (refused.value.problem.status, refused.value.problem.code) == (503, "log-failed")
        assert "free some space" in refused.value.problem.detail
        assert "/store" not in refused.value.problem.detail
    assert logs.probes == 1, "whoever asks often causes no writes"
    if heal == "commit":
        logs.committed += 1
    else:
        logs.full = False
        ready = readiness(logs)
        ready.log_failed("c", FULL)
    await ready.check()
    await ready.check()


async def test_a_bug_in_one_conversation_takes_no_server_out_of_service() -> None:
    ready = readiness(Logs())
    ready.log_failed("c", ZeroDivisionError())
    await ready.check()


@pytest.mark.real
@pytest.mark.parametrize("kind", ["full", "broken"])
async def test_a_disk_that_fails_is_seen_from_outside_and_heals(tmp_path: Path, kind: str) -> None:
    disk = FailingDisk()
    async with served(tmp_path, ScriptedLLM(lambda request: say("Fine.")), disk=disk) as client:
        await until_ready(client)
        name = (await begin(client))["id"]
        conversation = f"/conversations/{name}"

        async def info(path: str = conversation) -> tuple[str, str | None]:
            _, got = await client.ask("GET", path)
            got = got["items"][0] if "items" in got else got
            return got["status"], got["error"] and got["error"]["code"]

        status, _ = await client.ask("POST", f"{conversation}/message", {"content": "one"})
        assert status == 200
        idle = await info()
        with disk.failing(kind):
            for _ in range(2):
                status, problem = await client.ask("POST", f"{conversation}/message", {"content": "refused"})
                assert (status, problem["code"]) == (503, "log-failed")
            assert await info() == await info(f"{conversation}/state") == ("error", "log-failed")
            assert await info("/conversations") == ("error", "log-failed")
            assert await info("/conversations?status=error") == ("error", "log-failed")
            status, problem = await client.ask("GET", "/ready")
            assert (status, problem["code"]) == (503, "log-failed")
            status, problem = await client.ask("POST", "/conversations", {"agent": agent(), "id": "new"})
            assert (status, problem["code"]) == (503, "log-failed")
        async with client.session.get(client.url + "/metrics") as answer:
            assert "agentrt_log_failures_total 3.0" in await answer.text()
        left = [path.name for path in (tmp_path / "store" / "conversations").iterdir()]
        assert (left, [path.name for path in (tmp_path / "workspaces").iterdir()]) == ([name], [name])
        status, _ = await client.ask("POST", f"{conversation}/message", {"content": "two"})
        assert status == 200
        assert await info() == await info("/conversations") == idle
        await until_ready(client)
        _, page = await client.ask("GET", f"{conversation}/events?type=MessageEvent&source=user")
        assert [event["content"][0]["text"] for event in page["items"]] == ["one", "two"]
