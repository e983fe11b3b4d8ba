import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { podRuntimeOnFake } from "../../../../test/builders/pod-runtime.ts";
import { aContainer, aPod, testUid } from "../../../../test/builders/pods.ts";
import { fakeImages } from "../../../../test/fake-runtime/fake-runtime.ts";
import type { PodResizing } from "./resize-pod.ts";

const container = (name: string) =>
  aContainer(name, {
    image: fakeImages.busybox,
    command: ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep inf"],
  });
const pod = aPod({ containers: [container("a"), container("b")] });

/** A pod that runs, with what its containers need in `actions`, until they are resized or started. */
async function setUp(t: TestContext) {
  const actions = new Map<string, "update" | "restart">();
  const log: string[] = [];
  const node = { fails: false, memory: 64n, usage: 0n, podLimit: 1000n };
  const resizing: PodResizing = {
    allocation: {
      actionFor: (_pod, { name }) => actions.get(name) ?? "none",
      needsPodResize: () => false,
      isResizing: () => false,
      resizeStarts: async () => {},
      resized: async (_pod, containers) => {
        log.push(`resized ${containers.map(({ name }) => name).join(" ")}`.trim());
        for (const { name } of containers) actions.delete(name);
      },
      containerStarts: async (_pod, { name }) => void actions.delete(name),
    },
    resizes: {
      progressed: (_pod, isResizing) => log.push(isResizing ? "in progress" : "done"),
      failed: (_pod, message) => log.push(`failed: ${message}`),
    },
    metrics: { actuated() {} },
    resources: { of: () => ({ memoryLimitInBytes: node.memory }), overhead: () => ({}) },
    cgroups: {
      limitsFor: () => ({ memory: node.podLimit }),
      currentLimits: () => ({ memoryLimit: 500n }),
      update: async () => {
        if (node.fails) throw new Error("EINVAL");
      },
      memoryUsage: async () => node.usage,
    },
  };
  const s = await podRuntimeOnFake(t, { resizing });
  await s.sync(pod);
  log.length = 0;
  const limitOf = (name: string) =>
    s.observed.get(testUid)?.containers.find((c) => c.name === name && c.state === "running")?.resources
      ?.memoryLimit;
  return { ...s, actions, log, node, limitOf };
}

test("a running container is resized, and its new resources are observed", async (t) => {
  const s = await setUp(t);
  s.actions.set("b", "update");
  await s.sync(pod);
  assert.deepEqual(s.log, ["in progress", "resized b", "done"]);
  assert.equal(s.limitOf("b"), 64);
  assert.deepEqual(s.names(), ["a#0 running", "b#0 running"]);
});

test("a container that must be restarted is stopped and started again, the others are resized", async (t) => {
  const s = await setUp(t);
  s.actions.set("a", "restart").set("b", "update");
  await s.sync(pod);
  assert.deepEqual(s.names(), ["a#0 exited", "a#1 running", "b#0 running"]);
  assert.ok(s.output.includes("Killing: Container a resize requires restart"));
  assert.equal(s.log.at(-1), "done");
});

test("a container that was stopped for a resize by a previous agent starts without a back-off", async (t) => {
  const s = await setUp(t);
  for (let attempt = 0; attempt < 4; attempt++) {
    await s.exit("a", 1);
    await s.clock.advance(300_000);
    await s.sync(pod);
  }
  await s.exit("a", 137);
  s.newAgent();
  await s.sync(pod);
  assert.equal(s.reasons().a, "CrashLoopBackOff");
  s.actions.set("a", "restart");
  await s.sync(pod);
  assert.ok(s.names().includes("a#5 running"), String(s.names()));
});

test("a container that was stopped for a resize starts again while memory of the pod does not fit into its new limit", async (t) => {
  const s = await setUp(t);
  s.node.usage = 400n;
  s.node.podLimit = 300n;
  s.actions.set("a", "restart");
  // It is stopped by the first sync, and started by the next, which is after a back-off.
  for (let i = 0; i < 2; i++) await assert.rejects(s.sync(pod), /cannot decrease memory limits/);
  assert.deepEqual(s.names(), ["a#0 exited", "a#1 running", "b#0 running"]);
});

test("a resize that fails blocks the start of containers that need it, and only these", async (t) => {
  const s = await setUp(t);
  s.node.fails = true;
  await s.exit("a", 1);
  await s.exit("b", 1);
  s.actions.set("a", "update");
  await assert.rejects(s.sync(pod), /EINVAL/);
  assert.deepEqual(s.log.slice(-1), ["failed: EINVAL"]);
  assert.ok(s.cgroups.includes("keep 3"), "cgroups of unknown containers were looked for");
  assert.deepEqual(
    s.names().filter((name) => name.endsWith("running")),
    ["b#1 running"],
  );
  s.node.fails = false;
  await s.sync(pod);
  assert.ok(s.names().includes("a#1 running"));
  assert.equal(s.log.at(-1), "done");
});
