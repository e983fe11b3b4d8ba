/** FNV-1a, 32 bits. */
export function fnv32a(text: string | Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text as string)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
