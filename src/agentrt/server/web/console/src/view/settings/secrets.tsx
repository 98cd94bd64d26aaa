import type { SavedSecret } from "@agentrt/client";
import { useState } from "preact/hooks";
import { clean } from "../../model/words";
import { may } from "../../state/session";
import { Field, Form, Remove, Said, useSaving, useSecretValue, VariableName } from "./parts";
import type { SectionProps } from "./settings";

/** Secrets for commands: names are listed, values are only sent to the server. */
export function Secrets(props: SectionProps) {
  const saving = useSaving(props);
  const removing = useSaving(props);
  const [name, setName] = useState("");
  const secret = useSecretValue();
  const secrets = props.configured.found?.secrets ?? {};
  const save = async (): Promise<void> => {
    const value = secret.take();
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
      <Form title="Add or replace" needs="secrets" saving={saving} action={name in secrets ? "Replace" : "Add"} ready={name !== "" && secret.given} onSubmit={() => void save()}>
        <VariableName value={name} hint="of the environment variable" onInput={setName} />
        <Field label="Value">
          {secret.input}
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
