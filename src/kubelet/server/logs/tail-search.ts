import type { LogStream } from "./log-entry.ts";

/** A position in a log of several files, which are numbered from the oldest. */
export interface LogPosition {
  readonly file: number;
  readonly offset: number;
}

/** The start of each stream. */
export type LogStarts = Readonly<Record<LogStream, LogPosition>>;

/** Parts of one line are close together: the search for them is limited to this distance. */
const maxDistance = 256 * 1024;

/**
 * Finds the start of the last lines, given the entries of a log from its end. A line is counted where it ends. Since the
 * lines of both streams may be interleaved, each stream has its own start.
 */
export class TailSearch {
  readonly #lines: number;
  #found = 0;
  #distance = 0;
  #streams = new Map<LogStream, { start: LogPosition; distance: number; complete: boolean }>();

  constructor(lines: number) {
    this.#lines = lines;
  }

  /** True if no more entries are needed. */
  get done(): boolean {
    if (this.#found < this.#lines) return false;
    for (const stream of this.#streams.values())
      if (!stream.complete && this.#distance - stream.distance <= maxDistance) return false;
    return true;
  }

  /** How many lines are still missing. */
  get missing(): number {
    return this.#lines - this.#found;
  }

  entry(entry: { stream: LogStream; partial: boolean; position: LogPosition; bytes: number }): void {
    const { stream, partial, position, bytes } = entry;
    this.#distance += bytes;
    const known = this.#streams.get(stream);
    if (known?.complete) return;
    if (known && partial) {
      known.start = position;
      known.distance = this.#distance;
      return;
    }
    // The end of a line; or of the log, whose last line has no end yet.
    if (this.#found < this.#lines) {
      this.#found++;
      this.#streams.set(stream, { start: position, distance: this.#distance, complete: false });
    } else if (known) known.complete = true;
    else this.#streams.set(stream, { start: unset, distance: 0, complete: true });
  }

  /** A stream without any of the lines starts at the end of the log. */
  starts(end: LogPosition): LogStarts {
    const of = (stream: LogStream) => {
      const start = this.#streams.get(stream)?.start ?? unset;
      return start === unset ? end : start;
    };
    return { stdout: of("stdout"), stderr: of("stderr") };
  }
}

const unset: LogPosition = { file: -1, offset: -1 };

export function isEarlier(a: LogPosition, b: LogPosition): boolean {
  return a.file === b.file ? a.offset < b.offset : a.file < b.file;
}
