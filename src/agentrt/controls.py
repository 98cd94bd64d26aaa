"""`Control`: a request to a conversation, as data: the same for REST, sockets and remote conversations."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from .errors import ConfigurationError, EventRefused
from .events import Cursor, InputVerdict
from .specs import Agent, AnyLLM, BusyPolicy, ConfirmationPolicy, Content, PermissionRule
from .specs.rules import Scope


class Control(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="type"
):
    """Base of all controls; the tag of a control is its name in a URL and in a frame."""


class SendMessage(Control, frozen=True, tag="message"):
    """Send a message to the agent; a second message with the same `id` is ignored. With `run`, start a run at once."""

    content: str | tuple[Content, ...]
    id: str | None = None
    busy: BusyPolicy | None = None
    run: bool = False


class StartRun(Control, frozen=True, tag="run"):
    """Let the agent work until there is nothing left to do."""


class Pause(Control, frozen=True, tag="pause"):
    """Begin nothing new; running work may end."""


class Interrupt(Control, frozen=True, tag="interrupt"):
    """Interrupt running work."""

    reason: str = ""


class Confirm(Control, frozen=True, tag="confirm"):
    """Approve waiting actions; without ids, all of them. `always` also allows the same from now on."""

    action_ids: tuple[str, ...] = ()
    always: Scope | None = None
    rule: PermissionRule | None = None


class Reject(Control, frozen=True, tag="reject"):
    """Reject waiting actions; without ids, all of them. The agent sees the reason."""

    reason: str = "Rejected by the user."
    action_ids: tuple[str, ...] = ()


class GiveResult(Control, frozen=True, tag="tool_result"):
    """Give the result of a call of a `ClientTool` that waits for it."""

    action_id: str
    content: str | tuple[Content, ...]
    is_error: bool = False


class GiveInput(Control, frozen=True, tag="input"):
    """Answer a question of a tool to the user: with the object that its form asks for, or by declining."""

    request_id: str
    verdict: InputVerdict = "accept"
    content: dict[str, str | int | float | bool | tuple[str, ...] | None] = {}


class AddRule(Control, frozen=True, tag="rule"):
    """Add a permission rule that applies from now on."""

    rule: PermissionRule
    scope: Scope = "session"


class RemoveRule(Control, frozen=True, tag="remove_rule"):
    """Remove a permission rule that was added."""

    rule: PermissionRule
    scope: Scope = "session"


class Configure(Control, frozen=True, tag="configure"):
    """Change fields of the agent from now on, by their names."""

    changes: dict[str, msgspec.Raw]


class SetConfirmationPolicy(Control, frozen=True, tag="confirmation_policy"):
    """Set the confirmation policy from now on."""

    policy: ConfirmationPolicy


class SetSecurityAnalyzer(Control, frozen=True, tag="security_analyzer"):
    """Set the analyzers that rate actions from now on."""

    names: tuple[str, ...] = ()


class SwitchLLM(Control, frozen=True, tag="switch_llm"):
    """Change the model from the next call on."""

    llm: AnyLLM


class UpdateSecrets(Control, frozen=True, tag="secrets"):
    """Add, replace or, with null, remove secrets."""

    secrets: dict[str, str | None]


class SetGoal(Control, frozen=True, tag="goal"):
    """Set the objective by which the agent's finished work is judged; "" removes it."""

    objective: str
    judge: AnyLLM | None = None
    max_iterations: int = 10


class AskAgent(Control, frozen=True, tag="ask_agent"):
    """Ask a side question that leaves no trace in the history; the reply is an `Answer`."""

    question: str
    llm: AnyLLM | None = None


class GenerateTitle(Control, frozen=True, tag="generate_title"):
    """Generate a title with a model; the reply is an `Answer`. With `if_untitled`, it replaces no other title."""

    llm: AnyLLM | None = None
    max_length: int = 50
    if_untitled: bool = False


