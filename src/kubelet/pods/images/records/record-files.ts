import { createHash } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import type { Decoded } from "./pull-record.ts";

const prefix = "sha256-";
const draftSuffix = ".tmp";

/** The file of a record: its subject (an image, an image's reference) as a name that is safe. */
export function recordFileName(subject: string): string {
  return prefix + createHash("sha256").update(subject).digest("hex");
}

export interface RecordFilesOptions<T> {
  folder: string;
  encode: (value: T) => string;
  decode: (text: string) => Decoded<T>;
  subjectOf: (value: T) => string;
  logger: Logger;
}

export interface ReadRecords<T> {
  readonly values: readonly T[];
  /** Files that are there and cannot be understood. */
  readonly broken: ReadonlySet<string>;
}

/** Records of one kind, a file each. A file is there as a whole or not at all, whenever the process or the machine ends. */
export class RecordFiles<T> {
  readonly #o: RecordFilesOptions<T>;

  constructor(options: RecordFilesOptions<T>) {
    this.#o = options;
  }

  /** All that there are. Those of an older version are written anew, drafts of a former life are removed. */
  async read(): Promise<ReadRecords<T>> {
    const { folder, decode, subjectOf, logger } = this.#o;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const values: T[] = [];
    const broken = new Set<string>();
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const { name } = entry;
      if (entry.isDirectory() || !name.startsWith(prefix)) continue;
      const path = join(folder, name);
      if (name.endsWith(draftSuffix)) {
        await rm(path, { force: true });
        continue;
      }
      try {
        const { value, isCurrent } = decode(await readFile(path, "utf8"));
        if (recordFileName(subjectOf(value)) !== name)
          throw new Error("it is about something else than its name says");
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
    const { folder, encode, subjectOf } = this.#o;
    const path = join(folder, recordFileName(subjectOf(value)));
    const draft = path + draftSuffix;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const file = await open(draft, "w", 0o600);
    try {
      await file.writeFile(encode(value));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
    await this.#keep();
  }

  async remove(subject: string): Promise<void> {
    await rm(join(this.#o.folder, recordFileName(subject)), { force: true });
  }

  /** Without this a rename may be undone by a power failure. A removal may: then there is one record too many. */
  async #keep(): Promise<void> {
    const folder = await open(this.#o.folder, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}
