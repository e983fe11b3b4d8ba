import { readFile } from "node:fs/promises";
import { errnoOf } from "../base/errors.ts";

export interface InterfaceCounters {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

/** The counters of the interfaces in the network namespace of a process, without loopback. Undefined if the process has exited. */
export async function readNetworkUsage(pid: number | "self"): Promise<InterfaceCounters[] | undefined> {
  try {
    return parseNetDev(await readFile(`/proc/${pid}/net/dev`, "utf8")).filter(({ name }) => isCounted(name));
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ESRCH" || errnoOf(error) === "EINVAL")
      return undefined;
    throw error;
  }
}

/** The bytes that the interfaces of this process have received, as above. */
export async function readReceivedBytes(): Promise<number | undefined> {
  const interfaces = await readNetworkUsage("self");
  return interfaces?.reduce((sum, { rxBytes }) => sum + rxBytes, 0);
}

/** False for host ends of veth pairs and for bridges, which would count the traffic of pods twice. */
function isCounted(name: string): boolean {
  return name !== "lo" && !/^(veth|docker|nerdctl)/.test(name);
}

export function parseNetDev(text: string): InterfaceCounters[] {
  return text.split("\n").flatMap((line) => {
    const at = line.lastIndexOf(":");
    if (at < 0) return [];
    const values = line
      .slice(at + 1)
      .trim()
      .split(/\s+/)
      .map(Number);
    if (values.length < 16 || values.some(Number.isNaN)) return [];
    const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0, , , , , txBytes = 0, txPackets = 0] =
      values;
    const [txErrors = 0, txDropped = 0] = values.slice(10);
    const name = line.slice(0, at).trim();
    return [{ name, rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors, txDropped }];
  });
}
