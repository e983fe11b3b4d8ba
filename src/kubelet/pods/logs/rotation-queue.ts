import { type Clock, msSince } from "../../../lib/base/clock.ts";
import { exponentialBuckets, type Metrics } from "../../../lib/base/metrics.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";

/** One log in the queue. */
export interface QueuedLog {
  started(): void;
  /** It is no longer in the queue: it was processed, or canceled before. */
  ended(): void;
}

/** The queue of logs to check, with the metric names of client-go's work queues. */
export function rotationQueue(metrics: Metrics, clock: Clock): { add(): QueuedLog } {
  const name = "kubelet_log_rotate_manager";
  const labels = ["name"] as const;
  const running = new Map<object, MonotonicTime>();
  const seconds = () => [...running.values()].map((since) => msSince(clock, since) / 1000);
  const adds = metrics.counter({ name: "workqueue_adds_total", help: "Items added to the queue", labels });
  const depth = metrics.gauge({ name: "workqueue_depth", help: "Items in the queue", labels });
  const retries = metrics.counter({ name: "workqueue_retries_total", help: "Items added again", labels });
  const buckets = exponentialBuckets(1e-8, 10, 10);
  const waited = metrics.histogram({
    name: "workqueue_queue_duration_seconds",
    help: "How long items were in the queue before they were processed",
    labels,
    buckets,
  });
  const took = metrics.histogram({
    name: "workqueue_work_duration_seconds",
    help: "How long items were processed",
    labels,
    buckets,
  });
  metrics.gauge({
    name: "workqueue_unfinished_work_seconds",
    help: "Time that the items now being processed have taken so far, in total",
    labels,
    collect: (gauge) =>
      gauge.set(
        { name },
        seconds().reduce((sum, each) => sum + each, 0),
      ),
  });
  metrics.gauge({
    name: "workqueue_longest_running_processor_seconds",
    help: "How long the oldest of the items now being processed has taken so far",
    labels,
    collect: (gauge) => gauge.set({ name }, Math.max(0, ...seconds())),
  });
  adds.inc({ name }, 0);
  depth.set({ name }, 0);
  // A log that cannot be rotated is checked again in the next period, which is no retry of the queue.
  retries.inc({ name }, 0);
  waited.zero({ name });
  took.zero({ name });
  return {
    add() {
      const added = clock.monotonic();
      adds.inc({ name });
      depth.inc({ name });
      const log: QueuedLog = {
        started() {
          running.set(log, clock.monotonic());
          depth.dec({ name });
          waited.observe({ name }, msSince(clock, added) / 1000);
        },
        ended() {
          const since = running.get(log);
          if (since === undefined) return depth.dec({ name });
          running.delete(log);
          took.observe({ name }, msSince(clock, since) / 1000);
        },
      };
      return log;
    },
  };
}
