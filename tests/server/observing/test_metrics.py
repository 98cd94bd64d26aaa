from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from prometheus_client.parser import text_string_to_metric_families

from agentrt.server.observing.requests import QUIET
from agentrt.testing import ScriptedLLM, finish

from ..served import Client, agent, served

pytestmark = pytest.mark.real

CANARY = "canary-6f0d1b2e9c"


async def metrics(client: Client) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """All samples, by their names and labels."""
    async with client.session.get(client.url + "/metrics") as answer:
        assert answer.status == 200
        assert answer.content_type == "text/plain"
        text = await answer.text()
    assert CANARY not in text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_a_run_is_counted(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([finish("Done.")])) as client:
        secrets = {"TOKEN": CANARY}
        status, made = await client.ask(
            "POST", "/conversations", {"agent": agent(), "message": CANARY, "secrets": secrets}
        )
        assert status == 201
        with anyio.fail_after(10):
            while (await client.ask("GET", f"/conversations/{made['id']}"))[1]["status"] != "finished":
                await anyio.lowlevel.checkpoint()
        await client.ask("GET", f"/nowhere/{CANARY}")
        found = await metrics(client)
        events = (await client.ask("GET", f"/conversations/{made['id']}"))[1]["cursor"]["seq"]
    assert found["agentrt_events_total", ()] == events
    assert 0 < found["agentrt_append_seconds_count", ()] < events
    assert found["agentrt_conversations", (("status", "finished"),)] == 1
    assert found["agentrt_conversations_awake", ()] == 1
    assert found["agentrt_conversations_stored", ()] == 1
    assert found["agentrt_model_call_seconds_count", (("model", "scripted/model"),)] == 1
    assert found["agentrt_model_unpriced_calls_total", (("model", "scripted/model"),)] == 1
    assert found["agentrt_model_tokens_total", (("kind", "prompt"), ("model", "scripted/model"))] > 0
    created = (("method", "POST"), ("path", "/conversations"), ("status", "201"))
    assert found["agentrt_http_requests_total", created] == 1
    assert found["agentrt_http_requests_total", (("method", "GET"), ("path", "other"), ("status", "404"))] == 1
    assert found["agentrt_writer_waiting_batches", ()] == 0
    assert found["process_resident_memory_bytes", ()] > 0


async def test_two_servers_of_a_process_do_not_share_figures(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    async with served(tmp_path / "a", ScriptedLLM([])) as first, served(tmp_path / "b", ScriptedLLM([])) as second:
        await first.ask("POST", "/conversations", {"agent": agent()})
        assert (await metrics(first))["agentrt_events_total", ()] > 0
        assert (await metrics(second))["agentrt_events_total", ()] == 0


async def test_sockets_are_counted_while_they_are_open(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        async with client.session.ws_connect(client.url + "/events"):
            found = await metrics(client)
            assert (found["agentrt_sockets", ()], found["agentrt_streams", ()]) == (1, 1)
            assert found["agentrt_http_requests_in_flight", ()] == 1, "this one"
        with anyio.fail_after(30):
            while (await metrics(client))["agentrt_sockets", ()]:
                await anyio.lowlevel.checkpoint()
    assert "/metrics" in QUIET
