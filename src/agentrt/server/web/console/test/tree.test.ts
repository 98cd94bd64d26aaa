import type { ConversationInfo } from "@agentrt/client";
import { expect, it } from "vitest";
import { below, type Branch, isLively, shownOf, treeOf } from "../src/model/tree";

const info = (id: string, by: string | null = null, fields: Partial<ConversationInfo> = {}): ConversationInfo =>
  ({ id, delegated_by: by, status: "finished", created: `2026-01-01T00:00:0${id.length}Z`, ...fields }) as ConversationInfo;
const drawn = (branches: Branch[]): unknown[] => branches.map(({ info, children }) => (children.length > 0 ? [info.id, drawn(children)] : info.id));

it("puts those that work for another below it, in the order in which they began", () => {
  expect(drawn(treeOf([info("bb", "a"), info("x"), info("b", "a"), info("a"), info("ccc", "bb")]))).toEqual([["a", ["b", ["bb", ["ccc"]]]], "x"]);
});

it("stands where the one of it stands that was written last", () => {
  expect(treeOf([info("child", "parent"), info("x"), info("parent")]).map((one) => one.info.id)).toEqual(["parent", "x"]);
});

it("shows one whose parent is not there by itself", () => {
  expect(drawn(treeOf([info("a", "gone"), info("b", "a")]))).toEqual([["a", ["b"]]]);
});

it("shows each once, even if they were said to work for each other", () => {
  const shown = treeOf([info("a", "b"), info("b", "a"), info("c", "c"), info("d", "a")]);
  const ids = shown.flatMap((branch) => [branch.info.id, ...[...below(branch)].map((one) => one.info.id)]);
  expect(ids.toSorted()).toEqual(["a", "b", "c", "d"]);
});

it("is lively while something below is at work, or waits", () => {
  const of = (status: ConversationInfo["status"]): boolean => isLively(treeOf([info("a"), info("b", "a"), info("c", "b", { status })])[0]!);
  expect([of("finished"), of("running"), of("waiting_for_confirmation")]).toEqual([false, true, true]);
});

it("lists what is unfolded, top down", () => {
  const tree = treeOf([info("a"), info("b", "a"), info("c", "b"), info("x")]);
  expect(shownOf(tree, () => true).map((one) => one.id)).toEqual(["a", "b", "c", "x"]);
  expect(shownOf(tree, ({ info }) => info.id === "a").map((one) => one.id)).toEqual(["a", "b", "x"]);
  expect(shownOf(tree, () => false).map((one) => one.id)).toEqual(["a", "x"]);
});
