import { watch } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, msSince } from "../../../lib/base/clock.ts";
import { abortError } from "../../../lib/base/errors.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import { WakeUp } from "../../../lib/base/wait.ts";
import { isOpenForWriting } from "../../../lib/host/open-for-writing.ts";
import type { EntrySplitter } from "./entry-splitter.ts";
import type { LineJoiner } from "./line-joiner.ts";
import type { LogChain } from "./log-chain.ts";
import { closeLog, type OpenLog, readLog } from "./log-files.ts";

/** The container that writes the log. */
export interface LogWriterState {
  /** False when the container has terminated: all its output is in its log then. */
  isRunning(): boolean;
  /** Calls back whenever that may have changed; the returned function unsubscribes. */
  onChange(listener: () => void): () => void;
}

export interface FollowOptions {
  readonly chain: LogChain;
  readonly path: string;
  /** The offset in the first file. */
  readonly from: number;
  readonly splitter: EntrySplitter;
  readonly joiner: LineJoiner;
  readonly flush: () => Promise<void>;
  readonly writer: LogWriterState;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Finds changes that inotify missed. */
const rescanMs = 5000;
/** Polling interval without inotify. */
const pollMs = 500;
/** How long a runtime may write to a file after the next one exists, and how often it is checked. */
const maxHandoverMs = 2000;
const handoverPollMs = 20;
/** Buffer of each follower. */
const bufferBytes = 16 * 1024;

/**
 * Follows a log until its container has terminated, across rotations: the next file is opened
 * only when the current one has no writer and was read completely.
 */
export async function followLog(options: FollowOptions): Promise<void> {
  const { path, writer, signal, clock } = options;
  const wake = new WakeUp();
  // Names change when a log is rotated; otherwise there is no need to check for another file.
  let renamed = true;
  const unlisten = writer.onChange(() => wake.notify());
  const directory = watchDir(dirname(path), (event) => {
    renamed ||= event === "rename";
    wake.notify();
  });
  try {
    const follower = new Follower(options);
    for (;;) {
      wake.reset();
      const ended = !writer.isRunning();
      const checkNames = renamed || ended;
      renamed = false;
      if ((await follower.read()) === "full") return;
      const result = checkNames ? await follower.advance(ended) : "unchanged";
      if (result === "full" || (result === "unchanged" && ended)) return;
      if (result === "advanced") renamed = true;
      else if (result === "soon") renamed = await wake.wait(clock, handoverPollMs, signal).then(() => true);
      else if (!(await wake.wait(clock, directory ? rescanMs : pollMs, signal))) renamed = true;
      if (signal.aborted) throw abortError(signal.reason);
    }
  } finally {
    unlisten();
    directory?.close();
  }
}

/** Undefined if the kernel has no watches left. */
function watchDir(dir: string, onEvent: (event: string) => void): { close(): void } | undefined {
  try {
    const watcher = watch(dir, onEvent);
    watcher.on("error", () => onEvent("rename"));
    return watcher;
  } catch {
    return undefined;
  }
}

class Follower {
  readonly #o: FollowOptions;
  readonly #buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #at: number;
  /** When the next file was first seen. */
  #nextSince: MonotonicTime | undefined;

  constructor(options: FollowOptions) {
    this.#o = options;
    this.#at = options.from;
  }

  /** Sends all new data of the file. */
  async read(): Promise<"full" | "end"> {
    const { chain, joiner, flush } = this.#o;
    const { log } = chain;
    const full = await (log.kind === "plain" ? this.#readPlain(log.file) : this.#readCompressed(log));
    if (full) return "full";
    joiner.settle();
    await flush();
    return joiner.full ? "full" : "end";
  }

  /**
   * Usually there is one new entry: this takes one system call, while reading the size takes
   * three.
   */
  async #readPlain(file: FileHandle): Promise<boolean> {
    const { splitter } = this.#o;
    for (let isFirst = true; ; isFirst = false) {
      const { bytesRead } = await file.read(this.#buffer, 0, this.#buffer.length, this.#at);
      if (bytesRead > 0) {
        if (await this.#take(this.#buffer.subarray(0, bytesRead))) return true;
        if (bytesRead < this.#buffer.length) return false;
        continue;
      }
      if (!isFirst || (await file.stat()).size >= this.#at) return false;
      // Truncated by a tool that copies logs and truncates them: it starts again.
      splitter.restart();
      this.#at = 0;
    }
  }

  async #readCompressed(log: OpenLog): Promise<boolean> {
    // A compressed file does not change.
    if (this.#at > 0) return false;
    for await (const chunk of readLog(log, 0)) if (await this.#take(chunk)) return true;
    return false;
  }

  async #take(chunk: Buffer): Promise<boolean> {
    const { splitter, joiner, flush, signal } = this.#o;
    signal.throwIfAborted();
    this.#at += chunk.length;
    splitter.push(chunk);
    await flush();
    return joiner.full;
  }

  /** Switches to the next file, if there is one and this one is complete; "soon" if it is about to be. */
  async advance(ended: boolean): Promise<"advanced" | "unchanged" | "soon" | "full"> {
    const { chain, splitter } = this.#o;
    const next = await chain.next();
    if (!next) {
      this.#nextSince = undefined;
      return "unchanged";
    }
    let isAdvanced = false;
    try {
      if (!ended && !this.#isComplete()) return "soon";
      // An entry may have been written between the last read and the last close.
      if ((await this.read()) === "full") return "full";
      splitter.end({ ends: true });
      splitter.restart();
      await chain.advance(next);
      isAdvanced = true;
    } finally {
      if (!isAdvanced) await closeLog(next.log);
    }
    this.#at = 0;
    this.#nextSince = undefined;
    return "advanced";
  }

  #isComplete(): boolean {
    const { chain, clock } = this.#o;
    const { log } = chain;
    this.#nextSince ??= clock.monotonic();
    if (log.kind === "compressed" || isOpenForWriting(log.file.fd) === false) return true;
    return msSince(clock, this.#nextSince) >= maxHandoverMs;
  }
}
