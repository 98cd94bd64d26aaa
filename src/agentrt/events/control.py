"""Decisions of people: to run, to stop, to allow or deny, to set goals."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ..specs import AnyLLM
from ..specs.rules import PermissionRule, Scope
from ..specs.secrets import SavedSecret, Token
from .base import Event, Id, Source

InputVerdict: TypeAlias = Literal["accept", "decline", "cancel"]
"""A person's reply to a request for input: an answer, a refusal, or no answer."""


class RunRequested(Event, frozen=True, kw_only=True):
    """A request that the agent begins to run, or continues."""

    source: Source = "user"
    implied: bool = False
    """Whether no event records the end of this run, as before schema version 4."""
    above: int = 0
    """If the delegating conversation requested this run: the number of the run there that this run is part of."""


class ConfirmationRequested(Event, frozen=True, kw_only=True):
    """The run waits for a person to approve or reject these actions; `reasons` has a code for each.

    "risk": the policy asks at this risk. "every": the policy asks about every action. "rule": a permission rule
    asks. "hook": a hook asks. "changed": the tool describes itself differently than when it was first seen.
    "unconfined": it leaves what confines the others. "flow:LABEL>SINK": content with that label may have caused the
    action, and the action reaches that sink. "lost:TOOL": a person was asked before, and since then a sleep or a crash
    has ended the shell, kernel, browser or server of that tool (`ResourceLost`).
    """

    action_ids: tuple[Id, ...]
    reasons: tuple[str, ...] = ()


class ConfirmationGiven(Event, frozen=True, kw_only=True):
    """A person approved these actions."""

    source: Source = "user"
    action_ids: tuple[Id, ...]


class ToolResultRequested(Event, frozen=True, kw_only=True):
    """The caller of the conversation (a program or a client) must execute an action and return its result.

    The action fails if there is no result `deadline` seconds after this event; None: no deadline.
    """

    action_id: Id
    deadline: float | None = None


class ToolResultsAwaited(Event, frozen=True, kw_only=True):
    """The run waits for a requested result; there is nothing else to do."""


class InputRequested(Event, frozen=True, kw_only=True):
    """A running tool asks a person for input: to fill in a form, or to open an address."""

    action_id: Id
    message: str
    schema: msgspec.Raw = msgspec.Raw(b"{}")
    """For a form: the JSON schema of an object whose members are texts, numbers, choices, and yes or no."""
    url: str = ""
    """The address to open; "" for a form."""
    asks: str = ""
    """The MCP server that asks."""


class InputGiven(Event, frozen=True, kw_only=True):
    """A person's reply to a tool's request for input; `content` is the object that the form asks for."""

    source: Source = "user"
    request_id: Id
    verdict: InputVerdict = "accept"
    content: msgspec.Raw = msgspec.Raw(b"{}")


class RuleAdded(Event, frozen=True, kw_only=True):
    """A permission rule applies from here on. With the `scope` "project" it is remembered for the workspace."""

    source: Source = "user"
    rule: PermissionRule
    scope: Scope = "session"


class RuleRemoved(Event, frozen=True, kw_only=True):
    """A permission rule no longer applies. With the `scope` "project" it is no longer remembered either."""

    source: Source = "user"
    rule: PermissionRule
    scope: Scope = "session"


class ConsentGiven(Event, frozen=True, kw_only=True):
    """A person agreed that the programs of a project or a plugin may run: its hooks apply from here on."""

    source: Source = "user"
    digest: str
    """The digest of the `Offer` in `ContextResolved`."""


class GoalSet(Event, frozen=True, kw_only=True):
    """A judge compares the finished work with an objective until the objective is reached; "" removes the goal."""

    source: Source = "user"
    objective: str
    judge: AnyLLM | None = None
    """The model that judges; None: the agent's own model."""
    max_iterations: int = 10


class TitleChanged(Event, frozen=True, kw_only=True):
    """The conversation has a new title."""

    title: str


class TagsChanged(Event, frozen=True, kw_only=True):
    """The conversation has these tags from here on."""

    source: Source = "user"
    tags: dict[str, str]


class SecretsChanged(Event, frozen=True, kw_only=True):
    """Secrets were added, removed or changed; `secrets` has all current ones by name, without values in clear text."""

    source: Source = "user"
    secrets: dict[str, SavedSecret]
    past: tuple[Token, ...] = ()
    """The values that this change ended, encrypted: another process masks them, too."""


DIED_REASON = "the process died"
"""The reason of the pause that the recovery after a crash logs. It is a part of the log format: a server goes by it."""


class PauseEvent(Event, frozen=True, kw_only=True):
    """Nothing new begins from here on; running work may finish."""

    source: Source = "user"
    reason: str = ""


class InterruptEvent(Event, frozen=True, kw_only=True):
    """Running work is cut, and nothing new begins; with `goes_on` the run continues with a message that is shown at
    once.
    """

    source: Source = "user"
    reason: str = ""
    goes_on: bool = False


class HeadMoved(Event, frozen=True, kw_only=True):
    """A rewind: the branch goes back to its state after event `to`; nothing is erased.

    With `files`, the files of the workspace go back, too: `FilesRestored` follows.
    """

    source: Source = "user"
    to: int
    files: bool = False


class CommandStarted(Event, frozen=True, kw_only=True):
    """A person or a program begins to run a shell command in the workspace, beside the agent, from the directory `cwd`.

    It is ended after `timeout` seconds.
    """

    source: Source = "user"
    command_line: str
    cwd: str
    timeout: float


class CommandEnded(Event, frozen=True, kw_only=True):
    """That command has ended; a message tells the model in one line.

    `exit_code` is -1 if its time limit ended it (`timeout_occurred`) and 128 + N if signal N did, as when somebody
    `stopped` it. `lost`: the runtime died meanwhile, so that nothing more is known. `stdout` and `stderr` have the end
    of its output. `duration` is in seconds.
    """

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    timeout_occurred: bool = False
    stopped: bool = False
    lost: bool = False
    duration: float = 0.0


ControlEvent: TypeAlias = (
    RunRequested
    | CommandStarted
    | CommandEnded
    | ConfirmationRequested
    | ConfirmationGiven
    | ToolResultRequested
    | ToolResultsAwaited
    | InputRequested
    | InputGiven
    | RuleAdded
    | RuleRemoved
    | ConsentGiven
    | GoalSet
    | TitleChanged
    | TagsChanged
    | SecretsChanged
    | PauseEvent
    | InterruptEvent
    | HeadMoved
)
