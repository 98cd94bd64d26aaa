"""Frozen configuration: everything a conversation needs to be resumed, and nothing secret."""

from .agent import DEFAULT_TOOLS, Agent, LocalWorkspace
from .content import BlobReference, Content, FileContent, ImageContent, TextContent, Thinking
from .llm import LLM, AnyLLM, Capabilities, FallbackLLM, RouterLLM
from .policies import AlwaysConfirm, ConfirmationPolicy, ConfirmRisky, Durability, Limits, NeverConfirm, SecurityRisk
from .tool import OnCrash, Tool, ToolAnnotations, ToolDefinition

__all__ = [
    "DEFAULT_TOOLS",
    "LLM",
    "Agent",
    "AlwaysConfirm",
    "AnyLLM",
    "BlobReference",
    "Capabilities",
    "ConfirmRisky",
    "ConfirmationPolicy",
    "Content",
    "Durability",
    "FallbackLLM",
    "FileContent",
    "ImageContent",
    "Limits",
    "LocalWorkspace",
    "NeverConfirm",
    "OnCrash",
    "RouterLLM",
    "SecurityRisk",
    "TextContent",
    "Thinking",
    "Tool",
    "ToolAnnotations",
    "ToolDefinition",
]
