import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { maskText } from "../../../lib/model/numa-mask.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { amountsOf } from "../../../lib/model/resources.ts";
import type { TopologyHint, TopologyHints } from "../../../lib/model/topology.ts";
import {
  aDirectory,
  allocateAll,
  allocation,
  aMachine,
  aManager,
  anyNode,
  memoryPod,
  onNodes,
  podLevelPod,
  staticOptions,
} from "./fixtures.ts";
import { MemoryManager } from "./memory-manager.ts";

/** "0 1 0-1!": the hints, those that are not preferred with "!". */
function shown(list: readonly TopologyHint[] | undefined): string | undefined {
  return list?.map((h) => `${maskText(h.numaNodes ?? 0n)}${h.preferred ? "" : "!"}`).join(" ");
}

const memoryHints = (hints: TopologyHints) => shown(hints.get("memory"));

const container = ({ spec }: Pod, index = 0) => spec.containers[index] ?? assert.fail("no container");

describe("hints", () => {
  // Sizes of nodes in Gi (1 Gi of node 0 is reserved), what others have, the request, and the hints.
  type Row = readonly [
    string,
    sizes: readonly number[],
    others: readonly (readonly [string, TopologyHint])[],
    request: string,
    hints: string | undefined,
  ];
  const rows: readonly Row[] = [
    ["one node serves a request that fits", [8], [], "7", "0"],
    ["one node does not serve more than it has", [8], [], "8", undefined],
    ["one node serves what others have left", [8], [["4", anyNode]], "3", "0"],
    ["one node does not serve what others have", [8], [["4", anyNode]], "4", undefined],
    ["of two nodes each serves a small request", [8, 8], [], "2", "0 1 0-1!"],
    ["of two nodes only the second is large enough", [2, 8], [], "4", "1 0-1!"],
    ["both nodes serve a request that no single one could", [8, 8], [], "10", "0-1"],
    ["no node serves more than the machine has", [8, 8], [], "16", undefined],
    ["a node that is used alone is not grouped", [8, 8], [["1", onNodes(0)]], "2", "0 1"],
    ["a node in use that is too full is omitted", [8, 8], [["6", onNodes(0)]], "4", "1"],
    ["nodes that are used together are not used alone", [8, 8], [["10", anyNode]], "2", "0-1!"],
    ["nodes that are used together serve what is left", [8, 8], [["10", anyNode]], "5", "0-1!"],
    ["nodes that are used together do not serve more", [8, 8], [["10", anyNode]], "6", undefined],
    [
      "of four nodes all sets serve a small request",
      [4, 4, 4, 4],
      [],
      "2",
      "0 1 2 3 0-1! 0,2! 0,3! 1-2! 1,3! 2-3! 0-2! 0-1,3! 0,2-3! 1-3! 0-3!",
    ],
    [
      "of four nodes pairs are preferred for what needs two",
      [5, 4, 4, 4],
      [],
      "6",
      "0-1 0,2 0,3 1-2 1,3 2-3 0-2! 0-1,3! 0,2-3! 1-3! 0-3!",
    ],
    ["a pair in use serves no other pair", [5, 4, 4, 4], [["6", onNodes(0, 1)]], "6", "2-3"],
    [
      "a pair in use serves a request that fits into it",
      [5, 4, 4, 4],
      [["6", onNodes(0, 1)]],
      "2",
      "2 3 0-1! 2-3!",
    ],
    ["a request of all four nodes", [5, 4, 4, 4], [], "16", "0-3"],
    ["a node in use alone prevents a request of all", [5, 4, 4, 4], [["1", onNodes(3)]], "12", "0-2"],
    ["eight nodes together", [3, 2, 2, 2, 2, 2, 2, 2], [], "16", "0-7"],
    ["seven of eight nodes if one is used alone", [3, 2, 2, 2, 2, 2, 2, 2], [["1", onNodes(7)]], "14", "0-6"],
    [
      "seven of eight nodes are preferred for what needs seven",
      [3, 2, 2, 2, 2, 2, 2, 2],
      [],
      "13",
      "0-6 0-5,7 0-4,6-7 0-3,5-7 0-2,4-7 0-1,3-7 0,2-7 1-7 0-7!",
    ],
  ];
  for (const [rule, sizes, others, request, expected] of rows)
    test(`${sizes.length} NUMA nodes: ${rule}`, async (t) => {
      const manager = await aManager(t, aMachine(sizes));
      for (const [index, [amount, affinity]] of others.entries())
        await allocateAll(manager, memoryPod(`other-${index}`, [`app ${amount}`]), affinity);
      const pod = memoryPod("p", [`app ${request}`]);
      assert.equal(memoryHints(manager.hints(pod, container(pod))), expected);
      assert.equal(memoryHints(manager.podHints(pod)), expected, "a pod with one container");
    });

  test("huge pages are on the same nodes as memory, and not available as memory", async (t) => {
    const manager = await aManager(t, aMachine([4, 4], { hugepages: true }));
    const pod = memoryPod("p", ["app 3+1"]);
    const hints = manager.hints(pod, container(pod));
    assert.deepEqual([...hints.keys()], ["hugepages-2Mi", "memory"]);
    // 2 Gi of node 0 are left: one is reserved, one is in huge pages.
    for (const list of hints.values()) assert.equal(shown(list), "1 0-1!");
  });

  test("memory that is already allocated is the only hint, after a restart too", async (t) => {
    const dir = await aDirectory(t);
    const options = staticOptions(dir, aMachine([8, 8]));
    const manager = await aManager(t, [], options);
    const pod = memoryPod("p", ["a 2", "b 1"]);
    await allocateAll(manager, pod, onNodes(1));
    const restarted = await aManager(t, [], options);
    for (const each of [manager, restarted]) {
      assert.equal(memoryHints(each.hints(pod, container(pod))), "1");
      assert.equal(each.hints(memoryPod("p", ["a 3"]), container(memoryPod("p", ["a 3"]))).size, 0);
      assert.equal(
        each.podHints(pod).size,
        0,
        "no preference: the pod requests more than its first container",
      );
    }
  });

  for (const [rule, init, containers, expected] of [
    ["containers add up", [], ["a 3", "b 3"], "1 0-1!"],
    ["init containers do not add up", ["i 3", "j 3"], ["a 1"], "0 1 0-1!"],
    ["sidecars add up with containers", ["s 2*"], ["a 4"], "1 0-1!"],
    ["an init container runs along with the sidecars before it", ["s 2*", "i 4"], ["a 1"], "1 0-1!"],
    ["an init container does not run along with the sidecars after it", ["i 4", "s 2*"], ["a 1"], "0 1 0-1!"],
  ] as const)
    test(`of a pod: ${rule}`, async (t) => {
      const manager = await aManager(t, aMachine([6, 8]));
      assert.equal(memoryHints(manager.podHints(memoryPod("p", containers, init))), expected);
    });
});

