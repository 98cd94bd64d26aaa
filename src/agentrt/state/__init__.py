"""The state of a conversation: a pure fold of its events.

The state has two halves. A rewind resets the `Branch`: the view of the model and the pending actions. It never resets
the `Ledger`: usage, received messages and permanent decisions.
"""

from .batches import ANY_FILE, EVERYTHING, FILE, beginnable
from .fold import apply, branch, fold
from .parts import (
    Activation,
    Branch,
    Calling,
    Check,
    Checkpoint,
    Condensing,
    Ended,
    Ending,
    Inner,
    Pending,
    Phase,
    Progress,
    Seen,
    Standing,
    State,
    Working,
)
from .places import check_epoch, checkpoint, seq_of
from .seeing import as_seen, masked, shown, summarized
from .skills import marked, marked_result
from .status import CHANGES, Change
from .turns import unread

__all__ = [
    "ANY_FILE",
    "CHANGES",
    "EVERYTHING",
    "FILE",
    "Activation",
    "Branch",
    "Calling",
    "Change",
    "Check",
    "Checkpoint",
    "Condensing",
    "Ended",
    "Ending",
    "Inner",
    "Pending",
    "Phase",
    "Progress",
    "Seen",
    "Standing",
    "State",
    "Working",
    "apply",
    "as_seen",
    "beginnable",
    "branch",
    "check_epoch",
    "checkpoint",
    "fold",
    "marked",
    "marked_result",
    "masked",
    "seq_of",
    "shown",
    "summarized",
    "unread",
]
