import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { type Clock, sleep, systemClock } from "../lib/base/clock.ts";
import { isAbort, KubeletError, messageOf } from "../lib/base/errors.ts";
import { type Logger, silentLogger } from "../lib/base/logger.ts";

export interface ApiProcessOptions {
  /** The program and what comes before the arguments: ["/usr/bin/node", "kubelet.cjs"]. */
  readonly program: readonly string[];
  readonly args: readonly string[];
  readonly log: string;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** How long it may take to answer, or to end. */
  readonly timeoutMs?: number;
}

const firstPauseMs = 100;
const longestPauseMs = 10_000;

/**
 * The embedded API, in a process of its own: each write to its database waits for the disk, which must not hold up the agent.
 * One that ends is started again. It ends by itself when this process is gone.
 */
export class ApiProcess {
  readonly #options: ApiProcessOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #timeoutMs: number;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #kept: Promise<void> | undefined;

  constructor(options: ApiProcessOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves with its address when it answers. */
  async start(signal?: AbortSignal): Promise<string> {
    const first = await this.#spawn(signal);
    this.#kept = this.#keep(first.ended);
    return first.address;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const child = this.#child;
    child?.kill("SIGTERM");
    const cancel = this.#clock.after(this.#timeoutMs, () => child?.kill("SIGKILL"));
    await this.#kept;
    cancel();
  }

  async #keep(ended: Promise<string>): Promise<void> {
    let pause = firstPauseMs;
    for (;;) {
      const how = await ended;
      if (this.#stopping.signal.aborted) return;
      this.#logger.warn("API server exited, restarting it", { how });
      for (;;) {
        try {
          await sleep(this.#clock, pause, this.#stopping.signal);
          ended = (await this.#spawn(this.#stopping.signal)).ended;
          pause = firstPauseMs;
          break;
        } catch (error) {
          if (isAbort(error)) return;
          pause = Math.min(pause * 2, longestPauseMs);
          this.#logger.error("Failed to start the API server", { err: messageOf(error), againInMs: pause });
        }
      }
    }
  }

  async #spawn(signal?: AbortSignal): Promise<{ address: string; ended: Promise<string> }> {
    const { program, args, log } = this.#options;
    const [command = process.execPath, ...before] = program;
    const errors = openSync(log, "a", 0o600);
    // A separate process group: Ctrl-C in the terminal is handled by the parent, which stops the parts in order.
    const child = spawn(command, [...before, ...args], { detached: true, stdio: ["pipe", "pipe", errors] });
    closeSync(errors);
    this.#child = child;
    child.stdin?.on("error", () => {}); // only signals our exit to the child
    const ended = new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(messageOf(error)));
      child.once("exit", (code, by) => resolve(String(by ?? code)));
    });
    const address = Promise.withResolvers<string>();
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const printed = /^serving (\S+)\n/m.exec(output)?.[1];
      if (printed) address.resolve(printed);
    });
    void ended.then((how) => address.reject(this.#noStart(`the API ended (${how}) before it answered`)));
    const cancel = this.#clock.after(this.#timeoutMs, () =>
      address.reject(this.#noStart("the API does not answer")),
    );
    const abort = () => address.reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      signal?.throwIfAborted();
      return { address: await address.promise, ended };
    } catch (error) {
      child.kill("SIGKILL");
      await ended;
      throw error;
    } finally {
      cancel();
      signal?.removeEventListener("abort", abort);
    }
  }

  #noStart(what: string): KubeletError {
    const { log } = this.#options;
    let last = "no log";
    try {
      last = readFileSync(log, "utf8").trim().split("\n").at(-1) ?? last;
    } catch {
      // it never wrote one
    }
    return new KubeletError("ApiStart", `${what}: ${last} (all of it in ${log})`);
  }
}
