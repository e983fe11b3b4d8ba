import { since } from "../../lib/base/human-duration.ts";
import type { Event as CoreEvent } from "../../lib/gen/kubernetes/core.d.ts";
import type { Event as NewEvent } from "../../lib/gen/kubernetes/events.d.ts";
import { type ApiObject, typed } from "../storage/object.ts";
import { column, type Named, nameColumn, viewTableDefinition } from "./table-definition.ts";

/** An event, of either of its two API groups. */
interface EventView extends Named {
  readonly event: Partial<CoreEvent>;
}

const wide = { wide: true } as const;

export const eventTable = viewTableDefinition<EventView>(viewOf, [
  column("Last Seen", "The time since the last occurrence.", ({ event }, now) => lastSeen(event, now)),
  column("Type", "Normal, or Warning.", ({ event }) => event.type ?? ""),
  column("Reason", "The reason, in a machine-readable form.", ({ event }) => event.reason ?? ""),
  column("Object", "The object that the event is about.", ({ event }) => target(event)),
  column(
    "Subobject",
    "The part of the object that the event is about.",
    ({ event }) => event.involvedObject?.fieldPath ?? "",
    wide,
  ),
  column("Source", "The component that reported it.", ({ event }) => source(event), wide),
  column("Message", "A human-readable description.", ({ event }) => (event.message ?? "").trim()),
  column(
    "First Seen",
    "The time since the first occurrence.",
    ({ event }, now) => firstSeen(event, now),
    wide,
  ),
  // Declared as a string although its cells are numbers, as kubectl expects.
  column(
    "Count",
    "The number of occurrences.",
    ({ event }) => event.series?.count ?? (event.count || 1),
    wide,
  ),
  { ...nameColumn, definition: { ...nameColumn.definition, priority: 1 } },
]);

function viewOf(object: ApiObject): EventView {
  const { metadata } = object;
  if (
    !("regarding" in object || "note" in object || String(object.apiVersion).startsWith("events.k8s.io/"))
  ) {
    return { metadata, event: typed(object) };
  }
  const given: Partial<NewEvent> = typed(object);
  return {
    metadata,
    event: {
      type: given.type,
      reason: given.reason,
      message: given.note,
      involvedObject: given.regarding,
      source: given.deprecatedSource,
      reportingComponent: given.reportingController,
      reportingInstance: given.reportingInstance,
      firstTimestamp: given.deprecatedFirstTimestamp,
      lastTimestamp: given.deprecatedLastTimestamp,
      eventTime: given.eventTime,
      count: given.deprecatedCount,
      series: given.series,
    },
  };
}

function firstSeen(event: Partial<CoreEvent>, now: number): string {
  return since(event.firstTimestamp || event.eventTime, now);
}

function lastSeen(event: Partial<CoreEvent>, now: number): string {
  if (event.series) return since(event.series.lastObservedTime, now);
  return event.lastTimestamp ? since(event.lastTimestamp, now) : firstSeen(event, now);
}

function target(event: Partial<CoreEvent>): string {
  const kind = (event.involvedObject?.kind ?? "").toLowerCase();
  const name = event.involvedObject?.name;
  return name ? `${kind}/${name}` : kind;
}

function source(event: Partial<CoreEvent>): string {
  const component = event.source?.component || event.reportingComponent || "";
  const host = event.source?.host || event.reportingInstance;
  return host ? `${component}, ${host}` : component;
}
