/** In the notation of `../field-numbers.ts`. */
export const coordinationNumbers = `
Lease: metadata spec
LeaseSpec: holderIdentity* leaseDurationSeconds* acquireTime* renewTime* leaseTransitions* strategy*
  preferredHolder*
`;
