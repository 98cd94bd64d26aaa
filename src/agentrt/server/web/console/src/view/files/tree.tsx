import type { FileEntry, FileList } from "@agentrt/client";
import { useState } from "preact/hooks";
import { sizeOf } from "../../model/files";
import { clean } from "../../model/words";
import { save, touched } from "../../state/files";
import type { Open } from "../../state/open";
import { may, rest } from "../../state/session";
import { useFresh } from "../fresh";
import { Icon } from "../icons";
import { Preview } from "./preview";
import { UploadButton } from "./upload";

/** Entries of a directory that are shown at first, and added by each press of the button. */
const DRAWN = 200;

interface Place {
  conversation: Open;
  /** After which event; null: now. */
  at: number | null;
}

/** The workspace as a tree. A directory is loaded when it is unfolded. */
export function Tree(place: Place) {
  return <Directory {...place} path="" />;
}

function Directory({ conversation, at, path }: Place & { path: string }) {
  const [most, setMost] = useState(DRAWN);
  // what the agent does is looked at again once it has ended
  const results = (conversation.version.value, conversation.events.reduce((seq, event) => (event.type === "ObservationEvent" ? event.seq : seq), 0));
  const { found, problem } = useFresh(() => rest.files(conversation.id, path, at ?? undefined), [conversation, at, path, at === null ? results : 0, touched.value]);
  if (problem) return <p class="hint">{problem}</p>;
  if (found === null) return <p class="hint">Loading…</p>;
  if (found.items.length === 0) return <p class="hint">{at === null ? "No files." : "There were no files."}</p>;
  return (
    <>
      <ul class="tree">
        {found.items.slice(0, most).map((entry) => (
          <li key={entry.path} class={entry.ignored ? "ignored" : ""}>
            <Entry entry={entry} conversation={conversation} at={at} />
          </li>
        ))}
      </ul>
      {found.items.length > most ? (
        <button type="button" class="link" onClick={() => setMost(most + DRAWN)}>
          Show {Math.min(DRAWN, found.items.length - most)} more
        </button>
      ) : (
        more(found)
      )}
    </>
  );
}

function more({ truncated, items }: FileList) {
  return truncated ? <p class="hint">Only the first {items.length.toLocaleString("en")} are shown.</p> : null;
}

function Entry({ entry, conversation, at }: Place & { entry: FileEntry }) {
  const [shown, setShown] = useState(false);
  const name = clean(entry.name);
  if (entry.type === "link" || entry.type === "other") {
    return (
      <p class="tree-row">
        <span class="file-path">{name}</span> <span class="file-status">{entry.type === "link" ? "link" : "special file"}</span>
      </p>
    );
  }
  const isDirectory = entry.type === "directory";
  return (
    <details onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary class="tree-row">
        <Icon name={isDirectory ? "folder" : "files"} size={15} />
        <span class="file-path">{name + (isDirectory ? "/" : "")}</span>
        {entry.ignored ? <span class="file-status">ignored</span> : null}
        {isDirectory ? null : <span class="file-status">{sizeOf(entry.size)}</span>}
      </summary>
      {shown ? (
        <div class="tree-below">
          <Actions entry={entry} conversation={conversation} at={at} />
          {isDirectory ? <Directory conversation={conversation} at={at} path={entry.path} /> : <Preview conversation={conversation} at={at} entry={entry} />}
        </div>
      ) : null}
    </details>
  );
}

function Actions({ entry, conversation: { id }, at }: Place & { entry: FileEntry }) {
  const isDirectory = entry.type === "directory";
  if (isDirectory && at !== null) return null; // of the past there are single files
  const ask = (): Promise<Blob> => (isDirectory ? rest.archive(id, entry.path) : rest.file(id, entry.path, at ?? undefined));
  return (
    <div class="tree-actions">
      <button type="button" class="link" onClick={() => void save(isDirectory ? `${entry.name}.zip` : entry.name, ask)}>
        Download<span class="unseen"> {clean(entry.path)}</span>
        {isDirectory ? " as zip" : ""}
      </button>
      {isDirectory && may("write_file") ? <UploadButton id={id} directory={entry.path} look="link" /> : null}
    </div>
  );
}
