import { readdir } from "node:fs/promises";

const logName = /^(\d+)\.log(\..*)?$/;

/**
 * The restart count of a container by its log files: N.log is of the N-th restart. It is needed when a runtime
 * has lost its containers, for example after a reboot; otherwise the next one would write into the log of the first.
 */
export async function restartsByLogs(containerLogDir: string): Promise<number> {
  try {
    const entries = await readdir(containerLogDir, { withFileTypes: true });
    const counts = entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => Number(logName.exec(entry.name)?.[1] ?? -1) + 1);
    return Math.max(0, ...counts.filter(Number.isSafeInteger));
  } catch {
    // No directory, no logs; an unreadable one must not prevent the container from starting.
    return 0;
  }
}
