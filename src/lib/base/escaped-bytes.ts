import { isUtf8 } from "node:buffer";

/** Lone surrogates, which no UTF-8 decodes to: each represents one byte from 0x80 to 0xff. */
const escaped = /([\udc80-\udcff])/u;
const offset = 0xdc00;

/**
 * Bytes as text that `bytesOf` converts back without a loss, also if they are not UTF-8: each byte that is part of no UTF-8 sequence becomes
 * a lone surrogate.
 */
export function escapedText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at]!;
    const sequence = bytes.subarray(at, at + sequenceLength(byte));
    const isText = isUtf8(sequence);
    parts.push(isText ? sequence.toString("utf8") : String.fromCharCode(offset + byte));
    at += isText ? sequence.length : 1;
  }
  return parts.join("");
}

/** The bytes of a text, which may have bytes that are not UTF-8. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  if (text.isWellFormed()) return new Uint8Array(new TextEncoder().encode(text));
  const parts = text
    .split(escaped)
    .map((part) => (escaped.test(part) ? Buffer.of(part.charCodeAt(0) - offset) : Buffer.from(part)));
  return new Uint8Array(Buffer.concat(parts));
}

function sequenceLength(first: number): number {
  if (first < 0xc0) return 1;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}
