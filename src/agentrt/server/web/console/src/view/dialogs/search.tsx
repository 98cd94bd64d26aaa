import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { clean, titleOf } from "../../model/words";
import * as list from "../../state/list";
import { go } from "../../state/route";
import { explain, rest } from "../../state/session";
import type { Hit } from "@agentrt/client";
import { close, Frame } from "./frame";

/** What a hit is, by the kind that the server names. */
const KINDS: Record<string, string> = {
  user: "your message",
  agent: "the agent",
  environment: "note to the agent",
  hook: "a hook",
  action: "tool call",
  observation: "result",
  error: "error",
  rejection: "rejected",
};

/** Searches the text of all conversations. */
export function Search() {
  const [hits, setHits] = useState<Hit[] | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const asked = useRef(0);
  const search = (text: string): void => {
    clearTimeout(timer.current);
    const mine = ++asked.current;
    if (text.trim().length < 2) {
      setHits(null);
      return;
    }
    timer.current = setTimeout(() => {
      rest.search(text).then((found) => mine === asked.current && setHits(found), explain);
    }, 200);
  };
  const titles = new Map((list.items.value ?? []).map((info) => [info.id, titleOf(info)]));
  return (
    <Frame title="Search all conversations" wide>
      <input
        type="search"
        class="search-field"
        autofocus
        aria-label="Search for"
        placeholder="Text of a message, command or file…"
        onInput={(event) => search(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") close(); // it would first empty the field
        }}
      />
      <div role="status" class="unseen">
        {hits === null ? "" : `${hits.length} found`}
      </div>
      {hits === null ? null : hits.length === 0 ? <p class="hint">Nothing found.</p> : null}
      <ul class="hits">
        {hits?.map((hit) => (
          <li key={`${hit.conversation}-${hit.seq}`}>
            <button
              type="button"
              onClick={() => {
                close();
                go(hit.conversation, hit.seq);
              }}
            >
              <span class="hit-title">
                {clean(titles.get(hit.conversation) ?? hit.conversation)} <span class="quiet">{KINDS[hit.kind] ?? hit.kind}</span>
              </span>
              <Found hit={hit} />
            </button>
          </li>
        ))}
      </ul>
    </Frame>
  );
}

function Found({ hit }: { hit: Hit }) {
  const pieces: ComponentChildren[] = [];
  let end = 0;
  for (const [from, to] of hit.matches) {
    pieces.push(clean(hit.text.slice(end, from)), <mark key={from}>{clean(hit.text.slice(from, to))}</mark>);
    end = to;
  }
  pieces.push(clean(hit.text.slice(end)));
  return <span class="hit-text">{pieces}</span>;
}
