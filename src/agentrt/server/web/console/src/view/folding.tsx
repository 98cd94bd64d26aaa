import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { count } from "../model/words";

/** The first and last of many lines, until the user wants all. */
export function Folding<T>({ lines, most, children }: { lines: T[]; most: number; children: (line: T, at: number) => ComponentChildren }) {
  const [whole, setWhole] = useState(false);
  if (whole || lines.length <= most + 2) {
    return (
      <>
        {lines.map(children)}
        {whole ? (
          <button type="button" class="fold" aria-expanded={true} onClick={() => setWhole(false)}>
            Show less
          </button>
        ) : null}
      </>
    );
  }
  const head = Math.ceil(most / 2);
  const tail = lines.length - (most - head);
  return (
    <>
      {lines.slice(0, head).map(children)}
      <button type="button" class="fold" aria-expanded={false} onClick={() => setWhole(true)}>
        Show {count(lines.length - most, "more line")}
      </button>
      {lines.slice(tail).map((line, at) => children(line, tail + at))}
    </>
  );
}
