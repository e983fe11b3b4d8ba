import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KubeletError } from "../../../lib/base/errors.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { fakeContainer, fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { Admission } from "../../../lib/model/pod-sync.ts";
import { ResourceShortage } from "../../../lib/model/resource-shortage.ts";
import type { NumaNode, TopologyHint, TopologyHints } from "../../../lib/model/topology.ts";
import { FakeHintProvider } from "./fake-hint-provider.ts";
import { TopologyManager, type TopologyManagerOptions } from "./topology-manager.ts";

const numaNodes = (count: number): NumaNode[] =>
  Array.from({ length: count }, (_, id) => ({
    id,
    memoryBytes: 1n << 30n,
    hugepages: [],
    distances: Array.from({ length: count }, () => 10),
  }));

type Given = Partial<Omit<TopologyManagerOptions, "nodePods">> & {
  nodePods?: Partial<TopologyManagerOptions["nodePods"]>;
};

function setUp({ nodePods, ...options }: Given = {}, hintProviders = [new FakeHintProvider("cpu")]) {
  const metrics = createMetrics();
  const reported: string[] = [];
  const manager = new TopologyManager({
    policy: "none",
    scope: "container",
    policyOptions: {},
    numaNodes: numaNodes(2),
    hintProviders,
    initialSync: { isComplete: () => true },
    runs: () => false,
    metrics,
    clock: new FakeClock(),
    logger: silentLogger,
    ...options,
    nodePods: {
      isKnown: () => true,
      willReleaseResources: () => false,
      nameOf: (uid) => `default/${uid}`,
      ...nodePods,
    },
  });
  const report = { blockedOn: (text: string) => void reported.push(text), waiting() {} };
  const abort = new AbortController();
  return {
    manager,
    hintProviders,
    reported,
    abort,
    provider: hintProviders[0] as FakeHintProvider,
    admit: (pod: Pod, signal = abort.signal) => manager.admit(pod, report, signal),
    value: async (name: string, labels: object = {}) => {
      const { values = [] } = (await metrics.registry.getSingleMetric(name)?.get()) ?? {};
      const total = values.filter(({ labels: found }) =>
        Object.entries(labels).every(([key, value]) => (found as Record<string, unknown>)[key] === value),
      );
      return total[0]?.value;
    },
  };
}

const requests = (...names: string[]) => ({
  resources: { requests: Object.fromEntries(names.map((name) => [name, "1"])) },
});

function podOf(uid: string, ...containers: { name: string; names?: string[] }[]): Pod {
  return fakePod({
    metadata: { uid: uid as PodUid, name: uid },
    spec: { containers: containers.map(({ name, names = ["cpu"] }) => ({ name, ...requests(...names) })) },
  });
}

const hints = (name: string, ...list: (readonly [nodes: bigint, preferred: boolean])[]): TopologyHints =>
  new Map([[name, list.map(([nodes, preferred]): TopologyHint => ({ numaNodes: nodes, preferred }))]]);

const rejected = (admission: Admission | undefined) =>
  admission?.kind === "rejected" ? admission.failure : assert.fail(`not rejected: ${admission?.kind}`);

class Locking extends FakeHintProvider {
  async lock() {
    this.calls.push("lock");
    return { [Symbol.dispose]: () => void this.calls.push("unlock") };
  }
}

describe("pods without exclusive resources", () => {
  test("are admitted without a promise, regardless of what the others wait for", async () => {
    const { admit, provider, value } = setUp({ policy: "restricted" });
    provider.before = () => new Promise(() => {});
    void admit(podOf("a", { name: "app" }));
    await settle();
    assert.equal(admit(podOf("b", { name: "app", names: [] })), undefined);
    assert.equal(await value("kubelet_topology_manager_admission_requests_total"), 2);
    assert.equal(await value("kubelet_topology_manager_admission_errors_total"), 0);
  });

  test("count as aligned with single-numa-node, as in the reference", async () => {
    const { admit, value } = setUp({ policy: "single-numa-node" });
    assert.equal(admit(podOf("b", { name: "app", names: [] }, { name: "other", names: [] })), undefined);
    const name = "kubelet_container_aligned_compute_resources_count";
    assert.equal(await value(name, { scope: "container", boundary: "numa_node" }), 2);
    assert.equal(await value(name, { scope: "pod" }), 0);
  });
});

