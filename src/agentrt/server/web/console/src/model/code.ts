/** Highlighted code as lines of runs: text with the class of its kind. Pure. */

export interface Run {
  text: string;
  look: string;
}

export type Line = Run[];

/** What a highlighter makes of code: a tree of HTML's shape (hast), of which only texts and class names count. */
interface Node {
  type: string;
  value?: string;
  properties?: { className?: unknown };
  children?: Node[];
}

/** A tree as lines; the innermost class of a text counts. */
export function linesOf(tree: object): Line[] {
  const lines: Line[] = [[]];
  const walk = (node: Node, look: string): void => {
    if (node.type === "text") {
      const [first = "", ...others] = (node.value ?? "").split("\n");
      if (first !== "") lines.at(-1)!.push({ text: first, look });
      for (const text of others) lines.push(text === "" ? [] : [{ text, look }]);
      return;
    }
    const named = node.properties?.className;
    const own = Array.isArray(named) && typeof named[0] === "string" ? named[0] : look;
    for (const child of node.children ?? []) walk(child, own);
  };
  walk(tree as Node, "");
  return lines;
}

/** A line in three: what comes before the character `from`, what goes on up to `to`, and what comes after. */
export function split(line: Line, from: number, to: number): [Line, Line, Line] {
  const parts: [Line, Line, Line] = [[], [], []];
  let at = 0;
  for (const { text, look } of line) {
    const cuts = [0, from - at, to - at, text.length].map((cut) => Math.min(Math.max(cut, 0), text.length));
    for (const [part, place] of parts.map((part, place) => [part, place] as const)) {
      const piece = text.slice(cuts[place], cuts[place + 1]);
      if (piece !== "") part.push({ text: piece, look });
    }
    at += text.length;
  }
  return parts;
}

const NAMES: Record<string, string> = {
  bash: "bash sh zsh profile bashrc",
  c: "c h",
  cpp: "cc cpp cxx hpp hh",
  csharp: "cs",
  css: "css scss less",
  diff: "diff patch",
  dockerfile: "dockerfile containerfile",
  go: "go",
  ini: "ini toml cfg conf editorconfig properties env",
  java: "java",
  javascript: "js jsx mjs cjs",
  json: "json jsonl webmanifest",
  makefile: "makefile mk",
  markdown: "md markdown",
  php: "php",
  python: "py pyi pyw",
  ruby: "rb rake gemfile",
  rust: "rs",
  sql: "sql",
  typescript: "ts tsx mts cts",
  xml: "xml html htm svg vue xhtml",
  yaml: "yaml yml",
};

const BY_ENDING = new Map(Object.entries(NAMES).flatMap(([language, endings]) => endings.split(" ").map((ending) => [ending, language] as const)));

/** The language of a file, by the end of its name; undefined where that tells none. */
export function languageOf(path: string): string | undefined {
  const name = path.split(/[/\\]/).at(-1)!.toLowerCase();
  return BY_ENDING.get(name.slice(name.lastIndexOf(".") + 1));
}

/** The language of output, where its first lines show it: a diff, or JSON. */
export function languageIn(output: string): string | undefined {
  if (/^(diff --git |Index: |--- \S.*\n\+\+\+ )/.test(output) || /^commit [0-9a-f]{7,64}\b[\s\S]*\ndiff --git /.test(output.slice(0, 4000))) return "diff";
  if (/^\s*[[{]/.test(output) && /[\]}]\s*$/.test(output)) {
    try {
      JSON.parse(output);
      return "json";
    } catch {
      return undefined;
    }
  }
  return undefined;
}

const NUMBERED = /^ *\d+\t/;

/** Lines with their numbers, as `cat -n` has them, apart; null where some line has none. */
export function unnumbered(output: string): { numbers: string[]; lines: string[] } | null {
  const all = output.split("\n");
  if (all.at(-1) === "") all.pop();
  if (all.length === 0 || !all.every((line) => NUMBERED.test(line))) return null;
  const cut = all.map((line) => line.indexOf("\t"));
  return { numbers: all.map((line, at) => line.slice(0, cut[at]).trim()), lines: all.map((line, at) => line.slice(cut[at]! + 1)) };
}
