/** In the notation of `../type-notation.ts`. */
export const certificatesBetaTypes = `
kind ClusterTrustBundle: metadata meta.ObjectMeta, spec! ClusterTrustBundleSpec
ClusterTrustBundleSpec: signerName string, trustBundle! string
`;
