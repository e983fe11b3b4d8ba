import type { ChildProcess } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { whenAborted } from "../lib/base/abort.ts";
import { type Clock, sleep, systemClock } from "../lib/base/clock.ts";
import { isAbort, KubeletError, messageOf } from "../lib/base/errors.ts";
import { type Logger, silentLogger } from "../lib/base/logger.ts";
import { startProgram } from "../lib/host/start-program.ts";

export interface ApiProcessOptions {
  /** The program and its leading arguments: ["/usr/bin/node", "kubelet.cjs"]. */
  readonly program: readonly string[];
  readonly args: readonly string[];
  readonly log: string;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** The timeout for starting and for stopping. */
  readonly timeoutMs?: number;
}

const initialBackoffMs = 100;
const maxBackoffMs = 10_000;

/**
 * The embedded API in a separate process: each write to its database waits for the disk, which must not block the agent. It is
 * restarted when it exits, and exits itself when this process is gone.
 */
export class ApiProcess {
  readonly #options: ApiProcessOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #timeoutMs: number;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #supervised: Promise<void> | undefined;

  constructor(options: ApiProcessOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves with its address when it serves requests. */
  async start(signal?: AbortSignal): Promise<string> {
    const first = await this.#spawn(signal);
    this.#supervised = this.#supervise(first.exited);
    return first.address;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const child = this.#child;
    child?.kill("SIGTERM");
    const cancel = this.#clock.after(this.#timeoutMs, () => child?.kill("SIGKILL"));
    await this.#supervised;
    cancel();
  }

  async #supervise(exited: Promise<string>): Promise<void> {
    let backoff = initialBackoffMs;
    for (;;) {
      const how = await exited;
      if (this.#stopping.signal.aborted) return;
      this.#logger.warn("API server exited, restarting it", { how });
      for (;;) {
        try {
          await sleep(this.#clock, backoff, this.#stopping.signal);
          exited = (await this.#spawn(this.#stopping.signal)).exited;
          backoff = initialBackoffMs;
          break;
        } catch (error) {
          if (isAbort(error)) return;
          backoff = Math.min(backoff * 2, maxBackoffMs);
          this.#logger.error("Failed to start the API server", { err: messageOf(error), againInMs: backoff });
        }
      }
    }
  }

  async #spawn(signal?: AbortSignal): Promise<{ address: string; exited: Promise<string> }> {
    const { program, args, log } = this.#options;
    const [command = process.execPath, ...before] = program;
    const errors = openSync(log, "a", 0o600);
    let child: ChildProcess;
    try {
      // A separate process group: Ctrl-C in the terminal is handled by the parent, which stops the parts in order.
      child = startProgram(
        { program: command, verbatim: [...before, ...args] },
        { detached: true, stdio: ["pipe", "pipe", errors] },
      );
    } finally {
      closeSync(errors);
    }
    this.#child = child;
    child.stdin?.on("error", () => {}); // only signals our exit to the child
    const exited = new Promise<string>((resolve) => {
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
    void exited.then((how) =>
      address.reject(this.#startError(`the API server exited (${how}) before it was ready`)),
    );
    const cancel = this.#clock.after(this.#timeoutMs, () =>
      address.reject(this.#startError("the API server is not responding")),
    );
    using _ = whenAborted(signal, () => address.reject(signal?.reason));
    try {
      return { address: await address.promise, exited };
    } catch (error) {
      child.kill("SIGKILL");
      await exited;
      throw error;
    } finally {
      cancel();
    }
  }

  #startError(problem: string): KubeletError {
    const { log } = this.#options;
    let last = "no log";
    try {
      last = readFileSync(log, "utf8").trim().split("\n").at(-1) ?? last;
    } catch {
      // it never wrote one
    }
    return new KubeletError("ApiStart", `${problem}: ${last} (full log: ${log})`);
  }
}
