"""agentrt: an asyncio-native runtime for software agents."""

from .context.condensing import Condensed
from .context.judging import CriticResult
from .conversation import Conversation, run_sync
from .deltas import Delta
from .errors import AgentrtError, ConfigurationError, NoAnswer, ToolError
from .events import Cursor, Event, ExecutionStatus
from .hooks import HookInput, HookResult
from .ledger import GoalStatus
from .protocols import Observation, ToolContext
from .runtime import Runtime
from .secrets import Cipher, EnvironmentSecret, LookupSecret
from .security.rating import Rating, Scene
from .specs import (
    LLM,
    Agent,
    AgentContext,
    AlwaysConfirm,
    BusyPolicy,
    ClientTool,
    ConfirmRisky,
    Critic,
    DockerWorkspace,
    Effects,
    Hook,
    HookEvent,
    InformationFlow,
    Limits,
    LLMSummarizingCondenser,
    NeverConfirm,
    NoOpCondenser,
    ObservationMaskingCondenser,
    PermissionRule,
    PipelineCondenser,
    PluginSource,
    RemoteWorkspace,
    SecurityRisk,
    Skill,
    StuckDetection,
    Tool,
)
from .state import State
from .tools import Depends, ToolType, output_schema, tool

__version__ = "0.1.0"

__all__ = [
    "LLM",
    "Agent",
    "AgentContext",
    "AgentrtError",
    "AlwaysConfirm",
    "BusyPolicy",
    "Cipher",
    "ClientTool",
    "Condensed",
    "ConfigurationError",
    "ConfirmRisky",
    "Conversation",
    "Critic",
    "CriticResult",
    "Cursor",
    "Delta",
    "Depends",
    "DockerWorkspace",
    "Effects",
    "EnvironmentSecret",
    "Event",
    "ExecutionStatus",
    "GoalStatus",
    "Hook",
    "HookEvent",
    "HookInput",
    "HookResult",
    "InformationFlow",
    "LLMSummarizingCondenser",
    "Limits",
    "LookupSecret",
    "NeverConfirm",
    "NoAnswer",
    "NoOpCondenser",
    "Observation",
    "ObservationMaskingCondenser",
    "PermissionRule",
    "PipelineCondenser",
    "PluginSource",
    "Rating",
    "RemoteWorkspace",
    "Runtime",
    "Scene",
    "SecurityRisk",
    "Skill",
    "State",
    "StuckDetection",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolType",
    "output_schema",
    "run_sync",
    "tool",
]
