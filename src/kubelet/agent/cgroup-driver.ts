import type { Clock } from "../../lib/base/clock.ts";
import { KubeletError } from "../../lib/base/errors.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { createCriClient } from "../../lib/clients/cri/client.ts";
import { isSystemdRunning, SystemdClient } from "../../lib/clients/systemd/systemd-client.ts";
import { type CgroupLayout, cgroupFilesystem } from "../../lib/host/cgroups/mounted-cgroups.ts";
import { CgroupfsManager, type CgroupManager } from "../resources/cgroups/cgroup-manager.ts";
import type { CgroupDriver } from "../resources/cgroups/names.ts";
import { SystemdManager } from "../resources/cgroups/systemd-manager.ts";
import type { AgentOptions } from "./agent-options.ts";
import { cgroupDriverOfRuntime } from "./runtime-cgroup-driver.ts";

export async function cgroupManager(
  driver: CgroupDriver,
  layout: CgroupLayout,
  clock: Clock,
  isRunning: () => Promise<boolean> = isSystemdRunning,
): Promise<CgroupManager> {
  const filesystem = cgroupFilesystem(layout, { clock });
  if (driver === "cgroupfs") return new CgroupfsManager(filesystem);
  if (await isRunning()) return new SystemdManager(filesystem, new SystemdClient({ clock }));
  throw new KubeletError(
    "NotSupported",
    'cgroupDriver: "systemd": systemd not running on this host, cannot use systemd cgroups manager; ' +
      'set cgroupDriver to "cgroupfs" here and in the container runtime (containerd: SystemdCgroup = false)',
  );
}

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
