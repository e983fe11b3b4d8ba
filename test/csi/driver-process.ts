import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PluginChild } from "../node/plugin-child.ts";
import type { CsiDriverOptions, DriverSettings, Faults } from "./csi-driver.ts";

export interface Call {
  readonly method: string;
  readonly request: Record<string, unknown>;
}

/** A CSI driver in a process, which can be killed and started again. */
export class DriverProcess {
  readonly options: CsiDriverOptions;
  readonly #child = new PluginChild(new URL("csi-driver-process.ts", import.meta.url));

  constructor(options: CsiDriverOptions) {
    this.options = options;
  }

  async start(): Promise<void> {
    await mkdir(this.options.stateDir, { recursive: true });
    await this.#child.start(this.options);
  }

  /** kill -9: the socket files remain, without a listener. */
  kill(): Promise<void> {
    return this.#child.kill();
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
