"""Ten thousand requests that make little sense, many at once: no failure of the server, and every log is whole."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
import anyio
import msgspec
import pytest
from yarl import URL

from agentrt import LLM, Agent, codec
from agentrt.server import ServerSettings
from agentrt.server.endpoints import ENDPOINTS
from agentrt.server.endpoints.controls import EXAMPLES
from agentrt.storage.checking import verify
from agentrt.storage.store import read_conversation
from agentrt.testing import ScriptedLLM, call, finish, say

from ..server.served import Client, served

pytestmark = pytest.mark.long

REQUESTS = int(os.environ.get("AGENTRT_REQUESTS", "10000"))
AT_ONCE = 16

WORDS = (
    "", "0", "-1", "1", "99999999999999999999", "1e309", "NaN", "null", "true", "x" * 5000, "é\u202e😀", "\0", "..",
    "../../etc/passwd", "a/b", "%2e%2e%2f", "';--", "<script>", "{}", "[]", "\r\nX: y", "user", "desc", "ActionEvent",
)  # fmt: skip
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW")
SPOILT = (b"", b"{", b"[" * 50_000, b"\xff\xfe", b"null", b'"x"', b'{"a":1e999}', b'{"a":' + b"9" * 400 + b"}")


class Chaos:
    """Makes requests up: mostly of real operations, with what they want or with something else."""

    def __init__(self, seed: int, names: list[str]) -> None:
        self._random, self._names = random.Random(seed), names

    def request(self) -> tuple[str, str, bytes | None, dict[str, str]]:
        """A method, a path, a body and headers."""
        chance = self._random
        endpoint = chance.choice(ENDPOINTS)
        path = endpoint.path
        for part, value in (("{id}", self._name()), ("{seq:int}", str(chance.randint(-1, 60))), ("{sha256}", "0" * 64)):
            path = path.replace(part, value)
        path = path.replace("{key_id}", self._word())
        if chance.random() < 0.05:
            path = f"{path}/{quote(chance.choice(WORDS), safe='/%')}"
        if endpoint.query is not None or chance.random() < 0.1:
            path += f"?{self._query(endpoint.query)}"
        method = endpoint.method if chance.random() < 0.9 else chance.choice(METHODS)
        if method == "DELETE" and chance.random() < 0.9:
            method = "GET"
        headers = {"Content-Type": "application/json"} if chance.random() < 0.95 else {"Content-Type": "text/plain"}
        for name in ("Accept", "Range", "Idempotency-Key", "If-None-Match", "Last-Event-ID"):
            if chance.random() < 0.05:
                headers[name] = "".join(c for c in self._word()[:50] if c.isascii() and c.isprintable())
        return method, path, self._body(endpoint.name, endpoint.body or endpoint.upload), headers

    def _name(self) -> str:
        return self._random.choice(self._names) if self._random.random() < 0.9 else self._word()

    def _word(self) -> str:
        return quote(self._random.choice(WORDS), safe="%") or "-"

    def _query(self, kind: Any) -> str:
        names = [field.name for field in msgspec.structs.fields(kind)] if kind else ["x"]
        values = (*WORDS[:-2], "5", "10", "desc", "README", "src")
        return urlencode([(name, self._random.choice(values)) for name in names if self._random.random() < 0.5])

    def _body(self, name: str, wanted: Any) -> bytes | None:
        chance = self._random
        if not wanted and chance.random() < 0.9:
            return None
        if chance.random() < 0.1:
            return chance.choice(SPOILT)
        body = dict(EXAMPLES.get(name, {}))
        if wanted and isinstance(wanted, type):
            for field in msgspec.structs.fields(wanted):
                if chance.random() < 0.3 or (field.required and field.name not in body):
                    body[field.name] = self._value(3)
        if name == "message":
            body |= {"content": chance.choice(WORDS), "run": chance.random() < 0.5}
        return msgspec.json.encode(body)

    def _value(self, depth: int) -> Any:
        chance = self._random
        match chance.randint(0, 7 if depth else 4):
            case 0:
                return chance.choice(WORDS)
            case 1:
                return chance.choice((0, -1, 1, 5, 2**31, 2**63, 2**64, 10**25, -(10**25)))
            case 2:
                return chance.choice((0.5, -0.0, 1e300, 1e-300))
            case 3:
                return chance.choice((None, True, False))
            case 4:
                return {"type": chance.choice(("LLM", "AlwaysConfirm", "NeverConfirm", "text")), "model": "m"}
            case 5 | 6:
                return {self._random.choice(WORDS): self._value(depth - 1) for _ in range(chance.randint(0, 3))}
            case _:
                return [self._value(depth - 1) for _ in range(chance.randint(0, 3))]


def script() -> ScriptedLLM:
    """A model that does now this, now that."""
    turns, chance = (say("Hm."), call("think", thought="So"), call("terminal", command="echo x"), finish("Done.")), 7
    source = random.Random(chance)
    return ScriptedLLM(lambda request: source.choice(turns), keep=False)


async def ask(client: Client, chaos: Chaos, told: Counter[str]) -> None:
    method, path, body, headers = chaos.request()
    if "events" in path.partition("?")[0] and "event-stream" in headers.get("Accept", ""):
        return  # it would not end
    try:
        url = URL(client.url + path, encoded=True)
        async with client.session.request(method, url, data=body, headers=headers) as answer:
            raw = await answer.read()
            told[f"{answer.status // 100}xx"] += 1
            if answer.status >= 500:
                told[f"{answer.status} {method} {path[:200]} {body and body[:300]!r} {raw[:300]!r}"] += 1
            if answer.status >= 400 and method != "HEAD":
                problem = msgspec.json.decode(raw)
                assert problem["status"] == answer.status, (method, path, raw)
                assert problem["code"], (method, path, raw)
    except (aiohttp.ClientError, ValueError) as error:  # what cannot be sent, or was answered while it was sent
        told[f"unsent: {type(error).__name__}"] += 1


async def test_nothing_fails_whatever_is_asked(tmp_path: Path) -> None:
    told: Counter[str] = Counter()
    settings = ServerSettings(
        port=0,
        workspaces=(tmp_path / "workspaces",),
        agent=Agent(llm=LLM(model="scripted/model")),
        rate=None,
        failed_logins=None,
    )
    async with served(tmp_path, script(), settings) as client:
        key = await client.services.access.create("ada", ("admin",))  # type: ignore[arg-type]
        client.session.headers["Authorization"] = f"Bearer {key}"
        names = [(await client.ask("POST", "/conversations", {}))[1]["id"] for _ in range(20)]
        with anyio.fail_after(1200):
            async with anyio.create_task_group() as tasks:

                async def work(seed: int) -> None:
                    chaos = Chaos(seed, names)
                    for _ in range(REQUESTS // AT_ONCE):
                        await ask(client, chaos, told)

                for seed in range(AT_ONCE):
                    tasks.start_soon(work, seed)
        print(dict(told))
        assert [what for what in told if what.startswith("5")] == []
        assert told.total() >= REQUESTS * 0.99
        left = [item["id"] for item in (await client.ask("GET", "/conversations?limit=100"))[1]["items"]]
        for name in left:
            assert (await client.ask("POST", f"/conversations/{name}/interrupt", {}))[0] == 200
        seen = {name: await events(client, name) for name in left}
    for name, found in seen.items():
        directory = tmp_path / "store" / "conversations" / name
        assert verify(directory).sound
        assert [codec.encode(event) for event in read_conversation(directory)][: len(found)] == found


async def events(client: Client, name: str) -> list[bytes]:
    """All events of a conversation, page by page, as bytes."""
    found, after = list[bytes](), 0
    while True:
        async with client.session.get(f"{client.url}/conversations/{name}/events?after={after}") as answer:
            page = msgspec.json.decode(await answer.read(), type=dict[str, msgspec.Raw])
        found += map(bytes, msgspec.json.decode(page["items"], type=list[msgspec.Raw]))
        if (further := msgspec.json.decode(page["next"])) is None:
            return found
        after = further
