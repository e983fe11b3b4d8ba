import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { StreamingPluginChannel } from "../../../lib/clients/plugin-rpc/plugin-channel.ts";
import type {
  AllocateResponse,
  DevicePluginOptions,
  ListAndWatchResponse,
} from "../../../lib/gen/deviceplugin/v1beta1/api_pb.js";
import {
  type Device as PluginDevice,
  DevicePlugin as Service,
} from "../../../lib/gen/deviceplugin/v1beta1/api_pb.js";
import type { Device } from "./device.ts";

export type OpenDevicePlugin = (socketPath: string) => StreamingPluginChannel;

const connectTimeoutMs = 10_000;
const optionsTimeoutMs = 10_000;
const preStartTimeoutMs = 30_000;
const preferenceTimeoutMs = 30_000;
/** The reference kubelet waits forever. A plugin that sets up hardware may take a while; one that hangs must not block its resource. */
const allocateTimeoutMs = 120_000;

/** One registration of a plugin: a connection to its socket. */
export class DevicePlugin {
  readonly resource: string;
  readonly socketPath: string;
  /** The last list; undefined until the first one. */
  listed: readonly Device[] | undefined;
  readonly #channel: StreamingPluginChannel;
  readonly #closed = new AbortController();
  #options: DevicePluginOptions | undefined;

  constructor(resource: string, socketPath: string, open: OpenDevicePlugin) {
    this.resource = resource;
    this.socketPath = socketPath;
    this.#channel = open(socketPath);
  }

  async connect(signal: AbortSignal): Promise<void> {
    const both = this.#signal(signal);
    await this.#channel.connected({ timeoutMs: connectTimeoutMs, signal: both });
    const limits = { timeoutMs: optionsTimeoutMs, signal: both };
    try {
      this.#options = await this.#channel.call(Service.method.getDevicePluginOptions, {}, limits);
    } catch (error) {
      if (isAbort(error)) throw error;
      const message = `failed to get device plugin options: ${messageOf(error)}`;
      throw new KubeletError("DevicePluginOptions", message, { cause: error });
    }
  }

  /** Calls back with each list of devices. Ends when the plugin ends the stream, or is closed. */
  watch(onMessage: (response: ListAndWatchResponse) => void): Promise<void> {
    return this.#channel.stream(Service.method.listAndWatch, onMessage, this.#closed.signal);
  }

  get hasPreferences(): boolean {
    return this.#options?.getPreferredAllocationAvailable ?? false;
  }

  get needsPreStart(): boolean {
    return this.#options?.preStartRequired ?? false;
  }

  /** The preference of the plugin among the offered devices. */
  async preferred(
    request: { offered: readonly string[]; mustInclude: readonly string[]; count: number },
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const containerRequests = [
      {
        availableDeviceIDs: [...request.offered],
        mustIncludeDeviceIDs: [...request.mustInclude],
        allocationSize: request.count,
      },
    ];
    const limits = { timeoutMs: preferenceTimeoutMs, signal: this.#signal(signal) };
    const method = Service.method.getPreferredAllocation;
    const { containerResponses } = await this.#channel.call(method, { containerRequests }, limits);
    return containerResponses[0]?.deviceIDs ?? [];
  }

  allocate(ids: readonly string[], signal: AbortSignal): Promise<AllocateResponse> {
    const containerRequests = [{ devicesIds: [...ids] }];
    const limits = { timeoutMs: allocateTimeoutMs, signal: this.#signal(signal) };
    return this.#channel.call(Service.method.allocate, { containerRequests }, limits);
  }

  async preStart(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const limits = { timeoutMs: preStartTimeoutMs, signal: this.#signal(signal) };
    await this.#channel.call(Service.method.preStartContainer, { devicesIds: [...ids] }, limits);
  }

  close(): void {
    this.#closed.abort();
    this.#channel.close();
  }

  get isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  #signal(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#closed.signal]);
  }
}

/** Reads the list of a plugin. Devices without an ID or with a repeated ID cannot be used: the result lists them as ignored. */
export function readDevices(reported: readonly PluginDevice[]): {
  readonly devices: readonly Device[];
  readonly ignored: readonly string[];
} {
  const devices = new Map<string, Device>();
  const ignored: string[] = [];
  for (const { ID: id, health, topology } of reported) {
    if (id === "" || devices.has(id)) {
      ignored.push(id);
      continue;
    }
    // An ID that a number cannot represent exactly belongs to no node, and could not be reported as it was received.
    const nodes = (topology?.nodes ?? []).map((node) => Number(node.ID)).filter(Number.isSafeInteger);
    const numaNodes = [...new Set(nodes)];
    devices.set(id, { id, isHealthy: health === "Healthy", numaNodes });
  }
  return { devices: [...devices.values()], ignored };
}
