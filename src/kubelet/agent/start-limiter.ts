import { availableParallelism } from "node:os";
import type { Clock } from "../../lib/base/clock.ts";
import { ConcurrencyLimiter } from "../../lib/base/concurrency-limiter.ts";
import { exponentialBuckets, type Metrics } from "../../lib/base/metrics.ts";
import { cpuIdleMs } from "../../lib/host/cpu-idle.ts";
import type { StartKind } from "../pipeline/pod-runtime/pod-runtime.ts";
import { startWidth } from "../pipeline/pod-runtime/start-width.ts";

export type StartLimiter = ConcurrencyLimiter<StartKind>;

/** A start that takes longer hangs on a network or a disk; it must not block others. */
const maxSlotMs = 10_000;
/** Where starts take a fraction of a second, a start that hangs is noticed this early. */
const minSlotMs = 1500;

/**
 * Limits concurrent runtime calls that are expensive. A burst of new pods does not delay restarts, and a started pod is completed
 * before another starts: otherwise no pod of a burst would run before all have a sandbox.
 */
export function startLimiter(o: {
  clock: Clock;
  metrics: Metrics;
  cpus: number;
  width?: number | undefined;
}): StartLimiter {
  const waits = o.metrics.histogram({
    name: "kubelet_ts_start_wait_seconds",
    help: "Time that starts waited for a slot",
    labels: ["kind"],
    buckets: exponentialBuckets(0.001, 4, 8),
  });
  const waitingStarts = o.metrics.gauge({
    name: "kubelet_ts_starts_waiting",
    help: "Starts waiting for a slot",
  });
  const runningStarts = o.metrics.gauge({
    name: "kubelet_ts_starts_running",
    help: "Starts that hold a slot",
  });
  const { cpus, clock } = o;
  const width =
    o.width || startWidth({ cpus, usableCpus: availableParallelism(), clock, idleMs: () => cpuIdleMs() });
  return new ConcurrencyLimiter<StartKind>(width, {
    clock,
    ...(typeof width !== "number" && { measure: (kind = "sandbox") => width.started(kind) }),
    maxHoldMs: maxSlotMs,
    minHoldMs: minSlotMs,
    kinds: ["restart", "container", "sandbox"],
    reserved: ["restart"],
    onAdmitted: (waitMs, kind) => waits.observe({ kind: kind ?? "sandbox" }, waitMs / 1000),
    onChange: ({ waiting, running }) => {
      waitingStarts.set(waiting);
      runningStarts.set(running);
    },
  });
}
