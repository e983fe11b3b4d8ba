/** Writes DER, as much of it as certificates need: every function returns one whole element. */

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  numericString: 0x12,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const;

/** The tag of `[number]`; constructed if it holds elements rather than bytes. */
export function contextTag(number: number, constructed: boolean): number {
  return 0x80 | (constructed ? 0x20 : 0) | number;
}

export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const length = contents.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([header(tag, length), ...contents]);
}

function header(tag: number, length: number): Buffer {
  if (length < 0x80) return Buffer.of(tag, length);
  const digits: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return Buffer.of(tag, 0x80 | digits.length, ...digits);
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => element(TAG.sequence, ...items);

/** DER sorts the elements of a SET OF by their encoding. */
export function setOf(items: readonly Uint8Array[]): Buffer {
  return element(TAG.set, ...[...items].sort((a, b) => Buffer.compare(a, b)));
}

/** A number that is not negative, from its big-endian bytes. */
export function unsignedInteger(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const shortest = bytes.subarray(start);
  // A leading one bit would make the number negative.
  return (shortest[0] ?? 0) & 0x80 || shortest.length === 0
    ? element(TAG.integer, Buffer.of(0), shortest)
    : element(TAG.integer, shortest);
}

export const boolean = (value: boolean): Buffer => element(TAG.boolean, Buffer.of(value ? 0xff : 0));

export const octetString = (content: Uint8Array): Buffer => element(TAG.octetString, content);

export function bitString(content: Uint8Array, unusedBits = 0): Buffer {
  return element(TAG.bitString, Buffer.of(unusedBits), content);
}

/** The bits whose numbers are given, bit 0 first; trailing zero bits are left off. */
export function namedBits(bits: readonly number[]): Buffer {
  if (bits.length === 0) return bitString(Buffer.alloc(0));
  const highest = Math.max(...bits);
  const content = Buffer.alloc(Math.floor(highest / 8) + 1);
  for (const bit of bits) {
    const at = Math.floor(bit / 8);
    content[at] = (content[at] ?? 0) | (0x80 >> (bit % 8));
  }
  return bitString(content, 7 - (highest % 8));
}

/** UTCTime for the years it can represent, GeneralizedTime for the others. Whole seconds. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/\.\d+/, "").replace(/[-:T]/g, "");
  const year = date.getUTCFullYear();
  return year >= 1950 && year < 2050
    ? element(TAG.utcTime, Buffer.from(digits.slice(2), "ascii"))
    : element(TAG.generalizedTime, Buffer.from(digits, "ascii"));
}
