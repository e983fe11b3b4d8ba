/** In the notation of `../type-notation.ts`. */
export const coordinationTypes = `
kind Lease: metadata meta.ObjectMeta, spec LeaseSpec
LeaseSpec: acquireTime microtime, holderIdentity string, leaseDurationSeconds int32, leaseTransitions int32,
  preferredHolder string, renewTime microtime, strategy CoordinatedLeaseStrategy
CoordinatedLeaseStrategy = string
`;
