import type { ChangeEvent, Scope } from "./change-event.ts";
import { encodeContinue, type Position } from "./continue-token.ts";
import { StoreError, tooOld } from "./errors.ts";
import type { Head } from "./head.ts";
import type { StoredObject } from "./object.ts";
import type { RecentEvents } from "./recent-events.ts";
import type { Revisions } from "./revisions.ts";

const pageSize = 500;
const maxChangesPerRead = 256;

/** Reads the state at any version that is not compacted, and the changes since. */
export class History {
  readonly #revisions: Revisions;
  readonly #recent: RecentEvents;
  readonly #head: Head;
  /** Versions before this one are compacted. */
  compacted: number;

  constructor(revisions: Revisions, recent: RecentEvents, head: Head, compacted: number) {
    this.#revisions = revisions;
    this.#recent = recent;
    this.#head = head;
    this.compacted = compacted;
  }

  /** The next objects of a scope at a version, in order; at most `limit`. */
  state(scope: Scope, version: number, after: Position | undefined, limit: number): StoredObject[] {
    this.#mustHave(version, after);
    const found: StoredObject[] = [];
    let position = after;
    while (found.length < limit) {
      const pageLimit = scope.matches ? pageSize : Math.min(pageSize, limit - found.length);
      const page = this.#revisions.snapshot(scope, version, position, pageLimit);
      for (const object of page) {
        if (found.length < limit && (!scope.matches || scope.matches(object.value))) found.push(object);
      }
      position = page.at(-1)?.key;
      if (page.length < pageLimit) break;
    }
    return found;
  }

  /** The number of objects of a scope without selector after a position. */
  count(scope: Scope, version: number, after: Position): number {
    return this.#revisions.count(scope, version, after);
  }

  /** The next changes of a resource, and up to which version they are complete. */
  changes(resource: string, after: number): { events: ChangeEvent[]; through: number; more: boolean } {
    let events = this.#recent.after(resource, after, maxChangesPerRead);
    if (!events) {
      if (after < this.compacted) throw tooOld(after, this.compacted);
      events = this.#revisions.changes(resource, after, maxChangesPerRead);
    }
    const more = events.length === maxChangesPerRead;
    return { events, more, through: more ? events.at(-1)!.version : Math.max(after, this.#head.version) };
  }

  #mustHave(version: number, after: Position | undefined): void {
    if (version >= this.compacted) return;
    if (!after) {
      throw new StoreError("Expired", "The resourceVersion for the provided list is too old.");
    }
    throw new StoreError(
      "Expired",
      "The provided continue parameter is too old to display a consistent list result. Start a new list without it, " +
        "or continue with the token in this response: changes since the first page may then be missing.",
      { continueToken: encodeContinue({ version: "latest", after }) },
    );
  }
}
