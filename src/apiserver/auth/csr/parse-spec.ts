import { type ParsedRequest, parseRequest } from "../../../lib/base/x509/x509.ts";

/** The request in the spec of a CertificateSigningRequest: PEM in base64. Throws if it is invalid. */
export function parseSpecRequest(base64: string | undefined): ParsedRequest {
  return parseRequest(Buffer.from(base64 ?? "", "base64").toString());
}
