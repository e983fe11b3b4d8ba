import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, anObservedContainer, anObservedPod, aPod } from "../../../../test/builders/pods.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import { PodResizer, type PodResizing } from "./resize-pod.ts";

const pod = aPod({ containers: [aContainer("a"), aContainer("b")] });
const observed = anObservedPod([
  anObservedContainer("a", { resources: { memoryLimit: 50 } }),
  anObservedContainer("b", { resources: { memoryLimit: 50 } }),
]);
const current = { cpuShares: 10n, cpuQuotaUs: 1000n, memoryLimit: 100n };

interface Given {
  desired?: CgroupResources;
  memory?: Record<string, bigint>;
  usage?: bigint;
  fails?: (step: string) => unknown;
  unknownCgroups?: boolean;
  withoutPodCgroup?: boolean;
}

/** The steps of a resize, in their order, and its error. */
async function resize({
  desired = {},
  memory = {},
  usage = 1n,
  fails = () => undefined,
  unknownCgroups = false,
  withoutPodCgroup = false,
}: Given = {}) {
  const steps: string[] = [];
  const step = async (text: string) => {
    steps.push(text);
    const error = fails(text);
    if (error !== undefined) throw error;
  };
  const resizing: PodResizing = {
    allocation: {
      actionFor: () => "update",
      needsPodResize: () => true,
      isResizing: () => false,
      containerStarts: async () => {},
      resizeStarts: () => step("record start"),
      resized: (_pod, containers) => step(`record ${containers.map(({ name }) => name).join(" ")}`),
    },
    resizes: { progressed() {}, failed: (_pod, message) => steps.push(`failed: ${message}`) },
    metrics: { actuated: (_ms, success) => steps.push(`success ${success}`) },
    resources: {
      of: (_pod, { name }) => ({ memoryLimitInBytes: memory[name] ?? 50n }),
      overhead: () => ({}),
    },
    cgroups: {
      limitsFor: () => (withoutPodCgroup ? undefined : desired),
      currentLimits: () => current,
      update: (_pod, part) => step(`pod ${Object.keys(part).join(" ")}`),
      memoryUsage: async () => usage,
    },
  };
  const resizer = new PodResizer({
    resizing,
    clock: new FakeClock(),
    logger: silentLogger,
    runtime: {
      updateContainerResources: (id, { memoryLimitInBytes }) => step(`container ${id} ${memoryLimitInBytes}`),
      updatePodSandboxResources: () => step("inform runtime"),
    },
    removeUnknownCgroups: async () => {
      steps.push("remove unknown cgroups");
      return unknownCgroups;
    },
  });
  const error = await resizer.resize(pod, pod.spec.containers, observed).then(
    () => undefined,
    (reason: Error) => reason.message,
  );
  return { steps, error };
}

test("what grows is written before the containers, what shrinks after them, and records first and last", async () => {
  const { steps, error } = await resize({ desired: { cpuQuota: 2000n, memory: 80n } });
  assert.equal(error, undefined);
  assert.deepEqual(steps, [
    ...["record start", "inform runtime", "pod cpuQuota", "container a-0 50", "container b-0 50"],
    ...["inform runtime", "pod memory", "record a b", "success true"],
  ]);
});

test("containers that shrink come before those that grow", async () => {
  const { steps } = await resize({ memory: { a: 70n, b: 30n } });
  assert.deepEqual(
    steps.filter((text) => text.startsWith("container")),
    ["container b-0 30", "container a-0 70"],
  );
});

test("no limit is written if the memory in use is above a new limit", async () => {
  const { steps, error } = await resize({ desired: { memory: 60n }, memory: { b: 20n }, usage: 65n });
  const expected =
    'cannot decrease memory limits: [attempting to set pod memory limit (60) below current usage (65), attempting to set container "b" memory limit (20) below current usage (65)]';
  assert.equal(error, expected);
  assert.deepEqual(steps, ["record start", `failed: ${expected}`, "success false"]);
});

test("a container that the runtime rejects ends the resize: the record is kept", async () => {
  const { steps, error } = await resize({
    desired: { memory: 80n },
    fails: (text) => (text.startsWith("container b") ? new Error("EINVAL") : undefined),
  });
  assert.equal(error, "EINVAL");
  assert.deepEqual(steps.slice(-2), ["failed: EINVAL", "success false"]);
  assert.equal(steps.includes("pod memory"), false);
});

test("a runtime that does not implement UpdatePodSandboxResources does not fail the resize, one that rejects it does", async () => {
  const failing = (grpcCode: string, message: string) =>
    resize({
      desired: { memory: 200n },
      fails: (text) =>
        text === "inform runtime" ? Object.assign(new Error(message), { grpcCode }) : undefined,
    });
  for (const [code, message] of [
    ["UNIMPLEMENTED", "unknown method"],
    ["UNKNOWN", "not implemented yet"],
  ] as const)
    assert.equal((await failing(code, message)).error, undefined);
  const { error, steps } = await failing("INVALID_ARGUMENT", "too large");
  assert.match(
    error ?? "",
    /^failed to notify runtime for UpdatePodSandboxResources; resize rejected: too large/,
  );
  assert.equal(steps.includes("pod memory"), false);
});

test("a write to the pod's cgroup is repeated once if cgroups of unknown containers were in the way", async () => {
  const failOnce = () => {
    let failures = 1;
    return (text: string) => (text === "pod memory" && failures-- > 0 ? new Error("EINVAL") : undefined);
  };
  const desired = { memory: 80n };
  const repeated = await resize({ desired, unknownCgroups: true, fails: failOnce() });
  assert.equal(repeated.error, undefined);
  assert.deepEqual(repeated.steps.slice(-5), [
    ...["pod memory", "remove unknown cgroups", "pod memory", "record a b", "success true"],
  ]);
  assert.equal((await resize({ desired, fails: failOnce() })).error, "EINVAL");
});

test("without pod cgroups only containers are resized", async () => {
  const { steps } = await resize({ withoutPodCgroup: true });
  assert.deepEqual(steps, [
    ...["record start", "container a-0 50", "container b-0 50", "record a b", "success true"],
  ]);
});
