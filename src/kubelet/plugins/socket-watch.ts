import { mkdir } from "node:fs/promises";
import type { Clock } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { watchDirs } from "../../lib/host/watch-dirs.ts";
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
export function watchSockets(options: SocketWatchOptions, signal: AbortSignal): Promise<void> {
  const { dir, clock, logger, onSockets } = options;
  const scan = async () => {
    await mkdir(dir, { recursive: true, mode: 0o755 });
    const { sockets, dirs } = await scanSockets(dir);
    onSockets(sockets);
    return dirs;
  };
  const onError = (error: unknown) =>
    logger.warn("Failed to read plugin directory", { path: dir, err: messageOf(error) });
  return watchDirs({ clock, logger, rescanMs: () => rescanEveryMs, scan, onError }, signal);
}