class Rename(Control, frozen=True, tag="rename"):
    """Give the conversation a title."""

    title: str


class SetTags(Control, frozen=True, tag="tags"):
    """Replace the tags."""

    tags: dict[str, str]


class Agree(Control, frozen=True, tag="agree"):
    """Agree to run the programs of a project or a plugin, here and in all conversations that find the same programs."""

    digest: str


class LoadPlugin(Control, frozen=True, tag="load_plugin"):
    """Load a plugin: a directory, a git address, `github:owner/repo`, or `NAME@MARKETPLACE`."""

    source: str
    ref: str = ""
    repo_path: str = ""


class Grant(Control, frozen=True, tag="grant"):
    """Allow the conversation to spend `amount` USD more."""

    amount: float


class Rewind(Control, frozen=True, tag="rewind"):
    """Go back to the state after event `to`; nothing is erased.

    With `files`, also restore the workspace, except for files that people have changed since.
    """

    to: int
    epoch: int = 0
    """The epoch of the log in which event `to` was seen."""
    files: bool = False


class Condense(Control, frozen=True, tag="condense"):
    """Replace the older part of the view with a summary before the next model call."""


class Fork(Control, frozen=True, tag="fork"):
    """Begin a conversation that shares the events up to `at` (default: all); the reply is `Forked`.

    The fork keeps the title unless `title` is given, and has its own tags. With `agent`, that agent continues the fork.
    """

    at: int | None = None
    id: str | None = None
    title: str = ""
    tags: dict[str, str] = {}
    agent: Agent | None = None
    epoch: int = 0
    """The epoch of the log in which event `at` was seen."""
    files: bool | str = False
    """Whether the fork works in a copy of the workspace as it was at `at`, or the directory of that copy."""

    @property
    def place(self) -> Cursor | None:
        """The cursor up to which events are shared."""
        return None if self.at is None else Cursor(self.epoch, self.at)


AnyControl: TypeAlias = (
    SendMessage
    | StartRun
    | Pause
    | Interrupt
    | Confirm
    | Reject
    | GiveResult
    | GiveInput
    | AddRule
    | RemoveRule
    | Configure
    | SetConfirmationPolicy
    | SetSecurityAnalyzer
    | SwitchLLM
    | UpdateSecrets
    | SetGoal
    | AskAgent
    | GenerateTitle
    | Rename
    | SetTags
    | Agree
    | LoadPlugin
    | Grant
    | Rewind
    | Condense
    | Fork
)


class Answer(msgspec.Struct, frozen=True):
    """The answer of the agent, or of a model."""

    text: str


class Forked(msgspec.Struct, frozen=True):
    """The id of the new conversation."""

    id: str


Reply: TypeAlias = Cursor | Answer | Forked


def checked(control: AnyControl) -> AnyControl:
    """Return a control as it would be decoded from a frame. Raises `ConfigurationError` for a value of a wrong type,
    and `EventRefused` for text that is not valid Unicode, which could not be read back from the log.
    """
    try:
        return _decoder.decode(msgspec.json.encode(control))
    except UnicodeEncodeError as error:
        raise EventRefused(f"the event contains text that is not valid Unicode: {error}") from error
    except (TypeError, AttributeError, msgspec.MsgspecError) as error:
        raise ConfigurationError(f"{tag_of(control)}: {error}") from error


_decoder: msgspec.json.Decoder[AnyControl] = msgspec.json.Decoder(AnyControl)


def tag_of(control: type[Control] | Control) -> str:
    """Return the tag of a control: its name in a URL and in a frame."""
    tag = control.__struct_config__.tag
    assert isinstance(tag, str)
    return tag


def model_of(control: Control) -> AnyLLM | None:
    """Return the model that a control uses besides the agent's own, or None."""
    match control:
        case SetGoal(judge=llm) | AskAgent(llm=llm) | GenerateTitle(llm=llm):
            return llm
        case _:
            return None
