"""Traces, as a receiver of OTLP over HTTP gets them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agentrt.server import ServerSettings
from agentrt.testing import ScriptedLLM, call, finish
from tests.missing import without

from ..served import agent, served

pytestmark = pytest.mark.real


class Receiver:
    """What came."""

    def __init__(self) -> None:
        self.url, self.raw, self.spans = "", b"", list[Any]()

    async def take(self, request: web.Request) -> web.Response:
        self.raw += (body := await request.read())
        sent = ExportTraceServiceRequest.FromString(body)
        self.spans += [span for r in sent.resource_spans for scope in r.scope_spans for span in scope.spans]
        return web.Response()


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver, app = Receiver(), web.Application()
    app.router.add_post("/v1/traces", receiver.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    receiver.url = f"http://{host}:{port}"
    yield receiver
    await runner.cleanup()


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


async def test_a_run_is_a_tree_of_spans_without_what_was_said(tmp_path: Path) -> None:
    async with receiving() as receiver:
        settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), traces=receiver.url)
        model = ScriptedLLM([call("terminal", command="exit 3 # argument-canary"), finish("reply-canary")])
        async with served(tmp_path, model, settings) as client:
            wanted = {"id": "c", "agent": agent(), "message": "message-canary", "secrets": {"TOKEN": "secret-canary"}}
            await client.ask("POST", "/conversations", wanted)
            with anyio.fail_after(10):
                while (await client.ask("GET", "/conversations/c"))[1]["status"] != "finished":
                    await anyio.lowlevel.checkpoint()
        spans = receiver.spans
        assert b"canary" not in receiver.raw
    by_id = {span.span_id: span for span in spans}
    (run,) = [span for span in spans if not span.parent_span_id]
    tree = sorted((by_id[s.parent_span_id].name, s.name) for s in spans if s.parent_span_id)
    assert run.name == "invoke_agent"
    assert tree == [
        ("invoke_agent", "step"),
        ("invoke_agent", "step"),
        ("step", "chat scripted/model"),
        ("step", "chat scripted/model"),
        ("step", "execute_tool finish"),
        ("step", "execute_tool terminal"),
    ]
    assert {span.trace_id for span in spans} == {run.trace_id}
    assert all(attributes(span)["gen_ai.conversation.id"] == "c" for span in spans)
    assert all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    (tool,) = [span for span in spans if span.name == "execute_tool terminal"]
    assert attributes(tool)["gen_ai.tool.name"] == "terminal"
    assert (tool.status.code, attributes(tool)["error.type"]) == (2, "tool_error")
    called = attributes(next(span for span in spans if span.name == "chat scripted/model"))
    assert (called["gen_ai.operation.name"], called["gen_ai.provider.name"]) == ("chat", "scripted")
    assert called["gen_ai.usage.input_tokens"] > 0
    assert attributes(run)["agentrt.status"] == "finished"


async def test_a_receiver_that_is_not_there_stops_nobody(tmp_path: Path) -> None:
    settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), traces="http://127.0.0.1:9")
    async with served(tmp_path, ScriptedLLM([]), settings) as client:
        assert (await client.ask("POST", "/conversations", {"agent": agent()}))[0] == 201


@pytest.mark.parametrize("variable", [False, True])
def test_without_the_library_it_says_how_to_get_it(tmp_path: Path, variable: bool) -> None:
    place = "http://127.0.0.1:9"
    command = [sys.executable, "-m", "agentrt", "serve", "--store", str(tmp_path)]
    given = {"OTEL_EXPORTER_OTLP_ENDPOINT": place} if variable else {}
    command += [] if variable else ["--traces", place]
    env = {**without(tmp_path, "opentelemetry"), **given}
    ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert ran.returncode == 2
    assert "pip install 'agentrt[otel]'" in ran.stderr
