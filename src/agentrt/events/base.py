"""The envelope of all events, and the small types that they share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from ..ids import new_id

Id: TypeAlias = Annotated[str, msgspec.Meta(extra={"id": True})]
"""The id by which the runtime knows an event, a command or a delegated conversation."""
Source: TypeAlias = Literal["user", "agent", "environment", "hook"]


def now() -> datetime:
    """The time of this machine, in UTC."""
    return datetime.now(UTC)


REMEMBERED = 4096
"""Maximum length in bytes of a JSON text that is decoded once for all events that have it."""


def mapping_of(json: bytes) -> Mapping[str, Any]:
    """Return the members of a JSON object, read-only; of anything else, none. A list or an object among them belongs to
    the caller: a change of it changes no event.
    """
    flat = _flat(json) if len(json) <= REMEMBERED else None
    return _mapping(json) if flat is None else flat


def _mapping(json: bytes) -> Mapping[str, Any]:
    found = msgspec.json.decode(json)
    return MappingProxyType(found if isinstance(found, dict) else {})


@lru_cache(maxsize=256)
def _flat(json: bytes) -> Mapping[str, Any] | None:
    """Return the members of a JSON object; None if one of them is a list or an object, which nobody may share."""
    found = _mapping(json)
    return None if any(isinstance(value, dict | list) for value in found.values()) else found


class Cursor(msgspec.Struct, frozen=True, order=True):
    """A place in a log: after event `seq`. The epoch changes when events that a client may have seen are lost."""

    epoch: int = 0
    seq: int = 0

    @classmethod
    def parse(cls, place: str, epoch: int = 0) -> Cursor:
        """The cursor from the text EPOCH-SEQ, or from SEQ with the given epoch. Raises `ValueError`."""
        given, _, seq = place.rpartition("-")
        return cls(int(given or epoch), int(seq))


class ExecutionStatus(StrEnum):
    """What a conversation is doing."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    WAITING_FOR_CONFIRMATION = "waiting_for_confirmation"
    WAITING_FOR_CLIENT = "waiting_for_client"
    FINISHED = "finished"
    ERROR = "error"
    STUCK = "stuck"

    @property
    def at_work(self) -> bool:
        """Whether it runs, or waits for a person or a client before it runs on."""
        return self is ExecutionStatus.RUNNING or self.waits

    @property
    def waits(self) -> bool:
        """Whether it waits for a person's answer, or for a client's result."""
        return self in (ExecutionStatus.WAITING_FOR_CONFIRMATION, ExecutionStatus.WAITING_FOR_CLIENT)

    @property
    def over(self) -> bool:
        """Whether the last run has ended by itself."""
        return self in (ExecutionStatus.FINISHED, ExecutionStatus.ERROR, ExecutionStatus.STUCK)


class Event(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    gc=False,
    tag_field="type",
    tag=True,
):
    """The envelope that all events share."""

    seq: int = 0
    """Its place in the log, from 1 without gaps; 0 until the log gives it one."""
    id: str = msgspec.field(default_factory=new_id)
    """A UUID (version 7), or the id that a message was sent with."""
    timestamp: datetime = msgspec.field(default_factory=now)
    """The time when it was made, in UTC."""
    source: Source = "environment"
    """The role that caused it."""
    by: str | None = None
    """The principal that caused it: the name of a user, or a hook."""
    caused_by: str | None = None
    """The id of the event that it answers."""

    def __str__(self) -> str:
        """Return what `agentrt show` prints of it; for an event of which it prints nothing, its number and type."""
        # by name, because only people read this: the words are those of the command line, in the uppermost layer
        return str(import_module("agentrt.cli.story").event_text(self))
