import { createLowlight } from "lowlight";
import python from "highlight.js/lib/languages/python";
import { expect, it } from "vitest";
import { languageIn, languageOf, linesOf, split, unnumbered } from "../src/model/code";
import { rowsOf, sidesOf } from "../src/model/diff";

it("has the same text, line by line", () => {
  const code = 'def f(a):\n    """Two\n\n    lines."""\n    return f"{a}<b>"\n';
  const lines = linesOf(createLowlight({ python }).highlight("python", code));
  expect(lines.map((line) => line.map((run) => run.text).join(""))).toEqual(code.split("\n"));
  expect(lines[0]![0]).toEqual({ text: "def", look: "hljs-keyword" });
  expect(lines[3]).toEqual([{ text: '    lines."""', look: "hljs-string" }]);
  expect(lines[4]!.map((run) => run.look)).toContain("hljs-subst");
});

it("takes nothing of a tree but texts and names", () => {
  const tree = { type: "root", children: [{ type: "element", tagName: "script", properties: { className: ["k"], onclick: "x" }, children: [{ type: "text", value: "a<b>" }] }] };
  expect(linesOf(tree)).toEqual([[{ text: "a<b>", look: "k" }]]);
});

it("splits a line where something is changed", () => {
  const line = [
    { text: "return ", look: "k" },
    { text: "int(a)", look: "" },
  ];
  const parts = (from: number, to: number): string[] => split(line, from, to).map((part) => part.map((run) => run.text).join("|"));
  expect(parts(7, 10)).toEqual(["return ", "int", "(a)"]);
  expect(parts(3, 9)).toEqual(["ret", "urn |in", "t(a)"]);
  expect(parts(0, 0)).toEqual(["", "", "return |int(a)"]);
  expect(parts(0, 99)).toEqual(["", "return |int(a)", ""]);
  expect(split(line, 3, 9)[1][0]).toEqual({ text: "urn ", look: "k" });
});

it("tells a language by a file's name", () => {
  expect(["/a/b.py", "Dockerfile", "x.test.tsx", "pyproject.toml", "Makefile", "a.b/LICENSE", ""].map(languageOf)).toEqual([
    ...["python", "dockerfile", "typescript", "ini", "makefile"],
    ...[undefined, undefined],
  ]);
});

it("tells a diff and JSON in output, and nothing else", () => {
  expect(languageIn("diff --git a/x b/x\n--- a/x\n+++ b/x\n")).toBe("diff");
  expect(languageIn('{"a": [1]}\n')).toBe("json");
  expect(["[not json]", "--- a\ntext", "All tests passed", "{"].map(languageIn)).toEqual([undefined, undefined, undefined, undefined]);
});

it("sets the numbers of lines apart", () => {
  expect(unnumbered("     9\ta\n    10\t\tb\n")).toEqual({ numbers: ["9", "10"], lines: ["a", "\tb"] });
  expect(unnumbered("     9\ta\nb\n")).toBeNull();
});

it("knows both sides of a diff", () => {
  const rows = rowsOf("@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9 @@\n+d\n");
  const { before, after, places } = sidesOf(rows);
  expect([before, after]).toEqual(["a\nb", "a\nc\nd"]);
  const texts = { before: before.split("\n"), after: after.split("\n") };
  expect(places.map((place) => place && texts[place.side][place.line])).toEqual([null, "a", "b", "c", null, "d"]);
});
