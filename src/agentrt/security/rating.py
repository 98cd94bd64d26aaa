"""`Rating`: what there is to know of an action before it runs; `Scene`: where it would."""

from __future__ import annotations

import msgspec

from ..specs import SecurityRisk, Workspace
from ..specs.effects import Effects
from ..specs.flow import Label, Sink
from ..specs.given import Given


class Own(msgspec.Struct, frozen=True):
    """What belongs to the runtime: the absolute paths of its `stores`, and the ports on which it serves."""

    stores: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()


class Scene(msgspec.Struct, frozen=True):
    """Where an action takes place, and what it does: the workspace, and the directory in which its commands run.

    That is an absolute path; None where it is only known when the action runs. `files` are the texts of scripts that it
    runs and that were written since the conversation began, by their paths. `own` is what no agent should touch.
    `effects` is what its tool says that it does; None where the tool does not say, and `only_reads` whether such a tool
    declares that it changes nothing, here or elsewhere.
    """

    workspace: Workspace
    directory: str | None
    files: dict[str, str] = {}
    own: Own = Own()
    effects: Effects | None = None
    only_reads: bool = False


class Rating(Given, frozen=True):
    """How dangerous an action is, and why; where its effect goes, and what nobody vouches for its result will hold."""

    risk: SecurityRisk
    reason: str = ""
    sinks: tuple[Sink, ...] = ()
    labels: tuple[Label, ...] = ()