describe("allocation", () => {
  test("only Guaranteed pods without pod-level resources have memory of their own", async (t) => {
    const manager = await aManager(t, aMachine([8]));
    const pod = memoryPod("p", ["a 2"]);
    const burstable: Pod = { ...pod, spec: { containers: [{ name: "a", image: "i" }] } };
    const podLevel: Pod = { ...pod, spec: { ...pod.spec, resources: container(pod).resources ?? {} } };
    assert.deepEqual(
      [pod, burstable, podLevel].map((p) => manager.appliesTo(p)),
      [true, false, false],
    );
    const none = await aManager(t, aMachine([8]), { policy: "None" });
    assert.equal(none.appliesTo(pod), false);
  });

  for (const [rule, sizes, pods, expected] of [
    ["the lowest node is used without a hint", [8, 8], [["app 2", anyNode]], [{ app: "2 on 0" }]],
    ["the nodes of the hint are used", [8, 8], [["app 2", onNodes(1)]], [{ app: "2 on 1" }]],
    [
      "a hint that is too small is extended",
      [8, 8],
      [["app 10", { numaNodes: 2n, preferred: false }]],
      [{ app: "10 on 0+1" }],
    ],
    [
      "a hint that is a part of nodes in use together is extended to them",
      [8, 8],
      [
        ["app 10", anyNode],
        ["app 2", { numaNodes: 2n, preferred: false }],
      ],
      [{ app: "10 on 0+1" }, { app: "2 on 0+1" }],
    ],
    [
      "the next node is used when the first is full",
      [8, 8],
      [
        ["app 5", anyNode],
        ["app 5", anyNode],
      ],
      [{ app: "5 on 0" }, { app: "5 on 1" }],
    ],
    [
      "nodes that are used together stay together",
      [4, 4, 8],
      [
        ["app 6", onNodes(0, 1)],
        ["app 5", anyNode],
        ["app 1", onNodes(0, 1)],
      ],
      [{ app: "6 on 0+1" }, { app: "5 on 2" }, { app: "1 on 0+1" }],
    ],
  ] as const)
    test(rule, async (t) => {
      const manager = await aManager(t, aMachine(sizes));
      const all = pods.map(([text], index) => memoryPod(`${index}`, [text]));
      for (const [index, pod] of all.entries()) await allocateAll(manager, pod, pods[index]?.[1]);
      assert.deepEqual(
        all.map((pod) => allocation(manager, pod)),
        expected,
      );
    });

  for (const [rule, sizes, others, request, affinity, message] of [
    [
      "no nodes have enough",
      [4, 4],
      [],
      "8",
      anyNode,
      "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available",
    ],
    [
      "a preferred hint needs preferred nodes",
      [8, 8],
      [["10", onNodes(0, 1)]],
      "2",
      { numaNodes: undefined, preferred: true },
      "failed to find the default preferred hint",
    ],
    [
      "a hint cannot be extended",
      [4, 4],
      [["3", onNodes(1)]],
      "4",
      onNodes(0),
      "failed to find NUMA nodes to extend the current topology hint",
    ],
    [
      "a preferred hint is not extended to more than needed",
      [8, 8],
      [["10", onNodes(0, 1)]],
      "5",
      onNodes(0),
      "failed to find the extended preferred hint",
    ],
    [
      "a group would have a node that is used alone",
      [4, 4],
      [["1", onNodes(0)]],
      "2",
      onNodes(0, 1),
      "preferred hint violates NUMA node allocation",
    ],
  ] as const)
    test(`fails as in the reference kubelet: ${rule}`, async (t) => {
      const manager = await aManager(t, aMachine(sizes));
      for (const [index, [amount, on]] of others.entries())
        await allocateAll(manager, memoryPod(`other-${index}`, [`app ${amount}`]), on);
      const pod = memoryPod("p", [`app ${request}`]);
      await assert.rejects(manager.allocate(pod, container(pod), affinity), {
        code: "UnexpectedAdmissionError",
        message: `[memorymanager] ${message}`,
      });
      assert.deepEqual(allocation(manager, pod), {});
    });

  test("huge pages are allocated on the nodes of the memory", async (t) => {
    const manager = await aManager(t, aMachine([4, 4], { hugepages: true }));
    const pod = memoryPod("p", ["app 2+1"]);
    await allocateAll(manager, pod, onNodes(1));
    assert.deepEqual(allocation(manager, pod), { app: "1 of hugepages-2Mi on 1, 2 on 1" });
    const other = memoryPod("q", ["app 1+1"]);
    await allocateAll(manager, other);
    assert.deepEqual(allocation(manager, other), { app: "1 of hugepages-2Mi on 0, 1 on 0" });
  });

  test("a container keeps its memory when it is allocated again", async (t) => {
    const manager = await aManager(t, aMachine([8, 8]));
    const pod = memoryPod("p", ["a 2", "b 1"]);
    await allocateAll(manager, pod, onNodes(1));
    await allocateAll(manager, pod, onNodes(0));
    assert.deepEqual(allocation(manager, pod), { a: "2 on 1", b: "1 on 1" });
    manager.release(pod.metadata.uid);
    assert.deepEqual(
      manager.explain(pod, container(pod)),
      "memory: 2Gi requested, free 7Gi of 7Gi on NUMA node 0, 8Gi of 8Gi on NUMA node 1",
    );
  });
});

