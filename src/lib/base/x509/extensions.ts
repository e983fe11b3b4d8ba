import { boolean, octetString, sequence, TAG } from "./der.ts";
import { type DerReader, malformed, readBoolean } from "./der-reader.ts";
import { type Oid, readOid, writeOid } from "./oids.ts";

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

export function readExtensions(list: DerReader): ReadonlyMap<Oid, Extension> {
  const found = new Map<Oid, Extension>();
  while (!list.done) {
    const reader = list.sequence();
    const id = readOid(reader.expect(TAG.oid));
    const critical = reader.optional(TAG.boolean);
    const value = reader.expect(TAG.octetString).content;
    reader.end();
    if (found.has(id)) throw malformed("the same extension twice");
    found.set(id, { id, critical: critical !== undefined && readBoolean(critical), value });
  }
  return found;
}
