export { chainProblem } from "./chain-problem.ts";
export { canonicalAddress } from "./ip-bytes.ts";
export { generateKey, privateKeyPem, samePublicKey } from "./keys.ts";
export type { DistinguishedName } from "./names.ts";
export { type Certificate, parseCertificates } from "./parse-certificates.ts";
export { pem, pemBlocks } from "./pem.ts";
export { makeRequest, type ParsedRequest, parseRequest } from "./request.ts";
export { signCertificate } from "./sign-certificate.ts";
export type { Usage } from "./usages.ts";