describe("init containers", () => {
  for (const [rule, init, containers, after, free] of [
    [
      "a container uses the memory of an init container again",
      ["i 4"],
      ["a 4"],
      { i: "0 on 0", a: "4 on 0" },
      3n,
    ],
    ["the rest of a larger init container is kept", ["i 4"], ["a 1"], { i: "3 on 0", a: "1 on 0" }, 3n],
    ["a larger container adds what is missing", ["i 2"], ["a 5"], { i: "0 on 0", a: "5 on 0" }, 2n],
    [
      "init containers use the memory of each other again",
      ["i 4", "j 2"],
      ["a 1"],
      { i: "1 on 0", j: "2 on 0", a: "1 on 0" },
      3n,
    ],
    [
      "containers share what is left of an init container",
      ["i 4"],
      ["a 2", "b 3"],
      { i: "0 on 0", a: "2 on 0", b: "3 on 0" },
      2n,
    ],
    ["the memory of a sidecar is not used again", ["s 2*"], ["a 3"], { s: "2 on 0", a: "3 on 0" }, 2n],
    [
      "a sidecar uses the memory of an init container before it",
      ["i 3", "s 2*"],
      ["a 3"],
      { i: "0 on 0", s: "2 on 0", a: "3 on 0" },
      2n,
    ],
  ] as const)
    test(rule, async (t) => {
      const manager = await aManager(t, aMachine([8]));
      const pod = memoryPod("p", containers, init);
      await allocateAll(manager, pod);
      assert.deepEqual(allocation(manager, pod), after);
      const big = memoryPod("q", [`app ${free + 1n}`]);
      assert.equal(memoryHints(manager.hints(big, container(big))), undefined);
      const fits = memoryPod("q", [`app ${free}`]);
      assert.equal(memoryHints(manager.hints(fits, container(fits))), "0");
      manager.release(pod.metadata.uid);
      const all = memoryPod("q", ["app 7"]);
      assert.equal(memoryHints(manager.hints(all, container(all))), "0", "everything is free again");
    });

  test("completed ones are released when the next container starts, sidecars are not", async (t) => {
    const options = staticOptions(await aDirectory(t), aMachine([8]));
    const manager = await aManager(t, [], options);
    const pod = memoryPod("p", ["a 1"], ["i 4", "s 1*", "j 2"]);
    await allocateAll(manager, pod);
    const [, sidecar, last] = pod.spec.initContainers ?? [];
    if (!sidecar || !last) return assert.fail();
    manager.containerStarted(pod, sidecar);
    assert.deepEqual(Object.keys(allocation(manager, pod)), ["s", "j", "a"]);
    manager.containerStarted(pod, container(pod));
    assert.deepEqual(allocation(manager, pod), { s: "1 on 0", a: "1 on 0" });
    await manager.flushed();
    const restarted = await aManager(t, [], options);
    await allocateAll(restarted, pod);
    assert.deepEqual(
      allocation(restarted, pod),
      { s: "1 on 0", a: "1 on 0" },
      "a completed one gets nothing again",
    );
    const rest = memoryPod("q", ["app 5"]);
    await allocateAll(restarted, rest);
  });
});

