"""Every error the runtime raises, in one tree.

    AgentrtError
    ├── ConfigurationError        an invalid value given by the caller
    │   ├── UnknownModel
    │   ├── MissingKey
    │   ├── WorkspaceMissing
    │   ├── ProfileMissing
    │   └── ToolMissing
    ├── NoAnswer                  a run that ended without an answer
    ├── WorkspaceError            the files of a workspace, and git in it
    ├── LogError                  the conversation's log
    │   ├── ConversationMissing
    │   ├── ConversationExists
    │   ├── LogLocked
    │   ├── LogCorrupt
    │   ├── LogFailed
    │   ├── CursorExpired
    │   ├── ConversationBusy
    │   ├── EventRefused
    │   │   └── LimitReached
    │   └── NoLongerDue
    ├── VersionConflict           a document that another process changed
    ├── ModelError                a model call that failed
    │   ├── AuthenticationFailed
    │   ├── RateLimited
    │   ├── ContextWindowExceeded
    │   ├── ContentRefused
    │   ├── BadModelRequest
    │   ├── BudgetExceeded
    │   ├── ModelTimeout
    │   ├── ModelUnavailable
    │   ├── NothingRecorded
    │   └── RecordingFailed
    ├── RemoteError               the server of a remote conversation
    │   ├── NotAuthenticated
    │   ├── NotAllowed
    │   ├── RequestRefused
    │   ├── ServerUnreachable
    │   └── OutcomeUnknown
    ├── ToolError                 a tool's expected failure; the model sees the text
    └── ActorError
        ├── ActorCrashed
        └── ActorStopped

Each message says in one line what is wrong and what to do. The attributes hold the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar


class AgentrtError(Exception):
    """Base of all errors of this package."""


class ConfigurationError(AgentrtError, ValueError):
    """Raised for an invalid value given by the caller; also a `ValueError`."""


class UnknownModel(ConfigurationError):
    """Raised when litellm knows no provider for a model name."""

    def __init__(self, model: str) -> None:
        self.model = model
        super().__init__(
            f"unknown model {model!r}: name its provider as in 'openai/gpt-5.5' or 'anthropic/claude-opus-4-5'"
        )


class MissingKey(ConfigurationError):
    """Raised when a model needs a key that neither the spec nor the environment has."""

    def __init__(self, model: str, variables: tuple[str, ...]) -> None:
        self.model, self.variables = model, variables
        named = " and ".join(variables) or "its API key"
        super().__init__(f"no key for model {model!r}: set {named} in the environment")


class WorkspaceMissing(ConfigurationError):
    """Raised when a workspace is not an existing directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"workspace {str(path)!r} is not a directory: create it or name another")


class ProfileMissing(ConfigurationError):
    """Raised for an unknown profile name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name, self.known = name, known
        super().__init__(
            f"no profile {name!r}: 'agentrt profile save {name} --model ...' makes it"
            f" (there are: {', '.join(known) or 'none'})"
        )


class ToolMissing(ConfigurationError):
    """Raised when an agent names a tool that has no implementation here."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name, self.known = name, known
        super().__init__(f"no implementation of tool {name!r}: pass it as tools=[...] (known: {', '.join(known)})")


class NoAnswer(AgentrtError):
    """Raised when a run ended without an answer; `status` is its final status, `code` that of its error."""

    def __init__(self, status: str, why: str, code: str = "") -> None:
        self.status, self.why, self.code = status, why, code
        super().__init__(f"the run ended without an answer ({status}): {why}")


class WorkspaceError(AgentrtError):
    """Raised when a request about a workspace's files, or about git in it, fails; `code` is one of `REASONS`."""

    REASONS: ClassVar[Mapping[str, str]] = {
        "path": "no path",
        "path-outside": "outside of the workspace",
        "file": "the file cannot be reached",
        "file-missing": "no such file",
        "file-permission": "not allowed",
        "file-changed": "the file has changed",
        "file-too-large": "the file is too large",
        "not-a-file": "not a file",
        "not-a-directory": "not a directory",
        "archive-too-large": "the directory is too large",
        "disk-full": "the disk is full",
        "busy": "too many files are open",
        "git-missing": "no repository",
        "git-not-installed": "no git",
        "git-too-large": "the repository is too large",
        "git-timeout": "git took too long",
        "too-many-files": "there are too many files to keep them",
        "no-checkpoint": "the files were not kept",
        "git-failed": "git failed",
    }

    def __init__(self, code: str, detail: str) -> None:
        self.code, self.detail = code, detail
        super().__init__(f"{self.REASONS[code]}: {detail}")


class LogError(AgentrtError):
    """Base of all errors of a conversation's log."""


class ConversationMissing(LogError):
    """Raised when a store has no conversation with that id."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no conversation {name!r}: 'agentrt list' shows those that exist")


class ConversationExists(LogError):
    """Raised when a conversation is created with an id that is taken."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"conversation {name!r} exists already: open it without an agent, or choose another id")


class CursorExpired(LogError):
    """Raised for a cursor that is invalid in the log as it is now: of an earlier epoch, or beyond the end."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"{why}: what was seen may be gone, start over from 0")


class LogLocked(LogError):
    """Raised when the conversation is already open for writing, in this process or another."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"conversation {name!r} is open elsewhere: close it there, or read it with 'agentrt show'")


class LogCorrupt(LogError):
    """Raised when a durable record is damaged; the file is left as it is."""

    def __init__(self, where: Path | str, line: int, reason: str) -> None:
        self.where, self.line, self.reason = where, line, reason
        super().__init__(f"{where}:{line}: {reason}; the log is damaged and was left untouched: restore it from a copy")


