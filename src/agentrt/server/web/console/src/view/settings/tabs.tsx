import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { clean } from "../../model/words";
import "../../styles/settings.css";

export interface Tab {
  name: string;
  /** The current value, in a few words. */
  now: string;
  content: () => ComponentChildren;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  /** The tab that is shown first. */
  first: number;
  onChoose: (at: number) => void;
}

/** One tab per subject, with its current value. */
export function Tabs({ label, tabs, first, onChoose }: TabsProps) {
  const [shown, setShown] = useState(first);
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => list.current?.querySelector<HTMLElement>("[aria-selected=true]")?.focus(), []);
  const choose = (to: number): number => {
    const at = (to + tabs.length) % tabs.length;
    setShown(at);
    onChoose(at);
    return at;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowDown: shown + 1, ArrowRight: shown + 1, ArrowUp: shown - 1, ArrowLeft: shown - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[choose(to)]?.focus();
  };
  return (
    <div class="settings-body">
      <div class="settings-tabs" role="tablist" aria-label={label} aria-orientation="vertical" ref={list} onKeyDown={onKeyDown}>
        {tabs.map(({ name, now }, at) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${at}`}
            aria-selected={at === shown}
            aria-controls="settings-panel"
            tabIndex={at === shown ? 0 : -1}
            onClick={() => choose(at)}
          >
            {name}
            <span class="quiet">{clean(now)}</span>
          </button>
        ))}
      </div>
      <div class="settings-panel" id="settings-panel" role="tabpanel" aria-labelledby={`tab-${shown}`} tabIndex={0}>
        {tabs[shown]!.content()}
      </div>
    </div>
  );
}
