"""Models with given words, for tests and demonstrations; everything else stays real."""

from .provider import Cut, Fault, ScriptedProvider, Stall
from .scripted import ScriptedLLM, ScriptExhausted, call, calls, finish, say

__all__ = [
    "Cut",
    "Fault",
    "ScriptExhausted",
    "ScriptedLLM",
    "ScriptedProvider",
    "Stall",
    "call",
    "calls",
    "finish",
    "say",
]
