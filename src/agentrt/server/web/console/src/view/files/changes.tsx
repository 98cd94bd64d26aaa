import type { GitChanges } from "@agentrt/client";
import { useEffect, useState } from "preact/hooks";
import { isKept, KEEPING, type Keeping, keepingOf, type Step, stepAt } from "../../model/steps";
import { clean, clock } from "../../model/words";
import type { Open } from "../../state/open";
import { rest } from "../../state/session";
import { Diff, DiffCount } from "../diff";
import { useFresh } from "../fresh";

const SHOWN = 50;
const WHO = { agent: "The agent", people: "People", rewind: "A rewind", unknown: "An unknown author" } as const;

/** What changed: since the beginning, since the last commit, and step by step. */
export function Changes({ conversation }: { conversation: Open }) {
  const keeping = useKeeping(conversation);
  if (keeping === null) return <p class="hint">Loading…</p>;
  return (
    <>
      <h3>Since the beginning</h3>
      <SinceBeginning conversation={conversation} keeping={keeping} />
      <SinceCommit conversation={conversation} />
      <h3>Step by step</h3>
      {keeping.steps.length === 0 ? <p class="hint">No step has changed a file yet.</p> : null}
      {keeping.steps.slice(-SHOWN).reverse().map((step) => (
        <Unfolded key={`${step.since}-${step.until}`} conversation={conversation} step={step} />
      ))}
    </>
  );
}

/** From the saved trees, so no repository is needed. */
function SinceBeginning({ conversation, keeping: { last, off, leftOut } }: { conversation: Open; keeping: Keeping }) {
  if (last === null)
    return <p class="hint">{off ? `Files are not saved here: ${clean(off)}.` : "No files are saved yet. That starts with the first step that may change a file."}</p>;
  return (
    <>
      {off ? <p class="hint">Later changes are not saved: {clean(off)}.</p> : null}
      {leftOut.length > 0 ? <p class="hint">Not included: {clean(leftOut.join(", "))}.</p> : null}
      <Between conversation={conversation} since={1} until={last} />
    </>
  );
}

/** Only if the workspace is a git repository. */
function SinceCommit({ conversation }: { conversation: Open }) {
  const seq = conversation.info.value?.cursor.seq;
  const ask = async (): Promise<GitChanges | null> => {
    const { items } = await rest.files(conversation.id);
    return items.some((entry) => entry.name === ".git" && entry.type === "directory") ? rest.changes(conversation.id) : null;
  };
  const { found, problem } = useFresh(ask, [conversation, seq]);
  if (found === null && !problem) return null;
  return (
    <>
      <h3>Since the last commit</h3>
      {problem ? <p class="hint">{problem}</p> : null}
      {found?.items.length === 0 ? <p class="hint">Nothing changed.</p> : null}
      {found?.items.map((change) => (
        <Changed key={change.path} path={change.path} status={change.status} diff={() => rest.diff(conversation.id, change.path)} when={seq ?? 0} />
      ))}
    </>
  );
}

/** The changes of the step that contains an event of the past. */
export function ChangesThen({ conversation, at }: { conversation: Open; at: number }) {
  const keeping = useKeeping(conversation);
  if (keeping === null) return <p class="hint">Loading…</p>;
  const step = stepAt(keeping.steps, at);
  return (
    <>
      <h3>Changed in this step</h3>
      {step ? <p class="hint"><Title step={step} /></p> : <p class="hint">No changes up to this event.</p>}
      {step ? <Between conversation={conversation} since={step.since} until={step.until} /> : null}
    </>
  );
}

/** Who changed files, and when. */
function Title({ step: { since, until, by, time } }: { step: Step }) {
  const which = until === since + 1 ? `Event ${until}` : `Events ${since + 1} to ${until}`;
  return (
    <span title={which}>
      {WHO[by]} <span class="quiet">{clock(time)}</span>
    </span>
  );
}

/** The saved files of the whole conversation, including events that are not loaded. */
function useKeeping(conversation: Open): Keeping | null {
  const loaded = (conversation.version.value, conversation.events.filter(isKept).length);
  const { found } = useFresh(() => rest.eventsOf(conversation.id, [...KEEPING], 0, conversation.epoch), [conversation, loaded]);
  return found && keepingOf(found.events);
}

/** A step. Its changes are loaded when it is unfolded. */
function Unfolded({ conversation, step }: { conversation: Open; step: Step }) {
  const [shown, setShown] = useState(false);
  return (
    <details class="step" onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary><Title step={step} /></summary>
      {shown ? <Between conversation={conversation} since={step.since} until={step.until} /> : null}
    </details>
  );
}

function Between({ conversation: { id }, since, until }: { conversation: Open; since: number; until: number }) {
  const { found, problem } = useFresh(() => rest.fileChanges(id, since, until), [id, since, until]);
  if (problem) return <p class="hint">{problem}</p>;
  if (found === null) return <p class="hint">Loading…</p>;
  return (
    <>
      {found.items.length === 0 ? <p class="hint">Nothing changed.</p> : null}
      {found.items.map(({ path, status }) => (
        <Changed key={path} path={path} status={status} diff={() => rest.fileDiff(id, since, until, path)} when={until} />
      ))}
      {found.truncated ? <p class="hint">Only the first {found.items.length} are shown.</p> : null}
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
      {diff === null ? <p class="hint">Loading…</p> : diff === "" ? <p class="hint">No difference to show.</p> : <Diff diff={diff} label={`Changes to ${path}`} path={path} most={60} />}
    </details>
  );
}
