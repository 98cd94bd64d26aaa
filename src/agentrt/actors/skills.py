"""`SkillActor`: gives the model the text of a skill, once the commands in it have run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import anyio.to_thread
import msgspec

from ..context.replies import BadCall, Toolbox
from ..context.telling import activation, commands, refused
from ..decisions import Activate, action_error
from ..errors import LogCorrupt
from ..events import (
    ActionEvent,
    AgentErrorEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    SkillActivated,
    UserRejectObservation,
)
from ..ids import new_id
from ..pins import changed
from ..specs import ToolDefinition
from ..specs.content import plain, text
from ..specs.skill import Skill
from ..state import Activation, Seen, State
from ..state.skills import consented
from .dispatcher import Perform
from .event_log import Log

_texts = msgspec.json.Decoder(dict[str, str])

MOST_COMMANDS = 10
"""Maximum number of commands of a skill that are run; its text marks the others as not run."""

LONGEST = 20_000
"""Maximum number of characters of a command's output in the text."""


class SkillActor(AbstractAsyncContextManager["SkillActor"]):
    """Performs `Activate`. The first outcome may be calls of commands; then it is due again with their results."""

    def __init__(self, log: Log, toolbox: Toolbox) -> None:
        self._log, self._toolbox = log, toolbox

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Have the commands of a skill run, or activate the skill."""
        assert isinstance(message.command, Activate)
        command, state = message.command, self._log.state
        await self._log.append(*await self._outcome(command, state), command=command.id)

    async def _outcome(self, command: Activate, state: State) -> Sequence[Event]:
        due, action = command.due, command.action
        skill = _named(state, due.skill)
        if action is not None and (skill is None or not skill.model_may_invoke):
            return (action_error(action, _missing(state, due.skill)),)
        body = await self._body(state, due.skill)
        if skill is None or body is None:
            return (_activated(due, skill, f"[The skill {due.skill} was removed.]", state),)
        named = commands(body)
        why = "" if due.calls or not named else await _refusal(skill, named, state)
        if not due.calls and not why and (calls := self._calls(named[:MOST_COMMANDS], due, state)):
            return calls if action is None else (_result(action, f"The skill {skill.name} follows."), *calls)
        given = "" if action is not None else await self._message(due, state)
        told = activation(skill, body, refused(body, why) if why else await self._results(due, state), given)
        if action is None:
            return (_activated(due, skill, told, state),)
        return (_result(action, told), _activated(due, skill, "", state))

    async def _body(self, state: State, name: str) -> str | None:
        """Return the text of a skill as it was when the context was resolved; None if there is none."""
        for blob in reversed(state.context.texts if state.context is not None else ()):
            try:
                texts = _texts.decode(await self._log.fetch(blob))
            except LogCorrupt:
                continue
            if name in texts:
                return texts[name]
        return None

    def _calls(self, wanted: Sequence[str], due: Activation, state: State) -> tuple[ActionEvent, ...]:
        """Return calls of the commands; none if the agent has no tool that runs commands."""
        shell = _shell(state)
        if shell is None:
            return ()
        made = []
        for said in wanted:
            arguments = msgspec.Raw(msgspec.json.encode({shell.shell: said}))
            try:
                resources = self._toolbox.resources(shell.name, arguments)
            except BadCall:
                continue
            name = new_id()
            made.append(
                ActionEvent(
                    id=name,
                    source="environment",
                    tool_name=shell.name,
                    tool_call_id=name,
                    arguments_json=arguments,
                    llm_response_id=due.cause,
                    resources=resources,
                    skill=due.skill,
                    summary=f"A command of the skill {due.skill}",
                    caused_by=due.cause,
                )
            )
        return tuple(made)

    async def _results(self, due: Activation, state: State) -> dict[str, str]:
        """Return the results of the commands, by command."""
        shell, found = _shell(state), dict[str, str]()
        for _, seq, result in due.calls:
            call, ended = await self._log.load([Seen(seq, "", ""), Seen(result, "", "")])
            if isinstance(call, ActionEvent) and shell is not None:
                arguments = msgspec.json.decode(call.arguments_json, type=dict[str, object])
                found[str(arguments.get(shell.shell, ""))] = _told(ended)
        return found

    async def _message(self, due: Activation, state: State) -> str:
        """Return the text of the message that activates a skill; "" if no message does."""
        places = [seen for seen in (*state.branch.queued, *state.branch.view) if seen.id == due.cause]
        found = await self._log.load(places[:1])
        return plain(found[0].content) if found and isinstance(found[0], MessageEvent) else ""


def _named(state: State, name: str) -> Skill | None:
    skills = state.context.skills if state.context is not None else ()
    return next((skill for skill in skills if skill.name == name), None)


async def _refusal(skill: Skill, named: Sequence[str], state: State) -> str:
    """Return why the commands in a skill's text are not run; "" if they may be. The commands in a skill of the user or
    of the program need no agreement.
    """
    if not skill.is_foreign:
        return ""
    offer = consented(state, skill)
    if offer is None or not set(named) <= set(offer.commands):
        return "since no person has agreed to the commands of this skill"
    assert state.created is not None
    path = await anyio.to_thread.run_sync(changed, offer.pinned, state.created.workspace.path) if offer.pinned else None
    return f"since {path} is not as it was when a person agreed" if path is not None else ""


def _shell(state: State) -> ToolDefinition | None:
    return next((tool for tool in state.tools if tool.shell), None)


def _missing(state: State, name: str) -> str:
    skills = state.context.skills if state.context is not None else ()
    there = ", ".join(skill.name for skill in skills if skill.kind == "listed" and skill.model_may_invoke) or "none"
    return f"unknown skill {name!r}; skills that you can call: {there}"


def _activated(due: Activation, skill: Skill | None, told: str, state: State) -> SkillActivated:
    return SkillActivated(
        skill=due.skill,
        cause=due.cause,
        content=text(told) if told else (),
        approved_tools=_approved(skill, state) if skill is not None else (),
        disallowed_tools=skill.disallowed_tools if skill is not None else (),
        caused_by=due.cause,
    )


def _approved(skill: Skill, state: State) -> tuple[str, ...]:
    """Return the tools that a skill approves in advance: a skill of others only what a person agreed to."""
    if not skill.is_foreign:
        return skill.allowed_tools
    offer = consented(state, skill)
    return skill.allowed_tools if offer is not None and set(skill.allowed_tools) <= set(offer.tools) else ()


def _result(action: ActionEvent, told: str) -> ObservationEvent:
    return ObservationEvent(
        action_id=action.id,
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
        content=text(told),
        caused_by=action.id,
    )


def _output(said: str) -> str:
    """Return what a command printed, without the last line if that reports success."""
    output, _, last = said.rpartition("\n")
    return output if last.startswith("[exit code 0") else said


def _told(event: Event) -> str:
    match event:
        case ObservationEvent():
            said = _output(plain(event.content).strip())
        case AgentErrorEvent():
            said = f"[{event.error}]"
        case UserRejectObservation():
            said = f"[not run: {event.rejection_reason}]"
        case _:
            said = ""
    return said if len(said) <= LONGEST else f"{said[:LONGEST]}\n[cut]"
