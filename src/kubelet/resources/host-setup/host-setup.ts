import { type Clock, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { resolvedServersFile } from "../../../lib/host/resolver-file.ts";
import type { Sysctls } from "../../../lib/host/sysctls.ts";
import type { NodeEvents } from "../../../lib/model/pod-events.ts";
import { ensureKernelTunables, type TunableBehavior, type UserNamespaceSupport } from "./kernel-tunables.ts";

export interface HostSetupOptions {
  readonly failSwapOn: boolean;
  readonly isSwapOn: () => Promise<boolean>;
  /** Whether the tmpfs of memory-backed volumes can be kept out of swap. */
  readonly supportsNoswap: () => Promise<boolean>;
  readonly events: Pick<NodeEvents, "warning">;
  readonly tunables: TunableBehavior;
  readonly sysctls: Sysctls;
  readonly userNamespace: () => Promise<UserNamespaceSupport>;
  readonly oomScoreAdj: number;
  /** Sets oom_score_adj of the agent. */
  readonly setOomScoreAdj: (value: number) => Promise<void>;
  /** Path of the resolver configuration that pods get, if its servers cannot be reached from pods; otherwise undefined. */
  readonly unreachableResolvConf: () => Promise<string | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A process that started the agent may reset its score. */
const everyMs = 5 * 60_000;

const mayBeSwapped =
  "The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) " +
  "might be swapped to disk and should no longer be considered secure.";

/** Settings of the machine and of the agent's process that a kubelet needs. Startup fails if they cannot be applied. */
export class HostSetup implements Component {
  readonly name = "host-setup";
  readonly #o: HostSetupOptions;
  #loop: Promise<void> = Promise.resolve();
  #failed = false;

  constructor(options: HostSetupOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { failSwapOn, isSwapOn, supportsNoswap, tunables, sysctls, userNamespace, logger } = this.#o;
    const swaps = await isSwapOn();
    if (failSwapOn && swaps)
      throw new KubeletError(
        "SwapOn",
        "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false",
      );
    if (swaps && !(await supportsNoswap()))
      this.#o.events.warning("PossibleMemoryBackedVolumesOnDisk", mayBeSwapped);
    await ensureKernelTunables(tunables, { sysctls, logger, userNamespace: await userNamespace() });
    await this.#checkResolvConf();
    await this.#adjust();
    this.#loop = this.#run(signal);
  }

  /** The file is used as configured: a CNI plugin may make its servers reachable. */
  async #checkResolvConf(): Promise<void> {
    const path = await this.#o.unreachableResolvConf();
    if (path !== undefined)
      this.#o.logger.warn(
        "Nameservers on the loopback network cannot be reached from pods, check resolvConf",
        {
          path,
          withSystemdResolved: resolvedServersFile,
        },
      );
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await sleep(this.#o.clock, everyMs, signal);
        await this.#adjust();
      }
    } catch (error) {
      if (!isAbort(error)) throw error;
    }
  }

  /** An agent without the privilege for it (CAP_SYS_RESOURCE) works, but may be killed before containers are. */
  async #adjust(): Promise<void> {
    const { oomScoreAdj, setOomScoreAdj, logger } = this.#o;
    try {
      await setOomScoreAdj(oomScoreAdj);
      this.#failed = false;
    } catch (error) {
      if (!this.#failed) logger.warn("Failed to ApplyOOMScoreAdj", { oomScoreAdj, err: messageOf(error) });
      this.#failed = true;
    }
  }
}
