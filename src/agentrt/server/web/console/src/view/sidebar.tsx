import type { ConversationInfo, Status } from "@agentrt/client";
import { useEffect, useRef } from "preact/hooks";
import { ago, clean, money, STATUS } from "../model/words";
import * as list from "../state/list";
import { linkTo, route } from "../state/route";
import { connection, key } from "../state/session";
import { dialog, drawer, nextTheme, now, theme } from "../state/ui";
import { StatusDot } from "./badges";
import { Icon, IconButton } from "./icons";

export function Sidebar() {
  return (
    <nav class={`sidebar ${drawer.value ? "shown" : ""}`} id="conversations" aria-label="Conversations">
      <div class="sidebar-head">
        <span class="brand">
          <img src="/favicon.svg" width="24" height="24" alt="" /> agentrt
        </span>
        <IconButton icon="search" label="Search all conversations" keys="Control+K" onClick={() => (dialog.value = { name: "search" })} />
        <IconButton icon="close" label="Close the list" class="only-phone" onClick={() => (drawer.value = false)} />
      </div>
      <button type="button" class="button primary wide" aria-keyshortcuts="n" onClick={() => (dialog.value = { name: "new" })}>
        <Icon name="plus" size={16} /> New conversation
      </button>
      <Filters />
      <Conversations />
      <Foot />
    </nav>
  );
}

function Filters() {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const search = (text: string): void => {
    list.query.value = text;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void list.refresh(), 150);
  };
  return (
    <div class="filters" role="search">
      <input
        id="filter"
        type="search"
        placeholder="Filter by title"
        aria-label="Filter conversations"
        aria-keyshortcuts="/"
        value={list.query.value}
        onInput={(event) => search(event.currentTarget.value)}
      />
      <select
        aria-label="Status"
        value={list.status.value}
        onChange={(event) => {
          list.status.value = event.currentTarget.value as Status | "";
          void list.refresh();
        }}
      >
        <option value="">All</option>
        {(Object.keys(STATUS) as Status[]).map((status) => (
          <option key={status} value={status}>
            {STATUS[status]}
          </option>
        ))}
      </select>
    </div>
  );
}

function Conversations() {
  const items = list.items.value;
  const end = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (!end.current) return undefined;
    const watch = new IntersectionObserver((seen) => {
      if (seen.some((one) => one.isIntersecting)) void list.more();
    });
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [list.next.value]);
  if (items === null) return <p class="hint">Loading…</p>;
  if (items.length === 0) {
    const filtered = list.query.value !== "" || list.status.value !== "";
    return <p class="hint">{list.failed.value ? "The list could not be read." : filtered ? "None fits." : "No conversations yet."}</p>;
  }
  return (
    <ul class="conversations">
      {items.map((info) => (
        <Item key={info.id} info={info} />
      ))}
      {list.next.value === null ? null : (
        <li ref={end}>
          <button type="button" class="link" onClick={() => void list.more()}>
            Show more
          </button>
        </li>
      )}
    </ul>
  );
}

function Item({ info }: { info: ConversationInfo }) {
  const current = route.value.id === info.id;
  return (
    <li>
      <a class="conversation" href={linkTo(info.id)} aria-current={current ? "page" : undefined} onClick={() => (drawer.value = false)}>
        <span class="conversation-title">{clean(titleOf(info))}</span>
        <span class="conversation-facts">
          <StatusDot status={info.status} word={info.status !== "idle" && info.status !== "finished"} />
          <span>{ago(info.updated, now.value)}</span>
          {info.cost > 0 ? <span class="conversation-cost">{money(info.cost)}</span> : null}
        </span>
      </a>
    </li>
  );
}

export function titleOf(info: ConversationInfo): string {
  return info.title || info.workspace?.split("/").at(-1) || info.id;
}

const THEMES = { auto: "as the system", light: "light", dark: "dark" };
const CONNECTIONS = { connecting: "Connecting…", open: "Live", waiting: "Reconnecting…", closed: "" };

function Foot() {
  const icon = theme.value === "auto" ? "auto" : theme.value === "light" ? "sun" : "moon";
  return (
    <div class="sidebar-foot">
      <span class={`connection connection-${connection.value}`} role="status">
        {CONNECTIONS[connection.value]}
      </span>
      {key.value === null ? null : <IconButton icon="key" label="Change the API key" onClick={() => (dialog.value = { name: "key" })} />}
      <IconButton icon={icon} label={`Theme: ${THEMES[theme.value]}`} keys="t" onClick={nextTheme} />
      <IconButton icon="help" label="Keyboard shortcuts" keys="?" onClick={() => (dialog.value = { name: "help" })} />
    </div>
  );
}
