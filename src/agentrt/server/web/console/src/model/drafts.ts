/** Text, reasoning and output that stream in, until their event arrives. Pure. */

import type { Delta, Event } from "@agentrt/client";

export interface Draft {
  becomes: string;
  text: string;
  reasoning: string;
  output: string;
}

/** Characters of an output that are kept while it streams in. */
const KEPT = 64 * 1024;

export class Drafts {
  private readonly drafts = new Map<string, Draft>();
  private readonly ends = new Map<string, number>();

  get all(): Draft[] {
    return [...this.drafts.values()];
  }

  grow(delta: Delta): void {
    const { becomes, channel } = delta;
    const before = this.drafts.get(becomes) ?? { becomes, text: "", reasoning: "", output: "" };
    const place = `${channel} ${becomes}`;
    const end = this.ends.get(place) ?? 0;
    let text = before[channel];
    if (delta.start === end) text += delta.text;
    else if (delta.start < end) text = (delta.start === 0 ? "" : text.slice(0, Math.max(0, text.length - (end - delta.start)))) + delta.text;
    else text += `${text ? "\n" : ""}…\n${delta.text}`;
    this.ends.set(place, delta.start + delta.text.length);
    this.drafts.set(becomes, { ...before, [channel]: text.slice(-KEPT) });
  }

  /** An event has arrived, so its draft is removed. `running`: whether any action runs after it. */
  settle(event: Event, running: () => boolean = () => true): void {
    this.drop(event.id);
    if (event.type === "ModelCallRetried" && event.draft) this.drop(event.draft);
    if (event.type === "ModelCalled" || event.type === "InterruptEvent" || event.type === "HeadMoved")
      for (const draft of this.all) if (draft.output === "") this.drop(draft.becomes);
    // what was cut by somebody else than its tool has another id than its output named
    if (event.type === "AgentErrorEvent" && !running()) for (const draft of this.all) if (draft.output !== "") this.drop(draft.becomes);
  }

  clear(): void {
    this.drafts.clear();
    this.ends.clear();
  }

  private drop(becomes: string): void {
    this.drafts.delete(becomes);
    for (const channel of ["text", "reasoning", "output"]) this.ends.delete(`${channel} ${becomes}`);
  }
}
