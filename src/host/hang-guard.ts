import { type Clock, systemClock } from "../base/clock.ts";
import { KubeletError } from "../base/errors.ts";

/** A call that takes longer than this is taken for one that will not come back. */
const hangsAfterMs = 5_000;
/** The thread pool has four threads unless told otherwise; calls that hang may not have more than these. */
const mostHanging = 2;

/**
 * For calls on paths that may never answer, such as those of a dead server. Each call that hangs keeps a thread, and without
 * threads the agent stands still: so there is one call for a path at a time, and with too many paths that hang, one call in all.
 */
export class HangGuard {
  readonly #clock: Clock;
  readonly #running = new Map<string, { hangs: boolean }>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Rejects after the time in which a call should answer; the call itself may go on. */
  run<T>(path: string, work: () => Promise<T>): Promise<T> {
    if (this.#running.has(path)) return Promise.reject(noAnswer(path));
    const running = [...this.#running.values()];
    const hanging = running.filter((call) => call.hangs).length;
    if (hanging >= mostHanging && running.length > hanging)
      return Promise.reject(new KubeletError("ETIMEDOUT", `${path}: too many file systems do not answer`));
    const call = { hangs: false };
    this.#running.set(path, call);
    return new Promise<T>((resolve, reject) => {
      const cancel = this.#clock.after(hangsAfterMs, () => {
        call.hangs = true;
        reject(noAnswer(path));
      });
      const ended = () => {
        cancel();
        this.#running.delete(path);
      };
      work().then(
        (value) => {
          ended();
          resolve(value);
        },
        (error) => {
          ended();
          reject(error);
        },
      );
    });
  }
}

function noAnswer(path: string): KubeletError {
  return new KubeletError("ETIMEDOUT", `${path} does not answer`);
}
