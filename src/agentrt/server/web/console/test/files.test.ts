import { expect, it } from "vitest";
import { freeName, previewOf, sizeOf, soundName, within } from "../src/model/files";

it("says what of a file can be shown", () => {
  expect(previewOf("a.py", 10)).toBe("text");
  expect(previewOf("LICENSE", 10)).toBe("text");
  expect(previewOf("a.txt", 0)).toBe("empty");
  expect(previewOf("a.PNG", 10)).toBe("image");
  expect(previewOf("a.png", 11_000_000)).toBe("none");
  expect(previewOf("a.svg", 10)).toBe("text"); // it may hold a script, so it is never an image
  expect(previewOf("a.pdf", 10)).toBe("none");
});

it("says sizes in a word", () => {
  expect([0, 999, 1000, 12_345, 999_600, 3_400_000, 2_000_000_000].map(sizeOf)).toEqual(["0 B", "999 B", "1.0 kB", "12 kB", "1.0 MB", "3.4 MB", "2.0 GB"]);
});

it("gives names that are no paths, and that none has yet", () => {
  expect(["a/b.txt", "C:\\x\\y.txt", "..", "\u0007", " n.md "].map(soundName)).toEqual(["b.txt", "y.txt", "file", "file", "n.md"]);
  expect(freeName("a.txt", new Set())).toBe("a.txt");
  expect(freeName("a.txt", new Set(["a.txt", "a (2).txt"]))).toBe("a (3).txt");
  expect(freeName(".env", new Set([".env"]))).toBe(".env (2)");
  expect([within("", "a"), within("b", "a")]).toEqual(["a", "b/a"]);
});
