import { type Clock, msFromNow } from "../../../../lib/base/clock.ts";
import { type MonotonicTime, msBetween } from "../../../../lib/base/time.ts";
import type { DockerConfig } from "../docker-config.ts";
import type { CacheKeyType } from "./provider-exchange.ts";

interface CacheEntry {
  readonly auth: DockerConfig;
  readonly until: MonotonicTime;
}

const purgeMs = 15 * 60_000;
/** Authors of pods choose the names of images. */
const maxEntries = 1000;

/** Responses of a plugin until they expire: for one image, for a registry, or for all. */
export class ProviderCache {
  readonly #clock: Clock;
  readonly #entries = new Map<string, CacheEntry>();
  #purgedAt: MonotonicTime;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#purgedAt = clock.monotonic();
  }

  get size(): number {
    return this.#entries.size;
  }

  /** `account`: the service account that the response is cached for, if the plugin gets tokens. */
  get(image: string, account: string): DockerConfig | undefined {
    const now = this.#clock.monotonic();
    if (msBetween(this.#purgedAt, now) > purgeMs) this.#purge(now);
    for (const type of ["Image", "Registry", "Global"] as const) {
      const entry = this.#entries.get(keyOf(type, image, account));
      if (entry && now <= entry.until) return entry.auth;
    }
    return undefined;
  }

  set(type: CacheKeyType, image: string, account: string, auth: DockerConfig, forMs: number): void {
    const key = keyOf(type, image, account);
    this.#entries.delete(key);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= maxEntries && oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(key, { auth, until: msFromNow(this.#clock, forMs) });
  }

  #purge(now: MonotonicTime): void {
    this.#purgedAt = now;
    for (const [key, { until }] of this.#entries) if (now > until) this.#entries.delete(key);
  }
}

function keyOf(type: CacheKeyType, image: string, account: string): string {
  const [registry = ""] = image.split("/");
  const what = { Image: image, Registry: registry, Global: "" }[type];
  return JSON.stringify([type, what, account]);
}
