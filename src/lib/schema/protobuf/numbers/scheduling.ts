/** In the notation of `../field-numbers.ts`. */
export const schedulingNumbers = `
PriorityClass: metadata value! globalDefault description preemptionPolicy*
`;
