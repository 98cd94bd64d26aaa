import { useState } from "preact/hooks";
import type { Draft } from "../model/drafts";
import { textOf } from "../model/content";
import type { ChildEntry, CondensationEntry, Entry, MessageEntry, NoticeEntry } from "../model/transcript";
import { condensedWords } from "../model/notices";
import { headline } from "../model/tools";
import { clean, clock, count } from "../model/words";
import { toolOf } from "../state/tools";
import { askToRewind, fork } from "../state/doing";
import { may } from "../state/session";
import { copy, dialog } from "../state/ui";
import { Action, ResultAlone, Thought } from "./action";
import { Children } from "./children";
import { Attachments } from "./content";
import { Icon, IconButton } from "./icons";
import { Markdown } from "./markdown";
import { memo } from "./memo";

interface EntryProps {
  entry: Entry;
  output: Draft | undefined;
  past: boolean;
}

export const EntryView = memo(function EntryView({ entry, output, past }: EntryProps) {
  const [active, setActive] = useState(false);
  return (
    <article
      class={`entry entry-${entry.kind}`}
      id={`e${entry.seq}`}
      tabIndex={0}
      onMouseEnter={() => setActive(true)}
      onFocusIn={() => setActive(true)}
      data-seq={entry.seq}
      data-key={entry.key}
      aria-label={labelOf(entry)}
    >
      <Body entry={entry} output={output} past={past} />
      {active && entry.kind !== "abandoned" ? <Tools entry={entry} /> : null}
    </article>
  );
});

function Body({ entry, output, past }: EntryProps) {
  switch (entry.kind) {
    case "message":
      return <Message entry={entry} />;
    case "thought":
      return (
        <>
          {entry.reasoning ? <Thought text={entry.reasoning} /> : null}
          {entry.text ? <Markdown text={entry.text} /> : null}
        </>
      );
    case "action":
      return <Action entry={entry} output={output} past={past} />;
    case "result":
      return <ResultAlone event={entry.event} />;
    case "child":
      return <Delegated entry={entry} past={past} />;
    case "notice":
      return <Notice entry={entry} />;
    case "condensation":
      return <Condensed entry={entry} />;
    case "abandoned":
      return (
        <details class="abandoned">
          <summary>
            Rewound: {count(entry.entries.length, "entry").replace("entrys", "entries")} left behind <span class="quiet">{clock(entry.time)}</span>
          </summary>
          {entry.entries.map((left) => (
            <EntryView key={left.key} entry={left} output={undefined} past={true} />
          ))}
        </details>
      );
  }
}

function Message({ entry }: { entry: MessageEntry }) {
  const { event } = entry;
  const text = textOf(event.content);
  if (event.source === "user") {
    return (
      <div class="said-by-user">
        {event.by ? <span class="by">{event.by}</span> : null}
        <div class="plain">{clean(text)}</div>
        <Attachments content={event.content} />
      </div>
    );
  }
  return (
    <div class={event.source === "agent" ? "said-by-agent" : "said-by-other"}>
      {event.reasoning ? <Thought text={event.reasoning} /> : null}
      <Markdown text={text} />
      <Attachments content={event.content} />
      {event.partial && !entry.interrupted ? <p class="quiet">— interrupted here</p> : null}
    </div>
  );
}

/** A delegated conversation whose action is not loaded. */
function Delegated({ entry, past }: { entry: ChildEntry; past: boolean }) {
  return (
    <div class="action">
      <div class="action-head">
        <span class="action-icon">
          <Icon name="branch" size={16} />
        </span>
        <span class="action-verb">Delegated</span>
        <span class="action-line">{clean(entry.child.task)}</span>
      </div>
      <Children children={[entry.child]} past={past} />
    </div>
  );
}

function Notice({ entry }: { entry: NoticeEntry }) {
  const line = <span>{clean(entry.text)}</span>;
  if (!entry.detail) return <p class={`notice tone-${entry.tone}`}>{line}</p>;
  return (
    <details class={`notice tone-${entry.tone}`} open={entry.tone === "danger"}>
      <summary>{line}</summary>
      <p class="plain">{clean(entry.detail)}</p>
    </details>
  );
}

/** Opens to the summary, and to the entries that it replaced. */
function Condensed({ entry }: { entry: CondensationEntry }) {
  const { event, replaced } = entry;
  return (
    <details class="notice condensed">
      <summary>{condensedWords(event)}</summary>
      {event.problem ? <p class="tone-warning">{clean(event.problem)}</p> : null}
      {event.summary ? <Markdown text={event.summary} /> : null}
      {replaced.length > 0 ? (
        <ol aria-label="Replaced entries">
          {replaced.map((one) => (
            <li key={one.key}>
              <button type="button" class="link" onClick={() => jumpTo(one.seq)}>
                {labelOf(one)}: {clean(plainOf(one).slice(0, 120))}
              </button>
            </li>
          ))}
        </ol>
      ) : null}
    </details>
  );
}

function jumpTo(seq: number): void {
  const entry = document.getElementById(`e${seq}`);
  entry?.scrollIntoView({ block: "center" });
  entry?.focus({ preventScroll: true });
}

function Tools({ entry }: { entry: Entry }) {
  return (
    <div class="entry-tools" role="group" aria-label={`Event ${entry.seq}`}>
      <time dateTime={entry.time} class="quiet">
        {clock(entry.time)}
      </time>
      {may("fork") ? <IconButton icon="fork" label={`Fork after event ${entry.last}`} onClick={() => void fork(entry.last)} /> : null}
      {may("rewind") ? <IconButton icon="rewind" label={`Rewind to event ${entry.last}`} onClick={() => askToRewind(entry.last)} /> : null}
      <IconButton icon="copy" label="Copy" onClick={() => void copy(plainOf(entry))} />
      <IconButton icon="code" label="Show the event" onClick={() => (dialog.value = { name: "event", seq: entry.seq })} />
    </div>
  );
}

function plainOf(entry: Entry): string {
  switch (entry.kind) {
    case "message":
      return textOf(entry.event.content);
    case "thought":
    case "notice":
      return entry.text;
    case "action":
      return [headline(toolOf(entry.event.tool_name), entry.arguments), entry.result?.type === "ObservationEvent" ? textOf(entry.result.content) : ""]
        .filter(Boolean)
        .join("\n");
    case "result":
      return entry.event.type === "ObservationEvent" ? textOf(entry.event.content) : "";
    case "child":
      return entry.child.task;
    case "condensation":
      return condensedWords(entry.event);
    case "abandoned":
      return "";
  }
}

function labelOf(entry: Entry): string {
  switch (entry.kind) {
    case "message":
      return entry.event.source === "user" ? "You" : entry.event.source === "agent" ? "Agent" : "System message";
    case "thought":
      return "Agent";
    case "action":
      return `Action: ${entry.event.tool_name}, ${entry.phase}`;
    case "result":
      return `Result of ${entry.event.tool_name}`;
    case "child":
      return "Delegated conversation";
    case "notice":
      return "Notice";
    case "condensation":
      return "Summary";
    case "abandoned":
      return "Left behind by a rewind";
  }
}
