import { realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../../lib/base/clock.ts";
import { errnoOf, KubeletError } from "../../../lib/base/errors.ts";
import { EntrySplitter } from "./entry-splitter.ts";
import { followLog, type LogWriterState } from "./follow-log.ts";
import { LineJoiner, type LineOptions } from "./line-joiner.ts";
import { LogChain } from "./log-chain.ts";
import { closeLog, type OpenLog, openLog, openRotated, readLog, rotatedLogs } from "./log-files.ts";
import { lastEntryEnd, searchLog } from "./read-tail.ts";
import { isEarlier, type LogPosition, type LogStarts, TailSearch } from "./tail-search.ts";

export interface StreamLogOptions extends LineOptions {
  readonly tailLines?: number;
  /** Continues as long as there is a writer. */
  readonly follow?: LogWriterState | undefined;
  /** Called when it is clear that there is a log. */
  readonly begin?: () => void;
  /** Writes bytes, and resolves when it can accept more. */
  readonly write: (bytes: Buffer) => Promise<void>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Sends a container's log, including rotated files. Only a few blocks are in memory. */
export async function streamLog(givenPath: string, options: StreamLogOptions): Promise<void> {
  const path = await resolved(givenPath);
  const current = await opened(path);
  let chain: LogChain | undefined;
  try {
    options.begin?.();
    const { size: whole } = await current.file.stat();
    // An incomplete entry at the end is left to the follower.
    const size = options.follow ? await lastEntryEnd(current.file, whole) : whole;
    const older = await olderThan(path, current.ino);
    const end: LogPosition = { file: older.length, offset: size };
    const reading = new Reading(options, path, older, current, end);
    await reading.readExisting();
    if (!options.follow || reading.full) return;
    chain = new LogChain(path, current, older.at(-1) ?? "");
    const { follow, signal, clock } = options;
    await followLog({
      chain,
      path,
      from: size,
      splitter: reading.splitter,
      joiner: reading.joiner,
      flush: () => reading.flush(),
      writer: follow,
      signal,
      clock,
    });
  } finally {
    await (chain ? chain.close() : closeLog(current));
  }
}

/** The log may have been rotated since it was opened: newer files are ignored. */
async function olderThan(path: string, ino: number): Promise<string[]> {
  const names = await rotatedLogs(path);
  for (const [index, name] of names.entries()) {
    const found = await stat(join(dirname(path), name)).catch(() => undefined);
    if (found?.ino === ino) return names.slice(0, index);
  }
  return names;
}

/** One pass over the existing files. */
class Reading {
  readonly joiner: LineJoiner;
  splitter: EntrySplitter;
  readonly #o: StreamLogOptions;
  readonly #path: string;
  readonly #older: readonly string[];
  readonly #current: OpenLog;
  readonly #end: LogPosition;
  #starts: LogStarts | undefined;
  #file = 0;

  constructor(
    options: StreamLogOptions,
    path: string,
    older: readonly string[],
    current: OpenLog,
    end: LogPosition,
  ) {
    this.#o = options;
    this.#path = path;
    this.#older = older;
    this.#current = current;
    this.#end = end;
    this.joiner = new LineJoiner(options);
    this.splitter = this.#newSplitter(0);
  }

  get full(): boolean {
    return this.joiner.full;
  }

  async flush(): Promise<void> {
    const bytes = this.joiner.take();
    if (bytes.length > 0) await this.#o.write(bytes);
  }

  async readExisting(): Promise<void> {
    const start = await this.#start();
    for (this.#file = start.file; this.#file <= this.#end.file; this.#file++) {
      const from = this.#file === start.file ? start.offset : 0;
      await this.#withFile(this.#file, (log) => this.#read(log, from));
      if (this.full) return;
    }
    if (!this.#o.follow) this.splitter.end({ ends: false });
    this.joiner.settle();
    await this.flush();
  }

  async #read(log: OpenLog, from: number): Promise<void> {
    const isLast = this.#file === this.#end.file;
    this.splitter = this.#newSplitter(from);
    for await (const chunk of readLog(log, from, isLast ? this.#end.offset : undefined)) {
      this.#o.signal.throwIfAborted();
      this.splitter.push(chunk);
      await this.flush();
      if (this.full) return;
    }
    if (!isLast) this.splitter.end({ ends: true });
    else if (!this.#o.follow && this.splitter.midEntry) await this.#endEntry(log);
  }

  /** The size was read while an entry was being written: include the rest of that entry. */
  async #endEntry(log: OpenLog): Promise<void> {
    for await (const chunk of readLog(log, this.#end.offset)) {
      const end = chunk.indexOf(10);
      this.splitter.push(end < 0 ? chunk : chunk.subarray(0, end + 1));
      await this.flush();
      if (end >= 0) return;
    }
  }

  #newSplitter(from: number): EntrySplitter {
    return new EntrySplitter((entry) => {
      const start = this.#starts?.[entry.stream];
      if (!start || !isEarlier({ file: this.#file, offset: entry.at }, start)) this.joiner.push(entry);
    }, from);
  }

  async #start(): Promise<LogPosition> {
    const { tailLines } = this.#o;
    if (tailLines === undefined) return { file: await this.#firstSince(), offset: 0 };
    const search = new TailSearch(tailLines);
    for (let file = this.#end.file; file >= 0 && !search.done; file--) {
      this.#o.signal.throwIfAborted();
      await this.#withFile(file, async (log) => {
        const end = file === this.#end.file ? this.#end.offset : await sizeOf(log);
        await searchLog(search, log, file, end);
      });
    }
    this.#starts = search.starts(this.#end);
    const { stdout, stderr } = this.#starts;
    return isEarlier(stderr, stdout) ? stderr : stdout;
  }

  /** If a file was last modified before that time, it has no matching entries, and neither do older files. */
  async #firstSince(): Promise<number> {
    const { since } = this.#o;
    if (!since) return 0;
    for (let file = this.#end.file - 1; file >= 0; file--) {
      const found = await this.#withFile(file, (log) => modifiedAt(log));
      if (found !== undefined && found < since.ms) return file + 1;
    }
    return 0;
  }

  /** A file that was removed in the meantime is skipped. */
  async #withFile<T>(file: number, work: (log: OpenLog) => Promise<T>): Promise<T | undefined> {
    const name = this.#older[file];
    if (name === undefined) return await work(this.#current);
    const log = await openRotated(dirname(this.#path), name);
    if (!log) return undefined;
    try {
      return await work(log);
    } finally {
      await closeLog(log);
    }
  }
}

async function sizeOf(log: OpenLog): Promise<number> {
  return log.kind === "plain" ? (await log.file.stat()).size : 0;
}

async function modifiedAt(log: OpenLog): Promise<number> {
  return (await log.file.stat()).mtimeMs;
}

async function resolved(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const reason = errnoOf(error) === "ENOENT" ? `lstat ${path}: no such file or directory` : String(error);
    throw new KubeletError("LogFile", `failed to try resolving symlinks in path "${path}": ${reason}`, {
      cause: error,
    });
  }
}

async function opened(path: string): Promise<Extract<OpenLog, { kind: "plain" }>> {
  try {
    return await openLog(path);
  } catch (error) {
    throw new KubeletError("LogFile", `failed to open log file "${path}": ${String(error)}`, {
      cause: error,
    });
  }
}
