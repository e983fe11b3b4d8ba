import type { Metrics } from "../../../lib/base/metrics.ts";

const hour = 3600;
const day = 24 * hour;
const bounds = [
  ...[0, hour / 2, hour, 2 * hour, 6 * hour, 12 * hour],
  ...[day, 2 * day, 4 * day, 7 * day, 30 * day, 90 * day, 180 * day, 360 * day],
];

/** Observed with each request with a certificate, before it is verified; negative if it has expired. */
export function remainingLifetimes(metrics: Metrics): { observe(seconds: number): void } {
  return metrics.histogram({
    name: "apiserver_client_certificate_expiration_seconds",
    help: "Remaining lifetime of the client certificates of requests",
    buckets: bounds,
  });
}
