/** Announcements for screen readers: messages, waiting actions and errors. */

import type { Event } from "@agentrt/client";
import { textOf } from "../model/content";
import type { Transcript } from "../model/transcript";
import { headline, labelOf } from "../model/tools";
import { toolOf } from "./tools";
import { announce } from "./ui";

export function announceEvent(event: Event, transcript: Transcript): void {
  switch (event.type) {
    case "MessageEvent":
      if (event.source === "agent") announce(`The agent says: ${textOf(event.content)}`);
      break;
    case "ActionEvent":
      if (toolOf(event.tool_name).ends_turn) announce(`Finished: ${headline(toolOf(event.tool_name), event.arguments as Record<string, unknown>)}`);
      break;
    case "ConfirmationRequested": {
      const first = transcript.waiting[0];
      const tool = toolOf(first?.event.tool_name ?? "");
      announce(`Needs your approval: ${first ? `${labelOf(tool)} ${headline(tool, first.arguments)}` : ""}`);
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
