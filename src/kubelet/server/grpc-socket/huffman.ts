/** The symbols of host names and paths, by the length of their codes (RFC 7541, appendix B). */
const symbols: readonly (readonly [bits: number, symbols: string])[] = [
  [5, "012aceiost"],
  [6, " %-./3456789=A_bdfghlmnpru"],
  [7, ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"],
  [8, "&*,;XZ"],
  [10, '!"()?'],
  [11, "'+|"],
  [12, "#>"],
  [13, "\0$@[]~"],
  [14, "^}"],
  [15, "<`{"],
];

/** The codes of all symbols. They follow from the order of the symbols: by length of the code, then by number. */
const codes = new Map<string, string>();
let next = 0;
let lastBits = 0;
for (const [bits, group] of symbols) {
  next <<= bits - lastBits;
  lastBits = bits;
  for (const symbol of group) codes.set(`${bits}:${next++}`, symbol);
}

/** The text of a string in HPACK's Huffman code; undefined if it has other symbols. */
export function huffmanText(bytes: Uint8Array): string | undefined {
  let text = "";
  let code = 0;
  let bits = 0;
  for (const byte of bytes)
    for (let at = 7; at >= 0; at--) {
      code = (code << 1) | ((byte >> at) & 1);
      bits++;
      const symbol = codes.get(`${bits}:${code}`);
      if (symbol !== undefined) {
        text += symbol;
        code = 0;
        bits = 0;
      } else if (bits > lastBits) return undefined;
    }
  // The last byte is padded with ones.
  return bits < 8 && code === (1 << bits) - 1 ? text : undefined;
}
