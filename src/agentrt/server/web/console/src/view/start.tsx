import { useState } from "preact/hooks";
import { newId } from "../model/ids";
import { attach, attachedTo, detachAll, withAttached } from "../state/attaching";
import * as list from "../state/list";
import { go } from "../state/route";
import { attempt, may, rest, server } from "../state/session";
import { dialog } from "../state/ui";
import { AttachButton, Attached } from "./attached";
import { dropping, filesOf } from "./dropping";
import { Icon } from "./icons";

/** The key of the attachments of the first message. */
const NEW = "";

/** Starts a conversation when none is open, with the server's own agent if there is one. */
export function Start() {
  if (!may("create_conversation")) return <p>Choose a conversation.</p>;
  if (server.value?.agent) return <Task model={server.value.model ?? ""} />;
  return (
    <>
      <p>Choose a conversation or start a new one.</p>
      <button type="button" class="button primary" onClick={() => (dialog.value = { name: "new" })}>
        <Icon name="plus" size={16} /> New conversation
      </button>
    </>
  );
}

function Task({ model }: { model: string }) {
  const [task, setTask] = useState("");
  const [id, setId] = useState(newId);
  const [busy, setBusy] = useState(false);
  const [over, setOver] = useState(false);
  const empty = task.trim() === "" && attachedTo(NEW).length === 0;
  const files = may("write_file");
  const begin = async (): Promise<void> => {
    if (empty || busy) return;
    setBusy(true);
    const alone = attachedTo(NEW).length === 0;
    const made = await attempt(() => rest.create(alone ? { id, message: task } : { id }));
    if (made !== undefined && !alone) {
      const content = await withAttached(made.id, task, NEW);
      if (content !== undefined) await attempt(() => rest.do(made.id, { type: "message", content, id: newId(), run: true }));
      detachAll(NEW);
    }
    setBusy(false);
    setId(newId());
    if (made === undefined) return;
    go(made.id);
    void list.refresh();
  };
  return (
    <form
      class={`start ${over ? "drop-over" : ""}`}
      {...dropping(setOver, files ? (dropped) => void attach(NEW, dropped) : null)}
      onSubmit={(event) => {
        event.preventDefault();
        void begin();
      }}
    >
      <Attached id={NEW} />
      <textarea
        rows={3}
        value={task}
        aria-label="What should the agent do?"
        placeholder="Describe the task and how you know it is done"
        onInput={(event) => setTask(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void begin();
        }}
        onPaste={(event) => {
          const pasted = filesOf(event.clipboardData);
          if (!files || pasted.length === 0 || event.clipboardData?.types.includes("text/plain")) return;
          event.preventDefault();
          void attach(NEW, pasted);
        }}
      />
      <div class="start-foot">
        {files ? <AttachButton id={NEW} /> : null}
        <span class="quiet">{model}</span>
        <button type="button" class="link" onClick={() => (dialog.value = { name: "new" })}>
          More options
        </button>
        <button type="submit" class="button primary" disabled={empty || busy}>
          Start
        </button>
      </div>
    </form>
  );
}
