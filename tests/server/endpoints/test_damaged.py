"""Conversations whose logs are damaged: what is intact is shown, and the rest is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentrt.testing import ScriptedLLM, finish

from ..served import Client, served
from .helpers import begin, settled

pytestmark = pytest.mark.real


async def finished(directory: Path, *, memo: bool) -> tuple[str, Path]:
    """A conversation of a server that has stopped, and its log."""
    async with served(directory, ScriptedLLM([finish("Done.")])) as client:
        name = str((await begin(client, message="Count", title="Counting"))["id"])
        await settled(client, name)
    log = directory / "store" / "conversations" / name / "events.jsonl"
    if not memo:
        for cache in ("memo.bin", "snapshot.json"):
            log.with_name(cache).unlink()
    return name, log


def flip(log: Path, line: int) -> None:
    """Flip a bit of a record."""
    lines = log.read_bytes().splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace(b'"type"', b'"tyqe"', 1)
    log.write_bytes(b"".join(lines))


async def seqs(client: Client, name: str, query: str = "") -> tuple[list[int], Any]:
    """The seqs of a page, and its gaps."""
    status, page = await client.ask("GET", f"/conversations/{name}/events{query}")
    assert status == 200, page
    return [event["seq"] for event in page["items"]], page["gaps"]


@pytest.mark.parametrize("memo", [True, False])
async def test_one_flipped_bit_hides_one_event(tmp_path: Path, memo: bool) -> None:
    name, log = await finished(tmp_path, memo=memo)
    last = len(log.read_bytes().splitlines())
    flip(log, 4)
    async with served(tmp_path, ScriptedLLM([])) as client:
        gap = {"after": 3, "before": 5, "reason": "line 4 is damaged"}
        intact = [seq for seq in range(1, last + 1) if seq != 4]
        assert await seqs(client, name) == (intact, [gap])
        assert await seqs(client, name, "?order=desc") == (intact[::-1], [gap])
        assert await seqs(client, name, "?after=4") == (intact[3:], [])
        assert (await client.ask("GET", f"/conversations/{name}/events/5"))[0] == 200
        status, problem = await client.ask("GET", f"/conversations/{name}/events/4")
        assert (status, problem["detail"]) == (404, "it is damaged")
        status, counted = await client.ask("GET", f"/conversations/{name}/events/count?type=ConversationCreated")
        assert (status, counted["count"]) == (200, 1)


async def test_what_needs_all_of_it_is_a_problem_that_says_what_to_do(tmp_path: Path) -> None:
    name, log = await finished(tmp_path, memo=False)
    flip(log, 4)
    async with served(tmp_path, ScriptedLLM([])) as client:
        for method, path, body in [
            ("GET", "", None),
            ("GET", "/state", None),
            ("GET", "/state?at=9", None),
            ("POST", "/message", {"content": "more"}),
        ]:
            status, problem = await client.ask(method, f"/conversations/{name}{path}", body)
            assert (status, problem["code"]) == (409, "log-corrupt")
            assert "agentrt log verify" in problem["detail"]
            assert "agentrt log repair --force" in problem["detail"]
            assert str(tmp_path) not in problem["detail"]
        after = problem["data"]["after"]
        assert 0 < after < 4
        status, state = await client.ask("GET", f"/conversations/{name}/state?at={after}")
        assert (status, state["cursor"]["seq"]) == (200, after)
        _, page = await client.ask("GET", "/conversations")
        assert [(row["id"], row["status"]) for row in page["items"]] == [(name, "damaged")]
        assert page["items"][0]["workspace"], "as far as its first events say"


@pytest.mark.parametrize("content", [b"", b"garbage\n" * 50])
async def test_an_emptied_log_and_garbage_are_damage(tmp_path: Path, content: bytes) -> None:
    name, log = await finished(tmp_path, memo=True)
    log.write_bytes(content)
    async with served(tmp_path, ScriptedLLM([])) as client:
        for path in ("", "/events", "/state"):
            status, problem = await client.ask("GET", f"/conversations/{name}{path}")
            assert (status, problem["code"]) == (409, "log-corrupt")
            assert "--force" not in problem["detail"], "nothing would remain"
            assert "restore it from a copy, or delete the conversation" in problem["detail"]
        _, page = await client.ask("GET", "/conversations")
        assert [(row["id"], row["status"]) for row in page["items"]] == [(name, "damaged")]
        assert (await client.ask("DELETE", f"/conversations/{name}"))[0] == 204


async def test_a_shortened_log_ends_with_a_gap(tmp_path: Path) -> None:
    name, log = await finished(tmp_path, memo=True)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-3]))
    async with served(tmp_path, ScriptedLLM([])) as client:
        intact, gaps = await seqs(client, name)
        assert intact == list(range(1, len(lines) - 2))
        assert [(gap["after"], gap["before"]) for gap in gaps] == [(len(lines) - 3, None)]
        status, problem = await client.ask("POST", f"/conversations/{name}/message", {"content": "more"})
        assert (status, problem["code"]) == (409, "log-corrupt")
