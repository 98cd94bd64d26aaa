"""agentrt: an asyncio-native runtime for software agents."""

from typing import TYPE_CHECKING

from .lazy import lazily

if TYPE_CHECKING:
    from .context.condensing import Condensed
    from .context.judging import CriticResult
    from .conversation import Conversation, Workspace, run_sync
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
        LocalWorkspace,
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
    "LocalWorkspace",
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
    "Workspace",
    "output_schema",
    "run_sync",
    "tool",
]

if not TYPE_CHECKING:  # else any name would be one
    __getattr__ = lazily(
        __name__,
        {
            "Condensed": "context.condensing",
            "CriticResult": "context.judging",
            "Conversation": "conversation",
            "Workspace": "conversation",
            "run_sync": "conversation",
            "Delta": "deltas",
            "AgentrtError": "errors",
            "ConfigurationError": "errors",
            "NoAnswer": "errors",
            "ToolError": "errors",
            "Cursor": "events",
            "Event": "events",
            "ExecutionStatus": "events",
            "HookInput": "hooks",
            "HookResult": "hooks",
            "GoalStatus": "ledger",
            "Observation": "protocols",
            "ToolContext": "protocols",
            "Runtime": "runtime",
            "Cipher": "secrets",
            "EnvironmentSecret": "secrets",
            "LookupSecret": "secrets",
            "Rating": "security.rating",
            "Scene": "security.rating",
            "LLM": "specs",
            "Agent": "specs",
            "AgentContext": "specs",
            "AlwaysConfirm": "specs",
            "BusyPolicy": "specs",
            "ClientTool": "specs",
            "ConfirmRisky": "specs",
            "Critic": "specs",
            "DockerWorkspace": "specs",
            "Effects": "specs",
            "Hook": "specs",
            "HookEvent": "specs",
            "InformationFlow": "specs",
            "Limits": "specs",
            "LLMSummarizingCondenser": "specs",
            "LocalWorkspace": "specs",
            "NeverConfirm": "specs",
            "NoOpCondenser": "specs",
            "ObservationMaskingCondenser": "specs",
            "PermissionRule": "specs",
            "PipelineCondenser": "specs",
            "PluginSource": "specs",
            "RemoteWorkspace": "specs",
            "SecurityRisk": "specs",
            "Skill": "specs",
            "StuckDetection": "specs",
            "Tool": "specs",
            "State": "state",
            "Depends": "tools",
            "ToolType": "tools",
            "output_schema": "tools",
            "tool": "tools",
        },
    )


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
