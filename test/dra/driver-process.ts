import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PluginChild } from "../node/plugin-child.ts";
import { type DeviceHealths, type DraDriverOptions, type Faults, preparedClaims } from "./dra-driver.ts";

interface Call {
  readonly service: string;
  readonly method: string;
  readonly request: { readonly claims?: readonly { readonly uid: string; readonly name: string }[] };
}

/** A DRA driver in a process, which can be killed and started again. */
export class DriverProcess {
  readonly options: DraDriverOptions;
  readonly #child = new PluginChild(new URL("dra-driver-process.ts", import.meta.url), "pipe");

  constructor(options: DraDriverOptions) {
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

  /** Like an orderly stop: the driver is deregistered. */
  async stop(): Promise<void> {
    await this.kill();
    await rm(this.options.registrationSocket, { force: true });
  }

  faults(faults: Faults): Promise<void> {
    return this.#write("faults.json", faults);
  }

  health(healths: DeviceHealths): Promise<void> {
    return this.#write("health.json", healths);
  }

  async calls(method: string): Promise<Call[]> {
    const text = await readFile(join(this.options.stateDir, "calls.jsonl"), "utf8").catch(() => "");
    const lines = text.split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line) as Call).filter((call) => call.method === method);
  }

  /** Methods whose work was done while their response was withheld. */
  async executed(): Promise<string[]> {
    const text = await readFile(join(this.options.stateDir, "executed"), "utf8").catch(() => "");
    return text.split("\n").filter(Boolean);
  }

  prepared(): Promise<string[]> {
    return preparedClaims(this.options.stateDir);
  }

  async #write(name: string, content: object): Promise<void> {
    const { stateDir } = this.options;
    await mkdir(stateDir, { recursive: true });
    await writeFile(join(stateDir, `.${name}`), JSON.stringify(content));
    await rename(join(stateDir, `.${name}`), join(stateDir, name));
  }
}
