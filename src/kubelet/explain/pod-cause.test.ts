import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/builders/pods.ts";
import type { OomKill } from "../../lib/model/oom-kill.ts";
import type { ContainerStatus, PodStatus } from "../../lib/model/pod.ts";
import type { StepKind } from "../../lib/model/pod-step.ts";
import { StepHistory } from "../state/step-history.ts";
import type { Terminated } from "./container-termination.ts";
import { explainPod, type PodInfo } from "./explain-pod.ts";

const now = Date.parse("2026-01-01T01:00:00Z");
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString().replace(".000Z", "Z");
const pod = aPod({
  activeDeadlineSeconds: 30,
  initContainers: [aContainer("migrate"), aContainer("proxy", { restartPolicy: "Always" })],
  containers: [aContainer("a", { resources: { limits: { memory: "24Mi" } } }), aContainer("b")],
});

type PastStep = { kind: StepKind; text?: string; container?: string; error?: string; atS?: number };

/** A pod that waits in the last of these steps. */
function info(steps: readonly PastStep[], more: Partial<PodInfo> = {}): PodInfo {
  const history = new StepHistory(now - 3_000_000);
  for (const { kind, text = kind, container, error, atS = 5 } of steps) {
    history.startStep({ kind, text, ...(container !== undefined && { container }) }, now - atS * 1000);
    if (error !== undefined) history.fail(error);
  }
  const last = steps.at(-1);
  return {
    id: { namespace: "default", name: "web", uid: "u1" },
    source: "api",
    nodeName: "node-a",
    phase: "syncing",
    pod,
    history,
    status: { phase: "Running" },
    isReady: false,
    failure: undefined,
    waiting: new Map(),
    blockedOn: last && { text: last.text ?? last.kind, since: now - 9000 },
    terminatedByItself: false,
    kills: [],
    oomKills: new Map(),
    probeFailures: [],
    running: [],
    volumes: [],
    pulls: [],
    unwrittenSince: undefined,
    now,
    ...more,
  };
}

const end = (exitCode: number, more: Partial<Terminated> = {}): Terminated => ({
  exitCode,
  reason: exitCode === 0 ? "Completed" : "Error",
  startedAt: ago(20),
  finishedAt: ago(10),
  containerID: "containerd://id1",
  ...more,
});
const container = (name: string, more: Partial<ContainerStatus>): ContainerStatus => ({
  name,
  image: "",
  imageID: "",
  ready: false,
  restartCount: 0,
  ...more,
});
const ran = (name: string, terminated: Terminated, restartCount = 1): PodStatus => ({
  phase: "Running",
  containerStatuses: [container(name, { restartCount, state: { running: {} }, lastState: { terminated } })],
});
const failed = (...containerStatuses: ContainerStatus[]): Partial<PodInfo> => ({
  phase: "terminated",
  terminatedByItself: true,
  blockedOn: undefined,
  status: { phase: "Failed", containerStatuses },
});
const failure = {
  phase: "Failed" as const,
  reason: "NodeAffinity",
  message: "Pod was rejected: m",
  detail: "disk=ssd",
};
const kill = { kind: "liveness", container: "a", id: "id1", text: "no heartbeat\n", at: now, times: 3 };
const mi = 1024 * 1024;
const inPod = `/kubepods.slice/kubepods-pod${pod.metadata.uid.replaceAll("-", "_")}.slice`;
const inContainer = `${inPod}/cri-containerd-${"0123456789abcdef".repeat(4)}.scope`;
const oomKilled = (more: Pick<OomKill, "cgroup" | "usage">) =>
  new Map([
    ["id1", { pid: 7, process: "tail", residentBytes: 21.5 * mi, victimCgroup: inContainer, ...more }],
  ]);
const probeFailure = { kind: "readiness", container: "a", text: "503", at: now, times: 2 };
const hook = { kind: "hook", container: "a", error: "no registry", atS: 15 } as const;

const resizing = (type: string, reason: string): PodStatus => ({
  phase: "Running",
  conditions: [{ type, status: "True", reason, message: "no room" }],
});

