import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod, aSandbox, seen, seenContainer } from "../../../test/builders/pods.ts";
import type { ContainerState, ContainerStatus, Pod, PodStatus } from "../../model/pod.ts";
import type { ObservedContainer, ObservedPod } from "../../state/observed-pods.ts";
import { podStatus, type StatusInput } from "./status.ts";
import { StatusManager } from "./status-manager.ts";

const at = Date.UTC(2026, 0, 1);
const iso = (ms: number) => new Date(ms).toISOString().replace(".000Z", "Z");

function statusOf(pod: Pod, observed: ObservedPod | undefined, more: Partial<StatusInput> = {}): PodStatus {
  return podStatus({
    pod,
    seen: observed,
    waiting: new Map(),
    hostIPs: ["192.0.2.1", "2001:db8::1"],
    runtimeName: "containerd",
    startTime: at,
    now: at + 5000,
    before: undefined,
    ...more,
  });
}

const waits = (reason: string, message = "why") => new Map([["a", { reason, message }]]);
const run = (more = {}) => seenContainer("a", { startedAt: at, ...more });
const ended = (exitCode: number, more = {}) =>
  seenContainer("a", { state: "exited", exitCode, startedAt: at, finishedAt: at + 1000, ...more });
const terminated = (
  exitCode: number,
  id = "a-0",
  reason = exitCode === 0 ? "Completed" : "Error",
): ContainerState => ({
  terminated: {
    exitCode,
    reason,
    startedAt: iso(at),
    finishedAt: iso(at + 1000),
    containerID: `containerd://${id}`,
  },
});
const running = { running: { startedAt: iso(at) } };
const creating = { waiting: { reason: "ContainerCreating" } };

type Row = [
  rule: string,
  containers: ObservedContainer[],
  waiting: StatusInput["waiting"],
  expected: Partial<ContainerStatus>,
];
const none = new Map();
const containerTable: Row[] = [
  [
    "not made yet",
    [],
    none,
    { state: creating, lastState: {}, ready: false, started: false, restartCount: 0, imageID: "" },
  ],
  [
    "not made, and the worker knows why",
    [],
    waits("ErrImagePull"),
    { state: { waiting: { reason: "ErrImagePull", message: "why" } }, lastState: {} },
  ],
  ["made, not started", [run({ state: "created" })], none, { state: creating, ready: false }],
  [
    "runs",
    [run()],
    none,
    { state: running, ready: true, started: true, containerID: "containerd://a-0", imageID: "sha256:1" },
  ],
  ["runs: what it waited for before is over", [run()], waits("ErrImagePull"), { state: running }],
  [
    "runs again",
    [run({ attempt: 2 }), ended(1, { attempt: 1 }), ended(0)],
    none,
    { state: running, lastState: terminated(1, "a-1"), restartCount: 2 },
  ],
  ["succeeded", [ended(0)], none, { state: terminated(0), lastState: {}, ready: false, started: false }],
  ["failed", [ended(3)], none, { state: terminated(3) }],
  [
    "killed for memory",
    [ended(137, { reason: "OOMKilled" })],
    none,
    { state: terminated(137, "a-0", "OOMKilled") },
  ],
  [
    "failed twice",
    [ended(3, { attempt: 1 }), ended(2)],
    none,
    { state: terminated(3, "a-1"), lastState: terminated(2), restartCount: 1 },
  ],
  [
    "waits to be restarted: what ended is what was last",
    [ended(3, { attempt: 1 }), ended(2)],
    waits("CrashLoopBackOff"),
    {
      state: { waiting: { reason: "CrashLoopBackOff", message: "why" } },
      lastState: terminated(3, "a-1"),
      restartCount: 1,
    },
  ],
  [
    "being restarted",
    [run({ state: "created", attempt: 1 }), ended(2)],
    none,
    { state: creating, lastState: terminated(2), restartCount: 1 },
  ],
];
for (const [rule, containers, waiting, expected] of containerTable)
  test(`container status: ${rule}`, () => {
    const [status] = statusOf(aPod(), seen(containers), { waiting }).containerStatuses!;
    const picked = Object.fromEntries(
      Object.keys(expected).map((key) => [key, status![key as keyof ContainerStatus]]),
    );
    assert.deepEqual(picked, expected);
  });

