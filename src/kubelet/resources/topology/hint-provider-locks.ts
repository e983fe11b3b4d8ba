import { ConcurrencyLimiter } from "../../../lib/base/concurrency-limiter.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { HintProvider } from "../../../lib/model/topology.ts";

/** Releases the locks of some hint providers before the work is complete. */
export type Unlock = (hintProviders: readonly HintProvider[]) => void;

/** The locks of hint providers, always taken in the same order, so that pods cannot deadlock. */
export class HintProviderLocks {
  readonly #limiters = new Map<HintProvider, ConcurrencyLimiter>();

  /** Runs the work while it holds the locks of all of these hint providers. Rejects if the signal is aborted while it waits for one. */
  async run<T>(
    pod: Pod,
    hintProviders: readonly HintProvider[],
    work: (unlock: Unlock) => Promise<T>,
    { signal, onWait }: { signal: AbortSignal; onWait: (provider: HintProvider) => void },
  ): Promise<T> {
    const held = new Map<HintProvider, () => void>();
    const unlock: Unlock = (some) => {
      for (const provider of some) {
        held.get(provider)?.();
        held.delete(provider);
      }
    };
    try {
      for (const provider of hintProviders) {
        const limiter = provider.lock ? undefined : this.#limiterOf(provider);
        if (!limiter || limiter.running > 0) onWait(provider);
        held.set(
          provider,
          (await (limiter ? enter(limiter, signal) : provider.lock?.(pod, signal))) ?? (() => {}),
        );
      }
      return await work(unlock);
    } finally {
      unlock([...held.keys()]);
    }
  }

  #limiterOf(provider: HintProvider): ConcurrencyLimiter {
    const limiter = this.#limiters.get(provider) ?? new ConcurrencyLimiter(1);
    this.#limiters.set(provider, limiter);
    return limiter;
  }
}

/** Resolves to a function that releases the limiter. */
function enter(limiter: ConcurrencyLimiter, signal: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    limiter.run(() => new Promise<void>(resolve), { signal }).catch(reject);
  });
}
