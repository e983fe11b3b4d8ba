import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/builders/pods.ts";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import type { ContainerStatus, PodStatus, PodUid } from "../../lib/model/pod.ts";
import { PodWorkers } from "../pipeline/pod-workers/pod-workers.ts";
import { StatusManager } from "../pipeline/status-manager/status-manager.ts";
import { PodOverview } from "./pod-overview.ts";

function setUp() {
  const clock = new FakeClock();
  const workers = new PodWorkers({
    syncer: {
      sync: async (_pod, report) => {
        report.blockedOn("pulling image x");
        return { waitingFor: "pulling image x" };
      },
      stop: () => new Promise(() => {}),
      release: async () => {},
      remove: async () => {},
      isTerminal: () => false,
    },
    clock,
    logger: silentLogger,
    syncEveryMs: () => 60_000,
    previousVersions: () => [],
    onChange: () => {},
    onGone: () => {},
  });
  const statuses = new StatusManager({
    clock,
    observed: { get: () => undefined },
    probes: { get: () => undefined },
    hostIPs: () => [],
    runtimeName: () => "fake",
    onChange: (uid) => overview.changed(uid),
  });
  const overview = new PodOverview({ clock, workers, statuses, runtimeHealth: () => ({ ok: true }) });
  return { clock, workers, statuses, overview };
}
const uid = (text: string) => text as PodUid;

test("a row shows the pod, its status and what it is blocked on", async () => {
  const { workers, statuses, overview } = setUp();
  const pod = aPod({ containers: [aContainer("a"), aContainer("b")] }, { uid: uid("u1"), name: "web" });
  workers.release();
  workers.update(pod);
  await settle();
  assert.equal(overview.rows()[0]?.phase, "Unknown", "it has no status yet");
  statuses.refresh(pod, { waiting: new Map(), workerPhase: "syncing" });
  const [row] = overview.rows();
  const { status, ...rest } = row!;
  assert.equal(status?.phase, "Pending");
  assert.deepEqual(rest, {
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
    blockedSince: "2026-01-01T00:00:00.000Z",
  });
  workers.terminate(uid("u1"), { removed: true });
  assert.equal(overview.rows()[0]?.phase, "Terminating");
});

test("rows are sorted; an orphan has no source", async () => {
  const { workers, overview } = setUp();
  workers.release();
  workers.update(aPod({}, { uid: uid("u2"), name: "b" }));
  workers.terminateOrphan({ uid: uid("u3"), name: "stray", namespace: "aaa" });
  workers.update(aPod({}, { uid: uid("u1"), name: "a" }));
  assert.deepEqual(
    overview.rows().map((r) => `${r.namespace}/${r.name} ${r.source}`),
    ["aaa/stray none", "default/a file", "default/b file"],
  );
});

test("concurrent changes notify a listener once, until it unsubscribes", async () => {
  const { overview } = setUp();
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
  test(`ready containers and restarts are counted as kubectl does: ${rule}`, async () => {
    const { clock, workers } = setUp();
    const proxy = aContainer("proxy", { restartPolicy: "Always" });
    const spec = { initContainers: [aContainer("migrate"), proxy], containers: [aContainer("web")] };
    workers.update(aPod(spec, { uid: uid("u1"), name: "web" }));
    const statuses = { get: () => status };
    const overview = new PodOverview({ clock, workers, statuses, runtimeHealth: () => ({ ok: true }) });
    const [row] = overview.rows();
    assert.deepEqual([row?.ready, row?.restarts], [ready, restarts]);
  });
