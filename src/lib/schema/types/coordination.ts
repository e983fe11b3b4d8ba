import { TypePackage } from "../type-package.ts";
import { meta } from "./meta.ts";

/** In the notation of `../notation.ts`. */
const text = `
kind Lease
   1 metadata meta.ObjectMeta
   2 spec LeaseSpec
LeaseSpec
   1 holderIdentity *string
   2 leaseDurationSeconds *int32
   3 acquireTime *microtime
   4 renewTime *microtime
   5 leaseTransitions *int32
   6 strategy *CoordinatedLeaseStrategy
   7 preferredHolder *string
CoordinatedLeaseStrategy = string
`;

export const coordination = new TypePackage({
  name: "coordination",
  group: "coordination.k8s.io",
  version: "v1",
  uses: [meta],
  text,
});
