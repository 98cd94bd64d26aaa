"""`Row`: a conversation in a list, with its filters and search hits. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

DAMAGED = "damaged"
"""The status of a conversation whose log cannot be read."""

RUNNING = "running"
CRASHED = "crashed"
"""The status of a conversation that was running when its process died; no process has it open."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_micros(time: datetime) -> int:
    """Return the microseconds since 1970."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def from_micros(micros: int) -> datetime:
    """Return the time, in UTC, of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)


class Mark(msgspec.Struct, frozen=True):
    """A position in the list of conversations, at which the next page begins."""

    updated: datetime
    id: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as it was when its log, with a size of `bytes`, was last `updated`.

    `status` is the status of its state, `CRASHED` or `DAMAGED`. `cost` is in USD, without the `unpriced` calls.
    `events` is the last seq. `title` is its title, or else the first line that the user wrote. `parent` is the id of
    the conversation that this one was forked from. `workspace` is a path.
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
    """The conversation that delegated this one."""

    @property
    def mark(self) -> Mark:
        """Its position in the list."""
        return Mark(self.updated, self.id)


class Filter(msgspec.Struct, frozen=True):
    """A filter for conversations: by status, by owner, by tags (all must match), and by a `query` that the title or the
    id contains, ignoring case.
    """

    status: str | None = None
    owner: str | None = None
    query: str = ""
    tags: dict[str, str] = {}

    def fits(self, row: Row) -> bool:
        """Return whether a conversation passes the filter."""
        query = self.query.casefold()
        return (
            self.status in (None, row.status)
            and self.owner in (None, row.owner)
            and (query in row.title.casefold() or query in row.id.casefold())
            and self.tags.items() <= row.tags.items()
        )


class Hit(msgspec.Struct, frozen=True):
    """An event that a search found. `text` is an excerpt; `matches` are the words in it as (start, end).

    `kind` is the author of a message (user, agent, environment, hook), or action, observation, error, rejection.
    """

    conversation: str
    seq: int
    kind: str
    text: str
    matches: tuple[tuple[int, int], ...]
