import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CsiDriverOptions, DriverSettings, Faults } from "./csi-driver.ts";

export interface Call {
  readonly method: string;
  readonly request: Record<string, unknown>;
}

/** A CSI driver in a process, which can be killed and started again. */
export class DriverProcess {
  readonly options: CsiDriverOptions;
  #child: ChildProcess | undefined;

  constructor(options: CsiDriverOptions) {
    this.options = options;
  }

  async start(): Promise<void> {
    await mkdir(this.options.stateDir, { recursive: true });
    const program = fileURLToPath(new URL("csi-driver-process.ts", import.meta.url));
    const child = spawn(process.execPath, [program, JSON.stringify(this.options)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    const exited = once(child, "exit").then(() => Promise.reject(new Error("the driver exited immediately")));
    await Promise.race([once(child.stdout!, "data"), exited]);
    exited.catch(() => {});
  }

  /** kill -9: the sockets stay as files, without a listener. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  async faults(faults: Faults): Promise<void> {
    await mkdir(this.options.stateDir, { recursive: true });
    await writeFile(join(this.options.stateDir, "faults.json"), JSON.stringify(faults));
  }

  async configure(settings: DriverSettings): Promise<void> {
    await mkdir(this.options.stateDir, { recursive: true });
    await writeFile(join(this.options.stateDir, "settings.json"), JSON.stringify(settings));
  }

  async calls(method?: string): Promise<Call[]> {
    const text = await readFile(join(this.options.stateDir, "calls.jsonl"), "utf8").catch(() => "");
    const calls = text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Call);
    return calls.filter((call) => method === undefined || call.method === method);
  }
}
