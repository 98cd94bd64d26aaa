import { expect, it } from "vitest";
import { type Attached, contentOf, fit, fitted } from "../src/model/attaching";

const image: Attached = { key: 1, name: "a.png", size: 3, url: "data:image/png;base64,AAAA" };
const file: Attached = { key: 2, name: "b.txt", size: 3, path: "uploads/b.txt" };

it("makes blocks of a text, images, and the names of files", () => {
  expect(contentOf("Look", [])).toBe("Look");
  expect(contentOf("Look", [image, file])).toEqual([{ type: "text", text: "Look" }, { type: "image", url: image.url }, { type: "file", path: "uploads/b.txt" }]);
  expect(contentOf(" ", [image])).toEqual([{ type: "image", url: image.url }]);
});

it("makes large images smaller, and keeps their proportion", () => {
  expect(fitted(64, 48)).toEqual([64, 48]);
  expect(fitted(4000, 1000)).toEqual([2000, 500]);
  expect(fitted(9000, 2)).toEqual([2000, 1]);
});

it("knows what fits into one request", () => {
  expect(fit([image, file], 100_000)).toBe(true);
  expect(fit([{ ...image, url: "x".repeat(100_000) }], 100_000)).toBe(false);
});
