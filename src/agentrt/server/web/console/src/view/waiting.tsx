import { count } from "../model/words";
import { approve, askToReject } from "../state/doing";
import type { Open } from "../state/open";
import { past } from "../state/past";
import { may } from "../state/session";
import { seen } from "./approval";
import { Icon } from "./icons";

/** Above the composer while actions wait for approval, unless the only one is in view. */
export function Waiting({ conversation }: { conversation: Open }) {
  const shown = conversation.waiting.value;
  const info = conversation.info.value;
  const elsewhere = info?.status === "waiting_for_confirmation" && (info.cursor.seq ?? 0) >= conversation.cursor.value.seq ? info.pending.length : 0;
  const number = Math.max(shown.length, elsewhere);
  if (number === 0 || !may("confirm") || past.value !== null || (number === 1 && seen.value > 0)) return null;
  const first = shown[0];
  const jump = (): void => {
    const entry = first ? document.getElementById(`e${first.seq}`) : document.querySelector<HTMLElement>(".entry:has(.child-action)");
    entry?.scrollIntoView({ block: "center" });
    entry?.focus();
  };
  return (
    <div class="waiting" role="region" aria-label="Waiting for you">
      <button type="button" class="link" onClick={jump}>
        {count(number, "action")} {number === 1 ? "needs" : "need"} your approval
      </button>
      <button type="button" class="button primary" aria-keyshortcuts="a" title="a" onClick={() => void approve()}>
        <Icon name="check" size={16} /> Approve{number > 1 ? " all" : ""}
      </button>
      <button type="button" class="button danger" aria-keyshortcuts="r" title="r" onClick={() => askToReject()}>
        Reject{number > 1 ? " all" : ""}…
      </button>
    </div>
  );
}
