import { type KeyObject, sign, verify } from "node:crypto";
import { KubeletError } from "../errors.ts";
import { bitString, contextTag, element, sequence, TAG, unsignedInteger } from "./der.ts";
import { DerReader, readBytesOfBits } from "./der-reader.ts";
import { OID, type Oid, readOid, writeOid } from "./oids.ts";

interface Algorithm {
  readonly keyType: string;
  readonly hash: "sha256" | "sha384" | "sha512" | null;
}

const ALGORITHMS: Readonly<Record<Oid, Algorithm>> = {
  [OID.sha256WithRsa]: { keyType: "rsa", hash: "sha256" },
  [OID.sha384WithRsa]: { keyType: "rsa", hash: "sha384" },
  [OID.sha512WithRsa]: { keyType: "rsa", hash: "sha512" },
  [OID.ecdsaWithSha256]: { keyType: "ec", hash: "sha256" },
  [OID.ecdsaWithSha384]: { keyType: "ec", hash: "sha384" },
  [OID.ecdsaWithSha512]: { keyType: "ec", hash: "sha512" },
  [OID.ed25519]: { keyType: "ed25519", hash: null },
};

/** The algorithm this key signs with. */
export function signatureAlgorithm(key: KeyObject): Buffer {
  switch (key.asymmetricKeyType) {
    case "ec":
      return sequence(writeOid(OID.ecdsaWithSha256));
    case "rsa":
      return sequence(writeOid(OID.sha256WithRsa), element(TAG.null));
    case "ed25519":
      return sequence(writeOid(OID.ed25519));
    default:
      throw new KubeletError("InvalidKey", `cannot sign with a key of type ${key.asymmetricKeyType}`);
  }
}

/** The signed data, the algorithm and the signature: the structure of certificates and requests alike. */
export function signed(body: Buffer, key: KeyObject): Buffer {
  const hash = key.asymmetricKeyType === "ed25519" ? null : "sha256";
  return sequence(body, signatureAlgorithm(key), bitString(sign(hash, body, key)));
}

export interface Signature {
  readonly algorithm: Oid;
  /** The algorithm with its parameters, as encoded. */
  readonly algorithmDer: Buffer;
  readonly bytes: Buffer;
}

export function readSignature(reader: DerReader): Signature {
  const { whole, content } = reader.expect(TAG.sequence);
  const algorithm = readOid(new DerReader(content, "signature algorithm").expect(TAG.oid));
  return { algorithm, algorithmDer: whole, bytes: readBytesOfBits(reader.expect(TAG.bitString)) };
}

/** RSA-PSS names its hash in parameters, whose defaults are SHA-1; as in Go, only these are allowed, in one form. */
const PSS: ReadonlySet<string> = new Set(
  (
    [
      [OID.sha256, 32],
      [OID.sha384, 48],
      [OID.sha512, 64],
    ] as const
  ).flatMap(([hash, salt]) =>
    [[element(TAG.null)], []].map((parameters) => {
      const digest = sequence(writeOid(hash), ...parameters);
      const settings = sequence(
        element(contextTag(0, true), digest),
        element(contextTag(1, true), sequence(writeOid(OID.mgf1), digest)),
        element(contextTag(2, true), unsignedInteger(Buffer.of(salt))),
      );
      return sequence(writeOid(OID.rsaPss), settings).toString("hex");
    }),
  ),
);

/** Whether a certificate with this signature may be trusted. Broken hashes have several identifiers, so that the good ones are listed. */
export const isTrusted = ({ algorithm, algorithmDer }: Signature): boolean =>
  algorithm === OID.rsaPss ? PSS.has(algorithmDer.toString("hex")) : algorithm in ALGORITHMS;

/** Also false for algorithms that are unknown or no longer trusted (SHA-1). */
export function isSignatureValid(body: Buffer, signature: Signature, key: KeyObject): boolean {
  const algorithm = ALGORITHMS[signature.algorithm];
  if (algorithm === undefined || algorithm.keyType !== key.asymmetricKeyType) return false;
  try {
    return verify(algorithm.hash, body, key, signature.bytes);
  } catch {
    return false; // the key parses but cannot be used
  }
}
