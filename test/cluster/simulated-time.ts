import type { FakeClock } from "../../src/lib/base/fake-clock.ts";
import { timeoutFactor } from "../timeout-factor.ts";
import type { TestCluster } from "./cluster-node.ts";

/** Work in progress that a response or a file will complete. */
const inProgress = /^(FSReq|ProcessWrap|PipeConnectWrap|GetAddrInfo)/;
const longestMs = 120_000;

/**
 * Time of an agent in this process that has a FakeClock: it moves only while the agent waits for nothing but time. So what happens in a
 * simulated minute does not depend on the speed of the machine.
 */
export class SimulatedTime {
  readonly #clock: FakeClock;
  readonly #cluster: TestCluster;

  constructor(clock: FakeClock, cluster: TestCluster) {
    this.#clock = clock;
    this.#cluster = cluster;
  }

  /** Moves time forward in steps, letting calls, requests and file operations complete after each. */
  async advance(ms: number, stepMs = 20): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      await this.#clock.advance(Math.min(stepMs, left));
      await this.#settled();
    }
  }

  /** Moves time forward until the check passes. */
  async until(check: () => void): Promise<void> {
    await this.#until(() => {
      try {
        check();
        return undefined;
      } catch (error) {
        return error;
      }
    });
  }

  /** Moves time forward until the promise settles. */
  async during<T>(work: Promise<T>): Promise<T> {
    let isSettled = false;
    const done = work.finally(() => {
      isSettled = true;
    });
    done.catch(() => {});
    await this.#until(() => (isSettled ? undefined : new Error("the work is not complete")));
    return done;
  }

  async #until(problem: () => unknown): Promise<void> {
    const deadline = performance.now() + longestMs * timeoutFactor;
    for (let found = problem(); found !== undefined; found = problem()) {
      if (performance.now() > deadline) throw found;
      await this.advance(20);
    }
  }

  async #settled(): Promise<void> {
    const { api, runtime } = this.#cluster;
    const done = () => api.requests.length + runtime.calls.length;
    const isBusy = () =>
      runtime.calls.some(({ result, method }) => result === undefined && method !== "GetContainerEvents") ||
      process.getActiveResourcesInfo().some((resource) => inProgress.test(resource));
    for (let quietTurns = 0; quietTurns < 2; ) {
      const before = done();
      await new Promise((resolve) => setTimeout(resolve, 1));
      quietTurns = isBusy() || done() !== before ? 0 : quietTurns + 1;
    }
  }
}
