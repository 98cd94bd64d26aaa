/** Unified diffs (as `diff -u` and git write them) as rows. Pure. */

export interface Row {
  kind: "add" | "remove" | "same" | "hunk" | "file" | "note";
  text: string;
  before?: number;
  after?: number;
  /** The part of the text that differs from the line that it replaces: where it begins and ends. */
  changed?: [number, number];
}

export interface DiffStat {
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/;

export function rowsOf(diff: string): Row[] {
  const rows: Row[] = [];
  let before = 0;
  let after = 0;
  let inside = false;
  const lines = diff.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const line of lines) {
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      inside = true;
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      rows.push({ kind: "hunk", text: (hunk[3] ?? "").trim() });
    } else if (/^diff --git /.test(line)) {
      inside = false;
      rows.push({ kind: "file", text: line.slice(11) });
    } else if (!inside) {
      if (/^(new file|deleted file|rename|Binary|old mode|new mode)/.test(line)) rows.push({ kind: "note", text: line });
    } else if (line.startsWith("+")) rows.push({ kind: "add", text: line.slice(1), after: after++ });
    else if (line.startsWith("-")) rows.push({ kind: "remove", text: line.slice(1), before: before++ });
    else if (line.startsWith("\\")) rows.push({ kind: "note", text: line.slice(2) });
    else rows.push({ kind: "same", text: line.slice(1), before: before++, after: after++ });
  }
  mark(rows);
  return rows;
}

export function statOf(rows: Row[]): DiffStat {
  const counted = (kind: Row["kind"]): number => rows.reduce((sum, row) => sum + (row.kind === kind ? 1 : 0), 0);
  return { added: counted("add"), removed: counted("remove") };
}

export interface Sides {
  before: string;
  after: string;
  /** For each row its line in one of these; null for a row that is not a line of a file. */
  places: ({ side: "before" | "after"; line: number } | null)[];
}

/** The two texts that a diff stands between, as far as it shows them. */
export function sidesOf(rows: readonly Row[]): Sides {
  const before: string[] = [];
  const after: string[] = [];
  const places = rows.map(({ kind, text }): Sides["places"][number] => {
    if (kind === "remove" || kind === "same") before.push(text);
    if (kind === "add" || kind === "same") after.push(text);
    if (kind === "remove") return { side: "before", line: before.length - 1 };
    return kind === "add" || kind === "same" ? { side: "after", line: after.length - 1 } : null;
  });
  return { before: before.join("\n"), after: after.join("\n"), places };
}

/** Where as many lines were removed as then added, mark what differs in each pair. */
function mark(rows: Row[]): void {
  for (let at = 0; at < rows.length; ) {
    const removed = run(rows, at, "remove");
    const added = run(rows, at + removed, "add");
    if (removed > 0 && removed === added)
      for (let line = 0; line < removed; line++) pair(rows[at + line]!, rows[at + removed + line]!);
    at += Math.max(1, removed + added);
  }
}

function run(rows: Row[], from: number, kind: Row["kind"]): number {
  let end = from;
  while (rows[end]?.kind === kind) end++;
  return end - from;
}

function pair(one: Row, other: Row): void {
  const most = Math.min(one.text.length, other.text.length);
  let head = 0;
  while (head < most && one.text[head] === other.text[head]) head++;
  let tail = 0;
  while (tail < most - head && one.text.at(-1 - tail) === other.text.at(-1 - tail)) tail++;
  if (head + tail === 0) return;
  one.changed = [head, one.text.length - tail];
  other.changed = [head, other.text.length - tail];
}
