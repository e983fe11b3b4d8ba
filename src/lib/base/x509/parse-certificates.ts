import type { KeyObject } from "node:crypto";
import { type AlternativeNames, NO_NAMES, readAlternativeNames } from "./alternative-names.ts";
import { contextTag, TAG } from "./der.ts";
import { DerReader, type Element, malformed, readBoolean, readTime, readUnsigned } from "./der-reader.ts";
import { checkUnused, type Extension, readExtensions, unknownCritical } from "./extensions.ts";
import { isWeakKey, readPublicKey } from "./keys.ts";
import { type NameConstraints, readNameConstraints } from "./name-constraints.ts";
import { type DistinguishedName, readName } from "./names.ts";
import { OID, type Oid } from "./oids.ts";
import { type PemBlock, pemBlocks } from "./pem.ts";
import { isTrusted, readSignature } from "./signatures.ts";
import { readExtendedUsage, readKeyUsage, type Usage } from "./usages.ts";

interface BasicConstraints {
  readonly isCa: boolean;
  readonly maxPathLength: number | undefined;
}

export interface Certificate extends AlternativeNames {
  readonly subject: DistinguishedName;
  readonly issuer: DistinguishedName;
  /** Hex digits, as openssl shows them. */
  readonly serial: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly isCa: boolean;
  /** How many intermediate certificates may follow this CA; undefined: any number. */
  readonly maxPathLength: number | undefined;
  readonly nameConstraints: NameConstraints | undefined;
  /** It has an unknown critical extension: the certificate must not be trusted. */
  readonly hasUnknownCritical: boolean;
  readonly usages: readonly Usage[];
  readonly publicKey: KeyObject;
  /** The signature uses a broken hash (MD5, SHA-1), or an algorithm that is not known to be good. */
  readonly weaklySigned: boolean;
  /** Signatures of this key must not be trusted. */
  readonly hasWeakKey: boolean;
  /** This certificate alone. */
  readonly pem: string;
}

/** Additional fields for signing. */
export interface CertificateParts extends Certificate {
  readonly subjectDer: Buffer;
  readonly subjectKeyId: Buffer | undefined;
}

/**
 * The certificates of a PEM text, in order; other blocks are ignored. Signatures are not verified.
 * Throws a KubeletError (BadRequest) if one of them cannot be read.
 */
export function parseCertificates(text: string): Certificate[] {
  return pemBlocks(text)
    .filter(({ label }) => label === "CERTIFICATE")
    .map((block) => readCertificate(block));
}

export function readCertificate(block: PemBlock): CertificateParts {
  const outer = new DerReader(block.der, "certificate");
  const certificate = outer.sequence();
  outer.end();
  const body = certificate.sequence();
  const signature = readSignature(certificate);
  certificate.end();

  const version = body.sees(contextTag(0, true)) ? readVersion(body.into(contextTag(0, true))) : 1;
  const serial = readUnsigned(body.expect(TAG.integer));
  if (!body.expect(TAG.sequence).whole.equals(signature.algorithmDer))
    throw malformed("malformed certificate: its signature has another algorithm than it names");
  const issuer = readName(body.sequence());
  const validity = body.sequence();
  const notBefore = readTime(validity.next());
  const notAfter = readTime(validity.next());
  validity.end();
  const name = body.expect(TAG.sequence);
  const publicKey = readPublicKey(body.expect(TAG.sequence).whole);
  body.optional(contextTag(1, false));
  body.optional(contextTag(2, false));
  const extensions = body.sees(contextTag(3, true))
    ? extensionsIn(body.into(contextTag(3, true)))
    : new Map<Oid, Extension>();
  body.end();
  checkUnused(extensions);
  if (extensions.size > 0 && version !== 3)
    throw malformed("malformed certificate: extensions in a certificate of another version than 3");

  const names = extensionValue(extensions, OID.subjectAltName, readAlternativeNames) ?? NO_NAMES;
  const basic = extensionValue(extensions, OID.basicConstraints, readBasicConstraints);
  const nameConstraints = extensionValue(extensions, OID.nameConstraints, readNameConstraints);
  return {
    subject: readName(new DerReader(name.content, "subject")),
    issuer,
    serial: serial
      .toString("hex")
      .replace(/^00(?=.)/, "")
      .toUpperCase(),
    notBefore,
    notAfter,
    ...names,
    isCa: basic?.isCa ?? false,
    maxPathLength: basic?.maxPathLength,
    nameConstraints,
    hasUnknownCritical:
      unknownCritical(extensions) ||
      (names !== NO_NAMES && isNameless(names) && extensions.get(OID.subjectAltName)?.critical === true) ||
      (nameConstraints?.incomplete === true && extensions.get(OID.nameConstraints)?.critical === true),
    usages: [
      ...(extensionValue(extensions, OID.keyUsage, readKeyUsage) ?? []),
      ...(extensionValue(extensions, OID.extendedKeyUsage, readExtendedUsage) ?? []),
    ],
    publicKey,
    weaklySigned: !isTrusted(signature),
    hasWeakKey: isWeakKey(publicKey),
    pem: block.text,
    subjectDer: name.whole,
    subjectKeyId: extensionValue(extensions, OID.subjectKeyId, readKeyId),
  };
}

function extensionsIn(explicit: DerReader): ReadonlyMap<Oid, Extension> {
  const extensions = readExtensions(explicit.sequence());
  explicit.end();
  return extensions;
}

function extensionValue<T>(
  extensions: ReadonlyMap<Oid, Extension>,
  id: Oid,
  read: (value: Buffer) => T,
): T | undefined {
  const extension = extensions.get(id);
  return extension && read(extension.value);
}

const isNameless = ({ dnsNames, ipAddresses, emails, uris }: AlternativeNames): boolean =>
  dnsNames.length + ipAddresses.length + emails.length + uris.length === 0;

function readKeyId(value: Buffer): Buffer {
  const reader = new DerReader(value, "subject key identifier");
  const { content } = reader.expect(TAG.octetString);
  reader.end();
  return content;
}

function readVersion(explicit: DerReader): number {
  const bytes = readUnsigned(explicit.expect(TAG.integer));
  explicit.end();
  const version = bytes.readUIntBE(0, Math.min(bytes.length, 4)) + 1;
  if (bytes.length > 1 || version > 3) throw malformed("malformed certificate: unknown version");
  return version;
}

function readBasicConstraints(value: Buffer): BasicConstraints {
  const outer = new DerReader(value, "basic constraints");
  const constraints = outer.sequence();
  outer.end();
  const flag = constraints.optional(TAG.boolean);
  const length = constraints.optional(TAG.integer);
  constraints.end();
  return {
    isCa: flag !== undefined && readBoolean(flag),
    maxPathLength: length && readLength(length),
  };
}

function readLength(element: Element): number {
  const bytes = readUnsigned(element);
  // No chain needs more than four bytes.
  if (bytes.length > 4) throw malformed("malformed basic constraints: path length out of range");
  return bytes.readUIntBE(0, bytes.length);
}
