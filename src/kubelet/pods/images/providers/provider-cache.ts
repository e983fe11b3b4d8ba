import { type Clock, msFromNow } from "../../../../lib/base/clock.ts";
import { type MonotonicTime, msBetween } from "../../../../lib/base/time.ts";
import type { DockerConfig } from "../docker-config.ts";
import type { CacheKeyType } from "./provider-exchange.ts";

interface Kept {
  readonly auth: DockerConfig;
  readonly until: MonotonicTime;
}

const purgeMs = 15 * 60_000;

/** What a program gave, for as long as it is good: for one image, for a registry, or for all. */
export class ProviderCache {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  #purgedAt: MonotonicTime;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#purgedAt = clock.monotonic();
  }

  get size(): number {
    return this.#kept.size;
  }

  /** `account`: for whom, where that matters. */
  get(image: string, account: string): DockerConfig | undefined {
    const now = this.#clock.monotonic();
    if (msBetween(this.#purgedAt, now) > purgeMs) this.#purge(now);
    for (const type of ["Image", "Registry", "Global"] as const) {
      const kept = this.#kept.get(keyOf(type, image, account));
      if (kept && now <= kept.until) return kept.auth;
    }
    return undefined;
  }

  put(type: CacheKeyType, image: string, account: string, auth: DockerConfig, forMs: number): void {
    this.#kept.set(keyOf(type, image, account), { auth, until: msFromNow(this.#clock, forMs) });
  }

  #purge(now: MonotonicTime): void {
    this.#purgedAt = now;
    for (const [key, { until }] of this.#kept) if (now > until) this.#kept.delete(key);
  }
}

function keyOf(type: CacheKeyType, image: string, account: string): string {
  const [registry = ""] = image.split("/");
  const what = { Image: image, Registry: registry, Global: "" }[type];
  return JSON.stringify([type, what, account]);
}
