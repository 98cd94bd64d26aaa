import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Open } from "../../state/open";
import { Head, Modal } from "../dialogs/frame";

/** The settings of a conversation. */
export function SettingsDialog({ conversation }: { conversation: Open }) {
  return <Loaded title="Settings" load={() => import("./settings")} show={({ Settings }) => <Settings conversation={conversation} />} />;
}

/** The settings of the server: what new conversations begin with. */
export function ServerDialog({ tab }: { tab: string }) {
  return <Loaded title="Server settings" load={() => import("../server/settings")} show={({ ServerSettings }) => <ServerSettings tab={tab} />} />;
}

/** A dialog whose content is loaded when it is first opened. */
function Loaded<T>({ title, load, show }: { title: string; load: () => Promise<T>; show: (loaded: T) => ComponentChildren }) {
  const [found, setFound] = useState<{ loaded: T } | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    load().then((loaded) => setFound({ loaded }), () => setFailed(true));
  }, []);
  return (
    <Modal title={title} look="settings">
      <Head title={title} />
      {found ? show(found.loaded) : <p class="hint">{failed ? "The settings could not be loaded. Reload the page." : "Loading…"}</p>}
    </Modal>
  );
}
