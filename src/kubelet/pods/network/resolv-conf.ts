import { KubeletError } from "../../../lib/base/errors.ts";

export interface DnsConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export const emptyDns: DnsConfig = { servers: [], searches: [], options: [] };

/** Nameservers accumulate, the last search line is used, an option replaces an earlier one of its name. */
export function parseResolvConf(text: string): DnsConfig {
  const servers: string[] = [];
  let searches: string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    switch (keyword) {
      case "nameserver":
        if (values[0] === undefined) throw new KubeletError("ResolvConf", "nameserver list is empty");
        servers.push(values[0]);
        break;
      case "search":
        searches = values.filter((value) => value !== ".").map((value) => value.replace(/\.$/, ""));
        break;
      case "options":
        for (const option of values) options.set(option.split(":")[0] ?? option, option);
        break;
    }
  }
  return { servers, searches, options: [...options.values()] };
}
