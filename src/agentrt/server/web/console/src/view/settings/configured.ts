import type { Event } from "@agentrt/client";
import { useCallback, useEffect, useState } from "preact/hooks";
import { type Configuration, configured, NOTHING, TELLING } from "../../model/configuration";
import type { Open } from "../../state/open";
import { reasonOf, rest } from "../../state/session";

export interface Configured {
  /** null until it was read. */
  found: Configuration | null;
  /** Why it could not be read. */
  failed: string;
  /** Read what was added since. */
  refresh: () => Promise<void>;
}

interface Read {
  now: Configuration;
  upto: number;
}

/** How a conversation is set up: read from its events once, and kept up with those that come. */
export function useConfiguration(conversation: Open): Configured {
  const [read, setRead] = useState<Read | null>(null);
  const [failed, setFailed] = useState("");
  const refresh = useCallback(async () => {
    try {
      const after = read?.upto ?? 0;
      const { events, upto } = await rest.eventsOf(conversation.id, TELLING, after, conversation.epoch);
      setRead((before) => grown(before, events, upto));
      setFailed("");
    } catch (error) {
      if (read === null) setFailed(reasonOf(error));
    }
  }, [conversation, read?.upto]);
  useEffect(() => void refresh(), [conversation]);
  const version = conversation.version.value;
  useEffect(() => {
    // what is loaded has no gap, so it goes on from what was read
    if (read !== null && conversation.first <= read.upto + 1) setRead((before) => before && grown(before, conversation.events, before.upto));
  }, [version, read]);
  return { found: read?.now ?? null, failed, refresh };
}

function grown(before: Read | null, events: Event[], upto: number): Read {
  const { now, upto: known } = before ?? { now: NOTHING, upto: 0 };
  const added = events.filter((event) => event.seq > known);
  if (before !== null && added.length === 0 && upto <= known) return before;
  return { now: configured(added, now), upto: Math.max(known, upto, added.at(-1)?.seq ?? 0) };
}
