import { createHash } from "node:crypto";
import { pem, pemBlocks } from "../../../../../lib/base/x509/pem.ts";

/**
 * The certificates of these bundles in one PEM text, each once and without comments. Their order is arbitrary, but stable for the
 * same certificates: a restart changes no file.
 */
export function trustAnchors(bundles: readonly string[]): string {
  const byHash = new Map<string, Buffer>();
  for (const bundle of bundles)
    for (const { der } of pemBlocks(bundle)) byHash.set(createHash("sha256").update(der).digest("hex"), der);
  return [...byHash]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, der]) => pem("CERTIFICATE", der))
    .join("");
}
