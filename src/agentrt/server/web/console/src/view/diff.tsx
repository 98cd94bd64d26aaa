import { useMemo } from "preact/hooks";
import { type Row, rowsOf, statOf } from "../model/diff";
import { clean } from "../model/words";
import { Folding } from "./folding";

const SIGN = { add: "+", remove: "−", same: " ", hunk: "", file: "", note: "" } as const;
const SPOKEN = { add: "added", remove: "removed" } as const;

export function Diff({ diff, label, most = 30 }: { diff: string; label: string; most?: number }) {
  const rows = useMemo(() => rowsOf(diff), [diff]);
  if (rows.length === 0) return null;
  return (
    <div class="diff" role="group" aria-label={label} tabIndex={0}>
      <Folding lines={rows[0]?.kind === "hunk" && rows[0].text === "" ? rows.slice(1) : rows} most={most}>
        {(row, at) => <Line key={at} row={row} />}
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

function Line({ row }: { row: Row }) {
  if (row.kind === "hunk" || row.kind === "file" || row.kind === "note") {
    return <div class={`diff-line diff-${row.kind}`}>{clean(row.text) || "⋯"}</div>;
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
        <Changed row={row} />
      </span>
    </div>
  );
}

function Changed({ row }: { row: Row }) {
  if (row.changed === undefined || row.changed[0] === row.changed[1]) return <>{clean(row.text) || "\u200b"}</>;
  const [from, to] = row.changed;
  return (
    <>
      {clean(row.text.slice(0, from))}
      <mark>{clean(row.text.slice(from, to))}</mark>
      {clean(row.text.slice(to))}
    </>
  );
}
