import type { Status } from "@agentrt/client";
import type { Child } from "../model/transcript";
import { headline, labelOf } from "../model/tools";
import { clean, compact, spentOf, STATUS } from "../model/words";
import * as list from "../state/list";
import { linkTo } from "../state/route";
import { toolOf } from "../state/tools";
import { Approval } from "./approval";
import { RiskBadge, StatusDot } from "./badges";
import { Icon } from "./icons";

/** The delegated conversations of an action: status, waiting actions and a link. */
export function Children({ children, past }: { children: Child[]; past: boolean }) {
  return (
    <>
      {children.map((child) => (
        <Card key={child.id} child={child} past={past} />
      ))}
    </>
  );
}

function Card({ child, past }: { child: Child; past: boolean }) {
  const info = past ? undefined : list.items.value?.find((one) => one.id === child.id);
  const status = child.status in STATUS ? (child.status as Status) : "idle";
  const spent = { cost: Math.max(child.cost, info?.cost ?? 0), unpriced: info?.unpriced ?? 0 };
  const price = spent.cost > 0 || spent.unpriced > 0 ? spentOf(spent) : "";
  const tokens = (info?.prompt_tokens ?? 0) + (info?.completion_tokens ?? 0);
  return (
    <div class="child" data-child={child.id} data-status={status}>
      <a class="child-link" href={linkTo(child.id)}>
        <StatusDot status={status} word />
        {child.agent ? <span class="child-agent">{clean(child.agent)}</span> : null}
        <span class="quiet">
          {price}
          {tokens > 0 ? `${price ? " · " : ""}${compact(tokens)} tokens` : ""}
        </span>
        <span class="child-open">
          Open<span class="unseen"> the conversation: {clean(child.task)}</span> <Icon name="right" size={15} />
        </span>
      </a>
      {child.waiting.map((action) => (
        <div key={action.action_id} class="child-action">
          <div class="child-asks">
            <code class="action-line">
              {clean(labelOf(toolOf(action.tool_name)))} {clean(headline(toolOf(action.tool_name), argumentsOf(action.arguments)))}
            </code>
            {action.risk ? <RiskBadge risk={action.risk} /> : null}
          </div>
          {past ? null : <Approval ids={[action.action_id]} why="in a delegated conversation" />}
        </div>
      ))}
    </div>
  );
}

function argumentsOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { text };
  }
}
