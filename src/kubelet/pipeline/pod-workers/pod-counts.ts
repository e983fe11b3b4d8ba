import type { Metrics } from "../../../lib/base/metrics.ts";
import { isStatic, type Pod, type PodUid } from "../../../lib/model/pod.ts";
import type { DesiredPods } from "../../state/desired-pods.ts";
import type { PodSyncStatus, WorkerPhase } from "../../state/pod-sync-status.ts";

export interface CountedPods {
  readonly desired: Pick<DesiredPods, "all" | "mirrors">;
  readonly workers: { all(): Iterable<CountedWorker> };
  /** The desired pods that are considered when another pod is admitted. */
  active(): readonly Pod[];
}

/** Upstream, a rejected pod has no worker. */
type CountedWorker = Pick<PodSyncStatus, "pod" | "phase" | "rejected"> & {
  readonly id: { readonly uid: PodUid };
};

const lifecycles: Record<WorkerPhase, string> = {
  syncing: "sync",
  terminating: "terminating",
  terminated: "terminated",
};

/** Where a pod is known, and whether it is static, which is unknown for a pod that only the runtime has. */
const kinds = [
  { config: "desired", static: "true" },
  { config: "desired", static: "" },
  { config: "orphan", static: "true" },
  { config: "orphan", static: "" },
  { config: "runtime_only", static: "unknown" },
] as const;

/** Pod counts under upstream's metric names, computed at each scrape. */
export function createPodCounts(metrics: Metrics, pods: CountedPods): void {
  metrics.gauge({
    name: "kubelet_desired_pods",
    help: "Pods that this node should run; static is true if they are not from the API server",
    labels: ["static"],
    collect: (gauge) => setByStatic(gauge, pods.desired.all()),
  });
  metrics.gauge({
    name: "kubelet_active_pods",
    help: "Pods considered when another pod is admitted; static is true if they are not from the API server",
    labels: ["static"],
    collect: (gauge) => setByStatic(gauge, pods.active()),
  });
  metrics.gauge({
    name: "kubelet_mirror_pods",
    help: "Mirror pods of the static pods of this node",
    collect: (gauge) => gauge.set(pods.desired.mirrors().length),
  });
  metrics.gauge({
    name: "kubelet_managed_ephemeral_containers",
    help: "Ephemeral containers of the pods that this node should run",
    collect: (gauge) =>
      gauge.set(
        pods.desired.all().reduce((sum, pod) => sum + (pod.spec.ephemeralContainers?.length ?? 0), 0),
      ),
  });
  metrics.gauge({
    name: "kubelet_working_pods",
    help: "Pods with a pod worker, by lifecycle phase, by whether they are desired, no longer desired (orphan) or only in the runtime, and by whether they are static",
    labels: ["lifecycle", "config", "static"],
    collect(gauge) {
      for (const kind of kinds)
        for (const lifecycle of Object.values(lifecycles)) gauge.set({ lifecycle, ...kind }, 0);
      const desired = new Set(pods.desired.all().map((pod) => pod.metadata.uid));
      for (const worker of pods.workers.all())
        if (!worker.rejected) gauge.inc({ lifecycle: lifecycles[worker.phase], ...kindOf(worker, desired) });
    },
  });
}

function kindOf({ id, pod }: CountedWorker, desired: ReadonlySet<PodUid>): (typeof kinds)[number] {
  if (!pod) return { config: "runtime_only", static: "unknown" };
  return { config: desired.has(id.uid) ? "desired" : "orphan", static: isStatic(pod) ? "true" : "" };
}

function setByStatic(
  gauge: { set(labels: { static: string }, value: number): void },
  pods: readonly Pod[],
): void {
  const count = pods.filter(isStatic).length;
  gauge.set({ static: "true" }, count);
  gauge.set({ static: "" }, pods.length - count);
}
