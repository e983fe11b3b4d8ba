import { type Clock, msSince, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Iptables } from "../../../lib/host/iptables.ts";
import { canary, utilityChains } from "./utility-chains.ts";

export interface IptablesChainsOptions {
  /** One for each IP family. */
  readonly iptables: readonly Iptables[];
  readonly clock: Clock;
  readonly logger: Logger;
}

const everyMs = 60_000;
/** A firewall reload flushes the tables one at a time. */
const flushPollMs = 100;
const flushTimeoutMs = 5_000;

/**
 * Keeps the utility chains in iptables. A canary chain shows whether another program has flushed the tables.
 * The chains are kept when the agent stops: the containers and other users of them keep running.
 */
export class IptablesChains implements Component {
  readonly name = "iptables-chains";
  readonly #o: IptablesChainsOptions;
  #loops: Promise<void> = Promise.resolve();

  constructor(options: IptablesChainsOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#loops;
  }

  /** Returns immediately: the agent does not need the chains, and iptables may have to wait for other programs. */
  async start(signal: AbortSignal): Promise<void> {
    this.#loops = this.#run(signal).catch((error: unknown) => {
      if (!isAbort(error)) throw error;
    });
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { iptables, logger } = this.#o;
    const present = await Promise.all(iptables.map((family) => family.isPresent(signal)));
    const families = iptables.filter((_, at) => present[at]);
    if (families.length === 0)
      logger.info("No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain");
    await Promise.all(families.map((family) => this.#keep(new FamilyChains(family, logger), signal)));
  }

  async #keep(family: FamilyChains, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    for (let initialized = false; ; ) {
      while (!(await family.ensureChains(signal)) || !(await family.ensureCanaries(signal)))
        await sleep(clock, everyMs, signal);
      if (!initialized) logger.info("Initialized iptables rules.", { protocol: family.iptables.family });
      initialized = true;
      do await sleep(clock, everyMs, signal);
      while (await family.hasCanary(canary.tables[0], signal));
      logger.debug(2, "IPTables canary deleted", { protocol: family.iptables.family, chain: canary.chain });
      await this.#waitForFlush(family, signal);
      logger.debug(2, "Reloading after iptables flush", { protocol: family.iptables.family });
    }
  }

  /** Waits until the flush is complete, which would otherwise remove rules that are added in the meantime. */
  async #waitForFlush(family: FamilyChains, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    const from = clock.monotonic();
    for (const table of canary.tables.slice(1))
      while (await family.hasCanary(table, signal)) {
        if (msSince(clock, from) >= flushTimeoutMs)
          return logger.info("Inconsistent iptables state detected", { protocol: family.iptables.family });
        await sleep(clock, flushPollMs, signal);
      }
  }
}

/** The chains of one IP family; a persistent failure is logged once. */
class FamilyChains {
  readonly iptables: Iptables;
  readonly #logger: Logger;
  #reported = "";

  constructor(iptables: Iptables, logger: Logger) {
    this.iptables = iptables;
    this.#logger = logger;
  }

  /** False if a step failed; the steps after it are then skipped. */
  async ensureChains(signal: AbortSignal): Promise<boolean> {
    for (const step of utilityChains(this.iptables.family)) {
      const ensured = await this.#try(step.failure, signal, () =>
        "chain" in step
          ? this.iptables.ensureChain(step.table, step.chain, signal)
          : this.iptables.ensureRule(step.table, step.rule, signal),
      );
      if (!ensured) return false;
    }
    return true;
  }

  async ensureCanaries(signal: AbortSignal): Promise<boolean> {
    for (const table of canary.tables) {
      const ensured = await this.#try("Could not set up iptables canary", signal, () =>
        this.iptables.ensureChain(table, canary.chain, signal),
      );
      if (!ensured) return false;
    }
    this.#reported = "";
    return true;
  }

  /** True if it cannot be checked: the chains are not recreated because another program holds the lock. */
  async hasCanary(table: (typeof canary.tables)[number], signal: AbortSignal): Promise<boolean> {
    let has = true;
    await this.#try("Could not check for iptables canary", signal, async () => {
      has = await this.iptables.hasChain(table, canary.chain, signal);
      this.#reported = "";
    });
    return has;
  }

  async #try(failure: string, signal: AbortSignal, act: () => Promise<void>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      if (signal.aborted) throw error;
      if (this.#reported !== failure)
        this.#logger.error(failure, { protocol: this.iptables.family, err: messageOf(error) });
      this.#reported = failure;
      return false;
    }
  }
}
