"""Vectors of texts, over real HTTP to a server that speaks OpenAI's format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from agentrt.context.messages import Message
from agentrt.errors import AuthenticationFailed, BadModelRequest
from agentrt.llm.models_client import ModelsClient
from agentrt.protocols import ModelRequest, Watch
from agentrt.specs import LLM
from agentrt.specs.content import text

pytestmark = pytest.mark.real

ASKED = (Message("user", text("a door")), Message("user", text("a window")))


@contextmanager
def serving(status: int, vectors: list[list[float]]) -> Iterator[tuple[LLM, list[dict[str, Any]]]]:
    """An embedding model that gives these vectors, the last one first; and the requests that it gets."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append({**body, "path": self.path, "key": self.headers["authorization"]})
            data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)]
            usage = {"prompt_tokens": 7, "total_tokens": 7}
            given = {"object": "list", "model": "m", "data": data[::-1], "usage": usage}
            answer = json.dumps(given if status == 200 else {"error": {"message": "no", "code": "invalid_api_key"}})
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, format: str, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever).start()
        try:
            own = f"http://127.0.0.1:{server.server_address[1]}/v1"
            yield LLM("openai/m", base_url=own, api_key="k", input_cost_per_token=1e-6, num_retries=0), asked
        finally:
            server.shutdown()


async def test_vectors_come_in_the_order_of_the_texts_with_what_they_cost() -> None:
    client = ModelsClient({})
    with serving(200, [[1.0, 0.0], [0.5, 0.25]]) as (llm, asked):
        reply = await client.complete(ModelRequest(llm, ASKED, (), embeds=True), Watch())
        await client.aclose()
    assert reply.vectors == ((1.0, 0.0), (0.5, 0.25))
    assert (reply.usage.prompt_tokens, reply.model) == (7, "openai/m")
    assert reply.cost == pytest.approx(7e-6)
    (sent,) = asked
    assert (sent["input"], sent["model"], sent["path"]) == (["a door", "a window"], "m", "/v1/embeddings")
    assert sent["key"] == "Bearer k"


@pytest.mark.parametrize(
    ("status", "vectors", "error"),
    [(401, [], AuthenticationFailed), (200, [[1.0]], BadModelRequest)],
)
async def test_what_is_no_answer_is_an_error_without_the_key(
    status: int, vectors: list[list[float]], error: type[Exception]
) -> None:
    client = ModelsClient({})
    with serving(status, vectors) as (llm, _), pytest.raises(error):
        await client.complete(ModelRequest(llm, ASKED, (), embeds=True), Watch())
    await client.aclose()
