import { readdir } from "node:fs/promises";

const logName = /^(\d+)\.log(\..*)?$/;

/**
 * How often a container was started, by the logs that it left: N.log is of the N-th restart. It helps when a runtime
 * has lost its containers, as some do with a reboot; without it the next one would write into the log of the first.
 */
export async function restartsByLogs(containerLogDir: string): Promise<number> {
  try {
    const entries = await readdir(containerLogDir, { withFileTypes: true });
    const counts = entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => Number(logName.exec(entry.name)?.[1] ?? -1) + 1);
    return Math.max(0, ...counts.filter(Number.isSafeInteger));
  } catch {
    // No folder, no logs; and one that cannot be read must not keep the container from starting.
    return 0;
  }
}
