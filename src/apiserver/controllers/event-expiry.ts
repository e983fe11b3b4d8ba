import type { Objects } from "../definition.ts";
import type { ApiObject } from "../storage/object.ts";
import { timeOf } from "./api-times.ts";
import { refTo } from "./object-ref.ts";

const eventTtlMs = 3_600_000;

/** Events that were last reported more than an hour ago. */
function expiredEvents(events: readonly ApiObject[], now: number): ApiObject[] {
  return events.filter((event) => now - lastSeen(event) >= eventTtlMs);
}

function lastSeen(event: ApiObject): number {
  const { metadata, lastTimestamp, eventTime, series } = event;
  const times = [metadata.creationTimestamp, lastTimestamp, eventTime, series?.lastObservedTime].map(timeOf);
  return Math.max(...times.map((time) => time ?? 0));
}

export async function expireEvents(objects: Objects, now: number): Promise<void> {
  for (const event of expiredEvents(await objects.list("events"), now))
    await objects.delete(refTo("events", event), { uid: event.metadata.uid });
}
