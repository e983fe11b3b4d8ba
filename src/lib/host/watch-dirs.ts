import { type FSWatcher, watch } from "node:fs";
import { type Clock, sleep } from "../base/clock.ts";
import { messageOf } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { whenAborted } from "../base/when-aborted.ts";

const retryMs = 10_000;

export interface WatchDirsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time until the next scan if nothing changes; undefined: there is none, unless a directory cannot be watched. */
  readonly rescanMs: () => number | undefined;
  /** Reads the directories, and returns those that it has read, to be watched. */
  readonly scan: () => Promise<readonly string[]>;
  readonly onError: (error: unknown) => void;
}

/** Scans directories, at first and whenever something in them changes, until the signal is aborted. */
export async function watchDirs(options: WatchDirsOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger, rescanMs, scan, onError } = options;
  const watchers = new Map<string, FSWatcher>();
  let wake = Promise.withResolvers<void>();
  const forget = (path: string) => {
    watchers.get(path)?.close();
    watchers.delete(path);
  };
  const follow = (path: string): boolean => {
    if (watchers.has(path)) return false;
    try {
      const watcher = watch(path, { persistent: false }, () => wake.resolve());
      watcher.on("error", () => {
        forget(path);
        wake.resolve();
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
      // Created before the scan: changes during it trigger another one.
      wake = Promise.withResolvers<void>();
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
      const pause = new AbortController();
      const both = AbortSignal.any([signal, pause.signal]);
      const pauseMs = rescanMs() ?? (isWatched ? undefined : retryMs);
      whenAborted(both, wake.resolve);
      if (pauseMs !== undefined) void sleep(clock, pauseMs, both).then(wake.resolve, () => {});
      await wake.promise;
      pause.abort();
    }
  } finally {
    for (const path of watchers.keys()) forget(path);
  }
}
