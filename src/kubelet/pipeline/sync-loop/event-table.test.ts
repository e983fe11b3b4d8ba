import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { type EventHandlers, eventTable, type HandlerName, handlersOf } from "./event-table.ts";
import type { EventKind, KubeletEvent } from "./events.ts";
import { SyncLoop } from "./sync-loop.ts";

/** The handlers of each kind, in this order. A change here changes what users see: statuses, deletions, restarts. */
const expected: Record<EventKind, string> = {
  "pods-changed": "ignoredFields desiredPods resizes workers podsApi initialSync",
  "source-synced": "housekeeping resizes",
  "runtime-observed": "oomWatcher logFollowers probes status overview console workers",
  "runtime-synced": "initialSync probeCheckpoint status volumes housekeeping workers resizes",
  "runtime-state": "initialSync podCidr nodeStatus console pleg workers",
  "orphan-found": "workers",
  "container-started": "allocation exclusiveResources",
  "post-start-done": "probes status overview console",
  "probe-result": "explanations status overview console workers",
  "worker-changed": "status overview console statusWriter mirrors",
  "worker-step": "overview console",
  "pull-progress": "overview console",
  "worker-phase": "statusWriter probes exclusiveResources workers resizes",
  "resize-allocated": "workers status",
  "resize-changed": "status",
  "pod-failed": "podEvents",
  "pod-rejected": "workers",
  "pod-evicted": "workers",
  "pod-shutdown": "workers",
  "pod-resources-reclaimed": "statusWriter podsApi",
  "worker-gone":
    "logFollowers explanations probes status allocation exclusiveResources evictedPods startupLatency statusWriter mirrors podsApi overview console volumes",
  "status-changed": "overview console podsApi workers statusWriter",
  "volumes-in-use": "nodeStatus",
  "volumes-reported": "attachedVolumes",
  "volumes-attached": "volumes",
  "volume-content-changed": "volumes",
  "csi-driver-changed": "volumes",
  "volume-plugins-changed": "volumes",
  "csi-node-ready": "nodeStatus",
  "dra-driver-connected": "workers",
  "device-health-changed": "status",
  "api-pod": "startupLatency statusWriter mirrors",
  "mirror-changed": "probes status overview console statusWriter",
  "node-changed": "mirrors attachedVolumes volumes nodeStatus servingCertificate console",
  "api-listed": "workers",
  "api-reconnected": "mirrors plugins console",
  "oom-kill": "pleg explanations nodeEvents",
  "pressure-changed": "nodeStatus console",
  "devices-changed": "status nodeStatus console",
  "shutdown-changed": "nodeStatus console",
  "event-recorded": "console",
  tick: "syncLoopCheck",
};

const kinds = Object.keys(expected) as EventKind[];
const pod = aPod();
const uid = pod.metadata.uid;
const failure = { phase: "Failed", reason: "Evicted", message: "" } as const;

const anEvent: { [K in EventKind]: KubeletEvent & { kind: K } } = {
  "pods-changed": { kind: "pods-changed", change: { op: "ADD", source: "file", pods: [] } },
  "source-synced": { kind: "source-synced", source: "file" },
  "runtime-observed": { kind: "runtime-observed", uid, what: "ContainerDied" },
  "runtime-synced": { kind: "runtime-synced" },
  "runtime-state": { kind: "runtime-state", state: "up" },
  "orphan-found": { kind: "orphan-found", uid, pod: { uid, name: "p", namespace: "default" } },
  "container-started": { kind: "container-started", uid, pod, container: { name: "c", image: "i" } },
  "post-start-done": { kind: "post-start-done", uid },
  "probe-result": {
    kind: "probe-result",
    uid,
    result: { uid, id: "c1" as never, kind: "liveness", outcome: "failure" },
  },
  "worker-changed": { kind: "worker-changed", uid },
  "worker-step": { kind: "worker-step", uid },
  "pull-progress": { kind: "pull-progress", uid },
  "worker-phase": { kind: "worker-phase", uid, phase: "terminating" },
  "resize-allocated": { kind: "resize-allocated", uid },
  "resize-changed": { kind: "resize-changed", uid },
  "pod-failed": { kind: "pod-failed", uid, pod, failure },
  "pod-rejected": { kind: "pod-rejected", uid, failure },
  "pod-evicted": { kind: "pod-evicted", uid, failure },
  "pod-shutdown": { kind: "pod-shutdown", uid, failure, graceSeconds: 5 },
  "pod-resources-reclaimed": { kind: "pod-resources-reclaimed", uid },
  "worker-gone": { kind: "worker-gone", uid, worker: {} as never },
  "status-changed": { kind: "status-changed", uid },
  "volumes-in-use": { kind: "volumes-in-use" },
  "volumes-reported": { kind: "volumes-reported", names: [] },
  "volumes-attached": { kind: "volumes-attached" },
  "volume-content-changed": { kind: "volume-content-changed", ref: { kind: "ClusterTrustBundle" } },
  "csi-driver-changed": { kind: "csi-driver-changed", driver: "d" },
  "volume-plugins-changed": { kind: "volume-plugins-changed" },
  "csi-node-ready": { kind: "csi-node-ready" },
  "dra-driver-connected": { kind: "dra-driver-connected", driver: "d" },
  "device-health-changed": { kind: "device-health-changed", uid },
  "api-pod": { kind: "api-pod", uid, pod },
  "mirror-changed": { kind: "mirror-changed", uid, isFirst: true },
  "node-changed": { kind: "node-changed", spec: true, addresses: true },
  "api-listed": { kind: "api-listed" },
  "api-reconnected": { kind: "api-reconnected" },
  "oom-kill": {
    kind: "oom-kill",
    kill: {
      pid: 1,
      process: "p",
      residentBytes: 1,
      cgroup: "/",
      victimCgroup: undefined,
      usage: undefined,
    },
  },
  "pressure-changed": { kind: "pressure-changed" },
  "devices-changed": { kind: "devices-changed", pods: [] },
  "shutdown-changed": { kind: "shutdown-changed" },
  "event-recorded": { kind: "event-recorded", event: { type: "Normal", reason: "r", message: "m" } },
  tick: { kind: "tick" },
};