class LogFailed(LogError):
    """Raised when a log could not be written; it acknowledges nothing more."""

    def __init__(self, where: Path | str, cause: OSError) -> None:
        self.where, self.cause = where, cause
        super().__init__(
            f"cannot write {where}: {cause.strerror or cause}; the conversation stops: reopen it once that is fixed"
        )


class VersionConflict(AgentrtError):
    """Raised when a document was changed by another process between reading and replacing it."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name!r} was changed since it was read: read it again")


class ConversationBusy(LogError):
    """Raised for a message that comes while the agent works, if the busy policy is to reject it."""

    def __init__(self) -> None:
        super().__init__("the agent is at work: send the message again when it has ended, or with busy='enqueue'")


class EventRefused(LogError):
    """Raised when an event would break an invariant of the history."""


class LimitReached(EventRefused):
    """Raised when a conversation has used up its quota; `limit` is the code of the limit."""

    def __init__(self, limit: str, why: str) -> None:
        self.limit, self.why = limit, why
        super().__init__(f"{why}: go on in a new conversation, or have this one's quota raised")


class NoLongerDue(LogError):
    """Raised for an outcome of a command that another event has already ended."""

    def __init__(self, command: str) -> None:
        self.command = command
        super().__init__(f"command {command!r} is no longer due: an interrupt, a rewind or another outcome came first")


class ModelError(AgentrtError):
    """Raised when a model call failed; `retryable` says whether the same call may succeed later."""

    code = "model"
    retryable = False

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class AuthenticationFailed(ModelError):
    """Raised when a provider refuses the key."""

    code = "authentication"


class RateLimited(ModelError):
    """Raised when a provider's rate limit was reached; `retry_after` is in seconds, None if the provider gave none."""

    code = "rate_limit"
    retryable = True


class ContextWindowExceeded(ModelError):
    """Raised when the messages are longer than the model's context window."""

    code = "context_window"


class ContentRefused(ModelError):
    """Raised when a provider's content policy refuses the request."""

    code = "content_policy"


class BadModelRequest(ModelError):
    """Raised when a provider rejects the request as malformed."""

    code = "bad_request"


class BudgetExceeded(ModelError):
    """Raised when a call might exceed a limit; the call was not sent."""

    def __init__(self, limit: str, message: str) -> None:
        self.limit = self.code = limit
        super().__init__(message)


class ModelTimeout(ModelError):
    """Raised when a provider did not answer in time."""

    code = "timeout"
    retryable = True


class ModelUnavailable(ModelError):
    """Raised when a provider cannot be reached, fails, or breaks off its answer."""

    code = "unavailable"
    retryable = True


class NothingRecorded(ModelError):
    """Raised when a recording has no unused answer to a request; `why` says what differs."""

    code = "nothing_recorded"

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"no recorded answer to this request in {path}: {why}\nIf that is meant, record it again.")


class RecordingFailed(ModelError):
    """Raised when a model call was made but could not be recorded."""

    code = "recording"

    def __init__(self, path: Path, cause: OSError) -> None:
        self.path, self.cause = path, cause
        super().__init__(f"cannot record to {path}: {cause.strerror or cause}; fix that, or do without a recording")


class RemoteError(AgentrtError):
    """Base of the errors of connecting to a server."""


class NotAuthenticated(RemoteError):
    """Raised when a server requires an API key, or does not know the given one."""

    def __init__(self, url: str) -> None:
        self.url = url
        super().__init__(f"{url} does not take this API key: give RemoteWorkspace(url, api_key=...) one that it knows")


class NotAllowed(RemoteError):
    """Raised when an API key does not allow the request."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(f"not allowed: {detail}")


class RequestRefused(RemoteError):
    """Raised when a server refuses a request, or fails at it; `status` is the HTTP status, `code` the problem's."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        self.status, self.code, self.detail = status, code, detail
        super().__init__(f"the server answered {status}{f' ({code})' if code else ''}: {detail}")


class ServerUnreachable(RemoteError):
    """Raised when a server did not answer within the time limit."""

    def __init__(self, url: str, why: str) -> None:
        self.url, self.why = url, why
        super().__init__(f"{url} cannot be reached: {why}; see that the server runs and the network leads there")


class OutcomeUnknown(RemoteError):
    """Raised when the connection was lost before the answer, and a retry might repeat the operation."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"the connection was cut before {what!r} was answered: look whether it was done, then go on")


class ToolError(AgentrtError):
    """Raised by a tool for an expected failure; its text becomes the model's observation."""


class CallCut(ToolError):
    """Raised when the connection to a tool's server was lost during a call; whether it took effect is unknown."""


class ServerMissing(AgentrtError):
    """Raised when a conversation has no MCP server of that name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name, self.known = name, known
        there = f"there are: {', '.join(known)}" if known else "it has none"
        super().__init__(f"no MCP server {name!r}: {there}")


class ActorError(AgentrtError):
    """Base of the errors of calls to an actor."""


class ActorCrashed(ActorError):
    """Raised to the caller when a bug ended the actor's handler; the actor restarts."""

    def __init__(self, actor: str, cause: BaseException) -> None:
        self.actor, self.cause = actor, cause
        super().__init__(f"actor {actor!r} crashed: {type(cause).__name__}: {cause}")


class ActorStopped(ActorError):
    """Raised to every caller, waiting or new, once an actor has stopped permanently."""

    def __init__(self, actor: str) -> None:
        self.actor = actor
        super().__init__(f"actor {actor!r} has stopped")
