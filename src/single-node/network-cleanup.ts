import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "../lib/base/errors.ts";
import { removeLinks } from "../lib/host/bridge.ts";
import type { ProgramCall, ProgramOption } from "../lib/host/start-program.ts";
import { hasSharedChains, planRuleRemoval, restoreScript } from "./cni-rules.ts";
import type { NodeFiles } from "./node-files.ts";
import { findProgram } from "./requirements.ts";
import { run } from "./run.ts";

/** libcni caches its results here, regardless of its configuration. */
const cniCache = "/var/lib/cni/results";

/** Records whether the chains that all users of host ports share existed before the node. */
export async function recordSharedChains(files: NodeFiles): Promise<void> {
  const save = findProgram("iptables-save");
  if (!save) return;
  // A kernel without a nat table has no chains either; the first pod will report the error.
  const table = await run(listing(save)).catch(() => "");
  if (hasSharedChains(table)) writeFileSync(sharedChainsMarker(files), "");
}

/**
 * Removes bridge, veth pairs, iptables rules and cached results of a node's network; resolves with those that could not
 * be removed.
 */
export async function removeNetwork(files: NodeFiles): Promise<string[]> {
  const remaining: string[] = [];
  try {
    await removeRules(files);
  } catch (error) {
    remaining.push(`iptables rules of ${files.network}: ${messageOf(error)}`);
  }
  removeCachedResults(files.network);
  remaining.push(...(await removeBridge(files.bridge)));
  return remaining;
}

async function removeRules(files: NodeFiles): Promise<void> {
  const [iptables, save] = [findProgram("iptables"), findProgram("iptables-save")];
  // Without a network the node has no rules, and running iptables would create its tables.
  if (!iptables || !save || !existsSync(files.cni.conf)) return;
  const table = await run(listing(save));
  const removal = planRuleRemoval(table, files.network, !existsSync(sharedChainsMarker(files)));
  for (const change of removal.own) {
    const options: ProgramOption[] = [
      ["-w", "5"],
      ["-t", "nat"],
    ];
    await run({ program: iptables, options, verbatim: change });
  }
  const restore = findProgram("iptables-restore");
  if (!restore || removal.shared.length === 0) return;
  const input = restoreScript(removal.shared);
  // It fails if another node has started to use the chains; that node removes them later.
  await run({ program: restore, options: [["-w", "5"], "--noflush"] }, { input }).catch(() => {});
}

function listing(save: string): ProgramCall {
  return { program: save, options: [["-t", "nat"]] };
}

function sharedChainsMarker(files: NodeFiles): string {
  return join(dirname(files.cni.conf), "host-ports-in-use-before");
}

function removeCachedResults(network: string): void {
  if (!existsSync(cniCache)) return;
  const names = readdirSync(cniCache);
  const ownResults = names.filter((name) => name.startsWith(`${network}-`) && isResultOf(name, network));
  const ids = ownResults.map((name) => name.slice(network.length + 1).split("-")[0]!);
  const loopbacks = names.filter((name) => ids.some((id) => name === `cni-loopback-${id}-lo`));
  for (const name of [...ownResults, ...loopbacks]) rmSync(join(cniCache, name), { force: true });
}

/** "<network>-<sandbox id>-<interface>": a node "a" must not remove the results of a node "a-b". */
function isResultOf(name: string, network: string): boolean {
  return /^[0-9a-f]{12,64}-[^-]+$/.test(name.slice(network.length + 1));
}

/**
 * The kernel removes veth pairs with their network namespace, but each mount namespace that another container engine has created may
 * still have the bind mount of the network namespace, which keeps it: the ports are removed by name.
 */
async function removeBridge(bridge: string): Promise<string[]> {
  const ports = `/sys/class/net/${bridge}/brif`;
  if (!existsSync(ports)) return [];
  const links = [...readdirSync(ports), bridge];
  try {
    await removeLinks(links);
  } catch (error) {
    return [messageOf(error)];
  }
  return links.filter((name) => existsSync(`/sys/class/net/${name}`)).map((name) => `link ${name}`);
}
