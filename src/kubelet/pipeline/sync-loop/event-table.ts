import type { EventKind, EventOf } from "./events.ts";

/**
 * The reactors of each event, in this order. Nothing else connects the components of the kubelet: a component posts an event, and the
 * sync loop runs the reactions of its row from left to right. Events that a reaction posts are handled after all that were posted
 * before. A reactor that does not exist (`statusWriter` without a cluster) is left out of its rows.
 */
export const eventTable = {
  "pods-changed": ["ignoredFields", "desiredPods", "workers", "podsApi", "initialSync"],
  "source-synced": ["housekeeping"],

  // Probes come before the status: results from before a restart of the agent count from the first status on.
  "runtime-observed": ["logFollowers", "probes", "status", "board", "workers"],
  // The statuses come before the workers: a worker decides by the status whether its pod has terminated.
  "runtime-synced": ["initialSync", "probeCheckpoint", "status", "volumes", "housekeeping", "workers"],
  "runtime-state": ["initialSync", "nodeStatus", "pleg", "workers"],
  "orphan-found": ["workers"],
  "container-started": ["allocation"],
  "post-start-done": ["probes", "status", "board"],
  "probe-result": ["explanations", "status", "board", "workers"],

  "worker-changed": ["status", "board", "statusWriter", "mirrors"],
  "worker-phase": ["statusWriter", "probes"],
  "worker-verdict": ["podEvents"],
  "pod-rejected": ["workers"],
  // A pod is deleted in the API only after this.
  "pod-released": ["statusWriter", "podsApi"],
  // The explanation comes before probes and status are deleted: it is built from them.
  "worker-gone": [
    "logFollowers",
    "explanations",
    "probes",
    "status",
    "allocation",
    "startupLatency",
    "statusWriter",
    "mirrors",
    "podsApi",
    "board",
  ],
  "status-changed": ["board", "podsApi", "workers", "statusWriter"],

  "volumes-in-use": ["nodeStatus"],
  "volumes-reported": ["attachedVolumes"],
  "volumes-attached": ["volumes"],
  "volume-content-changed": ["volumes"],
  "csi-driver-changed": ["volumes"],
  "csi-node-ready": ["nodeStatus"],

  "api-pod": ["startupLatency", "statusWriter", "mirrors"],
  // As with the runtime: the probe results in the mirror count in the status that is written to it.
  "mirror-changed": ["probes", "status", "board", "statusWriter"],
  "node-changed": ["mirrors", "attachedVolumes", "nodeStatus", "servingCertificate"],
  "api-listed": ["workers"],
  "api-reconnected": ["mirrors", "plugins"],

  // "pressure-changed": eviction and the node's conditions will react here.
  tick: [],
} as const satisfies { readonly [K in EventKind]: readonly string[] };

export type ReactorName = (typeof eventTable)[EventKind][number];

type KindsOf<N extends ReactorName> = {
  [K in EventKind]: N extends (typeof eventTable)[K][number] ? K : never;
}[EventKind];

/** One reaction for each row that names the reactor, and no other; anything else does not compile. */
export type Reactor<N extends ReactorName> = { readonly [K in KindsOf<N>]: (event: EventOf<K>) => void };

export type Reactors = { readonly [N in ReactorName]: Reactor<N> };

export interface Reaction {
  readonly reactor: ReactorName;
  readonly react: (event: never) => void;
}

/** The reactions of each row, of those reactors that exist. */
export function reactionsOf(reactors: Partial<Reactors>): Readonly<Record<EventKind, readonly Reaction[]>> {
  const rows = Object.entries(eventTable) as [EventKind, readonly ReactorName[]][];
  const listed = new Set(rows.flatMap(([kind, names]) => names.map((name) => `${name} ${kind}`)));
  for (const [name, reactor] of Object.entries(reactors))
    for (const kind of Object.keys(reactor))
      if (!listed.has(`${name} ${kind}`))
        throw new Error(`the event table has no reaction of ${name} to ${kind}`);
  return Object.fromEntries(
    rows.map(([kind, names]) => [
      kind,
      names.flatMap((name): Reaction[] => {
        const reactor = reactors[name] as Partial<Record<EventKind, Reaction["react"]>> | undefined;
        const react = reactor?.[kind];
        if (reactor && !react) throw new Error(`${name} does not react to ${kind}`);
        return react ? [{ reactor: name, react }] : [];
      }),
    ]),
  ) as Record<EventKind, Reaction[]>;
}
