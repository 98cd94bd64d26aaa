import { type Control, neededFor, type Operation, type Scope } from "@agentrt/client";
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { clean } from "../../model/words";
import { may, reasonOf, rest } from "../../state/session";
import type { SectionProps } from "./settings";

/** The state of a submitted form. */
export interface Requests {
  busy: boolean;
  said: string;
  failed: string;
  /** Make a request. Returns whether it succeeded. */
  save: (what: () => Promise<unknown>, done?: string) => Promise<boolean>;
}

export interface Saving extends Requests {
  /** Send controls, one after the other. Returns whether all succeeded. */
  control: (wanted: Control[], done?: string) => Promise<boolean>;
}

/** The requests of a form; what is shown is read again after each. */
export function useRequests(refresh: () => Promise<unknown>): Requests {
  const [state, setState] = useState({ busy: false, said: "", failed: "" });
  const save = async (what: () => Promise<unknown>, done = "Saved"): Promise<boolean> => {
    setState({ busy: true, said: "", failed: "" });
    try {
      await what();
      await refresh();
      setState({ busy: false, said: done, failed: "" });
      return true;
    } catch (error) {
      setState({ busy: false, said: "", failed: reasonOf(error) });
      return false;
    }
  };
  return { ...state, save };
}

/** The requests of a form about a conversation. */
export function useSaving({ conversation, configured }: SectionProps): Saving {
  const requests = useRequests(() => Promise.all([configured.refresh(), conversation.refresh()]));
  const control = (wanted: Control[], done?: string): Promise<boolean> =>
    requests.save(async () => {
      for (const one of wanted) await rest.do(conversation.id, one);
    }, done);
  return { ...requests, control };
}

interface FormProps {
  title?: string;
  /** What it is for. */
  children: ComponentChildren;
  needs: Operation;
  saving: Requests;
  onSubmit: () => void;
  action: string;
  /** Whether there is something to send. */
  ready?: boolean;
  more?: ComponentChildren;
}

/** A form. If the key does not allow it, it is shown disabled, with the reason. */
export function Form({ title, children, needs, saving, onSubmit, action, ready = true, more }: FormProps) {
  const lacks = lacking(needs);
  return (
    <form
      class="settings-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && !saving.busy) onSubmit();
      }}
    >
      {lacks ? <p class="locked">{lacks}</p> : null}
      <fieldset class="settings-fields" disabled={lacks !== ""}>
        {title ? <legend>{title}</legend> : null}
        {children}
        <div class="settings-foot">
          <Said saving={saving} />
          {more}
          <button type="submit" class="button primary" disabled={!ready || saving.busy}>
            {action}
          </button>
        </div>
      </fieldset>
    </form>
  );
}

export function Said({ saving }: { saving: Requests }) {
  return (
    <>
      <span class="said" role="status">
        {saving.said}
      </span>
      <span class="said failed" role="alert">
        {saving.failed}
      </span>
    </>
  );
}

const NEEDED: Record<Scope, string> = {
  observe: "This key cannot read conversations: that needs the scope “observe”.",
  steer: "This key cannot change this setting: that needs the scope “steer”.",
  execute: "This key cannot run commands: that needs the scope “execute”.",
  approve: "This key cannot change this setting: that needs the scope “approve”.",
  admin: "Only an admin key can change this setting.",
};

/** Why the key does not allow something; "" if it does. */
export function lacking(wanted: Operation | { scope: Scope }): string {
  return may(wanted) ? "" : NEEDED[neededFor(wanted)];
}

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  children: ComponentChildren;
}

export function Field({ label, hint, children }: FieldProps) {
  return (
    <label class="field">
      <span>
        {label} {hint ? <em class="quiet">{hint}</em> : null}
      </span>
      {children}
    </label>
  );
}

/** The name of an environment variable. */
export function VariableName({ value, hint, onInput }: { value: string; hint: string; onInput: (value: string) => void }) {
  return (
    <Field label="Name" hint={hint}>
      <input
        type="text"
        value={value}
        placeholder="GITHUB_TOKEN"
        pattern="[A-Za-z_][A-Za-z0-9_]*"
        title="Letters, digits and _, not starting with a digit"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </Field>
  );
}

interface SecretValue {
  /** Whether there is one. */
  given: boolean;
  /** Return it, and empty its field. */
  take: () => string;
  /** Its field. */
  input: ComponentChildren;
}

/** A value that stays in its field, and is nowhere else but in the request. */
export function useSecretValue(): SecretValue {
  const field = useRef<HTMLInputElement>(null);
  const [given, setGiven] = useState(false);
  const take = (): string => {
    const value = field.current?.value ?? "";
    if (field.current) field.current.value = "";
    setGiven(false);
    return value;
  };
  const input = <input ref={field} type="password" autocomplete="off" onInput={(event) => setGiven(event.currentTarget.value !== "")} />;
  return { given, take, input };
}

/** A button that removes something when it is pressed twice. */
export function Remove({ name, busy, danger = false, onRemove }: { name: string; busy: boolean; danger?: boolean; onRemove: () => void }) {
  const [sure, setSure] = useState(false);
  return (
    <button
      type="button"
      class={`button ${danger ? "danger" : ""}`}
      disabled={busy}
      onBlur={() => setSure(false)}
      onClick={() => {
        setSure(!sure);
        if (sure) onRemove();
      }}
    >
      {sure ? "Really remove" : "Remove"}
      <span class="unseen"> {clean(name)}</span>
    </button>
  );
}

/** The typed value. It is reset when the saved value changes. */
export function useDraft<T>(there: T): [T, (value: T) => void] {
  const name = JSON.stringify(there);
  const draft = useRef({ name, value: there });
  const [, redraw] = useState({});
  if (draft.current.name !== name) draft.current = { name, value: there };
  const set = (value: T): void => {
    draft.current = { name, value };
    redraw({});
  };
  return [draft.current.value, set];
}
