/** Uploads to the workspace of a conversation, and downloads from it. */

import { signal } from "@preact/signals";
import { sizeOf, soundName, within } from "../model/files";
import { count } from "../model/words";
import { attempt, rest, server } from "./session";
import { announce, dialog, toast } from "./ui";

/** How many files are being uploaded, and to which conversation. */
export const sending = signal<{ id: string; left: number } | null>(null);
/** Grows when a person has changed files. */
export const touched = signal(0);

/** Upload files to a directory. The user is asked before existing files are replaced. */
export async function upload(id: string, directory: string, files: readonly File[]): Promise<void> {
  const fit = files.filter(fits);
  if (fit.length === 0) return;
  const there = new Set((await attempt(() => rest.files(id, directory)))?.items.map((entry) => entry.name) ?? []);
  const known = fit.map((file) => soundName(file.name)).filter((name) => there.has(name));
  if (known.length === 0) return send(id, directory, fit);
  dialog.value = {
    name: "sure",
    title: known.length === 1 ? "Replace the file" : `Replace ${known.length} files`,
    text: `${known.slice(0, 5).join(", ")}${known.length > 5 ? " and more" : ""} already ${known.length === 1 ? "exists" : "exist"}.`,
    action: "Replace",
    done: () => void send(id, directory, fit),
  };
}

/** Whether the server accepts a file of this size. If not, a toast says so. */
export function fits(file: File): boolean {
  const most = server.value?.max_upload ?? Infinity;
  if (file.size > most) toast(`${file.name} is too large: the server accepts at most ${sizeOf(most)}`, "danger", "refusal");
  return file.size <= most;
}

async function send(id: string, directory: string, files: readonly File[]): Promise<void> {
  let done = 0;
  for (const file of files) {
    sending.value = { id, left: files.length - done };
    const entry = await attempt(() => rest.writeFile(id, within(directory, soundName(file.name)), file));
    if (entry === undefined) break;
    done += 1;
    touched.value += 1;
  }
  sending.value = null;
  if (done === 0) return;
  const said = done === 1 ? `${soundName(files[0]!.name)} uploaded` : `${count(done, "file")} uploaded`;
  toast(said);
  announce(said);
}

/** Download something under a name. */
export async function save(name: string, ask: () => Promise<Blob>): Promise<void> {
  const found = await attempt(ask);
  if (found === undefined) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(found);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Bytes as an address that an image may have here. */
export function dataURL(content: Blob, kind: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^data:[^;,]*/, `data:${kind}`));
    reader.onerror = () => reject(reader.error ?? new Error("not read"));
    reader.readAsDataURL(content);
  });
}
