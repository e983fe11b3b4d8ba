import type { PodUsage, Usage, UsageHistory, UsageSample, UsageSeries } from "../protocol.ts";

const fields = ["cpu", "memory", "disk", "rx", "tx"] as const;

/** How many points of each pod the snapshot has: enough for a small chart in the list. */
const recentPoints = 60;

/** Five numbers for each slot; NaN: no value. Single precision is exact enough for a chart. */
class Ring {
  readonly #values: Float32Array;

  constructor(slots: number) {
    this.#values = new Float32Array(slots * fields.length).fill(Number.NaN);
  }

  set(slot: number, usage: Usage | undefined): void {
    for (const [i, field] of fields.entries())
      this.#values[slot * fields.length + i] = usage?.[field] ?? Number.NaN;
  }

  series(slots: readonly number[]): UsageSeries {
    const column = (i: number) =>
      slots.map((slot) => {
        const value = this.#values[slot * fields.length + i] ?? Number.NaN;
        if (Number.isNaN(value)) return null;
        return i === 0 ? Math.round(value * 1e4) / 1e4 : Math.round(value);
      });
    const [cpu = [], memory = [], disk = [], rx = [], tx = []] = fields.map((_, i) => column(i));
    return { cpu, memory, disk, rx, tx };
  }
}

/** The samples of the last hour. A pod costs 20 bytes per sample, and nothing once it is gone. */
export class UsageRings {
  readonly #slots: number;
  readonly #intervalMs: number;
  readonly #times: number[] = [];
  readonly #node: Ring;
  readonly #pods = new Map<string, Ring>();
  /** The number of samples so far. */
  #count = 0;

  constructor(slots: number, intervalMs: number) {
    this.#slots = slots;
    this.#intervalMs = intervalMs;
    this.#node = new Ring(slots);
  }

  add({ at, node, pods }: UsageSample): void {
    const slot = this.#count % this.#slots;
    this.#count++;
    this.#times[slot] = at;
    this.#node.set(slot, node);
    for (const uid of Object.keys(pods)) if (!this.#pods.has(uid)) this.#pods.set(uid, new Ring(this.#slots));
    for (const [uid, ring] of this.#pods) ring.set(slot, pods[uid]);
  }

  removePod(uid: string): void {
    this.#pods.delete(uid);
  }

  history(): UsageHistory {
    const slots = this.#order();
    const recent = slots.slice(-recentPoints);
    return {
      intervalMs: this.#intervalMs,
      times: slots.map((slot) => this.#times[slot] ?? 0),
      node: this.#node.series(slots),
      pods: Object.fromEntries([...this.#pods].map(([uid, ring]) => [uid, ring.series(recent)])),
    };
  }

  pod(uid: string): PodUsage {
    const slots = this.#order();
    const ring = this.#pods.get(uid);
    return {
      intervalMs: this.#intervalMs,
      times: ring ? slots.map((slot) => this.#times[slot] ?? 0) : [],
      series: (ring ?? new Ring(0)).series(ring ? slots : []),
    };
  }

  /** The used slots, the oldest first. */
  #order(): number[] {
    const used = Math.min(this.#count, this.#slots);
    return Array.from({ length: used }, (_, i) => (this.#count - used + i) % this.#slots);
  }
}
