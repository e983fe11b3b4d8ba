import type { KeyObject } from "node:crypto";
import { KubeletError, messageOf } from "../../lib/base/errors.ts";
import { type WallTime, wallTime } from "../../lib/base/time.ts";
import {
  type Certificate,
  parseCertificates,
  parseRequest,
  samePublicKey,
} from "../../lib/base/x509/x509.ts";
import type { SigningRequest, SigningRequestState } from "./certificate-api.ts";

export type CsrResult =
  | { readonly kind: "waiting" }
  | { readonly kind: "issued"; readonly certificate: string }
  | { readonly kind: "failed"; readonly error: KubeletError };

/** The outcome of the request with this UID. */
export function csrResult(
  state: SigningRequestState | undefined,
  requested: Pick<SigningRequestState, "name" | "uid">,
): CsrResult {
  if (state === undefined) return failed("CertificateRequestGone", `csr "${requested.name}" was deleted`);
  if (state.uid !== requested.uid)
    return failed("CertificateRequestGone", `csr "${requested.name}" changed UIDs`);
  for (const { type, reason = "", message = "" } of state.conditions) {
    const why = `reason: ${reason}, message: ${message}`;
    if (type === "Denied")
      return failed("CertificateDenied", `certificate signing request is denied, ${why}`);
    if (type === "Failed") return failed("CertificateFailed", `certificate signing request failed, ${why}`);
  }
  const approved = state.conditions.some(({ type }) => type === "Approved");
  return approved && state.certificate !== ""
    ? { kind: "issued", certificate: state.certificate }
    : { kind: "waiting" };
}

const failed = (code: string, message: string): CsrResult => ({
  kind: "failed",
  error: new KubeletError(code, message),
});

/** Why an existing request in the API cannot be reused as ours; undefined if it can. */
export function incompatibility(
  found: SigningRequestState,
  requested: SigningRequest,
  key: KeyObject,
  now: WallTime,
): string | undefined {
  try {
    const theirs = parseRequest(found.request);
    const ours = parseRequest(requested.request);
    if (JSON.stringify(theirs.subject) !== JSON.stringify(ours.subject)) return "csr subjects differ";
    if (found.signerName !== requested.signerName) return "csr signerNames differ";
    if (!theirs.signatureValid || !samePublicKey(theirs.publicKey, key)) return "it is for another key";
    const expired = (certificate: Certificate) => now > wallTime(certificate.notAfter);
    if (parseCertificates(found.certificate).some(expired)) {
      return "one of the certificates for the CSR has expired";
    }
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
