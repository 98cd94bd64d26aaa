import { approve, askToReject } from "../state/doing";
import { Icon } from "./icons";

/** Asks for a person's word on actions; `why` says why he is asked. */
export function Approval({ ids, why, detail }: { ids: string[]; why: string; detail?: string | undefined }) {
  return (
    <div class="approval" role="group" aria-label="Your word is needed">
      <p class="approval-why">
        You are asked {why}
        {detail ? <span class="quiet"> — {detail}</span> : null}
      </p>
      <div class="approval-buttons">
        <button type="button" class="button primary" onClick={() => void approve(ids)}>
          <Icon name="check" size={16} /> Approve
        </button>
        <details class="menu">
          <summary class="button">Always…</summary>
          <div class="menu-items">
            <button type="button" onClick={() => void approve(ids, "session")}>
              Allow the same in this conversation
            </button>
            <button type="button" onClick={() => void approve(ids, "project")}>
              Allow the same in this project
            </button>
          </div>
        </details>
        <button type="button" class="button danger" onClick={() => askToReject(ids)}>
          Reject…
        </button>
      </div>
    </div>
  );
}
