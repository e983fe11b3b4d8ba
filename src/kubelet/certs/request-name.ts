import { createHash, type KeyObject } from "node:crypto";
import type { DistinguishedName, Usage } from "../../lib/base/x509/x509.ts";

/**
 * The name of a request that remains the same as long as key, subject and usages do: an agent that is restarted finds
 * its request. The name equals the reference kubelet's.
 */
export function requestName(
  publicKey: KeyObject,
  subject: DistinguishedName,
  usages: readonly Usage[],
): string {
  const hash = createHash("sha512-256");
  const parts = [
    publicKey.export({ format: "der", type: "spki" }),
    ...[subject.commonName, ...subject.organizations, ...usages].map((text) => Buffer.from(text)),
  ];
  for (const part of parts) hash.update(`${part.toString("base64url")}|`);
  return `node-csr-${hash.digest("base64url")}`;
}
