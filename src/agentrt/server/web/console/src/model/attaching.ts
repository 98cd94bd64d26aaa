/** Attachments of a message: images that the model sees, and files in the workspace. Pure. */

import type { Content } from "@agentrt/client";

/** The directory of the workspace for attached files. */
export const UPLOADS = "uploads";
/** Images with more bytes, or more pixels on a side, are made smaller: no model sees more of them. */
export const MOST_BYTES = 1_500_000;
export const MOST_PIXELS = 2000;
/** Attachments of a message. */
export const MOST = 20;
/** Bytes of a request besides its images. */
const ROOM = 65_536;

export interface Attached {
  key: number;
  name: string;
  size: number;
  /** Of an image: as the model is given it. */
  url?: string;
  /** Of any other file: what is uploaded to the workspace. */
  file?: File;
  /** Its path there, once it is uploaded. */
  path?: string;
}

/** The size to which an image is reduced, with its proportions. */
export function fitted(width: number, height: number): [number, number] {
  const scale = Math.min(1, MOST_PIXELS / Math.max(width, height));
  return [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
}

/** Whether images fit into one request of so many bytes. */
export function fit(attached: readonly Attached[], most: number): boolean {
  return attached.reduce((sum, { url }) => sum + (url?.length ?? 0), ROOM) <= most;
}

/** The content of a message with its attachments; text alone stays a string. */
export function contentOf(text: string, attached: readonly Attached[]): string | Content[] {
  if (attached.length === 0) return text;
  const blocks: Content[] = text.trim() === "" ? [] : [{ type: "text", text }];
  for (const { url, path } of attached) {
    if (url !== undefined) blocks.push({ type: "image", url });
    else if (path !== undefined) blocks.push({ type: "file", path });
  }
  return blocks;
}
