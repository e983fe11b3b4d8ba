import { namedBits, sequence, TAG } from "./der.ts";
import { DerReader, readNamedBits } from "./der-reader.ts";
import { OID, type Oid, readOid, writeOid } from "./oids.ts";

/** Key usages, with the names of the certificates.k8s.io API. The index is the bit number. */
const KEY_USAGES = [
  "digital signature",
  "content commitment",
  "key encipherment",
  "data encipherment",
  "key agreement",
  "cert sign",
  "crl sign",
  "encipher only",
  "decipher only",
] as const;

const EXTENDED_USAGES = {
  any: OID.anyExtendedKeyUsage,
  "server auth": OID.serverAuth,
  "client auth": OID.clientAuth,
  "code signing": OID.codeSigning,
  "email protection": OID.emailProtection,
  timestamping: OID.timeStamping,
  "ocsp signing": OID.ocspSigning,
} as const satisfies Record<string, Oid>;

type KeyUsage = (typeof KEY_USAGES)[number];
type ExtendedUsage = keyof typeof EXTENDED_USAGES;

export type Usage = KeyUsage | ExtendedUsage;

export function writeKeyUsage(usages: readonly Usage[]): Buffer | undefined {
  const bits = KEY_USAGES.flatMap((usage, bit) => (usages.includes(usage) ? [bit] : []));
  return bits.length === 0 ? undefined : namedBits(bits);
}

export function writeExtendedUsage(usages: readonly Usage[]): Buffer | undefined {
  const ids = extendedEntries().flatMap(([usage, id]) => (usages.includes(usage) ? [writeOid(id)] : []));
  return ids.length === 0 ? undefined : sequence(...ids);
}

export function readKeyUsage(content: Buffer): Usage[] {
  const reader = new DerReader(content, "key usage");
  const bits = readNamedBits(reader.expect(TAG.bitString));
  reader.end();
  return bits.flatMap((bit) => KEY_USAGES[bit] ?? []);
}

/** Unknown usages are omitted. */
export function readExtendedUsage(content: Buffer): Usage[] {
  const outer = new DerReader(content, "extended key usage");
  const ids = outer.sequence();
  outer.end();
  const found: Usage[] = [];
  while (!ids.done) {
    const id = readOid(ids.expect(TAG.oid));
    found.push(...extendedEntries().flatMap(([usage, known]) => (known === id ? [usage] : [])));
  }
  return found;
}

function extendedEntries(): [ExtendedUsage, Oid][] {
  return Object.entries(EXTENDED_USAGES) as [ExtendedUsage, Oid][];
}
