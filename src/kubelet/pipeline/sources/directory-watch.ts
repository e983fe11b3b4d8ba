import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { errnoOf } from "../../../lib/base/errors.ts";
import { DeletedNames } from "../../../lib/host/deleted-names.ts";

export interface WatchedDirectory {
  close(): void;
  /** The names that were deleted, not moved or replaced, since the last call. */
  takeDeleted?(): Set<string>;
  /** True once the folder itself is gone, whatever is at its path by now. */
  isGone?(): boolean;
}

/** Calls back with the name of each thing in the folder that changed (undefined: cannot tell). */
export type WatchDirectory = (
  folder: string,
  onChange: (name: string | undefined) => void,
  onError: (error: unknown) => void,
) => WatchedDirectory;

export const inotifyDirectory: WatchDirectory = (folder, onChange, onError) => {
  const deleted = new DeletedNames(folder);
  try {
    const watcher: FSWatcher = watch(folder, { encoding: "utf8" }, (_event, name) =>
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
 * Keeps one watch on a path that may come, go and be replaced: on the folder itself, or around a single file, which
 * editors replace rather than write to, and around what does not exist yet.
 */
export class PathWatch {
  #path: string;
  #watchDirectory: WatchDirectory;
  #onChange: (name: string | undefined) => void;
  #onFailure: (error: unknown) => void;
  #watched: { identity: string; only: string | undefined; folder: WatchedDirectory } | undefined;
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

  /** Watches what is at the path now. A failure is told once: the periodic rescan still works without a watch. */
  async renew(): Promise<void> {
    const target = await this.#target();
    if (!target) return this.close();
    if (this.#watched?.identity === target.identity && !this.#watched.folder.isGone?.()) return;
    this.close();
    try {
      const watcher = this.#watchDirectory(
        target.folder,
        (name) => {
          if (!target.only || name === undefined || name === target.only) this.#onChange(name);
        },
        (error) => this.#failed(error),
      );
      this.#watched = { identity: target.identity, only: target.only, folder: watcher };
      this.#lastFailure = undefined;
    } catch (error) {
      this.#failed(error);
    }
  }

  close(): void {
    this.#noteDeleted();
    this.#watched?.folder.close();
    this.#watched = undefined;
  }

  /** The names that were deleted since the last call; what nobody watched is not known. */
  takeDeleted(): Set<string> {
    this.#noteDeleted();
    const names = this.#deleted;
    this.#deleted = new Set();
    return names;
  }

  #noteDeleted(): void {
    const only = this.#watched?.only;
    for (const name of this.#watched?.folder.takeDeleted?.() ?? [])
      if (only === undefined || name === only) this.#deleted.add(name);
  }

  #failed(error: unknown): void {
    this.close();
    const code = errnoOf(error) ?? String(error);
    if (code !== this.#lastFailure) this.#onFailure(error);
    this.#lastFailure = code;
  }

  async #target(): Promise<{ folder: string; identity: string; only?: string } | undefined> {
    const found = await stat(this.#path).catch(() => undefined);
    if (found?.isDirectory()) return { folder: this.#path, identity: `${found.dev}:${found.ino}` };
    // A file, or nothing yet: its name in the folder around it is what to listen for.
    const folder = dirname(this.#path);
    const around = await stat(folder).catch(() => undefined);
    return around && { folder, identity: `${around.dev}:${around.ino}`, only: basename(this.#path) };
  }
}
