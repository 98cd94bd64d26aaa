"""The state of a conversation: a pure fold of its events.

It has two halves. `Branch` is what goes back on a rewind: what the model sees, what is pending. `Ledger` is what never
does: what was spent, which messages were received, what was decided for good.
"""

from .batches import EVERYTHING, beginnable
from .fold import apply, branch, fold
from .parts import Branch, Checkpoint, Condensing, Pending, Seen, State
from .places import check_epoch, seq_of
from .seeing import as_seen, summarized
from .turns import answered, unread

__all__ = [
    "EVERYTHING",
    "Branch",
    "Checkpoint",
    "Condensing",
    "Pending",
    "Seen",
    "State",
    "answered",
    "apply",
    "as_seen",
    "beginnable",
    "branch",
    "check_epoch",
    "fold",
    "seq_of",
    "summarized",
    "unread",
]
