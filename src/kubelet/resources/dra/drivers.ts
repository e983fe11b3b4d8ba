import type { Clock } from "../../../lib/base/clock.ts";
import { KubeletError } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { requireDriverName } from "../../../lib/clients/plugin-rpc/driver-name.ts";
import type { WatchedPluginChannel } from "../../../lib/clients/plugin-rpc/plugin-channel.ts";
import { openWatchedPlugin } from "../../../lib/clients/plugin-rpc/plugin-channel.ts";
import type { ClaimDriver } from "./claim-manager.ts";
import type { DraMetrics } from "./dra-metrics.ts";
import { driverCalls } from "./driver-calls.ts";
import { chosenService } from "./driver-versions.ts";
import type { SliceCleanup } from "./slice-cleanup.ts";

export interface DriversOptions {
  readonly metrics: DraMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly slices: Pick<SliceCleanup, "usable">;
  /** An instance of the driver accepts calls: pods may wait for it. */
  readonly onConnected: (driver: string) => void;
  /** Follows the health of the devices of an instance until the signal is aborted. */
  readonly watchHealth?: (driver: string, channel: WatchedPluginChannel, signal: AbortSignal) => void;
  readonly open?: (endpoint: string) => WatchedPluginChannel;
}

interface Instance {
  readonly endpoint: string;
  readonly calls: ClaimDriver;
  readonly close: () => void;
  isConnected: boolean;
}

interface DriverPlugin {
  readonly name: string;
  readonly endpoint: string;
  readonly versions: readonly string[];
}

/** The registered DRA drivers. During a rolling update a driver has several instances. */
export class DraDrivers {
  readonly #o: DriversOptions;
  /** In the order of their registration. */
  readonly #instances = new Map<string, Instance[]>();

  constructor(options: DriversOptions) {
    this.#o = options;
  }

  validate({ name, endpoint, versions }: DriverPlugin): void {
    requireDriverName(name);
    chosenService(name, endpoint, versions);
  }

  async register({ name, endpoint, versions }: DriverPlugin): Promise<void> {
    const { metrics, clock, logger, watchHealth } = this.#o;
    const service = chosenService(name, endpoint, versions);
    const instances = this.#instances.get(name) ?? [];
    if (instances.some((one) => one.endpoint === endpoint))
      throw new KubeletError(
        "DynamicResources",
        `endpoint ${endpoint} already registered for DRA driver plugin ${name}`,
      );
    const channel = (this.#o.open ?? ((path) => openWatchedPlugin(path, clock)))(endpoint);
    const closed = new AbortController();
    const instance: Instance = {
      endpoint,
      calls: driverCalls({ name, service, channel, metrics }),
      close() {
        closed.abort();
        channel.close();
      },
      isConnected: false,
    };
    this.#instances.set(name, [...instances, instance]);
    channel.watch((isConnected) => {
      if (closed.signal.aborted) return;
      instance.isConnected = isConnected;
      logger.debug(2, "Connection changed", { driver: name, endpoint, isConnected });
      this.#changed(name);
      if (isConnected) this.#o.onConnected(name);
    });
    watchHealth?.(name, channel, closed.signal);
    this.#changed(name);
  }

  async deregister({ name, endpoint }: DriverPlugin): Promise<void> {
    const instances = this.#instances.get(name) ?? [];
    const left = instances.filter((one) => one.endpoint !== endpoint);
    if (left.length > 0) this.#instances.set(name, left);
    else this.#instances.delete(name);
    for (const instance of instances) if (instance.endpoint === endpoint) instance.close();
    this.#changed(name);
  }

  /** The newest instance that is connected, or else the newest. */
  get(name: string): ClaimDriver {
    const instances = this.#instances.get(name) ?? [];
    const chosen = instances.findLast(({ isConnected }) => isConnected) ?? instances.at(-1);
    if (!chosen) throw new KubeletError("DynamicResources", `DRA driver ${name} is not registered`);
    return chosen.calls;
  }

  /** Closes the connections; the drivers remain registered for the next run of the agent. */
  close(): void {
    for (const instance of [...this.#instances.values()].flat()) instance.close();
  }

  #changed(name: string): void {
    const instances = this.#instances.get(name) ?? [];
    this.#o.slices.usable(
      name,
      instances.some(({ isConnected }) => isConnected),
    );
  }
}
