import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { errnoOf } from "../../../lib/base/errors.ts";
import { DeletedNames } from "../../../lib/host/deleted-names.ts";

export interface WatchedDirectory {
  close(): void;
  /** The names that were deleted, not moved or replaced, since the last call. */
  takeDeleted?(): Set<string>;
  /** True once the directory itself is gone, regardless of what is at its path now. */
  isGone?(): boolean;
}

/** Calls back with the name of each entry of the directory that changed (undefined if unknown). */
export type WatchDirectory = (
  directory: string,
  onChange: (name: string | undefined) => void,
  onError: (error: unknown) => void,
) => WatchedDirectory;

export const inotifyDirectory: WatchDirectory = (directory, onChange, onError) => {
  const deleted = new DeletedNames(directory);
  try {
    const watcher: FSWatcher = watch(directory, { encoding: "utf8" }, (_event, name) =>
      onChange(name ?? undefined),
    );
    watcher.on("error", onError);
    return {
      takeDeleted: () => deleted.take(),
      isGone: () => deleted.isGone,
      close() {
        watcher.close();
        deleted.close();
      },
    };
  } catch (error) {
    deleted.close();
    throw error;
  }
};

/**
 * Keeps one watch on a path that may be created, removed and replaced: on the directory itself, or on the parent of a single file, which
 * editors replace rather than write to, or of a path that does not exist yet.
 */
export class PathWatch {
  #path: string;
  #watchDirectory: WatchDirectory;
  #onChange: (name: string | undefined) => void;
  #onFailure: (error: unknown) => void;
  #watched: { identity: string; only: string | undefined; directory: WatchedDirectory } | undefined;
  #deleted = new Set<string>();
  #lastFailure: string | undefined;

  constructor(
    path: string,
    watchDirectory: WatchDirectory,
    onChange: (name: string | undefined) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.#path = path;
    this.#watchDirectory = watchDirectory;
    this.#onChange = onChange;
    this.#onFailure = onFailure;
  }

  /** Watches what is at the path now. A failure is reported once: the periodic rescan works without a watch. */
  async renew(): Promise<void> {
    const target = await this.#target();
    if (!target) return this.close();
    if (this.#watched?.identity === target.identity && !this.#watched.directory.isGone?.()) return;
    this.close();
    try {
      const watcher = this.#watchDirectory(
        target.directory,
        (name) => {
          if (!target.only || name === undefined || name === target.only) this.#onChange(name);
        },
        (error) => this.#failed(error),
      );
      this.#watched = { identity: target.identity, only: target.only, directory: watcher };
      this.#lastFailure = undefined;
    } catch (error) {
      this.#failed(error);
    }
  }

  close(): void {
    this.#collectDeleted();
    this.#watched?.directory.close();
    this.#watched = undefined;
  }

  /** The names that were deleted since the last call, while there was a watch. */
  takeDeleted(): Set<string> {
    this.#collectDeleted();
    const names = this.#deleted;
    this.#deleted = new Set();
    return names;
  }

  #collectDeleted(): void {
    const only = this.#watched?.only;
    for (const name of this.#watched?.directory.takeDeleted?.() ?? [])
      if (only === undefined || name === only) this.#deleted.add(name);
  }

  #failed(error: unknown): void {
    this.close();
    const code = errnoOf(error) ?? String(error);
    if (code !== this.#lastFailure) this.#onFailure(error);
    this.#lastFailure = code;
  }

  async #target(): Promise<{ directory: string; identity: string; only?: string } | undefined> {
    const found = await stat(this.#path).catch(() => undefined);
    if (found?.isDirectory()) return { directory: this.#path, identity: `${found.dev}:${found.ino}` };
    // A file, or nothing yet: watch for its name in the parent directory.
    const directory = dirname(this.#path);
    const parent = await stat(directory).catch(() => undefined);
    return parent && { directory, identity: `${parent.dev}:${parent.ino}`, only: basename(this.#path) };
  }
}
