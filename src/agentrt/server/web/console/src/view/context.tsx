import type { Control } from "@agentrt/client";
import { useEffect, useState } from "preact/hooks";
import { always, bounds, briefOf, byKind, factsOf, fullness, NOTHING, type Offer, type Source, type Told, toolsOf, unagreed, type Usage } from "../model/context";
import { labelOf } from "../model/tools";
import { clean, count } from "../model/words";
import { condense, control } from "../state/doing";
import type { Open } from "../state/open";
import { may, rest } from "../state/session";

/** The agent’s context besides its task, and the programs that wait for approval. */
export function Context({ conversation }: { conversation: Open }) {
  const told = conversation.told.value;
  return (
    <div class="context">
      <Window conversation={conversation} />
      {told === NOTHING || told.sources.length + told.problems.length === 0 ? <p class="hint">No additional context: the agent gets only its task and facts about its environment.</p> : <Sources told={told} />}
      <Tools told={told} />
    </div>
  );
}

/** What fills the model’s context window, by kind. */
function Window({ conversation }: { conversation: Open }) {
  const [usage, setUsage] = useState<Usage | null>(null);
  const seq = conversation.info.value?.cursor.seq;
  useEffect(() => {
    let wanted = true;
    const timer = setTimeout(() => void rest.state(conversation.id).then((state) => wanted && setUsage(state.context), () => undefined), 250);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [conversation, seq]);
  if (usage === null || usage.parts.length === 0) return null;
  return (
    <section aria-label="Context window">
      <h3>Context window</h3>
      <p class="hint">{fullness(usage)}.</p>
      {usage.window > 0 ? <meter min={0} max={usage.window} high={usage.max_tokens ?? usage.window} value={usage.tokens} aria-label="Context window used" /> : null}
      <table>
        <tbody>
          {usage.parts.map((part) => (
            <tr key={`${part.kind} ${part.name ?? ""}`}>
              <th scope="row">{clean(`${part.kind} ${part.name ?? ""}`)}</th>
              <td>{part.tokens.toLocaleString("en")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="hint">{bounds(usage)}.</p>
      {may("condense") ? (
        <button type="button" onClick={() => void condense()}>
          Summarize now
        </button>
      ) : null}
    </section>
  );
}

function Sources({ told }: { told: Told }) {
  return (
    <>
      {unagreed(told).map((offer) => (
        <Unagreed key={offer.digest} offer={offer} />
      ))}
      {byKind(told).map(([title, sources]) => (
        <section key={title} aria-label={title}>
          <h3>{title}</h3>
          <ul>
            {sources.map((source) => (
              <One key={`${source.name} ${source.path ?? ""}`} source={source} told={told} />
            ))}
          </ul>
        </section>
      ))}
      <p class="hint">About {count(always(told), "token")} in every prompt.</p>
      {told.problems.map((problem) => (
        <p key={`${problem.path} ${problem.what}`} class="context-problem">
          <span class="file-path">{clean(problem.path)}</span> {clean(problem.what)}
        </p>
      ))}
    </>
  );
}

/** The tools of the agent, by their source. */
function Tools({ told }: { told: Told }) {
  const sources = toolsOf(told);
  if (sources.length === 0) return null;
  return (
    <section aria-label="Tools">
      <h3>Tools</h3>
      {sources.map(([title, tools]) => (
        <details key={title}>
          <summary>{clean(title)}</summary>
          <ul>
            {tools.map((tool) => (
              <li key={tool.name}>
                <strong>{clean(labelOf(tool))}</strong>
                <span class="context-facts">{clean([tool.name, tool.annotations?.read_only ? "read-only" : "", tool.changed ? "changed since first seen" : ""].filter(Boolean).join(" · "))}</span>
                <span>{clean(briefOf(tool))}</span>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </section>
  );
}

function One({ source, told }: { source: Source; told: Told }) {
  const missing = source.missing ?? [];
  return (
    <li>
      <strong>{clean(source.name)}</strong>
      <span class="context-facts">{clean(factsOf(source))}</span>
      {source.path && source.path !== source.name ? <span class="file-path">{clean(source.path)}</span> : null}
      {told.changed.has(source.path ?? "") ? <span class="context-problem">Changed since it was read</span> : null}
      {missing.length > 0 ? <span class="context-problem">Not available: {clean(missing.join(", "))}</span> : null}
    </li>
  );
}

function Unagreed({ offer }: { offer: Offer }) {
  const agree: Control = { type: "agree", digest: offer.digest };
  return (
    <section class="context-offer" aria-label="Programs waiting for approval">
      <h3>{clean(offer.name)}: {offer.by ? "this does not instruct the agent until you agree" : "these programs need approval to run"}</h3>
      <ul>
        {(offer.hooks ?? []).map((hook) => (
          <li key={`${hook.event} ${hook.command ?? hook.prompt ?? hook.agent ?? ""}`}>
            {hook.event} {clean(hook.matcher ?? "*")}
            <span class="file-path">{clean(hook.command ?? hook.prompt ?? hook.agent ?? "")}</span>
          </li>
        ))}
        {Object.entries(offer.servers ?? {}).map(([name, server]) => (
          <li key={name}>
            MCP server {clean(name)}
            <span class="file-path">{clean(server.url || [server.command, ...(server.args ?? [])].join(" "))}</span>
            {Object.entries({ ...server.env, ...server.headers }).map(([key, value]) => (
              <span key={key} class="context-facts">
                {clean(`${key}=${value}`)}
              </span>
            ))}
          </li>
        ))}
        {offer.by ? (
          <li>
            {clean(offer.by)} wrote it through this server
            <span class="file-path">{clean(offer.path ?? "")}</span>
          </li>
        ) : null}
        {offer.condenser ? (
          <li>
            A condenser that sends the agent’s conversations to a model
            <span class="file-path">{clean(JSON.stringify(offer.condenser))}</span>
          </li>
        ) : null}
        {(offer.commands ?? []).map((command) => (
          <li key={command}>
            Command
            <span class="file-path">{clean(command)}</span>
          </li>
        ))}
        {(offer.tools ?? []).map((tool) => (
          <li key={tool}>
            Approves calls of
            <span class="file-path">{clean(tool)}</span>
          </li>
        ))}
        {(offer.rules ?? []).map((rule) => (
          <li key={`${rule.verdict} ${rule.tool} ${rule.pattern}`}>
            Rule: {rule.verdict} {clean(rule.tool ?? "*")}
            <span class="file-path">{clean(rule.pattern ?? "*")}</span>
          </li>
        ))}
      </ul>
      {may(offer.by ? "agree" : { scope: "admin" }) ? (
        <button type="button" onClick={() => void control(agree)}>
          {offer.by ? "Agree" : "Allow these programs"}
        </button>
      ) : (
        <p class="hint">{offer.by ? "Only a key that approves can agree." : "Only an admin key can allow these programs."}</p>
      )}
    </section>
  );
}
