import { clean, clock } from "../model/words";
import type { Open } from "../state/open";
import { linkTo } from "../state/route";
import { panel } from "../state/ui";
import { Context } from "./context";
import { Files } from "./files/panel";
import { IconButton } from "./icons";
import { Servers } from "./servers";

export function Inspector({ conversation }: { conversation: Open }) {
  if (panel.value === "none") return null;
  const { title, Shown } = PANELS[panel.value];
  return (
    <aside class="inspector" aria-label={title}>
      <div class="inspector-head">
        <h2>{title}</h2>
        <IconButton icon="close" label="Close the panel" onClick={() => (panel.value = "none")} />
      </div>
      <Shown conversation={conversation} />
    </aside>
  );
}

const PANELS = {
  files: { title: "Files", Shown: Files },
  context: { title: "Context", Shown: Context },
  servers: { title: "MCP servers", Shown: Servers },
  details: { title: "Details", Shown: Details },
};

function Details({ conversation }: { conversation: Open }) {
  const info = conversation.info.value;
  if (info === null) return <p class="hint">Loading…</p>;
  const day = (time: string): string => `${new Date(time).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" })}, ${clock(time)}`;
  const facts: [string, string][] = [
    ["Model", info.model ?? ""],
    ["Workspace", info.workspace ?? ""],
    ["Cost", info.cost === 0 && info.unpriced > 0 ? "price unknown" : `$${info.cost.toFixed(6)}`],
    ["Calls without a price", info.unpriced > 0 ? info.unpriced.toLocaleString("en") : ""],
    ["Tokens in", info.prompt_tokens.toLocaleString("en")],
    ["Tokens out", info.completion_tokens.toLocaleString("en")],
    ["Events", (info.cursor.seq ?? 0).toLocaleString("en")],
    ["Started", info.created ? day(info.created) : ""],
    ["Last event", info.updated ? day(info.updated) : ""],
    ["Owner", info.owner ?? ""],
    ["Tags", Object.entries(info.tags).map(([name, value]) => `${name}=${value}`).join(", ")],
    ["Error", info.error ? `${info.error.code}: ${info.error.detail}` : ""],
    ["ID", info.id],
  ];
  return (
    <dl class="details">
      {facts.map(([name, value]) =>
        value === "" ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{clean(value)}</dd>
          </div>
        ),
      )}
      {info.parent ? (
        <div>
          <dt>Fork of</dt>
          <dd>
            <a href={linkTo(info.parent)}>{info.parent}</a>
          </dd>
        </div>
      ) : null}
    </dl>
  );
}
