import "@preact/signals";
import { effect } from "@preact/signals";
import { render } from "preact";
import * as list from "./state/list";
import { open, show } from "./state/open";
import { route } from "./state/route";
import { onKey } from "./state/shortcuts";
import { App } from "./view/app";
import { titleOf } from "./view/sidebar";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/transcript.css";
import "./styles/dialogs.css";

effect(() => show(route.value.id));
effect(() => {
  const info = open.value?.info.value;
  const waits = info?.status === "waiting_for_confirmation" ? "● " : "";
  document.title = info ? `${waits}${titleOf(info)} · agentrt` : "agentrt";
});

addEventListener("keydown", onKey);
addEventListener("agentrt:key", () => {
  show(null);
  show(route.value.id);
});
// a menu closes when something in it was chosen, or when the focus goes elsewhere
addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll<HTMLDetailsElement>("details.menu[open]")) {
    const inside = event.target instanceof Node && menu.contains(event.target);
    if (!inside || (event.target as Element).closest(".menu-items")) menu.open = false;
  }
});

void list.refresh();
render(<App />, document.getElementById("root")!);
