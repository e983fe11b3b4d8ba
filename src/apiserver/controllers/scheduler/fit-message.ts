import { compareText } from "../../patch/text-order.ts";
import type { FilterFailure } from "./filter.ts";

export const noNodes = "no nodes available to schedule pods";

/** Why a pod is not scheduled, with the message of kube-scheduler. */
export function fitMessage(failures: readonly FilterFailure[]): string {
  if (failures.length === 0) return noNodes;
  const reasons = counted(failures.flatMap((failure) => failure.reasons));
  const preemption = counted(
    failures.map(({ unresolvable }) =>
      unresolvable
        ? "Preemption is not helpful for scheduling"
        : "No preemption victims found for incoming pod",
    ),
  );
  const head = `0/${failures.length} nodes are available:`;
  return `${head} ${reasons}. preemption: ${head} ${preemption}.`;
}

/** Why a pod is not scheduled to any node. */
export function blockedMessage(nodes: number, reason: string): string {
  const head = `0/${nodes} nodes are available:`;
  return `${head} ${reason}. preemption: ${head} ${nodes} Preemption is not helpful for scheduling.`;
}

function counted(reasons: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort(compareText)
    .join(", ");
}