describe("allocation", () => {
  test("init containers come first, in order, with a hint of any node for the policy none", async () => {
    const { admit, provider } = setUp();
    const pod = fakePod({
      spec: {
        initContainers: [
          fakeContainer({ name: "init", ...requests("cpu") }),
          fakeContainer({ name: "sidecar", restartPolicy: "Always" }),
        ],
        containers: [{ name: "app" }],
      },
    });
    assert.deepEqual(await admit(pod), { kind: "admitted" });
    assert.deepEqual(provider.calls, ["allocate init any!", "allocate sidecar any!", "allocate app any!"]);
  });

  // parity: field topologyManagerScope as scope
  test("the container scope merges the hints of each container", async () => {
    const { admit, provider } = setUp({ policy: "best-effort" });
    provider.hintsOf = (container) => hints("cpu", [container?.name === "a" ? 1n : 2n, true]);
    await admit(podOf("p", { name: "a" }, { name: "b" }));
    assert.deepEqual(provider.calls, ["hints a", "allocate a 1", "hints b", "allocate b 10"]);
  });

  // parity: field topologyManagerScope as scope
  test("the pod scope merges the hints of the pod once", async () => {
    const { admit, provider, value } = setUp({ policy: "single-numa-node", scope: "pod" });
    provider.hintsOf = () => hints("cpu", [2n, true]);
    await admit(podOf("p", { name: "a" }, { name: "b" }));
    assert.deepEqual(provider.calls, ["pod hints p", "allocate a 10", "allocate b 10"]);
    const name = "kubelet_container_aligned_compute_resources_count";
    assert.equal(await value(name, { scope: "pod" }), 1);
  });

  test("resources of pods that is no longer in any source are released first, once all pods are known", async () => {
    for (const isSynced of [false, true]) {
      const { admit, provider } = setUp({
        initialSync: { isComplete: () => isSynced },
        nodePods: { isKnown: (uid) => uid !== "gone" },
      });
      provider.allocated.set("gone" as PodUid, ["app"]);
      await admit(podOf("p", { name: "a" }));
      assert.equal(provider.allocated.has("gone" as PodUid), !isSynced);
    }
  });

  test("a started container is reported to the hint providers of its pod", () => {
    const { manager, provider } = setUp();
    const pod = podOf("p", { name: "a" });
    manager.containerStarted(pod, fakeContainer({ name: "a" }));
    manager.containerStarted(podOf("q", { name: "b", names: [] }), fakeContainer({ name: "b" }));
    assert.deepEqual(provider.calls, ["started a"]);
  });
});

