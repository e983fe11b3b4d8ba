import { KeyedLocks } from "../../../lib/base/keyed-locks.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { HintProvider } from "../../../lib/model/topology.ts";

/** Releases the locks of some hint providers before the work is complete. */
export type Unlock = (hintProviders: readonly HintProvider[]) => void;

/** The locks of hint providers, always taken in the same order, so that pods cannot deadlock. */
export class HintProviderLocks {
  readonly #locks = new KeyedLocks();

  /** Runs the work while it holds the locks of all of these hint providers. Rejects if the signal is aborted while it waits for one. */
  async run<T>(
    pod: Pod,
    hintProviders: readonly HintProvider[],
    work: (unlock: Unlock) => Promise<T>,
    { signal, onWait }: { signal: AbortSignal; onWait: (provider: HintProvider) => void },
  ): Promise<T> {
    const held = new Map<HintProvider, Disposable>();
    const unlock: Unlock = (some) => {
      for (const provider of some) {
        held.get(provider)?.[Symbol.dispose]();
        held.delete(provider);
      }
    };
    try {
      for (const provider of hintProviders) {
        if (provider.lock || this.#locks.isHeld(provider.name)) onWait(provider);
        held.set(
          provider,
          await (provider.lock?.(pod, signal) ?? this.#locks.acquire([provider.name], signal)),
        );
      }
      return await work(unlock);
    } finally {
      unlock([...held.keys()]);
    }
  }
}
