import type { ConversationInfo } from "@agentrt/client";
import { expect, it } from "vitest";
import { asking, titleWith } from "../src/model/asking";

const info = (id: string, fields: Partial<ConversationInfo> = {}): ConversationInfo => ({ id, status: "running", inputs: [], delegated_by: null, ...fields }) as unknown as ConversationInfo;

it("finds those that ask, each question once", () => {
  const infos = [
    info("a"),
    info("b", { status: "waiting_for_confirmation" }),
    info("c", { status: "waiting_for_confirmation", delegated_by: "b" }),
    info("d", { inputs: [{ id: "q" }] as never }),
    info("e", { status: "waiting_for_confirmation", delegated_by: "a" }),
    info("f", { status: "waiting_for_client" }),
  ];
  expect(asking(infos).map(({ id }) => id)).toEqual(["b", "d", "e"]);
});

it("counts them in the title", () => {
  expect([titleWith("agentrt", 0), titleWith("agentrt", 2)]).toEqual(["agentrt", "(2) agentrt"]);
});
