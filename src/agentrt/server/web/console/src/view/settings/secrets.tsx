import type { SavedSecret } from "@agentrt/client";
import { useRef, useState } from "preact/hooks";
import { clean } from "../../model/words";
import { may } from "../../state/session";
import { Field, Form, Remove, Said, useSaving } from "./parts";
import type { SectionProps } from "./settings";

/** Secrets for commands: names are listed, values are only sent to the server. */
export function Secrets(props: SectionProps) {
  const saving = useSaving(props);
  const removing = useSaving(props);
  const [name, setName] = useState("");
  const [given, setGiven] = useState(false);
  // the value stays in its field, and is nowhere else but in the request
  const field = useRef<HTMLInputElement>(null);
  const secrets = props.configured.found?.secrets ?? {};
  const empty = (): void => {
    if (field.current) field.current.value = "";
    setGiven(false);
  };
  const save = async (): Promise<void> => {
    const value = field.current?.value ?? "";
    empty();
    const known = name in secrets;
    if (await saving.control([{ type: "secrets", secrets: { [name]: value } }], known ? "Replaced" : "Added")) setName("");
  };
  return (
    <>
      <p class="quiet">Commands get secrets as environment variables. Their values are masked in output and for the model, and cannot be read here again.</p>
      {Object.keys(secrets).length === 0 ? <p class="hint">No secrets.</p> : null}
      <ul class="settings-list">
        {Object.entries(secrets).map(([one, saved]) => (
          <li key={one}>
            <code>{clean(one)}</code>
            <span class="quiet">{clean(originOf(saved))}</span>
            {may("secrets") ? (
              <Remove
                name={one}
                danger
                busy={removing.busy}
                onRemove={() => void removing.control([{ type: "secrets", secrets: { [one]: null } }], `${one} was removed`)}
              />
            ) : null}
          </li>
        ))}
      </ul>
      <Said saving={removing} />
      <Form title="Add or replace" needs="secrets" saving={saving} action={name in secrets ? "Replace" : "Add"} ready={name !== "" && given} onSubmit={() => void save()}>
        <Field label="Name" hint="of the environment variable">
          <input
            type="text"
            value={name}
            placeholder="GITHUB_TOKEN"
            pattern="[A-Za-z_][A-Za-z0-9_]*"
            title="Letters, digits and _, not starting with a digit"
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </Field>
        <Field label="Value">
          <input ref={field} type="password" autocomplete="off" onInput={(event) => setGiven(event.currentTarget.value !== "")} />
        </Field>
      </Form>
    </>
  );
}

function originOf(saved: SavedSecret): string {
  const about = saved.description ? `${saved.description}, ` : "";
  switch (saved.type) {
    case "StaticSecret":
      return about + (saved.token ? "stored encrypted" : "in memory only, lost when the server stops");
    case "EnvironmentSecret":
      return `${about}from the server’s environment variable ${saved.variable}`;
    case "LookupSecret":
      return `${about}looked up at ${saved.url}`;
    case "CallableSecret":
      return `${about}from the program that started the conversation`;
  }
}
