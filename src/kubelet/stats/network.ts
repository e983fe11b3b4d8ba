import type { InterfaceCounters } from "../../lib/host/network-usage.ts";
import type { NetworkStats } from "../../lib/model/stats-summary.ts";

/** The default interface, whose counters represent the network. */
const mainInterface = "eth0";

export function networkStats(time: string, counts: readonly InterfaceCounters[]): NetworkStats {
  const interfaces = counts.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({
    name,
    rxBytes,
    rxErrors,
    txBytes,
    txErrors,
  }));
  const main = interfaces.find(({ name }) => name === mainInterface);
  return { time, ...(main ?? { name: "" }), interfaces };
}
