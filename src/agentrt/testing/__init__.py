"""Models with scripted replies, for tests and demonstrations; everything else stays real."""

from .faults import WireName, bad_key, content_policy, context_window, out_of_credit, overloaded, rate_limit
from .provider import ScriptedProvider
from .scripted import ScriptedLLM, ScriptExhausted, call, calls, finish, say
from .turns import Broken, Cut, Fault, Stall

__all__ = [
    "Broken",
    "Cut",
    "Fault",
    "ScriptExhausted",
    "ScriptedLLM",
    "ScriptedProvider",
    "Stall",
    "WireName",
    "bad_key",
    "call",
    "calls",
    "content_policy",
    "context_window",
    "finish",
    "out_of_credit",
    "overloaded",
    "rate_limit",
    "say",
]
