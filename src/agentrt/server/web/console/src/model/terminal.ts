/** A terminal's output as coloured spans, never as HTML. Pure. */

import Anser from "anser";
import { clean } from "./words";

export interface Span {
  text: string;
  /** Class names of its colours and decorations. */
  look: string;
  /** Colours that have no name, as "r, g, b". */
  colour?: string;
  ground?: string;
}

const ESCAPE = "\x1b";
const OTHER_SEQUENCES = /\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|\[[0-9;?]*[A-LN-Za-ln-z]|[()][A-Z0-9]|[=>78cDEHMNOZ])/g;

/** Lines as a terminal shows them: what a carriage return wrote over is gone, and so is all that moves the cursor. */
export function linesOf(output: string): string[] {
  const text = output.replace(/\r\n/g, "\n").replace(OTHER_SEQUENCES, "");
  const lines = text.split("\n").map((line) => (line.includes("\r") ? line.replace(/\r+$/, "").split("\r").at(-1)! : line));
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export function spansOf(text: string): Span[] {
  if (!text.includes(ESCAPE)) return [{ text: clean(text), look: "" }];
  return Anser.ansiToJson(text, { use_classes: true, remove_empty: true }).map((piece) => {
    const named = (name: string | null, on: string): string => (name && name !== "ansi-truecolor" ? `${name}${on}` : "");
    const look = [named(piece.fg, "-fg"), named(piece.bg, "-bg"), ...piece.decorations.map((word) => `ansi-${word}`)];
    const span: Span = { text: clean(piece.content), look: look.filter(Boolean).join(" ") };
    if (piece.fg_truecolor) span.colour = piece.fg_truecolor;
    if (piece.bg_truecolor) span.ground = piece.bg_truecolor;
    return span;
  });
}
