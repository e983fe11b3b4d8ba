import type { Metrics } from "../../../lib/base/metrics.ts";

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;

/** Pull durations are labeled by the size of the image: "1GB-5GB" is more than 1 GiB. */
const sizes: readonly [above: number, label: string][] = [
  [100 * GiB, "GT100GB"],
  [60 * GiB, "60GB-100GB"],
  [40 * GiB, "40GB-60GB"],
  [30 * GiB, "30GB-40GB"],
  [20 * GiB, "20GB-30GB"],
  [10 * GiB, "10GB-20GB"],
  [5 * GiB, "5GB-10GB"],
  [GiB, "1GB-5GB"],
  [500 * MiB, "500MB-1GB"],
  [100 * MiB, "100MB-500MB"],
  [10 * MiB, "10MB-100MB"],
  [0, "0-10MB"],
];

export function sizeLabel(bytes: number): string {
  return sizes.find(([above]) => bytes > above)?.[1] ?? "N/A";
}

export interface EnsureOutcome {
  policy: string;
  /** Undefined if not checked. */
  present?: boolean;
  pullRequired?: boolean;
}

export interface ImageMetrics {
  ensured(outcome: EnsureOutcome): void;
  pulled(bytes: number, seconds: number): void;
}

export function imageMetrics(metrics: Metrics): ImageMetrics {
  const ensured = metrics.counter({
    name: "kubelet_image_manager_ensure_image_requests_total",
    help: "Number of ensure-image requests processed by the kubelet.",
    labels: ["pull_policy", "present_locally", "pull_required"],
  });
  const pulled = metrics.histogram({
    name: "kubelet_image_pull_duration_seconds",
    help: "Duration in seconds to pull an image, including waiting.",
    labels: ["image_size_in_bytes"],
    buckets: [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
  });
  return {
    ensured: ({ policy, present, pullRequired }) =>
      ensured.inc({
        pull_policy: policy.toLowerCase(),
        present_locally: String(present ?? "unknown"),
        pull_required: String(pullRequired ?? "unknown"),
      }),
    pulled: (bytes, seconds) => pulled.observe({ image_size_in_bytes: sizeLabel(bytes) }, seconds),
  };
}