describe("pods with pod-level resources", () => {
  const withResources = (pod: Pod): Pod => ({
    ...pod,
    spec: { ...pod.spec, resources: { requests: { cpu: "2" } } },
  });
  const pod = withResources(podOf("p", { name: "a", names: ["cpu", "gpu"] }, { name: "b" }));
  const providers = () => {
    const [cpu, gpu] = [new FakeHintProvider("cpu"), new FakeHintProvider("gpu")];
    cpu.allocatePod = async ({ metadata }, { numaNodes }) =>
      void cpu.calls.push(`allocate pod ${metadata.name} ${numaNodes?.toString(2)}`);
    return [cpu, gpu] as const;
  };

  test("are allocated their resources as one in the pod scope, except for those that containers have only by themselves", async () => {
    const [cpu, gpu] = providers();
    const options = { policy: "restricted", scope: "pod", podLevelManagers: "pod" } as const;
    const { admit } = setUp(options, [cpu, gpu]);
    cpu.hintsOf = () => hints("cpu", [2n, true]);
    assert.deepEqual(await admit(pod), { kind: "admitted" });
    assert.deepEqual(cpu.calls, ["pod hints p", "allocate pod p 10"]);
    assert.deepEqual(gpu.calls, ["pod hints p", "allocate a 10", "allocate b 10"]);
    await admit(podOf("q", { name: "a" }));
    assert.deepEqual(cpu.calls.slice(2), ["pod hints q", "allocate a 10"], "others are not");
  });

  for (const [rule, options] of [
    ["without PodLevelResourceManagers", { policy: "restricted", scope: "pod", podLevelManagers: "off" }],
    ["in the container scope", { policy: "restricted", scope: "container", podLevelManagers: "container" }],
    ["with the policy none", { policy: "none", scope: "pod", podLevelManagers: "container" }],
  ] as const)
    test(`each container is allocated its resources ${rule}`, async () => {
      const [cpu] = providers();
      const { admit } = setUp(options, [cpu]);
      await admit(pod);
      const allocations = cpu.calls.filter((call) => call.startsWith("allocate"));
      assert.deepEqual(
        allocations.map((call) => call.split(" ")[1]),
        ["a", "b"],
      );
    });

  for (const [podLevelManagers, scope, message] of [
    [
      "pod",
      "pod",
      "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager",
    ],
    [
      "container",
      "container",
      "Pod Scope pod with pod-level resources failed admission with a container-level topology manager",
    ],
    ["off", "pod", "Resources cannot be allocated with Topology locality"],
  ] as const)
    test(`are rejected with the reference's message in the scope ${scope}, with managers ${podLevelManagers}`, async () => {
      const { admit, provider } = setUp({ policy: "restricted", scope, podLevelManagers });
      provider.hintsOf = () => hints("cpu", [3n, false]);
      const failure = rejected(await admit(pod));
      assert.equal(failure.reason, "TopologyAffinityError");
      assert.equal(failure.message, `Pod was rejected: ${message}`);
      const other = rejected(await admit(podOf("q", { name: "a" })));
      assert.match(other.message, /: Resources cannot be allocated with Topology locality$/);
    });
});

describe("rejection", () => {
  test("names the reference kubelet's reason, and explains which resource is where", async () => {
    const hintProviders = [new FakeHintProvider("cpu"), new FakeHintProvider("memory")];
    const { admit, value } = setUp({ policy: "single-numa-node" }, hintProviders);
    const [cpu, memory] = hintProviders;
    if (cpu) cpu.hintsOf = () => hints("cpu", [1n, true], [3n, false]);
    if (memory) memory.hintsOf = () => hints("memory", [2n, true]);
    const failure = rejected(await admit(podOf("p", { name: "app", names: ["cpu", "memory"] })));
    assert.deepEqual(failure, {
      phase: "Failed",
      reason: "TopologyAffinityError",
      message: "Pod was rejected: Resources cannot be allocated with Topology locality",
      detail:
        "policy single-numa-node needs all resources on one NUMA node, container app: cpu: NUMA node 0, memory: NUMA node 1; cpu explains app; memory explains app",
    });
    assert.equal(await value("kubelet_topology_manager_admission_errors_total"), 1);
    const name = "kubelet_container_aligned_compute_resources_failure_count";
    assert.equal(await value(name, { scope: "container" }), 1);
  });

  for (const [rule, list, text] of [
    ["no node has enough", [], "no NUMA nodes have enough of it"],
    ["several nodes are needed", [[3n, true]], "NUMA nodes 0-1"],
    [
      "one of two nodes has enough",
      [
        [1n, true],
        [2n, true],
      ],
      "NUMA node 0 or 1",
    ],
    [
      "others use what it needs",
      [[3n, false]],
      "NUMA nodes 0-1, but fewer nodes would be enough if other pods used less",
    ],
  ] as const)
    test(`the explanation states that ${rule}`, async () => {
      const { admit, provider } = setUp({ policy: "restricted", scope: "pod" });
      provider.hintsOf = () => new Map([...hints("cpu", ...list), ["gpu", []] as const]);
      const { detail } = rejected(await admit(podOf("p", { name: "app" })));
      assert.match(detail ?? "", new RegExp(`the containers together: cpu: ${text}, gpu: no NUMA nodes`));
    });

  for (const [rule, code, message, expected] of [
    [
      "an error with another code keeps its message",
      "SMTAlignmentError",
      "SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2",
      "SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2",
    ],
    [
      "an unexpected error is wrapped as in the reference",
      "UnexpectedAdmissionError",
      "[memorymanager] failed",
      "Allocate failed due to [memorymanager] failed, which is unexpected",
    ],
  ] as const)
    test(rule, async () => {
      const { admit, provider } = setUp();
      provider.failWith(code, message);
      const failure = rejected(await admit(podOf("p", { name: "app" })));
      assert.equal(failure.reason, code);
      assert.equal(failure.message, `Pod was rejected: ${expected}`);
      assert.equal(failure.detail, "cpu explains app");
    });

  test("an error of any other kind is unexpected", async () => {
    const { admit, provider } = setUp();
    provider.before = () => Promise.reject(new Error("broken"));
    const failure = rejected(await admit(podOf("p", { name: "app" })));
    assert.equal(failure.reason, "UnexpectedAdmissionError");
    assert.equal(failure.message, "Pod was rejected: Allocate failed due to broken, which is unexpected");
  });

  test("everything that the pod has is released, so that the next one can have it", async () => {
    const hintProviders = [new FakeHintProvider("cpu"), new FakeHintProvider("gpu")];
    const { admit } = setUp({}, hintProviders);
    hintProviders[1]?.failWith("UnexpectedAdmissionError", "no plugin");
    rejected(await admit(podOf("p", { name: "app", names: ["cpu", "gpu"] })));
    for (const { allocated } of hintProviders) assert.equal(allocated.size, 0);
  });

  test("a pod that runs keeps its resources until its containers have terminated", async () => {
    const { admit, provider, manager } = setUp({ runs: () => true });
    const pod = podOf("p", { name: "a" }, { name: "b" });
    provider.before = async ({ name }) => {
      if (name === "b") throw new Error("broken");
    };
    rejected(await admit(pod));
    assert.deepEqual([...provider.allocated.values()], [["a"]]);
    manager.release(pod.metadata.uid);
    assert.equal(provider.allocated.size, 0);
  });
});

