"""What people decide: to run, to stop, what may be done, and what for."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ..specs import AnyLLM
from ..specs.rules import PermissionRule, Scope
from ..specs.secrets import SavedSecret, Token
from .base import Event, Id, Source

InputVerdict: TypeAlias = Literal["accept", "decline", "cancel"]
"""What a person says to a question: an answer, no, or nothing."""


class RunRequested(Event, frozen=True, kw_only=True):
    """Someone wants the agent to go on."""

    source: Source = "user"
    implied: bool = False
    """Whether the end of the run is in no event: so it was before schema version 4."""
    above: int = 0
    """Of one from the conversation that delegated this one: the number of the run there that this one is part of."""


class ConfirmationRequested(Event, frozen=True, kw_only=True):
    """The run waits for a person's word on these actions; `reasons` say why, for each, as a code.

    "risk": the policy asks at this risk; "rule": a permission rule does; "hook": a hook does; "changed": the tool says
    something else of itself than when it was first seen; "flow:LABEL>SINK": content with that label may have caused it,
    and it reaches that sink.
    """

    action_ids: tuple[Id, ...]
    reasons: tuple[str, ...] = ()


class ConfirmationGiven(Event, frozen=True, kw_only=True):
    """A person approved these actions."""

    source: Source = "user"
    action_ids: tuple[Id, ...]


class ToolResultRequested(Event, frozen=True, kw_only=True):
    """Whoever holds the conversation is to execute an action, and to give its result.

    It has failed where there is none `deadline` seconds after this; None: it is waited for as long as it takes.
    """

    action_id: Id
    deadline: float | None = None


class ToolResultsAwaited(Event, frozen=True, kw_only=True):
    """Nothing is left to be done before somebody has given a result that was requested."""


class InputRequested(Event, frozen=True, kw_only=True):
    """A tool asks a person something while it runs: to fill in a form, or to open an address."""

    action_id: Id
    message: str
    schema: msgspec.Raw = msgspec.Raw(b"{}")
    """Of a form, the JSON schema of an object whose members are texts, numbers, choices and yes or no."""
    url: str = ""
    """The address to be opened; "": it is a form."""
    asks: str = ""
    """Who asks: an MCP server."""


class InputGiven(Event, frozen=True, kw_only=True):
    """A person answers what a tool has asked; `content` is the object that the form asks for."""

    source: Source = "user"
    request_id: Id
    verdict: InputVerdict = "accept"
    content: msgspec.Raw = msgspec.Raw(b"{}")


class RuleAdded(Event, frozen=True, kw_only=True):
    """A permission rule holds from here on; one of its `scope` is remembered for the workspace."""

    source: Source = "user"
    rule: PermissionRule
    scope: Scope = "session"


class RuleRemoved(Event, frozen=True, kw_only=True):
    """A permission rule that was added holds no more; of its `scope` "project", it is not remembered either."""

    source: Source = "user"
    rule: PermissionRule
    scope: Scope = "session"


class ConsentGiven(Event, frozen=True, kw_only=True):
    """A person agreed that the programs run which a project or a plugin brings: its hooks hold from here on."""

    source: Source = "user"
    digest: str
    """Of the `Offer` in `ContextResolved`."""


class GoalSet(Event, frozen=True, kw_only=True):
    """What the agent finishes is held against an objective, by a judge, until it is reached; "" takes it back."""

    source: Source = "user"
    objective: str
    judge: AnyLLM | None = None
    """The model that judges; None: the agent's own."""
    max_iterations: int = 10


class TitleChanged(Event, frozen=True, kw_only=True):
    """The conversation has a new title."""

    title: str


class TagsChanged(Event, frozen=True, kw_only=True):
    """The conversation's tags are these from here on."""

    source: Source = "user"
    tags: dict[str, str]


class SecretsChanged(Event, frozen=True, kw_only=True):
    """Secrets have come, gone or changed: all that there are now, by name, without their values in the clear."""

    source: Source = "user"
    secrets: dict[str, SavedSecret]
    past: tuple[Token, ...] = ()
    """The values that came to an end with it, encrypted: they stay hidden in another process, too."""


class PauseEvent(Event, frozen=True, kw_only=True):
    """Nothing new is begun from here on; what runs may end."""

    source: Source = "user"
    reason: str = ""


class InterruptEvent(Event, frozen=True, kw_only=True):
    """What runs is cut, and nothing new is begun, unless it `goes_on` with a message that is to be seen at once."""

    source: Source = "user"
    reason: str = ""
    goes_on: bool = False


class HeadMoved(Event, frozen=True, kw_only=True):
    """A rewind: the branch goes back to how it was after event `to`; nothing is erased.

    With `files`, those of the workspace do so, too: `FilesRestored` follows.
    """

    source: Source = "user"
    to: int
    files: bool = False


ControlEvent: TypeAlias = (
    RunRequested
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
