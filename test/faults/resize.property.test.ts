import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { planPod } from "../../src/kubelet/pipeline/pod-runtime/plan/plan-pod.ts";
import { isEmpty } from "../../src/kubelet/pipeline/pod-runtime/plan/pod-plan.ts";
import { PodResizer, type PodResizing } from "../../src/kubelet/pipeline/pod-runtime/resize-pod.ts";
import { Allocation } from "../../src/kubelet/resources/allocation/allocation.ts";
import type { ObservedContainer } from "../../src/kubelet/state/observed-pods.ts";
import { FakeClock } from "../../src/lib/base/fake-clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import type { ContainerId } from "../../src/lib/clients/cri/cri.ts";
import type { CgroupResources } from "../../src/lib/host/cgroups/cgroup-filesystem.ts";
import type { Container, Pod } from "../../src/lib/model/pod.ts";
import { amountsOf, milliCpuToQuota, milliOf, wholeOf } from "../../src/lib/model/resources.ts";
import { noChange } from "../builders/plans.ts";
import { aContainer, anObservedContainer, anObservedPod, aPod } from "../builders/pods.ts";

interface Limits {
  quota: bigint;
  memory: bigint;
}
interface Size {
  readonly cpu: number;
  readonly memory: number;
}
type Step =
  | { readonly kind: "resize"; readonly sizes: readonly Size[] }
  /** The agent is killed right after this many effects. */
  | { readonly kind: "sync"; readonly effects: number }
  /** The same, and a container whose start is the last effect leaves a cgroup that the runtime does not know. */
  | { readonly kind: "exit"; readonly container: number };

const names = ["a", "b"];
const resizePolicy = [{ resourceName: "memory", restartPolicy: "RestartContainer" }];

class Killed extends Error {}

/** One pod with its cgroups. As with cgroup v1, no quota may be above the quota of the pod. */
class SimulatedPod {
  readonly cgroup: Limits;
  readonly containers = new Map<string, { id: string; limits: Limits; attempt: number; runs: boolean }>();
  /** Cgroups of containers that the runtime does not have. */
  unknown: Limits[] = [];
  effectsLeft = Number.POSITIVE_INFINITY;

  constructor(pod: Pod) {
    this.cgroup = podLimits(pod);
    for (const container of pod.spec.containers)
      this.containers.set(container.name, {
        id: `${container.name}-0`,
        attempt: 0,
        runs: true,
        limits: limitsOf(container),
      });
  }

  /** Something that takes effect, whether or not the agent survives it. */
  effect<T>(act: () => T): T {
    if (this.effectsLeft <= 0) throw new Killed();
    const result = act();
    if (--this.effectsLeft <= 0) throw new Killed();
    return result;
  }

  updatePod({ cpuQuota, memory }: CgroupResources): void {
    const below = [...this.containers.values()].filter(({ runs }) => runs).map(({ limits }) => limits);
    if (cpuQuota !== undefined) {
      const isTooLow = [...below, ...this.unknown].some(({ quota }) => quota > cpuQuota);
      if (isTooLow) throw new Error("cpu.cfs_quota_us: invalid argument");
      this.cgroup.quota = cpuQuota;
    }
    if (memory !== undefined) this.cgroup.memory = memory;
  }

  updateContainer(id: string, limits: Limits): void {
    if (limits.quota > this.cgroup.quota) throw new Error("cpu.cfs_quota_us: invalid argument");
    const found = [...this.containers.values()].find((container) => container.id === id);
    assert.ok(found?.runs, `${id} does not run`);
    found.limits = { ...limits };
  }

  start(container: Container): void {
    const limits = limitsOf(container);
    const attempt = (this.containers.get(container.name)?.attempt ?? -1) + 1;
    if (limits.quota > this.cgroup.quota) throw new Error("cpu.cfs_quota_us: invalid argument");
    if (this.effectsLeft === 1) this.unknown.push(limits);
    else
      this.containers.set(container.name, {
        id: `${container.name}-${attempt}`,
        attempt,
        runs: true,
        limits,
      });
  }

  observed() {
    return anObservedPod(
      [...this.containers].map(
        ([name, { id, attempt, runs, limits }]): ObservedContainer =>
          anObservedContainer(name, {
            id: id as ContainerId,
            attempt,
            state: runs ? "running" : "exited",
            resources: { memoryLimit: Number(limits.memory) },
          }),
      ),
    );
  }
}

function limitsOf({ resources }: Container): Limits {
  const limits = amountsOf(resources?.limits);
  return { quota: milliCpuToQuota(milliOf(limits, "cpu")), memory: wholeOf(limits, "memory") };
}

function podLimits({ spec }: Pod): Limits {
  const all = spec.containers.map(limitsOf);
  return {
    quota: all.reduce((sum, { quota }) => sum + quota, 0n),
    memory: all.reduce((sum, { memory }) => sum + memory, 0n),
  };
}

function podOf(sizes: readonly Size[], generation: number): Pod {
  const containers = names.map((name, i) => {
    const { cpu, memory } = sizes[i]!;
    const limits = { cpu: `${cpu}m`, memory: `${memory}Mi` };
    return aContainer(name, { resources: { limits, requests: limits }, ...(i === 1 && { resizePolicy }) });
  });
  return aPod({ containers }, { generation });
}

