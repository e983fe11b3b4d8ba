import { type Clock, msSince } from "../../../lib/base/clock.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import type { CgroupDriver } from "../../../lib/host/cgroups/driver.ts";

/** The same driver, with its operations timed, successful or not. */
export function timedCgroups(driver: CgroupDriver, metrics: Metrics | undefined, clock: Clock): CgroupDriver {
  if (!metrics) return driver;
  const times = metrics.histogram({
    name: "kubelet_cgroup_manager_duration_seconds",
    help: "How long it took to create, update or destroy a cgroup",
    labels: ["operation_type"],
  });
  const timed = async (operation_type: string, work: () => Promise<void>) => {
    const began = clock.monotonic();
    try {
      await work();
    } finally {
      times.observe({ operation_type }, Math.max(0, msSince(clock, began)) / 1000);
    }
  };
  return {
    version: driver.version,
    exists: (path) => driver.exists(path),
    lacks: (path) => driver.lacks(path),
    pids: (path) => driver.pids(path),
    children: (path) => driver.children(path),
    create: (path, resources) => timed("create", () => driver.create(path, resources)),
    update: (path, resources) => timed("update", () => driver.update(path, resources)),
    remove: (path, options) => timed("destroy", () => driver.remove(path, options)),
  };
}
