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
import type { Pod, PodCondition } from "../../../lib/model/pod.ts";
import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../../state/observed-pods.ts";
import type { ApiPodStatus } from "./api-types.ts";
import { at, iso, probed, statusOf } from "./fake-input.ts";
import { defaultStatusGates, type StatusInput } from "./status-input.ts";

const run = (more: Partial<ObservedContainer> = {}) =>
  anObservedContainer("a", { startedAt: wallTime(at), ...more });
const exitedWith = (exitCode: number) => run({ state: "exited", exitCode, finishedAt: wallTime(at + 1000) });
const inits = aPod({ initContainers: [aContainer("i")] });
const init = (more: Partial<ObservedContainer> = {}) => anObservedContainer("i", more);
const sidecar = aPod({ initContainers: [aContainer("s", { restartPolicy: "Always" })] });
const never = aPod({ restartPolicy: "Never" });

/** A pod from the API server with conditions of other clients. */
function fromApi(spec: Partial<Pod["spec"]>, conditions: [type: string, status: string][]): Pod {
  return {
    ...aPod(spec, { annotations: {} }),
    status: {
      conditions: conditions.map(([type, status]) => ({
        type,
        status,
        lastTransitionTime: iso(wallTime(at - 1000)),
      })),
    },
  };
}

/** Conditions as "status reason: message". */
function conditionsOf(status: ApiPodStatus): Record<string, string> {
  return Object.fromEntries(
    status.conditions!.map((c) => [c.type, `${c.status} ${c.reason ?? ""}: ${c.message ?? ""}`]),
  );
}
const yes = "True : ";
const no = "False : ";
const notReady = (...names: string[]) =>
  `False ContainersNotReady: containers with unready status: [${names.join(" ")}]`;
const notInitialized = (...names: string[]) =>
  `False ContainersNotInitialized: containers with incomplete status: [${names.join(" ")}]`;
const gated = { readinessGates: [{ conditionType: "example.com/lb" }, { conditionType: "example.com/b" }] };

