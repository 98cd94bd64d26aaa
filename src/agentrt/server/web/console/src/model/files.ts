/** Files of a workspace: what can be shown of them, and what they are called. Pure. */

/** Bytes of a text, and of an image, that are shown at most. */
export const MOST_TEXT = 200_000;
export const MOST_IMAGE = 10_000_000;

const IMAGES: Record<string, string> = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", bmp: "image/bmp" };
const NO_TEXT = new Set("pdf zip gz tgz xz bz2 zst 7z rar tar jar whl docx xlsx pptx odt ods odp exe so dylib dll bin mp3 mp4 mov avi mkv wav ogg flac ttf otf woff woff2 sqlite db pyc class o a ico".split(" "));

function endingOf(name: string): string {
  return /\.([^./]+)$/.exec(name.toLowerCase())?.[1] ?? "";
}

/** The media type of an image that a page may show; undefined for anything else. */
export function imageOf(name: string): string | undefined {
  return IMAGES[endingOf(name)];
}

/** How a file is shown. */
export function previewOf(name: string, size: number): "empty" | "image" | "text" | "none" {
  if (size === 0) return "empty";
  if (imageOf(name) !== undefined) return size <= MOST_IMAGE ? "image" : "none";
  return NO_TEXT.has(endingOf(name)) ? "none" : "text";
}

/** Bytes in a word. */
export function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [value, unit] = bytes < 999_500 ? [bytes / 1e3, "kB"] : bytes < 999_500_000 ? [bytes / 1e6, "MB"] : [bytes / 1e9, "GB"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** The name of an uploaded file: without a path and invisible characters. */
export function soundName(name: string): string {
  const last = name.split(/[/\\]/).at(-1)!.replace(/[\x00-\x1f\x7f]/g, "").trim();
  return last === "" || last === "." || last === ".." ? "file" : last;
}

/** A name that is not taken: "a.txt", "a (2).txt". */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  const dot = name.lastIndexOf(".") > 0 ? name.lastIndexOf(".") : name.length;
  for (let number = 2, free = name; ; number++) {
    if (!taken.has(free)) return free;
    free = `${name.slice(0, dot)} (${number})${name.slice(dot)}`;
  }
}

export function within(directory: string, name: string): string {
  return directory === "" ? name : `${directory}/${name}`;
}
