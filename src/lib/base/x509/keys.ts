import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { KubeletError } from "../errors.ts";
import { malformed } from "./der-reader.ts";

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** A new ECDSA key on P-256. */
export function generateKey(): KeyPair {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

/** The form in which a kubelet writes its keys: SEC1 for EC, PKCS #1 for RSA, PKCS #8 for all others. */
export function privateKeyPem(key: KeyObject): string {
  const type = key.asymmetricKeyType;
  return String(
    key.export({ format: "pem", type: type === "ec" ? "sec1" : type === "rsa" ? "pkcs1" : "pkcs8" }),
  );
}

export const writePublicKey = (key: KeyObject): Buffer =>
  publicHalf(key).export({ format: "der", type: "spki" });

export function readPublicKey(der: Buffer): KeyObject {
  try {
    return createPublicKey({ key: der, format: "der", type: "spki" });
  } catch (error) {
    throw malformed("malformed or unknown public key", error);
  }
}

const minRsaBits = 1024;
const curves: ReadonlySet<string | undefined> = new Set([
  "secp224r1",
  "prime256v1",
  "secp384r1",
  "secp521r1",
]);

/** Keys that Go does not verify with: short RSA keys, curves that are not NIST curves, and other types. */
export function isWeakKey({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  switch (asymmetricKeyType) {
    case "rsa":
      return (asymmetricKeyDetails?.modulusLength ?? 0) < minRsaBits;
    case "ec":
      return !curves.has(asymmetricKeyDetails?.namedCurve);
    default:
      return asymmetricKeyType !== "ed25519";
  }
}

function publicHalf(key: KeyObject): KeyObject {
  if (key.type === "secret") throw new KubeletError("InvalidKey", "a secret key has no public half");
  return key.type === "private" ? createPublicKey(key) : key;
}

/** True if the two keys, private or public, belong to one pair. */
export function samePublicKey(a: KeyObject, b: KeyObject): boolean {
  return writePublicKey(a).equals(writePublicKey(b));
}
