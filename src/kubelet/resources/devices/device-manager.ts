import { readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { shortened } from "../../../lib/clients/plugin-rpc/shortened.ts";
import { CheckpointFile } from "../../../lib/host/checkpoint-file.ts";
import { writeDurably } from "../../../lib/host/durable-file.ts";
import { type Container, type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { NodePods } from "../../state/node-pods.ts";
import { AllocatedDevices } from "./allocated-devices.ts";
import { decodeCheckpoint, encodeCheckpoint } from "./checkpoint.ts";
import { type ContainerDevices, combineResponses } from "./container-devices.ts";
import { idsOf, nodesById } from "./device.ts";
import { DeviceAllocator } from "./device-allocator.ts";
import { type DeviceAmounts, DeviceInventory } from "./device-inventory.ts";
import { deviceMetrics } from "./device-metrics.ts";
import type { OpenDevicePlugin } from "./device-plugin.ts";
import { containerRequests } from "./device-requests.ts";
import { PluginConnections } from "./plugin-connections.ts";

const maxLoggedConflicts = 10;
const maxLoggedText = 256;
const checkpointName = "kubelet_internal_checkpoint";

export interface DeviceManagerOptions {
  /** The directory of the checkpoint. */
  readonly dir: string;
  readonly open: OpenDevicePlugin;
  /** NUMA nodes of the machine. */
  readonly numaNodes: readonly number[];
  /** True if the runtime has a sandbox of the pod. */
  readonly isLive: (uid: PodUid) => boolean;
  readonly nodePods: Pick<NodePods, "willReleaseResources" | "nameOf">;
  /** False if the gate DRAExtendedResource is off: devices that DRA could allocate are allocated here. */
  readonly extendedResourcesByDra?: boolean | undefined;
  /** Capacity or allocatable may have changed; `pods` have devices whose health has changed. */
  readonly onChange: (pods: readonly PodUid[]) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** One device of a container, or of the node. */
export interface ListedDevice {
  readonly resourceName: string;
  readonly deviceIds: string[];
  readonly topology?: { readonly nodes: { readonly ID: bigint }[] };
}

/** `allocatedResourcesStatus` in the API. */
export interface ResourceHealth {
  readonly name: string;
  readonly resources: { readonly resourceID: string; readonly health: "Healthy" | "Unhealthy" }[];
}

/** Device plugins, their devices, and which container has which of them. */
export class DeviceManager {
  readonly #o: DeviceManagerOptions;
  readonly #inventory: DeviceInventory;
  readonly #allocated = new AllocatedDevices();
  readonly #file: CheckpointFile;
  readonly #allocator: DeviceAllocator;
  readonly plugins: PluginConnections;
  #isNewNode = false;

  constructor(options: DeviceManagerOptions) {
    const { dir, clock, logger, open, isLive, nodePods, numaNodes } = options;
    this.#o = options;
    this.#inventory = new DeviceInventory(clock);
    const [inventory, allocated] = [this.#inventory, this.#allocated];
    const metrics = deviceMetrics(options.metrics);
    const registered = () =>
      inventory
        .names()
        .flatMap((n) => (inventory.isRegistered(n) ? [[n, inventory.healthy(n)] as const] : []));
    this.#file = new CheckpointFile({
      path: join(dir, checkpointName),
      content: () => encodeCheckpoint({ entries: allocated.toEntries(), registered: new Map(registered()) }),
      write: writeCheckpoint,
    });
    this.#allocator = new DeviceAllocator({
      extendedResourcesByDra: options.extendedResourcesByDra,
      inventory,
      allocated,
      numaNodes,
      isLive,
      nodePods,
      clock,
      logger,
      metrics,
      save: () => this.#file.save(),
    });
    this.plugins = new PluginConnections({
      inventory,
      open,
      clock,
      logger,
      metrics,
      onDevices: (resource, changed) => this.#devicesChanged(resource, changed),
    });
  }

  get allocator(): DeviceAllocator {
    return this.#allocator;
  }

  /** Reads the allocations of the previous agent. A corrupt file is reported and does not prevent startup. */
  async start(): Promise<void> {
    const { dir, logger } = this.#o;
    this.#isNewNode = (await readdir(dir).catch(() => [])).length === 0;
    try {
      const text = await this.#file.read();
      const checkpoint = text === undefined ? undefined : decodeCheckpoint(text);
      this.#inventory.restore(checkpoint?.registered.keys() ?? []);
      const lost = this.#allocated.load(checkpoint?.entries ?? []);
      for (const { podUID, container, resource } of lost)
        logger.error("Failed to decode allocation in device checkpoint", { podUID, container, resource });
    } catch (error) {
      logger.error("Failed to read device checkpoint, devices of running containers may be allocated again", {
        path: join(dir, checkpointName),
        err: messageOf(error),
      });
    }
  }

  async flushed(): Promise<void> {
    await this.#file.flushed();
  }

  /** True if this node had no device plugins before: extended resources in the API are of a previous machine. */
  isNewNode(): boolean {
    return this.#isNewNode;
  }

  /** For the node status. */
  amounts(): DeviceAmounts {
    return this.#inventory.amounts();
  }

  /**
   * The amounts that the resource fit counts: 0 of the resources whose plugin is gone. The allocator decides about the others, by the devices
   * themselves: their number is no reason to reject a pod, nor to preempt others.
   */
  fitAmounts(): Record<string, string> {
    const { removed } = this.#inventory.amounts();
    return Object.fromEntries(
      removed.filter((name) => !this.#allocator.isKnown(name)).map((name) => [name, "0"]),
    );
  }

  /** The state of a resource in one line; undefined if no plugin has it. */
  describe(resource: string): string | undefined {
    const isOurs = this.#inventory.names().includes(resource) || this.#allocator.isKnown(resource);
    return isOurs ? this.#allocator.describe(resource) : undefined;
  }

  /** The devices of a container for its CRI request, after the plugin has prepared them; undefined if it has none. */
  async devicesFor(
    pod: Pod,
    container: Container,
    signal: AbortSignal,
  ): Promise<ContainerDevices | undefined> {
    const { logger } = this.#o;
    const { uid } = pod.metadata;
    const resources = containerRequests(pod, container, this.#o.extendedResourcesByDra)
      .map(({ resource }) => resource)
      .filter((resource) => this.#allocator.isKnown(resource));
    if (resources.length === 0) return undefined;
    if (resources.some((resource) => !this.#allocated.get(uid, container.name, resource)))
      await this.#allocator.allocateLate(pod, container, signal);
    for (const resource of resources) await this.#preStart(pod, container, resource, signal);
    const allocated = this.#allocated.ofContainer(uid, container.name);
    const responses = new Map([...allocated].map(([resource, { response }]) => [resource, response]));
    const { devices, conflicts } = combineResponses(responses);
    // A plugin decides how many there are, and how long.
    for (const { kind, key, used, ignored } of conflicts.slice(0, maxLoggedConflicts))
      logger.warn("Device plugins have conflicting settings for a container", {
        pod: podRef(pod),
        podUID: uid,
        container: container.name,
        conflicts: conflicts.length,
        kind,
        key: shortened(key, maxLoggedText),
        used: shortened(used, maxLoggedText),
        ignored: shortened(ignored, maxLoggedText),
      });
    return devices;
  }

  /** For PodResources: one entry for each device of a container. */
  of(uid: PodUid, container: string): ListedDevice[] {
    return [...this.#allocated.ofContainer(uid, container)]
      .sort(byName)
      .flatMap(([resource, { devices }]) =>
        [...nodesById(devices)].sort(byName).map(([id, nodes]) => listed(resource, id, nodes)),
      );
  }

  /** For PodResources: all healthy devices. */
  all(): ListedDevice[] {
    return this.#inventory
      .names()
      .sort(byText)
      .flatMap((name) => {
        const devices = this.#inventory.devices(name);
        const healthy = this.#inventory.healthy(name).sort(byText);
        return healthy.map((id) => listed(name, id, devices.get(id)?.numaNodes ?? []));
      });
  }

  /** For the status of a container; a device that is not listed now counts as healthy. */
  healthOf(uid: PodUid, container: string): ResourceHealth[] {
    return [...this.#allocated.ofContainer(uid, container)].sort(byName).map(([name, { devices }]) => ({
      name,
      resources: [...idsOf(devices)].sort(byText).map((resourceID) => {
        const isHealthy = this.#inventory.devices(name).get(resourceID)?.isHealthy ?? true;
        return { resourceID, health: isHealthy ? "Healthy" : "Unhealthy" };
      }),
    }));
  }

  async #preStart(pod: Pod, container: Container, resource: string, signal: AbortSignal): Promise<void> {
    if (!this.#inventory.needsPreStart(resource)) return;
    const allocated = this.#allocated.get(pod.metadata.uid, container.name, resource);
    const plugin = this.#inventory.plugin(resource);
    try {
      if (!plugin) throw new Error(`endpoint of ${resource} has been stopped`);
      await plugin.preStart([...idsOf(allocated?.devices ?? new Map())], signal);
    } catch (error) {
      signal.throwIfAborted();
      const message = `device plugin PreStartContainer rpc failed with err: ${messageOf(error)}`;
      throw new KubeletError("PreStartContainer", message, { cause: error });
    }
  }

  #devicesChanged(resource: string, changed: readonly string[]): void {
    this.#allocator.changed();
    void this.#file.save().catch((error: unknown) => {
      this.#o.logger.error("Failed to write device checkpoint", { err: messageOf(error) });
    });
    const owners = this.#allocated.owners(resource);
    this.#o.onChange([...new Set(changed.flatMap((id) => owners.get(id)?.uid ?? []))]);
  }
}

async function writeCheckpoint(path: string, text: string): Promise<void> {
  // Sockets of plugins are in the same directory: they do not expect other names.
  const temporary = join(dirname(path), ".checkpoint.new");
  try {
    await writeDurably(path, text, 0o600, temporary);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw new KubeletError(
      "UnexpectedAdmissionError",
      `failed to write checkpoint file "${checkpointName}": ${messageOf(error)}`,
      { cause: error },
    );
  }
}

function listed(resourceName: string, id: string, nodes: readonly number[]): ListedDevice {
  return {
    resourceName,
    deviceIds: [id],
    ...(nodes.length > 0 && { topology: { nodes: nodes.map((node) => ({ ID: BigInt(node) })) } }),
  };
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return byText(a, b);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
