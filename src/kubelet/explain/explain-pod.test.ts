import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/builders/pods.ts";
import type { PodStatus } from "../../lib/model/pod.ts";
import type { StepKind } from "../../lib/model/pod-step.ts";
import { StepHistory } from "../state/step-history.ts";
import { explainPod, type PodInfo } from "./explain-pod.ts";
import { matchesPod } from "./pod-explanations.ts";

const now = Date.parse("2026-01-01T00:01:00Z");

function info(step: StepKind, more: Partial<PodInfo> = {}): PodInfo {
  const history = new StepHistory(now - 60_000);
  history.startStep({ kind: step, text: "x", container: "a" }, now - 5000);
  return {
    id: { namespace: "default", name: "web", uid: "u1" },
    source: "api",
    nodeName: "node-a",
    phase: "syncing",
    pod: undefined,
    terminatedByItself: false,
    kills: [],
    oomKills: new Map(),
    history,
    status: { phase: "Pending" },
    isReady: false,
    failure: undefined,
    waiting: new Map(),
    blockedOn: { text: "x", since: now - 9000 },
    probeFailures: [],
    running: [],
    volumes: [],
    pulls: [],
    unwrittenSince: undefined,
    now,
    ...more,
  };
}

const crashed: PodStatus = {
  phase: "Running",
  containerStatuses: [
    {
      name: "a",
      image: "",
      imageID: "",
      ready: false,
      restartCount: 4,
      lastState: { terminated: { exitCode: 1, reason: "Error", finishedAt: "2026-01-01T00:00:30Z" } },
    },
  ],
};
const probeFailure = { kind: "readiness", container: "a", text: "503", at: now - 2000, times: 3 };

const table: [rule: string, info: PodInfo, details: string[], lastError: string | undefined][] = [
  [
    "a failing probe is the last error, and only the cause names it",
    info("readiness", { probeFailures: [probeFailure] }),
    [],
    "503",
  ],
  [
    "a probe without a result is named before one that fails",
    info("startup", { probeFailures: [probeFailure] }),
    [
      "startup probe of a has neither passed nor failed yet",
      "readiness probe of container a failed 3 times in a row: 503",
    ],
    "503",
  ],
  [
    "the exit code of a crashed container is the last error, and only the cause names it",
    info("backoff", { status: crashed }),
    [],
    "a exited with code 1 (Error)",
  ],
  [
    "a stopping container is shown with the rest of its grace period",
    info("stop", {
      phase: "terminating",
      running: [
        { name: "a", stop: { endsAt: now + 12_400, inHook: true } },
        { name: "b", stop: { endsAt: now - 1, inHook: false } },
        { name: "c", stop: { endsAt: Number.POSITIVE_INFINITY, inHook: false } },
        { name: "side" },
      ],
    }),
    [
      "a is still running, in its preStop hook; 12 s of its grace period are left",
      "b is still running; its grace period is over",
      "c is still running; the runtime did not stop it, retrying",
      "side is still running; it is stopped after the others",
    ],
    undefined,
  ],
  ["each further unmounted volume is shown", info("volumes", { volumes: ["x", "y"] }), ["y"], undefined],
  [
    "each further waiting container is shown with its reason",
    info("image", {
      waiting: new Map([
        ["a", { reason: "ErrImagePull", message: "m" }],
        ["b", { reason: "ImagePullBackOff", message: "dial tcp 10.0.0.1:443: connect: connection refused" }],
      ]),
    }),
    [
      "b: ImagePullBackOff: image cannot be pulled: nothing listens at its registry 10.0.0.1:443 (connection refused)",
    ],
    undefined,
  ],
  [
    "the reason of a failed pod is not repeated",
    info("stop", { failure: { phase: "Failed", reason: "Evicted", message: "low on memory" } }),
    ["no container is running"],
    undefined,
  ],
];

for (const [rule, given, details, lastError] of table)
  test(rule, () => {
    const pod = explainPod(given);
    assert.deepEqual(pod.details, details);
    assert.equal(pod.lastError?.text, lastError);
    assert.equal(pod.waitsFor?.since, "2026-01-01T00:00:51.000Z");
    assert.equal(pod.history[0]?.ms, 5000, "the current step has lasted until now");
  });

test("a cause has the text that it was read from, and a step to try with a command", () => {
  const error = "dial tcp: lookup registry.test: no such host";
  const history = new StepHistory(now - 60_000);
  history.startStep({ kind: "image", text: "pulling image registry.test/app:1", container: "a" }, now - 5000);
  history.fail(error);
  const image = "registry.test/app:1";
  const pod = explainPod(info("image", { history, pod: aPod({ containers: [aContainer("a", { image })] }) }));
  const sentence = `image ${image} cannot be pulled: the registry registry.test has no address (no such host)`;
  assert.deepEqual([pod.cause, pod.raw], [sentence, error]);
  assert.match(pod.try ?? "", /: getent hosts registry\.test$/);
  assert.deepEqual([pod.history[0]?.error, pod.history[0]?.problem], [error, sentence]);
});

test("a terminated pod waits for the API to accept its last status", () => {
  const pod = explainPod(info("other", { blockedOn: undefined, unwrittenSince: now - 1000 }));
  assert.deepEqual([pod.waitsFor?.step, pod.waitsFor?.since], ["status", "2026-01-01T00:00:59.000Z"]);
});

test("a pod that is not blocked waits for nothing", () => {
  assert.equal(explainPod(info("other", { blockedOn: undefined })).waitsFor, null);
});

const id = { namespace: "ns", name: "web-node-a", uid: "u1" };
for (const [reference, matches] of [
  ["u1", true],
  ["web-node-a", true],
  ["web", true],
  ["ns/web", true],
  ["ns/web-node-a", true],
  ["other/web", false],
  ["we", false],
  ["web-node", false],
  ["", false],
  ["ns/", false],
  ["/web", false],
] as const)
  test(`"${reference}" ${matches ? "refers" : "does not refer"} to the pod ns/web-node-a`, () =>
    assert.equal(matchesPod(reference, id, "node-a"), matches));
