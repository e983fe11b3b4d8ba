/** In the notation of `../type-notation.ts`. */
export const certificatesTypes = `
kind CertificateSigningRequest: metadata meta.ObjectMeta, spec! CertificateSigningRequestSpec,
  status CertificateSigningRequestStatus
CertificateSigningRequestCondition: lastTransitionTime time, lastUpdateTime time, message string,
  reason string, status! core.ConditionStatus, type! RequestConditionType
CertificateSigningRequestSpec: expirationSeconds int32, extra map ExtraValue, groups []string,
  request! bytes, signerName! string, uid string, usages []KeyUsage, username string
CertificateSigningRequestStatus: certificate bytes, conditions []CertificateSigningRequestCondition by:type
ExtraValue = []string
KeyUsage = string any | cert sign | client auth | code signing | content commitment | crl sign | data
  encipherment | decipher only | digital signature | email protection | encipher only | ipsec end system |
  ipsec tunnel | ipsec user | key agreement | key encipherment | microsoft sgc | netscape sgc | ocsp
  signing | s/mime | server auth | signing | timestamping
RequestConditionType = string
`;
