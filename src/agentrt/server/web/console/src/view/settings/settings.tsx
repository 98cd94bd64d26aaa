import { type FunctionComponent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { analyzersOf, type Configuration, policyOf } from "../../model/configuration";
import { membersOf } from "../../model/llms";
import { clean, count, money, titleOf } from "../../model/words";
import type { Open } from "../../state/open";
import { Approvals } from "./approvals";
import { Budget } from "./budget";
import { type Configured, useConfiguration } from "./configured";
import { General } from "./general";
import { GoalSection } from "./goal";
import { Model } from "./model";
import { Rules } from "./rules";
import { Secrets } from "./secrets";
import "../../styles/settings.css";

export interface SectionProps {
  conversation: Open;
  configured: Configured;
}

interface Section {
  name: string;
  Content: FunctionComponent<SectionProps>;
  /** The current value, in a few words. */
  now: (found: Configuration, conversation: Open) => string;
}

const POLICIES = { ConfirmRisky: "ask if risky", AlwaysConfirm: "always ask", NeverConfirm: "never ask" };

const SECTIONS: Section[] = [
  { name: "General", Content: General, now: (_, { info }) => (info.value ? titleOf(info.value) : "") },
  { name: "Model", Content: Model, now: ({ agent }) => (agent ? membersOf(agent.llm)[0]!.model : "") },
  { name: "Approval", Content: Approvals, now: ({ agent }) => (agent ? `${POLICIES[policyOf(agent).type]}${analyzersOf(agent).includes("model") ? ", rated by model" : ""}` : "") },
  { name: "Rules", Content: Rules, now: ({ agent, rules }) => count((agent?.rules ?? []).length + rules.length, "rule") },
  { name: "Goal", Content: GoalSection, now: ({ goal }) => goal?.objective ?? "none" },
  { name: "Budget", Content: Budget, now: ({ agent, granted }) => (agent?.limits?.max_cost == null ? "no limit" : money(agent.limits.max_cost + granted)) },
  { name: "Secrets", Content: Secrets, now: ({ secrets }) => Object.keys(secrets).join(", ") || "none" },
];

let last = 0;

/** The settings of a conversation: one tab per subject. */
export function Settings({ conversation }: { conversation: Open }) {
  const [shown, setShown] = useState(last);
  const list = useRef<HTMLDivElement>(null);
  const configured = useConfiguration(conversation);
  const { found, failed } = configured;
  useLayoutEffect(() => list.current?.querySelector<HTMLElement>("[aria-selected=true]")?.focus(), []);
  const choose = (at: number): void => {
    last = (at + SECTIONS.length) % SECTIONS.length;
    setShown(last);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowDown: shown + 1, ArrowRight: shown + 1, ArrowUp: shown - 1, ArrowLeft: shown - 1, Home: 0, End: SECTIONS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[last]?.focus();
  };
  const { name, Content } = SECTIONS[shown]!;
  return (
    <div class="settings-body">
      <div class="settings-tabs" role="tablist" aria-label="Settings" aria-orientation="vertical" ref={list} onKeyDown={onKeyDown}>
        {SECTIONS.map((section, at) => (
          <button
            key={section.name}
            type="button"
            role="tab"
            id={`tab-${at}`}
            aria-selected={at === shown}
            aria-controls="settings-panel"
            tabIndex={at === shown ? 0 : -1}
            onClick={() => choose(at)}
          >
            {section.name}
            <span class="quiet">{found ? clean(section.now(found, conversation)) : ""}</span>
          </button>
        ))}
      </div>
      <div class="settings-panel" id="settings-panel" role="tabpanel" aria-labelledby={`tab-${shown}`} tabIndex={0}>
        {failed ? <p class="tone-danger">{failed}</p> : found ? <Content key={name} conversation={conversation} configured={configured} /> : <p class="hint">Loading…</p>}
      </div>
    </div>
  );
}
