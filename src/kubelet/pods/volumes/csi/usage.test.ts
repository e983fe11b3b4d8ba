import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  NodeGetVolumeStatsResponseSchema,
  VolumeUsage_Unit as Unit,
} from "../../../../lib/gen/csi/v1/csi_pb.js";
import type { CsiDeps } from "./csi-deps.ts";
import { volumeUsage } from "./usage.ts";
import type { VolumeData } from "./volume-data.ts";

type Response = MessageInitShape<typeof NodeGetVolumeStatsResponseSchema>;

function measure(volumeHealth: boolean, condition: boolean, response: Response) {
  const client = {
    capabilities: async () => ({ stats: true, condition }),
    stats: async () => create(NodeGetVolumeStatsResponseSchema, response),
  };
  const deps = { drivers: { client: () => client }, volumeHealth } as unknown as CsiDeps;
  const data = { driverName: "d", volumeHandle: "v" } as VolumeData;
  return volumeUsage(deps, data, "/mnt", AbortSignal.timeout(1000));
}

const usage = [{ unit: Unit.BYTES, available: 1n, total: 3n, used: 2n }];
const measured = { availableBytes: 1, capacityBytes: 3, usedBytes: 2 };
const volumeCondition = { abnormal: true, message: "disk is gone" };

describe("usage of a CSI volume", () => {
  it("has no negative amounts: clients would not accept the summary of the node", async () => {
    const usage = [
      { unit: Unit.BYTES, available: -(2n ** 63n), total: -1n, used: 2n ** 63n - 1n },
      { unit: Unit.INODES, available: -5n, total: 7n, used: 12n },
    ];
    assert.deepEqual(await measure(false, false, { usage } as Response), {
      availableBytes: 0,
      capacityBytes: 0,
      usedBytes: 2 ** 63,
      inodesFree: 0,
      inodes: 7,
      inodesUsed: 12,
    });
  });

  it("has a part of a message that is too long for an event", async () => {
    const volumeCondition = { abnormal: true, message: "x".repeat(1025) };
    const found = await measure(true, true, { volumeCondition } as Response);
    assert.equal(found?.message, `${"x".repeat(1021)}...`);
  });

  for (const [volumeHealth, condition, response, expected] of [
    [true, true, { usage, volumeCondition }, { ...measured, healthy: false, message: "disk is gone" }],
    [true, true, { usage, volumeCondition: { abnormal: false } }, { ...measured, healthy: true }],
    [true, true, { usage }, { ...measured, healthy: true }],
    [true, true, { volumeCondition }, { healthy: false, message: "disk is gone" }],
    [true, false, { usage, volumeCondition }, measured],
    [false, true, { usage, volumeCondition }, measured],
    [false, true, { volumeCondition }, undefined],
    [true, false, {}, undefined],
  ] as const) {
    const has = Object.keys(response).join(" and ") || "nothing";
    it(`gate ${volumeHealth}, capability ${condition}, driver reports ${has}`, async () => {
      assert.deepEqual(await measure(volumeHealth, condition, response as Response), expected);
    });
  }
});
