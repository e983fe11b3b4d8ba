import { TAG } from "./der.ts";
import { DerReader, readBytesOfBits } from "./der-reader.ts";

/** The key itself inside a SubjectPublicKeyInfo: what key identifiers are made of. */
export function publicKeyBits(spki: Buffer): Buffer {
  const info = new DerReader(spki, "public key").sequence();
  info.expect(TAG.sequence);
  return readBytesOfBits(info.expect(TAG.bitString));
}
