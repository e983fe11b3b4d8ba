import assert from "node:assert/strict";
import { test } from "node:test";
import { parseIp } from "./ip-address.ts";

const rows: [text: string, address: string | undefined][] = [
  ["10.0.0.1", "10.0.0.1"],
  ["010.000.00.01", "10.0.0.1"],
  ["0.0.0.0", "0.0.0.0"],
  ["256.0.0.1", undefined],
  ["10.0.0", undefined],
  ["FD00:0::1", "fd00::1"],
  ["::", "::"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["fe80::1%eth0", undefined],
  ["[::1]", undefined],
  ["node.example", undefined],
  ["", undefined],
  [" 10.0.0.1", undefined],
];
for (const [text, address] of rows) {
  test(`${JSON.stringify(text)} is ${address ?? "no address"}`, () => assert.equal(parseIp(text), address));
}
