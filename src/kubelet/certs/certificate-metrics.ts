import type { Clock } from "../../lib/base/clock.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import { msBetween, wallTime } from "../../lib/base/time.ts";
import type { CertificatePair } from "./certificate-pair.ts";

interface HasCertificate {
  current(): CertificatePair | undefined;
}

const [minute, hour, day, month] = [60, 3600, 86_400, 2_592_000];

export function clientCertificateMetrics(
  metrics: Metrics,
  clock: Clock,
  of: () => HasCertificate | undefined,
) {
  remainingLifetime(metrics, clock, of, {
    name: "kubelet_certificate_manager_client_ttl_seconds",
    help: "Seconds until the client certificate expires (negative after that), +Inf if there is none.",
  });
  const errors = metrics.counter({
    name: "kubelet_certificate_manager_client_expiration_renew_errors",
    help: "Number of errors while renewing the client certificate.",
  });
  return { onFailure: () => errors.inc() };
}

export function servingCertificateMetrics(
  metrics: Metrics,
  clock: Clock,
  of: () => HasCertificate | undefined,
) {
  remainingLifetime(metrics, clock, of, {
    name: "kubelet_certificate_manager_server_ttl_seconds",
    help: "Seconds until the serving certificate expires (negative after that), +Inf if there is none.",
  });
  const errors = metrics.counter({
    name: "kubelet_server_expiration_renew_errors",
    help: "Number of errors while renewing the serving certificate.",
  });
  const lifetime = metrics.histogram({
    name: "kubelet_certificate_manager_server_rotation_seconds",
    help: "Age in seconds of the serving certificate when it was replaced.",
    buckets: [minute, hour, 4 * hour, day, 7 * day, month, 3 * month, 6 * month, 12 * month, 48 * month],
  });
  return { onFailure: () => errors.inc(), onRotated: (seconds: number) => lifetime.observe(seconds) };
}

function remainingLifetime(
  metrics: Metrics,
  clock: Clock,
  of: () => HasCertificate | undefined,
  names: { name: string; help: string },
): void {
  metrics.gauge({
    ...names,
    collect: (gauge) => {
      const pair = of()?.current();
      const ms = pair ? msBetween(clock.wall(), wallTime(pair.leaf.notAfter)) : Number.POSITIVE_INFINITY;
      gauge.set(Math.trunc(ms / 1000));
    },
  });
}
