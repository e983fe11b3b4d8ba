/** A field of an encoded message. */
export type WireField =
  | { readonly number: number; readonly kind: "varint"; readonly value: bigint }
  | { readonly number: number; readonly kind: "fixed64"; readonly bytes: Buffer }
  | { readonly number: number; readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly number: number; readonly kind: "fixed32"; readonly bytes: Buffer };

/** Bytes that are not a valid message. */
export class WireError extends Error {
  override readonly name = "WireError";
}

const maxFieldNumber = 2 ** 31 - 1;

/** The fields of a message in order. Groups, which are deprecated, are skipped. */
export function* wireFields(bytes: Buffer): Generator<WireField, void, undefined> {
  const reader = new WireReader(bytes);
  let openGroups = 0;
  for (;;) {
    const tag = reader.tag();
    if (tag === undefined) break;
    const { number, type } = tag;
    if (type === 3) openGroups++;
    else if (type === 4) {
      if (openGroups-- === 0) throw new WireError("proto: wiretype end group for non-group");
    } else {
      const field = reader.field(number, type);
      if (openGroups === 0) yield field;
    }
  }
  if (openGroups > 0) throw unexpectedEof();
}

/** The values of a packed list. */
export function packedVarints(bytes: Buffer): bigint[] {
  const reader = new WireReader(bytes);
  const values: bigint[] = [];
  while (!reader.atEnd) values.push(reader.varint());
  return values;
}

class WireReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  tag(): { number: number; type: number } | undefined {
    if (this.atEnd) return undefined;
    const tag = Number(this.varint());
    const number = Math.floor(tag / 8);
    if (number === 0 || number > maxFieldNumber) throw new WireError(`proto: illegal tag ${number}`);
    return { number, type: tag % 8 };
  }

  field(number: number, type: number): WireField {
    switch (type) {
      case 0:
        return { number, kind: "varint", value: this.varint() };
      case 1:
        return { number, kind: "fixed64", bytes: this.#slice(8) };
      case 2:
        return { number, kind: "bytes", bytes: this.#slice(Number(this.varint())) };
      case 5:
        return { number, kind: "fixed32", bytes: this.#slice(4) };
      default:
        throw new WireError(`proto: illegal wireType ${type}`);
    }
  }

  varint(): bigint {
    const first = this.#bytes[this.#at];
    if (first !== undefined && first < 0x80) {
      this.#at++;
      return BigInt(first);
    }
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw unexpectedEof();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new WireError("proto: integer overflow");
  }

  #slice(size: number): Buffer {
    if (size > this.#bytes.length - this.#at) throw unexpectedEof();
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }
}

function unexpectedEof(): WireError {
  return new WireError("unexpected EOF");
}