describe("shortage", () => {
  const shortage = () => Promise.reject(new ResourceShortage("UnexpectedAdmissionError", "not enough cpus"));

  test("a pod waits for resources of pods that are being terminated, then it is decided again", async () => {
    const terminating = new Set(["old" as PodUid]);
    const { admit, provider, manager, value } = setUp({
      nodePods: { willReleaseResources: (uid) => terminating.has(uid) },
    });
    provider.allocated.set("old" as PodUid, ["app"]).set("other" as PodUid, ["app"]);
    provider.before = shortage;
    const admission = await admit(podOf("p", { name: "a" }));
    assert.ok(admission?.kind === "waiting");
    assert.equal(admission.text, "waiting for resources of pods that are being terminated: default/old");
    assert.deepEqual([...provider.allocated.keys()], ["old", "other"]);
    manager.release("old" as PodUid);
    provider.before = async () => {};
    assert.deepEqual(await admit(podOf("p", { name: "a" })), { kind: "admitted" });
    assert.equal(await value("kubelet_topology_manager_admission_errors_total"), 0);
  });

  test("a pod that cannot be aligned waits in the same way", async () => {
    const { admit, provider } = setUp({
      policy: "restricted",
      nodePods: { willReleaseResources: (uid) => uid === "old" },
    });
    provider.allocated.set("old" as PodUid, ["app"]);
    provider.hintsOf = () => hints("cpu", [3n, false]);
    assert.equal((await admit(podOf("p", { name: "a" })))?.kind, "waiting");
  });

  test("a pod waits as well if the resources become free while it is being decided", async () => {
    const terminating = new Set(["old" as PodUid]);
    const { admit, provider, manager } = setUp({
      nodePods: { willReleaseResources: (uid) => terminating.has(uid) },
    });
    provider.allocated.set("old" as PodUid, ["app"]);
    provider.before = () => {
      queueMicrotask(() => {
        terminating.clear();
        manager.release("old" as PodUid);
      });
      return shortage();
    };
    assert.equal((await admit(podOf("p", { name: "a" })))?.kind, "waiting");
    assert.equal(provider.allocated.size, 0);
  });

  test("a pod waits for resources of one that may not be admitted, because its plugin has not responded", async () => {
    const [gpu, cpu] = [new Locking("gpu"), new FakeHintProvider("cpu")];
    const { admit } = setUp({}, [gpu, cpu]);
    const called = Promise.withResolvers<void>();
    const responded = Promise.withResolvers<void>();
    gpu.before = () => {
      called.resolve();
      return responded.promise;
    };
    cpu.before = async () => {
      if (cpu.allocated.has("first" as PodUid)) await shortage();
    };
    const first = admit(podOf("first", { name: "a", names: ["gpu", "cpu"] }));
    await called.promise;
    const second = await admit(podOf("second", { name: "a" }));
    assert.ok(second?.kind === "waiting");
    assert.equal(
      second.text,
      "waiting for resources of pods that are being terminated or admitted: default/first",
    );
    responded.reject(new KubeletError("UnexpectedAdmissionError", "no device"));
    rejected(await first);
    assert.deepEqual(await admit(podOf("second", { name: "a" })), { kind: "admitted" });
    gpu.before = async () => {};
    cpu.before = shortage;
    rejected(await admit(podOf("third", { name: "a" })));
  });

  for (const [rule, error, holder] of [
    ["another error", new KubeletError("UnexpectedAdmissionError", "broken"), "old"],
    ["a shortage that only its own resources would end", new ResourceShortage("X", "not enough"), "p"],
    ["a shortage while no other pod is being terminated", new ResourceShortage("X", "not enough"), "other"],
  ] as const)
    test(`${rule} rejects the pod`, async () => {
      const { admit, provider } = setUp({
        nodePods: { willReleaseResources: (uid) => uid === "old" || uid === "p" },
      });
      provider.allocated.set(holder as PodUid, ["app"]);
      provider.before = () => Promise.reject(error);
      rejected(await admit(podOf("p", { name: "a" })));
    });
});

