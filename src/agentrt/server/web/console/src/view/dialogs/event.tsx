import type { Event as LogEvent } from "@agentrt/client";
import { useEffect, useState } from "preact/hooks";
import { open } from "../../state/open";
import { explain, rest } from "../../state/session";
import { copy } from "../../state/ui";
import { Code } from "../code";
import { Frame } from "./frame";

/** An event as it stands in the log. */
export function EventDialog({ seq }: { seq: number }) {
  const conversation = open.value;
  const [event, setEvent] = useState<LogEvent | undefined>(conversation?.events.find((one) => one.seq === seq));
  useEffect(() => {
    if (event === undefined && conversation) rest.event(conversation.id, seq).then(setEvent, explain);
  }, [seq]);
  const text = event === undefined ? "…" : JSON.stringify(event, null, 2);
  return (
    <Frame title={`Event ${seq}`} wide>
      <Code code={text} language="json" label="The event as JSON" most={2000} />
      <div class="dialog-foot">
        <button type="button" class="button" onClick={() => void copy(text)}>
          Copy
        </button>
      </div>
    </Frame>
  );
}
