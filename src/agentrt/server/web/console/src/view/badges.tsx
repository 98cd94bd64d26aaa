import type { Risk, Status } from "@agentrt/client";
import { RISK, STATUS } from "../model/words";

export function RiskBadge({ risk, why }: { risk: Risk; why?: string | undefined }) {
  return (
    <span class={`badge risk-${risk.toLowerCase()}`} title={why ? `${RISK[risk]}: ${why}` : RISK[risk]}>
      {RISK[risk]}
    </span>
  );
}

export function StatusDot({ status, word = false }: { status: Status; word?: boolean }) {
  return (
    <span class={`status status-${status}`} title={STATUS[status]}>
      <span class="dot" aria-hidden="true" />
      <span class={word ? "" : "unseen"}>{STATUS[status]}</span>
    </span>
  );
}
