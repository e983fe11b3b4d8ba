import { element, sequence, setOf, TAG } from "./der.ts";
import { type DerReader, readText } from "./der-reader.ts";
import { OID, type Oid, readOid, writeOid } from "./oids.ts";

/** The parts of a subject that Kubernetes uses: the user's name and groups. */
export interface DistinguishedName {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** User IDs, an attribute of Kubernetes. */
  readonly uids?: readonly string[];
}

const PRINTABLE = /^[A-Za-z0-9 '()+,\-./:=?]*$/;

/** One RDN (relative distinguished name) for each organization: a set would lose their order. */
export function writeName(name: DistinguishedName): Buffer {
  return sequence(
    ...name.organizations.map((organization) => rdn(OID.organization, organization)),
    ...(name.commonName === "" ? [] : [rdn(OID.commonName, name.commonName)]),
    ...(name.uids ?? []).map((uid) => rdn(OID.kubernetesUid, uid)),
  );
}

function rdn(type: Oid, value: string): Buffer {
  const tag = PRINTABLE.test(value) ? TAG.printableString : TAG.utf8String;
  return setOf([sequence(writeOid(type), element(tag, Buffer.from(value, "utf8")))]);
}

/** The last of several common names is used, as in Go. Attributes of other types are ignored. */
export function readName(rdns: DerReader): DistinguishedName {
  let commonName = "";
  const organizations: string[] = [];
  const uids: string[] = [];
  while (!rdns.done) {
    const attributes = rdns.into(TAG.set);
    while (!attributes.done) {
      const attribute = attributes.sequence();
      const type = readOid(attribute.expect(TAG.oid));
      const value = readText(attribute.next());
      attribute.end();
      if (type === OID.commonName) commonName = value;
      if (type === OID.organization) organizations.push(value);
      if (type === OID.kubernetesUid) uids.push(value);
    }
  }
  return { commonName, organizations, ...(uids.length > 0 && { uids }) };
}
