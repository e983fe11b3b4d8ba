import type { Metrics } from "../../../lib/base/metrics.ts";

export interface EvictionMetrics {
  /** A pod is evicted because of this signal, or limit. */
  evicted(signal: string): void;
  /** Pods are ranked by stats that are this old. */
  statsUsed(signal: string, ageMs: number): void;
}

export function createEvictionMetrics(metrics: Metrics): EvictionMetrics {
  const evictions = metrics.counter({
    name: "kubelet_evictions",
    help: "Cumulative number of pod evictions by eviction signal",
    labels: ["eviction_signal"],
  });
  const ages = metrics.histogram({
    name: "kubelet_eviction_stats_age_seconds",
    help: "Time between when stats are collected, and when pod is evicted based on those stats by eviction signal",
    labels: ["eviction_signal"],
  });
  return {
    evicted: (eviction_signal) => evictions.inc({ eviction_signal }),
    statsUsed: (eviction_signal, ageMs) => ages.observe({ eviction_signal }, ageMs / 1000),
  };
}
