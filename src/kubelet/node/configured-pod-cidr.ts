import { isAbort, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { CriClient } from "../../lib/clients/cri/cri.ts";

const withinMs = 10_000;

/**
 * Passes the configured `podCIDR` to the runtime, once, when the runtime is up. On a node without a cluster, the runtime configures its
 * network with it. The pod CIDRs of a Node object replace it.
 */
export class ConfiguredPodCidr {
  readonly #o: { podCIDR: string; runtime: Pick<CriClient, "updateRuntimeConfig">; logger: Logger };
  #isPassed = false;

  constructor(options: { podCIDR: string; runtime: Pick<CriClient, "updateRuntimeConfig">; logger: Logger }) {
    this.#o = options;
  }

  /** The runtime is available. Failures are only logged. */
  async runtimeIsUp(): Promise<void> {
    const { podCIDR, runtime, logger } = this.#o;
    if (this.#isPassed) return;
    try {
      await runtime.updateRuntimeConfig(podCIDR, { timeoutMs: withinMs });
      this.#isPassed = true;
      logger.info("Updating Pod CIDR", { newPodCIDR: podCIDR });
    } catch (error) {
      if (!isAbort(error)) logger.error("Pod CIDR update failed", { podCIDR, err: messageOf(error) });
    }
  }
}
