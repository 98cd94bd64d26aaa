import type { FileEntry, FileList } from "@agentrt/client";
import { useEffect, useState } from "preact/hooks";
import { languageOf } from "../model/code";
import { isKept, KEEPING, type Step, stepAt, stepsOf } from "../model/steps";
import { clean } from "../model/words";
import type { Open } from "../state/open";
import { route } from "../state/route";
import { reasonOf, rest } from "../state/session";
import { Code } from "./code";
import { Diff, DiffCount } from "./diff";
import { useFresh } from "./fresh";

const SHOWN = 50;
/** Bytes of a file that are shown. */
const MOST = 200_000;
const WHO = { agent: "the agent", people: "people", rewind: "a rewind", unknown: "nobody knows whom" } as const;

/** What changed: since the last commit and step by step; or the files as they were, in the past. */
export function Files({ conversation }: { conversation: Open }) {
  const { at } = route.value;
  return at === null ? <Now conversation={conversation} /> : <Then conversation={conversation} at={at} />;
}

function Now({ conversation }: { conversation: Open }) {
  const seq = conversation.info.value?.cursor.seq;
  const { found, problem } = useFresh(() => rest.changes(conversation.id), [conversation, seq]);
  const steps = useSteps(conversation);
  return (
    <div class="files">
      <h3>Since the last commit</h3>
      {problem ? <p class="hint">{problem}</p> : null}
      {!problem && found === null ? <p class="hint">Loading…</p> : null}
      {found?.items.length === 0 ? <p class="hint">Nothing changed.</p> : null}
      {found?.items.map((change) => (
        <Changed key={change.path} path={change.path} status={change.status} diff={() => rest.diff(conversation.id, change.path)} when={seq ?? 0} />
      ))}
      <h3>Step by step</h3>
      {steps.length === 0 ? <p class="hint">No step has changed a file yet, or files are not kept.</p> : null}
      {steps.slice(-SHOWN).reverse().map((step) => (
        <Unfolded key={`${step.since}-${step.until}`} conversation={conversation} step={step} />
      ))}
    </div>
  );
}

function Then({ conversation, at }: { conversation: Open; at: number }) {
  const step = stepAt(useSteps(conversation), at);
  return (
    <div class="files">
      <h3>Changed in this step</h3>
      {step ? <p class="hint">{titleOf(step)}</p> : <p class="hint">Nothing was changed before this.</p>}
      {step ? <StepFiles conversation={conversation} step={step} /> : null}
      <h3>Files as they were</h3>
      <Directory key={at} conversation={conversation} at={at} path="" />
    </div>
  );
}

function titleOf({ since, until, by }: Step): string {
  return `Events ${since} to ${until}, by ${WHO[by]}`;
}

/** The steps of the whole conversation, which may be longer than what is loaded of it. */
function useSteps(conversation: Open): Step[] {
  const loaded = (conversation.version.value, conversation.events.filter(isKept).length);
  const { found } = useFresh(() => rest.eventsOf(conversation.id, [...KEEPING], 0, conversation.epoch), [conversation, loaded]);
  return found ? stepsOf(found.events) : [];
}

/** A step, whose changes are asked for once it is unfolded. */
function Unfolded({ conversation, step }: { conversation: Open; step: Step }) {
  const [shown, setShown] = useState(false);
  return (
    <details class="step" onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>{titleOf(step)}</summary>
      {shown ? <StepFiles conversation={conversation} step={step} /> : null}
    </details>
  );
}

function StepFiles({ conversation: { id }, step: { since, until } }: { conversation: Open; step: Step }) {
  const { found, problem } = useFresh(() => rest.fileChanges(id, since, until), [id, since, until]);
  if (problem) return <p class="hint">{problem}</p>;
  if (found === null) return <p class="hint">Loading…</p>;
  return (
    <>
      {found.items.map(({ path, status }) => (
        <Changed key={path} path={path} status={status} diff={() => rest.fileDiff(id, since, until, path)} when={since} />
      ))}
    </>
  );
}

interface ChangedProps {
  path: string;
  status: string;
  diff: () => Promise<{ diff: string }>;
  /** Asked again when this has changed. */
  when: number;
}

function Changed({ path, status, diff: ask, when }: ChangedProps) {
  const [shown, setShown] = useState(false);
  const [diff, setDiff] = useState<string | null>(null);
  useEffect(() => {
    let wanted = true;
    if (shown) ask().then((found) => wanted && setDiff(found.diff), () => wanted && setDiff(""));
    return () => {
      wanted = false;
    };
  }, [shown, when, path]);
  return (
    <details class="file" onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>
        <span class={`file-status file-${status.toLowerCase()}`}>{status}</span>
        <span class="file-path">{clean(path)}</span>
        {diff ? <DiffCount diff={diff} /> : null}
      </summary>
      {diff === null ? <p class="hint">Loading…</p> : diff === "" ? <p class="hint">No difference to show.</p> : <Diff diff={diff} label={`Changes of ${path}`} path={path} most={60} />}
    </details>
  );
}

/** What was in a directory, to be unfolded. */
function Directory({ conversation, at, path }: { conversation: Open; at: number; path: string }) {
  const { found, problem } = useFresh(() => rest.files(conversation.id, path, at), [conversation, at, path]);
  if (problem) return <p class="hint">{problem}</p>;
  if (found === null) return <p class="hint">Loading…</p>;
  if (found.items.length === 0) return <p class="hint">There were no files.</p>;
  return (
    <>
      {found.items.map((entry) => (
        <Entry key={entry.path} entry={entry} conversation={conversation} at={at} />
      ))}
      {more(found)}
    </>
  );
}

function more({ truncated, items }: FileList) {
  return truncated ? <p class="hint">These are the first {items.length}.</p> : null;
}

function Entry({ entry, conversation, at }: { entry: FileEntry; conversation: Open; at: number }) {
  const [shown, setShown] = useState(false);
  const isDirectory = entry.type === "directory";
  const Shown = isDirectory ? Directory : Content;
  return (
    <details class={isDirectory ? "step" : "file"} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>
        <span class="file-path">{clean(entry.name) + (isDirectory ? "/" : "")}</span>
        {isDirectory ? null : <span class="file-status">{entry.type === "file" ? `${entry.size.toLocaleString("en")} B` : entry.type}</span>}
      </summary>
      {shown ? <Shown conversation={conversation} at={at} path={entry.path} /> : null}
    </details>
  );
}

function Content({ conversation, at, path }: { conversation: Open; at: number; path: string }) {
  const [text, setText] = useState<string | null>(null);
  useEffect(() => {
    let wanted = true;
    read(conversation.id, path, at).then((found) => wanted && setText(found), (error: unknown) => wanted && setText(reasonOf(error)));
    return () => {
      wanted = false;
    };
  }, [conversation, path, at]);
  if (text === null) return <p class="hint">Loading…</p>;
  return text === "" ? <p class="hint">It is empty.</p> : <Code code={text} language={languageOf(path)} label={`${path} after event ${at}`} most={60} />;
}

async function read(id: string, path: string, at: number): Promise<string> {
  const blob = await rest.file(id, path, at);
  const text = await blob.slice(0, MOST).text();
  return text.includes("\0") ? `${blob.size.toLocaleString("en")} bytes that are no text` : text;
}
