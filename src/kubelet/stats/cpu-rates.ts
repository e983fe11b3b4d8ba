import { msBetween, type WallTime } from "../../lib/base/time.ts";

interface Sample {
  readonly at: WallTime;
  readonly usageNs: number;
}

interface Samples {
  /** The sample that the newest is compared with. */
  readonly base: Sample;
  readonly newest: Sample;
}

/** A shorter interval between two samples is too imprecise. */
const shortestMs = 1000;
/** Entries not requested in this time are dropped. */
const forgetMs = 10 * 60_000;

/** Current CPU usage: the rate between two samples of a counter. */
export class CpuRates {
  readonly #samples = new Map<string, Samples>();

  /** The usage in nanocores. Until there are two samples, it is the average since `startedAt`. */
  rate(key: string, at: WallTime, usageNs: number, startedAt: WallTime): number {
    const sample = { at, usageNs };
    const known = this.#samples.get(key);
    // Less than before: another container of the same name, or the counter was reset.
    if (!known || usageNs < known.newest.usageNs || at < known.newest.at) {
      this.#samples.set(key, { base: { at: startedAt, usageNs: 0 }, newest: sample });
      return perSecond({ at: startedAt, usageNs: 0 }, sample);
    }
    const base = msBetween(known.newest.at, at) >= shortestMs ? known.newest : known.base;
    if (base === known.newest) this.#samples.set(key, { base, newest: sample });
    return perSecond(base, sample);
  }

  prune(now: WallTime): void {
    for (const [key, { newest }] of this.#samples)
      if (msBetween(newest.at, now) > forgetMs) this.#samples.delete(key);
  }
}

function perSecond(from: Sample, to: Sample): number {
  const ms = msBetween(from.at, to.at);
  return ms <= 0 ? 0 : Math.round(((to.usageNs - from.usageNs) / ms) * 1000);
}
