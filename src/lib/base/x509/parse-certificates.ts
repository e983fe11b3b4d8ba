import type { KeyObject } from "node:crypto";
import { NO_NAMES, readAlternativeNames } from "./alternative-names.ts";
import { contextTag, TAG } from "./der.ts";
import { DerReader, readBoolean, readTime } from "./der-reader.ts";
import { type Extension, readExtensions } from "./extensions.ts";
import { readPublicKey } from "./keys.ts";
import { type DistinguishedName, readName } from "./names.ts";
import { OID, type Oid } from "./oids.ts";
import { type PemBlock, pemBlocks } from "./pem.ts";
import { readExtendedUsage, readKeyUsage, type Usage } from "./usages.ts";

export interface Certificate {
  readonly subject: DistinguishedName;
  readonly issuer: DistinguishedName;
  /** Hex digits, as openssl shows them. */
  readonly serial: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly isCa: boolean;
  readonly usages: readonly Usage[];
  readonly publicKey: KeyObject;
  /** This certificate alone. */
  readonly pem: string;
}

/** What signing needs beyond what users of a certificate do. */
export interface CertificateParts extends Certificate {
  readonly subjectDer: Buffer;
  readonly subjectKeyId: Buffer | undefined;
}

/**
 * The certificates of a PEM text, in order; other blocks are passed over. Signatures are not looked at.
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
  certificate.expect(TAG.sequence);
  certificate.expect(TAG.bitString);
  certificate.end();

  body.optional(contextTag(0, true));
  const serial = body.expect(TAG.integer).content;
  body.expect(TAG.sequence);
  const issuer = readName(body.sequence());
  const validity = body.sequence();
  const notBefore = readTime(validity.next());
  const notAfter = readTime(validity.next());
  const name = body.expect(TAG.sequence);
  const publicKey = readPublicKey(body.expect(TAG.sequence).whole);
  body.optional(contextTag(1, false));
  body.optional(contextTag(2, false));
  const extensions = body.sees(contextTag(3, true))
    ? readExtensions(body.into(contextTag(3, true)).sequence())
    : new Map<Oid, Extension>();
  body.end();

  const { dnsNames, ipAddresses } =
    extensionValue(extensions, OID.subjectAltName, readAlternativeNames) ?? NO_NAMES;
  return {
    subject: readName(new DerReader(name.content, "subject")),
    issuer,
    serial: serial
      .toString("hex")
      .replace(/^00(?=.)/, "")
      .toUpperCase(),
    notBefore,
    notAfter,
    dnsNames,
    ipAddresses,
    isCa: extensionValue(extensions, OID.basicConstraints, readIsCa) ?? false,
    usages: [
      ...(extensionValue(extensions, OID.keyUsage, readKeyUsage) ?? []),
      ...(extensionValue(extensions, OID.extendedKeyUsage, readExtendedUsage) ?? []),
    ],
    publicKey,
    pem: block.text,
    subjectDer: name.whole,
    subjectKeyId: extensionValue(extensions, OID.subjectKeyId, readKeyId),
  };
}

function extensionValue<T>(
  extensions: ReadonlyMap<Oid, Extension>,
  id: Oid,
  read: (value: Buffer) => T,
): T | undefined {
  const extension = extensions.get(id);
  return extension && read(extension.value);
}

function readIsCa(value: Buffer): boolean {
  const constraints = new DerReader(value, "basic constraints").sequence();
  const flag = constraints.optional(TAG.boolean);
  return flag !== undefined && readBoolean(flag);
}

const readKeyId = (value: Buffer): Buffer =>
  new DerReader(value, "subject key identifier").expect(TAG.octetString).content;