/** Syncs the pod, as an agent does, until nothing is left to do. */
async function sync(pod: Pod, allocation: Allocation, node: SimulatedPod): Promise<void> {
  const resizing: PodResizing = {
    allocation,
    resizes: { progressed() {}, failed() {} },
    metrics: { actuated() {} },
    resources: {
      of: (_pod, container) => {
        const { quota, memory } = limitsOf(container);
        return { cpuQuota: quota, memoryLimitInBytes: memory };
      },
      overhead: () => ({}),
    },
    cgroups: {
      limitsFor: (p) => ({ cpuQuota: podLimits(p).quota, cpuPeriod: 100_000n, memory: podLimits(p).memory }),
      currentLimits: () => ({ cpuQuotaUs: node.cgroup.quota, memoryLimit: node.cgroup.memory }),
      update: async (_pod, part) => node.effect(() => node.updatePod(part)),
      memoryUsage: async () => 0n,
    },
  };
  const resizer = new PodResizer({
    resizing,
    clock: new FakeClock(),
    logger: silentLogger,
    runtime: {
      updateContainerResources: async (id, linux) =>
        node.effect(() =>
          node.updateContainer(id, {
            quota: BigInt(linux.cpuQuota ?? 0n),
            memory: BigInt(linux.memoryLimitInBytes ?? 0n),
          }),
        ),
      updatePodSandboxResources: async () => {
        throw Object.assign(new Error("not implemented yet"), { grpcCode: "UNKNOWN" });
      },
    },
    removeUnknownCgroups: async () => {
      const had = node.unknown.length > 0;
      node.unknown = [];
      return had;
    },
  });
  for (let stage = 0; stage < 10; stage++) {
    const plan = planPod(pod, node.observed(), {
      ...noChange,
      replaced: () => true,
      resize: {
        actionFor: (container, isInit) => allocation.actionFor(pod, container, isInit),
        ofPod: allocation.needsPodResize(pod),
        repeats: allocation.isResizing(pod.metadata.uid),
      },
    });
    if (isEmpty(plan)) return;
    for (const { container } of plan.kill)
      node.effect(() => {
        node.containers.get(container.name)!.runs = false;
      });
    if (plan.resize) await resizer.resize(pod, plan.resize.containers, node.observed());
    for (const { container } of plan.start) {
      await allocation.containerStarts(pod, container);
      node.effect(() => node.start(container));
    }
  }
  assert.fail("it does not end");
}

/** Few, so that many resizes are reverted. */
const small: Size = { cpu: 100, memory: 64 };
const large: Size = { cpu: 900, memory: 64 };
const size = fc.constantFrom(small, { cpu: 100, memory: 32 }, large);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("resize" as const), sizes: fc.tuple(size, size) }),
  fc.record({ kind: fc.constant("sync" as const), effects: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ kind: fc.constant("exit" as const), container: fc.integer({ min: 0, max: 1 }) }),
);

const dirs: string[] = [];
after(() => Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true }))));

test("a pod ends up with the resources that were requested last, wherever the agent was killed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.tuple(size, size), fc.array(step, { maxLength: 20 }), async (first, steps) => {
      const rootDir = await mkdtemp(join(tmpdir(), "resize-property-"));
      dirs.push(rootDir);
      const newAgent = async () => {
        const created = new Allocation({
          rootDir,
          logger: silentLogger,
          gates: { podLevel: true, initContainers: true },
        });
        await created.start();
        return created;
      };
      let generation = 1;
      let pod = podOf(first, generation);
      let allocation = await newAgent();
      allocation.admitted(pod);
      const node = new SimulatedPod(pod);
      for (const { kind, ...next } of steps) {
        if (kind === "resize") {
          pod = podOf((next as { sizes: Size[] }).sizes, ++generation);
          allocation.allocate(pod);
        } else if (kind === "exit") {
          node.containers.get(names[(next as { container: number }).container]!)!.runs = false;
        } else {
          node.effectsLeft = (next as { effects: number }).effects;
          await sync(pod, allocation, node).catch((error) => {
            if (!(error instanceof Killed)) throw error;
          });
          node.effectsLeft = Number.POSITIVE_INFINITY;
          await allocation.flushed();
          allocation = await newAgent();
          // The spec of the API is what it was.
          allocation.allocate(pod);
        }
      }
      await sync(pod, allocation, node);
      assert.deepEqual(node.cgroup, podLimits(pod));
      for (const container of pod.spec.containers) {
        const found = node.containers.get(container.name);
        assert.deepEqual([found?.runs, found?.limits], [true, limitsOf(container)]);
        assert.deepEqual(allocation.actuated(pod.metadata.uid, container.name), container.resources);
      }
      assert.equal(allocation.isResizing(pod.metadata.uid), false);
      await allocation.flushed();
    }),
    {
      numRuns: 100,
      // Interrupted after the first container, and reverted.
      examples: [
        [
          [small, small],
          [
            { kind: "resize", sizes: [large, small] },
            { kind: "sync", effects: 2 },
            { kind: "resize", sizes: [small, small] },
          ],
        ],
        // The second container exits, and the agent is killed while it starts again with more CPU, which is reverted.
        [
          [small, small],
          [
            { kind: "resize", sizes: [small, large] },
            { kind: "exit", container: 1 },
            { kind: "sync", effects: 2 },
            { kind: "resize", sizes: [small, small] },
          ],
        ],
      ],
    },
  );
});
