import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Draft } from "../model/drafts";
import type { Entry } from "../model/transcript";
import type { Open } from "../state/open";
import { past } from "../state/past";
import { Thought } from "./action";
import { EntryView } from "./entry";
import { Icon } from "./icons";
import { Markdown } from "./markdown";
import { Terminal } from "./terminal";

const NEAR = 80;

export function TranscriptView({ conversation }: { conversation: Open }) {
  const then = past.value;
  conversation.version.value; // drawn again when it changes
  const transcript = then?.transcript ?? conversation.transcript;
  const drafts = then === null ? conversation.drafts.all : [];
  const running = then === null ? transcript.running : [];
  const outputs = drafts.filter((draft) => draft.output !== "");
  const alone = running.length === 1 && outputs.length === 1;
  const first = then?.first ?? conversation.first;
  const scroll = useFollowing(conversation, then?.at ?? null, first);
  return (
    <>
      <div class="transcript" id="transcript" ref={scroll.box} onScroll={scroll.onScroll} tabIndex={0} role="region" aria-label="Transcript">
        <div class="entries" ref={scroll.inside}>
          {first > 1 ? (
            <p class="older">
              {then === null ? (
                <button type="button" class="link" onClick={() => void conversation.older()} disabled={conversation.loadingOlder.value}>
                  {conversation.loadingOlder.value ? "Loading…" : `Load earlier events (${first - 1})`}
                </button>
              ) : (
                <span class="quiet">{first - 1} earlier events</span>
              )}
            </p>
          ) : null}
          {transcript.entries.map((entry) => (
            <EntryView key={entry.key} entry={entry} output={alone && entry === running[0] ? outputs[0] : undefined} past={then !== null} />
          ))}
          {drafts.map((draft) => (alone && draft === outputs[0] ? null : <Growing key={draft.becomes} draft={draft} />))}
          {then === null ? <Working conversation={conversation} drafts={drafts} entries={transcript.entries} /> : null}
        </div>
      </div>
      {scroll.away ? (
        <button type="button" class="jump" onClick={scroll.toEnd}>
          <Icon name="down" size={15} /> Newest
        </button>
      ) : null}
    </>
  );
}

function Growing({ draft }: { draft: Draft }) {
  return (
    <div class="entry entry-growing" data-becomes={draft.becomes}>
      {draft.reasoning ? <Thought text={draft.reasoning} open={draft.text === ""} growing /> : null}
      {draft.text ? <Markdown text={draft.text} growing /> : null}
      {draft.output ? <Terminal output={draft.output} label="Output so far" most={20} /> : null}
    </div>
  );
}

function Working({ conversation, drafts, entries }: { conversation: Open; drafts: Draft[]; entries: Entry[] }) {
  const status = conversation.info.value?.status;
  const last = entries.at(-1);
  if (status !== "running" || drafts.length > 0 || (last?.kind === "action" && last.phase === "running")) return null;
  return (
    <p class="working">
      <span class="spinner" aria-hidden="true" /> Working
    </p>
  );
}

/** Follows the newest entry while the reader is at the end, and keeps the place when older events are loaded above. */
function useFollowing(conversation: Open, at: number | null, first: number) {
  const box = useRef<HTMLDivElement>(null);
  const inside = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const height = useRef(0);
  const [away, setAway] = useState(false);

  const toEnd = (): void => {
    following.current = true;
    setAway(false);
    const element = box.current;
    if (element) element.scrollTop = element.scrollHeight;
  };
  const onScroll = (): void => {
    const element = box.current;
    if (!element) return;
    following.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    setAway(!following.current);
    if (element.scrollTop < 400 && at === null && !conversation.loading.value) void conversation.older();
  };

  useEffect(() => {
    const element = box.current;
    if (!element || !inside.current) return undefined;
    const watch = new ResizeObserver(() => {
      if (following.current) element.scrollTop = element.scrollHeight;
      height.current = element.scrollHeight;
    });
    watch.observe(inside.current);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(toEnd, [conversation, at]);
  const before = useRef(first);
  useLayoutEffect(() => {
    const element = box.current;
    if (element && first < before.current && !following.current) element.scrollTop += element.scrollHeight - height.current;
    before.current = first;
  }, [first]);
  return { box, inside, onScroll, toEnd, away };
}
