import { useMemo, useRef } from "preact/hooks";
import { languageOf, type Line, split } from "../model/code";
import { type Row, rowsOf, sidesOf, statOf } from "../model/diff";
import { clean } from "../model/words";
import { Coloured, useColours } from "./coloured";
import { Folding } from "./folding";

const SIGN = { add: "+", remove: "−", same: " ", hunk: "", file: "", note: "" } as const;
const SPOKEN = { add: "added", remove: "removed" } as const;

interface DiffProps {
  diff: string;
  label: string;
  /** Of the file: its ending says how the lines are coloured. */
  path?: string | undefined;
  most?: number;
}

export function Diff({ diff, label, path = "", most = 30 }: DiffProps) {
  const place = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => rowsOf(clean(diff)), [diff]);
  const sides = useMemo(() => sidesOf(rows), [rows]);
  const language = languageOf(path);
  const before = useColours(place, language, rows.some((row) => row.kind === "remove") ? sides.before : "");
  const after = useColours(place, language, sides.after);
  if (rows.length === 0) return null;
  const left = rows[0]?.kind === "hunk" && rows[0].text === "" ? 1 : 0;
  const coloured = (at: number): Line | undefined => {
    const where = sides.places[at];
    return where ? (where.side === "before" ? before : after)?.[where.line] : undefined;
  };
  return (
    <div class="diff" role="group" aria-label={label} tabIndex={0} ref={place}>
      <Folding lines={rows.slice(left)} most={most}>
        {(row, at) => <Changed key={at} row={row} line={coloured(at + left)} />}
      </Folding>
    </div>
  );
}

export function DiffCount({ diff }: { diff: string }) {
  const { added, removed } = useMemo(() => statOf(rowsOf(diff)), [diff]);
  return (
    <span class="diff-count">
      <span class="added">+{added}</span> <span class="removed">−{removed}</span>
    </span>
  );
}

function Changed({ row, line }: { row: Row; line: Line | undefined }) {
  if (row.kind === "hunk" || row.kind === "file" || row.kind === "note") {
    return <div class={`diff-line diff-${row.kind}`}>{row.text || "⋯"}</div>;
  }
  const spoken = row.kind === "same" ? null : <span class="unseen">{SPOKEN[row.kind]}: </span>;
  return (
    <div class={`diff-line diff-${row.kind}`}>
      <span class="diff-number" aria-hidden="true">
        {row.before ?? ""}
      </span>
      <span class="diff-number" aria-hidden="true">
        {row.after ?? ""}
      </span>
      <span class="diff-sign" aria-hidden="true">
        {SIGN[row.kind]}
      </span>
      <span class="diff-text">
        {spoken}
        <Text row={row} line={line ?? [{ text: row.text, look: "" }]} />
      </span>
    </div>
  );
}

function Text({ row, line }: { row: Row; line: Line }) {
  const [from, to] = row.changed ?? [0, 0];
  if (row.text === "") return <>{"\u200b"}</>;
  if (from === to) return <Coloured line={line} />;
  const [before, changed, after] = split(line, from, to);
  return (
    <>
      <Coloured line={before} />
      <mark>
        <Coloured line={changed} />
      </mark>
      <Coloured line={after} />
    </>
  );
}
