/** How far the two clocks may differ before the monotonic one is adjusted: the time was set. */
const toleranceMs = 20;

/** Wall time with fractions of a millisecond, which the system clock does not have, and close to it. */
export class WallClock {
  readonly #wall: () => number;
  readonly #monotonic: () => number;
  #offset: number;

  constructor(wall: () => number = Date.now, monotonic: () => number = () => performance.now()) {
    this.#wall = wall;
    this.#monotonic = monotonic;
    this.#offset = wall() - monotonic();
  }

  now(): number {
    const wall = this.#wall();
    const monotonic = this.#monotonic();
    if (Math.abs(wall - monotonic - this.#offset) > toleranceMs) this.#offset = wall - monotonic;
    return this.#offset + monotonic;
  }
}
