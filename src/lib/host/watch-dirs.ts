import { type FSWatcher, watch } from "node:fs";
import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { WakeUp } from "../base/wait.ts";

const retryMs = 10_000;

export interface WatchDirsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time until the next scan if nothing changes; undefined: there is none, unless a directory cannot be watched. */
  readonly rescanMs: () => number | undefined;
  /** Reads the directories, and returns the ones to watch: those that it has read. */
  readonly scan: () => Promise<readonly string[]>;
  readonly onError: (error: unknown) => void;
}

/** Scans directories, at first and whenever something in them changes, until the signal is aborted. */
export async function watchDirs(options: WatchDirsOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger, rescanMs, scan, onError } = options;
  const watchers = new Map<string, FSWatcher>();
  const changed = new WakeUp();
  const forget = (path: string) => {
    watchers.get(path)?.close();
    watchers.delete(path);
  };
  const follow = (path: string): boolean => {
    if (watchers.has(path)) return false;
    try {
      const watcher = watch(path, { persistent: false }, () => changed.notify());
      watcher.on("error", () => {
        forget(path);
        changed.notify();
      });
      watchers.set(path, watcher);
      return true;
    } catch (error) {
      logger.debug(2, "Failed to watch directory", { path, err: messageOf(error) });
      return false;
    }
  };
  try {
    while (!signal.aborted) {
      // Changes during the scan trigger another scan.
      changed.reset();
      let isWatched = false;
      try {
        const dirs = await scan();
        for (const path of watchers.keys()) if (!dirs.includes(path)) forget(path);
        // Files created in a directory before it was watched are found by another scan.
        if (dirs.map(follow).includes(true)) continue;
        isWatched = dirs.every((path) => watchers.has(path));
      } catch (error) {
        onError(error);
      }
      await changed.wait(clock, rescanMs() ?? (isWatched ? undefined : retryMs), signal);
    }
  } finally {
    for (const path of watchers.keys()) forget(path);
  }
}
