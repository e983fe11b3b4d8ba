import { join } from "node:path";
import type { CgroupLayout } from "../../../lib/host/cgroups/layout.ts";
import { notifyOnMemoryThresholds } from "../../../lib/host/cgroups/memory-thresholds.ts";
import type { EvictionManagerOptions } from "./eviction-manager.ts";

/** Notifications of the kernel about the memory usage of the node and of its pods; cgroup v2 has none, as in the reference kubelet. */
export function memoryNotifier({
  enabled,
  layout,
  podsCgroup,
}: {
  readonly enabled: boolean;
  readonly layout: CgroupLayout;
  /** The path of the cgroup of all pods. */
  readonly podsCgroup: string;
}): EvictionManagerOptions["notifier"] {
  const mount = layout.version === 1 ? layout.mounts.get("memory") : undefined;
  if (!enabled || mount === undefined) return undefined;
  let remove = () => {};
  return {
    async set(thresholds, notify) {
      remove();
      remove = () => {};
      if (thresholds.length === 0) return;
      remove = await notifyOnMemoryThresholds(
        thresholds.map(({ cgroup, usageBytes }) => ({
          dir: cgroup === "pods" ? join(mount, podsCgroup) : mount,
          usageBytes,
        })),
        notify,
      );
    },
    close: () => remove(),
  };
}
