import { TypePackage } from "../type-package.ts";
import { meta } from "./meta.ts";

/** In the notation of `../notation.ts`. */
const text = `
kind ClusterTrustBundle
   1 metadata meta.ObjectMeta
   2 spec! ClusterTrustBundleSpec
ClusterTrustBundleSpec
   1 signerName string
   2 trustBundle! string
kind PodCertificateRequest
   1 metadata meta.ObjectMeta
   2 spec! PodCertificateRequestSpec
   3 status PodCertificateRequestStatus
PodCertificateRequestSpec
   1 signerName! string
   2 podName! string
   3 podUID! string
   4 serviceAccountName! string
   5 serviceAccountUID! string
   6 nodeName! string
   7 nodeUID! string
   8 maxExpirationSeconds *int32
   9 pkixPublicKey bytes
  10 proofOfPossession bytes
  11 unverifiedUserAnnotations map[string]string
  12 stubPKCS10Request! bytes
PodCertificateRequestStatus
   1 conditions []meta.Condition by:type merge
   2 certificateChain string
   4 notBefore *time
   5 beginRefreshAt *time
   6 notAfter *time
`;

export const certificatesBeta = new TypePackage({
  name: "certificatesBeta",
  group: "certificates.k8s.io",
  version: "v1beta1",
  uses: [meta],
  text,
});
