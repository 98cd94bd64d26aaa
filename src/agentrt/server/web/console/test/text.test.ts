import { expect, it } from "vitest";
import { rowsOf, statOf } from "../src/model/diff";
import { linesOf, spansOf } from "../src/model/terminal";
import { headline, labelOf } from "../src/model/tools";
import { clean, compact, money, spentOf, whyAsked } from "../src/model/words";

const DIFF = `--- a/x.py
+++ b/x.py
@@ -3,3 +3,4 @@ def f():
 same
-return int(a)
+return round(a)
+more
 end
`;

it("reads a unified diff", () => {
  const rows = rowsOf(DIFF);
  expect(rows.map((row) => row.kind)).toEqual(["hunk", "same", "remove", "add", "add", "same"]);
  expect(rows.map((row) => [row.before, row.after])).toEqual([[undefined, undefined], [3, 3], [4, undefined], [undefined, 4], [undefined, 5], [5, 6]]);
  expect(statOf(rows)).toEqual({ added: 2, removed: 1 });
});

it("marks what differs between two lines", () => {
  const rows = rowsOf("@@ -1 +1 @@\n-return int(a)\n+return round(a)\n");
  const [, before, after] = rows;
  expect(before?.text.slice(...before.changed!)).toBe("int");
  expect(after?.text.slice(...after.changed!)).toBe("round");
});

it("takes removed lines that look like a file's name for lines", () => {
  expect(rowsOf("@@ -1 +0,0 @@\n--- old\n").map((row) => row.kind)).toEqual(["hunk", "remove"]);
});

it("shows a terminal's colours, and nothing else of what it says to a terminal", () => {
  expect(spansOf("\x1b[31mred\x1b[0m plain")).toEqual([
    { text: "red", look: "ansi-red-fg" },
    { text: " plain", look: "" },
  ]);
  expect(linesOf("10%\r50%\r100%\r\n\x1b]0;title\x07\x1b[2K\x1b[1Anext\n")).toEqual(["100%", "next"]);
  expect(spansOf("<b onclick=x>\x07")).toEqual([{ text: "<b onclick=x>", look: "" }]);
  expect(spansOf("\x1b[38;2;1;2;3mtrue\x1b[0m")[0]).toMatchObject({ text: "true", colour: "1, 2, 3" });
});

it("drops what steers a screen or turns the direction of writing", () => {
  expect(clean("a\u202eb\u0000c\td\n")).toBe("abc\td\n");
});

it("says why a person is asked", () => {
  expect(whyAsked("every")).toBe("because every action is asked about");
  expect(whyAsked("risk")).toBe("at this risk level");
  expect(whyAsked("flow:web>network")).toBe("because content from the web may have caused it, and it uses the network");
  expect(whyAsked("lost:terminal")).toContain("again, because the terminal was restarted");
  expect(whyAsked("else")).toBe("because of else");
});

it("has short words for numbers and actions", () => {
  expect([999, 1234, 45_678, 999_900, 2_345_678].map(compact)).toEqual(["999", "1.2k", "46k", "1.0M", "2.3M"]);
  expect([0, 2].map((unpriced) => spentOf({ cost: 0.5, unpriced }))).toEqual(["$0.5000", "$0.5000 + 2 unpriced"]);
  expect([0, 1].map((unpriced) => spentOf({ cost: 0, unpriced }))).toEqual(["$0.0000", "price unknown"]);
  expect([0.001234, 2.5, 250].map(money)).toEqual(["$0.0012", "$2.50", "$250"]);
});

it("draws headlines from what a tool declares", () => {
  const shell = { name: "terminal", annotations: { title: "Terminal" }, headline: ["$ {command}", "(waits){command:empty}"] };
  expect(headline(shell, { command: "ls" })).toBe("$ ls");
  expect(headline(shell, { command: "" })).toBe("(waits)");
  expect(headline(shell, { cmd: "ls" })).toBe('{"cmd":"ls"}');
  expect(headline({ name: "other" }, { a: 1 })).toBe('{"a":1}');
  expect([labelOf(shell), labelOf({ name: "task_tracker" })]).toEqual(["Terminal", "Task tracker"]);
});
