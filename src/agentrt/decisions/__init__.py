"""What is due now, and what the log takes: all rules, as pure functions of the state."""

from ..state import EVERYTHING
from .answers import approval, rejection, waiting, waiting_in
from .beginnings import beginning
from .commands import (
    AssessRisk,
    CallModel,
    Command,
    Condense,
    Delegate,
    ExecuteAction,
    Execution,
    Judge,
    Note,
    Refuse,
    RequestConfirmation,
    RunHooks,
    Stop,
    Task,
    Warn,
)
from .due import decide
from .outcomes import (
    action_error,
    asleep,
    check,
    expiry,
    forked,
    interruption,
    lost,
    recovery,
    refusal,
    said,
    unfinished,
)
from .relaying import over, relayed_down, relayed_up
from .reports import cut_short, ended, failed, left
from .sharing import share_of

__all__ = [
    "EVERYTHING",
    "AssessRisk",
    "CallModel",
    "Command",
    "Condense",
    "Delegate",
    "ExecuteAction",
    "Execution",
    "Judge",
    "Note",
    "Refuse",
    "RequestConfirmation",
    "RunHooks",
    "Stop",
    "Task",
    "Warn",
    "action_error",
    "approval",
    "asleep",
    "beginning",
    "check",
    "cut_short",
    "decide",
    "ended",
    "expiry",
    "failed",
    "forked",
    "interruption",
    "left",
    "lost",
    "over",
    "recovery",
    "refusal",
    "rejection",
    "relayed_down",
    "relayed_up",
    "said",
    "share_of",
    "unfinished",
    "waiting",
    "waiting_in",
]
