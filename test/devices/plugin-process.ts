import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DevicePluginOptions, PluginSettings } from "./device-plugin.ts";

export interface PluginCall {
  readonly method: string;
  readonly request: Record<string, unknown>;
}

/** A device plugin in a process, which can be killed and started again. */
export class PluginProcess {
  readonly options: DevicePluginOptions;
  #settings: PluginSettings;
  #child: ChildProcess | undefined;

  constructor(options: DevicePluginOptions, settings: PluginSettings) {
    this.options = options;
    this.#settings = settings;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  async start(): Promise<void> {
    await this.configure({});
    const program = fileURLToPath(new URL("device-plugin-process.ts", import.meta.url));
    const child = spawn(process.execPath, [program, JSON.stringify(this.options)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    const exited = once(child, "exit").then(() => Promise.reject(new Error("the plugin exited immediately")));
    await Promise.race([once(child.stdout!, "data"), exited]);
    exited.catch(() => {});
  }

  /** kill -9: its socket stays as a file, without a listener. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  /** Changes settings, also of a running plugin. */
  async configure(settings: Partial<PluginSettings>): Promise<void> {
    this.#settings = { ...this.#settings, ...settings };
    const { stateDir } = this.options;
    await mkdir(stateDir, { recursive: true });
    const file = join(stateDir, "settings.json");
    await writeFile(`${file}.new`, JSON.stringify(this.#settings));
    await rename(`${file}.new`, file);
  }

  async calls(method?: string): Promise<PluginCall[]> {
    const text = await readFile(join(this.options.stateDir, "calls.jsonl"), "utf8").catch(() => "");
    const calls = text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as PluginCall);
    return calls.filter((call) => method === undefined || call.method === method);
  }
}
