/** In the notation of `../field-numbers.ts`. */
export const eventsNumbers = `
Event: metadata eventTime series* reportingController reportingInstance action reason regarding related* note
  type deprecatedSource deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedCount
EventSeries: count lastObservedTime
`;
