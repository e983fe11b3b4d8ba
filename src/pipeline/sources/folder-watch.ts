import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { errnoOf } from "../../base/errors.ts";

/** Calls back with the name of each thing in the folder that changed (undefined: cannot tell). */
export type WatchFolder = (
  folder: string,
  onChange: (name: string | undefined) => void,
  onError: (error: unknown) => void,
) => { close(): void };

export const inotifyFolder: WatchFolder = (folder, onChange, onError) => {
  const watcher: FSWatcher = watch(folder, { encoding: "utf8" }, (_event, name) =>
    onChange(name ?? undefined),
  );
  watcher.on("error", onError);
  return watcher;
};

/**
 * Keeps one watch on a path that may come, go and be replaced: on the folder itself, or around a single file, which
 * editors replace rather than write to, and around what does not exist yet.
 */
export class PathWatch {
  #path: string;
  #watchFolder: WatchFolder;
  #onChange: (name: string | undefined) => void;
  #onFailure: (error: unknown) => void;
  #watched: { identity: string; close(): void } | undefined;
  #lastFailure: string | undefined;

  constructor(
    path: string,
    watchFolder: WatchFolder,
    onChange: (name: string | undefined) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.#path = path;
    this.#watchFolder = watchFolder;
    this.#onChange = onChange;
    this.#onFailure = onFailure;
  }

  /** Watches what is at the path now. A failure is told once: the periodic rescan still works without a watch. */
  async renew(): Promise<void> {
    const target = await this.#target();
    if (!target) return this.close();
    if (this.#watched?.identity === target.identity) return;
    this.close();
    try {
      const watcher = this.#watchFolder(
        target.folder,
        (name) => {
          if (!target.only || name === undefined || name === target.only) this.#onChange(name);
        },
        (error) => this.#failed(error),
      );
      this.#watched = { identity: target.identity, close: () => watcher.close() };
      this.#lastFailure = undefined;
    } catch (error) {
      this.#failed(error);
    }
  }

  close(): void {
    this.#watched?.close();
    this.#watched = undefined;
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
