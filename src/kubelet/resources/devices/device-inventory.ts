import { type Clock, msSince } from "../../../lib/base/clock.ts";
import { type MonotonicTime, msBetween } from "../../../lib/base/time.ts";
import type { Device } from "./device.ts";
import type { DevicePlugin } from "./device-plugin.ts";

/** A resource whose plugin is gone keeps its capacity this long: the plugin may be restarting. */
const stopGraceMs = 300_000;

/** Amounts for the node status. */
export interface DeviceAmounts {
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  /** Resources whose plugin is gone: they remain with an amount of 0. */
  readonly removed: readonly string[];
}

interface Resource {
  devices: ReadonlyMap<string, Device>;
  /** By age; the newest provides the devices. */
  plugins: readonly DevicePlugin[];
  /** When the last plugin went away; undefined while there is one. */
  stoppedAt: MonotonicTime | undefined;
  /** Its devices were listed since the agent was started. */
  isListed: boolean;
  needsPreStart: boolean;
}

/** The resources of plugins and their devices. */
export class DeviceInventory {
  readonly #clock: Clock;
  readonly #resources = new Map<string, Resource>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resources that were registered with a previous agent: their plugins have to register again. */
  restore(names: Iterable<string>): void {
    for (const name of names)
      this.#resources.set(name, {
        devices: new Map(),
        plugins: [],
        stoppedAt: this.#clock.monotonic(),
        isListed: false,
        needsPreStart: false,
      });
  }

  /** Registers a plugin. Returns the plugin at the same socket that it replaces. */
  add(plugin: DevicePlugin): DevicePlugin | undefined {
    const known = this.#resources.get(plugin.resource);
    const replaced = known?.plugins.find(({ socketPath }) => socketPath === plugin.socketPath);
    this.#resources.set(plugin.resource, {
      devices: known?.devices ?? new Map(),
      plugins: [...(known?.plugins ?? []).filter((other) => other !== replaced), plugin],
      stoppedAt: undefined,
      isListed: known?.isListed ?? false,
      needsPreStart: plugin.needsPreStart,
    });
    return replaced;
  }

  /** The devices of the newest plugin of a resource. False if nothing has changed, or the list is from another plugin. */
  listed(plugin: DevicePlugin, devices: readonly Device[]): boolean {
    const previous = plugin.listed;
    plugin.listed = devices;
    const resource = this.#resources.get(plugin.resource);
    if (!resource || resource.plugins.at(-1) !== plugin) return false;
    resource.devices = byId(devices);
    resource.isListed = true;
    return previous === undefined || !isSameList(previous, devices);
  }

  /** Removes a plugin, which makes all devices of its resource unhealthy. False if another registration has replaced it already. */
  remove(plugin: DevicePlugin): boolean {
    const resource = this.#resources.get(plugin.resource);
    if (!resource?.plugins.includes(plugin)) return false;
    resource.plugins = resource.plugins.filter((other) => other !== plugin);
    const next = resource.plugins.at(-1);
    if (!next) resource.stoppedAt = this.#clock.monotonic();
    else if (next.listed) {
      resource.devices = byId(next.listed);
      resource.isListed = true;
    }
    return true;
  }

  /** Whether the plugin has to prepare devices before each start of a container; of the last plugin, if there is none now. */
  needsPreStart(name: string): boolean {
    return this.#resources.get(name)?.needsPreStart ?? false;
  }

  /** The plugin that serves the resource now. */
  plugin(name: string): DevicePlugin | undefined {
    return this.#resources.get(name)?.plugins.at(-1);
  }

  plugins(): DevicePlugin[] {
    return [...this.#resources.values()].flatMap(({ plugins }) => [...plugins]);
  }

  /** A resource whose plugin is gone for longer than the grace period is no longer registered. */
  isRegistered(name: string): boolean {
    const resource = this.#resources.get(name);
    return resource !== undefined && !this.#isExpired(resource);
  }

  /** True if there may be another resource. Entries whose plugin is gone are dropped to make room, the one that has been gone longest first. */
  hasRoom(max: number): boolean {
    if (this.#resources.size < max) return true;
    const gone = [...this.#resources]
      .flatMap(([name, { stoppedAt }]) => (stoppedAt === undefined ? [] : [{ name, stoppedAt }]))
      .sort((a, b) => msBetween(b.stoppedAt, a.stoppedAt));
    for (const { name } of gone.slice(0, this.#resources.size - max + 1)) this.#resources.delete(name);
    return this.#resources.size < max;
  }

  names(): string[] {
    return [...this.#resources.keys()];
  }

  /** True if no plugin has listed devices since the agent was started. */
  isUnlisted(name: string): boolean {
    return this.#resources.get(name)?.isListed === false;
  }

  /** All devices as they were last listed. */
  devices(name: string): ReadonlyMap<string, Device> {
    return this.#resources.get(name)?.devices ?? new Map<string, Device>();
  }

  /** The healthy devices in the order of the plugin's list. */
  healthy(name: string): string[] {
    const resource = this.#resources.get(name);
    if (!resource || resource.plugins.length === 0) return [];
    return [...resource.devices.values()].filter(({ isHealthy }) => isHealthy).map(({ id }) => id);
  }

  amounts(): DeviceAmounts {
    const capacity: Record<string, string> = {};
    const allocatable: Record<string, string> = {};
    const removed: string[] = [];
    for (const [name, resource] of this.#resources)
      if (this.#isExpired(resource)) removed.push(name);
      else {
        capacity[name] = String(resource.devices.size);
        allocatable[name] = String(this.healthy(name).length);
      }
    return { capacity, allocatable, removed };
  }

  #isExpired({ stoppedAt }: Resource): boolean {
    return stoppedAt !== undefined && msSince(this.#clock, stoppedAt) > stopGraceMs;
  }
}

/** Plugins may list their devices in any order. */
function isSameList(a: readonly Device[], b: readonly Device[]): boolean {
  const known = byId(a);
  return (
    a.length === b.length &&
    b.every(({ id, isHealthy, numaNodes }) => {
      const device = known.get(id);
      return device?.isHealthy === isHealthy && device.numaNodes.join() === numaNodes.join();
    })
  );
}

function byId(devices: readonly Device[]): Map<string, Device> {
  return new Map(devices.map((device) => [device.id, device]));
}
