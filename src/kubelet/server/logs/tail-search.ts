import type { LogStream } from "./log-row.ts";

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
 * Finds the start of the last lines, given the rows of a log from its end. A line is counted where it ends. Since the
 * lines of both streams may be interleaved, each stream has its own start.
 */
export class TailSearch {
  readonly #lines: number;
  #found = 0;
  #travelled = 0;
  #streams = new Map<LogStream, { start: LogPosition; seenAt: number; complete: boolean }>();

  constructor(lines: number) {
    this.#lines = lines;
  }

  /** True if no more rows are needed. */
  get done(): boolean {
    if (this.#found < this.#lines) return false;
    for (const stream of this.#streams.values())
      if (!stream.complete && this.#travelled - stream.seenAt <= maxDistance) return false;
    return true;
  }

  /** How many lines are still missing. */
  get missing(): number {
    return this.#lines - this.#found;
  }

  row(row: { stream: LogStream; partial: boolean; place: LogPosition; bytes: number }): void {
    const { stream, partial, place, bytes } = row;
    this.#travelled += bytes;
    const known = this.#streams.get(stream);
    if (known?.complete) return;
    if (known && partial) {
      known.start = place;
      known.seenAt = this.#travelled;
      return;
    }
    // The end of a line; or of the log, whose last line has no end yet.
    if (this.#found < this.#lines) {
      this.#found++;
      this.#streams.set(stream, { start: place, seenAt: this.#travelled, complete: false });
    } else if (known) known.complete = true;
    else this.#streams.set(stream, { start: nowhere, seenAt: 0, complete: true });
  }

  /** A stream without any of the lines starts at the end of the log. */
  starts(end: LogPosition): LogStarts {
    const of = (stream: LogStream) => {
      const start = this.#streams.get(stream)?.start ?? nowhere;
      return start === nowhere ? end : start;
    };
    return { stdout: of("stdout"), stderr: of("stderr") };
  }
}

const nowhere: LogPosition = { file: -1, offset: -1 };

export function isEarlier(a: LogPosition, b: LogPosition): boolean {
  return a.file === b.file ? a.offset < b.offset : a.file < b.file;
}
