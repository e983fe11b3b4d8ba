import { TypePackage } from "../type-package.ts";
import { core } from "./core/core.ts";
import { meta } from "./meta.ts";

/** In the notation of `../notation.ts`. */
const text = `
kind CertificateSigningRequest
   1 metadata meta.ObjectMeta
   2 spec! CertificateSigningRequestSpec
   3 status CertificateSigningRequestStatus
CertificateSigningRequestSpec
   1 request! bytes
   2 username string
   3 uid string
   4 groups []string
   5 usages []KeyUsage
   6 extra map[string]ExtraValue
   7 signerName! string
   8 expirationSeconds *int32
CertificateSigningRequestStatus
   1 conditions []CertificateSigningRequestCondition by:type
   2 certificate bytes
CertificateSigningRequestCondition
   1 type! RequestConditionType
   2 reason string
   3 message string
   4 lastUpdateTime time
   5 lastTransitionTime time
   6 status! core.ConditionStatus
ExtraValue = []string
KeyUsage = string any | cert sign | client auth | code signing | content commitment | crl sign | data
  encipherment | decipher only | digital signature | email protection | encipher only | ipsec end system |
  ipsec tunnel | ipsec user | key agreement | key encipherment | microsoft sgc | netscape sgc | ocsp signing
  | s/mime | server auth | signing | timestamping
RequestConditionType = string
`;

export const certificates = new TypePackage({
  name: "certificates",
  group: "certificates.k8s.io",
  version: "v1",
  uses: [core, meta],
  text,
});
