import * as fs from "node:fs/promises";
import { diskFiles, type FileCalls } from "./atomic-writer.ts";

const modifying = new Set([
  ...["chmod", "chown", "lchown", "mkdir", "rename", "rm", "removeTree", "symlink", "writeFile"],
]);

/** For tests: the real calls, but the n-th modifying call behaves as if the process was killed in it. */
export class CrashingCalls {
  readonly #crashAt: number;
  #calls = 0;
  #dead: boolean = false as boolean;

  constructor(crashAt: number) {
    this.#crashAt = crashAt;
  }

  /** The number of modifying calls. */
  get count(): number {
    return this.#calls;
  }

  readonly calls: FileCalls = new Proxy(diskFiles, {
    get:
      (target, name: keyof FileCalls) =>
      async (...args: never[]) => {
        if (this.#dead) throw new Error("killed");
        if (modifying.has(name) && this.#calls++ === this.#crashAt) {
          this.#dead = true;
          await this.#doPartially(name, args);
          throw new Error("killed");
        }
        return (target[name] as (...a: never[]) => unknown)(...args);
      },
  });

  /** A call that is not atomic may be partially done. */
  async #doPartially(name: string, args: unknown[]): Promise<void> {
    const [path, data] = args as [string, Uint8Array];
    if (name === "writeFile") await fs.writeFile(path, data.subarray(0, data.length >> 1));
    if (name === "removeTree") {
      const inside = await fs.readdir(path).catch(() => []);
      if (inside[0]) await diskFiles.removeTree(`${path}/${inside[0]}`);
    }
  }
}
