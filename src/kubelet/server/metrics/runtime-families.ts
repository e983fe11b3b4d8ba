import { wallTime } from "../../../lib/base/time.ts";
import type { Metric, MetricDescriptor, PodSandboxMetrics } from "../../../lib/gen/runtime/v1/api_pb.js";
import { MetricType } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { Family, Labels, Sample } from "./exposition.ts";

/** Requests to the runtime for metrics of pods and containers. */
export interface RuntimeMetrics {
  listMetricDescriptors(): Promise<readonly MetricDescriptor[]>;
  listPodSandboxMetrics(): Promise<readonly PodSandboxMetrics[]>;
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/**
 * Returns a function that collects the metrics that the runtime describes. The descriptions are static: they are requested once, and with
 * the next call if that failed.
 */
export function runtimeFamilies(runtime: RuntimeMetrics): () => Promise<Family[]> {
  let described: readonly MetricDescriptor[] | undefined;
  return async () => {
    described ??= await runtime.listMetricDescriptors();
    return familiesOf(described, await runtime.listPodSandboxMetrics());
  };
}

/** Metrics that are not described, and series that Prometheus would reject, are omitted. */
function familiesOf(descriptors: readonly MetricDescriptor[], pods: readonly PodSandboxMetrics[]): Family[] {
  const described = new Map(descriptors.filter(isValid).map((descriptor) => [descriptor.name, descriptor]));
  const found = new Map<string, { readonly family: Family; readonly samples: Map<string, Sample> }>();
  for (const metric of pods.flatMap((pod) => [
    ...pod.metrics,
    ...pod.containerMetrics.flatMap(({ metrics }) => metrics),
  ])) {
    const descriptor = described.get(metric.name);
    const labels = descriptor && labelsOf(descriptor, metric);
    const type = metric.metricType === MetricType.GAUGE ? "gauge" : "counter";
    if (!labels || metric.value === undefined) continue;
    const { name, help } = descriptor;
    const entry = found.get(name) ?? {
      family: { name, help: `[INTERNAL] ${help}`, type, samples: [] },
      samples: new Map<string, Sample>(),
    };
    found.set(name, entry);
    const key = JSON.stringify(metric.labelValues);
    if (entry.family.type !== type || entry.samples.has(key)) continue;
    entry.samples.set(key, sampleOf(labels, metric));
  }
  return [...found.values()].map(({ family, samples }) => ({ ...family, samples: [...samples.values()] }));
}

function isValid({ name, labelKeys }: MetricDescriptor): boolean {
  return (
    metricName.test(name) &&
    labelKeys.every((key) => labelName.test(key)) &&
    new Set(labelKeys).size === labelKeys.length
  );
}

function labelsOf({ labelKeys }: MetricDescriptor, { labelValues }: Metric): Labels | undefined {
  if (labelKeys.length !== labelValues.length) return undefined;
  return Object.fromEntries(labelKeys.map((key, index) => [key, labelValues[index]!]));
}

/** A timestamp of 0 means that the value was measured for this request. */
function sampleOf(labels: Labels, { value, timestamp }: Metric): Sample {
  const time = timestamp === 0n ? {} : { time: wallTime(Number(timestamp / 1_000_000n)) };
  return { labels, value: Number(value?.value ?? 0n), ...time };
}
