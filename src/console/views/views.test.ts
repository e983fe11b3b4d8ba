import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodExplanation } from "../../kubelet/explain/pod-explanation.ts";
import { fakePod } from "../../lib/model/fake-pod.ts";
import type { PodStatus } from "../../lib/model/pod.ts";
import type { PullProgress, PullState } from "../../lib/model/pull-progress.ts";
import { FakeConsoleNode, fakeConsolePod, fakeExplanation } from "../fake-console-node.ts";
import { nextStep } from "./next-step.ts";
import { nodeState } from "./node-state.ts";
import { podDetail } from "./pod-detail.ts";
import { podSummary } from "./pod-summary.ts";
import { podYaml } from "./pod-yaml.ts";

const since = "2026-01-01T00:00:00.000Z";
const waits = (step: NonNullable<PodExplanation["waitsFor"]>["step"], container?: string) => ({
  waitsFor: { step, text: `waits for ${step}`, since, ...(container && { container }) },
});

function shown(explanation: Partial<PodExplanation>, status: PodStatus = { phase: "Running" }) {
  const pod = fakePod();
  return fakeConsolePod({ status }, { explanation: fakeExplanation(pod, { ready: false, ...explanation }) });
}

test("the health of a pod depends on how it waits, not only on whether it does", () => {
  const health = (...args: Parameters<typeof shown>) => podSummary(shown(...args), 1).health;
  assert.equal(health({ ready: true }), "ok");
  assert.equal(health({}, { phase: "Succeeded" }), "ok");
  assert.equal(health(waits("image")), "warning");
  assert.equal(health({ ...waits("image"), lastError: { text: "not found", at: since } }), "error");
  assert.equal(health(waits("backoff")), "error");
  assert.equal(health({}, { phase: "Failed" }), "error");
});

test("each step that a user can help with has a next thing to try", () => {
  assert.match(nextStep(shown(waits("backoff", "web"))) ?? "", /previous logs of container web/);
  assert.match(nextStep(shown(waits("image", "web"))) ?? "", /image name of container web/);
  const killed = { name: "web", lastState: { terminated: { reason: "OOMKilled", exitCode: 137 } } };
  const status = { phase: "Running", containerStatuses: [killed] } as PodStatus;
  assert.match(nextStep(shown(waits("backoff", "web"), status)) ?? "", /memory limit of container web/);
  assert.equal(nextStep(shown(waits("start-slot"))), null);
  assert.equal(nextStep(shown({ ready: true })), null);
});

test("a pull that goes on has a bar and no next step, a stalled one has the network to check", () => {
  const pull: PullProgress = {
    image: "app:1",
    registry: "registry.example",
    state: "pulling",
    elapsedMs: 1000,
    bytes: { done: 1, total: 4 },
    layers: { done: 0, total: 1 },
    bytesPerSecond: 1,
    leftMs: 3000,
    idleMs: 0,
    networkBytesPerSecond: null,
  };
  const detail = (state: PullState) => {
    const pod = shown({ ...waits("image", "web"), pulls: [{ ...pull, state }] });
    return podDetail({
      shown: pod,
      revision: 1,
      now: 0,
      nodeName: "node-1",
      events: [],
      probes: [],
      usage: new Map(),
      changes: undefined,
      whyReadOnly: "",
    }).explanation;
  };
  assert.deepEqual(detail("pulling").pull, { image: "app:1", done: 1, total: 4 });
  assert.equal(detail("pulling").next, null);
  assert.equal(detail("stalled").next, "Check the network between the node and registry.example.");
});

