import { clean, titleOf } from "../model/words";
import * as list from "../state/list";
import type { Open } from "../state/open";
import { linkTo } from "../state/route";
import { StatusDot } from "./badges";
import { OpenDrawer } from "./header";
import { nameOf } from "./names";

/** Replaces a conversation that is open elsewhere, until it is free. */
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
            ? "Another process is using this conversation. It appears here as soon as it is free."
            : "This conversation is working for another one. It appears here as soon as it is free. Approve its actions in the other conversation."}
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

/** Above the composer while the conversation is open elsewhere. */
export function Locked({ conversation }: { conversation: Open }) {
  if (!conversation.locked.value) return null;
  return (
    <p class="locked" role="status">
      This conversation is in use elsewhere. New events appear here as soon as it is free.
    </p>
  );
}
