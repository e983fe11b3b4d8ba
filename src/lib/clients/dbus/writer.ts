import { KubeletError } from "../../base/errors.ts";
import { alignmentOf, type BasicCode, type DBusType, parseSignature } from "./signature.ts";
import { type DBusValue, isObjectPath, type Variant } from "./value.ts";

const maxArrayBytes = 64 << 20;
/** The maximum nesting of containers, variants included. */
const maxDepth = 64;

/** Marshals values in little-endian order. Offsets are aligned from its own start. */
export class DBusWriter {
  #buffer = Buffer.alloc(256);
  #length = 0;

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** The values of a body or of a struct, one for each type of the signature. */
  values(signature: string, values: readonly DBusValue[]): void {
    this.#fields(parseSignature(signature), values, signature, 0);
  }

  align(boundary: number): void {
    const padding = -this.#length & (boundary - 1);
    this.#reserve(padding);
    this.#buffer.fill(0, this.#length, this.#length + padding);
    this.#length += padding;
  }

  #fields(types: readonly DBusType[], values: DBusValue, what: string, depth: number): void {
    if (!Array.isArray(values) || values.length !== types.length)
      throw invalid(`${what}: ${types.length} values are expected`);
    for (const [index, type] of types.entries()) this.#value(type, values[index], depth);
  }

  #value(type: DBusType, value: DBusValue, depth: number): void {
    if (depth > maxDepth) throw invalid("values are nested too deeply");
    switch (type.code) {
      case "a":
        return this.#array(type.element, value, depth + 1);
      case "(":
      case "{":
        this.align(8);
        return this.#fields(type.fields, value, "struct", depth + 1);
      case "v":
        return this.#variant(value, depth + 1);
      default:
        this.align(alignmentOf(type));
        return this.#basic(type.code, value);
    }
  }

  #array(element: DBusType, value: DBusValue, depth: number): void {
    this.align(4);
    const lengthAt = this.#length;
    this.#number(4, (at) => this.#buffer.writeUInt32LE(0, at));
    // The padding before the first element is not part of the length.
    this.align(alignmentOf(element));
    const start = this.#length;
    if (value instanceof Uint8Array) {
      if (element.code !== "y") throw invalid("bytes are expected only where the type is ay");
      this.#raw(value);
    } else {
      if (!Array.isArray(value)) throw invalid("an array is expected");
      for (const item of value as readonly DBusValue[]) this.#value(element, item, depth);
    }
    const length = this.#length - start;
    if (length > maxArrayBytes) throw invalid(`an array of ${length} bytes is too long`);
    this.#buffer.writeUInt32LE(length, lengthAt);
  }

  #variant(value: DBusValue, depth: number): void {
    const variant = value as Variant;
    if (typeof value !== "object" || typeof variant.signature !== "string")
      throw invalid("a variant is expected");
    const [type, ...more] = parseSignature(variant.signature);
    if (!type || more.length > 0) throw invalid("a variant has one complete type");
    this.#signature(variant.signature);
    this.#value(type, variant.value, depth);
  }

  #basic(code: BasicCode, value: DBusValue): void {
    switch (code) {
      case "s":
      case "o":
        return this.#string(code, value);
      case "g":
        if (typeof value !== "string") throw invalid("a signature is expected");
        parseSignature(value);
        return this.#signature(value);
      case "b":
        if (typeof value !== "boolean") throw invalid("a boolean is expected");
        return this.#number(4, (at) => this.#buffer.writeUInt32LE(value ? 1 : 0, at));
      case "x":
      case "t":
        return this.#integer64(code, value);
      case "d":
        if (typeof value !== "number") throw invalid("a number is expected");
        return this.#number(8, (at) => this.#buffer.writeDoubleLE(value, at));
      default:
        return this.#integer(code, value);
    }
  }

  #integer(code: keyof typeof ranges, value: DBusValue): void {
    const [size, low, high] = ranges[code];
    if (typeof value !== "number" || !Number.isInteger(value) || value < low || value > high)
      throw invalid(`${describe(value)} is not a value of type ${code}`);
    this.#number(size, (at) =>
      low < 0 ? this.#buffer.writeIntLE(value, at, size) : this.#buffer.writeUIntLE(value, at, size),
    );
  }

  #integer64(code: "x" | "t", value: DBusValue): void {
    const fits =
      typeof value === "bigint" && (code === "x" ? BigInt.asIntN : BigInt.asUintN)(64, value) === value;
    if (!fits) throw invalid(`${describe(value)} is not a value of type ${code}`);
    this.#number(8, (at) => this.#buffer.writeBigUInt64LE(BigInt.asUintN(64, value), at));
  }

  #string(code: "s" | "o", value: DBusValue): void {
    if (typeof value !== "string" || value.includes("\0") || !value.isWellFormed())
      throw invalid(`${describe(value)} is not a string of D-Bus`);
    if (code === "o" && !isObjectPath(value)) throw invalid(`${describe(value)} is not an object path`);
    const text = Buffer.from(value);
    this.#number(4, (at) => this.#buffer.writeUInt32LE(text.length, at));
    this.#raw(text);
    this.#number(1, (at) => this.#buffer.writeUInt8(0, at));
  }

  #signature(value: string): void {
    this.#number(1, (at) => this.#buffer.writeUInt8(value.length, at));
    this.#raw(Buffer.from(value));
    this.#number(1, (at) => this.#buffer.writeUInt8(0, at));
  }

  #raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #number(size: number, write: (at: number) => void): void {
    this.#reserve(size);
    write(this.#length);
    this.#length += size;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const larger = Buffer.alloc(Math.max(this.#buffer.length * 2, this.#length + more));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

/** Bytes, lowest and highest value. */
const ranges = {
  y: [1, 0, 0xff],
  n: [2, -0x8000, 0x7fff],
  q: [2, 0, 0xffff],
  i: [4, -0x80000000, 0x7fffffff],
  u: [4, 0, 0xffffffff],
  h: [4, 0, 0xffffffff],
} as const;

function describe(value: DBusValue): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function invalid(message: string): KubeletError {
  return new KubeletError("InvalidDBusData", `D-Bus: ${message}`);
}
