import type { Clock } from "../../lib/base/clock.ts";
import { ConcurrencyGate } from "../../lib/base/gate.ts";
import { exponentialBuckets, type Metrics } from "../../lib/base/metrics.ts";
import type { StartKind } from "../pipeline/pod-runtime/pod-runtime.ts";

/** A start that takes longer hangs on a network or a disk; it must not keep others from starting. */
const longestTurnMs = 10_000;

/**
 * Where heavy runtime calls wait for their turn. A burst of pods does not hold up the restart of what ran before it, and a pod
 * that has begun is finished before another begins: else none of a burst would run before all have a sandbox.
 */
export function startGate(o: { clock: Clock; metrics: Metrics; cpus: number; width?: number }) {
  const waits = o.metrics.histogram({
    name: "kubelet_ts_start_wait_seconds",
    help: "How long a start waited for its turn",
    labels: ["kind"],
    buckets: exponentialBuckets(0.001, 4, 8),
  });
  const queue = o.metrics.gauge({
    name: "kubelet_ts_starts_waiting",
    help: "Starts that wait for their turn",
  });
  const turns = o.metrics.gauge({ name: "kubelet_ts_starts_running", help: "Starts that have their turn" });
  return new ConcurrencyGate<StartKind>(o.width || startWidth(o.cpus), {
    clock: o.clock,
    longestMs: longestTurnMs,
    kinds: ["restart", "container", "sandbox"],
    reserved: ["restart"],
    onAdmitted: (waitMs, kind) => waits.observe({ kind: kind ?? "sandbox" }, waitMs / 1000),
    onChange: ({ waiting, running }) => {
      queue.set(waiting);
      turns.set(running);
    },
  });
}

/** A start waits for disks and network as much as it computes; beyond some, they only get into each other's way. */
function startWidth(cpus: number): number {
  return Math.min(32, Math.max(4, cpus * 4));
}
