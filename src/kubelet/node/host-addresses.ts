import { type Clock, sleep } from "../../lib/base/clock.ts";
import { addressesOfName, defaultRouteAddresses, interfaceAddresses } from "../../lib/host/host-addresses.ts";
import type { AddressInfo } from "./addresses.ts";

const resolveWithinMs = 1000;

interface HostAddressesOptions extends Pick<AddressInfo, "nodeName" | "nodeIps" | "externalCloudProvider"> {
  readonly clock: Clock;
}

/** The addresses of the host. */
export class HostAddresses {
  readonly #o: HostAddressesOptions;
  #resolvedIps: readonly string[] = [];

  constructor(options: HostAddressesOptions) {
    this.#o = options;
  }

  async read(): Promise<AddressInfo> {
    const { nodeName, nodeIps, externalCloudProvider } = this.#o;
    const interfaces = interfaceAddresses();
    return {
      hostname: nodeName,
      nodeName,
      nodeIps,
      externalCloudProvider,
      hostIps: Object.values(interfaces).flat(),
      resolvedIps: nodeIps.length > 0 ? [] : await this.#resolve(),
      defaultRouteIps: await defaultRouteAddresses(interfaces),
    };
  }

  /** A resolver that hangs must not delay the heartbeat: its last result is used until a new one arrives. */
  async #resolve(): Promise<readonly string[]> {
    const { nodeName, clock } = this.#o;
    const lookup = addressesOfName(nodeName).then((found) => {
      this.#resolvedIps = found;
    });
    const waited = new AbortController();
    await Promise.race([lookup, sleep(clock, resolveWithinMs, waited.signal).catch(() => {})]);
    waited.abort();
    return this.#resolvedIps;
  }
}