describe("concurrency", () => {
  test("pods of the same hint provider are admitted one at a time, in the order of their requests", async () => {
    const { admit, provider, reported } = setUp();
    const first = Promise.withResolvers<void>();
    provider.before = ({ name }) => (name === "a" ? first.promise : Promise.resolve());
    const admissions = [admit(podOf("p", { name: "a" })), admit(podOf("q", { name: "b" }))];
    await settle();
    assert.deepEqual(provider.calls, []);
    assert.deepEqual(reported, ["waiting until other pods have been allocated their resources: cpu"]);
    first.resolve();
    await Promise.all(admissions);
    assert.deepEqual(provider.calls, ["allocate a any!", "allocate b any!"]);
  });

  test("pods of different hint providers do not wait for each other", async () => {
    const hintProviders = [new FakeHintProvider("cpu"), new FakeHintProvider("gpu")];
    const { admit } = setUp({}, hintProviders);
    if (hintProviders[1]) hintProviders[1].before = () => new Promise(() => {});
    void admit(podOf("p", { name: "a", names: ["gpu"] }));
    assert.deepEqual(await admit(podOf("q", { name: "b" })), { kind: "admitted" });
  });

  for (const [rule, policy, scope, containers] of [
    ["without alignment", "none", "container", 2],
    ["aligned as a pod", "restricted", "pod", 2],
    ["aligned by container, for its last container", "restricted", "container", 1],
  ] as const)
    test(`a pod that waits for a plugin has its other resources, ${rule}, and blocks no pod that needs these`, async () => {
      const [gpu, cpu] = [new Locking("gpu"), new FakeHintProvider("cpu")];
      const { admit } = setUp({ policy, scope }, [gpu, cpu]);
      const called = Promise.withResolvers<void>();
      const responded = Promise.withResolvers<void>();
      gpu.before = () => {
        called.resolve();
        return responded.promise;
      };
      const names = ["gpu", "cpu"];
      const p = admit(
        podOf("p", ...Array.from({ length: containers }, (_, i) => ({ name: `c${i}`, names }))),
      );
      await called.promise;
      assert.equal(cpu.allocated.get("p" as PodUid)?.length, containers);
      assert.deepEqual(await admit(podOf("q", { name: "b" })), { kind: "admitted" });
      gpu.before = async () => {};
      responded.resolve();
      assert.deepEqual(await p, { kind: "admitted" });
    });

  test("hints of a container are computed when the previous one has everything", async () => {
    const [gpu, cpu] = [new Locking("gpu"), new FakeHintProvider("cpu")];
    const { admit } = setUp({ policy: "best-effort" }, [gpu, cpu]);
    const names = ["gpu", "cpu"];
    await admit(podOf("p", { name: "a", names }, { name: "b", names }));
    assert.deepEqual(gpu.calls, ["lock", "hints a", "allocate a 11", "hints b", "allocate b 11", "unlock"]);
  });

  test("a hint provider may have its own lock", async () => {
    const provider = new Locking("cpu");
    const { admit } = setUp({}, [provider]);
    await admit(podOf("p", { name: "a" }));
    provider.failWith("UnexpectedAdmissionError", "broken");
    await admit(podOf("q", { name: "b" }));
    assert.deepEqual(
      provider.calls.filter((call) => !call.startsWith("hints")),
      ["lock", "allocate a any!", "unlock", "lock", "release q", "unlock"],
    );
  });

  test("a pod that is deleted while it waits gets nothing, and others continue", async () => {
    const { admit, provider } = setUp();
    const first = Promise.withResolvers<void>();
    provider.before = ({ name }) => (name === "a" ? first.promise : Promise.resolve());
    const waiting = new AbortController();
    const p = admit(podOf("p", { name: "a" }));
    const q = admit(podOf("q", { name: "b" }), waiting.signal);
    const r = admit(podOf("r", { name: "c" }));
    waiting.abort();
    await assert.rejects(Promise.resolve(q), /abort/);
    first.resolve();
    assert.deepEqual(await p, { kind: "admitted" });
    assert.deepEqual(await r, { kind: "admitted" });
    assert.deepEqual([...provider.allocated.keys()], ["p", "r"]);
  });

  test("a pod that is deleted during its allocation keeps nothing", async () => {
    const { admit, provider, abort } = setUp();
    provider.before = async ({ name }) => {
      if (name === "b") abort.abort();
    };
    await assert.rejects(Promise.resolve(admit(podOf("p", { name: "a" }, { name: "b" }))), /abort/);
    assert.equal(provider.allocated.size, 0);
  });
});

