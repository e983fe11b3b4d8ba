/** In the notation of `../type-notation.ts`. */
export const schedulingTypes = `
kind PriorityClass: description string, globalDefault bool, metadata meta.ObjectMeta,
  preemptionPolicy string, value int32
`;
