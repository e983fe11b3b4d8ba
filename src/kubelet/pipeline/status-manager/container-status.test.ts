import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  aSandbox,
} from "../../../../test/builders/pods.ts";
import { wallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { Container, ContainerState, Pod } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import type { ProbeOutcome } from "../../state/probe-results.ts";
import type { ApiContainerStatus, ApiPodStatus } from "./api-types.ts";
import { at, iso, probed, statusOf } from "./fake-input.ts";
import { defaultStatusGates, type StatusInput } from "./status-input.ts";

const waits = (reason: string, message = "why", name = "a") => new Map([[name, { reason, message }]]);
const run = (more: Partial<ObservedContainer> = {}) =>
  anObservedContainer("a", { startedAt: wallTime(at), ...more });
const exitedWith = (exitCode: number, more: Partial<ObservedContainer> = {}) =>
  anObservedContainer("a", {
    state: "exited",
    exitCode,
    startedAt: wallTime(at),
    finishedAt: wallTime(at + 1000),
    ...more,
  });
const terminated = (
  exitCode: number,
  id = "a-0",
  reason = exitCode === 0 ? "Completed" : "Error",
): ContainerState => ({
  terminated: {
    exitCode,
    reason,
    startedAt: iso(wallTime(at)),
    finishedAt: iso(wallTime(at + 1000)),
    containerID: `containerd://${id}`,
  },
});
const unknownTermination = (message: string, reason = "ContainerStatusUnknown") => ({
  terminated: { exitCode: 137, reason, message, startedAt: null, finishedAt: null },
});
const lost = () => ({
  terminated: { ...unknownTermination(notLocated).terminated, containerID: "containerd://a-0" },
});
const notLocated = "The container could not be located when the pod was terminated";
const lostMessage =
  "The container could not be located when the pod was deleted.  The container used to be Running";
const running = { running: { startedAt: iso(wallTime(at)) } };
const creating = { waiting: { reason: "ContainerCreating" } };

const never = aPod({ restartPolicy: "Never" });
const onFailure = aPod({ restartPolicy: "OnFailure" });
const deleted = aPod({}, { deletionTimestamp: iso(wallTime(at)) });
const was = (pod: Pod, containers: ObservedContainer[], more: Partial<StatusInput> = {}) => ({
  previous: statusOf(pod, anObservedPod(containers), more),
});
const other = { id: "other" as ContainerId };

type Row = [
  rule: string,
  pod: Pod,
  containers: ObservedContainer[],
  more: Partial<StatusInput>,
  expected: Partial<Record<keyof ApiContainerStatus, unknown>>,
];
const table: Row[] = [
  [
    "not created yet",
    aPod(),
    [],
    {},
    {
      state: creating,
      lastState: {},
      ready: false,
      started: false,
      restartCount: 0,
      image: "busybox:1",
      imageID: "",
      containerID: undefined,
      resources: undefined,
    },
  ],
  [
    "not created, and the worker has a reason",
    aPod(),
    [],
    { waiting: waits("ErrImagePull") },
    { state: { waiting: { reason: "ErrImagePull", message: "why" } }, lastState: {} },
  ],
  [
    "not created, and the worker has a long reason",
    aPod(),
    [],
    { waiting: waits("PostStartHookError", "é".repeat(1_000_000)) },
    { state: { waiting: { reason: "PostStartHookError", message: "é".repeat(16 * 1024) } } },
  ],
  ["created, not started", aPod(), [run({ state: "created" })], {}, { state: creating, ready: false }],
  [
    "created, and failed to start",
    aPod(),
    [run({ state: "created" })],
    { waiting: waits("RunContainerError") },
    { state: { waiting: { reason: "RunContainerError", message: "why" } } },
  ],
  [
    "runs",
    aPod(),
    [run()],
    {},
    {
      state: running,
      lastState: {},
      ready: true,
      started: true,
      containerID: "containerd://a-0",
      imageID: "sha256:1",
      resources: {},
    },
  ],
  [
    "runs: a stale waiting reason is ignored",
    aPod(),
    [run()],
    { waiting: waits("ErrImagePull") },
    { state: running },
  ],
  [
    "runs again",
    aPod(),
    [run({ attempt: 2 }), exitedWith(1, { attempt: 1 }), exitedWith(0)],
    {},
    { state: running, lastState: terminated(1, "a-1"), restartCount: 2 },
  ],
  [
    "succeeded",
    never,
    [exitedWith(0)],
    {},
    { state: terminated(0), lastState: {}, ready: false, started: false },
  ],
  ["failed", never, [exitedWith(3)], {}, { state: terminated(3) }],
  [
    "OOM-killed",
    never,
    [exitedWith(137, { reason: "OOMKilled" })],
    {},
    { state: terminated(137, "a-0", "OOMKilled") },
  ],
  [
    "could not be started: the runtime's reason",
    never,
    [exitedWith(128, { reason: "StartError" })],
    {},
    { state: terminated(128, "a-0", "StartError") },
  ],
  [
    "failed twice",
    aPod(),
    [exitedWith(3, { attempt: 1 }), exitedWith(2)],
    {},
    { state: terminated(3, "a-1"), lastState: terminated(2), restartCount: 1 },
  ],
  [
    "waits to be restarted: the termination is the last state",
    aPod(),
    [exitedWith(3, { attempt: 1 }), exitedWith(2)],
    { waiting: waits("CrashLoopBackOff") },
    {
      state: { waiting: { reason: "CrashLoopBackOff", message: "why" } },
      lastState: terminated(3, "a-1"),
      restartCount: 1,
    },
  ],
  [
    "is not restarted: it does not wait",
    never,
    [exitedWith(3)],
    { waiting: waits("x") },
    { state: terminated(3) },
  ],
  [
    "succeeded with OnFailure: it does not wait",
    onFailure,
    [exitedWith(0)],
    { waiting: waits("x") },
    { state: terminated(0) },
  ],
  [
    "of a deleted pod: it does not wait",
    deleted,
    [exitedWith(3)],
    { waiting: waits("x") },
    { state: terminated(3) },
  ],
  [
    "of a terminating pod: it does not wait",
    aPod(),
    [exitedWith(3)],
    { waiting: waits("x"), workerPhase: "terminating" },
    { state: terminated(3) },
  ],
  [
    "being restarted",
    aPod(),
    [run({ state: "created", attempt: 1 }), exitedWith(2)],
    {},
    { state: creating, lastState: terminated(2), restartCount: 1 },
  ],
  // containers that the runtime has lost
  [
    "ran and is lost: it is reported as terminated, and as restarted",
    aPod(),
    [],
    was(aPod(), [run()]),
    {
      state: creating,
      lastState: unknownTermination(lostMessage),
      restartCount: 1,
      ready: false,
      started: false,
    },
  ],
  [
    "ran in a deleted pod and is lost: it is not restarted",
    deleted,
    [],
    was(deleted, [run()]),
    { lastState: unknownTermination(lostMessage), restartCount: 0 },
  ],
  [
    "ran after a crash and is lost: the crash is the last state",
    aPod(),
    [],
    was(aPod(), [run({ attempt: 1 }), exitedWith(2)]),
    { state: creating, lastState: terminated(2), restartCount: 1 },
  ],
  [
    "terminated and is lost: it remains terminated",
    never,
    [],
    was(never, [exitedWith(3)]),
    { state: terminated(3), imageID: "sha256:1", restartCount: 0 },
  ],
  [
    "waited and is lost: it waits",
    aPod(),
    [],
    was(aPod(), [exitedWith(3)], { waiting: waits("CrashLoopBackOff") }),
    { state: creating, lastState: terminated(3), restartCount: 0 },
  ],
  [
    "runs, and earlier ones were removed: the last state is kept",
    aPod(),
    [run({ attempt: 1 })],
    was(aPod(), [run({ attempt: 1 }), exitedWith(2)]),
    { state: running, lastState: terminated(2), restartCount: 1 },
  ],
  [
    "restarted, and the previous one is already removed: the last state is kept",
    aPod(),
    [run({ attempt: 1 })],
    was(aPod(), [exitedWith(2)]),
    { state: running, lastState: terminated(2), restartCount: 1 },
  ],
  [
    "restarted in a runtime that counts from 0: the count continues",
    aPod(),
    [run(other)],
    was(aPod(), [exitedWith(2, { attempt: 4 })]),
    { state: running, lastState: terminated(2, "a-4"), restartCount: 5 },
  ],
  [
    "the count never decreases",
    aPod(),
    [run(other)],
    was(aPod(), [run({ attempt: 4 })]),
    { restartCount: 4 },
  ],
  [
    "terminated, waited, to be restarted: its termination is not repeated",
    aPod(),
    [exitedWith(3)],
    was(aPod(), [exitedWith(3)], { waiting: waits("CrashLoopBackOff") }),
    { state: terminated(3), lastState: {} },
  ],
  [
    "ran, and its state is unknown",
    aPod(),
    [run({ state: "unknown" })],
    was(aPod(), [run()]),
    { state: lost(), ready: false, started: false, restartCount: 0 },
  ],
  [
    "ran, and its state is still unknown",
    aPod(),
    [run({ state: "unknown" })],
    { previous: statusOf(aPod(), anObservedPod([run({ state: "unknown" })]), was(aPod(), [run()])) },
    { state: lost(), restartCount: 0 },
  ],
  ["its state was always unknown", aPod(), [run({ state: "unknown" })], {}, { state: creating }],
];
for (const [rule, pod, containers, more, expected] of table)
  test(`container status: ${rule}`, () => {
    const [status] = statusOf(pod, anObservedPod(containers), more).containerStatuses!;
    assert.deepEqual(pick(status, expected), expected);
  });

function pick(status: ApiContainerStatus | undefined, expected: object): object {
  return Object.fromEntries(
    Object.keys(expected).map((key) => [key, status?.[key as keyof ApiContainerStatus]]),
  );
}

// Init containers, and the waiting reasons of other containers.
const inits = aPod({ initContainers: [aContainer("i")] });
const sidecar = aPod({ initContainers: [aContainer("s", { restartPolicy: "Always" })] });
const init = (more: Partial<ObservedContainer> = {}) => anObservedContainer("i", more);
const initTable: [
  rule: string,
  pod: Pod,
  containers: ObservedContainer[],
  init: [ready: boolean, started: boolean, state: string],
][] = [
  ["is missing", inits, [], [false, false, "PodInitializing"]],
  ["runs", inits, [init()], [false, true, "running"]],
  ["is done", inits, [init({ state: "exited" })], [true, false, "Completed"]],
  ["failed", inits, [init({ state: "exited", exitCode: 1 })], [false, false, "Error"]],
  ["is lost, in an initialized pod", inits, [run()], [true, false, "Completed"]],
  ["is a sidecar that runs", sidecar, [anObservedContainer("s")], [true, true, "running"]],
  ["is a sidecar that is missing", sidecar, [], [false, false, "PodInitializing"]],
  ["is a sidecar that is lost, in an initialized pod", sidecar, [run()], [false, false, "PodInitializing"]],
  [
    "is a sidecar that exited",
    sidecar,
    [anObservedContainer("s", { state: "exited" }), run()],
    [false, false, "Completed"],
  ],
];
for (const [rule, pod, containers, expected] of initTable)
  test(`an init container that ${rule} has ready: ${expected[0]}, started: ${expected[1]} and state ${expected[2]}`, () => {
    const [one] = statusOf(pod, anObservedPod(containers)).initContainerStatuses!;
    const state = one?.state?.terminated?.reason ?? one?.state?.waiting?.reason ?? "running";
    assert.deepEqual([one?.ready, one?.started, state], expected);
  });

test("all containers of a pod with init containers wait with PodInitializing", () => {
  const [status] = statusOf(inits, anObservedPod([init()])).containerStatuses!;
  assert.deepEqual(status?.state, { waiting: { reason: "PodInitializing" } });
});

test("an init container that failed waits with the worker's reason; one that is done does not", () => {
  const waiting = waits("CrashLoopBackOff", "why", "i");
  const state = (more: Partial<ObservedContainer>) =>
    statusOf(inits, anObservedPod([init({ state: "exited", ...more })]), { waiting })
      .initContainerStatuses?.[0]?.state;
  assert.equal(state({ exitCode: 1 })?.waiting?.reason, "CrashLoopBackOff");
  assert.equal(state({})?.terminated?.exitCode, 0);
});

test("a lost init container is reported as completed, with unknown times", () => {
  const [one] = statusOf(inits, anObservedPod([run()])).initContainerStatuses!;
  assert.deepEqual(one?.state?.terminated, {
    exitCode: 0,
    reason: "Completed",
    message:
      "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally",
    startedAt: null,
    finishedAt: null,
  });
});

test("an ephemeral container has a status, and is neither ready nor started", () => {
  const pod = aPod({ ephemeralContainers: [{ name: "e", image: "busybox:1" }] });
  const status = statusOf(pod, anObservedPod([anObservedContainer("e"), run()]));
  const [one] = status.ephemeralContainerStatuses!;
  assert.deepEqual([one?.name, one?.ready, one?.started], ["e", false, undefined]);
  assert.ok(one?.state?.running);
  assert.equal(status.conditions?.find((c) => c.type === "Ready")?.status, "True");
});

// parity: gate ResourceHealthStatus=true as resourceHealth, gate ResourceHealthStatus=false as resourceHealth
test("a container has the health of its devices; after the pod has terminated, the last one", () => {
  const health = (state: "Healthy" | "Unhealthy") => [
    { name: "v.example/gpu", resources: [{ resourceID: "a", health: state }] },
  ];
  const pod = aPod({ initContainers: [aContainer("i")] });
  const observed = anObservedPod([run()]);
  const status = statusOf(pod, observed, {
    resourceHealth: (name) => (name === "a" ? health("Healthy") : []),
  });
  assert.deepEqual(status.containerStatuses?.[0]?.allocatedResourcesStatus, health("Healthy"));
  assert.equal("allocatedResourcesStatus" in (status.initContainerStatuses?.[0] ?? {}), false);
  const changed = statusOf(pod, observed, { previous: status, resourceHealth: () => health("Unhealthy") });
  assert.deepEqual(changed.containerStatuses?.[0]?.allocatedResourcesStatus, health("Unhealthy"));
  const released = { previous: changed, resourceHealth: () => [] };
  const ended = statusOf(pod, observed, { ...released, workerPhase: "terminated" });
  assert.deepEqual(ended.containerStatuses?.[0]?.allocatedResourcesStatus, health("Unhealthy"));
  const off = statusOf(pod, observed, { resourceHealth: undefined });
  assert.equal("allocatedResourcesStatus" in (off.containerStatuses?.[0] ?? {}), false);
  const without = statusOf(pod, observed, released);
  assert.equal("allocatedResourcesStatus" in (without.containerStatuses?.[0] ?? {}), false);
});

// Probes
const probes = { startupProbe: {}, readinessProbe: {} };
const probedTable: [
  rule: string,
  container: Partial<Container>,
  results: Record<string, ProbeOutcome>,
  previous: { started: boolean; ready: boolean; containerID?: string } | undefined,
  expected: [started: boolean, ready: boolean],
][] = [
  ["it has no probes", {}, {}, undefined, [true, true]],
  ["its startup probe has no result", { startupProbe: {} }, {}, undefined, [false, false]],
  ["its startup probe is unknown", { startupProbe: {} }, { startup: "unknown" }, undefined, [false, false]],
  ["its startup probe failed", { startupProbe: {} }, { startup: "failure" }, undefined, [false, false]],
  ["its startup probe passed", { startupProbe: {} }, { startup: "success" }, undefined, [true, true]],
  ["its readiness probe has no result", { readinessProbe: {} }, {}, undefined, [true, false]],
  [
    "its readiness probe is unknown",
    { readinessProbe: {} },
    { readiness: "unknown" },
    undefined,
    [true, false],
  ],
  ["its readiness probe failed", { readinessProbe: {} }, { readiness: "failure" }, undefined, [true, false]],
  [
    "it has no readiness probe and was not ready before it started",
    { startupProbe: {} },
    { startup: "success", readiness: "failure" },
    { started: false, ready: false },
    [true, true],
  ],
  ["its readiness probe passed", { readinessProbe: {} }, { readiness: "success" }, undefined, [true, true]],
  [
    "its readiness probe passed before its startup probe",
    probes,
    { readiness: "success" },
    undefined,
    [false, false],
  ],
  ["its liveness probe failed", { livenessProbe: {} }, { liveness: "failure" }, undefined, [true, true]],
  [
    "its probes have no results and it was started and ready",
    probes,
    {},
    { started: true, ready: true },
    [true, true],
  ],
  [
    "its probes are unknown and it was started and ready",
    probes,
    { startup: "unknown", readiness: "unknown" },
    { started: true, ready: true },
    [true, true],
  ],
  [
    "its probes have no results and it was started only",
    probes,
    {},
    { started: true, ready: false },
    [true, false],
  ],
  [
    "its probes have no results and it was neither started nor ready",
    probes,
    {},
    { started: false, ready: false },
    [false, false],
  ],
  [
    "its readiness probe failed and it was ready",
    probes,
    { readiness: "failure" },
    { started: true, ready: true },
    [true, false],
  ],
  [
    "its startup probe failed and it was ready",
    probes,
    { startup: "failure" },
    { started: true, ready: true },
    [false, false],
  ],
  [
    "its probes have no results and another container was ready",
    probes,
    {},
    { started: true, ready: true, containerID: "containerd://old" },
    [false, false],
  ],
];
for (const [rule, spec, results, former, expected] of probedTable)
  for (const kind of ["regular", "sidecar"] as const)
    test(`a ${kind} container is ${expected[0] ? "started" : "not started"} and ${expected[1] ? "ready" : "not ready"} if ${rule}`, () => {
      const key = kind === "regular" ? "containerStatuses" : "initContainerStatuses";
      const name = kind === "regular" ? "a" : "s";
      const pod =
        kind === "regular"
          ? aPod({ containers: [aContainer("a", spec)] })
          : aPod({ initContainers: [aContainer("s", { ...spec, restartPolicy: "Always" })] });
      const previous: ApiPodStatus | undefined = former && {
        [key]: [
          { name, containerID: `containerd://${name}-0`, image: "", imageID: "", restartCount: 0, ...former },
        ],
      };
      const outcomes = Object.fromEntries(Object.entries(results).map(([k, o]) => [`${k} ${name}-0`, o]));
      const [status] = statusOf(pod, anObservedPod([anObservedContainer(name)]), {
        previous,
        ...probed(outcomes),
      })[key]!;
      assert.deepEqual([status?.started, status?.ready], expected);
    });

test("a container that does not run is not ready, regardless of its probe results", () => {
  const results = probed({ "startup a-0": "success", "readiness a-0": "success" });
  const [status] = statusOf(aPod(), anObservedPod([exitedWith(0)]), results).containerStatuses!;
  assert.deepEqual([status?.started, status?.ready], [false, false]);
});

// Details
test("a termination message is truncated to the container's share of 12 KiB, not within a character", () => {
  const message = `x${"é".repeat(8000)}`;
  const two = aPod({ restartPolicy: "Never", containers: [aContainer("a"), aContainer("b")] });
  const reported = (pod: Pod) =>
    statusOf(pod, anObservedPod([exitedWith(1, { message })])).containerStatuses?.[0]?.state?.terminated
      ?.message ?? "";
  assert.equal(reported(never), `x${"é".repeat(6143)}`);
  assert.equal(reported(two), `x${"é".repeat(3071)}`);
});

test("the user of a container is reported if the runtime reports it", () => {
  const userOf = (user: ObservedContainer["user"]) =>
    statusOf(aPod(), anObservedPod([run(user ? { user } : {})])).containerStatuses?.[0]?.user;
  assert.equal(userOf(undefined), undefined);
  assert.deepEqual(userOf({ uid: 1, gid: 2, supplementalGroups: [] }), { linux: { uid: 1, gid: 2 } });
  assert.deepEqual(userOf({ uid: 1, gid: 2, supplementalGroups: [2, 3] }), {
    linux: { uid: 1, gid: 2, supplementalGroups: [2, 3] },
  });
});

// parity: gate ContainerStopSignals=true, gate ContainerStopSignals=false
test("the stop signal is reported only with the gate ContainerStopSignals", () => {
  const observed = anObservedPod([run({ stopSignal: "SIGUSR1" })]);
  assert.equal(statusOf(aPod(), observed).containerStatuses?.[0]?.stopSignal, undefined);
  const gates = { ...defaultStatusGates, stopSignals: true };
  assert.equal(statusOf(aPod(), observed, { gates }).containerStatuses?.[0]?.stopSignal, "SIGUSR1");
});

const mountTable: [rule: string, mount: object, runtimeCan: boolean, expected: object][] = [
  ["writable", {}, true, {}],
  ["explicitly writable", { readOnly: false }, true, {}],
  ["read-only", { readOnly: true }, true, { readOnly: true, recursiveReadOnly: "Disabled" }],
  [
    "recursively read-only",
    { readOnly: true, recursiveReadOnly: "Enabled" },
    true,
    { readOnly: true, recursiveReadOnly: "Enabled" },
  ],
  [
    "recursively read-only if possible, on a runtime that supports it",
    { readOnly: true, recursiveReadOnly: "IfPossible" },
    true,
    { readOnly: true, recursiveReadOnly: "Enabled" },
  ],
  [
    "recursively read-only if possible, on a runtime that does not support it",
    { readOnly: true, recursiveReadOnly: "IfPossible" },
    false,
    { readOnly: true, recursiveReadOnly: "Disabled" },
  ],
  [
    "recursively read-only if possible, with mount propagation from the host",
    { readOnly: true, recursiveReadOnly: "IfPossible", mountPropagation: "HostToContainer" },
    true,
    { readOnly: true, recursiveReadOnly: "Disabled" },
  ],
];
// parity: gate RecursiveReadOnlyMounts=true as recursiveReadOnly
for (const [rule, mount, recursiveReadOnly, expected] of mountTable)
  for (const [when, containers] of [
    ["before it is created", []],
    ["when it runs", [run()]],
  ] as const)
    test(`the mounts of a container are reported ${when}: ${rule}`, () => {
      const volumeMounts = [{ name: "v", mountPath: "/v", subPath: "s", ...mount }];
      const pod = aPod({ containers: [aContainer("a", { volumeMounts })] });
      const [status] = statusOf(pod, anObservedPod([...containers]), { recursiveReadOnly })
        .containerStatuses!;
      assert.deepEqual(status?.volumeMounts, [{ name: "v", mountPath: "/v", ...expected }]);
    });

// parity: gate ImageVolumeWithDigest=true, gate ImageVolumeWithDigest=false
test("the image of an image volume is reported only with the gate ImageVolumeWithDigest, once it is mounted", () => {
  const volumeMounts = [
    { name: "model", mountPath: "/model", readOnly: true },
    { name: "data", mountPath: "/data" },
    { name: "relative", mountPath: "relative" },
  ];
  const pod = aPod({ containers: [aContainer("a", { volumeMounts })] });
  const mounted = run({ imageVolumes: { "/model": "sha256:1234", "/relative": "sha256:5678" } });
  const images = (containers: ObservedContainer[], imageVolumeDigests: boolean) =>
    statusOf(pod, anObservedPod(containers), {
      gates: { ...defaultStatusGates, imageVolumeDigests },
    }).containerStatuses?.[0]?.volumeMounts?.map(
      ({ volumeStatus }: { volumeStatus?: { image?: { imageRef?: string } } }) =>
        volumeStatus?.image?.imageRef,
    );
  assert.deepEqual(images([mounted], true), ["sha256:1234", undefined, "sha256:5678"]);
  assert.deepEqual(images([mounted], false), [undefined, undefined, undefined]);
  assert.deepEqual(images([], true), [undefined, undefined, undefined]);
});

// RestartAllContainers
const all = aPod({
  restartPolicy: "Never",
  containers: [
    aContainer("a", {
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } }],
    }),
    aContainer("b"),
  ],
});
test("RestartAllContainers: each removed container waits, is counted once, and the pod keeps running", () => {
  const b = anObservedContainer("b");
  const previous = statusOf(all, anObservedPod([run(), b]));
  const exited = statusOf(all, anObservedPod([exitedWith(42), b]), { previous });
  assert.deepEqual([exited.phase, restarting(exited)], ["Running", "True"]);
  const removed = statusOf(all, anObservedPod([exitedWith(42)]), { previous: exited });
  const again = statusOf(all, anObservedPod([exitedWith(42)]), { previous: removed });
  assert.deepEqual(again.containerStatuses?.[1], removed.containerStatuses?.[1]);
  const message = "The container is removed because RestartAllContainers in place";
  assert.deepEqual(pick(removed.containerStatuses?.[1], { state: 0, lastState: 0, restartCount: 0 }), {
    state: { waiting: { reason: "RestartingAllContainers", message } },
    lastState: unknownTermination(message, "RestartingAllContainers"),
    restartCount: 1,
  });
  const cleared = statusOf(all, anObservedPod([]), { previous: removed });
  assert.deepEqual([cleared.phase, restarting(cleared)], ["Running", "False"]);
  const restarted = statusOf(
    all,
    anObservedPod([run({ attempt: 1 }), anObservedContainer("b", { attempt: 1 })]),
    {
      previous: cleared,
    },
  );
  assert.deepEqual(
    restarted.containerStatuses?.map((c) => [c.restartCount, c.lastState?.terminated?.reason]),
    [
      [1, "RestartingAllContainers"],
      [1, "RestartingAllContainers"],
    ],
  );
  assert.deepEqual([restarted.phase, restarting(restarted)], ["Running", "False"]);
});

