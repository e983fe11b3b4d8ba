import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { formatCpuSet } from "../../../lib/model/cpu-set.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { admit, cpuManager, guaranteedPod, podLevelPod } from "./cpu-fixtures.ts";
import type { CpuManager } from "./cpu-manager.ts";

function rootDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "cpu-manager-"));
  t.after(() => rmSync(dir, { recursive: true }));
  return dir;
}

/** "app0=1,5 app1=shared 0,2-4,6-7" */
function cpusets(manager: CpuManager, pod: Pod): string {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers]
    .map(({ name }) => {
      const exclusive = manager.exclusiveCpusOf(pod.metadata.uid, name);
      const cpus = manager.cpusOf(pod.metadata.uid, name);
      return `${name}=${exclusive.size > 0 ? "" : "shared "}${cpus ? formatCpuSet(cpus) : "all"}`;
    })
    .join(" ");
}

test("containers that request whole CPUs in Guaranteed pods get CPUs for themselves, others share the rest", async (t) => {
  const manager = cpuManager(rootDir(t), { machine: "core-4" });
  await manager.start();
  const pod = guaranteedPod("a", ["2", "1500m", "1"]);
  assert.equal(manager.appliesTo(pod), true);
  await admit(manager, pod);
  assert.equal(cpusets(manager, pod), "app0=1,5 app1=shared 0,2-3,6-7 app2=4");
  const burstable = fakePod({
    metadata: { uid: "b" as PodUid },
    spec: { containers: [{ resources: { requests: { cpu: "1" } } }] },
  });
  assert.equal(manager.appliesTo(burstable), false);
  assert.equal(cpusets(manager, burstable), "c0=shared 0,2-3,6-7");
});

test("fractional CPU requests and pod-level resources get no exclusive CPUs", async (t) => {
  const manager = cpuManager(rootDir(t), { machine: "core-4" });
  await manager.start();
  const amounts = { cpu: "2", memory: "1Gi" };
  const podLevel = guaranteedPod("a", ["1"]);
  podLevel.spec.resources = { requests: amounts, limits: amounts };
  const none = cpuManager(rootDir(t), {});
  assert.equal(manager.appliesTo(podLevel), false);
  assert.equal(manager.appliesTo(guaranteedPod("a", ["500m", "1001m"])), false);
  assert.equal(none.appliesTo(guaranteedPod("a", ["1"])), false);
});

test("the CPUs of a pod that is gone are shared again", async (t) => {
  const manager = cpuManager(rootDir(t), { machine: "core-4" });
  await manager.start();
  await admit(manager, guaranteedPod("a", ["2"]));
  await admit(manager, guaranteedPod("b", ["4"]));
  manager.release("a" as PodUid);
  assert.equal(cpusets(manager, guaranteedPod("x", ["0"])), "app0=shared 0-1,4-5");
  manager.keepOnly((uid) => uid !== "b");
  assert.equal(cpusets(manager, guaranteedPod("x", ["0"])), "app0=shared 0-7");
});

test("a checkpoint that could not be written is written by housekeeping", async (t) => {
  const dir = join(rootDir(t), "later");
  const manager = cpuManager(dir, { machine: "core-4" });
  await manager.start();
  await admit(manager, guaranteedPod("a", ["2"]));
  mkdirSync(dir);
  manager.keepOnly(() => true);
  await manager.flushed();
  const { entries } = JSON.parse(readFileSync(join(dir, "cpu_manager_state"), "utf8"));
  assert.deepEqual(entries, { a: { app0: "1,5" } });
});

test("containers reuse the CPUs of init containers, but not those of sidecars", async (t) => {
  const manager = cpuManager(rootDir(t), { machine: "core-4" });
  await manager.start();
  const rows: [Pod, string][] = [
    [guaranteedPod("a", ["2"], ["2"]), "init0=1,5 app0=1,5"],
    [guaranteedPod("b", ["2"], ["2", "4"]), "init0=1,5 init1=1-2,5-6 app0=1,5"],
    [guaranteedPod("c", ["2"], ["2 sidecar", "2"]), "init0=1,5 init1=2,6 app0=2,6"],
    [guaranteedPod("d", ["2", "2"], ["4"]), "init0=1-2,5-6 app0=1,5 app1=2,6"],
    [guaranteedPod("e", ["2"], ["2", "2 sidecar"]), "init0=1,5 init1=1,5 app0=2,6"],
  ];
  for (const [pod, expected] of rows) {
    await admit(manager, pod);
    assert.equal(cpusets(manager, pod), expected, pod.metadata.name);
    manager.release(pod.metadata.uid);
  }
});

