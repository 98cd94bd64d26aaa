"""`memory`: notes for later conversations, which see them from their beginning: lines of MEMORY.md."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from ..errors import ToolError
from ..protocols import Observation, ToolContext
from ..specs import Effects, OnCrash, ToolAnnotations, WorkspaceSpec
from ..specs.content import text
from ..specs.memory import LONGEST_NOTE, MEMORY_FILES, Scope
from .definition import Params, ToolType


class MemoryAction(msgspec.Struct, frozen=True):
    """Arguments of `memory`."""

    command: Annotated[
        Literal["view", "add", "remove"],
        Meta(description="`add` notes a line, `remove` takes back the lines that have `text`, `view` shows all."),
    ]
    text: Annotated[str, Meta(description="With `add`: one fact, in one line. With `remove`: a part of a line.")] = ""
    scope: Annotated[
        Scope, Meta(description="`project`: for work in this workspace; `user`: for all that this user does.")
    ] = "project"


class Memory:
    """The executor."""

    def __init__(self, params: Params) -> None: ...

    async def __call__(self, action: MemoryAction, context: ToolContext) -> Observation:
        """Carry out a command and return the memory afterwards.

        Raises `ToolError` for invalid arguments, if the memory cannot be read or written, or if no line is removed.
        """
        past, said = context.recollection, " ".join(action.text.split())
        if action.command == "view":
            notes = await past.memory(action.scope)
            return Observation(content=text(notes or "Nothing is noted yet."), labels=_labels(action))
        if not said:
            raise ToolError(f"give the text to {action.command}")
        if action.command == "add" and len(said) > LONGEST_NOTE:
            raise ToolError(f"that has {len(said):,} characters: note one fact, in {LONGEST_NOTE} at most")
        change = _added if action.command == "add" else _removed
        notes = await past.memorize(action.scope, lambda before: change(before, said))
        return Observation(content=text(f"Noted. It says now:\n{notes}"), labels=_labels(action))

    async def aclose(self) -> None: ...


def _labels(action: MemoryAction) -> tuple[Literal["outside"], ...]:
    return ("outside",) if action.scope == "project" else ()


def _added(notes: str, said: str) -> str:
    line = f"- {said}"
    return notes if line in notes.splitlines() else f"{notes.rstrip()}\n{line}"


def _removed(notes: str, said: str) -> str:
    kept = [line for line in notes.splitlines() if said not in " ".join(line.split())]
    if len(kept) == len(notes.splitlines()):
        raise ToolError(f"no line of it says {said!r}")
    return "\n".join(kept)


def _effects(action: MemoryAction, workspace: WorkspaceSpec) -> Effects:
    path = MEMORY_FILES[0] if action.scope == "project" else f"~/{MEMORY_FILES[0]}"
    return Effects(reads=(path,)) if action.command == "view" else Effects(reads=(path,), writes=(path,))


memory = ToolType(
    name="memory",
    description=(
        "Note something for later conversations, which are told it from their beginning: what the user prefers, how the"
        " project is built and tested, what went wrong before. Not what stands in the repository, and no secrets."
    ),
    action=MemoryAction,
    executor=Memory,
    annotations=ToolAnnotations(destructive=True, idempotent=True, open_world=False),
    on_crash=OnCrash.RETRY,
    resources=lambda action, workspace: (f"memory:{action.scope}",),
    effects=_effects,
    headline="{command} {text}",
    aliases=("remember", "save_memory"),
)
