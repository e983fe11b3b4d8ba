import { huffmanText } from "./huffman.ts";

const authorityIndex = 1;
const stand = "localhost";

/**
 * The same header block with a good name in place of :authority, as long as the one that was there: the tables of both ends go on
 * counting the same. Undefined if it cannot be read, or has none to replace.
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
    const name = stand.padEnd(size, "x").slice(0, size);
    parts.push(block.subarray(from, field.valueAt), integer(size, 7), Buffer.from(name));
    from = reader.at;
  }
  return parts.length === 0 ? undefined : Buffer.concat([...parts, block.subarray(from)]);
}

interface Text {
  readonly bytes: Buffer;
  readonly packed: boolean;
}

function sizeOf({ bytes, packed }: Text): number | undefined {
  return packed ? huffmanText(bytes)?.length : bytes.length;
}

type Field =
  | { readonly kind: "other" }
  | { readonly kind: "literal"; readonly name: number; readonly value: Text; readonly valueAt: number };

/** Goes from field to field without knowing what is in the tables. */
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
    // A field of the tables, or a new size for the one that grows.
    if (first & 0x80) return this.#integer(7) === undefined ? undefined : { kind: "other" };
    if ((first & 0xe0) === 0x20) return this.#integer(5) === undefined ? undefined : { kind: "other" };
    const name = this.#integer(first & 0x40 ? 6 : 4);
    if (name === undefined || (name === 0 && !this.#text())) return undefined;
    const valueAt = this.at;
    const value = this.#text();
    return value && { kind: "literal", name, value, valueAt };
  }

  #text(): Text | undefined {
    const packed = ((this.#block[this.at] ?? 0) & 0x80) !== 0;
    const size = this.#integer(7);
    if (size === undefined || this.at + size > this.#block.length) return undefined;
    const bytes = this.#block.subarray(this.at, this.at + size);
    this.at += size;
    return { bytes, packed };
  }

  #integer(prefixBits: number): number | undefined {
    const first = this.#block[this.at++];
    if (first === undefined) return undefined;
    const most = (1 << prefixBits) - 1;
    let value = first & most;
    if (value < most) return value;
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
  const most = (1 << prefixBits) - 1;
  if (value < most) return Buffer.from([value]);
  const bytes = [most];
  let rest = value - most;
  for (; rest >= 0x80; rest >>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
