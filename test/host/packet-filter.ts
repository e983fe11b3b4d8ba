import assert from "node:assert/strict";
import type { NetworkNamespace } from "./network-namespace.ts";

/** The commands that show a packet filter. */
export const filterCommands = ["iptables-save", "ip6tables-save", "nft list ruleset"] as const;

/** The lines of each command, without counters and the empty built-in chains. */
export type FilterState = Readonly<Record<(typeof filterCommands)[number], readonly string[]>>;

export function readFilter(namespace: NetworkNamespace, path: string): FilterState {
  const output = (command: string) => {
    const result = namespace.run(path, command.split(" "));
    assert.equal(result.status, 0, `${command}: ${result.output}`);
    return result.output;
  };
  return {
    "iptables-save": savedLines(output("iptables-save")),
    "ip6tables-save": savedLines(output("ip6tables-save")),
    "nft list ruleset": rulesetLines(output("nft list ruleset")),
  };
}

/** "filter :KUBE-FIREWALL" for a chain, "filter -A INPUT -j KUBE-FIREWALL" for a rule. Rules keep their order. */
function savedLines(output: string): string[] {
  const chains: string[] = [];
  const rules: string[] = [];
  let table = "";
  for (const line of output.split("\n")) {
    if (line.startsWith("*")) table = line.slice(1);
    else if (/^:\S+ - /.test(line)) chains.push(`${table} ${line.replace(/ .*/, "")}`);
    else if (line.startsWith("-A ")) rules.push(`${table} ${line}`);
  }
  return [...chains.sort(byChain), ...rules];
}

/**
 * "ip mangle KUBE-IPTABLES-HINT" for a chain, "ip filter INPUT jump KUBE-FIREWALL" for a rule: its verdict. How nft shows matches of
 * iptables depends on its version. Rules keep their order.
 */
function rulesetLines(output: string): string[] {
  const chains: string[] = [];
  const rules: string[] = [];
  let table = "";
  let chain = "";
  for (const line of output.split("\n")) {
    table = /^table (\S+ \S+) \{/.exec(line)?.[1] ?? table;
    const begun = /^\tchain (\S+) \{/.exec(line)?.[1];
    const verdict = /^\t\t.*?((?:jump \S+|accept|drop))$/.exec(line)?.[1];
    if (begun) chain = `${table} ${begun}`;
    if (begun && !/^[A-Z]+$/.test(begun)) chains.push(chain);
    if (verdict) rules.push(`${chain} ${verdict}`);
  }
  return [...chains.sort(byChain), ...rules.sort(byChain)];
}

/** By family, table and chain: the rules of a chain keep their order. */
function byChain(a: string, b: string): number {
  const chainOf = (line: string) => line.split(" ").slice(0, 3).join(" ");
  const [first, second] = [chainOf(a), chainOf(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}