/** A recording handler for each name in the table, except some. */
function recording(calls: string[], without: readonly HandlerName[] = []): Partial<EventHandlers> {
  const handlers: Record<string, Record<string, () => void>> = {};
  for (const [kind, names] of Object.entries(eventTable))
    for (const name of names as readonly HandlerName[])
      if (!without.includes(name)) handlers[name] = { ...handlers[name], [kind]: () => calls.push(name) };
  return handlers as Partial<EventHandlers>;
}

async function started(handlers: Partial<EventHandlers>) {
  const loop = new SyncLoop({ clock: new FakeClock(), logger: silentLogger });
  loop.subscribe(handlers);
  const stop = new AbortController();
  await loop.start(stop.signal);
  return { loop, stop };
}

test("the table has a row for each kind, in this order", () => {
  const rows = Object.entries(eventTable).map(([kind, names]) => [kind, names.join(" ")]);
  assert.deepEqual(Object.fromEntries(rows), expected);
});

for (const kind of kinds)
  test(`${kind}: the handlers run in the order of the table`, async () => {
    const calls: string[] = [];
    const { loop, stop } = await started(recording(calls));
    loop.post(anEvent[kind]);
    await settle(1);
    stop.abort();
    assert.equal(calls.join(" "), expected[kind]);
  });

test("without a cluster its handlers are omitted, and the others keep their order", async () => {
  const cluster: HandlerName[] = ["statusWriter", "mirrors", "nodeStatus", "attachedVolumes"];
  for (const kind of kinds) {
    const calls: string[] = [];
    const { loop, stop } = await started(recording(calls, cluster));
    loop.post(anEvent[kind]);
    await settle(1);
    stop.abort();
    const rest = expected[kind].split(" ").filter((name) => name && !cluster.includes(name as HandlerName));
    assert.deepEqual(calls, rest, kind);
  }
});

test("a handler that is not in the table is an error, and so is a row without its handler", () => {
  const extra = { tick: () => {} } as never;
  assert.throws(() => handlersOf({ housekeeping: extra }), /no handler of housekeeping to tick/);
  const incomplete = { "source-synced": () => {} } as never;
  assert.throws(
    () => handlersOf({ housekeeping: incomplete }),
    /housekeeping does not handle runtime-synced/,
  );
});

test("the resources of a pod are reclaimed before its status is written and it may be deleted", async () => {
  const calls: string[] = [];
  const recorded = recording([]);
  const { loop, stop } = await started({
    ...recorded,
    statusWriter: {
      ...recorded.statusWriter,
      "pod-resources-reclaimed": () => calls.push("reclaimed"),
      "worker-changed": () => calls.push("written"),
    } as EventHandlers["statusWriter"],
  });
  loop.post({ kind: "pod-resources-reclaimed", uid: uid as PodUid });
  loop.post({ kind: "worker-changed", uid });
  await settle(1);
  stop.abort();
  assert.deepEqual(calls, ["reclaimed", "written"]);
});
