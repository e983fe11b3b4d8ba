import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeCheckpoint } from "../../src/kubelet/resources/allocation/checkpoint.ts";
import { type CgroupLimits, limitsReader } from "../../src/lib/host/cgroups/limits-reader.ts";
import { type CgroupLayout, detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import type { Container, Pod, PodCondition, PodSpec, ResourceRequirements } from "../../src/lib/model/pod.ts";
import {
  amountsOf,
  milliCpuToQuota,
  milliCpuToShares,
  milliOf,
  wholeOf,
} from "../../src/lib/model/resources.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { type NodeWithApi, podsPath } from "./node-with-api.ts";

type Conditions = Partial<Record<string, PodCondition>>;

/** A Burstable pod on a real node that is resized through the API, with what the kernel has for it. */
export class ResizedPod {
  readonly name: string;
  readonly #node: NodeWithApi;
  readonly #read: ReturnType<typeof limitsReader>;
  readonly #layout: CgroupLayout;

  static async start(
    node: NodeWithApi,
    name: string,
    container: Partial<Container>,
    spec: Partial<PodSpec> = {},
  ): Promise<ResizedPod> {
    const pod = new ResizedPod(node, name, await detectLayout());
    await node.addPod(name, container, spec);
    await node.runs(name);
    return pod;
  }

  private constructor(node: NodeWithApi, name: string, layout: CgroupLayout) {
    this.#node = node;
    this.name = name;
    this.#layout = layout;
    this.#read = limitsReader(layout);
  }

  get(): Promise<Pod> {
    return this.#node.pod(this.name);
  }

  /** Resizes its container. */
  resize(resources: ResourceRequirements): Promise<Pod> {
    return this.patch({ containers: [{ name: "c", resources }] });
  }

  patch(spec: object): Promise<Pod> {
    return this.#node.admin.request<Pod>({
      method: "PATCH",
      path: `${podsPath}/${this.name}/resize`,
      contentType: "application/strategic-merge-patch+json",
      body: { spec },
    });
  }

  /** The limits of the pod's cgroup and of its containers' cgroups. */
  async limits(): Promise<Map<string, CgroupLimits>> {
    const { pod } = await this.cgroups();
    const containers = await this.#node.containersOf(this.name);
    const paths = [pod, ...containers.map(({ id }) => `${pod}/${id}`)];
    return new Map(paths.map((path) => [path, this.#read(path)]));
  }

  async conditions(): Promise<Conditions> {
    const { status } = await this.get();
    return Object.fromEntries(
      (status?.conditions ?? []).filter(({ type }) => type.startsWith("PodResize")).map((c) => [c.type, c]),
    );
  }

  /** The messages of events about resizes of the pod, by reason. */
  async events(reason: string): Promise<string[]> {
    interface Event {
      reason: string;
      message: string;
      involvedObject: { name: string };
    }
    const { items } = await this.#node.get<{ items: Event[] }>("/api/v1/namespaces/default/events");
    return items
      .filter((event) => event.reason === reason && event.involvedObject.name === this.name)
      .map(({ message }) => message);
  }

  /** The cgroup of the pod, and the cgroup of its container. */
  async cgroups(): Promise<{ pod: string; container: string }> {
    const { metadata } = await this.get();
    const pod = `${this.#node.node.cgroupRoot}/kubepods/burstable/pod${metadata.uid}`;
    const [container] = await this.#node.containersOf(this.name);
    assert.ok(container, "no container runs");
    return { pod, container: `${pod}/${container.id}` };
  }

  /** Cgroups, status and records have the resources, and no resize is pending or in progress. */
  async has(resources: ResourceRequirements): Promise<void> {
    const { metadata, status } = await this.get();
    assert.deepEqual(Object.keys(await this.conditions()), []);
    const [container] = status?.containerStatuses ?? [];
    assert.deepEqual(container?.resources, resources);
    assert.deepEqual(container?.allocatedResources, resources.requests);
    assert.deepEqual((status as { resources?: unknown }).resources, resources);
    assert.equal(status?.observedGeneration, metadata.generation);
    const expected = kernelLimits(this.#layout, resources);
    for (const cgroup of Object.values(await this.cgroups()))
      assert.deepEqual(this.#read(cgroup), expected, cgroup);
    for (const file of ["allocated_pods_state", "actuated_pods_state"]) {
      const text = await readFile(join(this.#node.node.rootDir, file), "utf8");
      assert.deepEqual(decodeCheckpoint(text).get(metadata.uid)?.containers.get("c"), resources, file);
    }
  }

  settled(resources: ResourceRequirements, withinMs = 120_000): Promise<void> {
    return waitFor(() => this.has(resources), withinMs);
  }
}

function kernelLimits({ version }: CgroupLayout, { requests, limits }: ResourceRequirements) {
  const quota = milliCpuToQuota(milliOf(amountsOf(limits), "cpu"));
  return {
    cpuShares: milliCpuToShares(milliOf(amountsOf(requests), "cpu")),
    cpuQuotaUs: quota,
    cpuPeriodUs: 100_000n,
    memoryLimit: wholeOf(amountsOf(limits), "memory"),
    ...(version === 2 && { cpuShares: undefined }),
  };
}