describe("checkpoint", () => {
  const path = (dir: string) => join(dir, "memory_manager_state");

  test("allocations are on disk when they are reported, and released ones are removed", async (t) => {
    const dir = await aDirectory(t);
    const manager = await aManager(t, [], staticOptions(dir, aMachine([8, 8])));
    const pod = memoryPod("p", ["a 2"]);
    await allocateAll(manager, pod, onNodes(1));
    const read = async () => JSON.parse(await readFile(path(dir), "utf8"));
    assert.deepEqual((await read()).entries, {
      p: { a: [{ numaAffinity: [1], type: "memory", size: 2 * 2 ** 30 }] },
    });
    manager.keepOnly((uid) => uid !== ("p" as PodUid));
    await manager.flushed();
    assert.equal((await read()).entries, undefined);
  });

  test("a file of another policy is rejected", async (t) => {
    const dir = await aDirectory(t);
    await aManager(t, [], { ...staticOptions(dir, aMachine([8])), policy: "None" });
    await assert.rejects(aManager(t, [], staticOptions(dir, aMachine([8]))), {
      message: `could not restore state from checkpoint: [memorymanager] configured policy "Static" differs from state checkpoint policy "None", please drain this node and delete the memory manager checkpoint file "${path(dir)}" before restarting Kubelet`,
    });
  });

  test("a corrupt file is rejected", async (t) => {
    const dir = await aDirectory(t);
    await writeFile(path(dir), '{"policyName":"Static","machineState":{},"checksum":1}');
    await assert.rejects(aManager(t, [], staticOptions(dir, aMachine([8]))), {
      message: `could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete the memory manager checkpoint file "${path(dir)}" before restarting Kubelet`,
    });
  });

  for (const [rule, sizes, problem] of [
    ["a node with less memory", [8, 4], "the expected machine state is different from the real one"],
    [
      "a node that is gone",
      [8],
      "(pod: p, container: a) the memory assignment uses the NUMA that does not exist",
    ],
  ] as const)
    test(`allocations of another machine are rejected: ${rule}`, async (t) => {
      const dir = await aDirectory(t);
      const manager = await aManager(t, [], staticOptions(dir, aMachine([8, 8])));
      await allocateAll(manager, memoryPod("p", ["a 2"]), onNodes(1));
      await assert.rejects(aManager(t, [], staticOptions(dir, aMachine(sizes))), {
        message: `start memory manager error: [memorymanager] ${problem}, please drain this node and delete the memory manager checkpoint file "${path(dir)}" before restarting Kubelet`,
      });
    });

  test("a checkpoint that cannot be written does not prevent allocations", async (t) => {
    const file = path(await aDirectory(t));
    await writeFile(file, "");
    const manager = new MemoryManager(staticOptions(file, aMachine([8])));
    const pod = memoryPod("p", ["a 2"]);
    await allocateAll(manager, pod);
    assert.deepEqual(allocation(manager, pod), { a: "2 on 0" });
  });

  test("a write that failed is repeated by housekeeping", async (t) => {
    const dir = await aDirectory(t);
    await mkdir(join(path(dir), "in the way"), { recursive: true });
    const manager = new MemoryManager(staticOptions(dir, aMachine([8])));
    await allocateAll(manager, memoryPod("p", ["a 2"]));
    await rm(path(dir), { recursive: true });
    manager.keepOnly(() => true);
    await manager.flushed();
    assert.deepEqual(Object.keys(JSON.parse(await readFile(path(dir), "utf8")).entries), ["p"]);
  });
});

