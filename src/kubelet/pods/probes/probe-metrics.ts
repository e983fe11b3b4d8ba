import type { Metrics } from "../../../lib/base/metrics.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ProbeKind } from "../../state/probe-results.ts";

/** The name of a probe kind in metrics and events. */
export const kindNames = {
  startup: "Startup",
  liveness: "Liveness",
  readiness: "Readiness",
} as const satisfies Record<ProbeKind, string>;

export interface ProbeMetrics {
  /** Counts one probe; its duration is recorded only if it succeeded. */
  record(of: Probed, outcome: "success" | "failure", seconds: number): void;
  /** Removes its series. */
  remove(of: Probed): void;
}

export interface Probed {
  pod: Pod;
  container: string;
  kind: ProbeKind;
}

const results = { success: "successful", failure: "failed" } as const;

export function probeMetrics(metrics: Metrics): ProbeMetrics {
  const total = metrics.counter({
    name: "prober_probe_total",
    help: "Cumulative number of a liveness, readiness or startup probe for a container by result.",
    labels: ["probe_type", "result", "container", "pod", "namespace", "pod_uid"],
  });
  const duration = metrics.histogram({
    name: "prober_probe_duration_seconds",
    help: "Duration in seconds for a probe response.",
    labels: ["probe_type", "container", "pod", "namespace"],
  });
  return {
    record(of, outcome, seconds) {
      const labels = labelsOf(of);
      total.inc({ ...labels, pod_uid: of.pod.metadata.uid, result: results[outcome] });
      if (outcome === "success") duration.observe(labels, seconds);
    },
    remove(of) {
      const labels = labelsOf(of);
      for (const result of Object.values(results))
        total.remove({ ...labels, pod_uid: of.pod.metadata.uid, result });
      duration.remove(labels);
    },
  };
}

function labelsOf({ pod, container, kind }: Probed) {
  const { name, namespace } = pod.metadata;
  return { probe_type: kindNames[kind], container, pod: name, namespace };
}
