import { setImmediate as nextTick } from "node:timers/promises";
import { type Clock, msFromNow } from "../../lib/base/clock.ts";
import { isAbort } from "../../lib/base/errors.ts";
import { earliest, endOfTime, msBetween, plusMs } from "../../lib/base/time.ts";
import { eventInScope, type Scope, type WatchEvent } from "./change-event.ts";
import type { Position } from "./continue-token.ts";
import { tooOld } from "./errors.ts";
import type { Head } from "./head.ts";
import type { History } from "./history.ts";
import type { WatchStart } from "./watch-start.ts";

const pageSize = 100;

export interface WatchOptions {
  /** Default: the current state, then the changes. */
  readonly start?: WatchStart;
  /** Bookmarks are sent every minute without other events, and at the timeout. */
  readonly bookmarks?: boolean;
  readonly timeoutMs?: number;
  /** Ends the watch, without an error. */
  readonly signal?: AbortSignal;
}

export interface WatchSource {
  readonly clock: Clock;
  readonly head: Head;
  readonly history: History;
  readonly bookmarkMs: number;
  /** How long to wait for a future version. */
  readonly freshnessMs: number;
}

/**
 * A watcher is a position in the history, not a queue: it continues when its client is ready. So a slow one uses little
 * memory, and if the history is compacted past its position it ends with Expired.
 */
export async function* watchEvents(
  source: WatchSource,
  scope: Scope,
  start: Exclude<WatchStart, { kind: "now" }>,
  options: WatchOptions,
): AsyncGenerator<WatchEvent, void, undefined> {
  const { clock, head, history } = source;
  const { signal, bookmarks = false, timeoutMs = Number.POSITIVE_INFINITY } = options;
  const ended = () => head.closed || signal?.aborted === true;
  const deadline = msFromNow(clock, timeoutMs);
  let position: number;
  if (start.kind === "after") {
    position = start.version;
  } else {
    try {
      await head.reach(start.notOlderThan, source.freshnessMs, signal);
    } catch (error) {
      if (isAbort(error)) return;
      throw error;
    }
    if (ended()) return;
    position = head.version;
    for (const event of stateEvents(history, scope, position)) {
      yield event;
      if (ended()) return;
    }
    if (start.markEnd) yield { type: "BOOKMARK", version: position, initialEventsEnd: true };
  }

  let bookmarkAt = bookmarks ? msFromNow(clock, source.bookmarkMs) : endOfTime;
  while (!ended()) {
    const { events, through, more } = history.changes(scope.resource, position);
    for (const event of events) {
      const seen = eventInScope(scope, event);
      if (!seen) continue;
      yield seen;
      if (ended()) return;
    }
    position = through;
    const now = clock.monotonic();
    if (now >= deadline) {
      if (bookmarks) yield { type: "BOOKMARK", version: position, initialEventsEnd: false };
      return;
    }
    if (now >= bookmarkAt) {
      bookmarkAt = plusMs(now, source.bookmarkMs);
      yield { type: "BOOKMARK", version: position, initialEventsEnd: false };
      continue;
    }
    if (more) {
      // Yields to other work between two steps of catching up.
      await nextTick();
    } else if (position >= head.version) {
      // If the position is older, something was written while the client received its events.
      const wait = msBetween(now, earliest(deadline, bookmarkAt));
      position = (await head.nextChange(scope.resource, position, wait, signal)).position;
    }
  }
}

function* stateEvents(
  history: History,
  scope: Scope,
  version: number,
): Generator<WatchEvent, void, undefined> {
  let pagePosition: Position | undefined;
  for (;;) {
    if (version < history.compacted) throw tooOld(version, history.compacted);
    const page = history.state(scope, version, pagePosition, pageSize);
    for (const object of page) yield { type: "ADDED", version: object.version, object, previous: undefined };
    if (page.length < pageSize) return;
    pagePosition = page.at(-1)!.key;
  }
}
