"""`Row`: a conversation on a line of a list; which ones are asked for, and what a search finds in them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

DAMAGED = "damaged"
"""The status of a conversation whose log cannot be read."""

RUNNING = "running"
CRASHED = "crashed"
"""The status of a conversation that was running when its process died: no process has it open."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_micros(time: datetime) -> int:
    """Microseconds since 1970."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def from_micros(micros: int) -> datetime:
    """The time, in UTC, of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)


class Mark(msgspec.Struct, frozen=True):
    """A place in the list of conversations, for the page after it."""

    updated: datetime
    id: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as it stood when its log, of so many `bytes`, was last `updated`.

    `status` is that of the fold, `CRASHED` or `DAMAGED`; `cost` in USD, without the `unpriced` calls; `events` is the
    last seq; `title` the one that it was given, else the first line that a user wrote; `parent` the id of the
    conversation that this one comes from; `workspace` a path.
    """

    id: str
    updated: datetime
    bytes: int
    created: datetime | None = None
    status: str = DAMAGED
    title: str = ""
    model: str = ""
    calls: int = 0
    cost: float = 0.0
    unpriced: int = 0
    events: int = 0
    parent: str | None = None
    tags: dict[str, str] = {}
    owner: str | None = None
    workspace: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    delegated_by: str | None = None
    """The conversation that this one works for."""

    @property
    def mark(self) -> Mark:
        """Its place in the list."""
        return Mark(self.updated, self.id)


class Filter(msgspec.Struct, frozen=True):
    """Which conversations: those of a status, of an owner, with all these tags, and with `query` in the title or the
    id, in any case.
    """

    status: str | None = None
    owner: str | None = None
    query: str = ""
    tags: dict[str, str] = {}

    def fits(self, row: Row) -> bool:
        """Whether a conversation is one of them."""
        query = self.query.casefold()
        return (
            self.status in (None, row.status)
            and self.owner in (None, row.owner)
            and (query in row.title.casefold() or query in row.id.casefold())
            and self.tags.items() <= row.tags.items()
        )


class Hit(msgspec.Struct, frozen=True):
    """An event that was found. `matches` are where the words stand in `text`, a part of it: from, to.

    `kind` is who spoke (user, agent, environment, hook), or action, observation, error, rejection.
    """

    conversation: str
    seq: int
    kind: str
    text: str
    matches: tuple[tuple[int, int], ...]
