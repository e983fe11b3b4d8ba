import type { Clock } from "../../lib/base/clock.ts";
import type { Metrics } from "../../lib/base/metrics.ts";

/** What a node that joins a cluster for the first time goes through. Each step counts once. */
export interface StartupSteps {
  attempting(): void;
  /** Only if it was not there before. */
  registered(): void;
  ready(): void;
}

export interface StartupMetricsOptions {
  metrics: Metrics;
  clock: Clock;
  /** When the machine and when the agent was started, in milliseconds since the epoch. */
  bootedAt: number;
  startedAt: number;
}

/** How long each step took; 0 of all of them for a node that was registered before. */
export function startupMetrics({ metrics, clock, bootedAt, startedAt }: StartupMetricsOptions): StartupSteps {
  const gauge = (name: string, help: string) =>
    metrics.gauge({ name: `kubelet_node_startup_${name}duration_seconds`, help });
  const beforeAgent = gauge("pre_kubelet_", "Seconds from the start of the machine to that of the agent");
  const beforeAttempt = gauge(
    "pre_registration_",
    "Seconds from the start of the agent to its first try to register",
  );
  const registration = gauge(
    "registration_",
    "Seconds from the first try to register to when the node was registered",
  );
  const afterwards = gauge(
    "post_registration_",
    "Seconds from when the node was registered to when it was ready",
  );
  const whole = gauge("", "Seconds from the start of the machine to when the node was ready");
  let attemptedAt: number | undefined;
  let registeredAt: number | undefined;
  let readyAt: number | undefined;
  return {
    attempting() {
      attemptedAt ??= clock.now();
    },
    registered() {
      if (attemptedAt === undefined || registeredAt !== undefined) return;
      registeredAt = clock.now();
      beforeAgent.set((startedAt - bootedAt) / 1000);
      beforeAttempt.set((attemptedAt - startedAt) / 1000);
      registration.set((registeredAt - attemptedAt) / 1000);
    },
    ready() {
      if (registeredAt === undefined || readyAt !== undefined) return;
      readyAt = clock.now();
      afterwards.set((readyAt - registeredAt) / 1000);
      whole.set((readyAt - bootedAt) / 1000);
    },
  };
}
