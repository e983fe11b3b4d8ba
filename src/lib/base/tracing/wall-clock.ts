/** A larger difference between the two clocks means that the system time was set. */
const toleranceMs = 20;

/** Wall time with a resolution below a millisecond, which Date.now() lacks. It never differs much from Date.now(). */
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
