import { type ParsedRequest, parseRequest } from "../../../base/x509/index.ts";

/** The request in the spec of a CertificateSigningRequest: PEM in base64. Throws if it is none. */
export function parseSpecRequest(base64: string | undefined): ParsedRequest {
  return parseRequest(Buffer.from(base64 ?? "", "base64").toString());
}
