/** Attachments of unsent messages, by conversation; "" is a conversation that is not started yet. */

import type { Content } from "@agentrt/client";
import { signal } from "@preact/signals";
import { type Attached, contentOf, fit, fitted, MOST, MOST_BYTES, UPLOADS } from "../model/attaching";
import { freeName, imageOf, soundName, within } from "../model/files";
import { dataURL, fits, touched } from "./files";
import { attempt, rest, server } from "./session";
import { announce, toast } from "./ui";

export const attachments = signal<Readonly<Record<string, readonly Attached[]>>>({});
let made = 0;

export function attachedTo(id: string): readonly Attached[] {
  return attachments.value[id] ?? [];
}

function keep(id: string, attached: readonly Attached[]): void {
  attachments.value = { ...attachments.value, [id]: attached };
}

/** Attach files: images as the model sees them, others to be uploaded to the workspace. */
export async function attach(id: string, files: readonly File[]): Promise<void> {
  for (const file of files.filter(fits)) {
    if (attachedTo(id).length >= MOST) {
      toast(`A message can have at most ${MOST} attachments`, "danger");
      return;
    }
    const url = await imageURL(file);
    const one: Attached = { key: ++made, name: soundName(file.name), size: file.size, ...(url === null ? { file } : { url }) };
    const now = [...attachedTo(id), one];
    if (!fit(now, server.value?.max_body ?? Infinity)) {
      toast(`${one.name} is too large to send with the other images`, "danger");
      continue;
    }
    keep(id, now);
    announce(`${one.name} is attached`);
  }
}

export function detach(id: string, key: number): void {
  keep(id, attachedTo(id).filter((one) => one.key !== key));
}

export function detachAll(id: string): void {
  keep(id, []);
}

/** The content of a message with the attachments of `draft`, once its files are in the workspace of `id`; undefined if the upload failed. */
export async function withAttached(id: string, text: string, draft = id): Promise<string | Content[] | undefined> {
  const waiting = attachedTo(draft).filter((one) => one.file !== undefined && one.path === undefined);
  const taken = new Set(waiting.length > 0 ? await namesThere(id) : []);
  for (const one of waiting) {
    const path = within(UPLOADS, freeName(one.name, taken));
    const sent = await attempt(() => rest.writeFile(id, path, one.file!));
    if (sent === undefined) return undefined;
    taken.add(sent.name);
    touched.value += 1;
    keep(draft, attachedTo(draft).map((other) => (other.key === one.key ? { ...other, path: sent.path } : other)));
  }
  return contentOf(text, attachedTo(draft));
}

/** The taken names in the directory for attached files; none if it does not exist. */
async function namesThere(id: string): Promise<string[]> {
  const above = await rest.files(id);
  if (!above.items.some((entry) => entry.name === UPLOADS)) return [];
  return (await rest.files(id, UPLOADS)).items.map((entry) => entry.name);
}

/** A file as an image for the model, made smaller if it is large; null if it is not an image. */
async function imageURL(file: File): Promise<string | null> {
  const kind = imageOf(file.name) ?? (/^image\/(png|jpeg|gif|webp|bmp)$/.test(file.type) ? file.type : undefined);
  if (kind === undefined) return null;
  try {
    const bitmap = await createImageBitmap(file);
    const [width, height] = fitted(bitmap.width, bitmap.height);
    if (file.size <= MOST_BYTES && width === bitmap.width && kind !== "image/bmp") return await dataURL(file, kind);
    const lossless = kind === "image/jpeg" ? null : await drawn(bitmap, width, height, "image/png");
    const blob = lossless && lossless.size <= MOST_BYTES ? lossless : await drawn(bitmap, width, height, "image/jpeg");
    bitmap.close();
    return await dataURL(blob, blob.type);
  } catch {
    return null; // none that a browser can read: it goes as a file
  }
}

async function drawn(bitmap: ImageBitmap, width: number, height: number, kind: "image/png" | "image/jpeg"): Promise<Blob> {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d")!;
  if (kind === "image/jpeg") {
    context.fillStyle = "white"; // which it has no other than
    context.fillRect(0, 0, width, height);
  }
  context.drawImage(bitmap, 0, 0, width, height);
  return canvas.convertToBlob({ type: kind, quality: 0.85 });
}
