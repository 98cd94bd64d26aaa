import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Open } from "../../state/open";
import { Head, Modal } from "../dialogs/frame";

/** The settings of a conversation. The content is loaded when the dialog is first opened. */
export function SettingsDialog({ conversation }: { conversation: Open }) {
  const [found, setFound] = useState<{ Settings: FunctionComponent<{ conversation: Open }> } | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    import("./settings").then(setFound, () => setFailed(true));
  }, []);
  return (
    <Modal title="Settings" look="settings">
      <Head title="Settings" />
      {found ? <found.Settings conversation={conversation} /> : <p class="hint">{failed ? "The settings could not be loaded. Reload the page." : "Loading…"}</p>}
    </Modal>
  );
}
