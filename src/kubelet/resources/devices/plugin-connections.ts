import type { Clock } from "../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { RateLimit } from "../../../lib/base/rate-limit.ts";
import { shortened } from "../../../lib/clients/plugin-rpc/shortened.ts";
import type { ListAndWatchResponse } from "../../../lib/gen/deviceplugin/v1beta1/api_pb.js";
import { isExtendedResourceName } from "../../../lib/model/extended-resource.ts";
import type { Device } from "./device.ts";
import type { DeviceInventory } from "./device-inventory.ts";
import type { DeviceMetrics } from "./device-metrics.ts";
import { DevicePlugin, type OpenDevicePlugin, readDevices } from "./device-plugin.ts";

const supportedVersion = "v1beta1";
/** Each resource is part of the node status, which the API server limits, and each plugin has a connection. */
const maxResources = 500;
const maxPlugins = 1000;
/** The limits of registrations at the kubelet's socket. All plugins register at once when the agent is restarted. */
const registrations = { perSecond: 10, burst: 500 };
/** Longer than any valid name. */
const maxName = 512;
const maxLoggedIds = 10;

export interface PluginConnectionsOptions {
  readonly inventory: DeviceInventory;
  readonly open: OpenDevicePlugin;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: DeviceMetrics;
  /** The devices of a resource have changed: which of them are new, or whose health has changed. */
  readonly onDevices: (resource: string, changed: readonly string[]) => void;
}

/** Connects to plugins that register, and keeps the inventory up to date. A plugin that fails affects its own resource only. */
export class PluginConnections {
  readonly #o: PluginConnectionsOptions;
  readonly #stopped = new AbortController();
  readonly #watches = new Set<Promise<void>>();
  readonly #rate: RateLimit;

  constructor(options: PluginConnectionsOptions) {
    this.#o = options;
    this.#rate = new RateLimit(registrations.perSecond, registrations.burst, options.clock);
  }

  /** Throws if the plugin cannot be used. */
  validate(resource: string, versions: readonly string[]): void {
    if (!versions.includes(supportedVersion))
      throw new KubeletError(
        "DevicePluginVersion",
        `manager version, ${supportedVersion}, is not among plugin supported versions [${versions.join(" ")}]`,
      );
    if (!isExtendedResourceName(resource))
      throw new KubeletError(
        "DevicePluginName",
        `invalid name of device plugin socket: ${invalidName(resource)}`,
      );
  }

  /** A request at the kubelet's own socket, the older way to register. */
  async requested(
    request: { readonly version: string; readonly resource: string; readonly socketPath: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { socketPath } = request;
    const [version, resource] = [shortened(request.version, maxName), shortened(request.resource, maxName)];
    const { logger, metrics } = this.#o;
    // This is not logged, because a plugin may retry forever.
    if (!this.#rate.tryTake())
      throw new KubeletError("DevicePluginRate", "too many registrations of device plugins, try again later");
    logger.info("Got registration request from device plugin with resource", { resource, path: socketPath });
    try {
      if (version !== supportedVersion)
        throw new KubeletError(
          "DevicePluginVersion",
          `requested API version ${JSON.stringify(version)} is not supported by kubelet. Supported version is ["${supportedVersion}"]`,
        );
      if (!isExtendedResourceName(resource))
        throw new KubeletError("DevicePluginName", invalidName(resource));
      metrics.registered(resource);
      await this.register(resource, socketPath, signal);
    } catch (error) {
      logger.error("Failed to register device plugin", { resource, path: socketPath, err: messageOf(error) });
      throw error;
    }
  }

  /** Resolves when the plugin responds; its devices follow. */
  async register(resource: string, socketPath: string, signal: AbortSignal): Promise<void> {
    const { inventory, open, logger } = this.#o;
    this.#requireRoom(resource, socketPath);
    const plugin = new DevicePlugin(resource, socketPath, open);
    try {
      await plugin.connect(AbortSignal.any([signal, this.#stopped.signal]));
      // Others may have registered in the meantime.
      this.#requireRoom(resource, socketPath);
    } catch (error) {
      plugin.close();
      throw error;
    }
    inventory.add(plugin)?.close();
    logger.info("Connected to device plugin", { resource, path: socketPath });
    const watch = this.#watch(plugin).finally(() => this.#watches.delete(watch));
    this.#watches.add(watch);
  }

  #requireRoom(resource: string, socketPath: string): void {
    const { inventory } = this.#o;
    const plugins = inventory.plugins();
    const isReplaced = plugins.some((each) => each.resource === resource && each.socketPath === socketPath);
    if (isReplaced) return;
    if (plugins.length >= maxPlugins)
      throw new KubeletError("DevicePlugins", `there are already ${maxPlugins} device plugins`);
    if (!inventory.names().includes(resource) && !inventory.hasRoom(maxResources))
      throw new KubeletError(
        "DevicePlugins",
        `there are already ${maxResources} resources of device plugins, ${resource} is not registered`,
      );
  }

  deregister(resource: string, socketPath: string): void {
    const { inventory } = this.#o;
    const plugin = inventory
      .plugins()
      .find((each) => each.resource === resource && each.socketPath === socketPath);
    if (plugin) this.#disconnected(plugin, "deregistered");
  }

  /** Ends all connections. The devices are unchanged. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const plugin of this.#o.inventory.plugins()) plugin.close();
    await Promise.all(this.#watches);
  }

  async #watch(plugin: DevicePlugin): Promise<void> {
    let reason = "the plugin ended the stream of its devices";
    try {
      await plugin.watch((response) => this.#listed(plugin, response));
    } catch (error) {
      reason = messageOf(error);
    }
    if (!plugin.isClosed) this.#disconnected(plugin, reason);
  }

  #listed(plugin: DevicePlugin, { devices: reported }: ListAndWatchResponse): void {
    const { inventory, logger, onDevices } = this.#o;
    const { resource } = plugin;
    const { devices, ignored } = readDevices(reported);
    if (ignored.length > 0)
      logger.warn("Ignoring devices without an ID, or with the ID of another device", {
        resource,
        count: ignored.length,
        ignored: ignored.slice(0, maxLoggedIds).map((id) => shortened(id, maxName)),
      });
    const before = inventory.devices(resource);
    if (!inventory.listed(plugin, devices)) return;
    logger.info("Device plugin listed its devices", {
      resource,
      total: devices.length,
      healthy: devices.filter(({ isHealthy }) => isHealthy).length,
    });
    onDevices(resource, changedDevices(before, devices));
  }

  #disconnected(plugin: DevicePlugin, reason: string): void {
    const { inventory, logger, onDevices } = this.#o;
    const { resource, socketPath: path } = plugin;
    plugin.close();
    if (this.#stopped.signal.aborted || !inventory.remove(plugin)) return;
    const next = inventory.plugin(resource);
    logger.warn("Device plugin disconnected", {
      resource,
      path,
      reason,
      ...(next && { next: next.socketPath }),
    });
    onDevices(resource, []);
  }
}

function changedDevices(before: ReadonlyMap<string, Device>, devices: readonly Device[]): string[] {
  return devices.filter(({ id, isHealthy }) => before.get(id)?.isHealthy !== isHealthy).map(({ id }) => id);
}

function invalidName(resource: string): string {
  return `the ResourceName ${JSON.stringify(shortened(resource, maxName))} is invalid`;
}