test("a message of the runtime about an end is told", () => {
  const [status] = statusOf(aPod(), seen([ended(128, { message: "no such file" })])).containerStatuses!;
  assert.equal(status?.state?.terminated?.message, "no such file");
});

const inits = aPod({ initContainers: [aContainer("i")] });
const sidecar = aPod({ initContainers: [aContainer("s", { restartPolicy: "Always" })] });
const init = (more = {}) => seenContainer("i", more);
const initTable: [
  rule: string,
  pod: Pod,
  containers: ObservedContainer[],
  init: [ready: boolean, started: boolean],
  regular: string | undefined,
][] = [
  ["runs", inits, [init()], [false, false], "PodInitializing"],
  ["is done", inits, [init({ state: "exited" })], [true, false], "ContainerCreating"],
  ["failed", inits, [init({ state: "exited", exitCode: 1 })], [false, false], "PodInitializing"],
  ["is a sidecar that runs", sidecar, [seenContainer("s")], [true, true], "ContainerCreating"],
  ["is a sidecar that is missing", sidecar, [], [false, false], "PodInitializing"],
];
for (const [rule, pod, containers, [ready, started], reason] of initTable)
  test(`init container that ${rule}`, () => {
    const status = statusOf(pod, seen(containers));
    const [one] = status.initContainerStatuses!;
    assert.deepEqual([one?.ready, one?.started], [ready, started]);
    assert.equal(status.containerStatuses?.[0]?.state?.waiting?.reason, reason);
  });

/** Conditions as "Type=status reason: message". */
function conditionsOf(status: PodStatus): Record<string, string> {
  return Object.fromEntries(
    status.conditions!.map((c) => [c.type, `${c.status} ${c.reason ?? ""}: ${c.message ?? ""}`]),
  );
}
const yes = "True : ";
const never = aPod({ restartPolicy: "Never" });
const notReady = (...names: string[]) =>
  `False ContainersNotReady: containers with unready status: [${names.join(" ")}]`;
const conditionTable: [
  rule: string,
  pod: Pod,
  observed: ObservedPod | undefined,
  expected: Record<string, string>,
][] = [
  [
    "nothing there",
    aPod(),
    undefined,
    {
      PodReadyToStartContainers: "False : ",
      Initialized: yes,
      Ready: notReady("a"),
      ContainersReady: notReady("a"),
      PodScheduled: yes,
    },
  ],
  [
    "all run",
    aPod(),
    seen([run()]),
    { PodReadyToStartContainers: yes, Initialized: yes, Ready: yes, ContainersReady: yes },
  ],
  [
    "unready ones in the order of the spec, sidecars first",
    aPod({
      initContainers: [aContainer("s", { restartPolicy: "Always" })],
      containers: [aContainer("z"), aContainer("a")],
    }),
    seen([]),
    { Ready: notReady("s", "z", "a") },
  ],
  [
    "an init container runs",
    inits,
    seen([init()]),
    { Initialized: "False ContainersNotInitialized: containers with incomplete status: [i]" },
  ],
  [
    "an init container is missing",
    inits,
    seen([]),
    { Initialized: "False ContainersNotInitialized: containers with incomplete status: [i]" },
  ],
  [
    "an init container failed",
    inits,
    seen([init({ state: "exited", exitCode: 1 })]),
    { Initialized: "False ContainersNotInitialized: containers with incomplete status: [i]" },
  ],
  ["a sidecar runs", sidecar, seen([seenContainer("s")]), { Initialized: yes }],
  [
    "a sidecar ended after all ran",
    sidecar,
    seen([run(), seenContainer("s", { state: "exited" })]),
    { Initialized: yes, Ready: notReady("s") },
  ],
  [
    "succeeded",
    never,
    seen([ended(0)], [aSandbox({ state: "notready" })]),
    {
      PodReadyToStartContainers: "False : ",
      Initialized: "True PodCompleted: ",
      Ready: "False PodCompleted: ",
      ContainersReady: "False PodCompleted: ",
    },
  ],
  [
    "failed",
    never,
    seen([ended(1)]),
    { Initialized: yes, Ready: "False PodFailed: ", ContainersReady: "False PodFailed: " },
  ],
];
for (const [rule, pod, observed, expected] of conditionTable)
  test(`conditions: ${rule}`, () => {
    const found = conditionsOf(statusOf(pod, observed));
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((type) => [type, found[type]])), expected);
  });

