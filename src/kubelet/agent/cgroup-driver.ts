import { createMetrics } from "../../lib/base/metrics.ts";
import { createCriClient } from "../../lib/clients/cri/client.ts";
import { cgroupDriverOfRuntime } from "../node/runtime-cgroup-driver.ts";
import type { AgentOptions } from "./agent-options.ts";

/** The options, with the cgroup driver that the runtime uses. Runtimes without RuntimeConfig (CRI of Kubernetes 1.28) do not report it. */
export async function withCgroupDriverOfRuntime<T extends AgentOptions>(o: T): Promise<T> {
  const { config, clock, logger } = o;
  const cri = createCriClient({
    runtimeEndpoint: config.containerRuntimeEndpoint,
    requestTimeoutMs: config.runtimeRequestTimeout,
    logger,
    clock,
    metrics: createMetrics(),
  });
  try {
    const found = await cgroupDriverOfRuntime(cri, { clock, signal: o.stopping });
    if (found === undefined || found === config.cgroupDriver) return o;
    logger.info("Using cgroup driver setting received from the CRI runtime", { cgroupDriver: found });
    return { ...o, config: { ...config, cgroupDriver: found } };
  } finally {
    cri.close();
  }
}
