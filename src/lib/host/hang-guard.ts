import { type Clock, systemClock } from "../base/clock.ts";
import { KubeletError } from "../base/errors.ts";
import { poolThreads } from "./thread-pool.ts";

/** A call that takes longer than this has hung. */
const hangsAfterMs = 5_000;

interface Waiting {
  readonly path: string;
  readonly start: () => void;
  readonly reject: (error: KubeletError) => void;
}

/**
 * For calls on paths that may hang, such as those of an unresponsive NFS server. Each call that hangs keeps a thread, and without
 * threads the agent stops: so there is one call for a path at a time, and at most half of the threads are used. When
 * that limit is reached, a caller waits for one to finish, and is rejected when all of them hang.
 */
export class HangGuard {
  readonly #clock: Clock;
  readonly #maxCalls: number;
  readonly #running = new Map<string, { hangs: boolean }>();
  #waiting: Waiting[] = [];

  constructor(clock: Clock = systemClock, maxCalls = Math.max(1, Math.floor(poolThreads() / 2))) {
    this.#clock = clock;
    this.#maxCalls = maxCalls;
  }

  /** Rejects after the timeout; the call itself may continue. */
  run<T>(path: string, work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const start = () => {
        const call = { hangs: false };
        this.#running.set(path, call);
        const cancel = this.#clock.after(hangsAfterMs, () => {
          call.hangs = true;
          reject(notResponding(path));
          this.#next();
        });
        const ended = () => {
          cancel();
          this.#running.delete(path);
          this.#next();
        };
        void work().then(resolve, reject).finally(ended);
      };
      this.#waiting.push({ path, start, reject });
      this.#next();
    });
  }

  /** Starts calls up to the limit, and rejects those that would wait forever. */
  #next(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) {
      const same = this.#running.get(one.path);
      if (same?.hangs) one.reject(notResponding(one.path));
      else if (!same && this.#running.size < this.#maxCalls) one.start();
      else if ([...this.#running.values()].filter((call) => call.hangs).length >= this.#maxCalls)
        one.reject(new KubeletError("ETIMEDOUT", `${one.path}: too many unresponsive filesystems`));
      else this.#waiting.push(one);
    }
  }
}

function notResponding(path: string): KubeletError {
  return new KubeletError("ETIMEDOUT", `${path} is not responding`);
}
