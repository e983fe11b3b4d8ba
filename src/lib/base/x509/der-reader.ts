import { KubeletError } from "../errors.ts";
import { TAG } from "./der.ts";

export interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** Tag, length and content. */
  readonly whole: Buffer;
}

export function malformed(message: string, cause?: unknown): KubeletError {
  return new KubeletError("BadRequest", message, cause === undefined ? {} : { cause });
}

/** Reads the elements in sequence. It never recurses, so that no input can nest too deep. */
export class DerReader {
  readonly #bytes: Buffer;
  readonly #structure: string;
  #at = 0;

  /** @param structure is named in errors: "certificate", "subject" … */
  constructor(bytes: Buffer, structure: string) {
    this.#bytes = bytes;
    this.#structure = structure;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** True if the next element has this tag. */
  sees(tag: number): boolean {
    return this.#bytes[this.#at] === tag;
  }

  next(): Element {
    const start = this.#at;
    const tag = this.#byte();
    if ((tag & 0x1f) === 0x1f) throw this.#malformed("a tag of more than one byte");
    const length = this.#length();
    const end = this.#at + length;
    if (end > this.#bytes.length) throw this.#malformed("shorter than its length");
    const content = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return { tag, content, whole: this.#bytes.subarray(start, end) };
  }

  expect(tag: number): Element {
    if (!this.sees(tag))
      throw this.#malformed(`no element of type 0x${tag.toString(16)} where one is expected`);
    return this.next();
  }

  /** The content of the next element, which must be of this type. */
  into(tag: number): DerReader {
    return new DerReader(this.expect(tag).content, this.#structure);
  }

  sequence(): DerReader {
    return this.into(TAG.sequence);
  }

  optional(tag: number): Element | undefined {
    return this.sees(tag) ? this.next() : undefined;
  }

  end(): void {
    if (!this.done) throw this.#malformed("data after its end");
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw this.#malformed("ends too early");
    this.#at++;
    return byte;
  }

  #length(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    const digits = first & 0x7f;
    if (digits === 0 || digits > 4) throw this.#malformed("a length that DER does not allow");
    let length = 0;
    for (let i = 0; i < digits; i++) length = length * 256 + this.#byte();
    if (length < 0x80 || length < 256 ** (digits - 1))
      throw this.#malformed("a length that is not the shortest");
    return length;
  }

  #malformed(why: string): KubeletError {
    return malformed(`malformed ${this.#structure}: ${why}`);
  }
}

export function readBoolean(element: Element): boolean {
  const [value] = element.content;
  if (element.content.length !== 1 || (value !== 0 && value !== 0xff)) throw malformed("malformed boolean");
  return value !== 0;
}

/** The bytes of an INTEGER that is not negative. */
export function readUnsigned(element: Element): Buffer {
  const [first, second = 0xff] = element.content;
  if (first === undefined || (first === 0 && second < 0x80)) throw malformed("malformed integer");
  if (first >= 0x80) throw malformed("malformed integer: it is negative");
  return element.content;
}

/** The bytes of a BIT STRING that ends at a whole byte. */
export function readBytesOfBits(element: Element): Buffer {
  if (element.content[0] !== 0) throw malformed("malformed bit string");
  return element.content.subarray(1);
}

/** The numbers of the bits that are set. */
export function readNamedBits(element: Element): number[] {
  const [unused, ...bytes] = element.content;
  const padding = ((1 << (unused ?? 0)) - 1) & (bytes.at(-1) ?? 0xff);
  if (unused === undefined || unused > 7 || bytes.length > 8 || padding !== 0)
    throw malformed("malformed bit string");
  const bits: number[] = [];
  for (let bit = 0; bit < bytes.length * 8 - unused; bit++) {
    if ((bytes[Math.floor(bit / 8)] ?? 0) & (0x80 >> (bit % 8))) bits.push(bit);
  }
  return bits;
}

const UTC_TIME = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;
const GENERALIZED_TIME = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

export function readTime(element: Element): Date {
  const text = element.content.toString("latin1");
  const short = element.tag === TAG.utcTime;
  const match = (short ? UTC_TIME : GENERALIZED_TIME).exec(text);
  if (match === null || (!short && element.tag !== TAG.generalizedTime)) throw malformed("malformed time");
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(short ? year + (year < 50 ? 2000 : 1900) : year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  // Date.UTC would turn 31 February into a day of March.
  const same =
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && date.getUTCSeconds() === second;
  if (!same || hour > 23 || minute > 59) throw malformed("malformed time");
  return date;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const utf16 = new TextDecoder("utf-16be", { fatal: true, ignoreBOM: true });

const strings: Readonly<Record<number, RegExp>> = {
  // As in Go, the asterisk and the ampersand of old certificates are allowed.
  [TAG.printableString]: /^[A-Za-z0-9 '()+,\-./:=?*&]*$/,
  [TAG.numericString]: /^[0-9 ]*$/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is what IA5String allows
  [TAG.ia5String]: /^[\x00-\x7f]*$/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: any byte
  [TAG.teletexString]: /^[\x00-\xff]*$/,
};

/** The text of any string type that names use. Throws for other types, and for characters that the type does not have. */
export function readText(element: Element): string {
  try {
    switch (element.tag) {
      case TAG.utf8String:
        return utf8.decode(element.content);
      case TAG.bmpString:
        // Some certificates end it with a zero.
        return utf16.decode(element.content).replace(/\0$/, "");
      default: {
        const text = element.content.toString("latin1");
        if (!strings[element.tag]?.test(text)) throw malformed("not a text of its type");
        return text;
      }
    }
  } catch (error) {
    throw malformed("malformed text in a name", error);
  }
}
