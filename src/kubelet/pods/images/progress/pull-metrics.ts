import type { Metrics } from "../../../../lib/base/metrics.ts";
import type { PullProgress } from "../../../../lib/model/pull-progress.ts";

/** Computed when they are scraped. An image that is not being pulled has none. */
export function pullMetrics(metrics: Metrics, pulls: () => readonly PullProgress[]): void {
  metrics.gauge({
    name: "kubelet_ts_image_pulls",
    help: "Number of images that are being pulled or wait to be pulled",
    labels: ["state"],
    collect: (gauge) => {
      gauge.reset();
      for (const { state } of pulls()) gauge.inc({ state });
    },
  });
  for (const [what, bytes] of Object.entries({ done: "present", total: "in the image" }) as [
    "done" | "total",
    string,
  ][])
    metrics.gauge({
      name: `kubelet_ts_image_pull_${what}_bytes`,
      help: `Compressed bytes ${bytes}, for images that are being pulled`,
      labels: ["image"],
      collect: (gauge) => {
        gauge.reset();
        for (const pull of pulls()) if (pull.bytes) gauge.set({ image: pull.image }, pull.bytes[what]);
      },
    });
}
