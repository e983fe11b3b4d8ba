import type { KeyObject } from "node:crypto";
import {
  type AlternativeNames,
  NO_NAMES,
  readAlternativeNames,
  writeAlternativeNames,
} from "./alternative-names.ts";
import { contextTag, element, sequence, setOf, TAG, unsignedInteger } from "./der.ts";
import { DerReader, malformed } from "./der-reader.ts";
import { readExtensions, writeExtensions } from "./extensions.ts";
import { readPublicKey, writePublicKey } from "./keys.ts";
import { type DistinguishedName, readName, writeName } from "./names.ts";
import { OID, readOid, writeOid } from "./oids.ts";
import { pem, pemBlocks } from "./pem.ts";
import { isSignatureValid, readSignature, signed } from "./signatures.ts";

const ATTRIBUTES = contextTag(0, true);

export interface RequestOptions {
  readonly subject: DistinguishedName;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  /** The private key; the request holds its public half. */
  readonly key: KeyObject;
}

/** A certificate signing request (PKCS #10) as PEM. */
export function makeRequest({ subject, dnsNames = [], ipAddresses = [], key }: RequestOptions): string {
  const body = sequence(
    unsignedInteger(Buffer.of(0)),
    writeName(subject),
    writePublicKey(key),
    element(ATTRIBUTES, ...extensionRequest(subject, dnsNames, ipAddresses)),
  );
  return pem("CERTIFICATE REQUEST", signed(body, key));
}

function extensionRequest(
  subject: DistinguishedName,
  dnsNames: readonly string[],
  ipAddresses: readonly string[],
): Buffer[] {
  if (dnsNames.length + ipAddresses.length === 0) return [];
  const names = {
    id: OID.subjectAltName,
    critical: isEmpty(subject),
    value: writeAlternativeNames(dnsNames, ipAddresses),
  };
  return [sequence(writeOid(OID.extensionRequest), setOf([writeExtensions([names])]))];
}

export const isEmpty = (name: DistinguishedName): boolean =>
  name.commonName === "" && name.organizations.length === 0;

export interface ParsedRequest extends AlternativeNames {
  readonly subject: DistinguishedName;
  readonly publicKey: KeyObject;
  /** True if the requester holds the private key. */
  readonly signatureValid: boolean;
}

/** Reads the first block of a PEM text, which must be a request. Throws a KubeletError (BadRequest) if it is not. */
export function parseRequest(text: string): ParsedRequest {
  const [block] = pemBlocks(text);
  if (block?.label !== "CERTIFICATE REQUEST") throw malformed("PEM block type must be CERTIFICATE REQUEST");
  const outer = new DerReader(block.der, "certificate request");
  const request = outer.sequence();
  outer.end();
  const body = request.expect(TAG.sequence);
  const signature = readSignature(request);
  request.end();

  const info = new DerReader(body.content, "certificate request");
  info.expect(TAG.integer);
  const subject = readName(info.sequence());
  const publicKey = readPublicKey(info.expect(TAG.sequence).whole);
  const names = info.sees(ATTRIBUTES) ? requestedNames(info.into(ATTRIBUTES)) : NO_NAMES;
  info.end();
  return { subject, ...names, publicKey, signatureValid: isSignatureValid(body.whole, signature, publicKey) };
}

function requestedNames(attributes: DerReader): AlternativeNames {
  let names = NO_NAMES;
  while (!attributes.done) {
    const attribute = attributes.sequence();
    if (readOid(attribute.expect(TAG.oid)) !== OID.extensionRequest) continue;
    const extensions = readExtensions(attribute.into(TAG.set).sequence());
    const value = extensions.get(OID.subjectAltName)?.value;
    if (value !== undefined) names = readAlternativeNames(value);
  }
  return names;
}
