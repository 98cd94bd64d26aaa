/** Code that is in view is coloured, a piece at a time, so that nothing else has to wait for it. */

import type { Line } from "../model/code";

/** Characters of a piece of code at most; longer ones stay as they are. */
const LONGEST = 40_000;
/** Pieces that are remembered. */
const KEPT = 300;

interface Piece {
  language: string;
  code: string;
  done: (lines: Line[] | null) => void;
}

const known = new Map<string, Line[] | null>();
const places = new WeakMap<Element, Set<() => void>>();
let waiting: Piece[] = [];
let working = false;
let watch: IntersectionObserver | undefined;

/** Colour a piece of code once its place is in view; what comes back calls that off. */
export function whenSeen(place: Element, language: string, code: string, done: Piece["done"]): () => void {
  if (code.length > LONGEST) return () => undefined;
  const piece: Piece = { language, code, done };
  const kept = known.get(nameOf(piece));
  if (kept !== undefined) {
    done(kept);
    return () => undefined;
  }
  const arrive = (): void => {
    waiting.push(piece);
    if (!working) void work();
  };
  awaitSight(place, arrive);
  return () => {
    waiting = waiting.filter((one) => one !== piece);
    const arriving = places.get(place);
    arriving?.delete(arrive);
    if (arriving?.size === 0) reached(place);
  };
}

function awaitSight(place: Element, arrive: () => void): void {
  watch ??= new IntersectionObserver(
    (found) => {
      for (const { isIntersecting, target } of found) if (isIntersecting) reached(target);
    },
    { rootMargin: "200px" },
  );
  const arriving = places.get(place);
  if (arriving === undefined) places.set(place, new Set([arrive]));
  else arriving.add(arrive);
  watch.observe(place);
}

function reached(place: Element): void {
  watch?.unobserve(place);
  const arriving = places.get(place);
  places.delete(place);
  for (const arrive of arriving ?? []) arrive();
}

async function work(): Promise<void> {
  working = true;
  try {
    const { highlight } = await import("../grammars");
    for (let piece = waiting.shift(); piece !== undefined; piece = waiting.shift()) {
      const lines = known.get(nameOf(piece)) ?? highlight(piece.language, piece.code);
      remember(piece, lines);
      piece.done(lines);
      await new Promise((resolve) => setTimeout(resolve));
    }
  } catch {
    waiting = []; // it is read as well without colours
  } finally {
    working = false;
  }
}

function remember(piece: Piece, lines: Line[] | null): void {
  known.set(nameOf(piece), lines);
  if (known.size > KEPT) known.delete(known.keys().next().value!);
}

function nameOf({ language, code }: Piece): string {
  return `${language}\n${code}`;
}
