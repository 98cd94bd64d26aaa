import { useMemo, useRef } from "preact/hooks";
import { clean } from "../model/words";
import { Coloured, useColours } from "./coloured";
import { Folding } from "./folding";

interface CodeProps {
  code: string;
  language: string | undefined;
  label: string;
  /** The number of each line, where it has one. */
  numbers?: string[];
  most?: number;
}

/** Code as it is, coloured once it is in view. */
export function Code({ code, language, label, numbers, most = 14 }: CodeProps) {
  const place = useRef<HTMLDivElement>(null);
  const text = useMemo(() => clean(code).replace(/\n+$/, ""), [code]);
  const lines = useMemo(() => text.split("\n"), [text]);
  const coloured = useColours(place, language, text);
  if (text === "") return null;
  return (
    <div class={`terminal code ${numbers ? "numbered" : ""}`} role="group" aria-label={label} tabIndex={0} ref={place}>
      <Folding lines={lines} most={most}>
        {(line, at) => (
          <div key={at} class="terminal-line">
            {numbers ? (
              <span class="diff-number" aria-hidden="true">
                {numbers[at]}
              </span>
            ) : null}
            <span>{coloured?.[at] ? <Coloured line={coloured[at]} /> : line}</span>
            {line === "" ? "\u200b" : null}
          </div>
        )}
      </Folding>
    </div>
  );
}

/** A command for the shell, on as many lines as it has. */
export function Command({ line }: { line: string }) {
  const place = useRef<HTMLElement>(null);
  const lines = useColours(place, "bash", line);
  return (
    <code class="action-line command" ref={place}>
      <span aria-hidden="true">$ </span>
      {lines === null ? line : lines.flatMap((one, at) => [at > 0 ? "\n" : null, <Coloured key={at} line={one} />])}
    </code>
  );
}
