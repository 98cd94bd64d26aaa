import { clock } from "../model/words";
import { askToFork, askToRewind } from "../state/doing";
import type { Open } from "../state/open";
import { past } from "../state/past";
import { goTo, route } from "../state/route";
import { may } from "../state/session";
import { historyShown } from "../state/ui";
import { IconButton } from "./icons";

/** The slider that goes back in time, event by event. */
export function History({ conversation }: { conversation: Open }) {
  const { at } = route.value;
  const newest = conversation.cursor.value.seq;
  if (!historyShown.value && at === null) return null;
  const place = at ?? newest;
  const move = (to: number): void => goTo(to >= newest ? null : Math.max(1, to));
  return (
    <section class={`history ${at === null ? "" : "in-past"}`} aria-label="History">
      <div class="history-slide">
        <IconButton icon="left" label="Previous event" onClick={() => move(place - 1)} disabled={place <= 1} />
        <input
          type="range"
          min={1}
          max={Math.max(newest, 1)}
          value={place}
          aria-label="Show the conversation as it was after event"
          aria-valuetext={`event ${place} of ${newest}`}
          onInput={(event) => move(Number(event.currentTarget.value))}
        />
        <IconButton icon="right" label="Next event" onClick={() => move(place + 1)} disabled={at === null} />
        <output class="history-place">
          {place} / {newest}
        </output>
        {at === null ? <IconButton icon="close" label="Close history" onClick={() => (historyShown.value = false)} /> : null}
      </div>
      {at === null ? null : (
        <div class="history-actions">
          <p>
            As it was after event {at}
            {past.value?.time ? `, ${clock(past.value.time)}` : ""}
          </p>
          {may("fork") ? <IconButton icon="fork" label="Fork from here" text onClick={() => askToFork(at)} /> : null}
          {may("rewind") ? <IconButton icon="rewind" label="Rewind to here" text onClick={() => askToRewind(at)} /> : null}
          <button type="button" class="button primary" onClick={() => goTo(null)}>
            Back to now
          </button>
        </div>
      )}
    </section>
  );
}
