import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A test program that serves a plugin (CSI, devices, DRA), in a process that can be killed and restarted. */
export class PluginChild {
  readonly #program: string;
  readonly #stdin: "ignore" | "pipe";
  #child: ChildProcess | undefined;

  /** With a pipe as its standard input, the program can exit with this process. */
  constructor(program: URL, stdin: "ignore" | "pipe" = "ignore") {
    this.#program = fileURLToPath(program);
    this.#stdin = stdin;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Resolves when the program has written its first output. */
  async start(options: object): Promise<void> {
    const child = spawn(process.execPath, [this.#program, JSON.stringify(options)], {
      stdio: [this.#stdin, "pipe", "inherit"],
    });
    child.stdin?.on("error", () => {});
    this.#child = child;
    const exited = once(child, "exit").then(() => Promise.reject(new Error("the plugin exited immediately")));
    await Promise.race([once(child.stdout!, "data"), exited]);
    exited.catch(() => {});
  }

  /** kill -9: its socket files remain, without a listener. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
}
