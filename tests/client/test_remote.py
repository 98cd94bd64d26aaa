"""The remote end over a network that cuts: what is said again, what is looked for first, and what is asked back."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from aiohttp import web

from agentrt.client import RemoteEnd
from agentrt.controls import (
    AnyControl,
    Condense,
    Confirm,
    Fork,
    Forked,
    Grant,
    Pause,
    Reject,
    Rewind,
    SendMessage,
    SetTags,
    StartRun,
)
from agentrt.errors import (
    ConfigurationError,
    ConversationBusy,
    ConversationExists,
    ConversationMissing,
    EventRefused,
    LogFailed,
    ModelError,
    NotAllowed,
    OutcomeUnknown,
    RequestRefused,
    ServerUnreachable,
)
from agentrt.events import CondensationRequest, Cursor, Event, HeadMoved, RunRequested
from agentrt.secrets import AnySecret, LookupSecret, StaticSecret
from agentrt.specs import RemoteWorkspace
from agentrt.specs.secrets import EnvironmentSecret

from .peer import AGENT, NAME, Peer, peer, problem
from .test_following import following

pytestmark = pytest.mark.real

Answers = Callable[[str, str, bytes], web.Response | None]


def cutting(times: int, then: Answers = lambda method, path, body: None, *, heard: Callable[[], object]) -> Answers:
    """Does what is asked, and breaks off before the answer, so many times."""
    left = times

    def answer(method: str, path: str, body: bytes) -> web.Response | None:
        nonlocal left
        if method == "POST" and left > 0:
            left -= 1
            heard()
            raise ConnectionAbortedError
        return then(method, path, body)

    return answer


def bodies(there: Peer) -> list[bytes]:
    return [body for method, _, body in there.asked if method == "POST"]


@pytest.mark.parametrize("control", [SendMessage("go"), Pause(), SetTags({"a": "b"}), Fork()])
async def test_what_may_be_said_twice_is_said_again_in_the_same_words(control: AnyControl) -> None:
    async with peer() as there, following(there) as end:
        then: Answers = lambda method, path, body: (  # noqa: E731
            web.Response(body=msgspec.json.encode(Forked("two"))) if path.endswith("/fork") else None
        )
        there.answers = cutting(2, then, heard=lambda: None)
        await end.do(control)
        first, *others = bodies(there)
        assert others == [first, first]
        assert isinstance(control, Pause | SetTags) or b'"id":"' in first


@pytest.mark.parametrize(
    ("control", "trace"),
    [(StartRun(), RunRequested()), (Rewind(2), HeadMoved(to=2)), (Condense(), CondensationRequest())],
)
async def test_what_was_done_before_a_cut_is_not_done_again(control: AnyControl, trace: Event) -> None:
    async with peer() as there, following(there) as end:
        there.answers = cutting(1, heard=lambda: there.append(trace))
        assert await end.do(control) == Cursor(end.state.epoch, end.state.seq)
        assert len(bodies(there)) == 1
        assert end.state.seq == len(there.events)


async def test_what_was_not_done_before_a_cut_is_done_then() -> None:
    async with peer() as there, following(there) as end:
        there.answers = cutting(1, heard=lambda: None)
        await end.do(StartRun())
        assert len(bodies(there)) == 2


async def test_money_is_never_granted_twice() -> None:
    async with peer() as there, following(there) as end:
        there.answers = cutting(1, heard=lambda: None)
        with pytest.raises(OutcomeUnknown, match="grant"):
            await end.do(Grant(1.0))
        assert len(bodies(there)) == 1


async def test_what_was_not_begun_is_asked_again() -> None:
    async with peer() as there, following(there) as end:
        refusals = [problem(503, "draining"), problem(429, "rate")]
        there.answers = lambda method, path, body: refusals.pop() if refusals and method == "POST" else None
        await end.do(Grant(1.0))
        assert len(bodies(there)) == 3


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (404, "conversation-missing", ConversationMissing),
        (409, "conversation-exists", ConversationExists),
        (409, "conversation-busy", ConversationBusy),
        (409, "event-refused", EventRefused),
        (422, "configuration", ConfigurationError),
        (422, "validation", ConfigurationError),
        (502, "model", ModelError),
        (503, "log-failed", LogFailed),
        (403, "scope", NotAllowed),
        (418, "teapot", RequestRefused),
    ],
)
async def test_a_problem_is_the_error_that_it_is_here(status: int, code: str, error: type[Exception]) -> None:
    async with peer() as there, following(there) as end:
        there.answers = lambda method, path, body: problem(status, code, "it is so") if method == "POST" else None
        with pytest.raises(error) as caught:
            await end.do(Pause())
        assert type(caught.value) is error
        assert len(bodies(there)) == 1


async def test_a_conversation_is_begun_once_over_a_cut() -> None:
    began: list[int] = []

    def heard() -> None:
        began.append(1)

    async with peer() as there:
        exists: Answers = lambda method, path, body: (  # noqa: E731
            problem(409, "conversation-exists") if (method, path) == ("POST", "/conversations") else None
        )
        there.answers = cutting(1, exists, heard=heard)
        end = RemoteEnd(there.place(), AGENT, secrets={"TOKEN": "secret-value", "KEY": StaticSecret("other-value")})
        await end.enter()
        await end.close()
        first, second = (msgspec.json.decode(body) for body in bodies(there))
        assert first == second
        assert first["id"] == end.id
        assert first["secrets"] == {"TOKEN": "secret-value", "KEY": "other-value"}


async def test_a_name_of_ones_own_may_be_taken() -> None:
    async with peer() as there:
        there.answers = lambda method, path, body: problem(409, "conversation-exists") if method == "POST" else None
        with pytest.raises(ConversationExists):
            await RemoteEnd(there.place(), AGENT, "mine").enter()


async def test_where_nothing_waits_nothing_is_approved() -> None:
    async with peer() as there, following(there) as end:
        for control in (Confirm(), Reject()):
            assert await end.do(control) == Cursor(end.state.epoch, end.state.seq)
        assert bodies(there) == []


@pytest.mark.simulated
async def test_the_lines_of_its_log_are_on_the_server() -> None:
    end = RemoteEnd(RemoteWorkspace("http://localhost"), name=NAME)
    with pytest.raises(ConfigurationError, match="on the server"):
        end.lines(0)
    with pytest.raises(ConfigurationError, match="on the server"):
        await end.page_json(0, 1)


@pytest.mark.pure
@pytest.mark.parametrize("secret", [EnvironmentSecret("HOME"), LookupSecret("http://localhost/"), lambda: "value"])
def test_a_secret_that_only_this_process_has_is_refused(secret: AnySecret) -> None:
    with pytest.raises(ConfigurationError, match="give its value"):
        RemoteEnd(RemoteWorkspace("http://localhost"), AGENT, secrets={"TOKEN": secret})


async def test_a_server_that_is_not_there_is_said(unused_tcp_port: int) -> None:
    place = RemoteWorkspace(f"http://127.0.0.1:{unused_tcp_port}", timeout=0.2)
    with pytest.raises(ServerUnreachable, match="cannot be reached"):
        await RemoteEnd(place, name=NAME, patience=0.1).enter()


@pytest.mark.pure
@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://host", "http://", "http://me:word@host", "http://h?a=b"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        RemoteWorkspace(url)
