/** FNV-1a, 32 bits. */
export function fnv32a(text: string | Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text as string)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/** FNV-1a, 128 bits, in hexadecimal digits: four words, as the prime is 2^88 + 315 and products of a word with 315 are exact. */
export function fnv128a(text: string | Uint8Array): string {
  let [a, b, c, d] = [0x6295c58d, 0x62b82175, 0x07bb0142, 0x6c62272e];
  for (const byte of Buffer.from(text as string)) {
    a = (a ^ byte) >>> 0;
    const low = a * prime;
    const next = b * prime + Math.floor(low / word);
    const third = c * prime + ((a << 24) >>> 0) + Math.floor(next / word);
    const last = d * prime + ((b << 24) >>> 0) + (a >>> 8) + Math.floor(third / word);
    [a, b, c, d] = [low % word, next % word, third % word, last % word];
  }
  return [d, c, b, a].map((part) => part.toString(16).padStart(8, "0")).join("");
}

const word = 2 ** 32;
const prime = 315;
