"""`Snapshot`: a short form of a state, to check that its log still gives the same state. Pure."""

from __future__ import annotations

import msgspec

from .events import ExecutionStatus
from .prefix import common_prefix
from .state import State
from .usage import Usage


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What a fold of the first `seq` events must give again; a cache, since all of it is in the log."""

    seq: int
    epoch: int = 0
    status: ExecutionStatus = ExecutionStatus.IDLE
    model_calls: int = 0
    """Number of model calls and condensations begun."""
    cost: float = 0.0
    """In USD, of the calls whose price is known."""
    usage: Usage = Usage()
    pending: tuple[str, ...] = ()
    """The ids of the actions without a result."""
    view: tuple[int, ...] = ()
    """The seqs of the events that the model sees, in order."""
    error: str | None = None
    """The code of the error that ended the run."""


def snapshot(state: State) -> Snapshot:
    """Return the snapshot of a state."""
    return Snapshot(
        seq=state.seq,
        epoch=state.epoch,
        status=state.status,
        model_calls=state.ledger.commands,
        cost=state.ledger.cost,
        usage=state.ledger.usage,
        pending=tuple(waiting.action.id for waiting in state.branch.pending),
        view=tuple(seen.seq for seen in state.branch.view),
        error=None if state.error is None else state.error.code,
    )


def differences(stored: Snapshot, recomputed: Snapshot) -> list[str]:
    """Return a line for each field in which two snapshots differ."""
    found = []
    for name in Snapshot.__struct_fields__:
        before, after = getattr(stored, name), getattr(recomputed, name)
        if before == after:
            continue
        if isinstance(before, tuple):
            found.append(f"{name}: {_first_difference(before, after)}")
        else:
            found.append(f"{name}: stored {_shown(before)}, recomputed {_shown(after)}")
    return found


def _first_difference(before: tuple[object, ...], after: tuple[object, ...]) -> str:
    place = common_prefix(before, after)
    one, other = (_shown(items[place]) if place < len(items) else "nothing" for items in (before, after))
    counts = f"{len(before)} stored, {len(after)} recomputed"
    return f"{counts}; the first that differs is number {place + 1}: {one}, {other}"


def _shown(value: object) -> str:
    return msgspec.json.encode(value).decode()
