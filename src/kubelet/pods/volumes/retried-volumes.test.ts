import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FailedVolume } from "./manager/volume-manager.ts";
import { needsDriver, waitsForAttachment } from "./retried-volumes.ts";

const csi = (driver: string, step: string): FailedVolume => ({
  plugin: "kubernetes.io/csi",
  spec: { name: "v", volume: { name: "v", csi: { driver } }, readOnly: false },
  step,
});
const tearDown = "UnmountVolume.TearDown failed";

describe("an attached volume ends the back-off", () => {
  for (const [what, volume, expected] of [
    ["of a CSI volume that waits for its attachment", csi("a", "MountVolume.WaitForAttach failed"), true],
    ["of a block volume that does", csi("a", "MapVolume.WaitForAttach failed"), true],
    ["of no volume that cannot be unmounted", csi("a", tearDown), false],
    ["of no volume that cannot be mounted", csi("a", "MountVolume.SetUp failed"), false],
  ] as const)
    it(what, () => assert.equal(waitsForAttachment(volume), expected));
});

describe("a CSI driver that comes or goes ends the back-off", () => {
  for (const [what, volume, expected] of [
    ["of its own volumes", csi("a", tearDown), true],
    ["of no volumes of other drivers", csi("b", tearDown), false],
    ["of CSI volumes whose driver is not known", { ...csi("b", tearDown), spec: undefined }, true],
    ["of no volumes of other types", { ...csi("a", tearDown), plugin: "kubernetes.io/nfs" }, false],
  ] as const)
    it(what, () => assert.equal(needsDriver(volume, "a"), expected));
});
