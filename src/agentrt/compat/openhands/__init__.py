"""The blocking interface of the OpenHands SDK, on agentrt: programs of the shape of its examples run with only the
imports changed.

`from agentrt.compat.openhands import LLM, Agent, Conversation, Tool` replaces the imports from `openhands.sdk` and
`openhands.tools`. The names and arguments are those of version 1.58; docs/migrating-from-openhands.md says for each
argument what became of it. A conversation lasts until `close`, or until the program's main thread ends. Its log is in
`persistence_dir`, or in agentrt's own store.
"""

from pydantic import Field, SecretStr

from ...events import ExecutionStatus as ConversationExecutionStatus
from ...specs import AlwaysConfirm, ConfirmRisky, NeverConfirm, SecurityRisk
from ._agents import (
    LLM,
    Agent,
    AgentContext,
    KeywordTrigger,
    LLMSummarizingCondenser,
    Metrics,
    Skill,
    TaskTrigger,
    TokenUsage,
    Tool,
    get_default_agent,
    get_default_tools,
    register_agent,
)
from ._content import ImageContent, Message, TextContent
from ._conversations import (
    BaseConversation,
    Conversation,
    ConversationRunError,
    ConversationState,
    ConversationStats,
    DefaultConversationVisualizer,
    DelegationVisualizer,
    LLMSecurityAnalyzer,
    LocalConversation,
    LocalWorkspace,
    Workspace,
    get_logger,
)
from ._events import (
    ActionEvent,
    AgentErrorEvent,
    Event,
    LLMConvertibleEvent,
    MessageEvent,
    ObservationEvent,
    SystemPromptEvent,
    UserRejectObservation,
)
from ._tools import (
    Action,
    DelegateTool,
    FileEditorTool,
    Observation,
    TaskToolSet,
    TaskTrackerTool,
    TerminalAction,
    TerminalExecutor,
    TerminalObservation,
    TerminalTool,
    ToolAnnotations,
    ToolDefinition,
    ToolExecutor,
    register_tool,
)

__all__ = [
    "LLM",
    "Action",
    "ActionEvent",
    "Agent",
    "AgentContext",
    "AgentErrorEvent",
    "AlwaysConfirm",
    "BaseConversation",
    "ConfirmRisky",
    "Conversation",
    "ConversationExecutionStatus",
    "ConversationRunError",
    "ConversationState",
    "ConversationStats",
    "DefaultConversationVisualizer",
    "DelegateTool",
    "DelegationVisualizer",
    "Event",
    "Field",
    "FileEditorTool",
    "ImageContent",
    "KeywordTrigger",
    "LLMConvertibleEvent",
    "LLMSecurityAnalyzer",
    "LLMSummarizingCondenser",
    "LocalConversation",
    "LocalWorkspace",
    "Message",
    "MessageEvent",
    "Metrics",
    "NeverConfirm",
    "Observation",
    "ObservationEvent",
    "SecretStr",
    "SecurityRisk",
    "Skill",
    "SystemPromptEvent",
    "TaskToolSet",
    "TaskTrackerTool",
    "TaskTrigger",
    "TerminalAction",
    "TerminalExecutor",
    "TerminalObservation",
    "TerminalTool",
    "TextContent",
    "TokenUsage",
    "Tool",
    "ToolAnnotations",
    "ToolDefinition",
    "ToolExecutor",
    "UserRejectObservation",
    "Workspace",
    "get_default_agent",
    "get_default_tools",
    "get_logger",
    "register_agent",
    "register_tool",
]
