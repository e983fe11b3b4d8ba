import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { KubeletError } from "../../base/errors.ts";
import { anyBody } from "./fixtures.ts";
import { decodeMessage, encodeMessage, type Message, MessageSplitter } from "./message.ts";

const header = { kind: "signal", serial: 7, path: "/a", interface: "a.b", member: "C" } as const;

function decodeOrReject(bytes: Buffer): Message | undefined {
  try {
    return decodeMessage(bytes);
  } catch (error) {
    assert.ok(error instanceof KubeletError && error.code === "InvalidDBusData", String(error));
    return undefined;
  }
}

test("values are read as they were written", () => {
  fc.assert(
    fc.property(anyBody, (body) => {
      const message = { ...header, ...body };
      assert.deepEqual(decodeMessage(encodeMessage(message)), message);
    }),
  );
});

test("a message with changed bytes is rejected or read, and never fails in another way", () => {
  const change = fc.record({ at: fc.nat(), to: fc.nat(255) });
  let rejected = 0;
  fc.assert(
    fc.property(anyBody, fc.array(change, { minLength: 1, maxLength: 4 }), (body, changes) => {
      const bytes = encodeMessage({ ...header, ...body });
      for (const { at, to } of changes) bytes[at % bytes.length] = to;
      if (decodeOrReject(bytes) === undefined) rejected++;
    }),
  );
  assert.ok(rejected > 0);
});

test("a message without its last bytes is rejected", () => {
  fc.assert(
    fc.property(anyBody, fc.nat(), (body, cut) => {
      const bytes = encodeMessage({ ...header, ...body });
      assert.equal(decodeOrReject(bytes.subarray(0, cut % bytes.length)), undefined);
    }),
  );
});

test("messages are found in a stream, however it is cut", () => {
  fc.assert(
    fc.property(
      fc.array(anyBody, { maxLength: 4 }),
      fc.array(fc.integer({ min: 1, max: 40 })),
      (bodies, cuts) => {
        const messages = bodies.map((body) => encodeMessage({ ...header, ...body }));
        const stream = Buffer.concat(messages);
        const splitter = new MessageSplitter();
        const found: Buffer[] = [];
        let at = 0;
        for (const length of [...cuts, stream.length]) {
          found.push(...splitter.push(stream.subarray(at, at + length)));
          at += length;
        }
        assert.deepEqual(found, messages);
      },
    ),
  );
});

test("random bytes are not a message", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (bytes) => {
      decodeOrReject(Buffer.from(bytes));
    }),
  );
});
