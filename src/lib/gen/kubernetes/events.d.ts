// Made by "npm run gen" from src/lib/schema/types.
import type * as core from "./core.d.ts";
import type * as meta from "./meta.d.ts";

export interface Event {
  apiVersion?: "events.k8s.io/v1";
  kind?: "Event";
  metadata?: meta.ObjectMeta;
  eventTime: string;
  series?: EventSeries;
  reportingController?: string;
  reportingInstance?: string;
  action?: string;
  reason?: string;
  regarding?: core.ObjectReference;
  related?: core.ObjectReference;
  note?: string;
  type?: string;
  deprecatedSource?: core.EventSource;
  deprecatedFirstTimestamp?: string;
  deprecatedLastTimestamp?: string;
  deprecatedCount?: number;
}

export interface EventSeries {
  count: number;
  lastObservedTime: string;
}