describe("reservedMemory", () => {
  for (const [rule, reserved, reservations, message] of [
    [
      "a node that does not exist",
      { memory: "1Gi" },
      [{ numaNode: 7, limits: { memory: "1Gi" } }],
      "the reserved memory configuration references a NUMA node 7 that does not exist on this machine",
    ],
    [
      "less than the other reservations",
      { memory: "1124Mi" },
      [{ numaNode: 0, limits: { memory: "1Gi" } }],
      'the total amount "1Gi" of type "memory" is not equal to the value "1124Mi" determined by Node Allocatable feature',
    ],
    [
      "huge pages that nothing else reserves",
      { memory: "1Gi" },
      [{ numaNode: 0, limits: { memory: "1Gi", "hugepages-2Mi": "4Mi" } }],
      'the total amount "4Mi" of type "hugepages-2Mi" is not equal to the value "0" determined by Node Allocatable feature',
    ],
    ["nothing", {}, [], "[memorymanager] you should specify the system reserved memory"],
  ] as const)
    test(`${rule} is an error`, () => {
      const options = {
        ...staticOptions("/x", aMachine([8, 8])),
        reserved: amountsOf(reserved),
        reservations,
      };
      assert.throws(() => new MemoryManager(options), { message });
      new MemoryManager({ ...options, policy: "None" });
    });

  test("reservations of several nodes add up", async (t) => {
    const manager = await aManager(t, aMachine([8, 8]), {
      reserved: amountsOf({ memory: "3Gi", cpu: "1" }),
      reservations: [
        { numaNode: 0, limits: { memory: "1Gi" } },
        { numaNode: 1, limits: { memory: "2Gi" } },
      ],
    });
    assert.deepEqual(manager.allocatable(), [
      { nodes: [0], resource: "memory", bytes: 7n << 30n },
      { nodes: [1], resource: "memory", bytes: 6n << 30n },
    ]);
  });
});

