import { useEffect, useRef, useState } from "preact/hooks";
import type { Dialog } from "../../state/ui";
import { key, stream, useKey } from "../../state/session";
import * as list from "../../state/list";
import { close, Frame } from "./frame";

export function Ask({ asked }: { asked: Extract<Dialog, { name: "ask" }> }) {
  const [value, setValue] = useState(asked.value);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);
  const done = (): void => {
    close();
    asked.done(value);
  };
  return (
    <Frame title={asked.title} onSubmit={done}>
      <label class="field">
        <span>{asked.label}</span>
        <input ref={input} type="text" autofocus value={value} onInput={(event) => setValue(event.currentTarget.value)} />
      </label>
      <div class="dialog-foot">
        <button type="button" class="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class={`button ${asked.danger ? "danger" : "primary"}`}>
          {asked.action}
        </button>
      </div>
    </Frame>
  );
}

export function Sure({ asked }: { asked: Extract<Dialog, { name: "sure" }> }) {
  const [option, setOption] = useState(false);
  const done = (): void => {
    close();
    asked.done(option);
  };
  return (
    <Frame title={asked.title} onSubmit={done}>
      <p>{asked.text}</p>
      {asked.option ? (
        <label class="check">
          <input type="checkbox" checked={option} onChange={(event) => setOption(event.currentTarget.checked)} />
          <span>{asked.option}</span>
        </label>
      ) : null}
      <div class="dialog-foot">
        <button type="button" class="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="button danger" autofocus>
          {asked.action}
        </button>
      </div>
    </Frame>
  );
}

export function Key() {
  const [value, setValue] = useState("");
  const done = (): void => {
    useKey(value.trim() || null);
    close();
    stream.retry();
    void list.refresh();
    dispatchEvent(new Event("agentrt:key"));
  };
  return (
    <Frame title="API key" onSubmit={done}>
      <p class="quiet">
        Enter an API key. A server without keys has a token instead: it is in the address that the server prints when it starts. This tab keeps either
        until you close it.
      </p>
      <label class="field">
        <span>Key or token</span>
        <input type="password" autofocus autocomplete="off" required value={value} onInput={(event) => setValue(event.currentTarget.value)} />
      </label>
      <div class="dialog-foot">
        {key.value === null ? null : (
          <button
            type="button"
            class="button"
            onClick={() => {
              useKey(null);
              close();
            }}
          >
            Forget key
          </button>
        )}
        <button type="submit" class="button primary">
          Use key
        </button>
      </div>
    </Frame>
  );
}
