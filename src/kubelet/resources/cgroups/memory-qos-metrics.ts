import type { Metrics } from "../../../lib/base/metrics.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { type LimitSettings, reservedMemory } from "./limits.ts";

/** Records how much memory is reserved for pods; undefined without memory QoS, which has no metrics then. */
export function memoryQosMetrics(
  metrics: Metrics,
  settings: LimitSettings,
): ((pods: readonly Pod[]) => void) | undefined {
  if (!settings.memoryQos) return undefined;
  const gauge = (name: string, help: string) => metrics.gauge({ name, help, labels: [] });
  const min = gauge("kubelet_memory_qos_node_memory_min_bytes", "Bytes of memory.min of Guaranteed pods");
  const low = gauge("kubelet_memory_qos_node_memory_low_bytes", "Bytes of memory.low of Burstable pods");
  return (pods) => {
    const { guaranteed, burstable } = reservedMemory(pods, settings);
    min.set({}, Number(guaranteed));
    low.set({}, Number(burstable));
  };
}
