import { signal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { atWork } from "../model/words";
import { attach, attachedTo, detachAll, withAttached } from "../state/attaching";
import { type Busy, COMPACT, condense, say } from "../state/doing";
import type { Open } from "../state/open";
import { past } from "../state/past";
import { may } from "../state/session";
import { AttachButton, Attached } from "./attached";
import { filesOf } from "./dropping";
import { Icon } from "./icons";

/** Whether files are dragged over the conversation. */
export const hovered = signal(false);

/** Unsent text, by conversation. */
const typed = signal<Record<string, string>>({});

export function Composer({ conversation }: { conversation: Open }) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [busy, setBusy] = useState<Busy | "">("");
  const [sending, setSending] = useState(false);
  const { id } = conversation;
  const text = typed.value[id] ?? "";
  const status = conversation.info.value?.status;
  const working = atWork(status);
  const keep = (now: string): void => {
    typed.value = { ...typed.value, [id]: now };
  };

  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, innerHeight * 0.4)}px`;
  }, [text]);

  const empty = text.trim() === "" && attachedTo(id).length === 0;
  const saying = async (run: boolean): Promise<boolean> => {
    const content = await withAttached(id, text);
    return content !== undefined && say(content, run, working && busy ? busy : undefined);
  };
  const send = async (run: boolean): Promise<void> => {
    if (empty || sending) return;
    area.current?.focus(); // now, and not once it is sent: by then the focus may have gone on
    setSending(true);
    if (text.trim() === COMPACT) {
      if (await condense()) keep("");
    } else if (await saying(run)) {
      keep("");
      detachAll(id);
    }
    setSending(false);
  };
  const onPaste = (event: ClipboardEvent): void => {
    const files = filesOf(event.clipboardData);
    if (files.length === 0 || event.clipboardData?.types.includes("text/plain")) return; // a table, say, is text and a picture
    event.preventDefault();
    void attach(id, files);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void send(!event.altKey);
    } else if (event.key === "Escape") area.current?.blur();
  };

  if (past.value !== null) return null;
  if (!may("message")) return <p class="hint">This key cannot send messages: that needs the scope “steer”.</p>;
  return (
    <form
      class={`composer ${hovered.value ? "drop-over" : ""}`}
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        void send(true);
      }}
    >
      <Attached id={id} conversation={conversation} />
      <textarea
        id="composer"
        ref={area}
        rows={1}
        value={text}
        placeholder={working ? "Send a message while the agent works" : "What should the agent do?"}
        aria-label="Message to the agent"
        aria-describedby="composer-hint"
        onInput={(event) => keep(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div class="composer-row">
        {may("write_file") ? <AttachButton id={id} /> : null}
        <span id="composer-hint" class="quiet hint-keys">
          <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> starts a new line
        </span>
        {working ? (
          <select aria-label="When the message is delivered" value={busy} onChange={(event) => setBusy(event.currentTarget.value as Busy | "")}>
            <option value="">after this step</option>
            <option value="steer">interrupt the model call</option>
            <option value="interrupt">interrupt everything</option>
          </select>
        ) : (
          <button type="button" class="link" disabled={empty || sending} onClick={() => void send(false)} title="Alt+Enter">
            Send without running
          </button>
        )}
        <button type="submit" class="button primary send" disabled={empty || sending} aria-label={working ? "Send" : "Send and run"}>
          <Icon name="send" size={17} />
        </button>
      </div>
    </form>
  );
}
