import { atWork, clean, compact, spentOf, titleOf } from "../model/words";
import { askForTitle, askToDelete, condense, control, fork, interrupt, pause, run } from "../state/doing";
import type { Open } from "../state/open";
import { past } from "../state/past";
import { linkTo } from "../state/route";
import { may, rest } from "../state/session";
import { copy, dialog, drawer, historyShown, panel, type Panel } from "../state/ui";
import { StatusDot } from "./badges";
import { useFresh } from "./fresh";
import { Icon, IconButton, type IconName } from "./icons";
import { nameOf } from "./names";

export function Header({ conversation }: { conversation: Open }) {
  const info = conversation.info.value;
  const then = past.value?.state;
  const shown = then ?? info;
  const status = shown?.status ?? "idle";
  const working = atWork(info?.status);
  return (
    <header class="header">
      <OpenDrawer />
      <div class="header-title">
        {info?.delegated_by ? (
          <a class="header-parent" href={linkTo(info.delegated_by)}>
            <Icon name="left" size={13} /> Delegated by {clean(nameOf(info.delegated_by))}
          </a>
        ) : null}
        <h1>
          <button type="button" class="title-button" title="Rename" onClick={askForTitle} disabled={!may("rename")}>
            {info ? clean(titleOf(info)) : "…"}
          </button>
        </h1>
        <p class="header-facts">
          <StatusDot status={status} word />
          <Place key={conversation.id} conversation={conversation} />
          {info?.model ? <span class="fact-model">{info.model}</span> : null}
          {shown ? (
            <span class="fact-cost" title={`${shown.prompt_tokens.toLocaleString("en")} tokens in, ${shown.completion_tokens.toLocaleString("en")} out`}>
              <span data-fact="cost">{spentOf(shown)}</span>
              <span class="fact-tokens">
                {" "}
                · {compact(shown.prompt_tokens)} in · {compact(shown.completion_tokens)} out
              </span>
            </span>
          ) : null}
        </p>
      </div>
      <div class="header-actions" role="group" aria-label="Run controls">
        {!may("run") ? null : working ? (
          <>
            <IconButton icon="pause" label="Pause" keys="p" onClick={() => void pause()} text />
            <IconButton icon="stop" label="Interrupt" keys="x" onClick={() => void interrupt()} text class="warning" />
          </>
        ) : status === "finished" ? null : (
          <IconButton icon="play" label="Run" keys="g" onClick={() => void run()} text />
        )}
      </div>
      <div class="header-panels" id="panel-buttons" role="group" aria-label="Panels">
        {PANELS.map(({ icon, label, keys, shown, toggle }) => (
          <IconButton key={keys} icon={icon} label={label} keys={keys} {...(shown ? { pressed: shown() } : {})} onClick={toggle} />
        ))}
        <More conversation={conversation} />
      </div>
    </header>
  );
}

/** The repository and the branch that the agent works on. */
function Place({ conversation }: { conversation: Open }) {
  const { found, problem } = useFresh(() => rest.project(conversation.id), [conversation, conversation.info.value?.status]);
  if (found === null || problem) return null;
  const name = found.path.slice(found.path.lastIndexOf("/") + 1);
  if (name === conversation.id && !found.repository) return null; // made for it
  return (
    <span class="fact-place" title={clean(found.path)}>
      {clean(name)}
      {found.branch ? (
        <span data-fact="branch">
          {" "}
          <Icon name="branch" size={13} /> {clean(found.branch)}
        </span>
      ) : null}
    </span>
  );
}

export function OpenDrawer() {
  return <IconButton icon="menu" label="Conversations" id="open-drawer" class="only-phone" expanded={drawer.value} onClick={() => (drawer.value = true)} />;
}

interface PanelButton {
  icon: IconName;
  label: string;
  keys: string;
  shown?: () => boolean;
  toggle: () => void;
}

function toggling(name: Panel): Pick<PanelButton, "shown" | "toggle"> {
  return { shown: () => panel.value === name, toggle: () => (panel.value = panel.value === name ? "none" : name) };
}

/** Buttons if there is room, else items of the menu. */
const PANELS: PanelButton[] = [
  { icon: "history", label: "History", keys: "h", shown: () => historyShown.value, toggle: () => (historyShown.value = !historyShown.value) },
  { icon: "files", label: "Files", keys: "f", ...toggling("files") },
  { icon: "list", label: "Context", keys: "i", ...toggling("context") },
  { icon: "plug", label: "MCP servers", keys: "m", ...toggling("servers") },
  { icon: "info", label: "Details", keys: "e", ...toggling("details") },
  { icon: "settings", label: "Settings", keys: "s", toggle: () => (dialog.value = { name: "settings" }) },
];

function More({ conversation }: { conversation: Open }) {
  return (
    <details class="menu">
      <summary class="icon-button" aria-label="More" title="More">
        <Icon name="more" />
      </summary>
      <div class="menu-items menu-right">
        {PANELS.map(({ label, toggle }) => (
          <button key={label} type="button" class="only-phone" onClick={toggle}>
            {label}
          </button>
        ))}
        {may("fork") ? <Steering /> : null}
        <button type="button" onClick={() => void copy(conversation.id)}>
          Copy ID
        </button>
        {may("delete_conversation") ? (
          <button type="button" class="danger" onClick={askToDelete}>
            Delete…
          </button>
        ) : null}
      </div>
    </details>
  );
}

function Steering() {
  return (
    <>
      <button type="button" onClick={() => void fork()}>
        Fork
      </button>
      <button type="button" onClick={() => (historyShown.value = true)}>
        Rewind…
      </button>
      <button type="button" onClick={askForTitle}>
        Rename…
      </button>
      <button type="button" onClick={() => void control({ type: "generate_title" })}>
        Generate title
      </button>
      <button type="button" onClick={() => void condense()}>
        Summarize conversation
      </button>
    </>
  );
}
