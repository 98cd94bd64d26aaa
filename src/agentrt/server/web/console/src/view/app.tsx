import { announced, dialog, drawer } from "../state/ui";
import { attach } from "../state/attaching";
import { open } from "../state/open";
import { past } from "../state/past";
import { may } from "../state/session";
import { Composer, hovered } from "./composer";
import { Ask, Key, Sure } from "./dialogs/ask";
import { EventDialog } from "./dialogs/event";
import { Help } from "./dialogs/help";
import { New } from "./dialogs/new";
import { Search } from "./dialogs/search";
import { dropping } from "./dropping";
import { Header, OpenDrawer } from "./header";
import { History } from "./history";
import { Inspector } from "./inspector";
import { Locked, LockedPage } from "./locked";
import { ServerDialog, SettingsDialog } from "./settings/dialog";
import { Sidebar } from "./sidebar";
import { Start } from "./start";
import { Toasts } from "./toasts";
import { TranscriptView } from "./transcript";
import { Inputs } from "./inputs";
import { Waiting } from "./waiting";

export function App() {
  return (
    <>
      {open.value !== null && past.value === null ? (
        <a class="skip" href="#composer" onClick={skip}>
          Skip to the message field
        </a>
      ) : null}
      <div class="layout">
        <Sidebar />
        {drawer.value ? <div class="shade" onClick={() => (drawer.value = false)} /> : null}
        <Main />
      </div>
      <Dialogs />
      <div class="unseen" aria-live="polite" aria-atomic="true">
        {announced.value}
      </div>
      {dialog.value === null ? <Toasts /> : null}
    </>
  );
}

function skip(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("composer")?.focus();
}

function Main() {
  const conversation = open.value;
  if (conversation === null || conversation.missing.value) {
    return (
      <main class="main empty">
        <div class="empty-head">
          <OpenDrawer />
        </div>
        <div class="empty-text">
          <h1>{conversation === null ? "What should the agent do?" : "Conversation not found"}</h1>
          {conversation === null ? null : <p>It was deleted, or it belongs to someone else.</p>}
          <Start />
        </div>
      </main>
    );
  }
  if (conversation.locked.value && conversation.info.value === null) return <LockedPage conversation={conversation} />;
  return (
    <div class="work">
      <main class="main" {...dropping((now) => (hovered.value = now), past.value === null && may("write_file") ? (files) => void attach(conversation.id, files) : null)}>
        <Header conversation={conversation} />
        <div class="stage">
          {conversation.loading.value ? <p class="hint">Loading…</p> : <TranscriptView conversation={conversation} />}
        </div>
        <div class="below">
          <History conversation={conversation} />
          <Locked conversation={conversation} />
          <Inputs conversation={conversation} />
          <Waiting conversation={conversation} />
          <Composer key={conversation.id} conversation={conversation} />
        </div>
      </main>
      <Inspector conversation={conversation} />
    </div>
  );
}

function Dialogs() {
  const asked = dialog.value;
  switch (asked?.name) {
    case "key":
      return <Key />;
    case "new":
      return <New />;
    case "help":
      return <Help />;
    case "search":
      return <Search />;
    case "settings":
      return open.value === null ? null : <SettingsDialog key={open.value.id} conversation={open.value} />;
    case "server":
      return <ServerDialog tab={asked.tab} />;
    case "ask":
      return <Ask asked={asked} />;
    case "sure":
      return <Sure asked={asked} />;
    case "event":
      return <EventDialog key={asked.seq} seq={asked.seq} />;
    default:
      return null;
  }
}
