"""The server keeps what its OpenAPI document says, whatever it is asked: schemathesis, with its checks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import CHECKS
from schemathesis.core.errors import UnsupportedSchema
from schemathesis.generation import GenerationMode

from agentrt import LLM, Agent
from agentrt.server import ServerSettings
from agentrt.server.endpoints import ENDPOINTS
from agentrt.server.principals import Scope
from agentrt.testing import ScriptedLLM, finish

from ..server.served import Client, served

pytestmark = pytest.mark.long

EXAMPLES = int(os.environ.get("AGENTRT_EXAMPLES", "100"))
"""Requests an operation, about."""

LEFT_OUT = ("positive_data_acceptance",)
"""What is right in form may be refused all the same: a rewind to an event that is not there, an unknown analyzer."""


class Server:
    """A server that runs in another thread, with an agent of its own, and a key of an admin."""

    def __init__(self, client: Client, key: str, conversations: list[str]) -> None:
        self.url, self.key, self.conversations = client.url, {"Authorization": f"Bearer {key}"}, conversations
        self.statuses: Counter[int] = Counter()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp("rest")
    agent = Agent(llm=LLM(model="scripted/model"))
    wanted = ServerSettings(port=0, workspaces=(directory / "workspaces",), agent=agent, rate=None, failed_logins=None)
    with start_blocking_portal() as portal:
        model = ScriptedLLM(lambda request: finish("Done."), keep=False)
        with portal.wrap_async_context_manager(served(directory, model, wanted)) as client:
            key = portal.call(client.services.access.create, "ada", (Scope.ADMIN,))
            made = Server(client, key, [])
            for _ in range(5):
                status, info = portal.call(lambda: client.ask("POST", "/conversations", {}, **made.key))
                assert status == 201, info
                made.conversations.append(info["id"])
            yield made
    print(dict(made.statuses))


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("name", [endpoint.name for endpoint in ENDPOINTS])
def test_an_operation_keeps_what_is_said_of_it(server: Server, name: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    operation = schema.find_operation_by_id(name)
    checks = [check for check in CHECKS.get_all() if check.__name__ not in LEFT_OUT]
    known = [] if name == "delete_conversation" else server.conversations

    @given(case=operation.as_strategy(generation_mode=mode), one=st.sampled_from([*known, None]))
    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
    def asked(case: Any, one: str | None) -> None:
        wrong = {where.value for where, made in case.meta.components.items() if made.mode is GenerationMode.NEGATIVE}
        if one is not None and "id" in case.path_parameters and "path" not in wrong:
            case.path_parameters["id"] = one
        case.headers.pop("X-Session-API-Key", None)  # two keys are one too many
        answer = case.call(headers=server.key)
        server.statuses[answer.status_code] += 1
        # what was wrong in a header is put right here, so that it is not about keys each time
        # and a wrong object in a query is sent as nothing: what is left may be refused as gone
        right = not wrong - {"header"} or answer.status_code == 410
        kept = [check for check in checks if not (right and check.__name__ == "negative_data_rejection")]
        case.validate_response(answer, checks=kept, headers=server.key)

    before = server.statuses.total()
    try:
        with suppress(Unsatisfiable):  # of one without anything that could be wrong
            asked()
    except UnsupportedSchema:  # schemathesis knows no opposite of what it came to, some time after many others
        if server.statuses.total() - before < EXAMPLES / 5:
            raise
