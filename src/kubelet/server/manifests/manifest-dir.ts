import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errnoOf } from "../../../lib/base/errors.ts";
import { replaceDurably, syncDir } from "../../../lib/host/durable-file.ts";

/** Names of manifests never start with a dot. */
const draftName = ".draft";

/**
 * Files with atomic, durable writes. One write at a time: the caller ensures
 * that.
 */
export class ManifestDir {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Removes partially written files. */
  async removeDraft(): Promise<void> {
    await rm(join(this.#dir, draftName), { force: true });
  }

  /** Files only, sorted; other files do not have such names. */
  async names(): Promise<string[]> {
    const entries = await readdir(this.#dir, { withFileTypes: true }).catch((error) => {
      if (errnoOf(error) === "ENOENT") return [];
      throw error;
    });
    return entries
      .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
      .map((entry) => entry.name)
      .sort((a, b) => (a < b ? -1 : 1));
  }

  async read(name: string): Promise<{ bytes: Buffer; modified: Date } | undefined> {
    const path = join(this.#dir, name);
    try {
      return { bytes: await readFile(path), modified: (await stat(path)).mtime };
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Resolves when it is durable. If it fails, the previous content is kept. */
  async write(name: string, bytes: Uint8Array): Promise<void> {
    const draftPath = join(this.#dir, draftName);
    await this.#createDir();
    try {
      await replaceDurably(join(this.#dir, name), bytes, 0o600, draftPath);
    } catch (error) {
      await rm(draftPath, { force: true }).catch(() => {});
      throw error;
    }
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#dir, name), { force: true });
    await syncDir(this.#dir);
  }

  /** The directory must be durable, too. */
  async #createDir(): Promise<void> {
    const first = await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    for (let dir = this.#dir; dir.length >= first.length; dir = dirname(dir)) await syncDir(dirname(dir));
  }
}
