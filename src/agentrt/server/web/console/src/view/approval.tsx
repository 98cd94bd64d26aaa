import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { approve, askToReject } from "../state/doing";
import { may } from "../state/session";
import { Icon } from "./icons";

/** How many requests for approval are in view. */
export const seen = signal(0);

/** Asks a person to approve actions; `why` is the reason. */
export function Approval({ ids, why, detail }: { ids: string[]; why: string; detail?: string | undefined }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let counted = 0;
    const count = (now: number): void => {
      seen.value += now - counted;
      counted = now;
    };
    const watch = new IntersectionObserver((found) => count(found.at(-1)?.isIntersecting ? 1 : 0), { threshold: 0.6 });
    if (place.current) watch.observe(place.current);
    return () => {
      watch.disconnect();
      count(0);
    };
  }, []);
  return (
    <div class="approval" ref={place} role="group" aria-label="Waiting for your approval">
      <p class="approval-why">
        Approval needed {why}
        {detail ? <span class="quiet"> — {detail}</span> : null}
      </p>
      {may("confirm") ? <Buttons ids={ids} /> : <p class="quiet">This key cannot approve actions: that needs the scope “approve”.</p>}
    </div>
  );
}

function Buttons({ ids }: { ids: string[] }) {
  return (
    <div class="approval-buttons">
      <button type="button" class="button primary" onClick={() => void approve(ids)}>
        <Icon name="check" size={16} /> Approve
      </button>
      <details class="menu menu-up">
        <summary class="button">Always…</summary>
        <div class="menu-items">
          <button type="button" onClick={() => void approve(ids, "session")}>
            Allow the same in this conversation
          </button>
          {may({ scope: "admin" }) ? (
            <button type="button" onClick={() => void approve(ids, "project")}>
              Allow the same in this project
            </button>
          ) : null}
        </div>
      </details>
      <button type="button" class="button danger" onClick={() => askToReject(ids)}>
        Reject…
      </button>
    </div>
  );
}
