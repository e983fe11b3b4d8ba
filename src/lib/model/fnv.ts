/** FNV-1a, 32 bits. */
export function fnv32a(text: string | Uint8Array): number {
  let hash = 0x811c9dc5;
  const bytes = Buffer.from(text as string);
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash >>> 0;
}

/**
 * FNV-1a, 128 bits, in hexadecimal digits: four 32-bit parts, as the prime is 2^88 + 315 and products of a part with
 * 315 are exact.
 */
export function fnv128a(text: string | Uint8Array): string {
  let a = 0x6295c58d;
  let b = 0x62b82175;
  let c = 0x07bb0142;
  let d = 0x6c62272e;
  const bytes = Buffer.from(text as string);
  for (let i = 0; i < bytes.length; i++) {
    a = (a ^ bytes[i]!) >>> 0;
    const low = a * prime;
    const carry = Math.floor(low * perPart);
    const next = b * prime + carry;
    const nextCarry = Math.floor(next * perPart);
    const third = c * prime + ((a << 24) >>> 0) + nextCarry;
    const thirdCarry = Math.floor(third * perPart);
    const last = d * prime + ((b << 24) >>> 0) + (a >>> 8) + thirdCarry;
    // Each part keeps its remainder. The operator % would take most of the time.
    a = low - carry * word;
    b = next - nextCarry * word;
    c = third - thirdCarry * word;
    d = last - Math.floor(last * perPart) * word;
  }
  return [d, c, b, a].map((part) => part.toString(16).padStart(8, "0")).join("");
}

const word = 2 ** 32;
const perPart = 2 ** -32;
const prime = 315;
