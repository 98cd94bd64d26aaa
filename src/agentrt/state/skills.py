"""Skills that are about to be activated, and the effects of their activation. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from posixpath import join, normpath, relpath

from msgspec.structs import replace

from ..events import ActionEvent, ActionResult, ConsentGiven, MessageEvent, ObservationEvent, SkillActivated
from ..specs import Agent
from ..specs.content import plain
from ..specs.context import Offer
from ..specs.skill import Skill
from ..specs.triggers import activated, touched
from .batches import ANY_FILE, FILE
from .parts import Activation, Branch, State
from .seeing import SKILL, as_seen


def marked(state: State, event: MessageEvent) -> MessageEvent:
    """Return a user's message for the log, with the skills that its words activate."""
    if state.context is None or event.source != "user":
        return event
    here = state.branch
    known = {*here.activated, *(due.skill for due in here.activating)}
    names = activated(state.context.skills, plain(event.content), known)
    return replace(event, skills=names) if names else event


def marked_result(state: State, event: ObservationEvent) -> ObservationEvent:
    """Return a result for the log, with the skills for the files that the call names: in a shell command, whatever its
    exit code, or in an argument such as `path`. A call whose resources are files needs no mark.
    """
    if state.context is None:
        return event
    action = next((p.action for p in state.branch.pending if p.action.id == event.action_id), None)
    if action is None or (event.is_error and not state.definition(action.tool_name).shell):
        return event
    if action.skill or any(key.startswith(FILE) and key != ANY_FILE for key in action.resources):
        return event
    if not (waiting := _waiting_for_files(state)):
        return event
    top = state.context.directory or "/"
    place = event.details.get("working_dir")
    names = _touched(waiting, _paths(state, action, place if isinstance(place, str) and place else top), top)
    return replace(event, skills=names) if names else event


LONGEST_COMMAND = 20_000
"""The number of characters of a command in which files are looked for."""

MOST_PATHS = 200
"""Maximum number of paths that are taken from a call."""

_NAMES_PATH = re.compile(r"(?:\w+_)?(?:path|file|filename|directory|dir)s?")
_EXPANDED = re.compile(r"[\\\s$`*?~(){}<>|&;]")


def _paths(state: State, action: ActionEvent, directory: str) -> list[str]:
    """Return the absolute paths that a call may name; it ended in `directory`."""
    shell = state.definition(action.tool_name).shell
    if shell:
        command = action.arguments.get(shell)
        return [directory, *paths_named(command, directory)] if isinstance(command, str) else []
    given = (value for name, value in action.arguments.items() if _NAMES_PATH.fullmatch(name))
    texts = (text for value in given for text in (value if isinstance(value, list) else (value,)))
    return [normpath(join(directory, text)) for text in texts if isinstance(text, str) and text][:MOST_PATHS]


