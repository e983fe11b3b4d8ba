import { boolean, octetString, sequence, TAG } from "./der.ts";
import { DerReader, malformed, readBoolean } from "./der-reader.ts";
import { OID, type Oid, readOid, writeOid } from "./oids.ts";

export interface Extension {
  readonly id: Oid;
  readonly critical: boolean;
  readonly value: Buffer;
}

export function writeExtensions(extensions: readonly Extension[]): Buffer {
  return sequence(
    ...extensions.map(({ id, critical, value }) =>
      sequence(writeOid(id), ...(critical ? [boolean(true)] : []), octetString(value)),
    ),
  );
}

const keyIds: ReadonlySet<Oid> = new Set([OID.subjectKeyId, OID.authorityKeyId]);

export function readExtensions(list: DerReader): ReadonlyMap<Oid, Extension> {
  const found = new Map<Oid, Extension>();
  while (!list.done) {
    const reader = list.sequence();
    const id = readOid(reader.expect(TAG.oid));
    const critical = reader.optional(TAG.boolean);
    const value = reader.expect(TAG.octetString).content;
    reader.end();
    if (found.has(id)) throw malformed("the same extension twice");
    const isCritical = critical !== undefined && readBoolean(critical);
    if (isCritical && keyIds.has(id)) throw malformed("a key identifier that is critical");
    found.set(id, { id, critical: isCritical, value });
  }
  return found;
}

/** The extensions that are read, and extensions that do not restrict whom a certificate identifies. */
const known: ReadonlySet<Oid> = new Set([
  OID.subjectKeyId,
  OID.authorityKeyId,
  OID.keyUsage,
  OID.extendedKeyUsage,
  OID.subjectAltName,
  OID.basicConstraints,
  OID.nameConstraints,
  OID.crlDistributionPoints,
  OID.certificatePolicies,
]);

/** Extensions whose content is not used. Their outermost type is checked, as in the reference and in openssl. */
const unused: readonly Oid[] = [OID.authorityKeyId, OID.crlDistributionPoints, OID.certificatePolicies];

export function checkUnused(extensions: ReadonlyMap<Oid, Extension>): void {
  for (const id of unused) {
    const value = extensions.get(id)?.value;
    if (value === undefined) continue;
    const reader = new DerReader(value, "extension");
    reader.sequence();
    reader.end();
  }
}

export function unknownCritical(extensions: ReadonlyMap<Oid, Extension>): boolean {
  return [...extensions.values()].some(({ id, critical }) => critical && !known.has(id));
}
