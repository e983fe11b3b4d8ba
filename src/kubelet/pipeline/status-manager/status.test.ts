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
import type { SandboxId } from "../../../lib/clients/cri/cri.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ObservedContainer, ObservedSandbox } from "../../state/observed-pods.ts";
import type { ApiContainerStatus } from "./api-types.ts";
import { at, iso, statusOf } from "./fake-input.ts";
import type { StatusInput } from "./status-input.ts";

const previous = (ip: string) => ({ previous: { podIPs: [{ ip }] } });
const addressTable: [
  rule: string,
  hostNetwork: boolean,
  sandboxes: Partial<ObservedSandbox>[],
  more: Partial<StatusInput>,
  podIPs: string[] | undefined,
][] = [
  ["a pod without a sandbox has none", false, [], {}, undefined],
  ["a pod has those of its sandbox", false, [{ ips: ["10.0.0.9", "fd00::9"] }], {}, ["10.0.0.9", "fd00::9"]],
  ["the family of the node is first", false, [{ ips: ["fd00::9", "10.0.0.9"] }], {}, ["10.0.0.9", "fd00::9"]],
  [
    "the family of an IPv6 node is first",
    false,
    [{ ips: ["10.0.0.9", "fd00::9"] }],
    { hostIPs: ["2001:db8::1"] },
    ["fd00::9", "10.0.0.9"],
  ],
  [
    "one of each family is reported",
    false,
    [{ ips: ["10.0.0.9", "10.0.0.8", "fd00::9", "fd00::8"] }],
    {},
    ["10.0.0.9", "fd00::9"],
  ],
  [
    "a pod on the host network has those of the node",
    true,
    [{ ips: [], hostNetwork: true }],
    {},
    ["192.0.2.1", "2001:db8::1"],
  ],
  [
    "a pod on the host network has those of the node before it has a sandbox",
    true,
    [],
    {},
    ["192.0.2.1", "2001:db8::1"],
  ],
  [
    "a pod on the host network has one of each family",
    true,
    [],
    { hostIPs: ["192.0.2.1", "192.0.2.2"] },
    ["192.0.2.1"],
  ],
  ["a terminated pod keeps its own", false, [{ state: "notready" }], previous("10.0.0.9"), ["10.0.0.9"]],
  ["a pod without sandboxes keeps its own", false, [], previous("10.0.0.9"), ["10.0.0.9"]],
  [
    "a pod with a new sandbox has a new one",
    false,
    [{ ips: ["10.0.0.8"] }],
    previous("10.0.0.9"),
    ["10.0.0.8"],
  ],
  [
    "the address of an old sandbox is not reported",
    false,
    [{ state: "notready", attempt: 1 }, {}],
    {},
    undefined,
  ],
];
for (const [rule, hostNetwork, list, more, podIPs] of addressTable)
  test(`addresses of a pod: ${rule}`, () => {
    const status = statusOf(aPod({ hostNetwork }), anObservedPod([], list.map(aSandbox)), more);
    assert.deepEqual(
      status.podIPs,
      podIPs?.map((ip) => ({ ip })),
    );
    assert.equal(status.podIP, podIPs?.[0]);
  });

test("addresses of the node", () => {
  const status = statusOf(aPod(), undefined);
  assert.deepEqual(status.hostIPs, [{ ip: "192.0.2.1" }, { ip: "2001:db8::1" }]);
  assert.equal(status.hostIP, "192.0.2.1");
  assert.equal("hostIP" in statusOf(aPod(), undefined, { hostIPs: [] }), false);
});

test("container statuses are sorted by name, those of init containers as in the spec", () => {
  const pod = aPod({
    initContainers: [aContainer("z"), aContainer("i")],
    containers: [aContainer("b"), aContainer("a")],
    ephemeralContainers: [
      { name: "y", image: "" },
      { name: "x", image: "" },
    ],
  });
  const status = statusOf(pod, anObservedPod([]));
  assert.deepEqual(
    [status.containerStatuses, status.initContainerStatuses, status.ephemeralContainerStatuses].map((list) =>
      list?.map((c) => c.name),
    ),
    [
      ["a", "b"],
      ["z", "i"],
      ["x", "y"],
    ],
  );
});

