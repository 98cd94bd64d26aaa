"""Skills that are about to be activated, and the effects of their activation. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import normpath, relpath

from msgspec.structs import replace

from ..events import ActionEvent, ActionResult, ConsentGiven, MessageEvent, SkillActivated
from ..specs.content import plain
from ..specs.context import Offer
from ..specs.skill import Skill
from ..specs.triggers import activated, touched
from .parts import Activation, Branch, State
from .seeing import as_seen

FILE = "file:"
"""The prefix of a file's resource key."""


def marked(state: State, event: MessageEvent) -> MessageEvent:
    """Return a user's message for the log, with the skills that its words activate."""
    if state.context is None or event.source != "user":
        return event
    here = state.branch
    known = {*here.activated, *(due.skill for due in here.activating)}
    names = activated(state.context.skills, plain(event.content), known)
    return replace(event, skills=names) if names else event


def agreed(state: State, event: ConsentGiven) -> State:
    """Apply a person's consent to the programs of a project or a plugin."""
    offers = state.context.offers if state.context is not None else ()
    given = [offer for offer in offers if offer.digest == event.digest]
    hooks = [hook for offer in given for hook in offer.hooks]
    servers = {name: server for offer in given for name, server in offer.servers.items()}
    kept = replace(state.ledger, agreed=(*state.ledger.agreed, event.digest))
    agent = replace(
        state.spec,
        hooks=tuple(dict.fromkeys((*state.spec.hooks, *hooks))),
        mcp_servers={**servers, **state.spec.mcp_servers},
    )
    return replace(state, agent=agent, ledger=kept)


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


def reached(state: State, action: ActionEvent) -> Branch:
    """Apply an action that ran: the skills for files that it touched are about to be activated."""
    here, context = state.branch, state.context
    if context is None:
        return here
    skills = [skill for skill in context.skills if skill.paths and skill.name not in here.activated]
    if not skills:
        return here
    paths = (normpath(key.removeprefix(FILE)) for key in action.resources if key.startswith(FILE))
    names = [skill.name for path in paths for skill in touched(skills, relpath(path, context.directory or "/"))]
    return _activating(here, names, action.id)


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
    return replace(here, activating=kept, activated=known, allowed=allowed, queued=queued)
