/**
 * When a status is written although nothing in it is new. After a change the next such report comes at a random moment
 * between half and one and a half of the period, so that nodes which changed together do not report together for ever.
 */
export class ReportSchedule {
  readonly #everyMs: number;
  readonly #random: () => number;
  #last: number | undefined;
  #shiftMs = 0;

  constructor(everyMs: number, random: () => number) {
    this.#everyMs = everyMs;
    this.#random = random;
  }

  isDue(now: number): boolean {
    if (this.#last === undefined) return true;
    const age = now - this.#last;
    // A clock that was set back would else keep the report waiting for as long as it was set back.
    return age < 0 || age >= this.#everyMs + this.#shiftMs;
  }

  reported(now: number, changed: boolean): void {
    const shifts = changed || this.#last === undefined;
    this.#shiftMs = shifts ? this.#everyMs * (this.#random() - 0.5) : 0;
    this.#last = now;
  }
}
