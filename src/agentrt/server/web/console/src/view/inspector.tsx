import type { GitChange } from "@agentrt/client";
import { useEffect, useState } from "preact/hooks";
import { clean, clock } from "../model/words";
import type { Open } from "../state/open";
import { linkTo } from "../state/route";
import { rest } from "../state/session";
import { panel } from "../state/ui";
import { Context } from "./context";
import { Diff, DiffCount } from "./diff";
import { useFresh } from "./fresh";
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
  files: { title: "Files changed", Shown: Files },
  context: { title: "Context", Shown: Context },
  servers: { title: "MCP servers", Shown: Servers },
  details: { title: "Details", Shown: Details },
};

function Files({ conversation }: { conversation: Open }) {
  const seq = conversation.info.value?.cursor.seq;
  const { found, problem } = useFresh(() => rest.changes(conversation.id), [conversation, seq]);
  if (problem) return <p class="hint">{problem}</p>;
  if (found === null) return <p class="hint">Loading…</p>;
  if (found.items.length === 0) return <p class="hint">Nothing changed.</p>;
  return (
    <div class="files">
      {found.items.map((change) => (
        <File key={change.path} change={change} conversation={conversation} seq={seq ?? 0} />
      ))}
    </div>
  );
}

function File({ change, conversation, seq }: { change: GitChange; conversation: Open; seq: number }) {
  const [shown, setShown] = useState(false);
  const [diff, setDiff] = useState<string | null>(null);
  useEffect(() => {
    let wanted = true;
    if (shown) rest.diff(conversation.id, change.path).then((found) => wanted && setDiff(found.diff), () => wanted && setDiff(""));
    return () => {
      wanted = false;
    };
  }, [shown, seq, conversation, change.path]);
  return (
    <details class="file" onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>
        <span class={`file-status file-${change.status.toLowerCase()}`}>{change.status}</span>
        <span class="file-path">{clean(change.path)}</span>
        {diff ? <DiffCount diff={diff} /> : null}
      </summary>
      {diff === null ? <p class="hint">Loading…</p> : diff === "" ? <p class="hint">No difference to show.</p> : <Diff diff={diff} label={`Changes of ${change.path}`} path={change.path} most={60} />}
    </details>
  );
}

function Details({ conversation }: { conversation: Open }) {
  const info = conversation.info.value;
  if (info === null) return <p class="hint">Loading…</p>;
  const day = (time: string): string => `${new Date(time).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" })}, ${clock(time)}`;
  const facts: [string, string][] = [
    ["Model", info.model ?? ""],
    ["Workspace", info.workspace ?? ""],
    ["Cost", `$${info.cost.toFixed(6)}`],
    ["Unpriced calls", info.unpriced > 0 ? info.unpriced.toLocaleString("en") : ""],
    ["Tokens in", info.prompt_tokens.toLocaleString("en")],
    ["Tokens out", info.completion_tokens.toLocaleString("en")],
    ["Events", (info.cursor.seq ?? 0).toLocaleString("en")],
    ["Begun", info.created ? day(info.created) : ""],
    ["Last event", info.updated ? day(info.updated) : ""],
    ["Owner", info.owner ?? ""],
    ["Tags", Object.entries(info.tags).map(([name, value]) => `${name}=${value}`).join(", ")],
    ["Error", info.error ? `${info.error.code}: ${info.error.detail}` : ""],
    ["Id", info.id],
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
