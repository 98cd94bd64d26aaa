import "@preact/signals";
import { effect } from "@preact/signals";
import { render } from "preact";
import * as list from "./state/list";
import "./state/menus";
import "./state/notifying";
import { show } from "./state/open";
import { route } from "./state/route";
import { introduce } from "./state/session";
import { onKey } from "./state/shortcuts";
import { over, toast } from "./state/ui";
import { App } from "./view/app";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/sidebar.css";
import "./styles/inspector.css";
import "./styles/composer.css";
import "./styles/layout.css";
import "./styles/actions.css";
import "./styles/transcript.css";
import "./styles/markdown.css";
import "./styles/output.css";
import "./styles/dialogs.css";

effect(() => {
  show(route.value.id);
  over("refusal"); // what was refused elsewhere
});
addEventListener("keydown", onKey);
addEventListener("agentrt:key", () => {
  show(null);
  show(route.value.id);
});
// a part of the page that is loaded late is gone when the server was replaced by another version
addEventListener("vite:preloadError", (event) => {
  event.preventDefault();
  toast("The console was updated. Reload the page.", "danger");
});

void introduce();
void list.refresh();
render(<App />, document.getElementById("root")!);