describe("pods with pod-level resources", () => {
  const managed = { podLevelManagers: "pod" as const };
  for (const [rule, pod, expected] of [
    [
      "containers share the memory of the pod",
      podLevelPod("p", "4", ["a", "b"]),
      { a: "4 on 0", b: "4 on 0" },
    ],
    [
      "containers share what others have for themselves",
      podLevelPod("p", "4", ["a 1", "b", "c"]),
      { a: "1 on 0", b: "3 on 0", c: "3 on 0" },
    ],
    [
      "init containers can have all that sidecars before them have not",
      podLevelPod("p", "5", ["a 1", "b"], ["i", "s 1*", "j 3", "k", "t*"]),
      { i: "5 on 0", s: "1 on 0", j: "3 on 0", k: "4 on 0", t: "3 on 0", a: "1 on 0", b: "3 on 0" },
    ],
    [
      "huge pages are shared too",
      podLevelPod("p", "3+1", ["a", "b 1"]),
      { a: "1 of hugepages-2Mi on 0, 2 on 0", b: "1 on 0" },
    ],
  ] as const)
    test(`with PodLevelResourceManagers, ${rule}`, async (t) => {
      const manager = await aManager(t, aMachine([9], { hugepages: true }), managed);
      assert.equal(memoryHints(manager.podHints(pod)), "0");
      await manager.allocatePod(pod, anyNode);
      assert.deepEqual(allocation(manager, pod), expected);
      // 7 Gi are neither reserved nor in huge pages.
      const left = 7 - Number.parseInt(pod.spec.resources?.requests?.memory ?? "", 10);
      const fits = memoryPod("q", [`app ${left}`]);
      const big = memoryPod("q", [`app ${left + 1}`]);
      assert.equal(memoryHints(manager.hints(fits, container(fits))), "0");
      assert.equal(memoryHints(manager.hints(big, container(big))), undefined);
      manager.release(pod.metadata.uid);
      const all = memoryPod("q", ["app 7"]);
      assert.equal(memoryHints(manager.hints(all, container(all))), "0", "everything is free again");
      assert.deepEqual(manager.holders(), []);
    });

  test("a pod whose containers leave no memory for those that share it is rejected", async (t) => {
    const manager = await aManager(t, aMachine([8]), managed);
    const leavesNone =
      "sum of exclusive container memory requests equals pod budget, leaving no memory for shared containers";
    for (const [pod, problem] of [
      [podLevelPod("p", "2", ["a 2", "b"]), leavesNone],
      [podLevelPod("p", "2", ["a 2"], ["s*"]), leavesNone],
      [podLevelPod("p", "2", ["a"], ["s 2*"]), leavesNone],
      [
        podLevelPod("p", "2", ["a 1"], ["s 2*", "i"]),
        "pod has shared init containers but no memory available for them",
      ],
    ] as const) {
      assert.deepEqual(manager.podHints(pod), new Map([["memory", []]]));
      await assert.rejects(manager.allocatePod(pod, anyNode), {
        code: "EmptyPodSharedPoolError",
        message: `pod rejected, ${problem}`,
      });
    }
    assert.deepEqual(manager.holders(), []);
  });

  test("the memory of a pod survives a restart and the end of its init containers", async (t) => {
    const dir = await aDirectory(t);
    const options = { ...staticOptions(dir, aMachine([8, 8])), ...managed };
    const first = await aManager(t, [], options);
    const pod = podLevelPod("p", "4", ["a 1", "b"], ["i 2"]);
    await first.allocatePod(pod, onNodes(1));
    first.containerStarted(pod, container(pod));
    await first.flushed();
    const text = await readFile(join(dir, "memory_manager_state"), "utf8");
    const block = (gib: number) => [{ numaAffinity: [1], type: "memory", size: gib * 2 ** 30 }];
    assert.deepEqual(JSON.parse(text).entries, { p: { a: block(1), b: block(3) } });
    assert.deepEqual(JSON.parse(text).podEntries, { p: { memoryBlocks: block(4) } });
    const second = await aManager(t, [], options);
    assert.equal(memoryHints(second.podHints(pod)), "1");
    await second.allocatePod(pod, onNodes(1));
    assert.deepEqual(allocation(second, pod), { a: "1 on 1", b: "3 on 1" });
    await second.flushed();
    assert.equal(await readFile(join(dir, "memory_manager_state"), "utf8"), text);
    await assert.rejects(
      new MemoryManager({ ...options, podLevelManagers: "off" }).start(),
      /is corrupted, please drain/,
    );
  });

  test("in the container scope each container has memory by itself", async (t) => {
    const manager = await aManager(t, aMachine([8]), { podLevelManagers: "container" });
    const pod = podLevelPod("p", "4", ["a 1", "b"]);
    assert.equal(manager.appliesTo(pod), true);
    await allocateAll(manager, pod);
    assert.deepEqual(allocation(manager, pod), { a: "1 on 0" });
  });

  test("without PodLevelResourceManagers they share the memory of the node", async (t) => {
    const manager = await aManager(t, aMachine([8]));
    assert.equal(manager.appliesTo(podLevelPod("p", "4", ["a 1", "b"])), false);
  });

  // parity: metric /metrics kubelet_memory_manager_pinning_requests_total
  // parity: metric /metrics kubelet_memory_manager_pinning_errors_total
  test("are counted by what their containers have", async (t) => {
    const metrics = createMetrics();
    const manager = await aManager(t, aMachine([8]), { ...managed, metrics });
    await manager.allocatePod(podLevelPod("p", "4", ["a 1", "b"], ["i"]), anyNode);
    await allocateAll(manager, memoryPod("q", ["a 1"]));
    await assert.rejects(manager.allocatePod(podLevelPod("r", "9", ["a"]), anyNode));
    await assert.rejects(allocateAll(manager, memoryPod("s", ["a 9"])));
    const lines = (await metrics.registry.metrics()).split("\n");
    assert.deepEqual(
      lines.filter((line) => /^(resource_manager|kubelet_memory_manager_pinning)_/.test(line)),
      [
        'resource_manager_allocations_total{resource_name="memory",source="pod"} 3',
        'resource_manager_allocations_total{resource_name="memory",source="node"} 1',
        'resource_manager_allocation_errors_total{resource_name="memory",source="pod"} 1',
        'resource_manager_allocation_errors_total{resource_name="memory",source="node"} 1',
        'resource_manager_container_assignments{resource_name="memory",assignment_type="pod_shared"} 2',
        'resource_manager_container_assignments{resource_name="memory",assignment_type="pod_exclusive"} 1',
        'resource_manager_container_assignments{resource_name="memory",assignment_type="node_exclusive"} 1',
        "kubelet_memory_manager_pinning_requests_total 6",
        "kubelet_memory_manager_pinning_errors_total 2",
      ],
    );
  });
});
