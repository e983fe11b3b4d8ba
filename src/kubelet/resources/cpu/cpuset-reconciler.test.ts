import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import { type CpuSet, parseCpuSet } from "../../../lib/model/cpu-set.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { ObservedContainer, ObservedPod } from "../../state/observed-pods.ts";
import { guaranteedPod } from "./cpu-fixtures.ts";
import { CpusetReconciler } from "./cpuset-reconciler.ts";

function observedPod(
  pod: Pod,
  containers: readonly Pick<ObservedContainer, "name" | "state">[],
): ObservedPod {
  return {
    uid: pod.metadata.uid,
    name: pod.metadata.name,
    namespace: pod.metadata.namespace,
    sandboxes: [],
    containers: containers.map(
      (c) => ({ ...c, id: `${pod.metadata.name}/${c.name}` as ContainerId }) as ObservedContainer,
    ),
  };
}

function setUp(t: { after(f: () => void): void }) {
  const clock = new FakeClock();
  const cpusets = new Map<string, CpuSet | undefined>();
  const observed = new Map<PodUid, ObservedPod>();
  const pods: Pod[] = [];
  const calls: string[] = [];
  const failing = new Set<string>();
  const reconciler = new CpusetReconciler({
    everyMs: 10_000,
    activePods: () => pods,
    observed,
    cpus: { cpusOf: (uid, container) => cpusets.get(`${uid}/${container}`) },
    runtime: {
      updateContainerResources: async (id, { cpusetCpus, ...rest }, options) => {
        assert.deepEqual(rest, {});
        assert.equal(options?.isCounted, false);
        calls.push(`${id}=${cpusetCpus}`);
        if (failing.has(id)) throw new Error("runtime is not ready");
      },
    },
    clock,
    logger: silentLogger,
  });
  const stop = new AbortController();
  t.after(() => stop.abort());
  const pass = async () => {
    calls.length = 0;
    if (clock.pending === 0) await reconciler.start(stop.signal);
    else await clock.advance(10_000);
    while (clock.pending === 0) await new Promise((done) => setImmediate(done));
    return [...calls];
  };
  const add = (pod: Pod, containers: Parameters<typeof observedPod>[1]) => {
    pods.push(pod);
    observed.set(pod.metadata.uid, observedPod(pod, containers));
  };
  return { add, observed, cpusets, failing, pass };
}

// parity: field cpuManagerReconcilePeriod as everyMs
test("running containers get their cpuset once, and again when it changes", async (t) => {
  const { add, cpusets, pass } = setUp(t);
  const pod = guaranteedPod("a", ["1"], ["1 sidecar"]);
  pod.spec.ephemeralContainers = [{ name: "debug" }];
  const names = ["init0", "app0", "debug"];
  add(
    pod,
    names.map((name) => ({ name, state: "running" })),
  );
  for (const name of names) cpusets.set(`a/${name}`, parseCpuSet("0-3"));
  assert.deepEqual(await pass(), ["a/init0=0-3", "a/app0=0-3", "a/debug=0-3"]);
  assert.deepEqual(await pass(), []);
  cpusets.set("a/app0", parseCpuSet("0-2"));
  assert.deepEqual(await pass(), ["a/app0=0-2"]);
  cpusets.set("a/app0", parseCpuSet("0-3"));
  assert.deepEqual(await pass(), ["a/app0=0-3"]);
});

test("containers that do not run, or may use all CPUs, are left alone", async (t) => {
  const { add, cpusets, pass } = setUp(t);
  add(guaranteedPod("a", ["1", "1", "1"]), [
    { name: "app0", state: "exited" },
    { name: "app1", state: "created" },
    { name: "app2", state: "running" },
  ]);
  for (const name of ["app0", "app1"]) cpusets.set(`a/${name}`, parseCpuSet("0-3"));
  assert.deepEqual(await pass(), []);
});

test("a failed update affects one container and is retried", async (t) => {
  const { add, cpusets, failing, pass } = setUp(t);
  for (const name of ["a", "b"]) {
    add(guaranteedPod(name, ["1"]), [{ name: "app0", state: "running" }]);
    cpusets.set(`${name}/app0`, parseCpuSet("1"));
  }
  failing.add("a/app0");
  assert.deepEqual(await pass(), ["a/app0=1", "b/app0=1"]);
  assert.deepEqual(await pass(), ["a/app0=1"]);
  failing.clear();
  assert.deepEqual(await pass(), ["a/app0=1"]);
  assert.deepEqual(await pass(), []);
});

test("a container that was restarted gets its cpuset again", async (t) => {
  const { add, observed, cpusets, pass } = setUp(t);
  const pod = guaranteedPod("a", ["1"]);
  add(pod, [{ name: "app0", state: "running" }]);
  cpusets.set("a/app0", parseCpuSet("1"));
  await pass();
  const before = observed.get(pod.metadata.uid);
  if (before)
    observed.set(pod.metadata.uid, {
      ...before,
      containers: before.containers.map((c) => ({ ...c, id: "new" as ContainerId })),
    });
  assert.deepEqual(await pass(), ["new=1"]);
});
