import { KubeletError } from "../../base/errors.ts";
import { alignmentOf, type DBusType, parseSignature } from "./signature.ts";
import { type DBusValue, isObjectPath } from "./value.ts";

const maxDepth = 64;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Unmarshals values. Everything that the peer sends is checked; an invalid message is an error with the code InvalidDBusData. */
export class DBusReader {
  readonly #buffer: Buffer;
  readonly #view: DataView;
  readonly #little: boolean;
  #at = 0;

  constructor(buffer: Buffer, littleEndian: boolean) {
    this.#buffer = buffer;
    this.#view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    this.#little = littleEndian;
  }

  get offset(): number {
    return this.#at;
  }

  values(signature: string): DBusValue[] {
    return parseSignature(signature).map((type) => this.#value(type, 0));
  }

  align(boundary: number): void {
    this.#take(-this.#at & (boundary - 1));
  }

  #value(type: DBusType, depth: number): DBusValue {
    if (depth > maxDepth) throw invalid("values are nested too deeply");
    this.align(alignmentOf(type));
    switch (type.code) {
      case "a":
        return this.#array(type.element, depth + 1);
      case "(":
      case "{":
        return type.fields.map((field) => this.#value(field, depth + 1));
      case "v": {
        const signature = this.#signature();
        const [one, ...more] = parseSignature(signature);
        if (!one || more.length > 0) throw invalid("a variant without one complete type");
        return { signature, value: this.#value(one, depth + 1) };
      }
      case "s":
        return this.#text(this.#uint32());
      case "o": {
        const path = this.#text(this.#uint32());
        if (!isObjectPath(path)) throw invalid(`${JSON.stringify(path)} is not an object path`);
        return path;
      }
      case "g":
        return this.#signature();
      case "b": {
        const value = this.#uint32();
        if (value > 1) throw invalid(`${value} is not a boolean`);
        return value === 1;
      }
      case "y":
        return this.#buffer.readUInt8(this.#take(1));
      case "n":
        return this.#view.getInt16(this.#take(2), this.#little);
      case "q":
        return this.#view.getUint16(this.#take(2), this.#little);
      case "i":
        return this.#view.getInt32(this.#take(4), this.#little);
      case "u":
      case "h":
        return this.#uint32();
      case "x":
        return this.#view.getBigInt64(this.#take(8), this.#little);
      case "t":
        return this.#view.getBigUint64(this.#take(8), this.#little);
      case "d":
        return this.#view.getFloat64(this.#take(8), this.#little);
    }
  }

  #array(element: DBusType, depth: number): DBusValue {
    const length = this.#uint32();
    this.align(alignmentOf(element));
    const end = this.#at + length;
    if (end > this.#buffer.length) throw invalid("an array is longer than its message");
    if (element.code === "y") return new Uint8Array(this.#buffer.subarray(this.#take(length), end));
    const items: DBusValue[] = [];
    while (this.#at < end) items.push(this.#value(element, depth));
    if (this.#at !== end) throw invalid("the last element of an array exceeds it");
    return items;
  }

  #signature(): string {
    const text = this.#text(this.#buffer.readUInt8(this.#take(1)));
    parseSignature(text);
    return text;
  }

  #text(length: number): string {
    const start = this.#take(length);
    if (this.#buffer[this.#take(1)] !== 0) throw invalid("a string does not end with NUL");
    const bytes = this.#buffer.subarray(start, start + length);
    if (bytes.includes(0)) throw invalid("a string contains NUL");
    try {
      return utf8.decode(bytes);
    } catch (error) {
      throw invalid("a string is not UTF-8", error);
    }
  }

  #uint32(): number {
    return this.#view.getUint32(this.#take(4), this.#little);
  }

  /** The position before these bytes. */
  #take(bytes: number): number {
    const at = this.#at;
    if (at + bytes > this.#buffer.length) throw invalid("a message ends early");
    this.#at += bytes;
    return at;
  }
}

function invalid(message: string, cause?: unknown): KubeletError {
  return new KubeletError("InvalidDBusData", `D-Bus: ${message}`, { cause });
}
