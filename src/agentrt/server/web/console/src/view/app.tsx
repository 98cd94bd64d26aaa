import { announced, dialog, dismiss, drawer, toasts } from "../state/ui";
import { open } from "../state/open";
import { past } from "../state/past";
import { Composer } from "./composer";
import { Ask, Key, Sure } from "./dialogs/ask";
import { EventDialog } from "./dialogs/event";
import { Help } from "./dialogs/help";
import { New } from "./dialogs/new";
import { Search } from "./dialogs/search";
import { Header, OpenDrawer } from "./header";
import { History } from "./history";
import { Icon } from "./icons";
import { Inspector } from "./inspector";
import { Sidebar } from "./sidebar";
import { TranscriptView } from "./transcript";
import { Waiting } from "./waiting";

export function App() {
  return (
    <>
      {open.value !== null && past.value === null ? (
        <a class="skip" href="#composer" onClick={skip}>
          To the message field
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
      <div class="toasts" role="status">
        {toasts.value.map((toast) => (
          <div key={toast.id} class={`toast toast-${toast.tone}`}>
            <span>{toast.text}</span>
            <button type="button" aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
              <Icon name="close" size={14} />
            </button>
          </div>
        ))}
      </div>
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
          <h1>{conversation === null ? "agentrt" : "There is no such conversation"}</h1>
          <p>{conversation === null ? "Choose a conversation, or begin one." : "It was deleted, or it belongs to someone else."}</p>
          <button type="button" class="button primary" onClick={() => (dialog.value = { name: "new" })}>
            <Icon name="plus" size={16} /> New conversation
          </button>
        </div>
      </main>
    );
  }
  return (
    <div class="work">
      <main class="main">
        <Header conversation={conversation} />
        <div class="stage">
          {conversation.loading.value ? <p class="hint">Loading…</p> : <TranscriptView conversation={conversation} />}
        </div>
        <div class="below">
          <History conversation={conversation} />
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
