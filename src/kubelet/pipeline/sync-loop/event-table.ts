import type { EventKind, EventOf } from "./events.ts";

/**
 * The handlers of each event, in this order. Nothing else connects the components of the kubelet: a component posts an event, and the
 * sync loop runs the handlers of its row from left to right. Events that a handler posts are handled after all that were posted
 * before. A handler that does not exist (`statusWriter` without a cluster) is omitted from its rows.
 */
export const eventTable = {
  "pods-changed": ["ignoredFields", "desiredPods", "resizes", "workers", "podsApi", "initialSync"],
  "source-synced": ["housekeeping", "resizes"],

  // Probes come before the status: the first status already uses the results from before a restart of the agent.
  "runtime-observed": ["oomWatcher", "logFollowers", "probes", "status", "overview", "console", "workers"],
  // The statuses come before the workers: a worker decides by the status whether its pod has terminated.
  "runtime-synced": [
    "initialSync",
    "probeCheckpoint",
    "status",
    "volumes",
    "housekeeping",
    "workers",
    "resizes",
  ],
  "runtime-state": ["initialSync", "podCidr", "nodeStatus", "console", "pleg", "workers"],
  "orphan-found": ["workers"],
  "container-started": ["allocation", "exclusiveResources"],
  "post-start-done": ["probes", "status", "overview", "console"],
  "probe-result": ["explanations", "status", "overview", "console", "workers"],

  "worker-changed": ["status", "overview", "console", "statusWriter", "mirrors"],
  "worker-step": ["overview", "console"],
  "pull-progress": ["overview", "console"],
  // Resources are free before pods that wait for them are admitted, and before resizes that wait for them are allocated.
  "worker-phase": ["statusWriter", "probes", "exclusiveResources", "workers", "resizes"],
  "resize-allocated": ["workers", "status"],
  "resize-changed": ["status"],
  "pod-failed": ["podEvents"],
  "pod-rejected": ["workers"],
  "pod-evicted": ["workers"],
  "pod-shutdown": ["workers"],
  // A pod is deleted in the API only after this.
  "pod-resources-reclaimed": ["statusWriter", "podsApi"],
  // The explanation comes before probes and status are deleted: it is built from them.
  "worker-gone": [
    "logFollowers",
    "explanations",
    "probes",
    "status",
    "allocation",
    "exclusiveResources",
    "evictedPods",
    "startupLatency",
    "statusWriter",
    "mirrors",
    "podsApi",
    "overview",
    "console",
    "volumes",
  ],
  "status-changed": ["overview", "console", "podsApi", "workers", "statusWriter"],

  "volumes-in-use": ["nodeStatus"],
  "volumes-reported": ["attachedVolumes"],
  "volumes-attached": ["volumes"],
  "volume-content-changed": ["volumes"],
  "csi-driver-changed": ["volumes"],
  "volume-plugins-changed": ["volumes"],
  "csi-node-ready": ["nodeStatus"],
  "dra-driver-connected": ["workers"],
  "device-health-changed": ["status"],

  "api-pod": ["startupLatency", "statusWriter", "mirrors"],
  // Probes come before the status, as above: the status that is written to the mirror is based on the probe results in the mirror.
  "mirror-changed": ["probes", "status", "overview", "console", "statusWriter"],
  "node-changed": ["mirrors", "attachedVolumes", "volumes", "nodeStatus", "servingCertificate", "console"],
  "api-listed": ["workers"],
  "api-reconnected": ["mirrors", "plugins", "console"],

  "oom-kill": ["pleg", "explanations", "nodeEvents"],
  "pressure-changed": ["nodeStatus", "console"],
  "devices-changed": ["status", "nodeStatus", "console"],
  "shutdown-changed": ["nodeStatus", "console"],
  "event-recorded": ["console"],

  tick: ["syncLoopCheck"],
} as const satisfies { readonly [K in EventKind]: readonly string[] };

export type HandlerName = (typeof eventTable)[EventKind][number];

type KindsOf<N extends HandlerName> = {
  [K in EventKind]: N extends (typeof eventTable)[K][number] ? K : never;
}[EventKind];

/**
 * One handler for each row that names it, and no other; anything else does not compile. The keys are those of the table, so an editor
 * finds the row of a handler by its definition, and the handlers of a row by its references.
 */
export type EventHandler<N extends HandlerName> = {
  readonly [K in keyof Pick<typeof eventTable, KindsOf<N>>]: (event: EventOf<K>) => void;
};

export type EventHandlers = { readonly [N in HandlerName]: EventHandler<N> };

export interface RowHandler {
  readonly handler: HandlerName;
  readonly handle: (event: never) => void;
}

/** The existing handlers of each row. */
export function handlersOf(
  handlers: Partial<EventHandlers>,
): Readonly<Record<EventKind, readonly RowHandler[]>> {
  const rows = Object.entries(eventTable) as [EventKind, readonly HandlerName[]][];
  const listed = new Set(rows.flatMap(([kind, names]) => names.map((name) => `${name} ${kind}`)));
  for (const [name, handler] of Object.entries(handlers))
    for (const kind of Object.keys(handler))
      if (!listed.has(`${name} ${kind}`))
        throw new Error(`the event table has no handler of ${name} to ${kind}`);
  return Object.fromEntries(
    rows.map(([kind, names]) => [
      kind,
      names.flatMap((name): RowHandler[] => {
        const handler = handlers[name] as Partial<Record<EventKind, RowHandler["handle"]>> | undefined;
        const handle = handler?.[kind];
        if (handler && !handle) throw new Error(`${name} does not handle ${kind}`);
        return handle ? [{ handler: name, handle }] : [];
      }),
    ]),
  ) as Record<EventKind, RowHandler[]>;
}