test("the text of the runtime stands once in a detail, and a retried step has one text", () => {
  const raw = `failed to pull: ${"dial tcp: ".repeat(10)}no such host`;
  const message = `Back-off pulling image "x": ErrImagePull: ${raw}`;
  const cause = "image x cannot be pulled: it has no address";
  const step = {
    step: "image" as const,
    container: "web",
    startedAt: since,
    ms: 1,
    error: raw,
    problem: cause,
  };
  const status = {
    phase: "Pending",
    containerStatuses: [{ name: "web", state: { waiting: { reason: "ImagePullBackOff", message } } }],
  } as PodStatus;
  const detail = podDetail({
    shown: shown(
      {
        cause,
        raw,
        try: "look it up: getent hosts x",
        lastError: { text: message, at: since },
        waitsFor: { step: "image", text: message, since, until: since },
        history: [
          { ...step, text: "pulling image x", endedAt: since },
          { ...step, text: message, until: since },
        ],
      },
      status,
    ),
    revision: 1,
    now: 0,
    nodeName: "n",
    events: [],
    probes: [],
    usage: new Map(),
    changes: undefined,
    whyReadOnly: "cluster",
  });
  assert.equal(JSON.stringify(detail).split("no such host").length, 2, JSON.stringify(detail));
  assert.equal(detail.explanation.next, "look it up: getent hosts x");
  assert.deepEqual(
    detail.timeline.map(({ text, isBackOff, failed, error }) => [text, isBackOff, failed, error]),
    [
      ["pulling image x", false, true, null],
      ["back-off before the next attempt", true, false, null],
    ],
  );
});

test("a detail names Secrets and never has their values", () => {
  const pod = fakePod({
    spec: {
      containers: [
        { name: "web", env: [{ name: "P", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }] },
      ],
      volumes: [
        { name: "keys", secret: { secretName: "tls" } },
        { name: "tmp", emptyDir: {} },
      ],
    },
  });
  const of = fakeConsolePod({ spec: pod.spec as never });
  const detail = podDetail({
    shown: of,
    revision: 3,
    now: 0,
    nodeName: "n",
    events: [],
    probes: [],
    usage: new Map(),
    changes: undefined,
    whyReadOnly: "cluster",
  });
  assert.deepEqual(
    detail.volumes.map(({ kind, detail: reference }) => [kind, reference]),
    [
      ["Secret", "tls"],
      ["EmptyDir", ""],
    ],
  );
  assert.deepEqual([detail.mayDelete, detail.deleteHint], [false, "cluster"]);
  assert.match(podYaml(of), /secretKeyRef:\n +name: db\n +key: password/);
});

test("the node has capacity, allocatable, requests and usage of each resource", () => {
  const requests = { cpu: "250m", memory: "64Mi" };
  const node = new FakeConsoleNode().add(
    fakeConsolePod({ spec: { containers: [{ resources: { requests } }] } }),
  );
  const state = nodeState({
    node,
    now: 0,
    images: null,
    viewers: 1,
    agent: { cpu: null, memory: null },
    used: { cpu: 0.5 },
  });
  assert.deepEqual(state.resources, [
    { name: "cpu", capacity: 4, allocatable: 3.5, requested: 0.25, used: 0.5 },
    { name: "memory", capacity: 8 * 2 ** 30, allocatable: 7 * 2 ** 30, requested: 64 * 2 ** 20, used: null },
    { name: "pods", capacity: 110, allocatable: 110, requested: 1, used: 1 },
  ]);
  assert.deepEqual([state.health, state.api.state, state.runtime.problem], ["ok", "none", null]);
});

test("a condition has the time and the reason of its transition once it is published", () => {
  const node = new FakeConsoleNode();
  const lastTransitionTime = since;
  const published = [
    { type: "Ready", status: "True", lastTransitionTime },
    { type: "MemoryPressure", status: "False", lastTransitionTime, reason: "KubeletHasSufficientMemory" },
    { type: "DiskPressure", status: "False", lastTransitionTime, reason: "KubeletHasNoDiskPressure" },
  ];
  const state = { ...node.state(), published, pressure: ["MemoryPressure"] };
  node.state = () => state;
  const { conditions } = nodeState({
    node,
    now: 0,
    images: null,
    viewers: 1,
    agent: { cpu: null, memory: null },
    used: {},
  });
  assert.deepEqual(
    conditions.map((condition) => [condition.type, condition.status, condition.since, condition.reason]),
    [
      ["Ready", "True", Date.parse(since), "KubeletReady"],
      ["MemoryPressure", "True", null, ""],
      ["DiskPressure", "False", Date.parse(since), "KubeletHasNoDiskPressure"],
      ["PIDPressure", "False", null, ""],
    ],
  );
});