def paths_named(command: str, directory: str) -> tuple[str, ...]:
    """Return the absolute paths that the words of a shell command may name, where it ended in `directory`. A word that
    the shell expands names none.
    """
    lexer = shlex.shlex(command[:LONGEST_COMMAND], posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: dict[str, None] = {}
    with suppress(ValueError):  # an unclosed quotation: the words before it count
        for word in lexer:
            path = word.rpartition("=")[2] if word.startswith("-") else word
            if path and not path.startswith("-") and not _EXPANDED.search(path):
                found[normpath(join(directory, path))] = None
            if len(found) == MOST_PATHS:
                break
    return tuple(found)


def _touched(skills: list[Skill], paths: Iterable[str], top: str) -> tuple[str, ...]:
    """Return the names of the skills for these paths, each of which may be a file or a directory."""
    below = [relpath(path, top) for path in paths]
    found = (skill for path in below for one in (path, f"{path}/_") for skill in touched(skills, normpath(one)))
    return tuple(dict.fromkeys(skill.name for skill in found))


def agreed(state: State, event: ConsentGiven) -> State:
    """Apply a person's consent to the programs of a project or a plugin."""
    offers = state.context.offers if state.context is not None else ()
    given = [offer for offer in offers if offer.digest == event.digest]
    kept = replace(state.ledger, agreed=(*state.ledger.agreed, event.digest))
    return replace(state, agent=with_programs(state.spec, given), ledger=kept)


def with_programs(agent: Agent, offers: Sequence[Offer]) -> Agent:
    """Return an agent with what a person has agreed to: hooks, MCP servers, rules, and what is for the agents that it
    may delegate to. Its own servers count more.
    """
    own = [offer for offer in offers if not offer.agent]
    rules = [rule for offer in own for rule in offer.rules]
    return replace(
        agent,
        hooks=tuple(dict.fromkeys((*agent.hooks, *(hook for offer in own for hook in offer.hooks)))),
        mcp_servers={**{name: one for offer in own for name, one in offer.servers.items()}, **agent.mcp_servers},
        rules=tuple(dict.fromkeys((*agent.rules, *rules))) if rules else agent.rules,
        agents=handed(agent.agents, offers),
    )


def handed(agents: dict[str, Agent], offers: Sequence[Offer]) -> dict[str, Agent]:
    """Return agents with what a person has agreed to of their files."""
    theirs = {offer.agent: offer for offer in offers if offer.agent in agents}
    return agents | {name: _handed(agents[name], offer) for name, offer in theirs.items()}


def _handed(agent: Agent, offer: Offer) -> Agent:
    """Return an agent of a file with the hooks and the condenser of the file."""
    hooks = tuple(dict.fromkeys((*agent.hooks, *offer.hooks)))
    return replace(agent, hooks=hooks, condenser=offer.condenser or agent.condenser)


def consented(state: State, skill: Skill) -> Offer | None:
    """Return the offer of the commands in a skill's text if a person has agreed to it, else None."""
    waiting = {offer.digest for offer in state.unagreed}
    for offer in state.context.offers if state.context is not None else ():
        if (offer.skill, offer.path) == (skill.name, skill.path) and offer.digest not in waiting:
            return offer
    return None


def heard(here: Branch, event: MessageEvent) -> Branch:
    """Apply a message that activates skills."""
    return _activating(here, event.skills, event.id)


def reached(state: State, action: ActionEvent, named: tuple[str, ...] = ()) -> Branch:
    """Apply an action that ran: the skills for files that it touched are about to be activated, and those `named` in
    its result.
    """
    here, context = state.branch, state.context
    paths = [normpath(key.removeprefix(FILE)) for key in action.resources if key.startswith(FILE)]
    if context is None or not (paths or named) or not (skills := _waiting_for_files(state)):
        return here
    names = [skill.name for path in paths for skill in touched(skills, relpath(path, context.directory or "/"))]
    return _activating(here, (*names, *named), action.id)


def _waiting_for_files(state: State) -> list[Skill]:
    """Return the skills for files that are not in the view."""
    skills = state.context.skills if state.context is not None else ()
    if not skills:
        return []
    here = state.branch
    known = {*here.activated, *(due.skill for due in here.activating)}
    return [skill for skill in skills if skill.paths and skill.name not in known]


def in_view(here: Branch) -> Branch:
    """Return the branch where only skills whose texts the model still sees count as activated; the others may come
    again.
    """
    shown = {seen.stands for seen in (*here.view, *here.queued) if seen.stands}
    return replace(here, activated=tuple(name for name in here.activated if SKILL + name in shown))


def _activating(here: Branch, names: Iterable[str], cause: str) -> Branch:
    due = [Activation(name, cause) for name in names]
    fresh = [one for one in dict.fromkeys(due) if (one.skill, one.cause) not in _places(here)]
    return replace(here, activating=(*here.activating, *fresh)) if fresh else here


def _places(here: Branch) -> set[tuple[str, str]]:
    return {(due.skill, due.cause) for due in here.activating}


def called(here: Branch, event: ActionEvent) -> Branch:
    """Apply a requested command in a skill's text."""
    here = _activating(here, (event.skill,), event.caused_by or "")
    return replace(
        here,
        activating=tuple(
            replace(due, calls=(*due.calls, (event.id, event.seq, 0)))
            if (due.skill, due.cause) == (event.skill, event.caused_by)
            else due
            for due in here.activating
        ),
    )


def answered(here: Branch, event: ActionResult) -> Branch:
    """Apply the result of such a command."""
    return replace(
        here,
        activating=tuple(
            replace(
                due,
                calls=tuple(
                    (name, seq, event.seq if name == event.action_id else result) for name, seq, result in due.calls
                ),
            )
            for due in here.activating
        ),
    )


def activated_by(here: Branch, event: SkillActivated) -> Branch:
    """Apply the activation of a skill."""
    kept = tuple(due for due in here.activating if (due.skill, due.cause) != (event.skill, event.cause))
    known = here.activated if event.skill in here.activated else (*here.activated, event.skill)
    allowed = (*here.allowed, event.allowed_tools) if event.allowed_tools else here.allowed
    queued = (*here.queued, as_seen(event)) if event.content else here.queued
    return replace(
        here,
        activating=kept,
        activated=known,
        allowed=allowed,
        approved=tuple(dict.fromkeys((*here.approved, *event.approved_tools))),
        disallowed=tuple(dict.fromkeys((*here.disallowed, *event.disallowed_tools))),
        queued=queued,
    )
