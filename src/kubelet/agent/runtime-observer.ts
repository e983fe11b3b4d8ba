import { EventStream } from "../pipeline/pleg/event-stream.ts";
import { createEventStreamMetrics } from "../pipeline/pleg/event-stream-metrics.ts";
import { Pleg } from "../pipeline/pleg/pleg.ts";
import { createPlegMetrics } from "../pipeline/pleg/pleg-metrics.ts";
import { RefreshHints } from "../pipeline/pleg/refresh-hints.ts";
import { terminationMessage } from "../pipeline/pleg/termination-message.ts";
import { SyncLoopCheck } from "../pipeline/sync-loop/sync-loop-check.ts";
import type { AgentCore } from "./agent-core.ts";
import type { StartLimiter } from "./start-limiter.ts";

/** With an event stream the relist is a safety net only, unless pods wait for it. */
const relistMs = 1000;
const relistWithEventsMs = 10_000;

/**
 * Observes the runtime by relists, and by container events where the runtime supports them, unless the configuration sets
 * EventedPLEG to false.
 */
export function runtimeObserver(
  { config, options, cri, connection, observed, clock, logger, metrics, post }: AgentCore,
  limiter: StartLimiter,
) {
  const usesEvents = config.featureGates?.EventedPLEG !== false;
  const onDemand = options.gates.enabled("PLEGOnDemandRelist");
  const state = { connected: false };
  const pleg = new Pleg({
    runtime: cri,
    observed,
    clock,
    logger,
    relistEveryMs: () => (state.connected && onDemand ? relistWithEventsMs : relistMs),
    onDemand,
    terminationMessage,
    metrics: createPlegMetrics(metrics, observed),
    onEvent: ({ uid, kind: what }) => post({ kind: "runtime-observed", uid, what }),
  });
  const hints = new RefreshHints({ clock, observed, pleg, limiter });
  const eventStream = usesEvents
    ? new EventStream({
        runtime: cri,
        clock,
        logger,
        hints,
        pleg,
        state,
        metrics: createEventStreamMetrics(metrics),
      })
    : undefined;
  void pleg.synced.then(() => post({ kind: "runtime-synced" }));
  const syncLoopCheck = new SyncLoopCheck({
    clock,
    resyncMs: config.syncFrequency,
    blockedBy: [connection, pleg],
  });
  return { pleg, eventStream, syncLoopCheck };
}
