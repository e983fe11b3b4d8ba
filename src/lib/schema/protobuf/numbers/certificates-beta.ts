/** In the notation of `../field-numbers.ts`. */
export const certificatesBetaNumbers = `
ClusterTrustBundle: metadata spec
ClusterTrustBundleSpec: signerName trustBundle
`;
