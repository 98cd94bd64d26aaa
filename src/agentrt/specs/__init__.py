"""Immutable configuration: everything needed to resume a conversation, without any secrets."""

from .agent import DEFAULT_TOOLS, RULES, Agent, replaced
from .condensers import (
    AnyCondenser,
    CondensationReason,
    LLMSummarizingCondenser,
    NamedCondenser,
    NoOpCondenser,
    ObservationMaskingCondenser,
    PipelineCondenser,
)
from .content import BlobReference, Content, FileContent, ImageContent, TextContent, Thinking
from .context import AgentContext, PluginSource
from .effects import Effects, FileText, Sent, Source
from .flow import InformationFlow
from .hooks import Hook, HookEvent
from .llm import LLM, AnyLLM, Capabilities, FallbackLLM, RouterLLM
from .policies import (
    AlwaysConfirm,
    BusyPolicy,
    ConfirmationPolicy,
    ConfirmRisky,
    Durability,
    Limits,
    NeverConfirm,
    SecurityRisk,
)
from .rules import PermissionRule
from .skill import Skill
from .stuck import Critic, StuckDetection
from .tool import ClientTool, Edits, OnCrash, Same, Tool, ToolAnnotations, ToolDefinition
from .workspace import DockerWorkspace, LocalWorkspace, RemoteWorkspace, WorkspaceSpec

__all__ = [
    "DEFAULT_TOOLS",
    "LLM",
    "RULES",
    "Agent",
    "AgentContext",
    "AlwaysConfirm",
    "AnyCondenser",
    "AnyLLM",
    "BlobReference",
    "BusyPolicy",
    "Capabilities",
    "ClientTool",
    "CondensationReason",
    "ConfirmRisky",
    "ConfirmationPolicy",
    "Content",
    "Critic",
    "DockerWorkspace",
    "Durability",
    "Edits",
    "Effects",
    "FallbackLLM",
    "FileContent",
    "FileText",
    "Hook",
    "HookEvent",
    "ImageContent",
    "InformationFlow",
    "LLMSummarizingCondenser",
    "Limits",
    "LocalWorkspace",
    "NamedCondenser",
    "NeverConfirm",
    "NoOpCondenser",
    "ObservationMaskingCondenser",
    "OnCrash",
    "PermissionRule",
    "PipelineCondenser",
    "PluginSource",
    "RemoteWorkspace",
    "RouterLLM",
    "Same",
    "SecurityRisk",
    "Sent",
    "Skill",
    "Source",
    "StuckDetection",
    "TextContent",
    "Thinking",
    "Tool",
    "ToolAnnotations",
    "ToolDefinition",
    "WorkspaceSpec",
    "replaced",
]