test("a condition keeps the time of its last change", () => {
  const first = statusOf(aPod(), seen([run()]), { now: at });
  const later = statusOf(aPod(), seen([run()]), { now: at + 60_000, before: first });
  assert.deepEqual(later.conditions, first.conditions);
  const died = statusOf(aPod(), seen([ended(1)]), { now: at + 90_000, before: later });
  const times = Object.fromEntries(died.conditions!.map((c) => [c.type, c.lastTransitionTime]));
  assert.equal(times.Ready, iso(at + 90_000));
  assert.equal(times.PodScheduled, iso(at));
});

test("a pod that has ended stays ended, whatever the runtime still has of it", () => {
  const before = statusOf(never, seen([ended(0)]));
  assert.equal(before.phase, "Succeeded");
  assert.equal(statusOf(never, undefined, { before }).phase, "Succeeded");
  assert.equal(statusOf(never, seen([run()]), { before }).phase, "Succeeded");
});

test("addresses: the pod's own, or the node's for a pod on its network", () => {
  const own = statusOf(aPod(), seen([], [aSandbox({ ips: ["10.0.0.9", "fd00::9"] })]));
  assert.deepEqual([own.hostIP, own.podIP], ["192.0.2.1", "10.0.0.9"]);
  assert.deepEqual(own.podIPs, [{ ip: "10.0.0.9" }, { ip: "fd00::9" }]);
  const host = statusOf(aPod({ hostNetwork: true }), seen([], [aSandbox({ ips: [], hostNetwork: true })]));
  assert.deepEqual(host.podIPs, [{ ip: "192.0.2.1" }, { ip: "2001:db8::1" }]);
  assert.equal(statusOf(aPod(), undefined).podIP, undefined);
});

test("container statuses are sorted by name, those of init containers as in the spec", () => {
  const pod = aPod({
    initContainers: [aContainer("z"), aContainer("i")],
    containers: [aContainer("b"), aContainer("a")],
  });
  const status = statusOf(pod, seen([]));
  assert.deepEqual(
    [status.containerStatuses, status.initContainerStatuses].map((list) => list?.map((c) => c.name)),
    [
      ["a", "b"],
      ["z", "i"],
    ],
  );
});

function manager() {
  const clock = { time: at, now: () => clock.time, after: () => () => {} };
  let observed: ObservedPod | undefined;
  const changes: string[] = [];
  const statuses = new StatusManager({
    clock,
    observed: { get: () => observed },
    hostIPs: () => [],
    runtimeName: () => "containerd",
    onChange: (uid) => changes.push(uid),
  });
  const observe = (pod: ObservedPod | undefined) => {
    observed = pod;
  };
  return { clock, statuses, changes, observe };
}

test("the status manager tells of changes, and only of changes", () => {
  const { clock, statuses, changes, observe } = manager();
  const pod = aPod();
  const { uid } = pod.metadata;
  statuses.refresh(pod, none);
  clock.time += 1000;
  statuses.refresh(pod, none);
  assert.equal(changes.length, 1);
  observe(seen([run()]));
  statuses.refresh(pod, none);
  assert.equal(changes.length, 2);
  assert.equal(statuses.get(uid)?.startTime, iso(at), "as old as when it was first seen");
  statuses.forget(uid);
  statuses.forget(uid);
  assert.equal(changes.length, 3);
  assert.equal(statuses.get(uid), undefined);
});

test("for an agent that was restarted a pod is as old as its oldest sandbox", () => {
  const { statuses, observe } = manager();
  observe(seen([run()], [aSandbox({ createdAt: at - 5000 }), aSandbox({ createdAt: at - 60_000 })]));
  statuses.refresh(aPod(), none);
  assert.equal(statuses.get(aPod().metadata.uid)?.startTime, iso(at - 60_000));
});
