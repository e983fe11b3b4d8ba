import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";

export interface ReaderTask {
  readonly dir: string;
  readonly names: readonly string[];
  /** Set to 1 when it is to stop. */
  readonly stop: Int32Array;
}

export interface ReaderReport {
  readonly looks: number;
  /** How many different versions were seen. */
  readonly versions: number;
  /** Looks that found files of more than one version. */
  readonly mixed: readonly string[];
  /** Files that were not whole. */
  readonly torn: readonly string[];
  /** Files that went back to an older version. */
  readonly back: readonly string[];
  /** Looks in which a file was gone: the folder had been replaced meanwhile. */
  readonly gone: number;
}

/** For tests, in a thread of its own: what a program in a container sees that does nothing but read. */
function read({ dir, names, stop }: ReaderTask): ReaderReport {
  const report = { looks: 0, mixed: [] as string[], torn: [] as string[], back: [] as string[], gone: 0 };
  const versions = new Set<number>();
  const newest = new Map<string, number>();
  const versionOf = (path: string): number => {
    const lines = readFileSync(path, "utf8").split("\n");
    // Each line of a file is its version, the last one "end".
    if (lines.at(-1) !== "end" || new Set(lines.slice(0, -1)).size !== 1) report.torn.push(path);
    return Number(lines[0]);
  };
  const attempt = (look: () => void) => {
    try {
      look();
      report.looks++;
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOENT") throw error;
      report.gone++;
    }
  };
  while (Atomics.load(stop, 0) === 0) {
    attempt(() => {
      const data = realpathSync(join(dir, "..data"));
      const seen = names.map((name) => versionOf(join(data, name)));
      for (const version of seen) versions.add(version);
      if (new Set(seen).size > 1) report.mixed.push(seen.join(","));
    });
    attempt(() => {
      for (const name of names) {
        const version = versionOf(join(dir, name));
        if (version < (newest.get(name) ?? 0)) report.back.push(`${name}: ${version}`);
        newest.set(name, version);
      }
    });
  }
  // A few of them show what is wrong; there may be very many.
  const few = (list: readonly string[]) => list.slice(0, 5);
  const { mixed, torn, back } = report;
  return { ...report, mixed: few(mixed), torn: few(torn), back: few(back), versions: versions.size };
}

parentPort?.postMessage(read(workerData as ReaderTask));
