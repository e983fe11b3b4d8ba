import assert from "node:assert/strict";
import { isKubeletError } from "../../src/lib/base/errors.ts";

/** The result, or undefined if the parser rejects the input with an error that it documents. Any other error breaks a rule. */
export function accepted<T>(
  parse: () => T,
  isDocumented: (error: unknown) => boolean = isKubeletError,
): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (isDocumented(error)) return undefined;
    throw error;
  }
}

/** Lengths that differ between inputs, but are the same whenever one input is repeated. */
export function inChunks(input: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < input.length; ) {
    const size = 1 + ((input[at] ?? 0) % 7);
    chunks.push(input.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

/** A value that is written and read again is the same value. */
export function assertStable<T>(value: T, encode: (value: T) => string, decode: (text: string) => T): void {
  const text = encode(value);
  assert.deepEqual(decode(text), value, `changed by ${JSON.stringify(text)}`);
  assert.equal(encode(decode(text)), text);
}

/** Aliases, copies and repetitions in the input must not multiply the output. */
export function assertSize(output: unknown, limit: number, what: string): void {
  const size = typeof output === "string" ? output.length : (JSON.stringify(output) ?? "").length;
  assert.ok(size <= limit, `${what}: ${size} characters, at most ${limit}`);
}

/** The value of JSON text; undefined if it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The parts of an input for a parser of several arguments: lines "---" separate them. */
export function partsOf(input: Buffer): string[] {
  return input.toString("utf8").split("\n---\n");
}
