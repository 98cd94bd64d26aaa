import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Open } from "../../state/open";
import { Head, Modal } from "../dialogs/frame";

/** The settings of a conversation; what is in the dialog is loaded when it is opened first. */
export function SettingsDialog({ conversation }: { conversation: Open }) {
  const [found, setFound] = useState<{ Settings: FunctionComponent<{ conversation: Open }> } | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    import("./settings").then(setFound, () => setFailed(true));
  }, []);
  return (
    <Modal title="Settings" look="settings">
      <Head title="Settings" />
      {found ? <found.Settings conversation={conversation} /> : <p class="hint">{failed ? "This part of the console could not be loaded: reload the page." : "Loading…"}</p>}
    </Modal>
  );
}
