import { join } from "node:path";
import { errnoOf } from "../../base/errors.ts";
import { type CgroupFiles, isGone } from "./files.ts";

/** Reads the interface files of one cgroup. Missing files read as undefined: kernels differ. */
export class InterfaceFiles {
  readonly #files: Pick<CgroupFiles, "read">;
  readonly #dir: string;

  constructor(files: Pick<CgroupFiles, "read">, dir: string) {
    this.#files = files;
    this.#dir = dir;
  }

  async text(name: string): Promise<string | undefined> {
    try {
      return await this.#files.read(join(this.#dir, name));
    } catch (error) {
      // EOPNOTSUPP: the file exists but PSI is disabled.
      if (isGone(error) || errnoOf(error) === "EOPNOTSUPP" || errnoOf(error) === "ENOTSUP") return undefined;
      throw error;
    }
  }

  async number(name: string): Promise<number | undefined> {
    const value = (await this.text(name))?.trim();
    return value !== undefined && /^-?\d{1,20}$/.test(value) ? Number(value) : undefined;
  }

  /** A flat-keyed file: one "key value" pair per line. */
  async flatKeyed(name: string): Promise<ReadonlyMap<string, number> | undefined> {
    const text = await this.text(name);
    return text === undefined ? undefined : parseFlatKeyed(text);
  }
}

export function parseFlatKeyed(text: string): ReadonlyMap<string, number> {
  const table = new Map<string, number>();
  for (const line of text.split("\n")) {
    const at = line.indexOf(" ");
    if (at > 0) table.set(line.slice(0, at), Number(line.slice(at + 1)) || 0);
  }
  return table;
}
