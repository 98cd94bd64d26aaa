/** The events of a conversation, as the server sends them; fields with their default value are left out. */

export type Risk = "LOW" | "MEDIUM" | "HIGH" | "UNKNOWN";

export type Content =
  | { type: "text"; text: string }
  | { type: "image"; url: string; detail?: string }
  | { type: "file"; path: string; media_type?: string }
  | { type: "blob"; sha256: string; size: number; media_type?: string; name?: string };

export interface Envelope {
  seq: number;
  id: string;
  timestamp: string;
  source?: "user" | "agent" | "environment" | "hook";
  by?: string;
  caused_by?: string;
}

export interface Usage {
  prompt_tokens?: number;
  completion_tokens?: number;
  cache_read_tokens?: number;
  reasoning_tokens?: number;
}

interface OfAction {
  action_id: string;
  tool_name: string;
  tool_call_id: string;
}

export type PermissionRule = { verdict: "allow" | "ask" | "deny"; tool?: string; pattern?: string; argument?: string };

type Body =
  | { type: "ConversationCreated"; conversation_id: string; parent?: string; delegated_by?: string; agent: unknown; workspace: { path: string } }
  | { type: "SystemPromptEvent"; system_prompt: string; tools: { name: string; description: string }[] }
  | { type: "MessageEvent"; content: Content[]; partial?: boolean; reasoning?: string }
  | {
      type: "ActionEvent";
      tool_name: string;
      tool_call_id: string;
      arguments: Record<string, unknown>;
      llm_response_id: string;
      thought?: string;
      reasoning?: string;
      malformed?: string;
      summary?: string;
      security_risk?: Risk;
    }
  | ({ type: "ObservationEvent"; content: Content[]; is_error?: boolean; details?: unknown } & OfAction)
  | ({ type: "UserRejectObservation"; rejection_reason?: string } & OfAction)
  | ({ type: "AgentErrorEvent"; error: string } & OfAction)
  | { type: "RiskAssessed"; action_id: string; risk: Risk; reason?: string; sinks?: string[]; labels?: string[] }
  | { type: "ActionRevised"; action_id: string; arguments: Record<string, unknown> }
  | { type: "ExecutionStarted"; action_id: string; command: string; attempt?: number }
  | { type: "ExecutionLost"; action_id: string }
  | { type: "ConfirmationRequested"; action_ids: string[]; reasons?: string[] }
  | { type: "ConfirmationGiven"; action_ids: string[] }
  | { type: "RunRequested" }
  | { type: "PauseEvent"; reason?: string }
  | { type: "InterruptEvent"; reason?: string; goes_on?: boolean }
  | { type: "HeadMoved"; to: number }
  | { type: "ModelCallStarted"; command: string }
  | {
      type: "ModelCalled";
      command: string;
      model: string;
      usage?: Usage;
      cost?: number | null;
      latency?: number;
      time_to_first_token?: number | null;
      error?: string | null;
    }
  | {
      type: "ModelCallRetried";
      command: string;
      attempt: number;
      model: string;
      next_model: string;
      code: string;
      detail: string;
      wait?: number;
      draft?: string;
    }
  | { type: "ConversationErrorEvent"; code: string; detail: string; retryable?: boolean }
  | { type: "StuckDetected"; pattern: string; detail?: string; nudge?: boolean }
  | { type: "Condensation"; forgotten_event_ids: string[]; summary?: string }
  | { type: "CondensationRequest"; reason?: string }
  | { type: "TitleChanged"; title: string }
  | { type: "TagsChanged"; tags: Record<string, string> }
  | { type: "SecretsChanged"; secrets: Record<string, unknown> }
  | { type: "RuleAdded"; rule: PermissionRule; scope?: string }
  | { type: "GoalSet"; objective: string }
  | { type: "CriticAssessed"; critic: string; score: number; success: boolean; message?: string }
  | { type: "HookExecutionEvent"; hook_event: string; target?: string; verdict?: string; reason?: string }
  | { type: "ResourceLost"; tool_name: string; detail: string }
  | { type: "ConversationStateUpdateEvent"; key: string; value: unknown }
  | { type: "BudgetGranted"; amount: number }
  | { type: "ChildStarted"; child_id: string; task: string; action_id?: string; agent?: string }
  | { type: "ChildWaiting"; child_id: string; actions: { action_id: string; tool_name: string; arguments: string; risk?: Risk }[]; status?: string }
  | { type: "ChildAnswered"; child_id: string; action_id: string; approved: boolean; reason?: string }
  | { type: "ChildFinished"; child_id: string; status: string; cost?: number; steps?: number }
  | { type: "DurabilityChanged"; durability: string; epoch: number };

/** An event of a type that this version knows. */
export type KnownEvent = Envelope & Body;
export type EventType = KnownEvent["type"];
/** An event; one of a type that is not known here has that type, and the envelope. */
export type Event = KnownEvent;
export type EventOf<T extends EventType> = Extract<KnownEvent, { type: T }>;

/** A piece of something that still grows, void once the event `becomes` is there. */
export interface Delta {
  becomes: string;
  channel: "text" | "reasoning" | "output";
  text: string;
  start: number;
  after: number;
}