const table: [rule: string, info: PodInfo, cause: string | null][] = [
  [
    "a ready pod whose resize waits",
    info([], { isReady: true, status: resizing("PodResizePending", "Deferred") }),
    "resize is deferred: no room",
  ],
  [
    "a ready pod whose resize fails",
    info([], { isReady: true, status: resizing("PodResizeInProgress", "Error") }),
    "resize failed, retrying: no room",
  ],
  [
    "a ready pod whose resize is in progress",
    info([], { isReady: true, status: resizing("PodResizeInProgress", "") }),
    null,
  ],
  [
    "a pod that is not ready, and whose resize waits too",
    info([{ kind: "image", text: "pulling" }], { status: resizing("PodResizePending", "Deferred") }),
    "pulling",
  ],
  ["a failure with its detail", info([], { failure }), "NodeAffinity: Pod was rejected: m: disk=ssd"],
  [
    "a failure takes precedence over the exit codes of containers",
    info([], { failure, ...failed(container("a", { state: { terminated: end(137) } })) }),
    "NodeAffinity: Pod was rejected: m: disk=ssd",
  ],
  [
    "an eviction by a previous agent process",
    info([], { ...failed(), status: { phase: "Failed", reason: "Evicted", message: "low on memory" } }),
    "Evicted: low on memory",
  ],
  [
    "a deadline with its duration",
    info([], { failure: { phase: "Failed", reason: "DeadlineExceeded", message: "too long" } }),
    "DeadlineExceeded: the pod ran longer than its activeDeadlineSeconds (30 s)",
  ],
  [
    "the first container that failed",
    info(
      [],
      failed(
        container("a", { state: { terminated: end(143, { finishedAt: ago(5) }) } }),
        container("b", { state: { terminated: end(7, { message: "no data\n" }) } }),
      ),
    ),
    "container b exited with code 7 (Error): no data",
  ],
  [
    "a pod that was deleted has not failed",
    info([], { ...failed(container("a", { state: { terminated: end(137) } })), terminatedByItself: false }),
    null,
  ],
  [
    "the exit code of a container in back-off",
    info([{ kind: "backoff", container: "a" }], { status: ran("a", end(3, { message: "locked" }), 4) }),
    "container a exited with code 3 (Error): locked; restarted 4 times",
  ],
  [
    "the memory limit of an OOM-killed container",
    info([{ kind: "backoff", container: "a" }], { status: ran("a", end(137, { reason: "OOMKilled" })) }),
    "container a exited with code 137 (OOMKilled), its memory limit is 24Mi; restarted once",
  ],
  [
    "an OOM-killed container without a limit",
    info([{ kind: "backoff", container: "b" }], { status: ran("b", end(137, { reason: "OOMKilled" })) }),
    "container b exited with code 137 (OOMKilled), the node or the pod ran out of memory; restarted once",
  ],
  [
    "the process that the kernel killed, and the usage and limit of its container",
    info([{ kind: "backoff", container: "a" }], {
      status: ran("a", end(137, { reason: "OOMKilled" })),
      oomKills: oomKilled({ cgroup: inContainer, usage: { bytes: 24 * mi, limit: 24 * mi } }),
    }),
    "container a exited with code 137 (OOMKilled): the container used 24Mi of its memory limit of 24Mi (process tail); restarted once",
  ],
  [
    "the limit of the pod, which runtimes do not report",
    info([{ kind: "backoff", container: "a" }], {
      status: ran("a", end(137)),
      oomKills: oomKilled({ cgroup: inPod, usage: { bytes: 64 * mi, limit: 64 * mi } }),
    }),
    "container a exited with code 137 (Error): the pod used 64Mi of its memory limit of 64Mi (process tail); restarted once",
  ],
  [
    "the limit of a pod with a limit of its own",
    info([{ kind: "backoff", container: "a" }], {
      pod: { ...pod, spec: { ...pod.spec, resources: { limits: { memory: "64Mi" } } } },
      status: ran("a", end(137)),
      oomKills: oomKilled({ cgroup: inPod, usage: { bytes: 64 * mi, limit: 64 * mi } }),
    }),
    "container a exited with code 137 (Error): the pod used 64Mi of its memory limit of 64Mi (process tail); restarted once",
  ],
  [
    "the limit of all pods",
    info([{ kind: "backoff", container: "a" }], {
      status: ran("a", end(137)),
      oomKills: oomKilled({ cgroup: "/kubepods", usage: { bytes: 3072 * mi, limit: 3072 * mi } }),
    }),
    "container a exited with code 137 (Error): cgroup /kubepods used 3Gi of its memory limit of 3Gi (process tail); restarted once",
  ],
  [
    "a node that ran out of memory",
    info([{ kind: "backoff", container: "b" }], {
      status: ran("b", end(137)),
      oomKills: oomKilled({ cgroup: "/", usage: undefined }),
    }),
    "container b exited with code 137 (Error): the node ran out of memory (process tail); restarted once",
  ],
  [
    "not a process that was killed without ending the container",
    info([{ kind: "backoff", container: "b" }], {
      status: ran("b", end(3)),
      oomKills: oomKilled({ cgroup: "/", usage: undefined }),
    }),
    "container b exited with code 3 (Error); restarted once",
  ],
  [
    "a probe whose failure killed the container",
    info([{ kind: "backoff", container: "a" }], { status: ran("a", end(137)), kills: [kill] }),
    "container a was killed because its liveness probe failed 3 times in a row: no heartbeat; restarted once",
  ],
  [
    "not a probe whose failure killed another container",
    info([{ kind: "backoff", container: "a" }], {
      status: ran("a", end(3)),
      kills: [{ ...kill, id: "id0" }],
    }),
    "container a exited with code 3 (Error); restarted once",
  ],
  [
    "a hook whose failure killed the container, regardless of its exit code",
    info([hook, { kind: "backoff", container: "a" }], { status: ran("a", end(0)) }),
    "container a was killed because its postStart hook failed: no registry",
  ],
  [
    "not a hook of an earlier container",
    info(
      [
        { ...hook, atS: 60 },
        { kind: "backoff", container: "a" },
      ],
      { status: ran("a", end(3)) },
    ),
    "container a exited with code 3 (Error); restarted once",
  ],
  [
    "an init container",
    info([{ kind: "backoff", container: "migrate" }], { status: ran("migrate", end(4)) }),
    "init container migrate exited with code 4 (Error); restarted once",
  ],
  [
    "a sidecar",
    info([{ kind: "backoff", container: "proxy" }], { status: ran("proxy", end(5)) }),
    "sidecar proxy exited with code 5 (Error); restarted once",
  ],
  [
    "a failing probe with its result",
    info([{ kind: "readiness", container: "a" }], { probeFailures: [probeFailure] }),
    "readiness probe of container a failed 2 times in a row: 503",
  ],
  [
    "a probe without a result",
    info([{ kind: "readiness", text: "waiting for the probe", container: "b" }], {
      probeFailures: [probeFailure],
    }),
    "waiting for the probe",
  ],
  [
    "a probe without a result, of a container that was killed before",
    info([{ kind: "startup", container: "a" }], { status: ran("a", end(137)), kills: [kill] }),
    "container a was killed because its liveness probe failed 3 times in a row: no heartbeat; restarted once",
  ],
  [
    "the error of a step, even while it is retried",
    info([
      { kind: "image", container: "a", error: "connection refused", atS: 9 },
      { kind: "image", text: "pulling image x", container: "a" },
    ]),
    "image busybox:1 cannot be pulled: nothing listens at its registry registry-1.docker.io:443 (connection refused)",
  ],
  [
    "not an error of a step that has succeeded since",
    info([
      { kind: "image", container: "a", error: "connection refused", atS: 9 },
      { kind: "image", text: "pulling image x", container: "a", atS: 8 },
      { kind: "hook", text: "waiting for the postStart hook of a", container: "a" },
    ]),
    "waiting for the postStart hook of a",
  ],
  [
    "an image whose pull is retried",
    info([
      { kind: "image", container: "a", error: "connection refused", atS: 9 },
      { kind: "image", text: "checking for image x", container: "a", atS: 8 },
      { kind: "image", text: "pulling image x", container: "a" },
    ]),
    "image busybox:1 cannot be pulled: nothing listens at its registry registry-1.docker.io:443 (connection refused)",
  ],
  [
    "not an error of an earlier sync that this one has passed",
    info([
      { kind: "image", container: "a", error: "connection refused", atS: 9 },
      { kind: "container", container: "a", atS: 8 },
      { kind: "image", text: "pulling image x", container: "a" },
    ]),
    "pulling image x",
  ],
  [
    "the error of a later step, while the sync is retried",
    info([
      { kind: "sandbox", error: "no runtime for x", atS: 9 },
      { kind: "start-slot", text: "waiting for a start slot" },
    ]),
    "no runtime for x",
  ],
  [
    "a driver that does not respond, with the claim that it prepares",
    info([
      { kind: "claims", text: "waiting for DRA driver d to prepare ResourceClaim x", error: "Unavailable" },
    ]),
    "waiting for DRA driver d to prepare ResourceClaim x: Unavailable",
  ],
  [
    "the claim of a failed step, while its retry is due",
    info([
      {
        kind: "claims",
        text: "ResourceClaim x: waiting for DRA driver d to register",
        error: "not registered",
      },
      { kind: "claims", text: "not registered", error: "not registered" },
    ]),
    "ResourceClaim x: waiting for DRA driver d to register: not registered",
  ],
  [
    "a claim that is not allocated",
    info([{ kind: "claims", text: "waiting", error: "ResourceClaim x: not allocated" }]),
    "ResourceClaim x: not allocated",
  ],
  [
    "claims that are rechecked one at a time",
    info([
      { kind: "claims", text: "ResourceClaim x: waiting", error: "ResourceClaim x not found", atS: 9 },
      { kind: "claims", text: "waiting until the ResourceClaims of the pod are created", atS: 6 },
      { kind: "claims", text: "ResourceClaim x: waiting", atS: 5 },
    ]),
    "ResourceClaim x not found",
  ],
  [
    "a failing hook",
    info([hook, { kind: "image", container: "a" }]),
    "container a: postStart hook failed: no registry",
  ],
  [
    "a failed sidecar, while the other containers are started",
    info([{ kind: "container", container: "a" }], {
      status: {
        phase: "Pending",
        initContainerStatuses: [container("proxy", { state: { terminated: end(5) } })],
      },
    }),
    "sidecar proxy exited with code 5 (Error)",
  ],
  [
    "the failed hook of the terminated container, not that of its successor",
    info([hook, { ...hook, text: "again", error: "later", atS: 3 }, { kind: "backoff", container: "a" }], {
      status: ran("a", end(0)),
    }),
    "container a was killed because its postStart hook failed: no registry",
  ],
  [
    "not an error of another container",
    info([
      { kind: "container", container: "b", error: "no such key", atS: 9 },
      { kind: "image", text: "pulling image x", container: "a" },
    ]),
    "pulling image x",
  ],
  [
    "a volume whose wait names the reason",
    info([
      { kind: "volumes", error: "unmounted volumes=[data]: not found", atS: 9 },
      { kind: "volumes", text: "waiting for volume data: not found" },
    ]),
    "waiting for volume data: not found",
  ],
  [
    "a volume whose wait does not",
    info([
      { kind: "volumes", error: "unmounted volumes=[data]: not found", atS: 9 },
      { kind: "volumes", text: "waiting for volume data" },
    ]),
    "unmounted volumes=[data]: not found",
  ],
  [
    "containers that do not stop",
    info([{ kind: "stop", text: "stopping containers" }], { running: [{ name: "a" }, { name: "b" }] }),
    "stopping containers: a, b",
  ],
  [
    "a terminated container that is not restarted",
    info([], {
      status: { phase: "Running", containerStatuses: [container("a", { state: { terminated: end(7) } })] },
    }),
    "container a exited with code 7 (Error)",
  ],
  [
    "a ready pod that keeps restarting",
    info([], { isReady: true, status: ran("a", end(3), 2) }),
    "container a exited with code 3 (Error); restarted 2 times",
  ],
  [
    "a failure long ago does not count",
    info([], { isReady: true, status: ran("a", end(3, { finishedAt: ago(700) })) }),
    null,
  ],
  ["a restart after exit code 0", info([], { isReady: true, status: ran("a", end(0)) }), null],
  ["a ready pod", info([], { isReady: true }), null],
  [
    "the condition, if nothing else is known",
    info([], {
      status: { phase: "Running", conditions: [{ type: "Ready", status: "False", message: "unready: [a]" }] },
    }),
    "unready: [a]",
  ],
];

