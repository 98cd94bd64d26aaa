"""Frozen configuration: everything a conversation needs to be resumed, and nothing secret."""

from .agent import DEFAULT_TOOLS, Agent, LocalWorkspace
from .content import BlobReference, Content, FileContent, ImageContent, TextContent
from .llm import LLM
from .policies import AlwaysConfirm, ConfirmationPolicy, ConfirmRisky, Durability, Limits, NeverConfirm, SecurityRisk
from .tool import OnCrash, Tool, ToolAnnotations, ToolDefinition

__all__ = [
    "DEFAULT_TOOLS",
    "LLM",
    "Agent",
    "AlwaysConfirm",
    "BlobReference",
    "ConfirmRisky",
    "ConfirmationPolicy",
    "Content",
    "Durability",
    "FileContent",
    "ImageContent",
    "Limits",
    "LocalWorkspace",
    "NeverConfirm",
    "OnCrash",
    "SecurityRisk",
    "TextContent",
    "Tool",
    "ToolAnnotations",
    "ToolDefinition",
]
