/** Conversations as a tree: delegated ones are below their parent. Pure. */

import type { ConversationInfo } from "@agentrt/client";
import { atWork } from "./words";

export interface Branch {
  info: ConversationInfo;
  children: Branch[];
}

/** In the given order, each below its parent if the parent is among them. */
export function treeOf(items: readonly ConversationInfo[]): Branch[] {
  const branches = new Map(items.map((info) => [info.id, { info, children: [] as Branch[] }]));
  const roots = new Set<Branch>();
  for (const branch of branches.values()) {
    const chain = above(branch, branches);
    roots.add(chain.at(-1) ?? branch);
    chain[0]?.children.push(branch);
  }
  for (const { children } of branches.values()) children.sort((one, other) => begun(one) - begun(other));
  return [...roots];
}

/** The parents of a conversation, the nearest first; none if they lead back to it. */
function above(branch: Branch, branches: Map<string, Branch>): Branch[] {
  const chain: Branch[] = [];
  for (let at = branches.get(branch.info.delegated_by ?? ""); at !== undefined; at = branches.get(at.info.delegated_by ?? "")) {
    if (at === branch || chain.includes(at)) return [];
    chain.push(at);
  }
  return chain;
}

function begun(branch: Branch): number {
  return Date.parse(branch.info.created ?? branch.info.updated);
}

export function* below(branch: Branch): Generator<Branch> {
  for (const child of branch.children) {
    yield child;
    yield* below(child);
  }
}

/** Whether something below is working or waits for a person, so that it should be visible. */
export function isLively(branch: Branch): boolean {
  return [...below(branch)].some(({ info }) => atWork(info.status));
}

/** The visible rows; `unfolded` tells whose children are shown. */
export function shownOf(branches: readonly Branch[], unfolded: (branch: Branch) => boolean): ConversationInfo[] {
  return branches.flatMap((branch) => [branch.info, ...(unfolded(branch) ? shownOf(branch.children, unfolded) : [])]);
}
