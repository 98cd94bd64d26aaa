import { useCallback, useEffect, useState } from "preact/hooks";
import { type Configuration, TELLING } from "../../model/configuration";
import type { Open } from "../../state/open";
import { reasonOf, rest } from "../../state/session";

export interface Configured {
  /** null until it was read. */
  found: Configuration | null;
  /** Why it could not be read. */
  failed: string;
  /** Read it again. */
  refresh: () => Promise<void>;
}

/** The settings of a conversation, read from the server again after events that change them. */
export function useConfiguration(conversation: Open): Configured {
  const [found, setFound] = useState<Configuration | null>(null);
  const [failed, setFailed] = useState("");
  const refresh = useCallback(async () => {
    try {
      const read = await rest.state(conversation.id);
      setFound((before) => (before !== null && before.cursor.seq > read.cursor.seq && before.cursor.epoch === read.cursor.epoch ? before : read));
      setFailed("");
    } catch (error) {
      setFailed(reasonOf(error));
    }
  }, [conversation]);
  useEffect(() => void refresh(), [conversation]);
  const version = conversation.version.value;
  useEffect(() => {
    const known = found?.cursor.seq ?? Infinity;
    if (conversation.events.some((event) => event.seq > known && TELLING.has(event.type))) void refresh();
  }, [version, found]);
  return { found, failed: found === null ? failed : "", refresh };
}
