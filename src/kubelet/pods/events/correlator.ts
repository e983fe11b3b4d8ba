import { createHash } from "node:crypto";
import { type MonotonicTime, msBetween } from "../../../lib/base/time.ts";
import { type ApiEvent, eventName } from "./event-object.ts";
import { LruCache } from "./lru-cache.ts";

/** After this many different messages with the same reason about the same object, … */
const aggregateFrom = 10;
/** … each within this interval after the previous one, they are combined into one event. */
const aggregateMs = 600_000;
/** The number of events of one type about one object that are sent at once. After them, one is sent every five minutes. */
const spamBurst = 25;
const spamEveryMs = 300_000;
const cacheSize = 4096;
const maxKeyLength = 256;

export interface Correlated {
  /** Equal for all occurrences of one event in the API. */
  key: string;
  event: ApiEvent;
}

interface Occurrences {
  count: number;
  firstTimestamp: string;
  name: string;
}

/** Prevents events from flooding the API: repeated ones are counted, similar ones combined, too many dropped. */
export class EventCorrelator {
  #similar = new LruCache<{ messages: Set<string>; at: MonotonicTime }>(cacheSize);
  #occurrences = new LruCache<Occurrences>(cacheSize);
  #budgets = new LruCache<{ tokens: number; at: MonotonicTime }>(cacheSize);

  /** The event to write to the API; undefined if there are too many about this object. `at`: its time, in nanoseconds. */
  add(event: ApiEvent, at: bigint, now: MonotonicTime): Correlated | undefined {
    const combined = this.#combine(event, at, now);
    const counted = this.#count(combined);
    return this.#isSpam(counted.event, now) ? undefined : counted;
  }

  #combine(event: ApiEvent, at: bigint, now: MonotonicTime): Correlated {
    const object = objectKeyOf(event);
    const key = keyOf(object, event.type, event.reason, event.reportingComponent, event.reportingInstance);
    let group = this.#similar.get(key);
    if (!group || msBetween(group.at, now) > aggregateMs) group = { messages: new Set(), at: now };
    const message = identityOf(event.message);
    group.messages.add(message);
    group.at = now;
    this.#similar.set(key, group);
    const { fieldPath = "" } = event.involvedObject;
    if (group.messages.size < aggregateFrom)
      return { event, key: keyOf(object, fieldPath, event.type, event.reason, message) };
    // One message is dropped, so that the set stays below the limit and the next different message is combined, too.
    const [oldest] = group.messages;
    if (oldest !== undefined) group.messages.delete(oldest);
    const name = eventName(event.involvedObject.name, at);
    return {
      key,
      event: {
        ...event,
        metadata: { ...event.metadata, name },
        message: `(combined from similar events): ${event.message}`,
        reportingComponent: "",
        reportingInstance: "",
      },
    };
  }

  #count({ key, event }: Correlated): Correlated {
    const previous = this.#occurrences.get(key);
    const { name } = previous ?? event.metadata;
    const firstTimestamp = previous?.firstTimestamp ?? event.firstTimestamp;
    const count = (previous?.count ?? 0) + 1;
    this.#occurrences.set(key, { count, firstTimestamp, name });
    return { key, event: { ...event, metadata: { ...event.metadata, name }, firstTimestamp, count } };
  }

  #isSpam(event: ApiEvent, now: MonotonicTime): boolean {
    const key = keyOf(objectKeyOf(event), event.type);
    const budget = this.#budgets.get(key) ?? { tokens: spamBurst, at: now };
    const refilled = msBetween(budget.at, now) / spamEveryMs;
    const tokens = Math.min(spamBurst, budget.tokens + refilled);
    this.#budgets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
    return tokens < 1;
  }
}

function objectKeyOf({ source, involvedObject: o }: ApiEvent): string {
  return keyOf(source.component, source.host, o.kind, o.namespace ?? "", o.name, o.uid ?? "", o.apiVersion);
}

/** Thousands of messages are remembered, also of pods that are gone: a long one by its hash. */
function identityOf(message: string): string {
  return message.length <= maxKeyLength ? message : createHash("sha256").update(message).digest("base64");
}

function keyOf(...parts: string[]): string {
  return parts.join("\0");
}
