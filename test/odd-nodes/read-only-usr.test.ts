import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { long } from "../long.ts";
import { isolatedReport, unavailable } from "../node/isolated-report.ts";
import type { ReadOnlyReport } from "./read-only-usr-host.ts";

describe(long("a node with a read-only /usr"), { skip: unavailable }, () => {
  test("runs pods and is ready, without the directory of flexVolume drivers", async () => {
    const { node, written, hasPluginDir, log } = await isolatedReport<ReadOnlyReport>(
      new URL("read-only-usr-host.ts", import.meta.url),
    );
    assert.equal(written, "EROFS", "the host of this test is not odd");
    const ready = node.status.conditions.find(({ type }) => type === "Ready");
    assert.deepEqual([ready?.status, ready?.reason], ["True", "KubeletReady"]);
    // The reference logs that it cannot create volumePluginDir and goes on (VolumePluginMgr.InitPlugins).
    assert.equal(hasPluginDir, false);
    const errors = log.split("\n").filter((line) => line.startsWith("E"));
    assert.deepEqual(
      errors.filter((line) => !line.includes("/usr/libexec/kubernetes")),
      [],
    );
  });
});
