import assert from "node:assert/strict";
import { test } from "node:test";
import { lastUtf8 } from "./utf8.ts";

const ends: [rule: string, bytes: Buffer, limit: number, text: string][] = [
  ["short text is complete", Buffer.from("abc"), 3, "abc"],
  ["long text is truncated at the start", Buffer.from("abcdef"), 3, "def"],
  ["no partial character at the start", Buffer.from("a€b"), 3, "b"],
  ["a character that fits is kept", Buffer.from("a€b"), 4, "€b"],
  ["invalid UTF-8 is replaced", Buffer.from([0x61, 0xff, 0x62]), 9, "a\ufffdb"],
  ["a replacement character has its own length", Buffer.from([0xff, 0xff, 0xff]), 3, "\ufffd"],
  ["invalid bytes at the start of short text are replaced", Buffer.from([0x80, 0x61]), 9, "\ufffda"],
  ["nothing", Buffer.alloc(0), 3, ""],
];
for (const [rule, bytes, limit, text] of ends)
  test(`the last characters of bytes: ${rule}`, () => assert.equal(lastUtf8(bytes, limit), text));
