import { TAG } from "./der.ts";
import { DerReader, readBytesOfBits } from "./der-reader.ts";

/** The key itself inside a SubjectPublicKeyInfo: the input of key identifiers. */
export function publicKeyBits(spki: Buffer): Buffer {
  const info = new DerReader(spki, "public key").sequence();
  info.expect(TAG.sequence);
  return readBytesOfBits(info.expect(TAG.bitString));
}
