"""What a performer notes besides its outcome changes nothing that matters when it comes late, or it is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from anyio.lowlevel import checkpoint
from msgspec.structs import replace

from agentrt.actors.draft import Draft
from agentrt.actors.event_log import Append, EventLogActor, Interrupt, Log, LogRequest
from agentrt.actors.feed import Feed
from agentrt.codec import encode
from agentrt.decisions import CallModel, Command, decide
from agentrt.errors import LogFailed, NoLongerDue
from agentrt.events import (
    BudgetReserved,
    Cursor,
    Event,
    ModelCalled,
    ModelCallRetried,
    RunRequested,
    SecretsChanged,
)
from agentrt.ledger import allowance
from agentrt.protocols import Committed, ModelRequest
from agentrt.specs import LLM, Capabilities, Limits
from agentrt.state import State, fold
from agentrt.usage import Usage
from tests import samples

from .test_event_log import SlowJournal

pytestmark = pytest.mark.simulated

LIMITS = Limits(max_tokens=100_000)
USED = Usage(prompt_tokens=100, completion_tokens=10)


class Ready(SlowJournal):
    """A journal whose disk takes everything at once."""

    def append(self, events: Any, then: Committed) -> list[bytes]:
        asyncio.get_running_loop().call_soon(then, cast("LogFailed | None", None))
        return [encode(event) for event in events]


class Talk:
    """The log of a conversation whose model call is under way."""

    def __init__(self) -> None:
        journal, self.handed = Ready(), list[Command]()
        self.feed = Feed(journal, fold(samples.numbered(samples.beginning(samples.agent(limits=LIMITS)))))
        self.actor = EventLogActor(journal, self.feed, self.handed.extend, lambda goes_on: None)
        self.log = Log(self.actor, self.feed, journal, cast(Any, None))

    async def ask(self, request: LogRequest) -> Cursor:
        return await self.actor.ask(request)

    @property
    def state(self) -> State:
        return self.feed.state

    @property
    def call(self) -> str:
        (command,) = self.handed
        assert isinstance(command, CallModel)
        return command.id

    async def interrupted(self, *, ended: bool) -> None:
        """Let a person stop it; its call has said so, too, when it `ended`."""
        await self.ask(Interrupt("enough"))
        if ended:
            await self.end()

    async def end(self) -> None:
        await self.log.append(ModelCalled(command=self.call, model="m", error="interrupted"), command=self.call)


@asynccontextmanager
async def talking() -> AsyncIterator[Talk]:
    talk = Talk()
    await talk.log.append(samples.message("go"))
    await talk.log.append(RunRequested())
    yield talk
    assert talk.state.ledger.reserved == {}, "what was reserved is free again"
    assert len(talk.handed) == 1, "nothing was begun that nobody asked for"
    await talk.log.append(RunRequested())
    assert [type(command) for command in talk.handed[1:]] == [CallModel], "it goes on as it would have"


def what_matters(state: State) -> object:
    """What the loop goes by: all but the place, what was spent, and which secrets there were."""
    ledger = replace(state.ledger, spending={}, reserved={}, past_secrets=())
    return replace(state, seq=0, ledger=ledger), decide(state)


def retried(call: str) -> ModelCallRetried:
    return ModelCallRetried(
        command=call, attempt=1, model="m", next_model="m", code="timeout", detail="", usage=USED, draft="d"
    )


def reserved(call: str) -> BudgetReserved:
    return BudgetReserved(command=call, tokens=500, cost=0.0)


def replaced_secret(call: str) -> SecretsChanged:
    return SecretsChanged(source="environment", secrets={}, past=("gAAAA",))


@pytest.mark.parametrize("note", [retried, reserved, replaced_secret])
async def test_before_the_cut_call_has_ended(note: Any) -> None:
    async with talking() as talk:
        await talk.interrupted(ended=False)
        before, event = talk.state, cast(Event, note(talk.call))
        await talk.ask(Append((event,), talk.call if note is reserved else None))
        assert talk.state.seq == before.seq + 1
        assert what_matters(talk.state) == what_matters(before)
        await talk.end()


@pytest.mark.parametrize("note", [retried, replaced_secret])
async def test_after_the_cut_call_has_ended(note: Any) -> None:
    async with talking() as talk:
        await talk.interrupted(ended=True)
        before = talk.state
        await talk.log.append(cast(Event, note(talk.call)))
        assert what_matters(talk.state) == what_matters(before)
        used = USED.total if note is retried else 0
        tokens = allowance(talk.state.ledger, LIMITS).tokens
        assert tokens == LIMITS.max_tokens - used, "what a try has used is paid, whenever it is known"  # type: ignore[operator]


async def test_a_call_that_has_ended_reserves_nothing_any_more() -> None:
    """As a client of one's own would ask that goes on in a task that it has left behind."""
    async with talking() as talk:
        llm = LLM(model="scripted")
        draft = Draft(talk.log, talk.call, llm)
        request = ModelRequest(llm, (), ())
        assert await draft.begin(request, Capabilities()) is not None
        assert list(talk.state.ledger.reserved) == [talk.call]
        await talk.interrupted(ended=True)
        before = talk.state
        with pytest.raises(NoLongerDue):
            await draft.begin(request, Capabilities())
        await checkpoint()
        assert talk.state is before
        beside = Draft(talk.log, "ask-1", llm, visible=False)
        assert await beside.begin(request, Capabilities()) is not None, "a side call is asked for at any time"
        await talk.log.append(ModelCalled(command="ask-1", model="m"))
