/** In the notation of `../type-notation.ts`. */
export const policyTypes = `
kind Eviction: deleteOptions meta.DeleteOptions, metadata meta.ObjectMeta
`;
