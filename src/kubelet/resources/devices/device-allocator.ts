import { type Clock, msFromNow, msSince, msUntil } from "../../../lib/base/clock.ts";
import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { KeyedLocks } from "../../../lib/base/keyed-locks.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import { endsWithin } from "../../../lib/base/wait.ts";
import type { ContainerAllocateResponse } from "../../../lib/gen/deviceplugin/v1beta1/api_pb.js";
import { type Container, type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { HintProvider, TopologyHint, TopologyHints } from "../../../lib/model/topology.ts";
import type { NodePods } from "../../state/node-pods.ts";
import type { AllocatedDevices } from "./allocated-devices.ts";
import { chooseDevices, hasTopology } from "./choose-devices.ts";
import { devicesByNode, idsOf } from "./device.ts";
import { deviceHints } from "./device-hints.ts";
import type { DeviceInventory } from "./device-inventory.ts";
import type { DeviceMetrics } from "./device-metrics.ts";
import type { DevicePlugin } from "./device-plugin.ts";
import { containerRequests, type DeviceRequest, podDeviceRequests, resourcesOf } from "./device-requests.ts";
import { type ResourceState, resourceText, unusable } from "./resource-state.ts";

/** Plugins have this long to register again after the agent was started; pods that need them wait. */
const registrationWindowMs = 60_000;

/** Whether a pod that has devices is being terminated may change without an event. */
const recheckMs = 1_000;

export interface DeviceAllocatorOptions {
  readonly inventory: DeviceInventory;
  readonly allocated: AllocatedDevices;
  /** Resolves when the allocations are on disk. */
  readonly save: () => Promise<void>;
  /** NUMA nodes of the machine. */
  readonly numaNodes: readonly number[];
  /** True if the runtime has a sandbox of the pod: it keeps its devices, regardless of what their plugin does. */
  readonly isLive: (uid: PodUid) => boolean;
  readonly nodePods: Pick<NodePods, "willReleaseResources" | "nameOf">;
  /** False if the gate DRAExtendedResource is off: devices that DRA could allocate are allocated here. */
  readonly extendedResourcesByDra?: boolean | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: DeviceMetrics;
}

/** Allocates devices to containers. It allocates the devices of a resource to one pod at a time. */
export class DeviceAllocator implements HintProvider {
  readonly name = "devices";
  readonly #o: DeviceAllocatorOptions;
  readonly #locks = new KeyedLocks();
  readonly #windowEnd: MonotonicTime;
  #changed = Promise.withResolvers<void>();

  constructor(options: DeviceAllocatorOptions) {
    this.#o = options;
    this.#windowEnd = msFromNow(options.clock, registrationWindowMs);
  }

  appliesTo(pod: Pod): boolean {
    return resourcesOf(pod, this.#o.extendedResourcesByDra).some((resource) => this.isKnown(resource));
  }

  /** A resource of a plugin. Others belong to the cluster: they are not allocated here. */
  isKnown(resource: string): boolean {
    return this.#o.inventory.isRegistered(resource) || this.#o.allocated.resources().has(resource);
  }

  /** True while the plugin, which was registered with the previous agent, may still register. */
  isAwaited(resource: string): boolean {
    return this.#o.inventory.isUnlisted(resource) && msUntil(this.#o.clock, this.#windowEnd) > 0;
  }

  /** A pod also waits for its plugins after a restart of the agent, and for devices of pods that are being terminated. */
  async lock(pod: Pod, signal: AbortSignal): Promise<Disposable> {
    const all = resourcesOf(pod, this.#o.extendedResourcesByDra);
    for (;;) {
      const resources = all.filter((resource) => this.isKnown(resource));
      if (!this.#o.isLive(pod.metadata.uid)) await this.#decidable(pod, resources, signal);
      // All: the plugin of another resource may register in the meantime.
      using held = new DisposableStack();
      held.use(await this.#locks.acquire(all, signal));
      if (this.#o.isLive(pod.metadata.uid) || !this.#mustWait(pod, resources)) return held.move();
    }
  }

  /** Describes in one line what the pod needs before it is admitted. */
  waitsFor(pod: Pod): string | undefined {
    const resources = resourcesOf(pod, this.#o.extendedResourcesByDra).filter((resource) =>
      this.isKnown(resource),
    );
    const awaited = resources.filter((resource) => this.isAwaited(resource));
    if (awaited.length > 0) return `waiting for device plugins to register: ${awaited.join(", ")}`;
    if (resources.length === 0) return undefined;
    return `waiting for devices, ${resources.map((resource) => this.describe(resource)).join("; ")}`;
  }

  /** Devices were listed or released, or a plugin is gone. */
  changed(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  hints(pod: Pod, container: Container): TopologyHints {
    const { uid } = pod.metadata;
    return this.#hints(containerRequests(pod, container, this.#o.extendedResourcesByDra), (resource) => ({
      owned: idsOf(this.#o.allocated.get(uid, container.name, resource)?.devices ?? new Map()),
      reusable: this.#o.allocated.reusable(pod, container, resource),
    }));
  }

  podHints(pod: Pod): TopologyHints {
    return this.#hints(podDeviceRequests(pod), (resource) => ({
      owned: this.#o.allocated.ofPod(pod.metadata.uid, resource),
      reusable: new Set(),
    }));
  }

  async allocate(
    pod: Pod,
    container: Container,
    { numaNodes: affinity }: TopologyHint,
    signal: AbortSignal,
  ): Promise<void> {
    let isNew = false;
    for (const request of containerRequests(pod, container, this.#o.extendedResourcesByDra)) {
      if (!this.isKnown(request.resource)) continue;
      if (await this.#allocateOne(pod, container, request, affinity, signal)) isNew = true;
    }
    // The container must not start before: after a restart its devices would be free.
    if (isNew) await this.#o.save();
  }

  holders(): PodUid[] {
    return [...this.#o.allocated.pods()];
  }

  /** Containers that are still running keep their devices, even if their pod is no longer in any source. */
  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    const { allocated, isLive } = this.#o;
    for (const uid of allocated.pods()) if (!isKnown(uid) && !isLive(uid)) this.release(uid);
  }

  explain(pod: Pod, container: Container): string | undefined {
    const known = containerRequests(pod, container, this.#o.extendedResourcesByDra).filter(({ resource }) =>
      this.isKnown(resource),
    );
    return known.length === 0 ? undefined : known.map(({ resource }) => this.describe(resource)).join("; ");
  }

  release(uid: PodUid): void {
    if (!this.#o.allocated.delete(uid)) return;
    this.changed();
    void this.#o.save().catch((error: unknown) => {
      this.#o.logger.error("Failed to write device checkpoint", { err: messageOf(error) });
    });
  }

  /** Allocates the devices of a container whose plugin registered only after the pod was admitted. */
  async allocateLate(pod: Pod, container: Container, signal: AbortSignal): Promise<void> {
    using _ = await this.#locks.acquire(resourcesOf(pod, this.#o.extendedResourcesByDra), signal);
    await this.allocate(pod, container, { numaNodes: undefined, preferred: false }, signal);
  }

  /** The state of a resource in one line. */
  describe(resource: string): string {
    const owners = [...this.#o.allocated.owners(resource).values()];
    const users = [...new Set(owners.map(({ uid }) => this.#o.nodePods.nameOf(uid)))].sort((a, b) =>
      a < b ? -1 : 1,
    );
    return resourceText(this.#state(resource), owners.length, users);
  }

  /** False if the container already has its devices. */
  async #allocateOne(
    pod: Pod,
    container: Container,
    request: DeviceRequest,
    affinity: bigint | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { resource, count } = request;
    const { uid } = pod.metadata;
    const { inventory, allocated, logger } = this.#o;
    const known = allocated.get(uid, container.name, resource);
    const previous = idsOf(known?.devices ?? new Map());
    if (known && previous.size !== count)
      throw failure(
        `pod "${uid}" container "${container.name}" changed request for resource "${resource}" from ${previous.size} to ${count}`,
      );
    if (known && this.#o.isLive(uid)) return false;
    const problem = unusable(this.#state(resource), previous);
    if (problem !== undefined) throw failure(problem);
    if (known) return false;
    const ids = await this.#choose(pod, container, request, affinity, signal);
    const response = await this.#call(resource, ids, signal);
    signal.throwIfAborted();
    const devices = devicesByNode(ids, inventory.devices(resource));
    allocated.set(uid, container.name, resource, { devices, response });
    logger.info("Allocated devices", {
      pod: podRef(pod),
      podUID: uid,
      container: container.name,
      resource,
      devices: ids,
    });
    return true;
  }

  async #choose(
    pod: Pod,
    container: Container,
    { resource, count }: DeviceRequest,
    affinity: bigint | undefined,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { inventory, allocated } = this.#o;
    const healthy = new Set(inventory.healthy(resource));
    const choice = chooseDevices({
      count,
      affinity,
      devices: inventory.devices(resource),
      available: this.#available(resource),
      reusable: [...allocated.reusable(pod, container, resource)].filter((id) => healthy.has(id)),
    });
    if (choice.kind === "chosen") return choice.devices;
    if (choice.kind === "unavailable")
      throw failure(
        `requested number of devices unavailable for ${resource}. Requested: ${choice.needed}, Available: ${choice.available}`,
      );
    const plugin = this.#plugin(resource);
    if (!plugin.hasPreferences) return choice.choose([]);
    try {
      const { offered, mustInclude } = choice;
      return choice.choose(await plugin.preferred({ offered, mustInclude, count }, signal));
    } catch (error) {
      signal.throwIfAborted();
      throw failure(`device plugin GetPreferredAllocation rpc failed with err: ${text(error)}`);
    }
  }

  async #call(
    resource: string,
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<ContainerAllocateResponse> {
    const { clock, metrics } = this.#o;
    const startedAt = clock.monotonic();
    try {
      const { containerResponses } = await this.#plugin(resource).allocate(ids, signal);
      const [response] = containerResponses;
      if (!response) throw new Error("no containers return in allocation response");
      return response;
    } catch (error) {
      signal.throwIfAborted();
      throw failure(text(error));
    } finally {
      metrics.allocated(resource, msSince(clock, startedAt) / 1000);
    }
  }

  #plugin(resource: string): DevicePlugin {
    const plugin = this.#o.inventory.plugin(resource);
    if (!plugin) throw failure(`endpoint of ${resource} has been stopped`);
    return plugin;
  }

  #hints(
    requests: readonly DeviceRequest[],
    of: (resource: string) => { owned: ReadonlySet<string>; reusable: ReadonlySet<string> },
  ): TopologyHints {
    const { inventory, numaNodes } = this.#o;
    const result = new Map<string, readonly TopologyHint[] | undefined>();
    for (const { resource, count } of requests) {
      if (!this.isKnown(resource)) continue;
      const devices = inventory.devices(resource);
      const { owned, reusable } = of(resource);
      const available = owned.size > 0 ? owned : new Set([...this.#available(resource), ...reusable]);
      const canServe = owned.size > 0 ? owned.size === count : available.size >= count;
      const input = {
        count,
        devices,
        available,
        numaNodes,
        reusable: owned.size > 0 ? none : reusable,
      };
      result.set(resource, !hasTopology(devices) ? undefined : canServe ? deviceHints(input) : []);
    }
    return result;
  }

  /** Healthy devices that no container has. */
  #available(resource: string): string[] {
    const { inventory, allocated } = this.#o;
    const owners = allocated.owners(resource);
    return inventory.healthy(resource).filter((id) => !owners.has(id));
  }

  #state(resource: string): ResourceState {
    const { inventory } = this.#o;
    return {
      resource,
      isRegistered: inventory.isRegistered(resource),
      hasPlugin: inventory.plugin(resource) !== undefined,
      devices: inventory.devices(resource),
      healthy: inventory.healthy(resource),
    };
  }

  /** Resolves when the pod can be decided: its devices are free, or will not become free on their own. */
  async #decidable(pod: Pod, resources: readonly string[], signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    const text = this.#mustWait(pod, resources) ? this.waitsFor(pod) : undefined;
    if (text !== undefined)
      logger.info("Pod is waiting for devices", { pod: podRef(pod), podUID: pod.metadata.uid, reason: text });
    while (this.#mustWait(pod, resources)) await endsWithin(clock, recheckMs, this.#changed.promise, signal);
  }

  #mustWait(pod: Pod, resources: readonly string[]): boolean {
    if (resources.some((resource) => this.isAwaited(resource))) return true;
    return podDeviceRequests(pod).some(({ resource, count }) => this.#willBeReleased(pod, resource, count));
  }

  /** True if the pod needs devices that are held by pods that are being terminated. */
  #willBeReleased({ metadata: { uid } }: Pod, resource: string, count: number): boolean {
    const { inventory, allocated, nodePods } = this.#o;
    const owners = allocated.owners(resource);
    const missing = count - allocated.ofPod(uid, resource).size - this.#available(resource).length;
    if (missing <= 0) return false;
    const releasing = inventory.healthy(resource).filter((id) => {
      const owner = owners.get(id);
      return owner !== undefined && owner.uid !== uid && nodePods.willReleaseResources(owner.uid);
    });
    return releasing.length >= missing;
  }
}

const none: ReadonlySet<string> = new Set();

/** The reason for rejecting the pod. */
function failure(message: string): KubeletError {
  return new KubeletError("UnexpectedAdmissionError", message);
}

function text(error: unknown): string {
  // The plugin was closed by this agent while it was called.
  return isAbort(error) ? "the device plugin was replaced or disconnected" : messageOf(error);
}
