import type { Metrics } from "../../../../lib/base/metrics.ts";

export type CheckResult = "credentialPolicyAllowed" | "credentialRecordFound" | "mustAuthenticate" | "error";

export interface RecordCounts {
  intents: number;
  pulled: number;
}

export interface RecordMetrics {
  checked(result: CheckResult): void;
}

/** `atMost`: how many records are thought to be many. All are in memory, however many. */
export function recordMetrics(
  metrics: Metrics,
  counts: () => RecordCounts,
  atMost: RecordCounts,
): RecordMetrics {
  const percent = (count: number, most: number) =>
    Math.min(100, Math.floor((count * 100) / Math.max(1, most)));
  const gauge = (name: string, help: string, value: () => number) =>
    metrics.gauge({ name: `kubelet_imagemanager_${name}`, help, collect: (g) => g.set(value()) });
  gauge("ondisk_pullintents", "Pulls of images that are recorded on disk as begun.", () => counts().intents);
  gauge("ondisk_pulledrecords", "Pulled images that are recorded on disk.", () => counts().pulled);
  gauge(
    "inmemory_pullintents_usage_percent",
    "Pulls recorded as begun, in percent of what is expected.",
    () => percent(counts().intents, atMost.intents),
  );
  gauge("inmemory_pulledrecords_usage_percent", "Recorded images, in percent of what is expected.", () =>
    percent(counts().pulled, atMost.pulled),
  );
  const checks = metrics.counter({
    name: "kubelet_imagemanager_image_mustpull_checks_total",
    help: "How often it was asked whether a pod may use an image that is here.",
    labels: ["result"],
  });
  return { checked: (result) => checks.inc({ result }) };
}
