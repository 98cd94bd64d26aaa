import { expect, it } from "vitest";
import { contentOf, fieldsOf } from "../src/model/forms";

const SCHEMA = {
  type: "object",
  properties: {
    colour: { type: "string", title: "Colour", enum: ["red", "blue"] },
    size: { type: "integer", default: 3 },
    sure: { type: "boolean", default: true },
    words: { type: "string", description: "Any." },
    shape: { oneOf: [{ const: "round", title: "Round" }] },
  },
  required: ["colour"],
};

it("has a field for each member of a form", () => {
  const fields = fieldsOf(SCHEMA);
  expect(fields.map(({ name, kind, initial }) => [name, kind, initial])).toEqual([
    ["colour", "choice", ""],
    ["size", "number", "3"],
    ["sure", "yes", true],
    ["words", "text", ""],
    ["shape", "choice", ""],
  ]);
  expect(fields[0]).toMatchObject({ label: "Colour", choices: ["red", "blue"], required: true });
  expect(fields[4]!.choices).toEqual(["round"]);
  expect(fieldsOf(null)).toEqual([]);
});

it("gives what was filled in, and nothing of what was not", () => {
  expect(contentOf(fieldsOf(SCHEMA), { colour: "red", size: "7", sure: false, words: "" })).toEqual({ colour: "red", size: 7, sure: false });
});
