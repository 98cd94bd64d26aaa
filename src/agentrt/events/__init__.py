"""The events of a conversation: what happened, immutable, in the order of the log.

An event is made by its producer with an id and a time; the log gives it its `seq` (from 1, without gaps) and only then
does anyone else see it. On disk each is one flat JSON object whose `type` is the class name.
"""

from __future__ import annotations

from typing import TypeAlias

from .base import (
    Cursor,
    Event,
    ExecutionStatus,
    Source,
    now,
)
from .control import (
    ConfirmationGiven,
    ConfirmationRequested,
    GoalSet,
    HeadMoved,
    InterruptEvent,
    PauseEvent,
    RuleAdded,
    RuleRemoved,
    RunRequested,
    SecretsChanged,
    TagsChanged,
    TitleChanged,
)
from .run import (
    ActionRevised,
    BudgetReserved,
    Condensation,
    CondensationRequest,
    ConversationErrorEvent,
    CriticAssessed,
    DurabilityChanged,
    ExecutionLost,
    ExecutionStarted,
    HookExecutionEvent,
    HookRun,
    ModelCalled,
    ModelCallRetried,
    ModelCallStarted,
    RiskAssessed,
    StuckDetected,
    TimerFired,
)
from .said import (
    SCHEMA_VERSION,
    ActionEvent,
    AgentErrorEvent,
    CondensationSummaryEvent,
    ConversationCreated,
    ConversationStateUpdateEvent,
    MessageEvent,
    ObservationEvent,
    ResourceLost,
    SystemPromptEvent,
    UserRejectObservation,
)
from .tree import (
    BudgetGranted,
    ChildAction,
    ChildAnswered,
    ChildFinished,
    ChildStarted,
    ChildWaiting,
    Grant,
)
from .unknown import UnknownEvent

KnownEvent: TypeAlias = (
    RunRequested
    | ConfirmationRequested
    | ConfirmationGiven
    | RuleAdded
    | RuleRemoved
    | GoalSet
    | TitleChanged
    | TagsChanged
    | SecretsChanged
    | PauseEvent
    | InterruptEvent
    | HeadMoved
    | ModelCallStarted
    | BudgetReserved
    | ModelCallRetried
    | ModelCalled
    | RiskAssessed
    | ActionRevised
    | HookExecutionEvent
    | CriticAssessed
    | ExecutionStarted
    | ExecutionLost
    | CondensationRequest
    | Condensation
    | TimerFired
    | StuckDetected
    | DurabilityChanged
    | ConversationErrorEvent
    | ConversationCreated
    | SystemPromptEvent
    | MessageEvent
    | ActionEvent
    | ObservationEvent
    | UserRejectObservation
    | AgentErrorEvent
    | ResourceLost
    | ConversationStateUpdateEvent
    | BudgetGranted
    | ChildStarted
    | ChildWaiting
    | ChildAnswered
    | ChildFinished
)

ActionResult: TypeAlias = ObservationEvent | UserRejectObservation | AgentErrorEvent

__all__ = [
    "SCHEMA_VERSION",
    "ActionEvent",
    "ActionResult",
    "ActionRevised",
    "AgentErrorEvent",
    "BudgetGranted",
    "BudgetReserved",
    "ChildAction",
    "ChildAnswered",
    "ChildFinished",
    "ChildStarted",
    "ChildWaiting",
    "Condensation",
    "CondensationRequest",
    "CondensationSummaryEvent",
    "ConfirmationGiven",
    "ConfirmationRequested",
    "ConversationCreated",
    "ConversationErrorEvent",
    "ConversationStateUpdateEvent",
    "CriticAssessed",
    "Cursor",
    "DurabilityChanged",
    "Event",
    "ExecutionLost",
    "ExecutionStarted",
    "ExecutionStatus",
    "GoalSet",
    "Grant",
    "HeadMoved",
    "HookExecutionEvent",
    "HookRun",
    "InterruptEvent",
    "KnownEvent",
    "MessageEvent",
    "ModelCallRetried",
    "ModelCallStarted",
    "ModelCalled",
    "ObservationEvent",
    "PauseEvent",
    "ResourceLost",
    "RiskAssessed",
    "RuleAdded",
    "RuleRemoved",
    "RunRequested",
    "SecretsChanged",
    "Source",
    "StuckDetected",
    "SystemPromptEvent",
    "TagsChanged",
    "TimerFired",
    "TitleChanged",
    "UnknownEvent",
    "UserRejectObservation",
    "now",
]
