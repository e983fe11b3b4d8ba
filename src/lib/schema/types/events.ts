/** In the notation of `../type-notation.ts`. */
export const eventsTypes = `
kind Event: action string, deprecatedCount int32, deprecatedFirstTimestamp time,
  deprecatedLastTimestamp time, deprecatedSource core.EventSource, eventTime! microtime,
  metadata meta.ObjectMeta, note string, reason string, regarding core.ObjectReference,
  related core.ObjectReference, reportingController string, reportingInstance string, series EventSeries,
  type string
EventSeries: count! int32, lastObservedTime! microtime
`;
