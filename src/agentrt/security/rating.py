"""`Rating`: the risk of an action before it runs; `Scene`: the context that the rating depends on."""

from __future__ import annotations

import msgspec

from ..specs import SecurityRisk, WorkspaceSpec
from ..specs.effects import Effects
from ..specs.flow import Label, Sink
from ..specs.given import Given


class Own(msgspec.Struct, frozen=True):
    """The runtime's own resources: the absolute paths of its `stores`, and the `ports` on which it serves."""

    stores: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()


class Scene(msgspec.Struct, frozen=True):
    """The context of an action, and its declared effects.

    `directory` is the absolute path in which its commands start; None if it is only known when the action runs.
    `files` has the known texts of files that it runs, by path: those that the conversation wrote or that changed
    recently. `own` is what no agent should touch. `effects` is None if the tool declares none; `only_reads` says
    whether such a tool declares that it changes nothing, here or elsewhere. `listening` are the ports of this
    machine on which processes of the conversation listen, and no other process.
    """

    workspace: WorkspaceSpec
    directory: str | None
    files: dict[str, str] = {}
    own: Own = Own()
    effects: Effects | None = None
    only_reads: bool = False
    listening: frozenset[int] = frozenset()


class Rating(Given, frozen=True):
    """The risk of an action, with a reason; the sinks of its effects, and the labels of untrusted content that its
    result may contain.
    """

    risk: SecurityRisk
    reason: str = ""
    sinks: tuple[Sink, ...] = ()
    labels: tuple[Label, ...] = ()
