import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { errnoOf } from "../../../lib/base/errors.ts";
import { closeLog, headOf, type OpenLog, openLog, openRotated, rotatedLogs } from "./log-files.ts";

/**
 * The position in a log of several files, and the next file. Files are distinguished by inode: an open one keeps its
 * own, even if it is renamed.
 */
export class LogChain {
  readonly #path: string;
  #log: OpenLog;
  /** The last rotated file that is known to be this one or older. */
  #name: string;

  constructor(path: string, log: OpenLog, name: string) {
    this.#path = path;
    this.#log = log;
    this.#name = name;
  }

  get log(): OpenLog {
    return this.#log;
  }

  /** The next file, if there is one; `advance` switches to it. */
  async next(): Promise<{ log: OpenLog; name: string } | undefined> {
    for (;;) {
      // Read first: a log that is rotated after this read is found among the rotated ones, or is still this file.
      const current = await inodeOf(this.#path);
      if (current !== undefined && this.#log.kind === "plain" && this.#log.ino === current) return undefined;
      const names = (await rotatedLogs(this.#path)).filter((name) => name > this.#name);
      const own = await this.#indexIn(names);
      const name = names[own + 1];
      const log = name === undefined ? await openCurrent(this.#path, current) : await this.#open(name);
      if (log === "gone") {
        if (name === undefined) return undefined;
        this.#name = name;
        continue;
      }
      if (log !== "changed") return { log, name: name ?? names.at(-1) ?? this.#name };
    }
  }

  async advance(next: { log: OpenLog; name: string }): Promise<void> {
    await closeLog(this.#log);
    this.#log = next.log;
    this.#name = next.name;
  }

  close(): Promise<void> {
    return closeLog(this.#log);
  }

  /** The index of this file among the names; -1 if it is none of them. */
  async #indexIn(names: readonly string[]): Promise<number> {
    if (this.#log.kind === "compressed") return -1;
    for (const [index, name] of names.entries()) {
      const log = await openRotated(dirname(this.#path), name);
      if (!log) continue;
      try {
        if (log.kind === "plain" ? log.ino === this.#log.ino : await sameHead(log, this.#log)) return index;
      } finally {
        await closeLog(log);
      }
    }
    return -1;
  }

  async #open(name: string): Promise<OpenLog | "gone"> {
    return (await openRotated(dirname(this.#path), name)) ?? "gone";
  }
}

async function sameHead(a: OpenLog, b: OpenLog): Promise<boolean> {
  const [x, y] = [await headOf(a), await headOf(b)];
  const length = Math.min(x.length, y.length);
  return length > 0 && x.subarray(0, length).equals(y.subarray(0, length));
}

async function inodeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).ino;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** "changed" if it was replaced since it was checked: a file between the two may have been missed. */
async function openCurrent(path: string, ino: number | undefined): Promise<OpenLog | "gone" | "changed"> {
  if (ino === undefined) return "gone";
  try {
    const log = await openLog(path);
    if (log.ino === ino) return log;
    await closeLog(log);
    return "changed";
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return "changed";
    throw error;
  }
}
