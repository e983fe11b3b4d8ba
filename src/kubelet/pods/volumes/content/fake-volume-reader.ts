import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";

export interface ReaderTask {
  readonly dir: string;
  readonly names: readonly string[];
  /** Set to 1 to stop the reader. */
  readonly stop: Int32Array;
}

export interface ReaderReport {
  readonly reads: number;
  /** The number of different versions that were read. */
  readonly versions: number;
  /** Reads that returned files of more than one version. */
  readonly mixed: readonly string[];
  /** Partial files. */
  readonly partial: readonly string[];
  /** Files that returned to an older version. */
  readonly back: readonly string[];
  /** Reads in which a file was missing: the generation was replaced in the meantime. */
  readonly gone: number;
}

/** For tests, in a worker thread: reads the volume continuously, as a program in a container would. */
function read({ dir, names, stop }: ReaderTask): ReaderReport {
  const report = { reads: 0, mixed: [] as string[], partial: [] as string[], back: [] as string[], gone: 0 };
  const versions = new Set<number>();
  const newest = new Map<string, number>();
  const versionOf = (path: string): number => {
    const lines = readFileSync(path, "utf8").split("\n");
    // Each line of a file is its version, the last one "end".
    if (lines.at(-1) !== "end" || new Set(lines.slice(0, -1)).size !== 1) report.partial.push(path);
    return Number(lines[0]);
  };
  const attempt = (readAll: () => void) => {
    try {
      readAll();
      report.reads++;
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOENT") throw error;
      report.gone++;
    }
  };
  while (Atomics.load(stop, 0) === 0) {
    attempt(() => {
      const data = realpathSync(join(dir, "..data"));
      const fileVersions = names.map((name) => versionOf(join(data, name)));
      for (const version of fileVersions) versions.add(version);
      if (new Set(fileVersions).size > 1) report.mixed.push(fileVersions.join(","));
    });
    attempt(() => {
      for (const name of names) {
        const version = versionOf(join(dir, name));
        if (version < (newest.get(name) ?? 0)) report.back.push(`${name}: ${version}`);
        newest.set(name, version);
      }
    });
  }
  // There may be very many; a few are enough for the message.
  const few = (list: readonly string[]) => list.slice(0, 5);
  const { mixed, partial, back } = report;
  return { ...report, mixed: few(mixed), partial: few(partial), back: few(back), versions: versions.size };
}

parentPort?.postMessage(read(workerData as ReaderTask));
