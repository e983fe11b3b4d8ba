import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { chooseDevices } from "./choose-devices.ts";
import type { Device } from "./device.ts";

const all: Device[] = [
  { id: "a0", isHealthy: true, numaNodes: [0] },
  { id: "b0", isHealthy: true, numaNodes: [0] },
  { id: "c1", isHealthy: true, numaNodes: [1] },
  { id: "d1", isHealthy: true, numaNodes: [1] },
  { id: "e", isHealthy: true, numaNodes: [] },
];
const devices = new Map(all.map((device) => [device.id, device]));
const ids = [...devices.keys()];

interface Row {
  rule: string;
  count: number;
  reusable?: string[];
  available?: string[];
  affinity?: bigint;
  preferred?: string[];
  /** The devices that are offered to the plugin; undefined if it is not called. */
  offered?: string[];
  chosen: string[] | string;
}

const rows: Row[] = [
  {
    rule: "without an affinity the plugin's order is used",
    count: 2,
    offered: ids,
    chosen: ["a0", "b0"],
  },
  {
    rule: "the preference of the plugin comes first",
    count: 2,
    preferred: ["e", "c1"],
    offered: ids,
    chosen: ["e", "c1"],
  },
  {
    rule: "a short preference is completed",
    count: 3,
    preferred: ["e"],
    offered: ids,
    chosen: ["e", "a0", "b0"],
  },
  {
    rule: "unknown and repeated devices of a preference are ignored",
    count: 2,
    preferred: ["x", "e", "e", ""],
    offered: ids,
    chosen: ["e", "a0"],
  },
  {
    rule: "a preference with too many devices is truncated",
    count: 1,
    preferred: ["d1", "c1"],
    offered: ids,
    chosen: ["d1"],
  },
  { rule: "devices of init containers are reused first", count: 1, reusable: ["z"], chosen: ["z"] },
  {
    rule: "and must be part of the preference",
    count: 2,
    reusable: ["z"],
    preferred: ["e"],
    offered: [...ids, "z"],
    chosen: ["z", "e"],
  },
  {
    rule: "devices of the NUMA node are offered if there are more than needed",
    count: 1,
    affinity: 2n,
    offered: ["c1", "d1"],
    preferred: ["a0", "d1"],
    chosen: ["d1"],
  },
  { rule: "they are taken without a query if all are needed", count: 2, affinity: 2n, chosen: ["c1", "d1"] },
  {
    rule: "others follow: first those of other nodes, then those without a node",
    count: 5,
    affinity: 2n,
    offered: ids,
    chosen: ["c1", "d1", "a0", "b0", "e"],
  },
  {
    rule: "the plugin may choose among others",
    count: 3,
    affinity: 2n,
    preferred: ["e"],
    offered: ids,
    chosen: ["c1", "d1", "e"],
  },
  {
    rule: "too few devices are an error",
    count: 3,
    available: ["a0"],
    reusable: ["z"],
    chosen: "2 needed, 1 available",
  },
];

describe("the choice of devices", () => {
  for (const {
    rule,
    count,
    reusable = [],
    available = ids,
    affinity,
    preferred = [],
    offered,
    chosen,
  } of rows)
    it(rule, () => {
      const choice = chooseDevices({ count, reusable, available, devices, affinity });
      if (choice.kind === "unavailable")
        return assert.equal(`${choice.needed} needed, ${choice.available} available`, chosen);
      assert.deepEqual(
        choice.kind === "query" ? new Set(choice.offered) : undefined,
        offered && new Set(offered),
      );
      assert.deepEqual(choice.kind === "query" ? choice.choose(preferred) : choice.devices, chosen);
    });

  it("is exact regardless of what the plugin prefers: the number requested, none twice, none that is not available", () => {
    const some = fc.subarray(ids);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 7 }),
        some,
        fc.subarray(["y", "z"]),
        fc.option(fc.bigInt({ min: 1n, max: 7n }), { nil: undefined }),
        fc.array(fc.constantFrom(...ids, "x", "y", "")),
        (count, available, reusable, affinity, preferred) => {
          const choice = chooseDevices({ count, reusable, available, devices, affinity });
          const enough = available.length + reusable.length >= count;
          assert.equal(choice.kind !== "unavailable", enough);
          if (choice.kind === "unavailable") return;
          const got = choice.kind === "query" ? choice.choose(preferred) : choice.devices;
          assert.equal(got.length, count);
          assert.equal(new Set(got).size, count);
          for (const id of got) assert.ok([...available, ...reusable].includes(id), id);
          for (const id of reusable.slice(0, count)) assert.ok(got.includes(id), "reused first");
        },
      ),
    );
  });
});