test("a reason is kept as long as its phase", () => {
  const known = { phase: "Pending", reason: "Slow", message: "very" };
  const pending = statusOf(aPod(), undefined, { previous: known });
  assert.deepEqual([pending.reason, pending.message], ["Slow", "very"]);
  const running = statusOf(aPod(), anObservedPod([anObservedContainer("a")]), { previous: known });
  assert.deepEqual(["reason" in running, "message" in running], [false, false]);
});

const lost = [aSandbox({ id: "s1" as SandboxId, attempt: 1 }), aSandbox({ state: "notready" })];
const former = (name: string) => anObservedContainer(name, { state: "exited", exitCode: 137 });
const inNew = (name: string, more: Partial<ObservedContainer>) =>
  anObservedContainer(name, { sandboxId: "s1" as SandboxId, attempt: 1, ...more });
const afterRunning: [rule: string, inits: string[], observed: ObservedContainer[], phase: string][] = [
  [
    "init containers run again in a new sandbox",
    ["i"],
    [inNew("i", {}), former("a"), former("i")],
    "Pending",
  ],
  [
    "init containers are about to run again",
    ["i"],
    [inNew("i", { state: "created" }), former("a"), anObservedContainer("i", { state: "exited" })],
    "Pending",
  ],
  [
    "init containers have run again",
    ["i"],
    [inNew("a", {}), inNew("i", { state: "exited" }), former("a")],
    "Running",
  ],
  ["it has no init containers", [], [], "Running"],
];
for (const [rule, inits, containers, phase] of afterRunning)
  test(`the phase of a pod that was Running is ${phase} if ${rule}`, () => {
    const pod = aPod({ initContainers: inits.map((name) => aContainer(name)) });
    const previous = { phase: "Running" };
    assert.equal(statusOf(pod, anObservedPod(containers, lost), { previous }).phase, phase);
  });

test("the reason is that of the first failure", () => {
  const failure = { phase: "Failed", reason: "DeadlineExceeded", message: "too long" } as const;
  const failed = statusOf(aPod(), anObservedPod([anObservedContainer("a")]), { failure });
  assert.deepEqual([failed.phase, failed.reason, failed.message], ["Failed", "DeadlineExceeded", "too long"]);
  const later = statusOf(aPod(), undefined, {
    failure: { phase: "Failed", reason: "Evicted", message: "low" },
    previous: failed,
  });
  assert.deepEqual([later.reason, later.message], ["DeadlineExceeded", "too long"]);
});

const fromApi = { annotations: { "kubernetes.io/config.source": "api" } };
const preempted = {
  phase: "Failed",
  reason: "Preempting",
  message: "for another",
  untilEnded: true,
} as const;
const evicted = { phase: "Failed", reason: "Evicted", message: "low" } as const;
// parity: event Preempting
for (const [rule, failure, exitCode, workerPhase, expected] of [
  ["a preempted pod has failed while it is stopped", preempted, 0, "terminating", "Failed Preempting"],
  ["and has succeeded if its containers have", preempted, 0, "terminated", "Succeeded undefined"],
  ["and has failed if one of them has", preempted, 137, "terminated", "Failed Preempting"],
  ["an evicted pod has failed in any case", evicted, 0, "terminated", "Failed Evicted"],
] as const)
  test(`preemption: ${rule}`, () => {
    const pod = aPod({}, fromApi);
    const running = statusOf(pod, anObservedPod([anObservedContainer("a")]), {
      failure,
      workerPhase: "terminating",
    });
    const ended = anObservedPod([anObservedContainer("a", { state: "exited", exitCode })]);
    const { phase, reason } = statusOf(pod, ended, { failure, workerPhase, previous: running });
    assert.equal(`${phase} ${reason}`, expected);
  });

