import { messageOf } from "../../../lib/base/errors.ts";
import { type ParsedRequest, signCertificate, type Usage } from "../../../lib/base/x509/x509.ts";
import type { ApiObject } from "../../storage/object.ts";
import { nodeUserPrefix } from "../names.ts";
import type { Authority } from "../pki/authority.ts";
import { impersonated, type OwnNames } from "../pki/own-names.ts";
import type { RequestSpec } from "./approval-decision.ts";
import { certificateOf, isTrue } from "./conditions.ts";
import { signerError } from "./kubelet-subjects.ts";
import { parseSpecRequest } from "./parse-spec.ts";
import { kubeletServingSigner } from "./signers.ts";

export interface SigningRules extends Lifetimes {
  /** Names and addresses that no kubelet gets a serving certificate for. */
  readonly ownNames: OwnNames;
}

export interface Lifetimes {
  /** The maximum lifetime of a certificate, and the default. */
  readonly lifetimeMs: number;
  readonly minimumSeconds: number;
}

export type Signing =
  | { readonly kind: "sign"; readonly certificate: string }
  | { readonly kind: "fail"; readonly reason: string; readonly message: string }
  | { readonly kind: "ignore" };

const minute = 60_000;
const shortLifetime = 8 * 60 * minute;

/** The plan for a request: it is signed if it is approved and meets the signer's requirements. */
export function planSigning(request: ApiObject, ca: Authority, rules: SigningRules, now: number): Signing {
  if (!isTrue(request, "Approved") || isTrue(request, "Denied") || isTrue(request, "Failed"))
    return { kind: "ignore" };
  if (certificateOf(request)) return { kind: "ignore" };
  const spec = (request.spec ?? {}) as RequestSpec;
  const usages = spec.usages ?? [];
  try {
    const parsed = parseSpecRequest(spec.request);
    const validation = signerError(spec.signerName ?? "", parsed, usages);
    if (validation === "unknown") return { kind: "ignore" };
    if (validation.error !== undefined) return failed("SignerValidationFailure", validation.error);
    if (spec.signerName === kubeletServingSigner) {
      const own = impersonatedBy(parsed, rules.ownNames);
      if (own.length > 0)
        return failed("SignerValidationFailure", `names or addresses of the API server: ${own.join(", ")}`);
    }
    const validity = validityPeriod(spec.expirationSeconds, rules, now, ca.notAfter.getTime());
    if (!validity) return failed("SigningFailure", "the cluster CA has expired");
    const certificate = signCertificate({
      subject: parsed.subject,
      issuer: ca,
      publicKey: parsed.publicKey,
      dnsNames: parsed.dnsNames,
      ipAddresses: parsed.ipAddresses,
      notBefore: new Date(validity.from),
      notAfter: new Date(validity.to),
      usages: usages as Usage[],
    });
    return { kind: "sign", certificate };
  } catch (error) {
    return failed("SigningFailure", messageOf(error));
  }
}

/** The names of the API server that the request of a kubelet contains. */
export function impersonatedBy(request: ParsedRequest, own: OwnNames): string[] {
  const node = request.subject.commonName.slice(nodeUserPrefix.length);
  return impersonated([...request.dnsNames, ...request.ipAddresses], node, own);
}

const failed = (reason: string, message: string): Signing => ({ kind: "fail", reason, message });

/** The validity period starts a little before now, since clocks differ. It ends with the requested lifetime, and not after the CA. */
export function validityPeriod(
  requested: number | undefined,
  rules: Lifetimes,
  now: number,
  caEnd: number,
): { from: number; to: number } | undefined {
  if (now >= caEnd) return undefined;
  const requestedMs = Math.max(
    requested === undefined ? rules.lifetimeMs : requested * 1000,
    rules.minimumSeconds * 1000,
  );
  const ttl = Math.min(requestedMs, rules.lifetimeMs);
  // Otherwise a lifetime under ten minutes would already be past the renewal threshold.
  const backdate = ttl < 10 * minute ? ttl / 10 : 5 * minute;
  const end = ttl < shortLifetime ? now + ttl : now + ttl - backdate;
  return { from: now - backdate, to: Math.min(end, caEnd) };
}
