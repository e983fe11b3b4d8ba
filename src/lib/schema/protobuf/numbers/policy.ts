/** In the notation of `../field-numbers.ts`. */
export const policyNumbers = `
Eviction: metadata deleteOptions*
`;
