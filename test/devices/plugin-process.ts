import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PluginChild } from "../node/plugin-child.ts";
import type { DevicePluginOptions, PluginSettings } from "./device-plugin.ts";

export interface PluginCall {
  readonly method: string;
  readonly request: Record<string, unknown>;
}

/** A device plugin in a process, which can be killed and started again. */
export class PluginProcess {
  readonly options: DevicePluginOptions;
  #settings: PluginSettings;
  readonly #child = new PluginChild(new URL("device-plugin-process.ts", import.meta.url));

  constructor(options: DevicePluginOptions, settings: PluginSettings) {
    this.options = options;
    this.#settings = settings;
  }

  get isRunning(): boolean {
    return this.#child.isRunning;
  }

  async start(): Promise<void> {
    await this.configure({});
    await this.#child.start(this.options);
  }

  /** kill -9: its socket file remains, without a listener. */
  kill(): Promise<void> {
    return this.#child.kill();
  }

  /** Changes settings, even of a running plugin. */
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