test("a pod that needs more CPUs than are free is rejected, and explained", async (t) => {
  const manager = cpuManager(rootDir(t), { machine: "core-4" });
  await manager.start();
  await admit(manager, guaranteedPod("a", ["4"]));
  const pod = guaranteedPod("b", ["2", "2"]);
  await assert.rejects(admit(manager, pod), {
    code: "UnexpectedAdmissionError",
    message: "not enough cpus available to satisfy request: requested=2, available=1",
  });
  assert.equal(cpusets(manager, pod), "app0=shared 0,3-4,7 app1=shared 0,3-4,7");
  const [container] = pod.spec.containers;
  assert.equal(
    container && manager.explain(pod, container),
    "container app0 requests 2 exclusive CPUs; free: 3-4,7; exclusive to other containers: 1-2,5-6; reserved: 0",
  );
});

test("with full-pcpus-only a pod without whole cores is rejected, and a running one keeps running after a restart", async (t) => {
  const dir = rootDir(t);
  const o = { machine: "core-4", reserved: "0,4", options: ["full-pcpus-only"] };
  const manager = cpuManager(dir, o);
  await manager.start();
  await assert.rejects(admit(manager, guaranteedPod("a", ["3"])), { code: "SMTAlignmentError" });
  const pod = guaranteedPod("b", ["6"]);
  await admit(manager, pod);
  const next = cpuManager(dir, o);
  await next.start();
  await admit(next, pod);
  assert.equal(cpusets(next, pod), "app0=1-3,5-7");
});

test("a new agent has the same assignments, and hints for what its containers have", async (t) => {
  const dir = rootDir(t);
  const manager = cpuManager(dir, { machine: "xeon-2x20" });
  await manager.start();
  const pod = guaranteedPod("a", ["2", "40"], ["4"]);
  await admit(manager, pod);
  const before = cpusets(manager, pod);
  const next = cpuManager(dir, { machine: "xeon-2x20" });
  await next.start();
  assert.equal(cpusets(next, pod), before);
  for (const container of pod.spec.containers)
    assert.deepEqual(next.hints(pod, container), manager.hints(pod, container));
  assert.deepEqual(next.podHints(pod), manager.podHints(pod));
  await admit(next, pod);
  assert.equal(cpusets(next, pod), before);
});

test("hints of a container that has another number of CPUs than it requests cannot be served", async (t) => {
  const manager = cpuManager(rootDir(t), { machine: "xeon-2x20" });
  await manager.start();
  await admit(manager, guaranteedPod("a", ["2"]));
  const changed = guaranteedPod("a", ["4"]);
  assert.deepEqual([...manager.hints(changed, changed.spec.containers[0] as never)], [["cpu", []]]);
  assert.deepEqual([...manager.podHints(changed)], [["cpu", []]]);
});

test("hints of a pod cover the most that its containers have at a time", async (t) => {
  const manager = cpuManager(rootDir(t), { machine: "xeon-2x20" });
  await manager.start();
  const preferred = (pod: Pod) =>
    manager
      .podHints(pod)
      .get("cpu")
      ?.filter((hint) => hint.preferred)
      .map((hint) => hint.numaNodes);
  assert.deepEqual(preferred(guaranteedPod("a", ["10", "29"], ["2", "39"])), [0b01n, 0b10n]);
  assert.deepEqual(preferred(guaranteedPod("a", ["10", "30"], ["1 sidecar"])), [0b11n]);
  assert.deepEqual(preferred(guaranteedPod("a", ["1"], ["1 sidecar", "40"])), [0b11n]);
  assert.deepEqual([...manager.podHints(guaranteedPod("a", ["500m"]))], []);
});

test("the checkpoint is that of the reference kubelet, and one of another policy or machine prevents startup", async (t) => {
  const dir = rootDir(t);
  const path = join(dir, "cpu_manager_state");
  const none = cpuManager(dir, {});
  await none.start();
  assert.equal(readFileSync(path, "utf8"), '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}');
  const advice = `please drain this node and delete the CPU manager checkpoint file "${path}" before restarting Kubelet`;
  await assert.rejects(cpuManager(dir, { machine: "core-4" }).start(), {
    message: `start cpu manager error: could not restore state from checkpoint: configured policy "static" differs from state checkpoint policy "none", ${advice}`,
  });
  rmSync(path);
  await cpuManager(dir, { machine: "core-4" }).start();
  await assert.rejects(cpuManager(dir, { machine: "vm-2" }).start(), {
    message: `start cpu manager error: current set of available CPUs "0-1" doesn't match with CPUs in state "0-7", ${advice}`,
  });
  await assert.rejects(cpuManager(dir, { machine: "core-4", options: ["strict-cpu-reservation"] }).start(), {
    message: /some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-7"/,
  });
  writeFileSync(path, readFileSync(path, "utf8").replace("0-7", "0-6"));
  await assert.rejects(cpuManager(dir, { machine: "core-4" }).start(), {
    message: `start cpu manager error: could not restore state from checkpoint: checkpoint is corrupted, ${advice}`,
  });
});

