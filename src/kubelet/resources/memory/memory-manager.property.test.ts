import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nodesOf } from "../../../lib/model/numa-mask.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { TopologyHint } from "../../../lib/model/topology.ts";
import { aDirectory, aMachine, anyNode, gi, memoryPod, staticOptions } from "./fixtures.ts";
import type { MemoryBlock } from "./machine-memory.ts";
import { MemoryManager } from "./memory-manager.ts";

const numRuns = Number(process.env.PROPERTY_RUNS ?? 60);

const sizes = fc.constantFrom([9], [9, 8], [5, 4, 4, 4], [3, 2, 2, 2, 2, 2, 2, 2]);
const amounts = fc.integer({ min: 1, max: 6 });
const pods = fc.record({
  init: fc.array(fc.record({ gi: amounts, isSidecar: fc.boolean() }), { maxLength: 2 }),
  containers: fc.array(fc.record({ gi: amounts, hugepages: fc.boolean() }), { minLength: 1, maxLength: 2 }),
  aligned: fc.boolean(),
});
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: pods.map((pod) => ({ kind: "admit" as const, pod })) },
    { weight: 2, arbitrary: fc.nat(9).map((index) => ({ kind: "release" as const, index })) },
    { weight: 1, arbitrary: fc.nat(9).map((index) => ({ kind: "start" as const, index })) },
    { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
  ),
  { maxLength: 20 },
);

test("memory is never allocated twice, hints are honored, and all of it is free after all pods are gone", async (t) => {
  const dir = await aDirectory(t);
  let run = 0;
  await fc.assert(
    fc.asyncProperty(sizes, steps, async (nodeSizes, todo) => {
      const options = staticOptions(`${dir}/${run++}`, aMachine(nodeSizes, { hugepages: true }));
      let manager = new MemoryManager(options);
      await manager.start();
      const unused = freeText(manager);
      const admitted: Pod[] = [];
      let count = 0;
      for (const step of todo)
        switch (step.kind) {
          case "admit": {
            const pod = memoryPod(
              `pod-${count++}`,
              step.pod.containers.map((c, i) => `c${i} ${c.gi}${c.hugepages ? "+1" : ""}`),
              step.pod.init.map((c, i) => `i${i} ${c.gi}${c.isSidecar ? "*" : ""}`),
            );
            if (await admit(manager, pod, step.pod.aligned)) admitted.push(pod);
            break;
          }
          case "release": {
            const [pod] = admitted.splice(step.index % Math.max(1, admitted.length), 1);
            if (pod) manager.release(pod.metadata.uid);
            break;
          }
          case "start": {
            const pod = admitted[step.index % Math.max(1, admitted.length)];
            const container = pod?.spec.containers[0];
            if (pod && container) manager.containerStarted(pod, container);
            break;
          }
          case "restart": {
            await manager.flushed();
            const before = admitted.map((pod) => blocksOf(manager, pod));
            manager = new MemoryManager(options);
            await manager.start();
            for (const pod of admitted)
              assert.ok(await admit(manager, pod, true), "a running pod is admitted again");
            assert.deepEqual(
              admitted.map((pod) => blocksOf(manager, pod)),
              before,
            );
            break;
          }
          default:
            step satisfies never;
        }
      checkUse(manager, admitted);
      for (const { metadata } of admitted) manager.release(metadata.uid);
      await manager.flushed();
      assert.equal(freeText(manager), unused);
    }),
    { numRuns },
  );
});

/** The free memory of each NUMA node. */
function freeText(manager: MemoryManager): string {
  const pod = memoryPod("any", ["app 1+1"]);
  return manager.explain(pod, pod.spec.containers[0]!);
}

/** Admits a pod as the topology manager does: each container with one of its preferred hints, or with none. */
async function admit(manager: MemoryManager, pod: Pod, aligned: boolean): Promise<boolean> {
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
    const hint = aligned
      ? manager
          .hints(pod, container)
          .get("memory")
          ?.find((h) => h.preferred)
      : undefined;
    const affinity: TopologyHint = hint ?? anyNode;
    try {
      await manager.allocate(pod, container, affinity);
    } catch {
      assert.equal(hint, undefined, "a preferred hint can be allocated");
      manager.release(pod.metadata.uid);
      return false;
    }
    if (hint?.numaNodes !== undefined)
      assert.deepEqual(manager.nodesOf(pod.metadata.uid, container.name), nodesOf(hint.numaNodes));
  }
  return true;
}

function blocksOf(manager: MemoryManager, pod: Pod): Record<string, readonly MemoryBlock[]> {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return Object.fromEntries(containers.map(({ name }) => [name, manager.of(pod.metadata.uid, name)]));
}

/** Each set of NUMA nodes has what it serves, and no node serves two different sets. */
function checkUse(manager: MemoryManager, admitted: readonly Pod[]): void {
  const used = new Map<string, bigint>();
  const groupOf = new Map<number, string>();
  for (const pod of admitted)
    for (const { nodes, resource, bytes } of Object.values(blocksOf(manager, pod)).flat()) {
      const group = nodes.join("+");
      for (const node of nodes) {
        assert.equal(groupOf.get(node) ?? group, group, `node ${node} serves one set of nodes only`);
        groupOf.set(node, group);
      }
      used.set(`${resource} ${group}`, (used.get(`${resource} ${group}`) ?? 0n) + bytes);
    }
  for (const [key, bytes] of used) {
    const [resource, group = ""] = key.split(" ");
    const available = manager
      .allocatable()
      .filter((block) => block.resource === resource && group.split("+").includes(String(block.nodes[0])))
      .reduce((sum, block) => sum + block.bytes, 0n);
    assert.ok(bytes <= available, `${bytes / gi} Gi of ${available / gi} Gi on ${group}`);
  }
}
