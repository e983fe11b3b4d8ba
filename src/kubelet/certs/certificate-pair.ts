import { createPrivateKey, type KeyObject } from "node:crypto";
import { KubeletError } from "../../lib/base/errors.ts";
import { type WallTime, wallTime } from "../../lib/base/time.ts";
import { type Certificate, parseCertificates, pemBlocks, samePublicKey } from "../../lib/base/x509/x509.ts";

/** A certificate with the key that belongs to it. */
export interface CertificatePair {
  /** PEM: the certificate, then its intermediates. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
  /** The leaf certificate. */
  readonly leaf: Certificate;
  readonly privateKey: KeyObject;
}

/** Reads a pair; both texts may contain other blocks, as when they are one file. */
export function readPair(certText: string, keyText: string): CertificatePair {
  const certificates = parseCertificates(certText);
  const [leaf] = certificates;
  if (leaf === undefined) throw new KubeletError("CertificatePair", "it contains no certificate");
  const block = pemBlocks(keyText).find(({ label }) => label.endsWith("PRIVATE KEY"));
  if (block === undefined) throw new KubeletError("CertificatePair", "it contains no private key");
  const privateKey = readKey(block.text);
  if (!samePublicKey(privateKey, leaf.publicKey)) {
    throw new KubeletError("CertificatePair", "private key does not match the certificate");
  }
  return { cert: certificates.map(({ pem }) => pem).join(""), key: block.text, leaf, privateKey };
}

export function readKey(text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new KubeletError("CertificatePair", "the private key cannot be read", { cause: error });
  }
}

export const isExpired = (pair: CertificatePair, now: WallTime): boolean =>
  now > wallTime(pair.leaf.notAfter);
