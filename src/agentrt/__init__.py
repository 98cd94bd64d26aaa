"""agentrt: an asyncio-native runtime for software agents."""

from .conversation import Conversation
from .deltas import Delta
from .errors import AgentrtError, ToolError
from .events import Cursor, Event, ExecutionStatus
from .protocols import Observation, ToolContext
from .runtime import Runtime
from .specs import LLM, Agent, AlwaysConfirm, ConfirmRisky, Limits, NeverConfirm, SecurityRisk, Tool
from .state import State
from .tools import ToolType, tool

__version__ = "0.1.0"

__all__ = [
    "LLM",
    "Agent",
    "AgentrtError",
    "AlwaysConfirm",
    "ConfirmRisky",
    "Conversation",
    "Cursor",
    "Delta",
    "Event",
    "ExecutionStatus",
    "Limits",
    "NeverConfirm",
    "Observation",
    "Runtime",
    "SecurityRisk",
    "State",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolType",
    "tool",
]
