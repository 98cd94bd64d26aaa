import { useState } from "preact/hooks";
import { newId } from "../model/ids";
import * as list from "../state/list";
import { go } from "../state/route";
import { attempt, may, rest, server } from "../state/session";
import { dialog } from "../state/ui";
import { Icon } from "./icons";

/** Where no conversation is open: begin one, with the server's own agent where there is one. */
export function Start() {
  if (!may("create_conversation")) return <p>Choose a conversation.</p>;
  if (server.value?.agent) return <Task model={server.value.model ?? ""} />;
  return (
    <>
      <p>Choose a conversation, or begin one.</p>
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
  const begin = async (): Promise<void> => {
    if (task.trim() === "" || busy) return;
    setBusy(true);
    const made = await attempt(() => rest.create({ id, message: task }));
    setBusy(false);
    setId(newId());
    if (made === undefined) return;
    go(made.id);
    void list.refresh();
  };
  return (
    <form
      class="start"
      onSubmit={(event) => {
        event.preventDefault();
        void begin();
      }}
    >
      <textarea
        rows={3}
        value={task}
        aria-label="What is to be done?"
        placeholder="The task, and how you know that it is done"
        onInput={(event) => setTask(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void begin();
        }}
      />
      <div class="start-foot">
        <span class="quiet">{model}</span>
        <button type="button" class="link" onClick={() => (dialog.value = { name: "new" })}>
          More choices
        </button>
        <button type="submit" class="button primary" disabled={task.trim() === "" || busy}>
          Start
        </button>
      </div>
    </form>
  );
}
