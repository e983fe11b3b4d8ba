import { huffmanText } from "./huffman.ts";

const authorityIndex = 1;
const replacement = "localhost";

/**
 * The same header block with a valid :authority of the same length: the HPACK tables of both ends
 * stay in sync. Undefined if it cannot be parsed, or has no literal to replace.
 */
export function withValidAuthority(block: Buffer): Buffer | undefined {
  const reader = new BlockReader(block);
  const parts: Buffer[] = [];
  let from = 0;
  while (!reader.atEnd) {
    const field = reader.field();
    if (!field) return undefined;
    if (field.kind !== "literal" || field.name !== authorityIndex) continue;
    const size = sizeOf(field.value);
    if (!size) continue;
    const name = replacement.padEnd(size, "x").slice(0, size);
    parts.push(block.subarray(from, field.valueAt), integer(size, 7), Buffer.from(name));
    from = reader.at;
  }
  return parts.length === 0 ? undefined : Buffer.concat([...parts, block.subarray(from)]);
}

interface Text {
  readonly bytes: Buffer;
  readonly huffman: boolean;
}

function sizeOf({ bytes, huffman }: Text): number | undefined {
  return huffman ? huffmanText(bytes)?.length : bytes.length;
}

type Field =
  | { readonly kind: "other" }
  | { readonly kind: "literal"; readonly name: number; readonly value: Text; readonly valueAt: number };

/** Iterates over the fields without decoding them. */
class BlockReader {
  readonly #block: Buffer;
  at = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  get atEnd(): boolean {
    return this.at >= this.#block.length;
  }

  field(): Field | undefined {
    const first = this.#block[this.at] ?? 0;
    // An indexed field, or a table size update.
    if (first & 0x80) return this.#integer(7) === undefined ? undefined : { kind: "other" };
    if ((first & 0xe0) === 0x20) return this.#integer(5) === undefined ? undefined : { kind: "other" };
    const name = this.#integer(first & 0x40 ? 6 : 4);
    if (name === undefined || (name === 0 && !this.#text())) return undefined;
    const valueAt = this.at;
    const value = this.#text();
    return value && { kind: "literal", name, value, valueAt };
  }

  #text(): Text | undefined {
    const huffman = ((this.#block[this.at] ?? 0) & 0x80) !== 0;
    const size = this.#integer(7);
    if (size === undefined || this.at + size > this.#block.length) return undefined;
    const bytes = this.#block.subarray(this.at, this.at + size);
    this.at += size;
    return { bytes, huffman };
  }

  #integer(prefixBits: number): number | undefined {
    const first = this.#block[this.at++];
    if (first === undefined) return undefined;
    const max = (1 << prefixBits) - 1;
    let value = first & max;
    if (value < max) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#block[this.at++];
      if (byte === undefined) return undefined;
      value += (byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    return undefined;
  }
}

function integer(value: number, prefixBits: number): Buffer {
  const max = (1 << prefixBits) - 1;
  if (value < max) return Buffer.from([value]);
  const bytes = [max];
  let rest = value - max;
  for (; rest >= 0x80; rest >>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
