import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { maskOf } from "../../../lib/model/numa-mask.ts";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import { amountsOf } from "../../../lib/model/resources.ts";
import type { NumaNode, TopologyHint } from "../../../lib/model/topology.ts";
import { MemoryManager, type MemoryManagerOptions } from "./memory-manager.ts";

export const gi = 1n << 30n;

/** A machine whose NUMA nodes have this much memory in Gi, and 1 Gi of it in huge pages of 2 Mi if set. */
export function aMachine(sizes: readonly number[], options: { hugepages?: boolean } = {}): NumaNode[] {
  return sizes.map((size, id) => ({
    id,
    memoryBytes: BigInt(size) * gi,
    hugepages: options.hugepages ? [{ pageBytes: 2n << 20n, pages: 512n }] : [],
    distances: sizes.map((_, to) => (to === id ? 10 : 20)),
  }));
}

/** The static policy on that machine, which reserves 1 Gi of node 0 for the system. */
export function staticOptions(rootDir: string, numaNodes: readonly NumaNode[]): MemoryManagerOptions {
  return {
    policy: "Static",
    rootDir,
    numaNodes,
    reserved: amountsOf({ memory: "1Gi" }),
    reservations: [{ numaNode: 0, limits: { memory: "1Gi" } }],
    metrics: createMetrics(),
    logger: silentLogger,
  };
}

const started: MemoryManager[] = [];

/** Removed after the test, when nothing writes to it. */
export async function aDirectory(t: { after(fn: () => Promise<void>): void }): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "memory-manager-"));
  t.after(async () => {
    for (const manager of started) await manager.flushed();
    await rm(dir, { recursive: true, force: true });
  });
  return dir;
}

export async function aManager(
  t: { after(fn: () => Promise<void>): void },
  numaNodes: readonly NumaNode[],
  options: Partial<MemoryManagerOptions> = {},
): Promise<MemoryManager> {
  const manager = new MemoryManager({ ...staticOptions(await aDirectory(t), numaNodes), ...options });
  started.push(manager);
  await manager.start();
  return manager;
}

/** A Guaranteed pod. Each container by name, with Gi of memory and huge pages: "app 2", "app 2+1"; init containers, and sidecars with "*". */
export function memoryPod(uid: string, containers: readonly string[], init: readonly string[] = []): Pod {
  const container = (text: string): Container => {
    const [name = "", amount = ""] = text.replace("*", "").split(" ");
    const [memory, hugepages] = amount.split("+");
    const amounts = {
      cpu: "1",
      memory: `${memory}Gi`,
      ...(hugepages !== undefined && { "hugepages-2Mi": `${hugepages}Gi` }),
    };
    return {
      name,
      image: "example/app:1",
      resources: { requests: amounts, limits: amounts },
      ...(text.endsWith("*") && { restartPolicy: "Always" }),
    };
  };
  return fakePod({
    metadata: { uid: uid as PodUid, name: uid },
    spec: { initContainers: init.map(container), containers: containers.map(container) },
  });
}

/** A pod with that much memory, "4" or "4+1", for its containers together; those without an amount share what the others leave. */
export function podLevelPod(
  uid: string,
  amount: string,
  containers: readonly string[],
  init: readonly string[] = [],
): Pod {
  const pod = memoryPod(uid, containers, init);
  const [ofPod] = memoryPod(uid, [`pod ${amount}`]).spec.containers;
  pod.spec.resources = ofPod?.resources;
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers])
    if (container.resources?.requests?.memory === "Gi") delete container.resources;
  return pod;
}

export const anyNode: TopologyHint = { numaNodes: undefined, preferred: false };

export function onNodes(...nodes: number[]): TopologyHint {
  return { numaNodes: maskOf(nodes), preferred: true };
}

/** Allocates all containers of the pod, in their order. */
export async function allocateAll(manager: MemoryManager, pod: Pod, affinity = anyNode): Promise<void> {
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers])
    await manager.allocate(pod, container, affinity);
}

/** "app: 2 on 0, 1 of hugepages-2Mi on 0", in Gi, for each container of the pod. */
export function allocation(manager: MemoryManager, pod: Pod): Record<string, string> {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return Object.fromEntries(
    containers.flatMap(({ name }) => {
      const blocks = manager.of(pod.metadata.uid, name);
      const texts = blocks.map(({ nodes, resource, bytes }) => {
        const kind = resource === "memory" ? "" : ` of ${resource}`;
        return `${bytes / gi}${kind} on ${nodes.join("+")}`;
      });
      return texts.length > 0 ? [[name, texts.sort((a, b) => (a < b ? -1 : 1)).join(", ")]] : [];
    }),
  );
}
