import { createHash, type KeyObject, randomBytes } from "node:crypto";
import { KubeletError } from "../errors.ts";
import { writeAlternativeNames } from "./alternative-names.ts";
import { boolean, contextTag, element, octetString, sequence, TAG, time, unsignedInteger } from "./der.ts";
import { DerReader, readBytesOfBits } from "./der-reader.ts";
import { type Extension, writeExtensions } from "./extensions.ts";
import { samePublicKey, writePublicKey } from "./keys.ts";
import { type DistinguishedName, writeName } from "./names.ts";
import { OID, type Oid } from "./oids.ts";
import { readCertificate } from "./parse-certificates.ts";
import { pem, pemBlocks } from "./pem.ts";
import { isEmpty } from "./request.ts";
import { signatureAlgorithm, signed } from "./signatures.ts";
import { type Usage, writeExtendedUsage, writeKeyUsage } from "./usages.ts";

export interface CertificateOptions {
  readonly subject: DistinguishedName;
  /** The issuer, whose certificate and key sign; "self" signs with `key`. */
  readonly issuer: { readonly certificate: string; readonly key: KeyObject } | "self";
  readonly publicKey: KeyObject;
  /** The private key that belongs to `publicKey`, for a self-signed certificate. */
  readonly key?: KeyObject;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly isCa?: boolean;
  readonly usages: readonly Usage[];
}

interface Signer {
  readonly key: KeyObject;
  readonly name: Buffer;
  readonly keyId: Buffer | undefined;
}

/** A certificate as PEM, signed with SHA-256. */
export function signCertificate(options: CertificateOptions): string {
  const spki = writePublicKey(options.publicKey);
  const subject = writeName(options.subject);
  const keyId = createHash("sha1").update(publicKeyBits(spki)).digest();
  const signer = signerOf(options, subject, keyId);
  const body = sequence(
    element(contextTag(0, true), unsignedInteger(Buffer.of(2))),
    unsignedInteger(serialNumber()),
    signatureAlgorithm(signer.key),
    signer.name,
    sequence(time(options.notBefore), time(options.notAfter)),
    subject,
    spki,
    element(contextTag(3, true), writeExtensions(extensionsOf(options, keyId, signer.keyId))),
  );
  return pem("CERTIFICATE", signed(body, signer.key));
}

function signerOf(options: CertificateOptions, subject: Buffer, keyId: Buffer): Signer {
  if (options.issuer === "self") {
    if (options.key === undefined)
      throw new KubeletError("InvalidKey", "a self-signed certificate needs its key");
    return { key: matching(options.key, options.publicKey), name: subject, keyId };
  }
  const [block] = pemBlocks(options.issuer.certificate).filter(({ label }) => label === "CERTIFICATE");
  if (block === undefined) throw new KubeletError("InvalidKey", "the issuer has no certificate");
  const issuer = readCertificate(block);
  const key = matching(options.issuer.key, issuer.publicKey);
  return { key, name: issuer.subjectDer, keyId: issuer.subjectKeyId };
}

function matching(key: KeyObject, publicKey: KeyObject): KeyObject {
  if (!samePublicKey(key, publicKey))
    throw new KubeletError("InvalidKey", "key and certificate do not match");
  return key;
}

/** 127 random bits, the first of them set, so that the number is positive and of fixed length. */
function serialNumber(): Buffer {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  return serial;
}

function extensionsOf(
  options: CertificateOptions,
  keyId: Buffer,
  issuerKeyId: Buffer | undefined,
): Extension[] {
  const { dnsNames = [], ipAddresses = [], isCa = false, usages, subject } = options;
  const list: Extension[] = [];
  const add = (id: Oid, critical: boolean, value: Buffer | undefined) => {
    if (value !== undefined) list.push({ id, critical, value });
  };
  add(OID.keyUsage, true, writeKeyUsage(usages));
  add(OID.extendedKeyUsage, false, writeExtendedUsage(usages));
  add(OID.basicConstraints, true, sequence(...(isCa ? [boolean(true)] : [])));
  add(OID.subjectKeyId, false, octetString(keyId));
  add(OID.authorityKeyId, false, issuerKeyId && sequence(element(contextTag(0, false), issuerKeyId)));
  if (dnsNames.length + ipAddresses.length > 0) {
    add(OID.subjectAltName, isEmpty(subject), writeAlternativeNames(dnsNames, ipAddresses));
  }
  return list;
}

/** The key itself inside a SubjectPublicKeyInfo: the input of key identifiers. */
function publicKeyBits(spki: Buffer): Buffer {
  const info = new DerReader(spki, "public key").sequence();
  info.expect(TAG.sequence);
  return readBytesOfBits(info.expect(TAG.bitString));
}
