import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeMessage, encodeMessage, MessageSplitter } from "./message.ts";
import { DBusReader } from "./reader.ts";
import { parseSignature } from "./signature.ts";
import type { DBusValue } from "./value.ts";
import { DBusWriter } from "./writer.ts";

function written(signature: string, ...values: DBusValue[]): string {
  const writer = new DBusWriter();
  writer.values(signature, values);
  return writer.bytes().toString("hex");
}

describe("a signature", () => {
  const rows: [string, RegExp | undefined][] = [
    ["", undefined],
    ["a{sv}a(ii)aay", undefined],
    [`${"a".repeat(32)}y`, undefined],
    [`${"a".repeat(33)}y`, /arrays are nested too deeply/],
    [`${"(".repeat(33)}y${")".repeat(33)}`, /structs are nested too deeply/],
    ["a", /incomplete/],
    ["(i", /incomplete/],
    ["()", /empty struct/],
    ["a{vs}", /key of a dictionary/],
    ["a{sss}", /one key and one value/],
    ["{ss}", /unknown type "{"/],
    ["m", /unknown type "m"/],
    ["y".repeat(256), /more than 255/],
  ];
  for (const [signature, problem] of rows)
    it(`"${signature.slice(0, 40)}" is ${problem ? "invalid" : "valid"}`, () => {
      if (problem) assert.throws(() => parseSignature(signature), problem);
      else parseSignature(signature);
    });
});

describe("marshaling, by the examples and rules of the specification", () => {
  const rows: [string, DBusValue[], string][] = [
    ["s", ["foo"], "03000000666f6f00"],
    ["yu", [1, 2], "0100000002000000"],
    ["at", [[5n]], "08000000000000000500000000000000"],
    // The padding before the elements is there even if there are none.
    ["at", [[]], "0000000000000000"],
    ["yat", [1, []], "0100000000000000"],
    ["b", [true], "01000000"],
    ["n", [-2], "feff"],
    ["x", [-1n], "ffffffffffffffff"],
    ["d", [1.5], "000000000000f83f"],
    ["g", ["ai"], "02616900"],
    ["v", [{ signature: "u", value: 3 }], "0175000003000000"],
    // The entries begin on 8 bytes, a boolean on 4.
    ["a{sv}", [[["a", { signature: "b", value: true }]]], "100000000000000001000000610001620000000001000000"],
    ["ay", [new Uint8Array([1, 2])], "020000000102"],
  ];
  for (const [signature, values, hex] of rows)
    it(`${signature} ${hex}`, () => {
      assert.equal(written(signature, ...values), hex);
      const bytes = Buffer.from(hex, "hex");
      assert.deepEqual(new DBusReader(bytes, true).values(signature), values);
    });

  it("a peer may send big-endian messages", () => {
    const bytes = Buffer.from("00000003666f6f0000000000000000000000000000000005", "hex");
    assert.deepEqual(new DBusReader(bytes, false).values("st"), ["foo", 0n]);
    const rest = Buffer.from("fffe00ff7fffffff80000001", "hex");
    assert.deepEqual(new DBusReader(rest, false).values("nqiu"), [-2, 255, 0x7fffffff, 0x80000001]);
  });
});

describe("a value that does not fit its type is rejected before it is sent", () => {
  const rows: [string, DBusValue][] = [
    ["y", 256],
    ["i", 0x80000000],
    ["u", -1],
    ["u", 1.5],
    ["t", -1n],
    ["x", 1n << 63n],
    ["t", 5],
    ["s", "a\0b"],
    ["s", "\ud800"],
    ["o", "a/b"],
    ["o", "/a/"],
    ["g", "a"],
    ["as", ["a", 1]],
    ["(ss)", ["a"]],
    ["v", "a"],
    ["v", { signature: "ss", value: "a" }],
    ["b", 1],
  ];
  for (const [signature, value] of rows)
    it(`${signature}: ${typeof value === "object" ? JSON.stringify(value) : String(value)}`, () => {
      assert.throws(() => written(signature, value), { code: "InvalidDBusData" });
    });
});

describe("a value that a peer must not send is rejected", () => {
  for (const [rule, signature, hex] of [
    ["a string with NUL", "s", "03000000 610062 00"],
    ["a path that does not begin with a slash", "o", "01000000 61 00"],
    ["a path that ends with a slash", "o", "03000000 2f612f 00"],
  ] as const)
    it(rule, () => {
      const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex");
      assert.throws(() => new DBusReader(bytes, true).values(signature), { code: "InvalidDBusData" });
    });
});

describe("a message", () => {
  it("a message of an unknown kind is ignored", () => {
    const bytes = encodeMessage({ kind: "signal", serial: 1, signature: "", body: [] });
    bytes[1] = 9;
    assert.equal(decodeMessage(bytes), undefined);
  });

  it("a message that claims more than 128 MiB ends the stream", () => {
    const bytes = encodeMessage({ kind: "signal", serial: 1, signature: "", body: [] });
    bytes.writeUInt32LE(200 << 20, 4);
    assert.throws(() => new MessageSplitter().push(bytes), /too long/);
  });

  it("a message of another version of the protocol is rejected", () => {
    const bytes = encodeMessage({ kind: "signal", serial: 1, signature: "", body: [] });
    bytes[3] = 2;
    assert.throws(() => decodeMessage(bytes), /version 2/);
  });

  it("a message with deeply nested variants is rejected instead of overflowing the stack", () => {
    let value: DBusValue = 1;
    let signature = "y";
    for (let depth = 0; depth < 70; depth++) {
      value = { signature, value };
      signature = "v";
    }
    assert.throws(() => written("v", value), /nested too deeply/);
    const bytes = Buffer.from(`${"017600".repeat(5000)}017900 05`.replace(" ", ""), "hex");
    assert.throws(() => new DBusReader(bytes, true).values("v"), /nested too deeply/);
  });
});
