import { clean, titleOf } from "../model/words";
import * as list from "../state/list";
import type { Open } from "../state/open";
import { linkTo } from "../state/route";
import { StatusDot } from "./badges";
import { OpenDrawer } from "./header";
import { nameOf } from "./names";

/** In place of a conversation that someone else has open. It comes by itself. */
export function LockedPage({ conversation }: { conversation: Open }) {
  const info = list.items.value?.find((one) => one.id === conversation.id);
  const parent = info?.delegated_by ?? null;
  return (
    <main class="main empty">
      <div class="empty-head">
        <OpenDrawer />
      </div>
      <div class="empty-text" role="status">
        <h1>{info ? clean(titleOf(info)) : conversation.id}</h1>
        {info ? <StatusDot status={info.status} word /> : null}
        <p>
          {parent === null
            ? "Another process is at work on it. It is shown here as soon as that is over."
            : "It is at work for another conversation. It is shown here as soon as it rests; what is waiting for your answer is asked over there."}
        </p>
        {parent === null ? null : (
          <a class="button" href={linkTo(parent)}>
            Go to {clean(nameOf(parent))}
          </a>
        )}
      </div>
    </main>
  );
}

/** Above the composer while someone else has it open again. */
export function Locked({ conversation }: { conversation: Open }) {
  if (!conversation.locked.value) return null;
  return (
    <p class="locked" role="status">
      Someone else is at work on it: what happens is shown as soon as that is over.
    </p>
  );
}
