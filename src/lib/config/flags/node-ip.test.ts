import assert from "node:assert/strict";
import { test } from "node:test";
import { type NodeIps, parseNodeIps } from "./node-ip.ts";

const pair = "must contain either a single IP or a dual-stack pair of IPs";
const rows: [text: string, want: NodeIps][] = [
  ["", { ips: [], invalid: [] }],
  ["192.0.2.1", { ips: ["192.0.2.1"], invalid: [] }],
  ["::", { ips: ["::"], invalid: [] }],
  ["0.0.0.0", { ips: ["0.0.0.0"], invalid: [] }],
  ["192.0.2.1, 2001:DB8::1", { ips: ["192.0.2.1", "2001:db8::1"], invalid: [] }],
  ["node-1", { ips: [], invalid: ["node-1"] }],
  ["node-1,192.0.2.1,", { ips: ["192.0.2.1"], invalid: ["node-1", ""] }],
  ["192.0.2.1,192.0.2.2", { ips: ["192.0.2.1", "192.0.2.2"], invalid: [], problem: pair }],
  ["192.0.2.1,::1,192.0.2.2", { ips: ["192.0.2.1", "::1", "192.0.2.2"], invalid: [], problem: pair }],
  [
    "192.0.2.1,::",
    { ips: ["192.0.2.1", "::"], invalid: [], problem: "dual-stack node IP cannot include '0.0.0.0' or '::'" },
  ],
];
for (const [text, want] of rows) {
  test(`--node-ip=${text}`, () => assert.deepEqual(parseNodeIps(text), want));
}