const table: [
  rule: string,
  pod: Pod,
  observed: ObservedPod | undefined,
  expected: Record<string, string | undefined>,
  more?: Partial<StatusInput>,
][] = [
  [
    "nothing was observed",
    aPod(),
    undefined,
    {
      PodReadyToStartContainers: no,
      Initialized: yes,
      Ready: notReady("a"),
      ContainersReady: notReady("a"),
      PodScheduled: yes,
      AllContainersRestarting: undefined,
      DisruptionTarget: undefined,
    },
  ],
  [
    "all run",
    aPod(),
    anObservedPod([run()]),
    { PodReadyToStartContainers: yes, Initialized: yes, Ready: yes, ContainersReady: yes },
  ],
  [
    "unready containers are in the order of the spec, sidecars first",
    aPod({
      initContainers: [aContainer("i"), aContainer("s", { restartPolicy: "Always" })],
      containers: [aContainer("z"), aContainer("a")],
    }),
    anObservedPod([]),
    { Ready: notReady("s", "z", "a"), Initialized: notInitialized("i", "s") },
  ],
  ["an init container runs", inits, anObservedPod([init()]), { Initialized: notInitialized("i") }],
  ["an init container is missing", inits, anObservedPod([]), { Initialized: notInitialized("i") }],
  [
    "an init container failed",
    inits,
    anObservedPod([init({ state: "exited", exitCode: 1 })]),
    { Initialized: notInitialized("i") },
  ],
  ["an init container is done", inits, anObservedPod([init({ state: "exited" })]), { Initialized: yes }],
  [
    "a sidecar runs",
    sidecar,
    anObservedPod([anObservedContainer("s")]),
    { Initialized: yes, Ready: notReady("a") },
  ],
  [
    "a sidecar has not passed its startup probe",
    aPod({ initContainers: [aContainer("s", { restartPolicy: "Always", startupProbe: {} })] }),
    anObservedPod([anObservedContainer("s")]),
    { Initialized: notInitialized("s") },
  ],
  [
    "a sidecar has started and is not ready",
    aPod({ initContainers: [aContainer("s", { restartPolicy: "Always", readinessProbe: {} })] }),
    anObservedPod([anObservedContainer("s"), run()]),
    { Initialized: yes, Ready: notReady("s") },
    probed({ "readiness s-0": "failure" }),
  ],
  [
    "a sidecar exited after all ran",
    sidecar,
    anObservedPod([run(), anObservedContainer("s", { state: "exited" })]),
    { Initialized: yes, Ready: notReady("s") },
  ],
  [
    "a pod that was initialized remains initialized",
    inits,
    anObservedPod([init({ attempt: 1 })]),
    { Initialized: yes },
    { previous: statusOf(inits, anObservedPod([init({ state: "exited" })])) },
  ],
  [
    "succeeded",
    never,
    anObservedPod([exitedWith(0)], [aSandbox({ state: "notready" })]),
    {
      PodReadyToStartContainers: no,
      Initialized: "True PodCompleted: ",
      Ready: "False PodCompleted: ",
      ContainersReady: "False PodCompleted: ",
    },
  ],
  [
    "failed",
    never,
    anObservedPod([exitedWith(1)]),
    { Initialized: yes, Ready: "False PodFailed: ", ContainersReady: "False PodFailed: " },
  ],
  // Readiness gates.
  [
    "a readiness gate has no condition, another is False",
    fromApi(gated, [["example.com/b", "Unknown"]]),
    anObservedPod([run()]),
    {
      ContainersReady: yes,
      Ready:
        'False ReadinessGatesNotReady: corresponding condition of pod readiness gate "example.com/lb" does not exist., the status of pod readiness gate "example.com/b" is not "True", but Unknown',
      "example.com/b": "Unknown : ",
    },
  ],
  [
    "all readiness gates are True",
    fromApi(gated, [
      ["example.com/lb", "True"],
      ["example.com/b", "True"],
    ]),
    anObservedPod([run()]),
    { Ready: yes, "example.com/lb": yes },
  ],
  [
    "readiness gates that are True do not make up for unready containers",
    fromApi(gated, [
      ["example.com/lb", "True"],
      ["example.com/b", "True"],
    ]),
    anObservedPod([]),
    { Ready: notReady("a") },
  ],
  // RestartAllContainers.
  [
    "a pod with a RestartAllContainers rule that does not apply",
    aPod({ containers: [restartsAll()] }),
    anObservedPod([run()]),
    { AllContainersRestarting: no },
  ],
  [
    "a container triggers RestartAllContainers",
    aPod({ containers: [restartsAll()] }),
    anObservedPod([exitedWith(42)]),
    {
      AllContainersRestarting: "True RestartAllContainersStarted: container exited with restart policy rule",
    },
  ],
  [
    "RestartAllContainers is not reported without its gate",
    aPod({ containers: [restartsAll()] }),
    anObservedPod([exitedWith(42)]),
    { AllContainersRestarting: undefined },
    { gates: { ...defaultStatusGates, restart: { containerRules: true, restartAll: false } } },
  ],
  // parity: gate PodReadyToStartContainersCondition=false
  [
    "PodReadyToStartContainers is not reported without the gate PodReadyToStartContainersCondition",
    aPod(),
    anObservedPod([]),
    { PodReadyToStartContainers: undefined, PodScheduled: "True : " },
    { gates: { ...defaultStatusGates, readyToStart: false } },
  ],
];
// parity: gate PodReadyToStartContainersCondition=true as readyToStart
for (const [rule, pod, observed, expected, more] of table)
  test(`conditions: ${rule}`, () => {
    const found = conditionsOf(statusOf(pod, observed, more));
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((type) => [type, found[type]])), expected);
  });

function restartsAll() {
  const exitCodes = { operator: "In" as const, values: [42] };
  return aContainer("a", { restartPolicyRules: [{ action: "RestartAllContainers", exitCodes }] });
}

const sandboxes: [
  rule: string,
  sandboxes: Partial<ObservedSandbox>[],
  hostNetwork: boolean,
  expected: string,
][] = [
  ["there is no sandbox", [], false, no],
  ["the sandbox is ready", [{}], false, yes],
  ["the sandbox is not ready", [{ state: "notready" }], false, no],
  ["the sandbox has no address", [{ ips: [] }], false, no],
  ["the sandbox is not on the host network, unlike the pod", [{}], true, no],
  ["sandbox and pod are on the host network", [{ ips: [], hostNetwork: true }], true, yes],
  ["the sandbox is on the host network, unlike the pod", [{ ips: [], hostNetwork: true }], false, no],
  ["an old sandbox is still ready", [{ attempt: 1 }, {}], false, no],
  ["the newest sandbox is not ready", [{ attempt: 1, state: "notready" }, {}], false, no],
  ["an old sandbox is not ready", [{ attempt: 1 }, { state: "notready" }], false, yes],
];
for (const [rule, list, hostNetwork, expected] of sandboxes)
  test(`PodReadyToStartContainers is ${expected === yes ? "True" : "False"} if ${rule}`, () => {
    const status = statusOf(aPod({ hostNetwork }), anObservedPod([], list.map(aSandbox)));
    assert.equal(conditionsOf(status).PodReadyToStartContainers, expected);
  });

