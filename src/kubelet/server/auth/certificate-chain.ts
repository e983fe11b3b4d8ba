import type { X509Certificate } from "node:crypto";
import { messageOf } from "../../../lib/base/errors.ts";
import { chainProblem, parseCertificates, pem } from "../../../lib/base/x509/x509.ts";

const clientAuth = "1.3.6.1.5.5.7.3.2";
const anyUsage = "2.5.29.37.0";

export const incompatibleUsage = "x509: certificate specifies an incompatible key usage";

/** Longer chains are not followed. */
export const maxChain = 8;
/** A client that sends many certificates of one name must not use much CPU. */
const maxSignatures = 100;

export type ChainResult =
  | { readonly kind: "valid"; readonly chain: readonly X509Certificate[] }
  /** A chain exists, but it must not be trusted. */
  | { readonly kind: "invalid"; readonly problem: string }
  /** No chain was found. */
  | { readonly kind: "unknown"; readonly problem: string };

/**
 * Finds a chain from the certificate through the intermediates to one of the roots that is trusted for client authentication; among several
 * chains, the one that is valid longest. Times are not checked.
 */
export function findChain(
  leaf: X509Certificate,
  intermediates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
): ChainResult {
  const valid: (readonly X509Certificate[])[] = [];
  let problem: string | undefined;
  for (const chain of chains([leaf], intermediates, roots, { signatures: maxSignatures })) {
    const found = problemOf(chain);
    if (found === undefined) valid.push(chain);
    else problem ??= found;
  }
  const [best] = valid.sort((a, b) => endOf(b) - endOf(a));
  if (best) return { kind: "valid", chain: best };
  if (problem !== undefined) return { kind: "invalid", problem };
  return { kind: "unknown", problem: "x509: certificate signed by unknown authority" };
}

const endOf = (chain: readonly X509Certificate[]): number =>
  Math.min(...chain.map((certificate) => certificate.validToDate.getTime()));

function* chains(
  chain: readonly X509Certificate[],
  intermediates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  budget: { signatures: number },
): Generator<readonly X509Certificate[]> {
  const last = chain.at(-1);
  if (!last) return;
  for (const root of roots) {
    if (root.raw.equals(last.raw)) yield chain;
    else if (signs(root, last, budget)) yield [...chain, root];
  }
  if (chain.length >= maxChain) return;
  for (const next of intermediates) {
    if (chain.some(({ raw }) => raw.equals(next.raw)) || !signs(next, last, budget)) continue;
    yield* chains([...chain, next], intermediates, roots, budget);
  }
}

function signs(
  issuer: X509Certificate,
  certificate: X509Certificate,
  budget: { signatures: number },
): boolean {
  if (!issuer.ca || !certificate.checkIssued(issuer) || budget.signatures-- <= 0) return false;
  return certificate.verify(issuer.publicKey);
}

function problemOf(chain: readonly X509Certificate[]): string | undefined {
  if (!chain.every(allowsClientAuth)) return incompatibleUsage;
  try {
    return chainProblem(chain.flatMap(({ raw }) => parseCertificates(pem("CERTIFICATE", raw))));
  } catch (error) {
    return `x509: ${messageOf(error)}`;
  }
}

/** No extended key usage: any use is allowed. */
export function allowsClientAuth({ keyUsage }: X509Certificate): boolean {
  const usages = keyUsage as readonly string[] | undefined;
  return !usages || usages.includes(clientAuth) || usages.includes(anyUsage);
}
