import { type Clock, monotonicOf } from "../../lib/base/clock.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import { type MonotonicTime, msBetween, type WallTime } from "../../lib/base/time.ts";

/** The startup steps of a node that joins a cluster for the first time. Each step is counted once. */
export interface StartupSteps {
  attempting(): void;
  /** Recorded only if this agent created the Node object. */
  registered(): void;
  ready(): void;
}

export interface StartupMetricsOptions {
  metrics: Metrics;
  clock: Clock;
  /** When the machine and when the agent was started. */
  bootedAt: WallTime;
  startedAt: WallTime;
}

/** The duration of each step; 0 for an existing node. */
export function startupMetrics({ metrics, clock, bootedAt, startedAt }: StartupMetricsOptions): StartupSteps {
  const gauge = (name: string, help: string) =>
    metrics.gauge({ name: `kubelet_node_startup_${name}duration_seconds`, help });
  const beforeAgent = gauge(
    "pre_kubelet_",
    "Seconds from the start of the machine to the start of the agent",
  );
  const beforeAttempt = gauge(
    "pre_registration_",
    "Duration in seconds from the start of the agent to its first registration attempt",
  );
  const registration = gauge(
    "registration_",
    "Duration in seconds from the first registration attempt to the registration of the node",
  );
  const afterwards = gauge(
    "post_registration_",
    "Duration in seconds from the registration of the node to its readiness",
  );
  const whole = gauge("", "Seconds from the start of the machine to when the node was ready");
  const started = monotonicOf(clock, startedAt);
  const beforeAgentMs = msBetween(bootedAt, startedAt);
  let attemptedAt: MonotonicTime | undefined;
  let registeredAt: MonotonicTime | undefined;
  let readyAt: MonotonicTime | undefined;
  return {
    attempting() {
      attemptedAt ??= clock.monotonic();
    },
    registered() {
      if (attemptedAt === undefined || registeredAt !== undefined) return;
      registeredAt = clock.monotonic();
      beforeAgent.set(beforeAgentMs / 1000);
      beforeAttempt.set(msBetween(started, attemptedAt) / 1000);
      registration.set(msBetween(attemptedAt, registeredAt) / 1000);
    },
    ready() {
      if (registeredAt === undefined || readyAt !== undefined) return;
      readyAt = clock.monotonic();
      afterwards.set(msBetween(registeredAt, readyAt) / 1000);
      whole.set((beforeAgentMs + msBetween(started, readyAt)) / 1000);
    },
  };
}
