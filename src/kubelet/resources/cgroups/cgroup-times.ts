import { type Clock, msSince } from "../../../lib/base/clock.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import type { CgroupManager } from "./cgroup-manager.ts";

/** The same manager, with its operations timed, successful or not. */
export function timedCgroups(
  manager: CgroupManager,
  metrics: Metrics | undefined,
  clock: Clock,
): CgroupManager {
  if (!metrics) return manager;
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
    driver: manager.driver,
    version: manager.version,
    pathOf: (name) => manager.pathOf(name),
    nameOf: (path) => manager.nameOf(path),
    exists: (name) => manager.exists(name),
    missingControllers: (name) => manager.missingControllers(name),
    pids: (name) => manager.pids(name),
    children: (name) => manager.children(name),
    entries: (name) => manager.entries(name),
    removeEntry: (name, entry) => timed("destroy", () => manager.removeEntry(name, entry)),
    create: (name, resources) => timed("create", () => manager.create(name, resources)),
    update: (name, resources) => timed("update", () => manager.update(name, resources)),
    remove: (name, options) => timed("destroy", () => manager.remove(name, options)),
  };
}
