export interface HistoryLimits {
  readonly maxAgeMs: number;
  readonly maxEvents: number;
  /** The maximum total length of all changes in the history. */
  readonly maxChars: number;
}

/** Five minutes, as upstream; the size limits prevent a busy node from filling its disk in that time. */
export const defaultLimits: HistoryLimits = {
  maxAgeMs: 5 * 60_000,
  maxEvents: 20_000,
  maxChars: 64 * 1024 * 1024,
};

export interface HistoryRow {
  readonly version: number;
  readonly at: number;
  readonly chars: number;
}

export interface HistorySize {
  readonly events: number;
  readonly chars: number;
}

/** One step of a compaction: the version of the last row to delete, and the size of all deleted rows. */
export interface CompactionStep extends HistorySize {
  readonly version: number;
}

/** `oldest` are the first rows of the history, oldest first; `size` is the size of the whole history. */
export function planCompaction(
  oldest: Iterable<HistoryRow>,
  size: HistorySize,
  limits: HistoryLimits,
  now: number,
): CompactionStep | undefined {
  let events = 0;
  let chars = 0;
  let version: number | undefined;
  for (const row of oldest) {
    const old = row.at < now - limits.maxAgeMs;
    if (!old && size.events - events <= limits.maxEvents && size.chars - chars <= limits.maxChars) break;
    events++;
    chars += row.chars;
    version = row.version;
  }
  return version === undefined ? undefined : { version, events, chars };
}
