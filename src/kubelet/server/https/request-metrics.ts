import { type Clock, msSince } from "../../../lib/base/clock.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";

const labels = ["method", "path", "server_type", "long_running"] as const;
const methods = ["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT"];
const longRunning = ["exec", "attach", "portforward", "debug"];

export interface RequestMetrics {
  /** Counts a request; call the returned function when it has completed. */
  start(method: string, path: string): () => void;
}

/** `known`: the first segment of each served path; others are counted together. */
export function requestMetrics(o: {
  metrics: Metrics;
  clock: Clock;
  serverType: "readwrite" | "readonly";
  known: ReadonlySet<string>;
}): RequestMetrics {
  const total = o.metrics.counter({
    name: "kubelet_http_requests_total",
    help: "Number of the http requests received since the server started",
    labels,
  });
  const inflight = o.metrics.gauge({
    name: "kubelet_http_inflight_requests",
    help: "Number of the inflight http requests",
    labels,
  });
  const duration = o.metrics.histogram({
    name: "kubelet_http_requests_duration_seconds",
    help: "Duration in seconds to serve http requests",
    labels,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  return {
    start(method, path) {
      const pathBucket = bucketOf(path);
      const bucket = o.known.has(pathBucket) ? pathBucket : "other";
      const values = {
        method: methods.includes(method) ? method : "other",
        path: bucket,
        server_type: o.serverType,
        long_running: String(longRunning.includes(bucket)),
      };
      const began = o.clock.monotonic();
      total.inc(values);
      inflight.inc(values);
      return () => {
        inflight.dec(values);
        duration.observe(values, msSince(o.clock, began) / 1000);
      };
    },
  };
}

function bucketOf(path: string): string {
  const [first = "", second] = path.slice(1).split("/");
  return first === "metrics" && second ? `${first}/${second}` : first;
}

/** The buckets of these paths. */
export function bucketsOf(paths: readonly string[]): Set<string> {
  return new Set(paths.map(bucketOf));
}
