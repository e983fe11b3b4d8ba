import { KubeletError } from "../base/errors.ts";
import type { ProgramOption } from "./start-program.ts";
import { type CommandResult, type Commands, exitText } from "./system-commands.ts";

export type IpFamily = "IPv4" | "IPv6";
export type IptablesTable = "filter" | "mangle" | "nat";

/** One rule, and where it is added if the chain does not have it. */
export interface IptablesRule {
  readonly position: "first" | "last";
  readonly chain: string;
  readonly args: readonly string[];
}

/** The packet filter of one IP family. All calls reject if iptables failed for a reason other than a missing or existing object. */
export interface Iptables {
  readonly family: IpFamily;
  /** Whether the program and the tables of the kernel exist. */
  isPresent(signal: AbortSignal): Promise<boolean>;
  /** Rejects only if iptables could not check, for example because another process holds its lock. */
  hasChain(table: IptablesTable, chain: string, signal: AbortSignal): Promise<boolean>;
  ensureChain(table: IptablesTable, chain: string, signal: AbortSignal): Promise<void>;
  ensureRule(table: IptablesTable, rule: IptablesRule, signal: AbortSignal): Promise<void>;
}

const programs: Readonly<Record<IpFamily, string>> = { IPv4: "iptables", IPv6: "ip6tables" };

/** Seconds to wait for the lock that all users of the legacy variant share. */
const lockSeconds = 5;
/** A listing of a machine with many rules takes minutes. */
const timeoutMs = 5 * 60_000;

/** The operation failed: the chain exists already, or the rule or chain does not exist. */
const exitFailed = 1;
/** iptables could not attempt the operation, because of a lock or of memory. */
const exitResource = 4;

/** Runs the iptables of PATH: it decides between the legacy and the nft variant. */
export function systemIptables(family: IpFamily, commands: Commands): Iptables {
  const run = (
    operation: `-${string}`,
    table: IptablesTable,
    args: readonly string[],
    signal: AbortSignal,
  ) => {
    const [chain = "", ...rest] = args;
    const options: ProgramOption[] = [
      ["-w", `${lockSeconds}`],
      [operation, chain],
      ["-t", table],
    ];
    return commands.run({ program: programs[family], options, verbatim: rest }, { timeoutMs, signal });
  };
  return {
    family,
    async isPresent(signal) {
      const result = await run("-S", "nat", ["POSTROUTING"], signal).catch((error: unknown) => {
        if (signal.aborted) throw error;
        return undefined;
      });
      return result?.code === 0;
    },
    async hasChain(table, chain, signal) {
      const result = await run("-S", table, [chain], signal);
      if (result.code === undefined || result.code === exitResource)
        throw failed(`error listing chain "${chain}" in table "${table}"`, result);
      return result.code === 0;
    },
    async ensureChain(table, chain, signal) {
      const result = await run("-N", table, [chain], signal);
      if (result.code !== 0 && result.code !== exitFailed)
        throw failed(`error creating chain "${chain}"`, result);
    },
    async ensureRule(table, { position, chain, args }, signal) {
      const checked = await run("-C", table, [chain, ...args], signal);
      if (checked.code === 0) return;
      if (checked.code === undefined) throw new KubeletError("Iptables", "timed out while checking rules");
      if (checked.code !== exitFailed) throw failed("error checking rule", checked);
      const added = await run(position === "first" ? "-I" : "-A", table, [chain, ...args], signal);
      if (added.code !== 0) throw failed("error appending rule", added);
    },
  };
}

function failed(what: string, result: CommandResult): KubeletError {
  return new KubeletError("Iptables", `${what}: ${exitText(result)}: ${result.output.trim()}`);
}
