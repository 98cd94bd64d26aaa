"""The critic that is served elsewhere, asked over HTTP in the form of vLLM's `/classify`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agentrt import LLM, Agent, Conversation, Critic, ExecutionStatus, Runtime
from agentrt.critics import LABELS, APIBasedCritic
from agentrt.critics.taxonomy import CATEGORIES, categorized
from agentrt.errors import (
    AuthenticationFailed,
    BadModelRequest,
    ConfigurationError,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    RateLimited,
)
from agentrt.events import CriticAssessed, Event
from agentrt.replaying import replay
from agentrt.specs import LocalWorkspace
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, finish, say
from tests import samples
from tests.secrets.lookups import Answer, LookupServer

pytestmark = pytest.mark.real

KEY = "a-key-of-the-critic"
HERE = LocalWorkspace("/")
LOOKED = samples.action("look", id="a1")
WORK: list[Event] = [samples.message("Mend it."), LOOKED, samples.observation(LOOKED), samples.answer("Done.")]


class Classifier(LookupServer):
    """Answers each request with the next probabilities, or as it is told; notes what it was asked."""

    def __init__(self, *answers: Mapping[str, float] | Answer) -> None:
        self.asked: list[dict[str, Any]] = []
        super().__init__(*(self._judging(answer) if isinstance(answer, Mapping) else answer for answer in answers))

    def _judging(self, probabilities: Mapping[str, float]) -> Answer:
        async def judge(request: web.Request) -> web.StreamResponse:
            assert request.path == "/classify"
            self.asked.append(await request.json())
            probs = [probabilities.get(label, 0.01) for label in LABELS]
            item = {"index": 0, "label": "LABEL_0", "probs": probs, "num_classes": len(probs)}
            return web.json_response({"id": "classify-1", "object": "list", "model": "critic", "data": [item]})

        return judge


def status(code: int) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=code, text=f"no, and you sent {request.headers['Authorization']}")

    return answer


def saying(words: str) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(text=words)

    return answer


async def waits(seconds: float) -> None:
    """In place of a sleep: the tries follow at once."""


def critic(server: Classifier, **settings: Any) -> APIBasedCritic:
    return APIBasedCritic(server.url, KEY, "critic", sleep=waits, **settings)


async def test_the_score_is_the_probability_of_success() -> None:
    async with Classifier({"success": 0.9, "insufficient_testing": 0.6}) as server:
        result = await critic(server).evaluate(WORK, HERE)
        assert (result.score, result.refine) == (0.9, False)
        assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    found = result.metadata["categorized_features"]
    assert next(iter(found["agent_behavioral_issues"])) == "insufficient_testing", "the highest first"
    assert found.keys() == CATEGORIES.keys()


async def test_it_is_given_the_conversation_as_messages_of_a_chat() -> None:
    async with Classifier({"success": 0.9}) as server:
        await critic(server).evaluate(WORK, HERE)
    asked = server.asked[0]
    assert asked.keys() == {"model", "messages"}
    assert [message["role"] for message in asked["messages"]] == ["user", "assistant", "tool", "assistant"]
    (made,) = asked["messages"][1]["tool_calls"]
    assert made["function"]["name"] == "look"
    assert asked["messages"][2]["tool_call_id"] == made["id"]
    assert asked["messages"][3]["content"] == "Done."


async def test_a_server_of_texts_is_given_one() -> None:
    async with Classifier({"success": 0.9}) as server:
        render = lambda messages: "|".join(plain(message.content) for message in messages)  # noqa: E731
        await critic(server, render=render).evaluate(WORK, HERE)
    assert server.asked[0].keys() == {"model", "input"}
    assert server.asked[0]["input"].startswith("Mend it.|")


@pytest.mark.parametrize(("likely", "refine"), [(0.74, False), (0.75, True)])
async def test_a_likely_issue_is_told_and_sends_the_agent_back(likely: float, refine: bool) -> None:
    async with Classifier({"success": 0.9, "loop_behavior": likely, "correction": 0.99}) as server:
        result = await critic(server).evaluate(WORK, HERE)
    assert result.refine is refine
    assert ("likely at fault: loop behavior (75%)" in result.message) is refine
    assert "correction" not in result.message, "that is what the user will say, and no fault"


async def test_a_failure_that_may_pass_is_tried_again() -> None:
    async with Classifier(status(500), status(503), {"success": 0.8}) as server:
        assert (await critic(server).evaluate(WORK, HERE)).score == 0.8
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "kind", "tries"),
    [
        (status(500), ModelUnavailable, 3),
        (status(429), RateLimited, 3),
        (status(401), AuthenticationFailed, 1),
        (status(404), BadModelRequest, 1),
        (status(302), BadModelRequest, 1),
        (saying("hello"), BadModelRequest, 1),
        (saying('{"data": []}'), BadModelRequest, 1),
        (saying('{"data": [{"probs": [0.5, 0.5]}]}'), BadModelRequest, 1),
        (saying('{"data": [{"probs": ["high"]}]}'), BadModelRequest, 1),
        (saying("x" * 2_000_000), BadModelRequest, 1),
    ],
)
async def test_what_does_not_answer_fails_with_the_reason(answer: Answer, kind: type[ModelError], tries: int) -> None:
    async with Classifier(answer) as server:
        with pytest.raises(kind, match="/classify ") as failed:
            await critic(server).evaluate(WORK, HERE)
        assert len(server.requests) == tries
    assert KEY not in str(failed.value)


async def test_what_cannot_be_reached_or_takes_too_long_fails() -> None:
    async with Classifier({"success": 0.8}) as server:
        gone = critic(server)
        with pytest.raises(ModelTimeout, match="took more than 0 s"):
            await critic(server, timeout_seconds=0).evaluate(WORK, HERE)
    with pytest.raises(ModelUnavailable, match="failed with"):
        await gone.evaluate(WORK, HERE)


async def test_another_classifier_has_labels_of_its_own() -> None:
    async with Classifier(saying('{"data": [{"probs": [0.7, 0.9]}]}')) as server:
        result = await critic(server, labels=("success", "too_long")).evaluate(WORK, HERE)
    assert (result.score, result.refine) == (0.7, False)
    assert result.metadata == {"categorized_features": {"other": {"too_long": 0.9}}}


@pytest.mark.pure
@pytest.mark.parametrize(
    ("url", "key", "labels", "words"),
    [
        ("", KEY, LABELS, "server_url"),
        ("critic.example", KEY, LABELS, "http://"),
        ("http://critic.example", " ", LABELS, "api_key"),
        ("http://critic.example", KEY, ("good", "bad"), "'success'"),
    ],
)
def test_what_is_missing_is_said_at_once(url: str, key: str, labels: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        APIBasedCritic(url, key, "critic", labels=labels)


@pytest.mark.pure
def test_its_key_is_not_shown() -> None:
    assert KEY not in repr(APIBasedCritic("https://critic.example", KEY, "critic"))


@pytest.mark.pure
def test_every_label_has_one_category() -> None:
    assert len(LABELS) == len(set(LABELS)) == 27
    assert "other" not in categorized(dict.fromkeys(LABELS, 0.5))


async def test_an_agent_is_sent_back_by_it_and_the_run_is_replayed_without_it(tmp_path: Path) -> None:
    weak, good = {"success": 0.9, "insufficient_testing": 0.8}, {"success": 0.7}
    async with Classifier(weak, good) as server:
        critics = {"served": lambda: critic(server)}
        model = ScriptedLLM([finish("Done."), say("Tested.")])
        async with Runtime(tmp_path / "store", client=model, critics=critics) as runtime:
            agent = Agent(llm=LLM(model="scripted"), critic=Critic("served"))
            async with Conversation(agent, tmp_path, runtime=runtime, id="c") as conversation:
                await conversation.send_message("Mend it.")
                events = [event async for event in conversation.run()]
                assert conversation.state.status is ExecutionStatus.FINISHED
    first, second = (event for event in events if isinstance(event, CriticAssessed))
    assert (first.success, second.success) == (False, True)
    assert first.metadata["categorized_features"]["agent_behavioral_issues"]["insufficient_testing"] == 0.8
    assert "insufficient testing (80%)" in plain(model.requests[1].messages[-1].content)
    log = tmp_path / "store" / "conversations" / "c"
    assert KEY.encode() not in (log / "events.jsonl").read_bytes()
    assert (await replay(read_conversation(log))).difference is None
