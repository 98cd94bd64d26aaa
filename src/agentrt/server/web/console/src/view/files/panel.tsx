import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Open } from "../../state/open";
import { route } from "../../state/route";
import { Changes, ChangesThen } from "./changes";
import { Tree } from "./tree";
import { Uploading } from "./upload";

const TABS = ["All files", "Changes"] as const;

const shown = signal<(typeof TABS)[number]>("All files");

/** The files of the workspace and their changes, now or at the shown event of the past. */
export function Files({ conversation }: { conversation: Open }) {
  const list = useRef<HTMLDivElement>(null);
  const { at } = route.value;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    shown.value = TABS.find((name) => name !== shown.value)!;
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[TABS.indexOf(shown.value)]?.focus();
  };
  return (
    <div class="files">
      <div class="tabs" role="tablist" aria-label="Files" ref={list} onKeyDown={onKeyDown}>
        {TABS.map((name, place) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`files-tab-${place}`}
            aria-selected={shown.value === name}
            aria-controls="files-panel"
            tabIndex={shown.value === name ? 0 : -1}
            onClick={() => (shown.value = name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div id="files-panel" role="tabpanel" aria-labelledby={`files-tab-${TABS.indexOf(shown.value)}`}>
        {shown.value === "Changes" ? at === null ? <Changes conversation={conversation} /> : <ChangesThen conversation={conversation} at={at} /> : null}
        {shown.value === "All files" && at === null ? (
          <Uploading conversation={conversation}>
            <Tree conversation={conversation} at={null} />
          </Uploading>
        ) : null}
        {shown.value === "All files" && at !== null ? (
          <>
            <p class="hint">Files after event {at}.</p>
            <Tree key={at} conversation={conversation} at={at} />
          </>
        ) : null}
      </div>
    </div>
  );
}
