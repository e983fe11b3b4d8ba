import { isAbort, messageOf } from "../../lib/base/errors.ts";
import type { EventHandlers } from "../pipeline/sync-loop/event-table.ts";
import type { AgentCore } from "./agent-core.ts";

const withinMs = 10_000;

/**
 * Passes `podCIDR` of the configuration to the runtime, which configures the network of a node without a cluster with it: once, when the
 * runtime is up. The pod CIDRs of a Node object replace it.
 */
export function podCidrHandlers({
  config: { podCIDR },
  cri,
  logger,
}: Pick<AgentCore, "config" | "cri" | "logger">): Partial<Pick<EventHandlers, "podCidr">> {
  if (podCIDR === "") return {};
  let isPassed = false;
  const pass = async () => {
    try {
      await cri.updateRuntimeConfig(podCIDR, { timeoutMs: withinMs });
      isPassed = true;
      logger.info("Updating Pod CIDR", { newPodCIDR: podCIDR });
    } catch (error) {
      if (!isAbort(error)) logger.error("Pod CIDR update failed", { podCIDR, err: messageOf(error) });
    }
  };
  return {
    podCidr: {
      "runtime-state": ({ state }) => {
        if (state === "up" && !isPassed) void pass();
      },
    },
  };
}
