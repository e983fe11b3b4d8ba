/** A change to the nat table: an iptables argument list (without -t nat). */
export type RuleChange = readonly string[];

const sharedChains = ["CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-SETMARK", "CNI-HOSTPORT-MASQ"];

/** True if another user of the portmap plugin has its chains in this table. */
export function hasSharedChains(natTable: string): boolean {
  return sharedChains.some((chain) => natTable.includes(`\n:${chain} `));
}

export interface RuleRemoval {
  readonly own: readonly RuleChange[];
  /** Must be applied atomically: another node may have started to use the chains since the table was read. */
  readonly shared: readonly RuleChange[];
}

/**
 * The changes that remove the rules of CNI plugins for one network from the nat table. `natTable` is the output of
 * `iptables-save -t nat`. The plugins write the network's name in the comment of each of their rules. The chains that
 * all portmap users share are removed only if they have become empty and `removeShared` is set: they did not exist
 * before the node.
 */
export function planRuleRemoval(natTable: string, network: string, removeShared: boolean): RuleRemoval {
  const rules = natTable
    .split("\n")
    .filter((line) => line.startsWith("-A "))
    .map((line) => splitArguments(line).slice(1));
  const mentions = (rule: readonly string[]) => rule.some((arg) => arg.includes(`name: "${network}"`));
  const chainOf = (rule: readonly string[]) => rule[0] ?? "";
  const targetOf = (rule: readonly string[]) => rule[rule.indexOf("-j") + 1] ?? "";

  const ownRules = rules.filter(mentions);
  const chains = new Set(ownRules.flatMap((r) => [chainOf(r), targetOf(r)]).filter(isPodChain));
  const removedChains = (rule: readonly string[]) => mentions(rule) || chains.has(chainOf(rule));
  const own: RuleChange[] = [
    ...ownRules.filter((rule) => !chains.has(chainOf(rule))).map((rule) => ["-D", ...rule]),
    ...[...chains].map((chain) => ["-F", chain]),
    ...[...chains].map((chain) => ["-X", chain]),
  ];
  const remaining = rules.filter((rule) => !removedChains(rule));
  const inUse = remaining.some((rule) => chainOf(rule) === "CNI-HOSTPORT-DNAT");
  if (!removeShared || inUse) return { own, shared: [] };
  const present = sharedChains.filter((chain) => natTable.includes(`\n:${chain} `));
  const jumps = remaining.filter(
    (rule) => !present.includes(chainOf(rule)) && present.includes(targetOf(rule)),
  );
  const shared: RuleChange[] = [
    ...jumps.map((rule) => ["-D", ...rule]),
    // The chain with the rules of pods is not flushed: while it has a rule, its removal fails, and with it the transaction.
    ...present.filter((chain) => chain !== "CNI-HOSTPORT-DNAT").map((chain) => ["-F", chain]),
    ...present.map((chain) => ["-X", chain]),
  ];
  return { own, shared };
}

/** The changes as one transaction for `iptables-restore --noflush`. */
export function restoreScript(changes: readonly RuleChange[]): string {
  const quoted = (arg: string) => (/[\s"\\]/.test(arg) ? `"${arg.replace(/["\\]/g, "\\$&")}"` : arg);
  return ["*nat", ...changes.map((change) => change.map(quoted).join(" ")), "COMMIT", ""].join("\n");
}

/** Chains that the bridge (CNI-<hash>) and portmap (CNI-DN-<hash>) plugins create for one pod. */
function isPodChain(name: string): boolean {
  return /^CNI-(DN-)?[0-9a-f]{8,}$/.test(name);
}

/** Arguments as iptables-save prints them: quoted if they contain spaces, with backslash escapes in quotes. */
function splitArguments(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map((m) =>
    m[1] === undefined ? m[2]! : m[1].replace(/\\(.)/g, "$1"),
  );
}