// parity: metric /metrics kubelet_cpu_manager_pinning_requests_total
// parity: metric /metrics kubelet_cpu_manager_pinning_errors_total
// parity: metric /metrics kubelet_cpu_manager_shared_pool_size_millicores
// parity: metric /metrics kubelet_cpu_manager_exclusive_cpu_allocation_count
test("metrics count CPUs, requests and failures", async (t) => {
  const metrics = createMetrics();
  const manager = cpuManager(rootDir(t), { machine: "xeon-2x20", options: ["full-pcpus-only"] }, metrics);
  await manager.start();
  const values = async () => {
    const lines = (await metrics.registry.metrics())
      .split("\n")
      .filter((line) => line && !line.startsWith("#"));
    return Object.fromEntries(lines.map((line) => line.replace("kubelet_", "").split(" ")));
  };
  assert.deepEqual(await values(), {
    cpu_manager_pinning_requests_total: "0",
    cpu_manager_pinning_errors_total: "0",
    cpu_manager_shared_pool_size_millicores: "79000",
    cpu_manager_exclusive_cpu_allocation_count: "0",
    'container_aligned_compute_resources_count{scope="container",boundary="physical_cpu"}': "0",
    'container_aligned_compute_resources_count{scope="container",boundary="uncore_cache"}': "0",
    'container_aligned_compute_resources_failure_count{scope="container",boundary="physical_cpu"}': "0",
  });
  await admit(manager, guaranteedPod("a", ["4", "2"]));
  await assert.rejects(admit(manager, guaranteedPod("b", ["3"])));
  const expected = {
    cpu_manager_pinning_requests_total: "3",
    cpu_manager_pinning_errors_total: "1",
    cpu_manager_shared_pool_size_millicores: "73000",
    cpu_manager_exclusive_cpu_allocation_count: "6",
    'cpu_manager_allocation_per_numa{numa_node="0"}': "6",
    'container_aligned_compute_resources_count{scope="container",boundary="physical_cpu"}': "2",
    'container_aligned_compute_resources_count{scope="container",boundary="uncore_cache"}': "2",
    'container_aligned_compute_resources_failure_count{scope="container",boundary="physical_cpu"}': "1",
  };
  assert.deepEqual(await values(), expected);
  manager.release("a" as PodUid);
  assert.deepEqual(await values(), {
    ...expected,
    cpu_manager_shared_pool_size_millicores: "79000",
    cpu_manager_exclusive_cpu_allocation_count: "0",
    'cpu_manager_allocation_per_numa{numa_node="0"}': "0",
  });
});

const anyNode = { numaNodes: undefined, preferred: true };

test("with PodLevelResourceManagers, a pod gets CPUs of which its containers have parts and share the rest", async (t) => {
  const manager = cpuManager(rootDir(t), { machine: "core-4", podLevelManagers: "pod" });
  await manager.start();
  const rows: [Pod, string][] = [
    [podLevelPod("a", "4", ["2", ""]), "app0=1,5 app1=2,6"],
    [podLevelPod("b", "4", ["", ""]), "app0=1-2,5-6 app1=1-2,5-6"],
    [podLevelPod("c", "4", ["2", "2"]), "app0=1,5 app1=2,6"],
    [
      podLevelPod("d", "4", ["1", ""], ["", "1 sidecar", "2", "", " sidecar"]),
      "init0=1-2,5-6 init1=1 init2=2,6 init3=2,5-6 init4=2,6 app0=5 app1=2,6",
    ],
    [podLevelPod("e", "4", ["500m", "2"]), "app0=2,6 app1=1,5"],
    [podLevelPod("f", "2500m", ["2"]), "app0=shared 0-7"],
  ];
  for (const [pod, expected] of rows) {
    const { uid, name } = pod.metadata;
    await manager.allocatePod(pod, anyNode);
    assert.equal(cpusets(manager, pod), expected, name);
    assert.equal(manager.appliesTo(pod), manager.holders().includes(uid), name);
    const shared = manager.cpusOf("other" as PodUid, "app0");
    assert.equal(shared && formatCpuSet(shared), name === "f" ? "0-7" : "0,3-4,7", name);
    manager.release(uid);
  }
  assert.equal(cpusets(manager, guaranteedPod("x", ["0"])), "app0=shared 0-7");
});

