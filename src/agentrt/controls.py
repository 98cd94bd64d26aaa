"""`Control`: what a person asks of a conversation, as data: one vocabulary for REST, sockets and remote ends."""

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
    """Base of all controls; its tag is the word that it has in a URL and in a frame."""


class SendMessage(Control, frozen=True, tag="message"):
    """Say something to the agent; the same `id` twice counts once. With `run` it works on it at once."""

    content: str | tuple[Content, ...]
    id: str | None = None
    busy: BusyPolicy | None = None
    run: bool = False


class StartRun(Control, frozen=True, tag="run"):
    """Let the agent work until nothing is due."""


class Pause(Control, frozen=True, tag="pause"):
    """Begin nothing new; what runs may end."""


class Interrupt(Control, frozen=True, tag="interrupt"):
    """Cut what runs."""

    reason: str = ""


class Confirm(Control, frozen=True, tag="confirm"):
    """Approve actions that wait, all when none is named; `always` also allows the same from now on."""

    action_ids: tuple[str, ...] = ()
    always: Scope | None = None
    rule: PermissionRule | None = None


class Reject(Control, frozen=True, tag="reject"):
    """Refuse actions that wait, all when none is named; the agent sees the reason."""

    reason: str = "Rejected by the user."
    action_ids: tuple[str, ...] = ()


class GiveResult(Control, frozen=True, tag="tool_result"):
    """Give the result of an action that waits for one: a call of a `ClientTool`."""

    action_id: str
    content: str | tuple[Content, ...]
    is_error: bool = False


class GiveInput(Control, frozen=True, tag="input"):
    """Answer what a tool has asked a person: with the object that its form asks for, or with no."""

    request_id: str
    verdict: InputVerdict = "accept"
    content: dict[str, str | int | float | bool | tuple[str, ...] | None] = {}


class AddRule(Control, frozen=True, tag="rule"):
    """Have a permission rule hold from now on."""

    rule: PermissionRule
    scope: Scope = "session"


class RemoveRule(Control, frozen=True, tag="remove_rule"):
    """Have a rule that was added hold no more."""

    rule: PermissionRule
    scope: Scope = "session"


class Configure(Control, frozen=True, tag="configure"):
    """Change fields of the agent from now on, by their names."""

    changes: dict[str, msgspec.Raw]


class SetConfirmationPolicy(Control, frozen=True, tag="confirmation_policy"):
    """Who is asked from now on."""

    policy: ConfirmationPolicy


class SetSecurityAnalyzer(Control, frozen=True, tag="security_analyzer"):
    """Who rates actions from now on."""

    names: tuple[str, ...] = ()


class SwitchLLM(Control, frozen=True, tag="switch_llm"):
    """Which model answers from the next call on."""

    llm: AnyLLM


class UpdateSecrets(Control, frozen=True, tag="secrets"):
    """Add, replace or, with null, remove secrets."""

    secrets: dict[str, str | None]


class SetGoal(Control, frozen=True, tag="goal"):
    """Hold what the agent finishes against an objective; "" takes it back."""

    objective: str
    judge: AnyLLM | None = None
    max_iterations: int = 10


class AskAgent(Control, frozen=True, tag="ask_agent"):
    """A question besides the task, that leaves no trace in the history; the reply is an `Answer`."""

    question: str
    llm: AnyLLM | None = None


class GenerateTitle(Control, frozen=True, tag="generate_title"):
    """Have a model make a title; the reply is an `Answer`."""

    llm: AnyLLM | None = None
    max_length: int = 50


class Rename(Control, frozen=True, tag="rename"):
    """Give the conversation a title."""

    title: str


class SetTags(Control, frozen=True, tag="tags"):
    """Replace the tags."""

    tags: dict[str, str]


class Agree(Control, frozen=True, tag="agree"):
    """Agree that the programs of a project or a plugin run, here and in all conversations that find the same."""

    digest: str


class LoadPlugin(Control, frozen=True, tag="load_plugin"):
    """Load a plugin: a directory, a git address, `github:owner/repo`, or `NAME@MARKETPLACE`."""

    source: str
    ref: str = ""
    repo_path: str = ""


class Grant(Control, frozen=True, tag="grant"):
    """Allow it to spend so many USD more."""

    amount: float


class Rewind(Control, frozen=True, tag="rewind"):
    """Go back to how it was after event `to`; nothing is erased. With `files`, those of the workspace go back, too, but
    for those that people have changed since.
    """

    to: int
    epoch: int = 0
    """That of the log in which the event was seen."""
    files: bool = False


class Condense(Control, frozen=True, tag="condense"):
    """Have a summary take the place of what was said long ago, before the next model call."""


class Fork(Control, frozen=True, tag="fork"):
    """Begin a conversation that shares the events up to `at`, all when not given; the reply is `Forked`.

    It has the title of the other unless there is one, tags of its own, and goes on with another `agent` where one is
    given.
    """

    at: int | None = None
    id: str | None = None
    title: str = ""
    tags: dict[str, str] = {}
    agent: Agent | None = None
    epoch: int = 0
    """That of the log in which the event `at` was seen."""
    files: bool | str = False
    """Whether it works in a copy of the workspace as it was there, or the directory of that copy."""

    @property
    def place(self) -> Cursor | None:
        """The place up to which events are shared."""
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
    """What the agent, or a model, said."""

    text: str


class Forked(msgspec.Struct, frozen=True):
    """The conversation that was begun."""

    id: str


Reply: TypeAlias = Cursor | Answer | Forked


def checked(control: AnyControl) -> AnyControl:
    """A control as a frame would bring it. Raises `ConfigurationError` where a value is not of its field's type, and
    `EventRefused` for half a character: what was logged so could never be read again.
    """
    try:
        return _decoder.decode(msgspec.json.encode(control))
    except UnicodeEncodeError as error:
        raise EventRefused(f"text that is no Unicode cannot be logged: {error}") from error
    except (TypeError, AttributeError, msgspec.MsgspecError) as error:
        raise ConfigurationError(f"{tag_of(control)}: {error}") from error


_decoder: msgspec.json.Decoder[AnyControl] = msgspec.json.Decoder(AnyControl)


def tag_of(control: type[Control] | Control) -> str:
    """The word that a control has in a URL and in a frame."""
    tag = control.__struct_config__.tag
    assert isinstance(tag, str)
    return tag


def model_of(control: Control) -> AnyLLM | None:
    """The model besides the agent's own that a control has asked."""
    match control:
        case SetGoal(judge=llm) | AskAgent(llm=llm) | GenerateTitle(llm=llm):
            return llm
        case _:
            return None
