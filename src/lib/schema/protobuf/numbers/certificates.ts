/** In the notation of `../field-numbers.ts`. */
export const certificatesNumbers = `
CertificateSigningRequest: metadata spec status
CertificateSigningRequestCondition: type reason message lastUpdateTime lastTransitionTime status
CertificateSigningRequestSpec: request username uid groups usages extra signerName expirationSeconds*
CertificateSigningRequestStatus: conditions certificate
`;