for (const [rule, given, cause] of table)
  test(`the cause: ${rule}`, () => assert.equal(explainPod(given).cause, cause));

test("a pod failed when its last container terminated, or else when it was started", () => {
  const ends = [
    container("a", { state: { terminated: end(1) } }),
    container("b", { state: { terminated: end(1, { finishedAt: ago(3) }) } }),
  ];
  assert.equal(explainPod(info([], failed(...ends))).failedAt, "2026-01-01T00:59:57.000Z");
  const rejected = info([], { failure, status: { phase: "Failed", startTime: ago(60) } });
  assert.equal(explainPod(rejected).failedAt, "2026-01-01T00:59:00.000Z");
  assert.equal(explainPod(info([], { ...failed(...ends), terminatedByItself: false })).failedAt, null);
  assert.equal(explainPod(info([])).failedAt, null);
});

test("a sandbox whose network cannot be removed before the next attempt", () => {
  const text =
    'failed to destroy network for sandbox "0123": plugin type="bridge" name="net" failed (delete): no bridge';
  for (const kind of ["sandbox", "stop", "other"] as const) {
    const { cause, raw } = explainPod(info([{ kind, error: `stopping the pod: ${text}` }]));
    assert.equal(cause, "the network of the sandbox cannot be removed: CNI plugin bridge failed: no bridge");
    assert.equal(raw, text);
  }
});

test("the claim of an ephemeral volume has the names of the pod and the volume", () => {
  const withClaim = aPod({ volumes: [{ name: "scratch", ephemeral: {} }] });
  const error = "waiting for volume scratch: PVC is not bound";
  const explanation = explainPod(info([{ kind: "volumes", text: error, error }], { pod: withClaim }));
  assert.match(explanation.try ?? "", new RegExp(`describe pvc ${withClaim.metadata.name}-scratch -n`));
});
