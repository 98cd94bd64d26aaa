/** Which conversations wait for a person. Pure. */

import type { ConversationInfo } from "@agentrt/client";

function asks(info: ConversationInfo): boolean {
  return info.status === "waiting_for_confirmation" || info.inputs.length > 0;
}

/** Those that wait, each once: requests of a delegated conversation count for its parent. */
export function asking(infos: readonly ConversationInfo[]): ConversationInfo[] {
  const found = infos.filter(asks);
  const ids = new Set(found.map(({ id }) => id));
  return found.filter(({ delegated_by: above }) => above === null || above === undefined || !ids.has(above));
}

/** The title of the page while so many conversations wait. */
export function titleWith(title: string, asked: number): string {
  return asked > 0 ? `(${asked}) ${title}` : title;
}
