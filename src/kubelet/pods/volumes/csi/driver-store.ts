import { KubeletError } from "../../../../lib/base/errors.ts";
import type { CsiClient } from "./csi-client.ts";
import { type CsiVersion, isOlder } from "./csi-version.ts";

export interface RegisteredDriver {
  readonly endpoint: string;
  readonly version: CsiVersion;
  readonly client: CsiClient;
}

/** The drivers that are registered on this node. */
export class DriverStore {
  readonly #drivers = new Map<string, RegisteredDriver>();

  get(name: string): RegisteredDriver | undefined {
    return this.#drivers.get(name);
  }

  set(name: string, driver: RegisteredDriver): void {
    this.#drivers.get(name)?.client.close();
    this.#drivers.set(name, driver);
  }

  delete(name: string): void {
    this.#drivers.get(name)?.client.close();
    this.#drivers.delete(name);
  }

  /** The client of the driver; throws while it is not registered. */
  client(name: string): CsiClient {
    const driver = this.#drivers.get(name);
    if (driver) return driver.client;
    const message = name
      ? `driver name ${name} not found in the list of registered CSI drivers`
      : "driver name is empty";
    throw new KubeletError("CsiDriver", message);
  }

  /** The registered version if it is not older: only a newer version may replace a driver. */
  registeredIfNotOlder(name: string, version: CsiVersion): CsiVersion | undefined {
    const known = this.#drivers.get(name);
    return known && !isOlder(known.version, version) ? known.version : undefined;
  }
}
