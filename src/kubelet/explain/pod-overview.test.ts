import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/builders/pods.ts";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import type { ContainerStatus, Pod, PodStatus, PodUid } from "../../lib/model/pod.ts";
import type { PodSyncStatus } from "../state/pod-sync-status.ts";
import { StepHistory } from "../state/step-history.ts";
import { PodOverview } from "./pod-overview.ts";

const uid = (text: string) => text as PodUid;

function aWorker(pod: Pod | undefined, more: Partial<PodSyncStatus> = {}): PodSyncStatus {
  const { name = "", namespace = "", uid: id = uid("") } = pod?.metadata ?? {};
  return {
    id: { name, namespace, uid: id },
    pod,
    phase: "syncing",
    removed: false,
    evicted: false,
    started: true,
    resourcesReclaimed: false,
    failure: undefined,
    rejected: false,
    terminatedByItself: false,
    blockedOn: undefined,
    history: new StepHistory(0),
    waiting: new Map(),
    ...more,
  };
}

function overviewOf(workers: PodSyncStatus[], status?: PodStatus): PodOverview {
  return new PodOverview({
    clock: new FakeClock(),
    workers: { all: () => workers, get: (id) => workers.find((worker) => worker.id.uid === id) },
    statuses: { get: () => status },
    connection: { health: () => ({ ok: true }) },
    pulls: { ofPod: () => [] },
  });
}

test("a row shows the pod, its status and what it is blocked on", () => {
  const pod = aPod({ containers: [aContainer("a"), aContainer("b")] }, { uid: uid("u1"), name: "web" });
  const blockedOn = { text: "pulling image x", since: Date.parse("2026-01-01T00:00:00Z") };
  assert.equal(overviewOf([aWorker(pod)]).rows()[0]?.phase, "Unknown", "it has no status yet");
  const pending: PodStatus = { phase: "Pending", startTime: "2026-01-01T00:00:00Z" };
  const [row] = overviewOf([aWorker(pod, { blockedOn })], pending).rows();
  assert.deepEqual(row, {
    namespace: "default",
    name: "web",
    uid: "u1",
    source: "file",
    phase: "Pending",
    ready: "0/2",
    restarts: 0,
    ip: "",
    startTime: "2026-01-01T00:00:00Z",
    blockedOn: "pulling image x",
    why: "pulling image x",
    blockedSince: "2026-01-01T00:00:00.000Z",
    status: pending,
  });
});

for (const [rule, more, phase] of [
  ["a pod whose containers are being stopped is terminating", { phase: "terminating" }, "Terminating"],
  ["a removed pod is terminating until it is gone", { phase: "terminated", removed: true }, "Terminating"],
  ["a pod that has completed keeps its phase", { phase: "terminated", removed: false }, "Succeeded"],
] as const)
  test(rule, () => {
    const [row] = overviewOf([aWorker(aPod(), more)], { phase: "Succeeded" }).rows();
    assert.equal(row?.phase, phase);
  });

test("rows are sorted; an orphan has no source", () => {
  const overview = overviewOf([
    aWorker(aPod({}, { uid: uid("u2"), name: "b" })),
    aWorker(undefined, { id: { uid: uid("u3"), name: "stray", namespace: "aaa" } }),
    aWorker(aPod({}, { uid: uid("u1"), name: "a" })),
  ]);
  assert.deepEqual(
    overview.rows().map((r) => `${r.namespace}/${r.name} ${r.source}`),
    ["aaa/stray none", "default/a file", "default/b file"],
  );
});

test("an error of a known form is a sentence in the row", () => {
  const image = "registry.test/app:1";
  const text = `Back-off pulling image "${image}": ErrImagePull: dial tcp: lookup registry.test: no such host`;
  const history = new StepHistory(0);
  history.startStep({ kind: "image", text, container: "a" }, 0);
  history.fail(text);
  const [row] = overviewOf([
    aWorker(aPod({ containers: [aContainer("a", { image })] }), { blockedOn: { text, since: 0 }, history }),
  ]).rows();
  assert.deepEqual(
    [row?.blockedOn, row?.why],
    [text, `image ${image} cannot be pulled: the registry registry.test has no address (no such host)`],
  );
});

test("concurrent changes notify a listener once, until it unsubscribes", async () => {
  const overview = overviewOf([]);
  let notified = 0;
  const unsubscribe = overview.onChange(() => notified++);
  for (let i = 0; i < 10; i++) overview.changed(uid("u1"));
  await settle();
  assert.equal(notified, 1);
  overview.changed(uid("u1"));
  await settle();
  assert.equal(notified, 2);
  unsubscribe();
  overview.changed(uid("u1"));
  await settle();
  assert.equal(notified, 2);
});

const ran = (name: string, more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name,
  image: "",
  imageID: "",
  ready: true,
  started: true,
  restartCount: 0,
  state: { running: {} },
  ...more,
});
const initialized = [{ type: "Initialized", status: "True" }];
const migrated = ran("migrate", { ready: true, restartCount: 4, state: { terminated: { exitCode: 0 } } });
const counts: [rule: string, status: PodStatus, ready: string, restarts: number][] = [
  [
    "a sidecar counts, an init container does not",
    {
      conditions: initialized,
      initContainerStatuses: [migrated, ran("proxy", { restartCount: 2 })],
      containerStatuses: [ran("web", { restartCount: 1 })],
    },
    "2/2",
    3,
  ],
  [
    "a sidecar that is not ready",
    {
      conditions: initialized,
      initContainerStatuses: [migrated, ran("proxy", { ready: false })],
      containerStatuses: [ran("web")],
    },
    "1/2",
    0,
  ],
  [
    "restarts of init containers count until they have completed",
    { initContainerStatuses: [ran("migrate", { ready: false, restartCount: 4 })] },
    "0/2",
    4,
  ],
];
for (const [rule, status, ready, restarts] of counts)
  test(`ready containers and restarts are counted as kubectl does: ${rule}`, () => {
    const proxy = aContainer("proxy", { restartPolicy: "Always" });
    const spec = { initContainers: [aContainer("migrate"), proxy], containers: [aContainer("web")] };
    const [row] = overviewOf([aWorker(aPod(spec))], status).rows();
    assert.deepEqual([row?.ready, row?.restarts], [ready, restarts]);
  });
