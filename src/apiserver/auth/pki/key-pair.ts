import { createPrivateKey, X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  type Certificate,
  type DistinguishedName,
  generateKey,
  parseCertificates,
  privateKeyPem,
  samePublicKey,
  signCertificate,
  type Usage,
} from "../../../lib/base/x509/x509.ts";
import type { Authority } from "./authority.ts";
import { readText, writeText } from "./files.ts";

/** A certificate with its key, as PEM. */
export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateSpec {
  readonly subject: DistinguishedName;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly usage: "client auth" | "server auth";
  readonly lifetimeMs: number;
}

/**
 * The pair in `<path>.crt` and `<path>.key`, recreated if it is missing, does not match, or is past most of its
 * lifetime.
 */
export function ensureKeyPair(path: string, spec: CertificateSpec, ca: Authority, now: number): Pair {
  const stored = { certificate: readText(`${path}.crt`), key: readText(`${path}.key`) };
  if (stored.certificate !== undefined && stored.key !== undefined) {
    const pair = { certificate: stored.certificate, key: stored.key };
    if (isUsable(pair, spec, ca, now)) return pair;
  }
  const pair = issue(spec, ca, now);
  writeText(`${path}.key`, pair.key, 0o600);
  writeText(`${path}.crt`, pair.certificate, 0o644);
  return pair;
}

function issue(spec: CertificateSpec, ca: Authority, now: number): Pair {
  const { privateKey, publicKey } = generateKey();
  const certificate = signCertificate({
    subject: spec.subject,
    issuer: ca,
    publicKey,
    dnsNames: spec.dnsNames ?? [],
    ipAddresses: spec.ipAddresses ?? [],
    notBefore: new Date(now - 5 * 60_000),
    notAfter: new Date(Math.min(now + spec.lifetimeMs, ca.notAfter.getTime())),
    usages: usagesOf(spec),
  });
  return { certificate, key: privateKeyPem(privateKey) };
}

const usagesOf = ({ usage }: CertificateSpec): Usage[] => ["digital signature", "key encipherment", usage];

function isUsable(pair: Pair, spec: CertificateSpec, ca: Authority, now: number): boolean {
  try {
    const [found] = parseCertificates(pair.certificate);
    if (!found || !samePublicKey(found.publicKey, createPrivateKey(pair.key))) return false;
    const issuer = new X509Certificate(ca.certificate);
    const certificate = new X509Certificate(found.pem);
    if (!certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey)) return false;
    return matches(found, spec) && isFresh(found, now);
  } catch {
    // The file was truncated by a crash, or is not a certificate; creating a new one is cheap.
    return false;
  }
}

function matches(found: Certificate, spec: CertificateSpec): boolean {
  return (
    isDeepStrictEqual(found.subject, spec.subject) &&
    covers(found.dnsNames, spec.dnsNames ?? []) &&
    covers(found.ipAddresses, spec.ipAddresses ?? []) &&
    found.usages.includes(spec.usage)
  );
}

/** The certificate may have more SANs than required, such as earlier addresses. */
function covers(has: readonly string[], required: readonly string[]): boolean {
  return required.every((name) => has.includes(name));
}

function isFresh({ notBefore, notAfter }: Certificate, now: number): boolean {
  const lifetimeMs = notAfter.getTime() - notBefore.getTime();
  return now >= notBefore.getTime() && now < notAfter.getTime() - 0.3 * lifetimeMs;
}
