"""Where nothing confines what commands do, though it should be: who must be asked, and what does not run unasked."""

from __future__ import annotations

import os
from glob import iglob
from itertools import chain

import anyio.to_thread
import msgspec

from ..decisions.permissions import ruling
from ..errors import ToolError
from ..events import ActionEvent, ObservationEvent
from ..security.paths import within
from ..security.plain import Word, plainly_read
from ..security.rating import Rating, Scene
from ..security.rules import rate_action
from ..security.verdicts import high
from ..specs import SecurityRisk, WorkspaceSpec
from ..specs.effects import Effects
from ..tools import Tools
from ..tools.clipping import clip
from .analyzers import apply_rule
from .event_log import Log

MOST = 10_000
"""Maximum number of files of a pattern that are looked at; what has more is refused."""

LONGEST = 300
"""Maximum characters of the reason that a model is told."""

UNHELD = "nothing confines commands on this machine: {}"
"""The reason for which a person is asked."""

REFUSED = (
    "This did not run: nobody is asked in this conversation, and nothing confines commands here ({}). Commands that"
    " only read in the workspace, such as ls, cat and grep, run. A person can have others asked about (confirmation),"
    ' let them run unconfined (confine="off"), or see with `agentrt doctor` how to confine them.'
)


async def rated_unheld(rating: Rating, scene: Scene, why: str) -> Rating | None:
    """Return the rating of an action where nothing confines commands because of `why`; None if it plainly reads in the
    workspace, or a person's own code is all that runs.
    """
    if scene.effects is None or await _is_plain(rating, scene, scene.effects):
        return None
    return high(UNHELD.format(why))


async def refuse_unasked(log: Log, action: ActionEvent, tools: Tools, workspace: WorkspaceSpec, why: str) -> None:
    """Raise `ToolError` for an action that does more than read in the workspace or write files there, and that no rule
    allows, where nobody is asked about any.
    """
    rule = ruling(log.state, action)
    effects = tools.effects(action.tool_name, action.arguments_json)
    if effects is None or (rule is not None and rule.verdict == "allow"):
        return
    directory = await directory_of(log, action.tool_name, workspace.path) if effects.sources else workspace.path
    scene = Scene(workspace, directory, effects=effects)
    if not await _is_plain(await apply_rule(rate_action, action, scene), scene, effects):
        raise ToolError(REFUSED.format(clip(why, LONGEST)))


async def directory_of(log: Log, tool: str, otherwise: str) -> str:
    """Return the directory in which a tool's last command ended."""
    last = await log.newest(lambda seen: seen.tool_name == tool and seen.type in _PLACING)
    found = msgspec.json.decode(last.details_json, type=_Placed | None) if isinstance(last, ObservationEvent) else None
    return found.working_dir if found is not None and found.working_dir else otherwise


class _Placed(msgspec.Struct):
    working_dir: str = ""


_PLACING = ("ObservationEvent", "ResourceLost")
"""Types of the events that tell the terminal's directory; after a restart it is the workspace."""


async def _is_plain(rating: Rating, scene: Scene, effects: Effects) -> bool:
    words = plainly_read(effects)
    if rating.risk is not SecurityRisk.LOW or words is None or (effects.sources and scene.directory is None):
        return False
    inside = scene.workspace.path
    named = [(Word(path), inside) for path in (*effects.reads, *(file.path for file in effects.files))]
    named += [(word, scene.directory or "") for word in words]
    if effects.sources and scene.directory != inside:
        named.append((Word("."), scene.directory or ""))
    return not named or await anyio.to_thread.run_sync(_all_inside, named, inside)


def _all_inside(named: list[tuple[Word, str]], workspace: str) -> bool:
    """Return whether paths, and patterns of paths, each in a directory, lead into a workspace. A pattern may not become
    an option of its program either.
    """
    root = os.path.realpath(workspace)
    for word, directory in named:
        if word.text.startswith("~"):
            return False
        path = os.path.join(directory, word.text)
        fitting = iglob(path, include_hidden=True) if word.is_pattern else ()
        for count, one in enumerate(chain((path,), fitting)):
            is_option = word.is_pattern and os.path.relpath(one, directory).startswith("-")
            if count >= MOST or is_option or not within(os.path.realpath(one), root):
                return False
    return True
