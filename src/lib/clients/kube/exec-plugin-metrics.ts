import type { Clock } from "../../base/clock.ts";
import type { Metrics } from "../../base/metrics.ts";
import { msBetween, type WallTime } from "../../base/time.ts";

export type PluginOutcome =
  | "no_error"
  | "plugin_execution_error"
  | "plugin_not_found_error"
  | "client_internal_error";

/** Metrics of the credential plugins of a kubeconfig. */
export interface PluginMetrics {
  called(outcome: PluginOutcome, code: number): void;
  /** A plugin returned credentials: with a certificate, or without one. */
  received(plugin: object, expiresAt: WallTime | undefined): void;
  /** A certificate of this age was replaced. */
  rotated(ageSeconds: number): void;
}

/** The plugins of one agent: several clients count in the same metrics. */
const expirations = new WeakMap<Metrics, Map<object, WallTime>>();
const day = 86_400;
const ages = [600, 1800, 3600, 4 * 3600, day, 7 * day, 30 * day, 90 * day, 180 * day, 360 * day, 1440 * day];

/** Metrics of exec plugins, with the names that client-go uses. */
export function pluginMetrics(metrics: Metrics, clock: Clock): PluginMetrics {
  const known = expirations.get(metrics) ?? new Map<object, WallTime>();
  expirations.set(metrics, known);
  const name = (what: string) => `rest_client_exec_plugin_${what}`;
  metrics.gauge({
    name: name("ttl_seconds"),
    help: "Seconds until the first certificate of a credential plugin expires; +Inf without such certificates",
    collect: (gauge) => {
      const now = clock.wall();
      gauge.set(Math.min(...[...known.values()].map((expiresAt) => msBetween(now, expiresAt) / 1000)));
    },
  });
  const lived = metrics.histogram({
    name: name("certificate_rotation_age"),
    help: "Age in seconds of certificates of credential plugins when they were replaced",
    buckets: ages,
  });
  const calls = metrics.counter({
    name: name("call_total"),
    help: "Calls of credential plugins, by outcome and exit code",
    labels: ["code", "call_status"],
  });
  return {
    called: (call_status, code) => calls.inc({ code, call_status }),
    received: (plugin, expiresAt) => {
      if (expiresAt === undefined) known.delete(plugin);
      else known.set(plugin, expiresAt);
    },
    rotated: (seconds) => lived.observe(seconds),
  };
}
