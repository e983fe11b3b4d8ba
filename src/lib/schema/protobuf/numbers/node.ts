/** In the notation of `../field-numbers.ts`. */
export const nodeNumbers = `
Overhead: podFixed
RuntimeClass: metadata handler overhead* scheduling*
Scheduling: nodeSelector tolerations
`;
