import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import type { Tracer } from "../../lib/base/tracing/tracer.ts";
import type { CriClient } from "../../lib/clients/cri/cri.ts";
import type { FeatureName } from "../../lib/config/feature-gate-table.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import type { NodeEvents } from "../../lib/model/pod-events.ts";
import { wholeUnits } from "../../lib/model/quantity.ts";
import { ContainerGc, type ContainerGcOptions } from "../pods/garbage/container-gc.ts";
import type { ContainerGcPolicy, PodGcState } from "../pods/garbage/container-plan.ts";
import { ImageGc, type ImageGcOptions } from "../pods/garbage/image-gc.ts";
import { LogRotation } from "../pods/logs/log-rotation.ts";
import type { ObservedPods } from "../state/observed-pods.ts";

export interface GarbageCollectionOptions {
  config: KubeletConfiguration;
  gates: { enabled(gate: FeatureName): boolean };
  deadContainers?: ContainerGcPolicy;
  cri: CriClient;
  prefetched: ImageGcOptions["prefetched"];
  observed: ObservedPods;
  gcState: (uid: PodUid) => PodGcState;
  files: ContainerGcOptions["files"];
  pleg: ContainerGcOptions["pleg"];
  events: NodeEvents;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  tracer?: Tracer | undefined;
}

export interface GarbageCollectors {
  containers: ContainerGc;
  images: ImageGc;
  logs: LogRotation;
  /** All garbage collectors. Must be started after PLEG. */
  components: Component[];
}

/** Whether the garbage collectors may clean up after a pod in the runtime. */
export function gcStateOf(pod: {
  worker: { readonly phase: string; readonly evicted: boolean } | undefined;
  isDesired: boolean;
  /** False if a source that is not synced yet, or another kubelet, may have the pod. */
  mayTerminate: boolean;
}): PodGcState {
  if (pod.worker?.phase === "terminated") return pod.worker.evicted ? "evicted" : "terminated";
  if (pod.worker) return "active";
  if (pod.isDesired) return "active";
  return pod.mayTerminate ? "orphaned" : "foreign";
}

/** The defaults of upstream's flags. */
const defaultDeadContainers: ContainerGcPolicy = { minAgeMs: 0, maxPerContainer: 1, maxContainers: -1 };

/** Container GC, image GC and log rotation. */
export function garbageCollectors(parts: GarbageCollectionOptions): GarbageCollectors {
  const { config, cri, observed, clock, logger, events, metrics, tracer } = parts;
  const containers = new ContainerGc({
    runtime: cri,
    observed,
    gcState: parts.gcState,
    files: parts.files,
    pleg: parts.pleg,
    policy: parts.deadContainers ?? defaultDeadContainers,
    clock,
    logger,
    events,
    tracer,
  });
  const images = new ImageGc({
    images: cri,
    runtime: cri,
    prefetched: parts.prefetched,
    policy: {
      highPercent: config.imageGCHighThresholdPercent ?? 85,
      lowPercent: config.imageGCLowThresholdPercent ?? 80,
      minAgeMs: config.imageMinimumGCAge,
      maxAgeMs: config.imageMaximumGCAge,
    },
    byRuntimeHandler: parts.gates.enabled("RuntimeClassInImageCriApi"),
    clock,
    logger,
    events,
    metrics,
    tracer,
  });
  const logs = new LogRotation({
    runtime: cri,
    // The containers of another kubelet are left to it.
    running: () =>
      [...observed.all()]
        .filter((pod) => parts.gcState(pod.uid) !== "foreign")
        .flatMap((pod) => pod.containers.filter((c) => c.state === "running")),
    podLogsDir: config.podLogsDir,
    maxBytes: Number(wholeUnits(config.containerLogMaxSize)),
    maxFiles: config.containerLogMaxFiles ?? 5,
    workers: config.containerLogMaxWorkers ?? 1,
    everyMs: config.containerLogMonitorInterval ?? 10_000,
    clock,
    logger,
    metrics,
  });
  return { containers, images, logs, components: [containers, images, logs] };
}