test("a pod whose containers leave no CPUs for those that share them is rejected", async (t) => {
  const manager = cpuManager(rootDir(t), { machine: "core-4", podLevelManagers: "pod" });
  await manager.start();
  const leavesNone =
    "sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers";
  const rows: [Pod, string][] = [
    [podLevelPod("a", "2", ["2", ""]), leavesNone],
    [podLevelPod("b", "2", ["1", ""], ["1 sidecar"]), leavesNone],
    [podLevelPod("c", "2", ["2"], [" sidecar"]), leavesNone],
    [
      podLevelPod("d", "2", ["2"], ["2 sidecar", ""]),
      "pod has shared init containers but no cpus available for them",
    ],
  ];
  for (const [pod, problem] of rows) {
    assert.deepEqual(manager.podHints(pod), new Map([["cpu", []]]), pod.metadata.name);
    await assert.rejects(manager.allocatePod(pod, anyNode), {
      code: "EmptyPodSharedPoolError",
      message: `pod rejected, ${problem}`,
    });
  }
  assert.deepEqual(manager.holders(), []);
});

test("the CPUs of a pod survive a restart, and are its only hint", async (t) => {
  const dir = rootDir(t);
  const o = { machine: "core-4", podLevelManagers: "pod" } as const;
  const first = cpuManager(dir, o);
  await first.start();
  const pod = podLevelPod("a", "4", ["2", ""]);
  await first.allocatePod(pod, anyNode);
  const { entries, podEntries } = JSON.parse(readFileSync(join(dir, "cpu_manager_state"), "utf8"));
  assert.deepEqual(entries, { a: { app0: "1,5", app1: "2,6" } });
  assert.deepEqual(podEntries, { a: { cpuSet: "1-2,5-6" } });
  const second = cpuManager(dir, o);
  await second.start();
  assert.deepEqual(second.podHints(pod).get("cpu"), [{ numaNodes: 1n, preferred: true }]);
  await second.allocatePod(pod, anyNode);
  assert.equal(cpusets(second, pod), "app0=1,5 app1=2,6");
  await assert.rejects(
    cpuManager(dir, { machine: "core-4" }).start(),
    /checkpoint is corrupted, please drain/,
  );
});

test("in the container scope containers of a pod with pod-level resources get CPUs by themselves", async (t) => {
  const manager = cpuManager(rootDir(t), { machine: "core-4", podLevelManagers: "container" });
  await manager.start();
  const pod = podLevelPod("a", "3", ["2", "500m", ""]);
  await admit(manager, pod);
  assert.equal(cpusets(manager, pod), "app0=1,5 app1=shared 0,2-4,6-7 app2=shared 0,2-4,6-7");
  const burstable = podLevelPod("b", "2", ["1"]);
  burstable.spec.resources = { ...burstable.spec.resources, limits: { cpu: "4", memory: "1Gi" } };
  assert.equal(manager.appliesTo(burstable), false);
});

test("assignments of a kubelet without PodLevelResourceManagers are taken over", async (t) => {
  const dir = rootDir(t);
  const without = cpuManager(dir, { machine: "core-4" });
  await without.start();
  await admit(without, guaranteedPod("a", ["2"]));
  const manager = cpuManager(dir, { machine: "core-4", podLevelManagers: "pod" });
  await manager.start();
  assert.equal(cpusets(manager, guaranteedPod("a", ["2"])), "app0=1,5");
});

test("the counters of PodLevelResourceManagers exist only with the gate", async (t) => {
  const counts = async (podLevelManagers: "off" | "pod") => {
    const metrics = createMetrics();
    const manager = cpuManager(rootDir(t), { machine: "core-4", podLevelManagers }, metrics);
    await manager.start();
    await admit(manager, guaranteedPod("a", ["1"]));
    await manager.allocatePod(podLevelPod("b", "2", ["1", "", ""]), anyNode);
    await assert.rejects(admit(manager, guaranteedPod("c", ["9"])));
    if (podLevelManagers === "pod")
      await assert.rejects(manager.allocatePod(podLevelPod("d", "9", [""]), anyNode));
    const text = await metrics.registry.metrics();
    return text.split("\n").filter((line) => line.startsWith("resource_manager_"));
  };
  assert.deepEqual(await counts("off"), []);
  assert.deepEqual(await counts("pod"), [
    'resource_manager_allocations_total{resource_name="cpu",source="node"} 1',
    'resource_manager_allocations_total{resource_name="cpu",source="pod"} 3',
    'resource_manager_allocation_errors_total{resource_name="cpu",source="node"} 1',
    'resource_manager_allocation_errors_total{resource_name="cpu",source="pod"} 1',
    'resource_manager_container_assignments{resource_name="cpu",assignment_type="node_exclusive"} 1',
    'resource_manager_container_assignments{resource_name="cpu",assignment_type="pod_exclusive"} 1',
    'resource_manager_container_assignments{resource_name="cpu",assignment_type="pod_shared"} 2',
  ]);
});
