import { open, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Numeric kernel settings, by their path below /proc/sys: "vm/overcommit_memory". */
export interface Sysctls {
  get(name: string): Promise<number>;
  set(name: string, value: number): Promise<void>;
}

export function sysctls(base = "/proc/sys"): Sysctls {
  return {
    get: async (name) => Number((await readFile(join(base, name), "utf8")).trim()),
    async set(name, value) {
      const file = await open(join(base, name), "r+");
      try {
        await file.write(String(value));
      } finally {
        await file.close();
      }
    },
  };
}
