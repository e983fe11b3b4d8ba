import type { Metrics } from "../../../../lib/base/metrics.ts";

export type CheckResult = "credentialPolicyAllowed" | "credentialRecordFound" | "mustAuthenticate" | "error";

export interface RecordCounts {
  intents: number;
  pulled: number;
}

export interface RecordMetrics {
  checked(result: CheckResult): void;
}

/** `expected`: the number of records that counts as 100 %. All are in memory, however many. */
export function recordMetrics(
  metrics: Metrics,
  counts: () => RecordCounts,
  expected: RecordCounts,
): RecordMetrics {
  const percent = (count: number, most: number) =>
    Math.min(100, Math.floor((count * 100) / Math.max(1, most)));
  const gauge = (name: string, help: string, value: () => number) =>
    metrics.gauge({ name: `kubelet_imagemanager_${name}`, help, collect: (g) => g.set(value()) });
  gauge("ondisk_pullintents", "Number of ImagePullIntents stored on disk.", () => counts().intents);
  gauge("ondisk_pulledrecords", "Number of ImagePulledRecords stored on disk.", () => counts().pulled);
  gauge(
    "inmemory_pullintents_usage_percent",
    "Number of ImagePullIntents in percent of the expected maximum.",
    () => percent(counts().intents, expected.intents),
  );
  gauge(
    "inmemory_pulledrecords_usage_percent",
    "Number of ImagePulledRecords in percent of the expected maximum.",
    () => percent(counts().pulled, expected.pulled),
  );
  const checks = metrics.counter({
    name: "kubelet_imagemanager_image_mustpull_checks_total",
    help: "Number of checks whether a pod must authenticate to use an image that is present.",
    labels: ["result"],
  });
  return { checked: (result) => checks.inc({ result }) };
}
