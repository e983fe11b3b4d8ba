import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Device } from "./device.ts";
import { deviceHints } from "./device-hints.ts";

const on = (id: string, ...numaNodes: number[]): Device => ({ id, isHealthy: true, numaNodes });

interface Row {
  rule: string;
  devices: Device[];
  count: number;
  available?: string[];
  reusable?: string[];
  numaNodes?: number[];
  /** "01!": nodes 0 and 1, preferred. */
  hints: string;
}

const two = [on("a", 0), on("b", 1)];
const rows: Row[] = [
  { rule: "one device can be on either node", devices: two, count: 1, hints: "0! 1! 01" },
  { rule: "two devices need both nodes", devices: two, count: 2, hints: "01!" },
  { rule: "a device in use leaves the other node", devices: two, count: 1, available: ["b"], hints: "1! 01" },
  {
    rule: "one node is preferred if it could ever serve the request",
    devices: [on("a", 0), on("b", 0), on("c", 1)],
    count: 2,
    available: ["a", "c"],
    hints: "01",
  },
  { rule: "a device of two nodes counts for each", devices: [on("a", 0, 1)], count: 1, hints: "0! 1! 01" },
  { rule: "too few devices have no hint", devices: two, count: 2, available: ["a"], hints: "" },
  {
    rule: "a hint contains the devices that are reused",
    devices: two,
    count: 1,
    available: ["b"],
    reusable: ["a"],
    hints: "0! 01",
  },
  {
    rule: "nodes without devices are not part of a hint",
    devices: two,
    count: 1,
    numaNodes: [0, 1, 2, 3],
    hints: "0! 1! 01",
  },
  {
    rule: "nodes that the machine does not have are ignored",
    devices: [on("a", 0), on("b", 7)],
    count: 1,
    hints: "0!",
  },
  { rule: "devices without a node are in no hint", devices: [on("a", 0), on("b")], count: 2, hints: "" },
];

describe("topology hints of devices", () => {
  for (const { rule, devices, count, available, reusable = [], numaNodes = [0, 1], hints } of rows)
    it(rule, () => {
      const found = deviceHints({
        count,
        devices: new Map(devices.map((device) => [device.id, device])),
        available: new Set(available ?? devices.map(({ id }) => id)),
        reusable: new Set(reusable),
        numaNodes,
      });
      const shown = found.map(({ numaNodes: mask, preferred }) => {
        const nodes = [0, 1, 2, 3, 4, 5, 6, 7].filter((node) => ((mask ?? 0n) >> BigInt(node)) & 1n);
        return `${nodes.join("")}${preferred ? "!" : ""}`;
      });
      assert.equal(shown.join(" "), hints);
    });
});
