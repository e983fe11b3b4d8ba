import { isIPv4 } from "node:net";
import { parseIp } from "../../base/ip-address.ts";

export interface NodeIps {
  readonly ips: readonly string[];
  /** Text that is not an address, and is ignored. */
  readonly invalid: readonly string[];
  readonly problem?: string;
}

/** The value of --node-ip: none, one address, or one of each family. */
export function parseNodeIps(text: string): NodeIps {
  const parts = text === "" ? [] : text.split(",").map((part) => part.trim());
  const ips = parts.flatMap((part) => parseIp(part) ?? []);
  const invalid = parts.filter((part) => parseIp(part) === undefined);
  const [first = "", second] = ips;
  if (ips.length > 2 || (second !== undefined && isIPv4(first) === isIPv4(second)))
    return { ips, invalid, problem: "must contain either a single IP or a dual-stack pair of IPs" };
  if (second !== undefined && ips.some((ip) => ip === "0.0.0.0" || ip === "::"))
    return { ips, invalid, problem: "dual-stack node IP cannot include '0.0.0.0' or '::'" };
  return { ips, invalid };
}
