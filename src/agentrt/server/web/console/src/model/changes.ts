/** Which event changes the status, from what to what: made by `python -m tests.status_table`. */

export interface Change {
  event: string;
  /** Null: what the event's `status` says. */
  to: string | null;
  /** None: any. */
  of: readonly string[];
  /** A member that has this value; false is also one that is missing or null. */
  having: readonly [string, string | boolean] | null;
}

export const CHANGES: readonly Change[] = [
  {"event": "ConversationCreated", "to": "idle", "of": [], "having": null},
  {"event": "HeadMoved", "to": "idle", "of": [], "having": null},
  {"event": "MessageEvent", "to": "idle", "of": ["finished", "error", "stuck"], "having": ["source", "user"]},
  {"event": "RunRequested", "to": "running", "of": ["idle", "paused", "finished", "error", "stuck"], "having": null},
  {"event": "RunEnded", "to": null, "of": [], "having": null},
  {"event": "ConversationErrorEvent", "to": "error", "of": [], "having": null},
  {"event": "StuckDetected", "to": "stuck", "of": [], "having": ["nudge", false]},
  {"event": "PauseEvent", "to": "paused", "of": ["running", "waiting_for_confirmation", "waiting_for_client"], "having": null},
  {"event": "InterruptEvent", "to": "paused", "of": ["running", "waiting_for_confirmation", "waiting_for_client"], "having": ["goes_on", false]},
  {"event": "InterruptEvent", "to": "running", "of": ["waiting_for_confirmation", "waiting_for_client"], "having": ["goes_on", true]},
  {"event": "ConfirmationRequested", "to": "waiting_for_confirmation", "of": [], "having": null},
  {"event": "ToolResultsAwaited", "to": "waiting_for_client", "of": [], "having": null},
  {"event": "ObservationEvent", "to": "running", "of": ["waiting_for_confirmation", "waiting_for_client"], "having": null},
  {"event": "AgentErrorEvent", "to": "running", "of": ["waiting_for_confirmation", "waiting_for_client"], "having": null},
  {"event": "UserRejectObservation", "to": "running", "of": ["waiting_for_confirmation", "waiting_for_client"], "having": null},
  {"event": "ConfirmationGiven", "to": "running", "of": ["waiting_for_confirmation", "waiting_for_client"], "having": null},
  {"event": "InputGiven", "to": "running", "of": ["waiting_for_confirmation", "waiting_for_client"], "having": null},
  {"event": "RuleAdded", "to": "running", "of": ["waiting_for_confirmation", "waiting_for_client"], "having": null},
  {"event": "RuleRemoved", "to": "running", "of": ["waiting_for_confirmation", "waiting_for_client"], "having": null},
  {"event": "ConversationStateUpdateEvent", "to": "running", "of": ["waiting_for_confirmation", "waiting_for_client"], "having": null},
  {"event": "ChildAnswered", "to": "running", "of": ["waiting_for_confirmation", "waiting_for_client"], "having": null},
  {"event": "ChildWaiting", "to": "running", "of": ["waiting_for_confirmation", "waiting_for_client"], "having": ["spending", false]},
  {"event": "ChildFinished", "to": "running", "of": ["waiting_for_confirmation", "waiting_for_client"], "having": null},
];
