import type { Metrics } from "../../../lib/base/metrics.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ContainerType } from "../../../lib/model/restart-policy.ts";

export interface StartMetrics {
  /** A container is about to be started: its back-off has passed, its image may not be pulled yet. */
  containerStarting(containerType: ContainerType): void;
  /** `reason` is the one that users see. */
  containerFailed(containerType: ContainerType, reason: string): void;
  /** A container with this many image volumes was created, or could not be created because of them. */
  imageVolumes?(count: number, mountFailed: boolean): void;
  /** A sandbox is about to be created. */
  podStarting(pod: Pod): void;
  /** The sandbox could not be created. */
  podFailed(): void;
  /** A sync that created a sandbox failed, there or with a container. */
  firstSyncFailed(pod: Pod): void;
}

const containerTypeLabels: Record<ContainerType, string> = {
  init: "init_container",
  sidecar: "init_container",
  regular: "container",
  ephemeral: "ephemeral_container",
};

/** Metrics of starts, with upstream's names. They count attempts, and failures separately. */
export function createStartMetrics(metrics: Metrics): StartMetrics {
  const containers = metrics.counter({
    name: "kubelet_started_containers_total",
    help: "Cumulative number of containers started, by type of container",
    labels: ["container_type"],
  });
  const containerErrors = metrics.counter({
    name: "kubelet_started_containers_errors_total",
    help: "Cumulative number of errors when starting containers, by type of container and reason",
    labels: ["container_type", "code"],
  });
  const pods = metrics.counter({
    name: "kubelet_started_pods_total",
    help: "Cumulative number of pods started, that is, of sandboxes requested",
  });
  const podErrors = metrics.counter({
    name: "kubelet_started_pods_errors_total",
    help: "Cumulative number of errors when starting pods",
  });
  const userNamespaced = metrics.counter({
    name: "kubelet_started_user_namespaced_pods_total",
    help: "Cumulative number of pods with user namespaces started",
  });
  const userNamespacedErrors = metrics.counter({
    name: "kubelet_started_user_namespaced_pods_errors_total",
    help: "Cumulative number of errors when starting pods with user namespaces, including errors of their containers",
  });
  return {
    containerStarting: (containerType) =>
      containers.inc({ container_type: containerTypeLabels[containerType] }),
    containerFailed: (containerType, code) =>
      containerErrors.inc({ container_type: containerTypeLabels[containerType], code }),
    podStarting(pod) {
      pods.inc();
      if (hasUserNamespace(pod)) userNamespaced.inc();
    },
    podFailed: () => podErrors.inc(),
    firstSyncFailed(pod) {
      if (hasUserNamespace(pod)) userNamespacedErrors.inc();
    },
  };
}

function hasUserNamespace(pod: Pod): boolean {
  return pod.spec.hostUsers === false;
}
