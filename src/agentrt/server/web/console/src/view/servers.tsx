import type { ServerStatus } from "@agentrt/client";
import { useState } from "preact/hooks";
import { type Action, ACTIONS, actionsOf, factsOf, isWeb, OPERATIONS } from "../model/servers";
import { clean } from "../model/words";
import type { Open } from "../state/open";
import { may, reasonOf, rest } from "../state/session";
import { now, toast } from "../state/ui";
import { useFresh } from "./fresh";

/** The MCP servers of a conversation: status, tools and log. */
export function Servers({ conversation }: { conversation: Open }) {
  const [asked, setAsked] = useState(0);
  const { found, problem } = useFresh(() => rest.servers(conversation.id), [conversation, conversation.info.value?.cursor.seq, asked, now.value]);
  if (problem) return <p class="hint">{problem}</p>;
  if (found === null) return <p class="hint">Loading…</p>;
  if (found.items.length === 0) return <p class="hint">The agent has no MCP servers.</p>;
  return (
    <div class="context">
      {found.items.map((server) => (
        <One key={server.name} server={server} conversation={conversation} done={() => setAsked((number) => number + 1)} />
      ))}
    </div>
  );
}

function One({ server, conversation, done }: { server: ServerStatus; conversation: Open; done: () => void }) {
  const [login, setLogin] = useState("");
  async function act(action: Action): Promise<void> {
    setLogin("");
    try {
      if (action === "connect") await rest.connectServer(conversation.id, server.name);
      else if (action === "logout") await rest.logOutAtServer(conversation.id, server.name);
      else setLogin((await rest.logInAtServer(conversation.id, server.name)).url);
    } catch (error) {
      toast(reasonOf(error), "danger");
    }
    done();
  }
  return (
    <section aria-label={server.name}>
      <h3>{clean(server.name)}</h3>
      <span class="context-facts">{clean(factsOf(server))}</span>
      <p class="file-path">{clean(server.where)}</p>
      {server.problem ? <p class="context-problem">{clean(server.problem)}</p> : null}
      <div class="server-actions">
        {actionsOf(server)
          .filter((action) => may(OPERATIONS[action]))
          .map((action) => (
            <button key={action} type="button" onClick={() => void act(action)}>
              {ACTIONS[action]}
            </button>
          ))}
        {isWeb(login) && server.standing === "down" ? (
          <a href={login} target="_blank" rel="noopener noreferrer">
            Open the login page of {clean(server.name)}
          </a>
        ) : null}
      </div>
      <Listed title="Tools" items={server.tools} />
      <Listed title="Prompts" items={server.prompts.map((name) => `/${server.name}:${name}`)} />
      {server.lines.length > 0 ? (
        <details>
          <summary>Log</summary>
          <pre class="server-log">{clean(server.lines.join("\n"))}</pre>
        </details>
      ) : null}
    </section>
  );
}

function Listed({ title, items }: { title: string; items: string[] }) {
  if (items.length === 0) return null;
  return (
    <details>
      <summary>
        {title} ({items.length})
      </summary>
      <ul>
        {items.map((item) => (
          <li key={item}>{clean(item)}</li>
        ))}
      </ul>
    </details>
  );
}
