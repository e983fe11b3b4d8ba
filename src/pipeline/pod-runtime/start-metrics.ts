import type { Metrics } from "../../base/metrics.ts";
import type { Role } from "./plan.ts";

export interface StartMetrics {
  containerStarted(role: Role): void;
  /** A sandbox is about to be made. */
  podStarting(): void;
  podFailed(): void;
}

const containerTypes: Record<Role, string> = {
  init: "init_container",
  sidecar: "init_container",
  regular: "container",
  ephemeral: "ephemeral_container",
};

/** What was started, under the names that dashboards know. */
export function createStartMetrics(metrics: Metrics): StartMetrics {
  const containers = metrics.counter({
    name: "kubelet_started_containers_total",
    help: "Containers that were started",
    labels: ["container_type"],
  });
  const pods = metrics.counter({ name: "kubelet_started_pods_total", help: "Pods that were started" });
  const failures = metrics.counter({
    name: "kubelet_started_pods_errors_total",
    help: "Pods whose start failed",
  });
  return {
    containerStarted: (role) => containers.inc({ container_type: containerTypes[role] }),
    podStarting: () => pods.inc(),
    podFailed: () => failures.inc(),
  };
}
