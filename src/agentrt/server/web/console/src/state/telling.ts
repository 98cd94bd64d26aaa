/** What a screen reader is told while a conversation goes on: what is said, what waits, and what went wrong. */

import type { Event } from "@agentrt/client";
import { textOf } from "../model/content";
import type { Transcript } from "../model/transcript";
import { headline, verb } from "../model/words";
import { announce } from "./ui";

export function announceEvent(event: Event, transcript: Transcript): void {
  switch (event.type) {
    case "MessageEvent":
      if (event.source === "agent") announce(`The agent says: ${textOf(event.content)}`);
      break;
    case "ActionEvent":
      if (event.tool_name === "finish") announce(`Finished: ${headline("finish", event.arguments as Record<string, unknown>)}`);
      break;
    case "ConfirmationRequested": {
      const first = transcript.waiting[0];
      const what = first ? `${verb(first.event.tool_name, first.arguments)} ${headline(first.event.tool_name, first.arguments)}` : "";
      announce(`Needs your approval: ${what}`);
      break;
    }
    case "ConversationErrorEvent":
      announce(`Error: ${event.detail}`);
      break;
    case "InterruptEvent":
      announce("Interrupted");
      break;
  }
}
