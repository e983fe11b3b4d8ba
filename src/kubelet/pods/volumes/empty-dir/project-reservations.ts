import { type FileHandle, lstat, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, sleep } from "../../../../lib/base/clock.ts";
import { errnoOf, KubeletError } from "../../../../lib/base/errors.ts";
import { KeyedLocks } from "../../../../lib/base/keyed-locks.ts";
import { replaceDurably } from "../../../../lib/host/durable-file.ts";
import { libc } from "../../../../lib/host/libc.ts";
import type { ProjectFiles } from "./project-files.ts";

const lockPollMs = 100;
const lockTries = 100;
const fileMode = 0o644;

/** `/etc/projects` and `/etc/projid`, locked as the reference kubelet locks them while they are changed. */
export class ProjectReservations {
  readonly #paths: { readonly projects: string; readonly projid: string };
  readonly #clock: Clock;
  readonly #locks = new KeyedLocks();

  constructor(etcDir: string, clock: Clock) {
    this.#paths = { projects: join(etcDir, "projects"), projid: join(etcDir, "projid") };
    this.#clock = clock;
  }

  async read(): Promise<ProjectFiles> {
    const [projects, projid] = await Promise.all([textOf(this.#paths.projects), textOf(this.#paths.projid)]);
    return { projects, projid };
  }

  /** One change after the other. `change` gets the current files, and writes new ones if they differ. */
  async update<T>(
    change: (files: ProjectFiles, write: (files: ProjectFiles) => Promise<void>) => Promise<T>,
  ): Promise<T> {
    using _ = await this.#locks.acquire([""]);
    for (const path of Object.values(this.#paths)) await requireRegular(path);
    const lock = await this.#lock();
    try {
      const before = await this.read();
      return await change(before, async (after) => {
        // First the names: a project with a name and without a directory does no harm.
        for (const file of ["projid", "projects"] as const)
          if (after[file] !== before[file]) await replaceDurably(this.#paths[file], after[file], fileMode);
      });
    } finally {
      await lock.close();
    }
  }

  /** The file is replaced by each change: a lock on the previous one has no effect. */
  async #lock(): Promise<FileHandle> {
    const { flock } = await libc();
    const { projects: path } = this.#paths;
    for (let tries = 0; tries < lockTries; tries++) {
      const handle = await open(path, "a", fileMode);
      const isCurrent = async () =>
        (await handle.stat()).ino === (await lstat(path).catch(() => undefined))?.ino;
      if (flock(handle.fd) && (await isCurrent())) return handle;
      await handle.close();
      await sleep(this.#clock, lockPollMs);
    }
    throw new KubeletError("DiskQuota", `unable to lock ${path}: another process holds the lock`);
  }
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return "";
    throw error;
  });
}

async function requireRegular(path: string): Promise<void> {
  const stat = await lstat(path).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (stat && !stat.isFile())
    throw new KubeletError("DiskQuota", `${path} exists but is not a plain file, cannot continue`);
}
