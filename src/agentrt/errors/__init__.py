"""Every error the runtime raises, in one tree.

    AgentrtError
    ├── ConfigurationError        an invalid value given by the caller
    │   ├── UnknownModel
    │   ├── MissingKey
    │   ├── WorkspaceMissing
    │   ├── ProfileMissing
    │   └── ToolMissing
    ├── NoAnswer                  a run that ended without an answer
    ├── WorkspaceError            the files of a workspace, and git in it
    ├── LogError                  the conversation's log
    │   ├── ConversationMissing
    │   ├── ConversationExists
    │   ├── LogLocked
    │   ├── LogCorrupt
    │   ├── LogFailed
    │   ├── CursorExpired
    │   ├── ConversationBusy
    │   ├── EventRefused
    │   │   └── LimitReached
    │   └── NoLongerDue
    ├── VersionConflict           a document that another process changed
    ├── ModelError                a model call that failed
    │   ├── AuthenticationFailed
    │   ├── RateLimited
    │   ├── ContextWindowExceeded
    │   ├── ContentRefused
    │   ├── BadModelRequest
    │   ├── BudgetExceeded
    │   ├── ModelTimeout
    │   ├── ModelUnavailable
    │   ├── NothingRecorded
    │   └── RecordingFailed
    ├── RemoteError               the server of a remote conversation
    │   ├── NotAuthenticated
    │   ├── NotAllowed
    │   ├── RequestRefused
    │   ├── ServerUnreachable
    │   └── OutcomeUnknown
    ├── ToolError                 a tool's expected failure; the model sees the text
    │   └── CallCut
    ├── ServerMissing             an MCP server that a conversation does not have
    └── ActorError
        ├── ActorCrashed
        └── ActorStopped

Each message says in one line what is wrong and what to do. The attributes hold the data.
"""

from .actor import ActorCrashed, ActorError, ActorStopped
from .base import AgentrtError, NoAnswer, VersionConflict
from .configuration import ConfigurationError, MissingKey, ProfileMissing, ToolMissing, UnknownModel, WorkspaceMissing
from .log import (
    ConversationBusy,
    ConversationExists,
    ConversationMissing,
    CursorExpired,
    EventRefused,
    LimitReached,
    LogCorrupt,
    LogError,
    LogFailed,
    LogLocked,
    NoLongerDue,
)
from .model import (
    AuthenticationFailed,
    BadModelRequest,
    BudgetExceeded,
    ContentRefused,
    ContextWindowExceeded,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    NothingRecorded,
    RateLimited,
    RecordingFailed,
)
from .remote import NotAllowed, NotAuthenticated, OutcomeUnknown, RemoteError, RequestRefused, ServerUnreachable
from .tool import CallCut, ServerMissing, ToolError
from .workspace import WorkspaceError

__all__ = [
    "ActorCrashed",
    "ActorError",
    "ActorStopped",
    "AgentrtError",
    "AuthenticationFailed",
    "BadModelRequest",
    "BudgetExceeded",
    "CallCut",
    "ConfigurationError",
    "ContentRefused",
    "ContextWindowExceeded",
    "ConversationBusy",
    "ConversationExists",
    "ConversationMissing",
    "CursorExpired",
    "EventRefused",
    "LimitReached",
    "LogCorrupt",
    "LogError",
    "LogFailed",
    "LogLocked",
    "MissingKey",
    "ModelError",
    "ModelTimeout",
    "ModelUnavailable",
    "NoAnswer",
    "NoLongerDue",
    "NotAllowed",
    "NotAuthenticated",
    "NothingRecorded",
    "OutcomeUnknown",
    "ProfileMissing",
    "RateLimited",
    "RecordingFailed",
    "RemoteError",
    "RequestRefused",
    "ServerMissing",
    "ServerUnreachable",
    "ToolError",
    "ToolMissing",
    "UnknownModel",
    "VersionConflict",
    "WorkspaceError",
    "WorkspaceMissing",
]
