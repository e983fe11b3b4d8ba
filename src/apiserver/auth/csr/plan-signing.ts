import { messageOf } from "../../../lib/base/errors.ts";
import { signCertificate, type Usage } from "../../../lib/base/x509/x509.ts";
import type { ApiObject } from "../../storage/object.ts";
import type { Authority } from "../identity/authority.ts";
import type { RequestSpec } from "./approval-decision.ts";
import { certificateOf, isTrue } from "./conditions.ts";
import { signerComplaint } from "./kubelet-subjects.ts";
import { parseSpecRequest } from "./parse-spec.ts";

export interface SigningRules {
  /** The maximum lifetime of a certificate, and the default. */
  readonly lifetimeMs: number;
  readonly minimumSeconds: number;
}

export type Signing =
  | { readonly kind: "sign"; readonly certificate: string }
  | { readonly kind: "fail"; readonly reason: string; readonly message: string }
  | { readonly kind: "leave" };

const minute = 60_000;
const shortLife = 8 * 60 * minute;

/** What becomes of a request: signed if it is approved and as its signer wants it. */
export function planSigning(request: ApiObject, ca: Authority, rules: SigningRules, now: number): Signing {
  if (!isTrue(request, "Approved") || isTrue(request, "Denied") || isTrue(request, "Failed"))
    return { kind: "leave" };
  if (certificateOf(request)) return { kind: "leave" };
  const spec = (request.spec ?? {}) as RequestSpec;
  const usages = spec.usages ?? [];
  try {
    const parsed = parseSpecRequest(spec.request);
    const verdict = signerComplaint(spec.signerName ?? "", parsed, usages);
    if (verdict === "unknown") return { kind: "leave" };
    if (verdict.complaint !== undefined) return failed("SignerValidationFailure", verdict.complaint);
    const life = lifeOf(spec.expirationSeconds, rules, now, ca.notAfter.getTime());
    if (!life) return failed("SigningFailure", "the cluster CA has expired");
    const certificate = signCertificate({
      subject: parsed.subject,
      issuer: ca,
      publicKey: parsed.publicKey,
      dnsNames: parsed.dnsNames,
      ipAddresses: parsed.ipAddresses,
      notBefore: new Date(life.from),
      notAfter: new Date(life.to),
      usages: usages as Usage[],
    });
    return { kind: "sign", certificate };
  } catch (error) {
    return failed("SigningFailure", messageOf(error));
  }
}

const failed = (reason: string, message: string): Signing => ({ kind: "fail", reason, message });

/** From a little before now, since clocks differ, to the end of the requested lifetime, and not beyond the CA. */
export function lifeOf(
  requested: number | undefined,
  rules: SigningRules,
  now: number,
  caEnd: number,
): { from: number; to: number } | undefined {
  if (now >= caEnd) return undefined;
  const wantedMs = Math.max(
    requested === undefined ? rules.lifetimeMs : requested * 1000,
    rules.minimumSeconds * 1000,
  );
  const ttl = Math.min(wantedMs, rules.lifetimeMs);
  // A life of less than ten minutes would be over in the eyes of those who renew at a part of it.
  const backdate = ttl < 10 * minute ? ttl / 10 : 5 * minute;
  const end = ttl < shortLife ? now + ttl : now + ttl - backdate;
  return { from: now - backdate, to: Math.min(end, caEnd) };
}
