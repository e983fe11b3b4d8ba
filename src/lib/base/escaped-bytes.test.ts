import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bytesOf, escapedText } from "./escaped-bytes.ts";

describe("escapedText and bytesOf", () => {
  const cases: [rule: string, bytes: number[]][] = [
    ["ASCII", [0x61, 0x62]],
    ["a byte that is not UTF-8", [0x61, 0xff, 0x62]],
    ["the start of a sequence at the end", [0x61, 0xe2, 0x82]],
    ["a sequence that another one interrupts", [0xe2, 0xc3, 0xa9, 0x82]],
    ["the encoding of a surrogate", [0xed, 0xb2, 0x80]],
    ["an overlong encoding", [0xc0, 0x80]],
    ["a character beyond the BMP next to a broken one", [0xf0, 0x9f, 0x98, 0x80, 0xf0, 0x9f]],
  ];
  for (const [rule, bytes] of cases)
    test(`return ${rule} unchanged`, () => {
      assert.deepEqual([...bytesOf(escapedText(Buffer.from(bytes)))], bytes);
    });

  test("return all bytes unchanged", () => {
    const bytes = Buffer.from(Array.from({ length: 1024 }, (_, i) => (i * 37 + (i >> 3)) % 256));
    assert.deepEqual(Buffer.from(bytesOf(escapedText(bytes))), bytes);
  });

  test("keep text as it is", () => {
    assert.equal(escapedText(Buffer.from("größe 😀")), "größe 😀");
    assert.deepEqual(Buffer.from(bytesOf("größe 😀")), Buffer.from("größe 😀"));
  });
});
