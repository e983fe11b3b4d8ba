import { join } from "node:path";
import { createMetrics, type Metrics } from "../../lib/base/metrics.ts";
import type { ContainerId } from "../../lib/clients/cri/cri.ts";
import type { Pod } from "../../lib/model/pod.ts";
import { outcomeInStatus } from "../pods/probes/outcome-in-status.ts";
import { ProbeCheckpoint } from "../pods/probes/probe-checkpoint.ts";
import { ProbeManager } from "../pods/probes/probe-manager.ts";
import type { ProbeKind, ProbeOutcome } from "../state/probe-results.ts";
import type { AgentCore } from "./agent-core.ts";

export interface PodProbes {
  readonly probes: ProbeManager;
  readonly probeCheckpoint: ProbeCheckpoint;
  readonly metrics: Metrics;
  /** The result of a probe; until a container is probed, the outcome from before the restart. */
  readonly outcomes: { get(kind: ProbeKind, id: ContainerId, pod: Pod): ProbeOutcome | undefined };
}

export function podProbes(core: AgentCore): PodProbes {
  const { clock, logger, results, apiPods, running, cri, events, hostIps, options } = core;
  // Probe metrics have many series: they are served at a path of their own.
  const metrics = createMetrics();
  const checkpoint = new ProbeCheckpoint({
    path: join(options.rootDir, "probe-results.json"),
    results,
    logger,
  });
  const restartsProbes = options.gates.enabled("ChangeContainerStatusOnKubeletRestart");
  // The checkpoint is stale if another kubelet ran on this node since.
  const previousOutcome = (kind: ProbeKind, pod: Pod, id: ContainerId) =>
    restartsProbes
      ? undefined
      : (outcomeInStatus(apiPods.statusOf(pod), kind, id) ?? checkpoint.get(kind, id));
  const probes = new ProbeManager({
    clock,
    logger,
    results,
    events,
    hostIps,
    previousOutcome,
    metrics,
    observed: running,
    runtime: cri,
    random: Math.random,
  });
  return {
    probes,
    probeCheckpoint: checkpoint,
    metrics,
    outcomes: { get: (kind, id, pod) => results.get(kind, id) ?? previousOutcome(kind, pod, id) },
  };
}