test("conditions are in the order of the reference kubelet, those of other clients first, all with a null probe time", () => {
  const pod = fromApi({ containers: [restartsAll()] }, [
    ["PodScheduled", "True"],
    ["example.com/lb", "False"],
    ["Ready", "False"],
  ]);
  const { conditions } = statusOf(pod, anObservedPod([run()]));
  assert.deepEqual(
    conditions?.map((c) => c.type),
    [
      "example.com/lb",
      "PodReadyToStartContainers",
      "Initialized",
      "Ready",
      "ContainersReady",
      "PodScheduled",
      "AllContainersRestarting",
    ],
  );
  assert.deepEqual(new Set(conditions?.slice(1).map((c) => c.lastProbeTime)), new Set([null]));
  assert.deepEqual(conditions?.[0], pod.status?.conditions?.[1], "as its owner wrote it");
});

test("a condition keeps its transition time if its status does not change, even if its reason does", () => {
  const first = statusOf(aPod(), anObservedPod([run()]), { now: wallTime(at) });
  const later = statusOf(aPod(), anObservedPod([run()]), { now: wallTime(at + 60_000), previous: first });
  assert.deepEqual(later.conditions, first.conditions);
  const died = statusOf(never, anObservedPod([exitedWith(1)]), {
    now: wallTime(at + 90_000),
    previous: later,
  });
  const gone = statusOf(never, undefined, { now: wallTime(at + 99_000), previous: died });
  const time = (status: ApiPodStatus, type: string) =>
    status.conditions?.find((c) => c.type === type)?.lastTransitionTime;
  assert.equal(time(died, "Ready"), iso(wallTime(at + 90_000)));
  assert.equal(time(gone, "Ready"), iso(wallTime(at + 90_000)));
  assert.equal(time(gone, "PodScheduled"), iso(wallTime(at)));
});

test("conditions have the observed generation; those of a static pod have none", () => {
  const [one] = statusOf(aPod({}, { generation: 3 }), undefined).conditions!;
  assert.equal(one?.observedGeneration, 3);
  assert.equal("observedGeneration" in statusOf(aPod(), undefined).conditions![0]!, false);
});

const disruption: Pick<PodCondition, "type" | "status" | "reason" | "message"> = {
  type: "DisruptionTarget",
  status: "True",
  reason: "TerminationByKubelet",
  message: "The node was low on resource: memory.",
};
test("the condition of a failure replaces that of another client, and is kept", () => {
  const pod = fromApi({}, [
    ["DisruptionTarget", "False"],
    ["example.com/lb", "True"],
  ]);
  const failure = { phase: "Failed", reason: "Evicted", message: "low", conditions: [disruption] } as const;
  const failed = statusOf(pod, anObservedPod([run()]), { failure: { ...failure, conditions: [disruption] } });
  assert.deepEqual(failed.conditions?.slice(0, 2), [
    { ...disruption, lastProbeTime: null, lastTransitionTime: iso(wallTime(at + 5000)) },
    pod.status?.conditions?.[1],
  ]);
  const later = statusOf(pod, anObservedPod([exitedWith(137)]), {
    previous: failed,
    now: wallTime(at + 60_000),
  });
  assert.deepEqual(later.conditions?.[0], failed.conditions?.[0]);
  assert.deepEqual([later.phase, later.reason, later.message], ["Failed", "Evicted", "low"]);
});

test("resizes are conditions with their generation, until the pod terminates", () => {
  const time = (seconds: number) => wallTime(at + seconds * 1000);
  const pending = { type: "PodResizePending", reason: "Deferred", message: "not now" } as const;
  const inProgress = { type: "PodResizeInProgress", reason: "", message: "" } as const;
  const resizes = [
    { ...pending, generation: 3, since: time(2), at: time(4) },
    { ...inProgress, generation: 0, since: time(1), at: time(1) },
  ];
  const pod = fromApi({}, []);
  const conditionsOf = (over: Partial<StatusInput>) =>
    statusOf(pod, anObservedPod([run()]), { resizes, ...over }).conditions!;
  assert.deepEqual(conditionsOf({}).slice(0, 2), [
    {
      type: "PodResizePending",
      status: "True",
      reason: "Deferred",
      message: "not now",
      observedGeneration: 3,
      lastProbeTime: iso(time(4)),
      lastTransitionTime: iso(time(2)),
    },
    {
      type: "PodResizeInProgress",
      status: "True",
      lastProbeTime: iso(time(1)),
      lastTransitionTime: iso(time(1)),
    },
  ]);
  const ended = conditionsOf({ workerPhase: "terminated" });
  assert.deepEqual(
    ended.filter(({ type }) => type.startsWith("PodResize")),
    [],
  );
});
