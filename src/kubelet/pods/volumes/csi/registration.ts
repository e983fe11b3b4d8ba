import type { Clock } from "../../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import { failureLog } from "../../../../lib/base/failure-log.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { requireDriverName } from "../../../../lib/clients/plugin-rpc/driver-name.ts";
import {
  type OpenPlugin,
  openPlugin,
  SocketChanged,
} from "../../../../lib/clients/plugin-rpc/plugin-channel.ts";
import { maxErrorLength, shortened } from "../../../../lib/clients/plugin-rpc/shortened.ts";
import type { Plugin } from "../../../plugins/plugin-handler.ts";
import { CsiClient } from "./csi-client.ts";
import { csiText } from "./csi-failure.ts";
import type { CsiMetrics } from "./csi-metrics.ts";
import type { CsiNodeInfo } from "./csi-node.ts";
import { type CsiVersion, highestVersion, showVersion } from "./csi-version.ts";
import type { DriverStore } from "./driver-store.ts";

export interface CsiRegistrationOptions {
  readonly drivers: DriverStore;
  /** Undefined without a cluster. */
  readonly node: CsiNodeInfo | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: CsiMetrics;
  readonly open?: OpenPlugin;
  /** A driver was registered or deregistered. */
  readonly onChange?: (driver: string) => void;
}

/** How long an unreachable API server may block the removal of a driver from the node's objects. */
const uninstallTimeoutMs = 10_000;

/** Registers CSI drivers: the handler of plugins of type CSIPlugin. */
export class CsiRegistration {
  readonly #o: CsiRegistrationOptions;

  constructor(options: CsiRegistrationOptions) {
    this.#o = options;
  }

  validate(plugin: Plugin): void {
    try {
      requireDriverName(plugin.name);
      this.#version("ValidatePlugin", plugin);
    } catch (error) {
      const { endpoint } = plugin;
      const name = shortened(plugin.name, maxErrorLength);
      const message = `validation failed for CSI Driver ${name} at endpoint ${endpoint}: ${messageOf(error)}`;
      throw new KubeletError("CsiDriver", message, { cause: error });
    }
  }

  async register(plugin: Plugin, signal: AbortSignal): Promise<void> {
    const { drivers, node, clock, metrics, open, onChange } = this.#o;
    const { name, endpoint } = plugin;
    const version = this.#version("RegisterPlugin", plugin);
    const channel = open ? open(endpoint) : openPlugin(endpoint, clock);
    const client = new CsiClient(name, channel, clock, metrics);
    try {
      drivers.set(name, { endpoint, version, client });
      const info = await client.nodeInfo(signal);
      await node?.install(name, info, signal);
    } catch (error) {
      // When the agent stops, the driver keeps running, and the next agent re-registers it.
      if (signal.aborted && !(signal.reason instanceof SocketChanged)) drivers.delete(name);
      else await this.#removeDriver(name);
      throw error;
    }
    onChange?.(name);
  }

  async deregister(plugin: Plugin): Promise<void> {
    await this.#removeDriver(plugin.name);
    this.#o.onChange?.(plugin.name);
  }

  async #removeDriver(name: string): Promise<void> {
    const { drivers, node, clock, logger } = this.#o;
    drivers.delete(name);
    if (!node) return;
    const abort = new AbortController();
    const cancel = clock.after(uninstallTimeoutMs, () => abort.abort());
    try {
      await node.uninstall(name, abort.signal);
    } catch (error) {
      failureLog(
        logger,
        "warn",
        error,
      )("Failed to remove CSI driver from the node's objects", {
        driver: name,
        err: messageOf(error),
      });
    } finally {
      cancel();
    }
  }

  #version(caller: string, { name, versions }: Plugin): CsiVersion {
    const failed = (why: string) => {
      const message = csiText(`${caller} for CSI driver "${name}" failed. ${why}`);
      return new KubeletError("CsiDriver", message);
    };
    if (versions.length === 0) throw failed("Plugin returned an empty list for supported versions");
    let version: CsiVersion;
    try {
      version = highestVersion(versions);
    } catch (error) {
      const list = versions.map((text) => JSON.stringify(text)).join(" ");
      throw failed(`None of the versions specified [${list}] are supported. err=${messageOf(error)}`);
    }
    const known = this.#o.drivers.registeredIfNotOlder(name, version);
    if (!known) return version;
    const why = "Another driver with the same name is already registered with a higher supported version";
    throw failed(`${why}: "${showVersion(known)}"`);
  }
}