test("a preempted pod that has failed in the API remains failed", () => {
  const pod = aPod({}, fromApi);
  const failed = { ...pod, status: { phase: "Failed", reason: "Preempting" } } as Pod;
  const ended = anObservedPod([anObservedContainer("a", { state: "exited", exitCode: 0 })]);
  const { phase } = statusOf(failed, ended, {
    failure: preempted,
    workerPhase: "terminated",
    previous: failed.status as NonNullable<StatusInput["previous"]>,
  });
  assert.equal(phase, "Failed");
});

test("the status of a rejected pod has only the failure", () => {
  const failure = { phase: "Failed", reason: "OutOfcpu", message: "Pod was rejected: no cpu" } as const;
  const pod = aPod({}, { generation: 2 });
  assert.deepEqual(statusOf(pod, undefined, { failure, rejected: true }), {
    observedGeneration: 2,
    ...failure,
    startTime: iso(wallTime(at)),
    qosClass: "BestEffort",
  });
});

// parity: gate PodObservedGenerationTracking=true as observedGeneration
test("the observed generation never decreases", () => {
  const generation = (now: number | undefined, was: number | undefined) =>
    statusOf(aPod({}, now ? { generation: now } : {}), undefined, {
      previous: was ? { observedGeneration: was } : {},
    }).observedGeneration;
  assert.deepEqual([generation(2, 1), generation(1, 2), generation(undefined, undefined)], [2, 2, undefined]);
});

// A terminated pod
const api = (spec: Partial<Pod["spec"]>) => aPod(spec, { annotations: {} });
const stateOf = (status: ApiContainerStatus) =>
  status.state?.terminated?.reason ?? Object.keys(status.state ?? {})[0];
const done = (name: string, exitCode = 0) => anObservedContainer(name, { state: "exited", exitCode });
const inits = [aContainer("i"), aContainer("j")];
const terminatedTable: [
  rule: string,
  pod: Pod,
  containers: ObservedContainer[],
  inits: string[] | undefined,
  containersAre: string[],
][] = [
  ["an observed termination is reported", api({}), [done("a", 1)], undefined, ["Error"]],
  [
    "a container that never started is reported as failed",
    api({}),
    [],
    undefined,
    ["ContainerStatusUnknown"],
  ],
  [
    "not initialized: a container that could not have started waits",
    api({ initContainers: inits }),
    [done("i", 1)],
    ["Error", "waiting"],
    ["waiting"],
  ],
  [
    "not initialized: the first init container is treated as started",
    api({ initContainers: inits }),
    [],
    ["ContainerStatusUnknown", "waiting"],
    ["waiting"],
  ],
  [
    "initialized: a container that did not start is reported as failed",
    api({ initContainers: inits }),
    [done("i"), done("j")],
    ["Completed", "Completed"],
    ["ContainerStatusUnknown"],
  ],
  [
    "a sidecar whose termination was not observed is reported as failed after all ran",
    api({ initContainers: [aContainer("s", { restartPolicy: "Always" })] }),
    [done("a")],
    ["ContainerStatusUnknown"],
    ["Completed"],
  ],
];
for (const [rule, pod, containers, initsAre, containersAre] of terminatedTable)
  test(`a terminated pod: ${rule}`, () => {
    const status = statusOf(pod, anObservedPod(containers), { workerPhase: "terminated" });
    assert.deepEqual(status.initContainerStatuses?.map(stateOf), initsAre);
    assert.deepEqual(status.containerStatuses?.map(stateOf), containersAre);
  });

test("a terminated pod: an unobserved termination is reported as such", () => {
  const [status] = statusOf(api({}), undefined, { workerPhase: "terminated" }).containerStatuses!;
  assert.deepEqual(status?.state?.terminated, {
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "The container could not be located when the pod was terminated",
    startedAt: null,
    finishedAt: null,
  });
});
