import assert from "node:assert/strict";
import { decodeMessage, encodeMessage, MessageSplitter } from "../../../src/lib/clients/dbus/message.ts";
import { accepted, inChunks } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

/** Messages of the system bus. */
export default {
  seeds: [
    encodeMessage({ kind: "return", serial: 3, replySerial: 1, unixFds: 1, signature: "h", body: [0] }),
    encodeMessage({
      kind: "signal",
      serial: 7,
      path: "/org/freedesktop/login1",
      interface: "org.freedesktop.login1.Manager",
      member: "PrepareForShutdown",
      sender: ":1.2",
      signature: "ba{sv}a(ssxtd)ayg",
      body: [
        true,
        [["a", { signature: "u", value: 5 }]],
        [["x", "y", -1n, 2n, 0.5]],
        new Uint8Array([1, 2]),
        "a{sv}",
      ],
    }),
    encodeMessage({
      kind: "error",
      serial: 9,
      replySerial: 2,
      errorName: "a.b",
      signature: "s",
      body: ["no"],
    }),
  ],
  dictionary: ["a{sv}", "((((", "aaaa", "v", "org.freedesktop.DBus", "\x01v\0\x01v\0\x01v\0"],
  maxLength: 600,
  run(input) {
    const split = (chunks: readonly Buffer[]) => {
      const splitter = new MessageSplitter();
      const found: string[] = [];
      const problem = accepted(() => {
        for (const chunk of chunks) for (const one of splitter.push(chunk)) found.push(one.toString("hex"));
        return true;
      });
      return { found, isWhole: problem === true };
    };
    const whole = split([input]);
    // A message that cannot be split ends the connection: what came before it may depend on the chunks.
    if (whole.isWhole) assert.deepEqual(split(inChunks(input)), whole, "depends on how the bytes arrive");
    for (const bytes of [input, ...whole.found.map((hex) => Buffer.from(hex, "hex"))]) {
      const message = accepted(() => decodeMessage(bytes));
      if (message === undefined) continue;
      const written = encodeMessage(message);
      assert.ok(written.length <= 64 * bytes.length + 64);
      const again = decodeMessage(written) ?? assert.fail("of another kind");
      assert.deepEqual(again, message);
      assert.ok(encodeMessage(again).equals(written));
    }
  },
} satisfies FuzzTarget;