describe("configuration", () => {
  for (const [rule, options, message] of [
    [
      "more NUMA nodes than allowed",
      { numaNodes: numaNodes(9) },
      "unsupported on machines with more than 8 NUMA Nodes",
    ],
    [
      "an unknown option",
      { policyOptions: { fast: "true" } },
      'unknown Topology Manager Policy option: "fast"',
    ],
    [
      "a bad boolean",
      { policyOptions: { "prefer-closest-numa-nodes": "yes" } },
      'bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "yes": invalid syntax',
    ],
    [
      "a bad number",
      { policyOptions: { "max-allowable-numa-nodes": "many" } },
      'unable to convert policy option to integer "max-allowable-numa-nodes": strconv.Atoi: parsing "many": invalid syntax',
    ],
    [
      "a maximum below the default",
      { policyOptions: { "max-allowable-numa-nodes": "4" } },
      'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
    ],
    [
      "unknown distances that the option needs",
      {
        policyOptions: { "prefer-closest-numa-nodes": "true" },
        numaNodes: numaNodes(2).map((node) => ({ ...node, distances: [] })),
      },
      "cannot discover NUMA topology: error getting NUMA distances from cadvisor",
    ],
  ] as const)
    test(`${rule} is an error, except with the policy none`, () => {
      assert.throws(() => setUp({ policy: "best-effort", ...options }), { message });
      setUp({ policy: "none", ...options });
    });

  // parity: field topologyManagerPolicyOptions as policyOptions, gate TopologyManagerPolicyOptions=true as policyOptions
  test("a higher maximum allows more NUMA nodes", () => {
    setUp({
      policy: "restricted",
      numaNodes: numaNodes(9),
      policyOptions: { "max-allowable-numa-nodes": "9" },
    });
  });
});
