import { clean, compact, money } from "../model/words";
import { askForTitle, askToDelete, control, fork, interrupt, pause, run } from "../state/doing";
import type { Open } from "../state/open";
import { past } from "../state/past";
import { copy, drawer, historyShown, panel, type Panel } from "../state/ui";
import { StatusDot } from "./badges";
import { Icon, IconButton } from "./icons";
import { titleOf } from "./sidebar";

export function Header({ conversation }: { conversation: Open }) {
  const info = conversation.info.value;
  const then = past.value?.state;
  const shown = then ?? info;
  const status = shown?.status ?? "idle";
  const working = info?.status === "running" || info?.status === "waiting_for_confirmation";
  return (
    <header class="header">
      <OpenDrawer />
      <div class="header-title">
        <h1>
          <button type="button" class="title-button" title="Rename" onClick={askForTitle}>
            {info ? clean(titleOf(info)) : "…"}
          </button>
        </h1>
        <p class="header-facts">
          <StatusDot status={status} word />
          {info?.model ? <span class="fact-model">{info.model}</span> : null}
          {shown ? (
            <span class="fact-cost" title={`${shown.prompt_tokens.toLocaleString("en")} tokens in, ${shown.completion_tokens.toLocaleString("en")} out`}>
              <span data-fact="cost">{money(shown.cost)}</span> · {compact(shown.prompt_tokens)} in · {compact(shown.completion_tokens)} out
            </span>
          ) : null}
        </p>
      </div>
      <div class="header-actions" role="group" aria-label="Steer">
        {working ? (
          <>
            <IconButton icon="pause" label="Pause" keys="p" onClick={() => void pause()} text />
            <IconButton icon="stop" label="Interrupt" keys="x" onClick={() => void interrupt()} text class="warning" />
          </>
        ) : (
          <IconButton icon="play" label="Run" keys="g" onClick={() => void run()} text />
        )}
      </div>
      <div class="header-panels" role="group" aria-label="Panels">
        <IconButton icon="history" label="History" keys="h" pressed={historyShown.value} onClick={() => (historyShown.value = !historyShown.value)} />
        <PanelButton name="files" label="Files changed" keys="f" />
        <PanelButton name="details" label="Details" keys="e" />
        <More conversation={conversation} />
      </div>
    </header>
  );
}

export function OpenDrawer() {
  return <IconButton icon="menu" label="Conversations" class="only-phone" expanded={drawer.value} onClick={() => (drawer.value = true)} />;
}

function PanelButton({ name, label, keys }: { name: Panel; label: string; keys: string }) {
  const shown = panel.value === name;
  return <IconButton icon={name === "files" ? "files" : "info"} label={label} keys={keys} pressed={shown} onClick={() => (panel.value = shown ? "none" : name)} />;
}

function More({ conversation }: { conversation: Open }) {
  return (
    <details class="menu">
      <summary class="icon-button" aria-label="More" title="More">
        <Icon name="more" />
      </summary>
      <div class="menu-items menu-right">
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
          Have a model name it
        </button>
        <button type="button" onClick={() => void control({ type: "condense" })}>
          Condense before the next call
        </button>
        <button type="button" onClick={() => void copy(conversation.id)}>
          Copy the id
        </button>
        <button type="button" class="danger" onClick={askToDelete}>
          Delete…
        </button>
      </div>
    </details>
  );
}
