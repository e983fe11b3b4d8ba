import { type FSWatcher, watch } from "node:fs";
import { mkdir } from "node:fs/promises";
import { type Clock, sleep } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { scanSockets } from "./scan.ts";

/** Inotify reports each change; this finds what it may have missed. */
const rescanEveryMs = 10_000;

export interface SocketWatchOptions {
  readonly dir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onSockets: (sockets: ReadonlyMap<string, string>) => void;
}

/** Reports the sockets below a directory, at first and whenever something in it changes, until the signal is aborted. */
export async function watchSockets(options: SocketWatchOptions, signal: AbortSignal): Promise<void> {
  const { dir, clock, logger, onSockets } = options;
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
      try {
        await mkdir(dir, { recursive: true, mode: 0o755 });
        const scan = await scanSockets(dir);
        for (const path of watchers.keys()) if (!scan.dirs.includes(path)) forget(path);
        // Files created in a directory before it was watched are found by another scan.
        const hasChanged = scan.dirs.map(follow).includes(true);
        onSockets(scan.sockets);
        if (hasChanged) continue;
      } catch (error) {
        logger.warn("Failed to read plugin directory", { path: dir, err: messageOf(error) });
      }
      const pause = new AbortController();
      const both = AbortSignal.any([signal, pause.signal]);
      await Promise.race([wake.promise, sleep(clock, rescanEveryMs, both).catch(() => {})]);
      pause.abort();
    }
  } finally {
    for (const path of watchers.keys()) forget(path);
  }
}