function restarting(status: ApiPodStatus): string | undefined {
  return status.conditions?.find((c) => c.type === "AllContainersRestarting")?.status;
}

test("a container that was stopped to be replaced is not done, regardless of its exit code", () => {
  const pod = aPod({ restartPolicy: "OnFailure" });
  const exited = anObservedPod([anObservedContainer("a", { state: "exited", exitCode: 0 })]);
  assert.equal(statusOf(pod, exited).phase, "Succeeded");
  const status = statusOf(pod, exited, { replaced: () => true });
  assert.equal(status.phase, "Running");
  const [container] = status.containerStatuses ?? [];
  assert.deepEqual(container?.state, { waiting: { reason: "ContainerCreating" } });
  assert.equal(container?.lastState?.terminated?.exitCode, 0);
  const created = anObservedPod([
    anObservedContainer("a", { attempt: 1, state: "created" }),
    anObservedContainer("a", { state: "exited", exitCode: 0 }),
  ]);
  assert.equal(statusOf(pod, created, { replaced: (c) => c.id === "a-0" }).phase, "Running");
  const done = anObservedPod([
    anObservedContainer("a", { attempt: 1, state: "exited", exitCode: 0 }),
    anObservedContainer("a", { state: "exited", exitCode: 0 }),
  ]);
  assert.equal(statusOf(pod, done, { replaced: (c) => c.id === "a-0" }).phase, "Succeeded");
});

test("an init container that was to be replaced and succeeded is done, unless its sandbox is lost", () => {
  const pod = aPod({ initContainers: [aContainer("i")] });
  const containers = [anObservedContainer("a"), anObservedContainer("i", { state: "exited", exitCode: 0 })];
  const replaced = (c: { name: string }) => c.name === "i";
  const here = statusOf(pod, anObservedPod(containers), { replaced });
  assert.equal(here.phase, "Running");
  assert.equal(here.initContainerStatuses?.[0]?.state?.terminated?.exitCode, 0);
  const lost = statusOf(pod, anObservedPod(containers.slice(1), [aSandbox({ state: "notready" })]), {
    replaced,
  });
  assert.equal(lost.phase, "Pending");
  assert.deepEqual(lost.initContainerStatuses?.[0]?.state, { waiting: { reason: "PodInitializing" } });
});
