import { systemClock } from "../../lib/base/clock.ts";
import { isAbort, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Summary } from "../../lib/model/stats-summary.ts";
import type { RequestContext } from "../definition.ts";
import { type KubeletConnectionOptions, kubeletOf } from "../proxy/connection-options.ts";
import { kubeletSummary } from "./kubelet-summary.ts";

export interface MetricsApiOptions extends KubeletConnectionOptions {
  readonly logger: Logger;
}

/** Queries the kubelets of these nodes concurrently. Nodes that do not respond are omitted. */
export async function nodeSummaries(
  nodes: readonly string[],
  context: RequestContext,
  options: MetricsApiOptions,
): Promise<ReadonlyMap<string, Summary>> {
  const { clock = systemClock, logger } = options;
  const found = new Map<string, Summary>();
  await Promise.all(
    nodes.map(async (node) => {
      try {
        const kubelet = await kubeletOf(context, node, options);
        found.set(node, await kubeletSummary(kubelet, clock, context.signal));
      } catch (error) {
        if (isAbort(error)) throw error;
        logger.warn("Failed to get stats from kubelet", { node, err: messageOf(error) });
      }
    }),
  );
  return found;
}
