import { join } from "node:path";
import { notifyOnMemoryThresholds } from "../../lib/host/cgroups/memory-thresholds.ts";
import { parseRoot } from "../resources/cgroups/names.ts";
import type { EvictionManagerOptions } from "../resources/eviction/eviction-manager.ts";
import type { AgentCore } from "./agent-core.ts";

/** Notifications of the kernel about memory usage, if configured; cgroup v2 has none, as in the reference kubelet. */
export function memoryNotifier({ config, node }: AgentCore): EvictionManagerOptions["notifier"] {
  const mount = node.layout.version === 1 ? node.layout.mounts.get("memory") : undefined;
  if (!config.kernelMemcgNotification || mount === undefined) return undefined;
  const pods = node.cgroupManager.pathOf([...parseRoot(config.cgroupRoot), "kubepods"]);
  let remove = () => {};
  return {
    async set(thresholds, notify) {
      remove();
      remove = () => {};
      if (thresholds.length === 0) return;
      remove = await notifyOnMemoryThresholds(
        thresholds.map(({ cgroup, usageBytes }) => ({
          dir: cgroup === "pods" ? join(mount, pods) : mount,
          usageBytes,
        })),
        notify,
      );
    },
    close: () => remove(),
  };
}
