export { canonicalAddress } from "./ip-bytes.ts";
export { generateKey, type KeyPair, privateKeyPem, samePublicKey } from "./keys.ts";
export type { DistinguishedName } from "./names.ts";
export { type Certificate, parseCertificates } from "./parse-certificates.ts";
export { type PemBlock, pem, pemBlocks } from "./pem.ts";
export { makeRequest, type ParsedRequest, parseRequest, type RequestOptions } from "./request.ts";
export { type CertificateOptions, signCertificate } from "./sign-certificate.ts";
export type { Usage } from "./usages.ts";
