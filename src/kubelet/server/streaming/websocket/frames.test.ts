import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { clientFrame } from "../fake-client.ts";
import { FrameReader } from "./frames.ts";

test("messages of any length are received unchanged, however the bytes are split", () => {
  const sent = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 });
  fc.assert(
    fc.property(
      sent,
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1 }),
      (messages, chunkSizes) => {
        const bytes = Buffer.concat(messages.map((data) => clientFrame(0x82, Buffer.from(data))));
        const reader = new FrameReader(1000);
        const got: Buffer[] = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const chunkSize = chunkSizes[i % chunkSizes.length] ?? 1;
          for (const event of reader.push(bytes.subarray(at, at + chunkSize))) {
            assert.ok(event.kind === "message");
            got.push(event.data);
          }
          at += chunkSize;
        }
        assert.deepEqual(
          got,
          messages.map((data) => Buffer.from(data)),
        );
      },
    ),
  );
});
