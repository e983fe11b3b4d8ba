import { forbiddenName } from "./name-constraints.ts";
import type { Certificate } from "./parse-certificates.ts";

/**
 * Why a chain, from the leaf to its root, must not be trusted; undefined if it may be. Signatures, times and extended key usages are
 * checked elsewhere. As in Go, every intermediate certificate counts toward the path length, and constraints apply to the alternative
 * names of all certificates below.
 */
export function chainProblem(chain: readonly Certificate[]): string | undefined {
  for (const [at, certificate] of chain.entries()) {
    if (certificate.hasUnknownCritical) return "x509: unhandled critical extension";
    // The self-signature of a root proves nothing and is not checked.
    if (certificate.weaklySigned && at < chain.length - 1)
      return "x509: cannot verify signature: insecure algorithm";
    if (certificate.hasWeakKey) return "x509: cannot verify signature: insecure or unknown key";
    if (at === 0) continue;
    if (!certificate.isCa) return "x509: certificate is not authorized to sign other certificates";
    if (certificate.maxPathLength !== undefined && at - 1 > certificate.maxPathLength)
      return "x509: too many intermediates for path length constraint";
    const { nameConstraints } = certificate;
    if (!nameConstraints) continue;
    for (const below of chain.slice(0, at)) {
      const name = forbiddenName(nameConstraints, below);
      if (name !== undefined)
        return `x509: a root or intermediate certificate is not authorized to sign for this name: ${name} is not permitted by any constraint`;
    }
  }
  return undefined;
}
