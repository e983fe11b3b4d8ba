import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { replaceDurably } from "../../../../lib/host/durable-file.ts";
import type { Decoded } from "./pull-record.ts";

const prefix = "sha256-";
const tempSuffix = ".tmp";

/** The file of a record: the hash of its subject (an image or image ID). */
export function recordFileName(subject: string): string {
  return prefix + createHash("sha256").update(subject).digest("hex");
}

export interface RecordFilesOptions<T> {
  dir: string;
  encode: (value: T) => string;
  decode: (text: string) => Decoded<T>;
  subjectOf: (value: T) => string;
  logger: Logger;
}

export interface ReadRecords<T> {
  readonly values: readonly T[];
  /** Files that cannot be decoded. */
  readonly broken: ReadonlySet<string>;
}

/** Records of one kind, a file each. Writes are atomic, even if the process is killed or the machine loses power. */
export class RecordFiles<T> {
  readonly #o: RecordFilesOptions<T>;

  constructor(options: RecordFilesOptions<T>) {
    this.#o = options;
  }

  /** All records. Records of an older version are written again; temporary files of a previous run are removed. */
  async read(): Promise<ReadRecords<T>> {
    const { dir, decode, subjectOf, logger } = this.#o;
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const values: T[] = [];
    const broken = new Set<string>();
    for (const entry of await readdir(dir, { withFileTypes: true })) {
      const { name } = entry;
      if (entry.isDirectory() || !name.startsWith(prefix)) continue;
      const path = join(dir, name);
      if (name.endsWith(tempSuffix)) {
        await rm(path, { force: true });
        continue;
      }
      try {
        const { value, isCurrent } = decode(await readFile(path, "utf8"));
        if (recordFileName(subjectOf(value)) !== name) throw new Error("its content does not match its name");
        if (!isCurrent) await this.write(value);
        values.push(value);
      } catch (error) {
        broken.add(name);
        logger.warn("Failed to read image pull record", { path, err: messageOf(error) });
      }
    }
    return { values, broken };
  }

  async write(value: T): Promise<void> {
    const { dir, encode, subjectOf } = this.#o;
    const path = join(dir, recordFileName(subjectOf(value)));
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await replaceDurably(path, encode(value), 0o600, path + tempSuffix);
  }

  async remove(subject: string): Promise<void> {
    await rm(join(this.#o.dir, recordFileName(subject)), { force: true });
  }
}
