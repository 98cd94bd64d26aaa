import type { Status } from "@agentrt/client";
import { useEffect, useRef } from "preact/hooks";
import { below, type Branch } from "../model/tree";
import { ago, clean, count, spentOf, STATUS, titleOf } from "../model/words";
import * as list from "../state/list";
import { notifying, toggleNotifying } from "../state/notifying";
import { linkTo, route } from "../state/route";
import { connection, key, may } from "../state/session";
import { dialog, drawer, nextTheme, now, theme } from "../state/ui";
import { StatusDot } from "./badges";
import { Icon, IconButton } from "./icons";

export function Sidebar() {
  return (
    <nav class={`sidebar ${drawer.value ? "shown" : ""}`} id="conversations" aria-label="Conversations">
      <div class="sidebar-head">
        <span class="brand">
          <img src="./favicon.svg" width="24" height="24" alt="" /> agentrt
        </span>
        <IconButton icon="search" label="Search all conversations" keys="Control+K" onClick={() => (dialog.value = { name: "search" })} />
        <IconButton icon="close" label="Close the list" class="only-phone" onClick={() => (drawer.value = false)} />
      </div>
      {may("create_conversation") ? (
        <button type="button" class="button primary wide" aria-keyshortcuts="n" onClick={() => (dialog.value = { name: "new" })}>
          <Icon name="plus" size={16} /> New conversation
        </button>
      ) : null}
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
    return <p class="hint">{list.failed.value ? "The list could not be loaded." : filtered ? "No matches." : "No conversations yet."}</p>;
  }
  return (
    <ul class="conversations">
      {list.tree.value.map((branch) => (
        <Item key={branch.info.id} branch={branch} />
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

/** A conversation, with its delegated conversations below. */
function Item({ branch }: { branch: Branch }) {
  const { info, children } = branch;
  const current = route.value.id === info.id;
  const unfolded = children.length > 0 && list.isUnfolded(branch);
  const under = `below-${info.id}`;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (children.length === 0 || (event.key !== "ArrowRight" && event.key !== "ArrowLeft")) return;
    event.preventDefault();
    list.fold(info.id, event.key === "ArrowRight");
  };
  return (
    <li>
      <div class="conversation-row">
        <a
          class="conversation"
          href={linkTo(info.id)}
          title={clean(titleOf(info))}
          aria-current={current ? "page" : undefined}
          onClick={() => (drawer.value = false)}
          onKeyDown={onKeyDown}
        >
          <span class="conversation-title">{clean(titleOf(info))}</span>
          <span class="conversation-facts">
            <StatusDot status={info.status} word={info.status !== "idle" && info.status !== "finished"} />
            <span>{ago(info.updated, now.value)}</span>
            {info.cost > 0 || info.unpriced > 0 ? <span class="conversation-cost">{spentOf(info)}</span> : null}
          </span>
        </a>
        {children.length > 0 ? <Unfold branch={branch} unfolded={unfolded} under={under} /> : null}
      </div>
      {unfolded ? (
        <ul class="conversations-below" id={under} aria-label={`Delegated by ${clean(titleOf(info))}`}>
          {children.map((child) => (
            <Item key={child.info.id} branch={child} />
          ))}
        </ul>
      ) : null}
    </li>
  );
}

/** Shows and hides the delegated conversations. While they are hidden, it shows what is urgent there. */
function Unfold({ branch, unfolded, under }: { branch: Branch; unfolded: boolean; under: string }) {
  const { info, children } = branch;
  const urgent = unfolded ? undefined : (["waiting_for_confirmation", "running"] as const).find((status) => stands(branch, status));
  return (
    <button
      type="button"
      class="unfold"
      aria-expanded={unfolded}
      aria-controls={unfolded ? under : undefined}
      aria-label={`${count(children.length, "delegated conversation")} of ${clean(titleOf(info))}`}
      onClick={() => list.fold(info.id, !unfolded)}
    >
      {urgent ? <StatusDot status={urgent} /> : null}
      {children.length}
      <Icon name={unfolded ? "up" : "under"} size={13} />
    </button>
  );
}

function stands(branch: Branch, status: Status): boolean {
  return [...below(branch)].some(({ info }) => info.status === status);
}

const THEMES = { auto: "system", light: "light", dark: "dark" };
const CONNECTIONS = { connecting: "Connecting…", open: "Live", waiting: "Reconnecting…", closed: "" };

function Foot() {
  const icon = theme.value === "auto" ? "auto" : theme.value === "light" ? "sun" : "moon";
  return (
    <div class="sidebar-foot">
      <span class={`connection connection-${connection.value}`} role="status">
        {CONNECTIONS[connection.value]}
      </span>
      {key.value === null ? null : <IconButton icon="key" label="Change the API key" onClick={() => (dialog.value = { name: "key" })} />}
      {may("change_server_agent") ? <IconButton icon="settings" label="Settings of the server" keys="S" onClick={() => (dialog.value = { name: "server", tab: "" })} /> : null}
      <IconButton icon="bell" label="Notify me when an agent needs me" pressed={notifying.value} onClick={() => void toggleNotifying()} />
      <IconButton icon={icon} label={`Theme: ${THEMES[theme.value]}`} keys="t" onClick={nextTheme} />
      <IconButton icon="help" label="Keyboard shortcuts" keys="?" onClick={() => (dialog.value = { name: "help" })} />
    </div>
  );
}
