import type { Random } from "./random.ts";

const interesting = [
  0, 1, 9, 10, 13, 32, 34, 45, 46, 48, 57, 58, 64, 92, 123, 127, 128, 192, 224, 240, 254, 255,
];
const numbers = ["0", "-1", "1", "127", "255", "256", "65535", "65536", "2147483648", "4294967295"].concat([
  "9007199254740993",
  "9223372036854775807",
  "18446744073709551616",
  "1e999",
  "0.1",
  "-0",
  "1e-9",
  "0x7f",
]);

export interface Material {
  readonly random: Random;
  readonly maxLength: number;
  readonly dictionary: readonly Buffer[];
  /** Another input of the corpus. */
  other(): Buffer;
}

type Mutation = (bytes: Buffer, material: Material) => Buffer;

/** One to eight random changes. Never longer than `maxLength`. */
export function mutate(input: Buffer, material: Material): Buffer {
  const { random } = material;
  let bytes = input;
  for (let left = 1 << random.below(4); left > 0; left--) {
    const next = random.pick(mutations)(bytes, material);
    bytes = next.length > material.maxLength ? next.subarray(0, material.maxLength) : next;
  }
  return bytes;
}

const flipBit: Mutation = (bytes, { random }) =>
  changed(bytes, random.below(bytes.length), (byte) => byte ^ (1 << random.below(8)));

const setByte: Mutation = (bytes, { random }) =>
  changed(bytes, random.below(bytes.length), () =>
    random.below(2) === 0 ? random.pick(interesting) : random.below(256),
  );

const addToByte: Mutation = (bytes, { random }) =>
  changed(bytes, random.below(bytes.length), (byte) => byte + random.below(33) - 16);

const insertBytes: Mutation = (bytes, { random }) =>
  spliced(
    bytes,
    random.below(bytes.length + 1),
    0,
    Buffer.alloc(1 + random.below(8), random.below(2) === 0 ? random.pick(interesting) : random.below(256)),
  );

const remove: Mutation = (bytes, { random }) => {
  const { start, length } = part(bytes, random);
  return spliced(bytes, start, length);
};

/** Repeats a part, often enough that time or memory that grows faster than the input shows. */
const repeat: Mutation = (bytes, { random, maxLength }) => {
  const { start, length } = part(bytes, random);
  if (length === 0) return bytes;
  const times = random.below(4) === 0 ? random.below(Math.ceil(maxLength / length)) : 1 + random.below(3);
  const copies = Buffer.alloc(Math.min(length * times, maxLength), bytes.subarray(start, start + length));
  return spliced(bytes, start, 0, copies);
};

const move: Mutation = (bytes, { random }) => {
  const { start, length } = part(bytes, random);
  const taken = Buffer.from(bytes.subarray(start, start + length));
  const rest = spliced(bytes, start, length);
  return spliced(rest, random.below(rest.length + 1), 0, taken);
};

const insertToken: Mutation = (bytes, { random, dictionary }) =>
  dictionary.length === 0
    ? bytes
    : spliced(bytes, random.below(bytes.length + 1), 0, random.pick(dictionary));

/** Replaces a run of letters or digits, which is a name or a number in text formats. */
const replaceToken: Mutation = (bytes, { random, dictionary }) => {
  if (dictionary.length === 0) return bytes;
  const { start, length } = tokenAt(bytes, random.below(bytes.length));
  return spliced(bytes, start, length, random.pick(dictionary));
};

const replaceNumber: Mutation = (bytes, { random }) => {
  const from = random.below(bytes.length);
  const digit = bytes.subarray(from).findIndex((byte) => byte >= 48 && byte <= 57);
  const at = digit === -1 ? from : from + digit;
  const { length } = tokenAt(bytes, at);
  return spliced(bytes, at, digit === -1 ? 0 : length, Buffer.from(random.pick(numbers)));
};

/** A big-endian or little-endian integer, such as a length. */
const setInteger: Mutation = (bytes, { random }) => {
  const width = random.pick([2, 4, 8]);
  if (bytes.length < width) return bytes;
  const at = random.below(bytes.length - width + 1);
  const copy = Buffer.from(bytes);
  const values = [0, 1, bytes.length, bytes.length - at, 0xffff, 0x7fffffff, 0xffffffff];
  const value = random.pick(values) + random.below(3) - 1;
  copy.fill(0, at, at + width);
  const low = Math.max(0, value) % 2 ** 32;
  if (random.below(2) === 0) copy.writeUIntLE(width === 2 ? low & 0xffff : low, at, Math.min(width, 4));
  else copy.writeUIntBE(width === 2 ? low & 0xffff : low, at + Math.max(0, width - 4), Math.min(width, 4));
  return copy;
};

const crossOver: Mutation = (bytes, { random, other }) => {
  const donor = other();
  const { start, length } = part(donor, random);
  const target = part(bytes, random);
  return spliced(
    bytes,
    target.start,
    random.below(2) === 0 ? target.length : 0,
    donor.subarray(start, start + length),
  );
};

const mutations: readonly Mutation[] = [
  flipBit,
  setByte,
  addToByte,
  insertBytes,
  remove,
  repeat,
  move,
  insertToken,
  insertToken,
  replaceToken,
  replaceToken,
  replaceNumber,
  setInteger,
  crossOver,
  crossOver,
];

function changed(bytes: Buffer, at: number, change: (byte: number) => number): Buffer {
  if (bytes.length === 0) return bytes;
  const copy = Buffer.from(bytes);
  copy[at] = change(bytes[at] ?? 0) & 255;
  return copy;
}

function spliced(bytes: Buffer, start: number, removed: number, added: Uint8Array = Buffer.alloc(0)): Buffer {
  return Buffer.concat([bytes.subarray(0, start), added, bytes.subarray(start + removed)]);
}

function part(bytes: Buffer, random: Random): { start: number; length: number } {
  const start = random.below(bytes.length);
  const limit = random.below(2) === 0 ? 16 : bytes.length;
  return { start, length: Math.min(bytes.length - start, 1 + random.below(limit)) };
}

const isTokenByte = (byte: number | undefined) =>
  byte !== undefined && /[A-Za-z0-9_]/.test(String.fromCharCode(byte));

function tokenAt(bytes: Buffer, at: number): { start: number; length: number } {
  let start = at;
  while (start > 0 && isTokenByte(bytes[start - 1])) start--;
  let end = at;
  while (isTokenByte(bytes[end])) end++;
  return { start, length: end - start };
}
