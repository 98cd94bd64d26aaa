"""Errors over the wire: what is raised on a server arrives at the client as an error of the same class."""

from __future__ import annotations

import inspect
from pathlib import Path

import msgspec
import pytest

from agentrt import errors
from agentrt.client.problems import error_of
from agentrt.errors import AgentrtError
from agentrt.frames import Problem
from agentrt.server.problems import ERRORS, FILES, problem_of

pytestmark = pytest.mark.pure

URL, NAME = "http://127.0.0.1:1", "mine"
SECRET = Path("/server/only/c/events.jsonl")
"""A file that no client is told of."""

SAMPLES: tuple[AgentrtError, ...] = (
    errors.AgentrtError("odd: try again"),
    errors.ConfigurationError("unknown security analyzer 'oracle'"),
    errors.UnknownModel("gpt"),
    errors.UnknownModel("opnai/gpt-5.5", "openai/gpt-5.5"),
    errors.MissingKey("openai/gpt-5.5", ("OPENAI_API_KEY", "OPENAI_ORG")),
    errors.WorkspaceMissing(Path("/work/here")),
    errors.ProfileMissing("fast", ()),
    errors.ToolMissing("dance", ("finish", "think")),
    errors.CallCut("gone"),
    errors.ServerMissing("tracker", ("demo",)),
    errors.NoAnswer("error", "a limit was reached", "max_steps"),
    *(errors.WorkspaceError(code, "'notes.txt'") for code in errors.WorkspaceError.REASONS),
    errors.LogError("odd"),
    errors.ConversationMissing("another"),
    errors.ConversationExists("another"),
    errors.CursorExpired("the log ends with 7"),
    errors.LogLocked("another"),
    errors.LogCorrupt(SECRET, 5, "the checksum is wrong"),
    errors.LogFailed(SECRET, OSError(28, "No space left on device")),
    errors.ConversationBusy(),
    errors.EventRefused("nothing waits"),
    errors.LimitReached("max_events", "it has 1000 events"),
    errors.NoLongerDue("model-7"),
    errors.VersionConflict("keys"),
    errors.ModelError("odd"),
    errors.AuthenticationFailed("the key is refused"),
    errors.RateLimited("too much", retry_after=2.5),
    errors.ContextWindowExceeded("too long"),
    errors.ContentRefused("no"),
    errors.BadModelRequest("what?"),
    errors.BudgetExceeded("max_cost", "it might cost more"),
    errors.ModelTimeout("no answer", retry_after=7),
    errors.ModelUnavailable("cut"),
    errors.NothingRecorded(SECRET, "another model"),
    errors.RecordingFailed(SECRET, OSError(28, "No space left on device")),
    errors.RemoteError("odd"),
    errors.NotAuthenticated("http://elsewhere"),
    errors.NotAllowed("it may not"),
    errors.RequestRefused(418, "teapot", "no coffee"),
    errors.ServerUnreachable("http://elsewhere", "no answer in 2 s"),
    errors.OutcomeUnknown("grant"),
    errors.ToolError("no such file"),
    errors.ActorError("odd"),
    errors.ActorCrashed("tool", ValueError("of the server's own code")),
    errors.ActorStopped("log"),
)
WORKSPACE = errors.WorkspaceError
PUBLIC = {kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, AgentrtError)}


def untold(error: AgentrtError) -> set[str]:
    """The attributes that hold the server's own files and code."""
    return {name for name, value in vars(error).items() if value == SECRET or name in ("actor", "cause")}


def arrived(error: AgentrtError) -> AgentrtError:
    """An error as a client raises it."""
    sent = msgspec.json.encode(problem_of(error))
    assert str(SECRET) not in sent.decode()
    assert "of the server's own code" not in sent.decode()
    return error_of(msgspec.json.decode(sent, type=Problem), URL, NAME)


def test_every_public_error_is_here_and_has_a_code_of_its_own() -> None:
    assert {type(error) for error in SAMPLES} == PUBLIC == set(ERRORS)
    codes = [told.code for told in ERRORS.values()] + [code for code in FILES if code != ERRORS[WORKSPACE].code]
    assert len(set(codes)) == len(codes)
    assert FILES.keys() == errors.WorkspaceError.REASONS.keys()


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_arrives_as_what_it_was(error: AgentrtError) -> None:
    found, hidden = arrived(error), untold(error)
    assert type(found) is type(error)
    assert {name: getattr(found, name) for name in vars(error).keys() - hidden} == {
        name: value for name, value in vars(error).items() if name not in hidden
    }
    if not hidden and not isinstance(error, errors.ActorError):
        assert str(found) == str(error)


def test_what_a_server_does_not_tell_is_said_of_the_conversation() -> None:
    corrupt = arrived(errors.LogCorrupt(SECRET, 5, "the checksum is wrong"))
    assert str(corrupt).startswith("mine:5: the checksum is wrong; ")
    failed = arrived(errors.LogFailed(SECRET, OSError(28, "No space left on device")))
    assert str(failed).startswith("cannot write mine: No space left on device; ")
    assert "see the server's log" in str(arrived(errors.ActorCrashed("tool", ValueError("of the server's own code"))))


class Odd(errors.MissingKey):
    """An error of somebody's own."""


def test_an_error_of_another_class_arrives_as_the_nearest_that_is_public() -> None:
    assert type(arrived(Odd("m", ()))) is errors.MissingKey


@pytest.mark.parametrize("code", ["", "from-tomorrow", "missing-key", "log-corrupt"])
def test_a_problem_that_says_too_little_is_a_refusal(code: str) -> None:
    found = error_of(Problem(title="No", status=422, detail="not so", code=code), URL, NAME)
    assert isinstance(found, errors.RequestRefused)
    assert (found.status, found.code, found.detail) == (422, code, "not so")


@pytest.mark.parametrize(("status", "kind"), [(401, errors.NotAuthenticated), (403, errors.NotAllowed)])
def test_without_a_code_the_status_tells(status: int, kind: type[AgentrtError]) -> None:
    assert type(error_of(Problem(title="No", status=status), URL, NAME)) is kind


@pytest.mark.simulated
def test_every_code_is_documented() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "rest.md").read_text()
    codes = {*FILES, *(told.code for told in ERRORS.values())}
    assert [code for code in codes if f"`{code}`" not in documented] == []
