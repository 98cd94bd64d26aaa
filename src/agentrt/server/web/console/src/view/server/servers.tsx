import { useState } from "preact/hooks";
import { serversIn, whereOf } from "../../model/mcp";
import { clean } from "../../model/words";
import { Field, Form, Remove, Said } from "../settings/parts";
import { Reset, type SectionProps, useChanging } from "./settings";

const EMPTY = { name: "", text: "" };

/** The MCP servers of new conversations. */
export function Servers({ known, refresh }: SectionProps) {
  const saving = useChanging(refresh);
  const removing = useChanging(refresh);
  const [draft, setDraft] = useState(EMPTY);
  const servers = known.agent?.mcp_servers ?? {};
  const found = serversIn(draft.name.trim(), draft.text);
  const typed = draft.text.trim() !== "";
  const add = async (): Promise<void> => {
    if (typeof found === "string") return;
    const names = Object.keys(found).join(", ");
    if (await saving.change({ mcp_servers: found }, `${names} was added`)) setDraft(EMPTY);
  };
  const remove = (name: string): void => {
    void removing.change({ mcp_servers: { [name]: null } }, `${name} was removed`);
  };
  return (
    <>
      <p class="quiet">New conversations can use the tools of these servers. Secrets in a configuration are kept as keys.</p>
      {Object.keys(servers).length === 0 ? <p class="hint">No MCP servers.</p> : null}
      <ul class="settings-list">
        {Object.entries(servers).map(([name, server]) => (
          <li key={name}>
            <code>{clean(name)}</code>
            <span class="quiet">{clean(whereOf(server))}</span>
            <Remove name={name} busy={removing.busy} onRemove={() => remove(name)} />
          </li>
        ))}
      </ul>
      <Said saving={removing} />
      <Form
        title="Add"
        needs="change_server_agent"
        saving={saving}
        action="Add"
        ready={typed && typeof found !== "string"}
        onSubmit={() => void add()}
        more={<Reset fields={["mcp_servers"]} known={known} saving={saving} />}
      >
        <Field label="Name">
          <input type="text" value={draft.name} placeholder="tracker" autocomplete="off" spellcheck={false} onInput={(event) => setDraft({ ...draft, name: event.currentTarget.value })} />
        </Field>
        <Field label="Server" hint="a command, an address, or a configuration in JSON">
          <textarea
            rows={4}
            value={draft.text}
            placeholder={'npx -y @example/tracker\nhttps://tracker.example.org/mcp\n{"mcpServers": {"tracker": {"command": "npx", …}}}'}
            spellcheck={false}
            onInput={(event) => setDraft({ ...draft, text: event.currentTarget.value })}
          />
        </Field>
        {typed && typeof found === "string" ? <p class="quiet">{clean(found)}</p> : null}
      </Form>
    </>
  );
}
