/** Content blocks as text. Pure. */

import type { Content } from "@agentrt/client";

export function textOf(content: Content[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
