import type { InterfaceCount } from "../../lib/host/network-usage.ts";
import type { NetworkStats } from "../../lib/model/stats-summary.ts";

/** The one whose numbers stand for all, where there is one of this name. */
const mainInterface = "eth0";

export function networkStats(time: string, counts: readonly InterfaceCount[]): NetworkStats {
  const interfaces = counts.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({
    ...{ name, rxBytes, rxErrors, txBytes, txErrors },
  }));
  const main = interfaces.find(({ name }) => name === mainInterface);
  return { time, ...(main ?? { name: "" }), interfaces };
}
