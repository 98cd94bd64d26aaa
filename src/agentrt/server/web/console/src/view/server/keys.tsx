import type { ServerSecret } from "@agentrt/client";
import { useState } from "preact/hooks";
import { clean } from "../../model/words";
import { rest } from "../../state/session";
import { Field, Form, Remove, Said, useRequests, useSecretValue, VariableName } from "../settings/parts";
import type { SectionProps } from "./settings";

/** The keys of providers, and secrets that MCP servers refer to: names are listed, values are only sent to the server. */
export function Keys({ known, refresh }: SectionProps) {
  const saving = useRequests(refresh);
  const removing = useRequests(refresh);
  const providers = known.secrets.filter(({ provider }) => provider !== "");
  const [chosen, setChosen] = useState(providers[0]?.name ?? "");
  const [name, setName] = useState("");
  const secret = useSecretValue();
  const there = known.secrets.filter(({ source }) => source !== "none");
  const wanted = chosen || name.trim();
  const save = async (): Promise<void> => {
    const value = secret.take();
    if (await saving.save(() => rest.saveServerSecret(wanted, value), `${wanted} was saved`)) setName("");
  };
  return (
    <>
      <p class="quiet">Model calls use these keys, and MCP servers the secrets that they name as ${"{NAME}"}. Values are kept encrypted, and cannot be read here again.</p>
      {there.length === 0 ? <p class="hint">No keys.</p> : null}
      <ul class="settings-list">
        {there.map((one) => (
          <li key={one.name}>
            <code>{clean(one.name)}</code>
            <span class="quiet">{clean(factsOf(one))}</span>
            {one.source === "saved" ? <Remove name={one.name} danger busy={removing.busy} onRemove={() => void removing.save(() => rest.removeServerSecret(one.name), `${one.name} was removed`)} /> : null}
          </li>
        ))}
      </ul>
      <Said saving={removing} />
      <Form title="Add or replace" needs="save_server_secret" saving={saving} action="Save key" ready={wanted !== "" && secret.given} onSubmit={() => void save()}>
        <div class="settings-pair">
          <Field label="For">
            <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
              {providers.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.provider} ({one.name})
                </option>
              ))}
              <option value="">another provider or secret</option>
            </select>
          </Field>
          {chosen === "" ? <VariableName value={name} hint="of its variable" onInput={setName} /> : null}
        </div>
        <Field label="Key">
          {secret.input}
        </Field>
      </Form>
    </>
  );
}

function factsOf({ provider, source, readable }: ServerSecret): string {
  const where = !readable ? "cannot be decrypted: save it again" : source === "saved" ? "saved here" : "from the server’s environment";
  return provider ? `${provider}, ${where}` : where;
}
